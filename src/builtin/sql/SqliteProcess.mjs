// @ts-check
/**
 * The program of the process that runs one statement on a file of SQLite. It is told what to do in one line of JSON on its standard input,
 * answers in one line on its standard output, and ends when its input does, whatever the statement is doing then: the statement runs in a
 * thread, because the drivers of SQLite are synchronous, and the first thread kills the process.
 *
 * It imports nothing of the library, so that it can be copied beside a bundle.
 */
import { writeSync } from "node:fs"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"

/**
 * @typedef {{
 *   readonly driver: "libsql" | "node:sqlite" | "better-sqlite3",
 *   readonly module: string,
 *   readonly file: string,
 *   readonly url: string,
 *   readonly sql: string,
 *   readonly params: ReadonlyArray<string | number | null>,
 *   readonly names: ReadonlyArray<string>,
 *   readonly modules: ReadonlyArray<string>,
 *   readonly maxRows: number,
 *   readonly maxCellChars: number,
 *   readonly maxChars: number,
 *   readonly maxMemoryBytes: number,
 *   readonly timeoutMs: number
 * }} Request
 * @typedef {{ _tag: "Opened" }
 *   | { _tag: "Rows", columns: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<unknown>>, truncated: boolean }
 *   | { _tag: "Failed", reason: "Open" | "Query" | "Memory" | "Driver", message: string }
 *   | { _tag: "Refused", name: string }} Answer
 */

/** What Node takes while a statement runs, beside the copies of a value on its way into JavaScript. */
const slackBytes = 32 * 1024 ** 2
const watchMillis = 25
/** For a process whose parent no longer looks at its clock. */
const graceMillis = 5000

const die = () => process.kill(process.pid, "SIGKILL")

/** @param {Answer} answer */
const answerWith = (answer) => {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

/**
 * That of node:sqlite does not count its memory, so that only the process can be watched.
 *
 * @param {number} maxMemoryBytes
 */
const watchMemory = (maxMemoryBytes) => {
  const most = process.memoryUsage.rss() + 2 * maxMemoryBytes + slackBytes
  setInterval(() => {
    if (process.memoryUsage.rss() <= most) return
    // Written before the process ends, while the statement goes on.
    writeSync(1, `${JSON.stringify({ _tag: "Failed", reason: "Memory", message: "out of memory" })}\n`)
    die()
  }, watchMillis)
}

/** @param {Request} request */
const supervise = (request) => {
  setTimeout(die, request.timeoutMs + graceMillis)
  const worker = new Worker(new URL(import.meta.url), { env: {}, argv: [], workerData: request })
  worker.on("message", (/** @type {Answer} */ answer) =>
    answer._tag === "Opened" ? watchMemory(request.maxMemoryBytes) : answerWith(answer)
  )
  worker.once("error", (error) => {
    const isMemory = /** @type {NodeJS.ErrnoException} */ (error).code === "ERR_WORKER_OUT_OF_MEMORY"
    answerWith({ _tag: "Failed", reason: isMemory ? "Memory" : "Driver", message: String(error.message) })
  })
}

const listen = () => {
  let text = ""
  let isAsked = false
  process.stdout.on("error", die)
  process.stdin.setEncoding("utf8")
  process.stdin.on("data", (/** @type {string} */ part) => {
    text += part
    const end = text.indexOf("\n")
    if (isAsked || end < 0) return
    isAsked = true
    supervise(JSON.parse(text.slice(0, end)))
  })
  process.stdin.on("error", die)
  process.stdin.on("close", die)
}

/**
 * Rows of a statement one by one, as lists.
 *
 * @typedef {{
 *   readonly exec: (sql: string) => void,
 *   readonly columns: () => ReadonlyArray<string>,
 *   readonly rows: (sql: string, params: ReadonlyArray<unknown>) => Iterable<ReadonlyArray<unknown>>
 * }} Database
 */

/** @type {(request: Request) => Promise<Database>} */
const open = async ({ driver, file, module, url }) => {
  /** @type {any} */
  const loaded = await import(module)
  /** @type {any} */
  let statement
  if (driver === "node:sqlite") {
    const database = new loaded.DatabaseSync(file, { readOnly: true, allowExtension: false })
    return {
      exec: (sql) => database.exec(sql),
      columns: () => statement.columns().map((/** @type {{ name: string }} */ { name }) => name),
      rows: (sql, params) => {
        statement = database.prepare(sql)
        statement.setReadBigInts(true)
        statement.setReturnArrays(true)
        return statement.iterate(...params)
      }
    }
  }
  const database =
    driver === "libsql"
      ? new loaded.default(url)
      : new loaded.default(file, { readonly: true, fileMustExist: true, timeout: 0 })
  return {
    exec: (sql) => database.exec(sql),
    columns: () => statement.columns().map((/** @type {{ name: string }} */ { name }) => name),
    rows: (sql, params) => {
      statement = database.prepare(sql)
      statement.raw(true)
      statement.safeIntegers(true)
      return statement.iterate(params)
    }
  }
}

/**
 * A cell as JSON has it; what is cut says how long it was.
 *
 * @type {(value: unknown, maxChars: number) => { readonly value: unknown, readonly chars: number, readonly isCut: boolean }}
 */
const cellOf = (value, maxChars) => {
  if (typeof value === "bigint") {
    return { value: Number.isSafeInteger(Number(value)) ? Number(value) : String(value), chars: 8, isCut: false }
  }
  if (typeof value === "number")
    return { value: Number.isFinite(value) ? value : String(value), chars: 8, isCut: false }
  if (value === null || value === undefined) return { value: null, chars: 8, isCut: false }
  const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : value
  const length = bytes instanceof Uint8Array ? 4 * Math.ceil(bytes.length / 3) : String(bytes).length
  const isCut = length > maxChars
  const text =
    bytes instanceof Uint8Array
      ? Buffer.from(bytes.subarray(0, Math.min(bytes.length, maxChars))).toString("base64")
      : String(bytes)
  return {
    value: isCut ? `${text.slice(0, maxChars)}… (${length} characters)` : text,
    chars: Math.min(length, maxChars),
    isCut
  }
}

/** @type {(database: Database, request: Request) => Answer} */
const read = (database, request) => {
  /** @type {Array<ReadonlyArray<unknown>>} */
  const rows = []
  let chars = 0
  let truncated = false
  const found = database.rows(request.sql, request.params)
  const columns = database.columns()
  const names = columns.reduce((total, name) => total + name.length, 0)
  for (const row of found) {
    const cells = Array.from(row, (value) => cellOf(value, request.maxCellChars))
    chars += names
    for (const cell of cells) {
      chars += cell.chars
      truncated ||= cell.isCut
    }
    if (rows.length === request.maxRows || (chars > request.maxChars && rows.length > 0)) {
      truncated = true
      break
    }
    rows.push(cells.map(({ value }) => value))
  }
  return { _tag: "Rows", columns: rows.length === 0 ? [] : columns, rows, truncated }
}

/** @type {(error: unknown, reason: "Open" | "Query" | "Driver") => Answer} */
const failed = (error, reason) => {
  const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (error ?? {})
  const text = String(message ?? error).slice(0, 500)
  const isMemory = String(code).startsWith("SQLITE_NOMEM") || text.includes("out of memory")
  const isOpen = /^SQLITE_(?:CANTOPEN|NOTADB|CORRUPT|IOERR|PERM|BUSY)/.test(String(code))
  return { _tag: "Failed", reason: isMemory ? "Memory" : isOpen ? "Open" : reason, message: text }
}

/** @type {(request: Request) => Promise<Answer>} */
const run = async (request) => {
  /** @type {Database} */
  let database
  try {
    database = await open(request)
  } catch (error) {
    const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (error)
    const isDriver = /MODULE|DLOPEN/.test(String(code)) || /bindings? file|Cannot find module/.test(String(message))
    return failed(error, isDriver ? "Driver" : "Open")
  }
  try {
    for (const pragma of [
      `hard_heap_limit = ${request.maxMemoryBytes}`,
      "query_only = ON",
      "trusted_schema = OFF",
      "cell_size_check = ON",
      "mmap_size = 0",
      // Sorting writes no files.
      "temp_store = MEMORY",
      `busy_timeout = ${request.timeoutMs}`
    ]) {
      database.exec(`PRAGMA ${pragma}`)
    }
    const known = new Set(Array.from(database.rows("SELECT lower(name) FROM pragma_module_list", []), ([name]) => name))
    const refused = request.names.find((name) => known.has(name) && !request.modules.includes(name))
    if (refused !== undefined) return { _tag: "Refused", name: refused }
    parentPort?.postMessage({ _tag: "Opened" })
    return read(database, request)
  } catch (error) {
    return failed(error, "Query")
  }
}

if (isMainThread) listen()
else run(workerData).then((answer) => parentPort?.postMessage(answer))

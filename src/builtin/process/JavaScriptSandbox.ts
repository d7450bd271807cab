/**
 * Runs JavaScript in QuickJS, compiled to WebAssembly, in its own thread. The code sees the language and nothing of the
 * machine: no files, network, timers, modules or processes.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as WorkerThread from "../../internal/fiber/WorkerThread.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly timeout: Duration.Duration
  /** Memory of the code, in bytes, beyond the 16 MiB with which the engine starts. */
  readonly maxMemoryBytes: number
  /** Maximum characters printed and returned. */
  readonly maxOutputChars: number
}

/**
 * @since 0.1.0
 * @category models
 */
export type Ended =
  | { readonly _tag: "Returned"; readonly stdout: string; readonly result: unknown }
  | { readonly _tag: "Threw"; readonly stdout: string; readonly error: string }
  | { readonly _tag: "Exceeded"; readonly stdout: string; readonly limit: "time" | "memory" | "output" }
  /** The sandbox could not be loaded. */
  | { readonly _tag: "Broken"; readonly cause: unknown; readonly isMissing: boolean }

/** Runs in the thread, as CommonJS; takes `workerData` and answers with one message. */
const script = `
const { parentPort, workerData } = require("node:worker_threads")
const { code, input, library, maxMemoryBytes, maxOutputChars, millis } = workerData
const run = async () => {
  const { newQuickJSWASMModule, newVariant, RELEASE_SYNC } = require(library)
  // The engine does not know how large its blocks are: only the memory itself can be bounded.
  const maximum = 256 + Math.ceil(maxMemoryBytes / 65536)
  const wasmMemory = new WebAssembly.Memory({ initial: 256, maximum })
  const QuickJS = await newQuickJSWASMModule(newVariant(RELEASE_SYNC, { wasmMemory, emscriptenModule: { print() {}, printErr() {} } }))
  const runtime = QuickJS.newRuntime()
  const deadline = Date.now() + millis
  let exceeded
  let stdout = ""
  runtime.setMemoryLimit(maxMemoryBytes)
  runtime.setMaxStackSize(512 * 1024)
  runtime.setInterruptHandler(() => {
    if (exceeded === undefined && Date.now() > deadline) exceeded = "time"
    return exceeded !== undefined
  })
  const context = runtime.newContext()
  const print = (...handles) => {
    if (exceeded !== undefined) return
    const line = handles.map((handle) => context.getString(handle)).join(" ") + "\\n"
    if (stdout.length + line.length > maxOutputChars) {
      stdout += line.slice(0, Math.max(0, maxOutputChars - stdout.length))
      exceeded = "output"
    } else stdout += line
  }
  const printer = context.newFunction("print", print)
  context.setProp(context.global, "__print", printer)
  const text = context.newString(input)
  context.setProp(context.global, "__input", text)
  const evaluate = (source) => context.evalCode(source, "code.js")
  const failure = (handle) => {
    const shown = context.dump(handle) ?? null
    const name = shown && typeof shown === "object" ? String(shown.name) : ""
    const message = shown && typeof shown === "object" ? String(shown.message) : String(shown)
    if (exceeded !== undefined) return { _tag: "Exceeded", stdout, limit: exceeded }
    // Without memory there may be no error to be had either.
    if ((name === "InternalError" && message === "out of memory") || (shown === null && wasmMemory.buffer.byteLength > 256 * 65536)) return { _tag: "Exceeded", stdout, limit: "memory" }
    const at = shown && typeof shown.stack === "string" ? /code\\.js:(\\d+)/.exec(shown.stack) : null
    return { _tag: "Threw", stdout, error: (name ? name + ": " : "") + message + (at ? " (line " + at[1] + ")" : "") }
  }
  const setup = evaluate(${JSON.stringify(`(() => {
    const print = globalThis.__print, input = JSON.parse(globalThis.__input)
    delete globalThis.__print
    delete globalThis.__input
    const text = (value) => {
      if (typeof value === "string") return value
      if (value instanceof Error) return String(value)
      try { const json = JSON.stringify(value); return json === undefined ? String(value) : json } catch { return String(value) }
    }
    const log = (...values) => { print(...values.map(text)) }
    globalThis.console = { log, info: log, warn: log, error: log, debug: log }
    globalThis.input = input
    const stringify = JSON.stringify
    return (value) => stringify(value)
  })()`)})
  if (setup.error) return failure(setup.error)
  const stringify = setup.value
  const evaluated = evaluate(code)
  if (evaluated.error) return failure(evaluated.error)
  let settled = evaluated.value
  for (;;) {
    const jobs = runtime.executePendingJobs()
    if (jobs.error) return failure(jobs.error)
    if (exceeded !== undefined) return { _tag: "Exceeded", stdout, limit: exceeded }
    const state = context.getPromiseState(settled)
    if (state.type === "fulfilled") {
      if (state.notAPromise) break
      settled = state.value
    } else if (state.type === "rejected") return failure(state.error)
    else if (!runtime.hasPendingJob()) return { _tag: "Threw", stdout, error: "The code waits for something that never happens" }
  }
  const json = context.callFunction(stringify, context.undefined, settled)
  if (json.error) return failure(json.error)
  if (exceeded !== undefined) return { _tag: "Exceeded", stdout, limit: exceeded }
  if (context.typeof(json.value) !== "string") return { _tag: "Returned", stdout, json: "null" }
  const length = context.getNumber(context.getProp(json.value, "length"))
  if (length > maxOutputChars) return { _tag: "Exceeded", stdout, limit: "output" }
  return { _tag: "Returned", stdout, json: context.getString(json.value) }
}
run().then(
  (ended) => parentPort.postMessage(ended),
  (error) => parentPort.postMessage({ _tag: "Broken", message: String(error && error.message) })
)
`

type Message =
  | Exclude<Ended, { readonly _tag: "Returned" | "Broken" }>
  | { readonly _tag: "Returned"; readonly stdout: string; readonly json: string }
  | { readonly _tag: "Broken"; readonly message: string }

const read = (message: Message): Ended => {
  if (message._tag === "Broken") return { _tag: "Broken", cause: { message: message.message }, isMissing: false }
  if (message._tag !== "Returned") return message
  return { _tag: "Returned", stdout: message.stdout, result: JSON.parse(message.json) as unknown }
}

const endedOf = (failure: WorkerThread.Failure): Ended => {
  if (failure._tag === "Exceeded" && failure.limit === "time") return { _tag: "Exceeded", stdout: "", limit: "time" }
  return { _tag: "Broken", cause: failure.cause, isMissing: failure._tag === "Missing" }
}

/** The thread checks its own clock; this limit is for a thread that no longer does. */
const GRACE_MILLIS = 2000

/**
 * Runs code to its end. The result is the value of its last expression; a promise is awaited. Interruption ends the
 * thread.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (code: string, input: unknown, limits: Limits): Effect.Effect<Ended> =>
  Effect.suspend(() => {
    const { maxMemoryBytes, maxOutputChars, timeout } = limits
    const millis = Duration.toMillis(timeout)
    return WorkerThread.run<Message>({
      script,
      packages: { library: "quickjs-emscripten" },
      data: { code, input: JSON.stringify(input ?? null), millis, maxMemoryBytes, maxOutputChars },
      millis: millis + GRACE_MILLIS,
      maxHeapMb: 64 + Math.ceil((3 * maxOutputChars) / 1_000_000)
    })
  }).pipe(
    Effect.map(read),
    Effect.catchAll((failure) => Effect.succeed(endedOf(failure)))
  )

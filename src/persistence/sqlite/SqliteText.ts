/**
 * Scans SQL text for the number of statements and parameters and for whether it only reads. The drivers do not check
 * this: two of them run only the first of several statements, and bind NULL to missing parameters.
 *
 * @private
 * @since 0.1.0
 */

/**
 * @category models
 */
export interface Shape {
  readonly statements: number
  /** `undefined` if parameters have names. */
  readonly parameters: number | undefined
  /** Begins like a statement that only reads. */
  readonly isRead: boolean
  /** Begins with a keyword that changes tables or their names. */
  readonly changesSchema: boolean
  /** Contains semicolons of its own. */
  readonly isTrigger: boolean
  /** Selects all columns of the tables. */
  readonly hasStar: boolean
  /** `BEGIN`, `COMMIT`, `ROLLBACK`, …: statements without parameters and rows. */
  readonly transaction: "begin" | "rollback" | "other" | undefined
}

const reads: ReadonlySet<string> = new Set(["SELECT", "VALUES", "EXPLAIN", "PRAGMA", "WITH"])
const writes: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "REPLACE"])
const schema: ReadonlySet<string> = new Set(["CREATE", "ALTER", "DROP", "ATTACH", "DETACH", "VACUUM", "REINDEX"])
const ends: ReadonlySet<string> = new Set(["COMMIT", "END", "SAVEPOINT", "RELEASE"])

const isWordStart = (code: number): boolean =>
  (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) || code === 0x5f || code > 0x7f
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isWord = (code: number): boolean => isWordStart(code) || isDigit(code) || code === 0x24
const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d)

/** Past the end of a quoted token, in which a doubled quote stands for one. */
const afterQuote = (sql: string, from: number, close: string): number => {
  let at = sql.indexOf(close, from + 1)
  while (at >= 0 && close !== "]" && sql[at + 1] === close) at = sql.indexOf(close, at + 2)
  return at < 0 ? sql.length : at + 1
}

/** Past white space, comments and semicolons that begin at `at`; `at` if a token begins there. */
const afterGap = (sql: string, at: number): number => {
  const code = sql.charCodeAt(at)
  if (isSpace(code) || code === 0x3b) return at + 1
  const next = sql.charCodeAt(at + 1)
  if (code === 0x2d && next === 0x2d) {
    const end = sql.indexOf("\n", at)
    return end < 0 ? sql.length : end + 1
  }
  if (code === 0x2f && next === 0x2a) {
    const end = sql.indexOf("*/", at + 2)
    return end < 0 ? sql.length : end + 2
  }
  return at
}

const afterWord = (sql: string, from: number): number => {
  let at = from
  while (at < sql.length && isWord(sql.charCodeAt(at))) at++
  return at
}

/** What a scan has found so far. */
class Scan {
  /** The first four words. */
  readonly words: Array<string> = []
  statements = 0
  parameters = 0
  isNamed = false
  hasWrite = false
  hasSchema = false
  hasStar = false
  private last = 0

  /** Takes the token that begins at `at`, and returns its end. */
  token(sql: string, at: number, isFirst: boolean): number {
    const code = sql.charCodeAt(at)
    const end = this.end(sql, at, code, isFirst)
    this.last = code
    return end
  }

  private end(sql: string, at: number, code: number, isFirst: boolean): number {
    if (code === 0x27 || code === 0x22 || code === 0x60) return afterQuote(sql, at, sql[at]!)
    if (code === 0x5b) return afterQuote(sql, at, "]")
    if (isWordStart(code)) return this.word(sql, at, isFirst)
    if (isDigit(code)) return afterWord(sql, at)
    if (code === 0x3f) return this.parameter(sql, at)
    if ((code === 0x3a || code === 0x40 || code === 0x24) && isWord(sql.charCodeAt(at + 1))) this.isNamed = true
    if (code === 0x2a && this.last !== 0x28) this.hasStar = true
    return at + 1
  }

  private word(sql: string, at: number, isFirst: boolean): number {
    const end = afterWord(sql, at + 1)
    // The longest keyword below has nine letters.
    const word = end - at < 10 ? sql.slice(at, end).toUpperCase() : ""
    if (this.words.length < 4) this.words.push(word)
    if (writes.has(word)) this.hasWrite = true
    if (isFirst && schema.has(word)) this.hasSchema = true
    return end
  }

  private parameter(sql: string, at: number): number {
    let end = at + 1
    while (end < sql.length && isDigit(sql.charCodeAt(end))) end++
    this.parameters = end === at + 1 ? this.parameters + 1 : Math.max(this.parameters, Number(sql.slice(at + 1, end)))
    return end
  }
}

const transactionOf = (first: string, others: ReadonlyArray<string>): Shape["transaction"] => {
  if (first === "BEGIN") return "begin"
  // After a rollback to a savepoint the transaction continues.
  if (first === "ROLLBACK") return others.includes("TO") ? "other" : "rollback"
  return ends.has(first) ? "other" : undefined
}

const scanned = (sql: string): Shape => {
  const scan = new Scan()
  let isOpen = false
  for (let at = 0; at < sql.length; ) {
    const next = afterGap(sql, at)
    if (next > at) {
      if (sql.charCodeAt(at) === 0x3b) isOpen = false
      at = next
      continue
    }
    if (!isOpen) scan.statements++
    at = scan.token(sql, at, !isOpen)
    isOpen = true
  }
  const [first = "", ...others] = scan.words
  const { hasSchema, hasStar, hasWrite, isNamed, parameters, statements } = scan
  return {
    statements,
    parameters: isNamed ? undefined : parameters,
    isRead: reads.has(first) && !(first === "WITH" && hasWrite),
    changesSchema: hasSchema,
    isTrigger:
      first === "CREATE" &&
      (others[0] === "TRIGGER" || (others[0]?.startsWith("TEMP") === true && others[1] === "TRIGGER")),
    hasStar,
    transaction: statements > 1 ? undefined : transactionOf(first, others)
  }
}

/** The statements of nearly every transaction, scanned once. */
const bounds = new Map(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"].map((sql) => [sql, scanned(sql)]))

/**
 * @category constructors
 */
export const scan = (sql: string): Shape => bounds.get(sql) ?? scanned(sql)

/**
 * What a text of SQL is, without running it: how many statements and parameters it has, and whether it only reads. The
 * drivers do not say: two of them run the first of several statements and pass over the rest, and bind NULL for
 * parameters that were not given.
 *
 * @internal
 * @since 0.1.0
 */

/**
 * @category models
 */
export interface Shape {
  readonly statements: number
  /** `undefined` where parameters have names. */
  readonly parameters: number | undefined
  /** Begins as a statement that only reads. */
  readonly isRead: boolean
  /** Begins with a word that changes tables, or what they are called. */
  readonly changesSchema: boolean
  /** Has semicolons of its own inside. */
  readonly isTrigger: boolean
  /** Its columns are those of the tables. */
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

/** Past the end of what begins with a quote; two of them stand for one. */
const afterQuote = (sql: string, from: number, close: string): number => {
  let at = sql.indexOf(close, from + 1)
  while (at >= 0 && close !== "]" && sql[at + 1] === close) at = sql.indexOf(close, at + 2)
  return at < 0 ? sql.length : at + 1
}

/** In one pass. */
const scanned = (sql: string): Shape => {
  const words: Array<string> = []
  let statements = 0
  let parameters = 0
  let isNamed = false
  let hasWrite = false
  let hasSchema = false
  let hasStar = false
  let isOpen = false
  let last = 0
  for (let at = 0; at < sql.length; ) {
    const code = sql.charCodeAt(at)
    if (isSpace(code)) {
      at++
      continue
    }
    const next = sql.charCodeAt(at + 1)
    if (code === 0x2d && next === 0x2d) {
      const end = sql.indexOf("\n", at)
      at = end < 0 ? sql.length : end + 1
      continue
    }
    if (code === 0x2f && next === 0x2a) {
      const end = sql.indexOf("*/", at + 2)
      at = end < 0 ? sql.length : end + 2
      continue
    }
    if (code === 0x3b) {
      isOpen = false
      at++
      continue
    }
    const isFirst = !isOpen
    if (isFirst) {
      isOpen = true
      statements++
    }
    if (code === 0x27 || code === 0x22 || code === 0x60) {
      at = afterQuote(sql, at, sql[at]!)
    } else if (code === 0x5b) {
      at = afterQuote(sql, at, "]")
    } else if (isWordStart(code)) {
      let end = at + 1
      while (end < sql.length && isWord(sql.charCodeAt(end))) end++
      // The longest of these words have nine letters.
      if (end - at < 10) {
        const word = sql.slice(at, end).toUpperCase()
        if (words.length < 4) words.push(word)
        if (writes.has(word)) hasWrite = true
        if (isFirst && schema.has(word)) hasSchema = true
      } else if (words.length < 4) words.push("")
      at = end
    } else if (isDigit(code)) {
      while (at < sql.length && isWord(sql.charCodeAt(at))) at++
    } else if (code === 0x3f) {
      let end = at + 1
      while (end < sql.length && isDigit(sql.charCodeAt(end))) end++
      parameters = end === at + 1 ? parameters + 1 : Math.max(parameters, Number(sql.slice(at + 1, end)))
      at = end
    } else {
      if ((code === 0x3a || code === 0x40 || code === 0x24) && isWord(next)) isNamed = true
      if (code === 0x2a && last !== 0x28) hasStar = true
      at++
    }
    last = code
  }
  const [first = "", ...others] = words
  const isTrigger =
    first === "CREATE" &&
    (others[0] === "TRIGGER" || (others[0]?.startsWith("TEMP") === true && others[1] === "TRIGGER"))
  return {
    statements,
    parameters: isNamed ? undefined : parameters,
    isRead: reads.has(first) && !(first === "WITH" && hasWrite),
    changesSchema: hasSchema,
    isTrigger,
    hasStar,
    transaction:
      statements > 1
        ? undefined
        : first === "BEGIN"
          ? "begin"
          : first === "ROLLBACK"
            ? // To a savepoint, the transaction goes on.
              others.includes("TO")
              ? "other"
              : "rollback"
            : ends.has(first)
              ? "other"
              : undefined
  }
}

/** What begins and ends nearly every transaction. */
const bounds = new Map(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"].map((sql) => [sql, scanned(sql)]))

/**
 * @category constructors
 */
export const scan = (sql: string): Shape => bounds.get(sql) ?? scanned(sql)

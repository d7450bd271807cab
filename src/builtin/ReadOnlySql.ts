/**
 * Whether a text is one SQL statement that reads, decided over its tokens as the database reads them. It says no where databases could read
 * a text in two ways; the transaction that a statement runs in forbids writing a second time.
 *
 * @internal
 * @since 0.1.0
 */
import * as Either from "effect/Either"

/**
 * @since 0.1.0
 * @category models
 */
export type Dialect = "sqlite" | "pg"

/**
 * @since 0.1.0
 * @category models
 */
export interface Statement {
  /** Without what ends it. */
  readonly sql: string
  /** A query can stand in another one, an explanation cannot. */
  readonly kind: "query" | "explain"
}

/** `word` is in lower case and was not quoted; everything in quotes is `quoted`. */
interface Token {
  readonly kind: "word" | "quoted" | "mark"
  readonly text: string
  readonly start: number
}

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)

const isWordPart = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 48 && code <= 57) ||
  code === 95 ||
  code === 36 ||
  code >= 128

const isDigit = (code: number): boolean => code >= 48 && code <= 57

const unended = (what: string): Either.Either<never, string> => Either.left(`${what} does not end`)

/** Past the quote that ends what begins at `from`; a doubled quote, or a backslash where it escapes, does not end it. */
const endOfQuoted = (sql: string, from: number, quote: string, backslash: boolean): number => {
  for (let at = from + 1; at < sql.length; at++) {
    if (backslash && sql[at] === "\\") at++
    else if (sql[at] === quote) {
      if (sql[at + 1] !== quote) return at + 1
      at++
    }
  }
  return -1
}

/** Comments of Postgres hold comments, those of SQLite do not. */
const endOfComment = (sql: string, from: number, nests: boolean): number => {
  let depth = 1
  for (let at = from + 2; at < sql.length; at++) {
    if (sql[at] === "*" && sql[at + 1] === "/") {
      at++
      if (--depth === 0) return at + 1
    } else if (nests && sql[at] === "/" && sql[at + 1] === "*") {
      at++
      depth++
    }
  }
  return -1
}

const endOfLine = (sql: string, from: number, dialect: Dialect): number => {
  for (let at = from; at < sql.length; at++) {
    if (sql[at] === "\n" || (dialect === "pg" && sql[at] === "\r")) return at
  }
  return sql.length
}

/** The mark that opens a text in dollars, `$$` or `$name$`. */
const dollarsAt = (sql: string, from: number): string | undefined => {
  let at = from + 1
  if (isDigit(sql.charCodeAt(at))) return undefined
  while (at < sql.length && sql[at] !== "$" && isWordPart(sql.charCodeAt(at))) at++
  return sql[at] === "$" ? sql.slice(from, at + 1) : undefined
}

const closing: Readonly<Record<Dialect, Readonly<Record<string, string>>>> = {
  pg: { "'": "'", '"': '"' },
  sqlite: { "'": "'", '"': '"', "`": "`", "[": "]" }
}

const tokensOf = (sql: string, dialect: Dialect): Either.Either<ReadonlyArray<Token>, string> => {
  const tokens: Array<Token> = []
  let at = 0
  while (at < sql.length) {
    const start = at
    const code = sql.charCodeAt(at)
    const char = sql[at] as string
    if (code === 0) return Either.left("It has a zero character")
    if (isSpace(code)) at++
    else if (char === "-" && sql[at + 1] === "-") at = endOfLine(sql, at, dialect)
    else if (char === "/" && sql[at + 1] === "*") {
      at = endOfComment(sql, at, dialect === "pg")
      if (at < 0) return unended("A comment")
    } else if (Object.hasOwn(closing[dialect], char)) {
      const before = tokens.at(-1)
      const prefix = before?.kind === "word" && before.start + before.text.length === start ? before.text : ""
      // What stands directly before a string can change how it is read.
      if (dialect === "pg" && char === "'" && !["", "e", "b", "x", "n"].includes(prefix)) {
        return Either.left("A string stands directly after a word: put a space between them")
      }
      const close = closing[dialect][char] as string
      at =
        close === "]"
          ? sql.indexOf("]", at) + 1 || -1
          : endOfQuoted(sql, at, close, dialect === "pg" && prefix === "e" && char === "'")
      if (at < 0) return unended("A string or a quoted name")
      tokens.push({ kind: "quoted", text: "", start })
    } else if (char === "$" && dialect === "pg") {
      const dollars = dollarsAt(sql, at)
      if (dollars === undefined) {
        at++
        while (isDigit(sql.charCodeAt(at))) at++
        tokens.push({ kind: "quoted", text: "", start })
      } else {
        const end = sql.indexOf(dollars, at + dollars.length)
        if (end < 0) return unended("A text in dollars")
        at = end + dollars.length
        tokens.push({ kind: "quoted", text: "", start })
      }
    } else if (dialect === "sqlite" && "$@#:".includes(char)) {
      // Names of parameters can hold quotes there.
      return Either.left("Its parameters have names: write ? for each and give their values in order")
    } else if (isWordPart(code)) {
      // A dollar goes on with a name, not with a number.
      while (isWordPart(sql.charCodeAt(at)) && !(isDigit(code) && sql[at] === "$")) at++
      tokens.push({ kind: "word", text: sql.slice(start, at).toLowerCase(), start })
    } else {
      at++
      tokens.push({ kind: "mark", text: char, start })
    }
  }
  return Either.right(tokens)
}

const reading: ReadonlySet<string> = new Set(["select", "with", "values"])

/** None of them stands in a statement that only reads, unless as a name: then in quotes, or after the dot of its table. */
const writing: ReadonlySet<string> = new Set(["insert", "update", "delete", "merge", "into"])

const locks: ReadonlySet<string> = new Set(["update", "share", "no", "key"])

/** What an explanation explains. */
const explained = (tokens: ReadonlyArray<Token>): string => {
  let at = 1
  if (tokens[at]?.text === "(") while (at < tokens.length && tokens[at++]?.text !== ")");
  while (["analyze", "verbose", "query", "plan"].includes(tokens[at]?.text ?? "")) at++
  return tokens[at]?.text ?? ""
}

/**
 * The statement, if it is one and reads; `Left` says why it is not.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (sql: string, dialect: Dialect): Either.Either<Statement, string> =>
  Either.flatMap(tokensOf(sql, dialect), (all) => {
    const end = all.findIndex(({ kind, text }) => kind === "mark" && text === ";")
    if (end >= 0 && end < all.length - 1) return Either.left("There is more than one statement")
    const tokens = end < 0 ? all : all.slice(0, end)
    let depth = 0
    for (const [index, { kind, text }] of tokens.entries()) {
      if (kind === "mark" && text === "(") depth++
      if (kind === "mark" && text === ")" && --depth < 0) return Either.left("Its parentheses do not match")
      if (kind !== "word") continue
      const before = tokens[index - 1]?.text
      if (writing.has(text) && before !== ".") return Either.left(`It writes: ${text.toUpperCase()}`)
      if (before === "for" && locks.has(text)) return Either.left("It locks what it reads")
    }
    if (depth !== 0) return Either.left("Its parentheses do not match")
    const first = tokens.find(({ text }) => text !== "(")
    const kind = first?.text === "explain" && tokens[0] === first ? "explain" : "query"
    const word = kind === "explain" ? explained(tokens) : first?.kind === "word" ? first.text : ""
    if (!reading.has(word)) return Either.left("It is no SELECT, WITH, VALUES or EXPLAIN of one of these")
    return Either.right({ kind, sql: end < 0 ? sql : sql.slice(0, all[end]?.start) })
  })

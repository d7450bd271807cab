/**
 * Splits SQL into tokens as SQLite and Postgres do. Refuses text that either could read differently.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"

/**
 * @since 0.1.0
 * @category models
 */
export type Dialect = "sqlite" | "pg"

/**
 * - `word`: unquoted, in lower case
 * - `name`: a quoted identifier, without its quotes
 * - `string`: a literal, without its quotes but with its escapes
 * - `mark`: any other single character, or a parameter
 *
 * @since 0.1.0
 * @category models
 */
export interface Token {
  readonly kind: "word" | "name" | "string" | "mark"
  readonly text: string
  readonly start: number
  /** Index after its last character. */
  readonly end: number
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

const number = /^(?:[0-9][0-9_]*(?:e[0-9]*)?|0[box][0-9a-f_]+)$/

/** Folds case as the databases do: only ASCII letters. */
const folded = (word: string): string => word.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** Index after the closing quote; a doubled quote, or an escaping backslash, does not close. */
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

/** Postgres comments nest, SQLite comments do not. */
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

/** The opening mark of dollar-quoted text, `$$` or `$name$`. */
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

class Reader {
  readonly tokens: Array<Token> = []
  private at = 0
  constructor(
    private readonly sql: string,
    private readonly dialect: Dialect
  ) {}

  /** Returns why the text cannot be read. */
  read(): string | undefined {
    const { dialect, sql } = this
    while (this.at < sql.length) {
      const code = sql.charCodeAt(this.at)
      const char = sql[this.at] as string
      if (code === 0) return "It has a zero character"
      // SQLite treats it as a space, Postgres as a letter.
      if (code === 0xfeff) return "It has a byte order mark"
      if (isSpace(code)) this.at++
      else if (char === "-" && sql[this.at + 1] === "-") this.at = endOfLine(sql, this.at, dialect)
      else if (char === "/" && sql[this.at + 1] === "*") {
        this.at = endOfComment(sql, this.at, dialect === "pg")
        if (this.at < 0) return "A comment does not end"
      } else {
        const problem = this.token(char, code)
        if (problem !== undefined) return problem
      }
    }
    return undefined
  }

  private token(char: string, code: number): string | undefined {
    const { at, dialect, sql } = this
    if (Object.hasOwn(closing[dialect], char)) return this.quoted(char, closing[dialect][char] as string)
    if (char === "$" && dialect === "pg") return this.dollars()
    if (dialect === "sqlite" && "$@#:".includes(char)) {
      // Parameter names can contain quotes there.
      return "Its parameters have names: write ? for each and give their values in order"
    }
    if (!isWordPart(code)) return this.push("mark", char, at + 1)
    let end = at
    // A dollar sign continues a name but not a number.
    while (isWordPart(sql.charCodeAt(end)) && !(isDigit(code) && sql[end] === "$")) end++
    const word = folded(sql.slice(at, end))
    // Postgres before version 15 reads `1into` as `1 into`.
    if (isDigit(code) && !number.test(word)) return "A word stands directly after a number: put a space between them"
    return this.push("word", word, end)
  }

  private quoted(open: string, close: string): string | undefined {
    const { at, dialect, sql, tokens } = this
    const before = tokens.at(-1)
    const prefix = before?.kind === "word" && before.end === at ? before.text : ""
    if (dialect === "pg") {
      // A prefix directly before a string can change how it is read.
      if (open === "'" && !["", "e", "b", "x", "n"].includes(prefix)) {
        return "A string stands directly after a word: put a space between them"
      }
      // Such a string continues with the escapes of the previous one.
      if (open === "'" && before?.kind === "string") return "Two strings stand one after the other: join them by ||"
      if (before?.text === "&" && before.end === at && tokens.at(-2)?.text.endsWith("u")) {
        return "It has Unicode escapes: write the characters themselves"
      }
    }
    const end =
      close === "]"
        ? sql.indexOf("]", at) + 1 || -1
        : endOfQuoted(sql, at, close, dialect === "pg" && prefix === "e" && open === "'")
    if (end < 0) return "A string or a quoted name does not end"
    const inner = sql.slice(at + 1, end - 1)
    return this.push(open === "'" ? "string" : "name", inner.replaceAll(close + close, close), end)
  }

  private dollars(): string | undefined {
    const { at, sql } = this
    const mark = dollarsAt(sql, at)
    if (mark === undefined) {
      let end = at + 1
      while (isDigit(sql.charCodeAt(end))) end++
      return this.push("mark", "$", end)
    }
    const from = at + mark.length
    const end = sql.indexOf(mark, from)
    if (end < 0) return "A text in dollars does not end"
    return this.push("string", sql.slice(from, end), end + mark.length)
  }

  private push(kind: Token["kind"], text: string, end: number): undefined {
    this.tokens.push({ kind, text, start: this.at, end })
    this.at = end
  }
}

/**
 * The tokens; `Left` says why the text is refused.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (sql: string, dialect: Dialect): Either.Either<ReadonlyArray<Token>, string> => {
  const reader = new Reader(sql, dialect)
  const problem = reader.read()
  return problem === undefined ? Either.right(reader.tokens) : Either.left(problem)
}

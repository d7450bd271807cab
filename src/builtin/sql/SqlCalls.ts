/**
 * Finds the functions, table-valued functions and, on Postgres, parenthesis-free calls of a statement, and refuses
 * those not on the dialect's list.
 *
 * @private
 * @since 0.1.0
 */
import * as PostgresFunctions from "./PostgresFunctions.js"
import * as SqliteFunctions from "./SqliteFunctions.js"
import type { Dialect, Token } from "./SqlTokens.js"

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Not calls when followed by a parenthesis: both databases reserve these words or have no such function. */
const keywords = words(`
  all and any array as between case cast distinct else except exists from group having ilike in intersect is join lateral like limit not
  offset on or row select some then to union using values when where with
`)

/** Not calls when they follow one of these words or marks. */
const followers: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["by", words("group order partition")],
  ["filter", words(")")],
  ["over", words(") nulls")],
  ["materialized", words("as not")],
  ["sets", words("grouping")],
  ["rollup", words("by ,")],
  ["cube", words("by ,")]
])

/**
 * Functions that an application allows in addition, as `name` or `schema.name`, in the database's case.
 *
 * @since 0.1.0
 * @category models
 */
export type Allowed = ReadonlySet<string>

const isMark = (token: Token | undefined, text: string): boolean => token?.kind === "mark" && token.text === text

const isWord = (token: Token | undefined, ...texts: ReadonlyArray<string>): boolean =>
  token?.kind === "word" && texts.includes(token.text)

/** The index past `(name, name)`, or -1. */
const endOfNames = (tokens: ReadonlyArray<Token>, open: number): number => {
  for (let at = open + 1; at < tokens.length; at += 2) {
    const token = tokens[at] as Token
    if (token.kind !== "word" && token.kind !== "name") return -1
    if (isMark(tokens[at + 1], ")")) return at + 2
    if (!isMark(tokens[at + 1], ",")) return -1
  }
  return -1
}

/**
 * Whether `name (a, b) AS (SELECT …)` of a WITH begins at `at`: a function's column list does not begin like a query.
 */
const isNamedQuery = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  if (!isWord(tokens[at - 1], "with", "recursive") && !isMark(tokens[at - 1], ",")) return false
  let next = endOfNames(tokens, at + 1)
  if (next < 0 || !isWord(tokens[next], "as")) return false
  next++
  if (isWord(tokens[next], "not")) next++
  if (isWord(tokens[next], "materialized")) next++
  if (!isMark(tokens[next], "(")) return false
  const first = tokens[next + 1]
  return (
    isWord(first, "select", "with") || isMark(first, "(") || (isWord(first, "values") && isMark(tokens[next + 2], "("))
  )
}

/** Whether the word before a parenthesis is a keyword, an alias or a type. */
const isNoCall = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const token = tokens[at] as Token
  const before = tokens[at - 1]
  if (isMark(before, ".")) return false
  if (isWord(before, "as") && !isMark(tokens[at - 2], ".")) return true
  if (isMark(before, ":") && isMark(tokens[at - 2], ":")) return true
  if (token.kind === "word") {
    if (keywords.has(token.text) || (at === 0 && token.text === "explain")) return true
    const expected = followers.get(token.text)
    if (expected !== undefined && before !== undefined && expected.has(before.text)) return true
  }
  return token.kind !== "string" && isNamedQuery(tokens, at)
}

const refusal = (name: string): string =>
  `${JSON.stringify(name.slice(0, 100))} is not among the functions that may be called`

interface Called {
  readonly name: string
  readonly schema: string | undefined
}

const calledAt = (tokens: ReadonlyArray<Token>, at: number): Called => ({
  name: (tokens[at] as Token).text,
  schema: isMark(tokens[at - 1], ".") ? (tokens[at - 2]?.text ?? "") : undefined
})

/** Letters outside ASCII are always case-sensitive. */
const folded = (name: string): string => name.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const sqliteCall = ({ name, schema }: Called, allowed: Allowed): string | undefined => {
  const known = folded(name)
  return SqliteFunctions.functions.has(known) || SqliteFunctions.modules.has(known) || allowed.has(known)
    ? undefined
    : refusal(schema === undefined ? name : `${schema}.${name}`)
}

const postgresCall = ({ name, schema }: Called, allowed: Allowed): string | undefined => {
  const isOwn = schema === undefined || schema === "pg_catalog"
  if (isOwn && PostgresFunctions.functions.has(name)) return undefined
  const full = schema === undefined ? name : `${schema}.${name}`
  return allowed.has(full) ? undefined : refusal(full)
}

/** Checks names used without a call. */
const nameProblem = (
  tokens: ReadonlyArray<Token>,
  at: number,
  dialect: Dialect,
  allowed: Allowed
): string | undefined => {
  const { kind, text } = tokens[at] as Token
  if (kind === "mark") return undefined
  if (dialect === "sqlite") {
    const known = folded(text)
    return known.startsWith("pragma_") && !SqliteFunctions.modules.has(known) && !allowed.has(known)
      ? refusal(text)
      : undefined
  }
  if (kind === "string") return undefined
  const { name, schema } = calledAt(tokens, at)
  if (PostgresFunctions.lookups.has(name)) return `${JSON.stringify(name)} looks names up in the catalogs`
  if (kind === "word" && schema === undefined && PostgresFunctions.telling.has(name)) return refusal(name)
  if (schema === "information_schema" && PostgresFunctions.secrets.has(name)) return refusal(`${schema}.${name}`)
  const isServers = name.startsWith("pg_") && (schema === undefined || schema === "pg_catalog")
  return isServers && !PostgresFunctions.catalogs.has(name) && !allowed.has(name)
    ? `${JSON.stringify(name.slice(0, 100))} is not among the catalogs that may be read; a column of that name is written after its table: t.${name.slice(0, 100)}`
    : undefined
}

/**
 * Why the statement is refused; `undefined` if everything it calls is allowed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const problem = (tokens: ReadonlyArray<Token>, dialect: Dialect, allowed: Allowed): string | undefined => {
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as Token
    const isBeforeParenthesis = token.kind !== "mark" && isMark(tokens[at + 1], "(")
    if (isBeforeParenthesis && !isNoCall(tokens, at)) {
      const called = calledAt(tokens, at)
      const found = dialect === "pg" ? postgresCall(called, allowed) : sqliteCall(called, allowed)
      if (found !== undefined) return found
    } else {
      const found = nameProblem(tokens, at, dialect, allowed)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/**
 * Names that could be a virtual table of SQLite or, after a dot, a row function of Postgres (`t.f` means `f(t)`),
 * without duplicates.
 *
 * @since 0.1.0
 * @category accessors
 */
export const names = (tokens: ReadonlyArray<Token>, dialect: Dialect): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const [at, { kind, text }] of tokens.entries()) {
    if (kind === "mark") continue
    if (dialect === "sqlite") found.add(folded(text.slice(0, 100)))
    else if (kind !== "string" && isMark(tokens[at - 1], ".")) found.add(text)
  }
  return [...found]
}

/**
 * Whether a name that the database resolved to a function or module is allowed.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isAllowed = (name: string, dialect: Dialect, allowed: Allowed): boolean =>
  dialect === "pg"
    ? PostgresFunctions.functions.has(name) || allowed.has(name)
    : SqliteFunctions.modules.has(folded(name)) || allowed.has(folded(name))

/**
 * Decides from its tokens, as the database reads them, whether a text is one SQL statement that only reads and calls
 * only functions that compute. Refuses text that databases could read in two ways; the connection forbids writes as a
 * second barrier.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as SqlCalls from "./SqlCalls.js"
import * as SqlTokens from "./SqlTokens.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Dialect = SqlTokens.Dialect

/**
 * @since 0.1.0
 * @category models
 */
export interface Statement {
  /** Without its terminator. */
  readonly sql: string
  /** A query can be nested in another one, an explanation cannot. */
  readonly kind: "query" | "explain"
  /**
   * Names the database may resolve to a virtual table (SQLite) or a row function (Postgres); see `SqlCalls.names`.
   */
  readonly names: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Refusal {
  readonly reason: "NotReadOnly" | "NotAllowed"
  readonly message: string
}

type Token = SqlTokens.Token

const reading: ReadonlySet<string> = new Set(["select", "with", "values"])

/** A read-only statement contains these only as names: quoted, or after the dot of a table. */
const writing: ReadonlySet<string> = new Set(["insert", "update", "delete", "merge", "into"])

const locks: ReadonlySet<string> = new Set(["update", "share", "no", "key"])

/** Excludes `settings`, which reveals the server's configuration. */
const explaining: ReadonlySet<string> = new Set(
  "analyze verbose costs buffers timing summary wal memory serialize generic_plan format text json xml yaml binary none on off true false , 0 1".split(
    " "
  )
)

/** The explained statement; empty if the explanation would execute it. */
const explained = (tokens: ReadonlyArray<Token>): string => {
  let at = 1
  if (tokens[at]?.text === "(") {
    for (at++; at < tokens.length && tokens[at]?.text !== ")"; at++) {
      if (!explaining.has(tokens[at]?.text ?? "")) return ""
    }
    at++
  }
  while (["analyze", "verbose", "query", "plan"].includes(tokens[at]?.text ?? "")) at++
  return tokens[at]?.kind === "word" ? (tokens[at]?.text ?? "") : ""
}

/** Why the tokens are not one read-only statement. */
const problemOf = (tokens: ReadonlyArray<Token>): string | undefined => {
  let depth = 0
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind === "mark" && text === "(") depth++
    if (kind === "mark" && text === ")" && --depth < 0) return "Its parentheses do not match"
    if (kind !== "word") continue
    const before = tokens[index - 1]
    if (writing.has(text) && !(before?.kind === "mark" && before.text === ".")) {
      return `It writes: ${text.toUpperCase()}`
    }
    if (before?.kind === "word" && before.text === "for" && locks.has(text)) return "It locks what it reads"
  }
  return depth === 0 ? undefined : "Its parentheses do not match"
}

const refused = (reason: Refusal["reason"], message: string): Either.Either<never, Refusal> =>
  Either.left({ reason, message })

/**
 * Parses one read-only statement; `Left` says why it is refused. `allowed` adds functions to the dialect's list.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  sql: string,
  dialect: Dialect,
  allowed: SqlCalls.Allowed = new Set()
): Either.Either<Statement, Refusal> => {
  const read = SqlTokens.make(sql, dialect)
  if (Either.isLeft(read)) return refused("NotReadOnly", read.left)
  const all = read.right
  const end = all.findIndex(({ kind, text }) => kind === "mark" && text === ";")
  if (end >= 0 && end < all.length - 1) return refused("NotReadOnly", "There is more than one statement")
  const tokens = end < 0 ? all : all.slice(0, end)
  const problem = problemOf(tokens)
  if (problem !== undefined) return refused("NotReadOnly", problem)
  const first = tokens.find(({ kind, text }) => kind !== "mark" || text !== "(")
  const isExplain = first?.kind === "word" && first.text === "explain" && tokens[0] === first
  const word = isExplain ? explained(tokens) : first?.kind === "word" ? first.text : ""
  if (!reading.has(word)) {
    return refused("NotReadOnly", "It is no SELECT, WITH, VALUES or EXPLAIN of one of these")
  }
  const called = SqlCalls.problem(tokens, dialect, allowed)
  if (called !== undefined) return refused("NotAllowed", called)
  return Either.right({
    kind: isExplain ? "explain" : "query",
    sql: end < 0 ? sql : sql.slice(0, all[end]?.start),
    names: SqlCalls.names(tokens, dialect)
  })
}

/**
 * The names under which data belongs to a user, and conditions on rows by them.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect, Param } from "./engine/Dialect.js"
import * as IndexKey from "./engine/IndexKey.js"
import * as KeyText from "./engine/KeyText.js"

/**
 * The names under which data belongs to a user.
 *
 * @category models
 */
export interface Names {
  readonly user: string
  /** Owners of the user's entries and facts. */
  readonly owners: ReadonlyArray<string>
  /** The user's sessions, and deleted sessions with turns that these still need. */
  readonly sessions: ReadonlyArray<string>
  readonly runs: ReadonlyArray<string>
  /** Of the durable ones among the runs. */
  readonly executions: ReadonlyArray<string>
  /** As encoded in their tables. */
  readonly threads: ReadonlyArray<string>
}

/**
 * @category models
 */
export interface Condition {
  readonly text: string
  readonly params: (names: Names) => ReadonlyArray<Param>
}

/**
 * Two encodings of key columns.
 *
 * @category conversions
 */
export const encoded = (texts: ReadonlyArray<string>): ReadonlyArray<string> => texts.map(KeyText.encode)
export const indexed = (texts: ReadonlyArray<string>): ReadonlyArray<string> => texts.map(IndexKey.of)

/** Accounts are `user:<id>:<month>`. The length excludes users whose id begins with this id. */
const monthOf = "2000-01"

/** An upper bound of all texts with the prefix. */
const endOf = (prefix: string): string => `${prefix}\u{10ffff}`

/**
 * @category constructors
 */
export const make = (dialect: Dialect) => {
  const oneOf = (column: string, pick: (names: Names) => ReadonlyArray<string>): Condition => ({
    text: dialect.oneOf(column),
    params: (names) => [dialect.list(pick(names))]
  })
  const any = (...conditions: ReadonlyArray<Condition>): Condition => ({
    text: `(${conditions.map(({ text }) => text).join(" OR ")})`,
    params: (names) => conditions.flatMap(({ params }) => params(names))
  })
  const ofUser = (column: string): Condition => ({
    text: `${column} = ?`,
    params: ({ user }) => [IndexKey.of(user)]
  })
  const ofSession = oneOf("session_id", ({ sessions }) => encoded(sessions))
  const ofOwner = oneOf("owner_id", ({ owners }) => encoded(owners))
  const ofAccount: Condition = {
    text: "account >= ? AND account < ? AND LENGTH(account) = ?",
    params: ({ user }) => {
      const prefix = KeyText.encode(`user:${user}:`)
      return [prefix, endOf(prefix), Array.from(prefix).length + monthOf.length]
    }
  }
  const ofThread = oneOf("thread_id", ({ threads }) => threads)
  return { oneOf, any, ofUser, ofSession, ofOwner, ofAccount, ofThread }
}

/**
 * @category models
 */
export type Conditions = ReturnType<typeof make>

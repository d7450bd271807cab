/**
 * Finds the names under which data belongs to a user.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Sha256 from "../internal/text/Sha256.js"
import type { Access } from "./engine/Database.js"
import type { Dialect } from "./engine/Dialect.js"
import * as IndexKey from "./engine/IndexKey.js"
import * as KeyText from "./engine/KeyText.js"
import * as Rows from "./session/SqlSessionRows.js"

const indexed = (texts: ReadonlyArray<string>): ReadonlyArray<string> => texts.map(IndexKey.of)

/**
 * The user's sessions, and all sessions with turns in their lineages.
 *
 * @category queries
 */
export const sessionsOf = (dialect: Dialect) => {
  const ofUser = dialect.sql("SELECT id FROM lex_sessions WHERE user_id = ? AND status IN (0, 1, 2, 3, 4)")
  const before = dialect.sql(
    `SELECT base_session AS id FROM lex_sessions WHERE ${dialect.oneOf("id")} AND base_session IS NOT NULL
    UNION SELECT parent_session FROM lex_session_turns WHERE ${dialect.oneOf("session_id")} AND parent_session IS NOT NULL`
  )
  return Effect.fnUntraced(function* (access: Access, user: string) {
    const known = new Set<string>()
    let found = (yield* access.rows<{ readonly id: string }>(ofUser, [Rows.userKey(user)])).map(({ id }) => id)
    while (found.length > 0) {
      for (const id of found) known.add(id)
      const list = dialect.list(found)
      const more = yield* access.rows<{ readonly id: string }>(before, [list, list])
      found = more.map(({ id }) => id).filter((id) => !known.has(id))
    }
    return Array.from(known, KeyText.decode)
  })
}

/**
 * The runs of the user, the runs in the user's sessions, and their child runs.
 *
 * @category queries
 */
export const runsOf = (dialect: Dialect) => {
  const ofUser = dialect.sql(
    `SELECT run_id FROM lex_runs WHERE user_id = ? UNION SELECT run_id FROM lex_runs WHERE ${dialect.oneOf("session_id")}`
  )
  const below = dialect.sql(`SELECT run_id FROM lex_runs WHERE ${dialect.oneOf("parent_run_id")}`)
  return Effect.fnUntraced(function* (access: Access, user: string, sessions: ReadonlyArray<string>) {
    const known = new Set<string>()
    const first = yield* access.rows<{ readonly run_id: string }>(ofUser, [
      IndexKey.of(user),
      dialect.list(indexed(sessions))
    ])
    let found = first.map(({ run_id }) => run_id)
    while (found.length > 0) {
      for (const id of found) known.add(id)
      const more = yield* access.rows<{ readonly run_id: string }>(below, [dialect.list(found)])
      found = more.map(({ run_id }) => run_id).filter((id) => !known.has(id))
    }
    return Array.from(known)
  })
}

/**
 * The execution of a durable run (`AgentWorkflow`), by the run as encoded in its tables.
 *
 * @category getters
 */
export const executionOf = (run: string): string => Sha256.hex(`AgentRun-${run}`).slice(0, 32)

/**
 * The workflow of the webhook of a run.
 *
 * @category constants
 */
export const webhook = "RunWebhook"

const webhookOf = (run: string): string => Sha256.hex(`${webhook}-${run}`).slice(0, 32)

/**
 * The workflow of the push notifications of a run.
 *
 * @category constants
 */
export const push = "A2aPush"

/**
 * The most push notification configs of a run.
 *
 * @category constants
 */
export const MOST_PUSHES = 8

/**
 * The key of the execution for one config of a run as encoded in its tables.
 *
 * @category getters
 */
export const pushKey = (run: string, slot: number): string => `${slot}~${run}`

const pushesOf = (run: string): ReadonlyArray<string> =>
  Array.from({ length: MOST_PUSHES }, (_, slot) => Sha256.hex(`${push}-${pushKey(run, slot)}`).slice(0, 32))

/**
 * The executions of the durable runs among `runs`, of the user, and in the user's sessions, and of their webhooks.
 *
 * @category queries
 */
export const executionsOf = (dialect: Dialect) => {
  const ofUser = dialect.sql(
    `SELECT run_id FROM lex_run_records WHERE user_id = ? UNION SELECT run_id FROM lex_run_records WHERE ${dialect.oneOf("session_id")}`
  )
  return Effect.fnUntraced(function* (
    access: Access,
    user: string,
    sessions: ReadonlyArray<string>,
    runs: ReadonlyArray<string>
  ) {
    const recorded = yield* access.rows<{ readonly run_id: string }>(ofUser, [
      IndexKey.of(user),
      dialect.list(indexed(sessions))
    ])
    const all = Array.from(new Set([...runs, ...recorded.map(({ run_id }) => run_id)]))
    return all.flatMap((run) => [executionOf(run), webhookOf(run), ...pushesOf(run)])
  })
}

/**
 * The threads of the user, and those of `given` without an owner, as encoded in their tables.
 *
 * @category queries
 */
export const threadsOf = (dialect: Dialect) => {
  const ofUser = dialect.sql("SELECT thread_id FROM lex_threads WHERE user_id = ?")
  const ofNobody = dialect.sql(
    `SELECT thread_id FROM lex_threads WHERE ${dialect.oneOf("thread_id")} AND user_id IS NULL`
  )
  return Effect.fnUntraced(function* (access: Access, user: string, given: ReadonlyArray<string>) {
    const own = yield* access.rows<{ readonly thread_id: string }>(ofUser, [IndexKey.of(user)])
    const free =
      given.length === 0
        ? []
        : yield* access.rows<{ readonly thread_id: string }>(ofNobody, [dialect.list(indexed(given))])
    return [...own, ...free].map(({ thread_id }) => thread_id)
  })
}

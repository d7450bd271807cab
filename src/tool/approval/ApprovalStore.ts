/**
 * The port that stores approval requests and decisions.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { count } from "../../internal/Count.js"
import type { ApprovalError } from "./ApprovalError.js"
import { ApprovalDecision, ApprovalRequest } from "./ApprovalGate.js"

const NAME = "effect-lexigram/tool/ApprovalStore"

/**
 * How a request was settled: by a decision, by a remembered decision, or by expiry.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SettledBy = Schema.Literal("decision", "remembered", "expiry").annotations({
  identifier: `${NAME}/SettledBy`
})
/**
 * @since 0.1.0
 * @category models
 */
export type SettledBy = typeof SettledBy.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const Settlement = Schema.Struct({
  decision: ApprovalDecision,
  settledBy: SettledBy,
  /** Milliseconds since the epoch. */
  at: Schema.Number,
  /** Who decided, as given with the decision. */
  by: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/Settlement` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Settlement extends Schema.Schema.Type<typeof Settlement> {}

/**
 * A request and its settlement; it waits while it has none.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApprovalRecord = Schema.Struct({
  request: ApprovalRequest,
  /** Milliseconds since the epoch. */
  requestedAt: Schema.Number,
  settlement: Schema.optional(Settlement)
}).annotations({ identifier: `${NAME}/ApprovalRecord` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ApprovalRecord extends Schema.Schema.Type<typeof ApprovalRecord> {}

/**
 * The scope of a remembered decision: the root run, the session, the user, or all callers of the tool. Except for
 * `tool`, a decision covers requests of one user, or those without a user.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Scope = Schema.Literal("run", "session", "user", "tool").annotations({ identifier: `${NAME}/Scope` })
/**
 * @since 0.1.0
 * @category models
 */
export type Scope = typeof Scope.Type

/**
 * A decision for future requests.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Remembered = Schema.Struct({
  /** Identifies the requests it covers; one decision per key. */
  key: Schema.String,
  scope: Scope,
  /** The run, session or user; absent for `tool`. */
  scopeId: Schema.optional(Schema.String),
  /** The user whose requests it answers; absent: requests without a user, and for `tool` all requests. */
  userId: Schema.optional(Schema.String),
  agent: Schema.String,
  tool: Schema.String,
  /** Only for equal arguments. */
  exact: Schema.Boolean,
  decision: ApprovalDecision,
  /** Milliseconds since the epoch. */
  at: Schema.Number,
  by: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/Remembered` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Remembered extends Schema.Schema.Type<typeof Remembered> {}

/**
 * Selects waiting requests. Every given field must match.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter {
  readonly runId?: string | undefined
  readonly rootRunId?: string | undefined
  readonly sessionId?: string | undefined
  /** `null`: requests without a user. */
  readonly userId?: string | null | undefined
  readonly agent?: string | undefined
  readonly tool?: string | undefined
  /** Default 100, the oldest ones. */
  readonly limit?: number | undefined
}

/**
 * Selects remembered decisions. Every given field must match; without fields, all match.
 *
 * @since 0.1.0
 * @category models
 */
export interface RememberedFilter {
  readonly scope?: Scope | undefined
  readonly scopeId?: string | undefined
  /** `null`: decisions for requests without a user. Decisions for all callers belong neither to a user nor here. */
  readonly userId?: string | null | undefined
  readonly agent?: string | undefined
  readonly tool?: string | undefined
}

const isOf = (wanted: string | null | undefined, userId: string | undefined): boolean =>
  wanted === undefined || wanted === (userId ?? null)

/**
 * Whether a request matches a filter, apart from its limit.
 *
 * @since 0.1.0
 * @category guards
 */
export const accepts = (filter: Filter, request: ApprovalRequest): boolean =>
  (filter.runId === undefined || filter.runId === request.runId) &&
  (filter.rootRunId === undefined || filter.rootRunId === request.rootRunId) &&
  (filter.sessionId === undefined || filter.sessionId === request.sessionId) &&
  isOf(filter.userId, request.userId) &&
  (filter.agent === undefined || filter.agent === request.agent) &&
  (filter.tool === undefined || filter.tool === request.tool)

const acceptsRemembered = (filter: RememberedFilter, remembered: Remembered): boolean =>
  (filter.scope === undefined || filter.scope === remembered.scope) &&
  (filter.scopeId === undefined || filter.scopeId === remembered.scopeId) &&
  (filter.userId === undefined || remembered.scope !== "tool") &&
  isOf(filter.userId, remembered.userId) &&
  (filter.agent === undefined || filter.agent === remembered.agent) &&
  (filter.tool === undefined || filter.tool === remembered.tool)

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Adds a record unless its id exists; returns the stored record. Of concurrent calls one is `added`. */
  readonly add: (
    record: ApprovalRecord
  ) => Effect.Effect<{ readonly record: ApprovalRecord; readonly added: boolean }, ApprovalError>
  /** The record of an id, waiting or settled. */
  readonly get: (id: string) => Effect.Effect<Option.Option<ApprovalRecord>, ApprovalError>
  /**
   * Settles a waiting request. `settled` says whether this call did it: of concurrent calls one does. A settled request
   * does not change; an unknown id gives none.
   */
  readonly settle: (
    id: string,
    settlement: Settlement
  ) => Effect.Effect<Option.Option<{ readonly record: ApprovalRecord; readonly settled: boolean }>, ApprovalError>
  /** The waiting requests, the oldest first; those of one millisecond in the order they were added. */
  readonly pending: (filter: Filter) => Effect.Effect<ReadonlyArray<ApprovalRecord>, ApprovalError>
  /** The waiting requests that expire by `now`, at most `limit`. */
  readonly overdue: (now: number, limit: number) => Effect.Effect<ReadonlyArray<ApprovalRecord>, ApprovalError>
  /** Removes a waiting request and returns it. A settled or unknown one is left alone. */
  readonly withdraw: (id: string) => Effect.Effect<Option.Option<ApprovalRecord>, ApprovalError>
  /** Drops requests settled before a time; returns how many. */
  readonly prune: (before: number) => Effect.Effect<number, ApprovalError>
  /** Remembers a decision, and replaces the one with the same key. */
  readonly remember: (remembered: Remembered) => Effect.Effect<void, ApprovalError>
  /** The remembered decision of the first key that has one. */
  readonly recall: (keys: ReadonlyArray<string>) => Effect.Effect<Option.Option<Remembered>, ApprovalError>
  /** The remembered decisions, the oldest first. */
  readonly remembered: (filter: RememberedFilter) => Effect.Effect<ReadonlyArray<Remembered>, ApprovalError>
  /** Forgets decisions; returns how many. */
  readonly forget: (filter: RememberedFilter) => Effect.Effect<number, ApprovalError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ApprovalStore extends Context.Tag("effect-lexigram/tool/ApprovalStore")<ApprovalStore, Service>() {}

/**
 * Requests that a list returns by default.
 *
 * @since 0.1.0
 * @category constants
 */
export const DEFAULT_LIMIT = 100

const first = <A>(entries: Iterable<A>, accepts: (entry: A) => boolean, limit: number): ReadonlyArray<A> => {
  const found: Array<A> = []
  for (const entry of entries) {
    if (found.length >= limit) break
    if (accepts(entry)) found.push(entry)
  }
  return found
}

/** Adds an entry at the end and drops the oldest beyond the limit. */
const put = <A>(map: Map<string, A>, key: string, value: A, capacity: number): void => {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= capacity) return
    map.delete(oldest)
  }
}

/**
 * Stores everything in memory: all waiting requests, and the newest settled requests and remembered decisions.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: {
  /** Settled requests that are kept; default 1,000. */
  readonly maxSettled?: number | undefined
  /** Decisions that are remembered; default 1,000. */
  readonly maxRemembered?: number | undefined
}): Effect.Effect<Service> =>
  Effect.sync(() => {
    const maxSettled = count(options?.maxSettled, 1000, 0)
    const maxRemembered = count(options?.maxRemembered, 1000, 0)
    const waiting = new Map<string, ApprovalRecord>()
    const settled = new Map<string, ApprovalRecord>()
    const memory = new Map<string, Remembered>()
    const find = (id: string): ApprovalRecord | undefined => waiting.get(id) ?? settled.get(id)
    return {
      add: (record) =>
        Effect.sync(() => {
          const { id } = record.request
          const known = find(id)
          if (known !== undefined) return { record: known, added: false }
          if (record.settlement === undefined) waiting.set(id, record)
          else put(settled, id, record, maxSettled)
          return { record, added: true }
        }),
      get: (id) => Effect.sync(() => Option.fromNullable(find(id))),
      settle: (id, settlement) =>
        Effect.sync(() => {
          const pending = waiting.get(id)
          if (pending === undefined) {
            return Option.map(Option.fromNullable(settled.get(id)), (record) => ({ record, settled: false }))
          }
          const record: ApprovalRecord = { ...pending, settlement }
          waiting.delete(id)
          put(settled, id, record, maxSettled)
          return Option.some({ record, settled: true })
        }),
      pending: (filter) =>
        Effect.sync(() =>
          first(waiting.values(), ({ request }) => accepts(filter, request), count(filter.limit, DEFAULT_LIMIT, 0))
        ),
      overdue: (now, limit) =>
        Effect.sync(() =>
          first(
            waiting.values(),
            ({ request }) => request.expiresAt !== undefined && request.expiresAt <= now,
            count(limit, DEFAULT_LIMIT, 0)
          )
        ),
      withdraw: (id) =>
        Effect.sync(() => {
          const record = waiting.get(id)
          waiting.delete(id)
          return Option.fromNullable(record)
        }),
      prune: (before) =>
        Effect.sync(() => {
          let dropped = 0
          // Entries are in the order they were settled: the first recent one ends the search.
          for (const [id, record] of settled) {
            if (record.settlement !== undefined && record.settlement.at >= before) break
            settled.delete(id)
            dropped++
          }
          return dropped
        }),
      remember: (remembered) => Effect.sync(() => put(memory, remembered.key, remembered, maxRemembered)),
      recall: (keys) =>
        Effect.sync(() => {
          for (const key of keys) {
            const remembered = memory.get(key)
            if (remembered !== undefined) return Option.some(remembered)
          }
          return Option.none()
        }),
      remembered: (filter) =>
        Effect.sync(() =>
          first(memory.values(), (entry) => acceptsRemembered(filter, entry), Number.POSITIVE_INFINITY)
        ),
      forget: (filter) =>
        Effect.sync(() => {
          let forgotten = 0
          for (const [key, entry] of memory) {
            if (!acceptsRemembered(filter, entry)) continue
            memory.delete(key)
            forgotten++
          }
          return forgotten
        })
    }
  })

/**
 * Stores requests in memory: waiting requests end with the process.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { ApprovalStore, PendingApprovals } from "effect-lexigram/tool"
 * import * as Layer from "effect/Layer"
 *
 * const approvals = PendingApprovals.layer({ expiresAfter: "2 days" }).pipe(
 *   Layer.provide(ApprovalStore.layerMemory({ maxSettled: 100 }))
 * )
 * ```
 */
export const layerMemory = (options?: {
  /** Settled requests that are kept; default 1,000. */
  readonly maxSettled?: number | undefined
  /** Decisions that are remembered; default 1,000. */
  readonly maxRemembered?: number | undefined
}): Layer.Layer<ApprovalStore> => Layer.effect(ApprovalStore, makeMemory(options))

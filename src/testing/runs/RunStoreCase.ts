/**
 * Building blocks of the cases of `RunStoreSuite`.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import * as RunRecord from "../../agent/record/RunRecord.js"
import * as RunStore from "../../agent/record/RunStore.js"
import { RunId, SessionId, UserId } from "../../domain/Ids.js"
import type * as PortSuite from "../suite/PortSuite.js"
import { Mismatch } from "../suite/SuiteAssert.js"

/**
 * One promise of the port and its test. It requires an empty store.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<RunStore.RunStore>

/**
 * The time at which a case begins, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constants
 */
export const epoch = 1_750_000_000_000

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  body: (store: RunStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(RunStore.RunStore, (store) => Effect.gen(() => body(store))) })

/**
 * @since 0.1.0
 * @category models
 */
export interface Fields
  extends Partial<Omit<RunRecord.RunRecord, "runId" | "userId" | "sessionId" | "createdAt" | "updatedAt">> {
  readonly userId?: string | undefined
  readonly sessionId?: string | undefined
  /** Milliseconds after `epoch`. */
  readonly after?: number | undefined
}

/**
 * A running run of Ann, created at `epoch`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const record = (id: string, { after = 0, sessionId, ...fields }: Fields = {}): RunRecord.RunRecord => {
  const { userId, ...others } = { userId: "ann", ...fields }
  return {
    runId: RunId.make(id),
    agent: "helper",
    state: "running",
    labels: {},
    createdAt: epoch + after,
    updatedAt: epoch + after,
    ...(userId === undefined ? {} : { userId: UserId.make(userId) }),
    ...(sessionId === undefined ? {} : { sessionId: SessionId.make(sessionId) }),
    ...others
  }
}

/**
 * Adds a record whose fingerprint is its id.
 *
 * @since 0.1.0
 * @category accessors
 */
export const add = (store: RunStore.Service, id: string, fields?: Fields) =>
  Effect.map(store.insert(record(id, fields), id), (inserted) => inserted.record)

/**
 * Ends an open run, some milliseconds after `epoch`.
 *
 * @since 0.1.0
 * @category accessors
 */
export const end = (store: RunStore.Service, id: string, after: number, to: RunRecord.RunState = "completed") =>
  store.update(id, { from: RunRecord.OPEN, to, at: epoch + after })

/**
 * The value; fails if there is none.
 *
 * @since 0.1.0
 * @category getters
 */
export const some = <A>(value: Option.Option<A>, what: string): A => {
  if (Option.isNone(value)) throw new Mismatch(what, "none", "a run")
  return value.value
}

/**
 * The ids of the runs of a page; of the runs of Ann unless the filter says otherwise.
 *
 * @since 0.1.0
 * @category getters
 */
export const ids = (store: RunStore.Service, filter?: RunStore.Filter) =>
  Effect.map(store.list({ userId: "ann", ...filter }), ({ records }) => records.map(({ runId }) => runId as string))

/**
 * The ids of the runs of all pages.
 *
 * @since 0.1.0
 * @category getters
 */
export const pages = Effect.fnUntraced(function* (store: RunStore.Service, filter: RunStore.Filter) {
  const found: Array<ReadonlyArray<string>> = []
  for (let cursor: string | undefined; ; ) {
    const page: RunStore.Page = yield* store.list({ ...filter, cursor })
    found.push(page.records.map(({ runId }) => runId))
    if (page.next === undefined) return found
    cursor = page.next
  }
})

/**
 * Keeps the records of runs in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import * as RunError from "./RunError.js"
import * as RunPage from "./RunPage.js"
import * as RunRecord from "./RunRecord.js"
import * as RunStore from "./RunStore.js"

/** Whether a record matches a filter, apart from its owner and its place. */
const accepts = (filter: RunStore.Filter, record: RunRecord.RunRecord): boolean =>
  (filter.agent === undefined || filter.agent === record.agent) &&
  (filter.sessionId === undefined || filter.sessionId === record.sessionId) &&
  (filter.states === undefined || filter.states.includes(record.state)) &&
  !(filter.createdFrom !== undefined && record.createdAt < filter.createdFrom) &&
  !(filter.createdBefore !== undefined && record.createdAt >= filter.createdBefore) &&
  Object.entries(filter.labels ?? {}).every(
    ([name, value]) => Object.hasOwn(record.labels, name) && record.labels[name] === value
  )

const isVisible = (held: SystemAccess.Held, userId: string | undefined, record: RunRecord.RunRecord): boolean =>
  SystemAccess.allows(held, userId, record.userId) && (record.system !== true || SystemAccess.isGrant(held))

/** Whether a record comes after a place in a list: it is older, or of the same time with a smaller id. */
const isAfter = (record: RunRecord.RunRecord, { createdAt, key }: RunPage.Place): boolean =>
  record.createdAt < createdAt || (record.createdAt === createdAt && record.runId < key)

const newestFirst = (a: RunRecord.RunRecord, b: RunRecord.RunRecord): number =>
  b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : -1)

type Inserted = ReturnType<RunStore.Service["insert"]>

interface Kept {
  record: RunRecord.RunRecord
  readonly fingerprint: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Ended runs that are kept; the one that ended first is removed first. Default 1,000. */
  readonly maxEnded?: number | undefined
}

/**
 * Keeps the records in memory: all runs that go on, and the newest of those that ended.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): RunStore.Service => {
  const maxEnded = count(options?.maxEnded, 1000, 0)
  const runs = new Map<string, Kept>()
  /** In the order in which they ended. */
  const ended = new Set<string>()
  const remove = (runId: string): boolean => {
    ended.delete(runId)
    return runs.delete(runId)
  }
  const end = (runId: string): void => {
    ended.add(runId)
    if (ended.size > maxEnded) for (const oldest of ended) return void remove(oldest)
  }
  const removeAll = (isGone: (record: RunRecord.RunRecord) => boolean) =>
    Effect.sync(() => {
      const gone = Array.from(runs.values()).filter(({ record }) => isGone(record))
      for (const { record } of gone) remove(record.runId)
      return gone.length
    })
  return {
    insert: (record, fingerprint) =>
      Effect.suspend((): Inserted => {
        const known = runs.get(record.runId)
        if (known === undefined) {
          runs.set(record.runId, { record, fingerprint })
          if (RunRecord.isEnded(record.state)) end(record.runId)
          return Effect.succeed({ record, added: true })
        }
        const { system, userId } = known.record
        return known.fingerprint === fingerprint && userId === record.userId && system === record.system
          ? Effect.succeed({ record: known.record, added: false })
          : RunError.conflict(record.runId)
      }),
    update: (runId, change) =>
      Effect.sync(() => {
        const kept = runs.get(runId)
        if (kept === undefined) return Option.none()
        const { state } = kept.record
        if (RunRecord.isEnded(state) || !change.from.includes(state)) {
          return Option.some({ record: kept.record, changed: false })
        }
        const record = RunPage.changed(kept.record, change)
        kept.record = record
        if (RunRecord.isEnded(change.to)) end(runId)
        return Option.some({ record, changed: true })
      }),
    get: (runId, access) =>
      Effect.map(SystemAccess.held, (held) =>
        Option.filter(Option.fromNullable(runs.get(runId)?.record), (record) => isVisible(held, access?.userId, record))
      ),
    list: (filter = {}) =>
      Effect.flatMap(RunPage.fromCursor(filter.cursor), (place) =>
        Effect.map(SystemAccess.held, (held): RunStore.Page => {
          const found = Array.from(runs.values(), ({ record }) => record)
            .filter(
              (record) =>
                isVisible(held, filter.userId, record) &&
                accepts(filter, record) &&
                (place === undefined || isAfter(record, place))
            )
            .sort(newestFirst)
          const records = found.slice(0, RunPage.limitOf(filter))
          const last = records.at(-1)
          return last === undefined || found.length === records.length
            ? { records }
            : { records, next: RunPage.toCursor({ createdAt: last.createdAt, key: last.runId }) }
        })
      ),
    prune: ({ before }) => removeAll(({ endedAt }) => endedAt !== undefined && endedAt < before),
    erase: (userId) => removeAll((record) => record.userId === userId)
  }
}

/**
 * Records in memory: they end with the process.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { InMemoryRunStore, LocalRuns } from "effect-lexigram/agent"
 * import * as Layer from "effect/Layer"
 *
 * const clerk = Agent.make("clerk", { system: "You answer briefly." })
 *
 * const runs = LocalRuns.layer({ agents: [clerk] }).pipe(Layer.provide(InMemoryRunStore.layer({ maxEnded: 200 })))
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<RunStore.RunStore> =>
  Layer.sync(RunStore.RunStore, () => make(options))

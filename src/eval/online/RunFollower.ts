/**
 * Follows the runs of agents: finds each drawn run once it has ended, with work for new and open runs alone.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunError } from "../../agent/record/RunError.js"
import { isEnded, type RunRecord } from "../../agent/record/RunRecord.js"
import type * as RunStore from "../../agent/record/RunStore.js"

export interface Options {
  readonly agents: ReadonlyArray<string>
  readonly userId: string | undefined
  readonly isDrawn: (runId: string) => boolean
  /** Runs that were created before this time are none of its runs. Milliseconds since the epoch. */
  readonly from: number
  /** Milliseconds after which a run that goes on is no longer waited for. */
  readonly maxDuration: number
}

const PAGE = 500

/** Clocks of processes differ, and a record comes later than its time: so many milliseconds are read again. */
const OVERLAP = 300_000

const unseen = (records: ReadonlyArray<RunRecord>, seen: ReadonlyMap<string, number>) =>
  records.filter(({ runId }) => !seen.has(runId))

export class RunFollower {
  private from: number
  /** Drawn runs that are known, by their times, as long as a list may have them again. */
  private seen = new Map<string, number>()
  /** Drawn runs that go on. */
  private open = new Map<string, RunRecord>()

  constructor(
    private readonly store: RunStore.Service,
    private readonly options: Options
  ) {
    this.from = options.from
  }

  private created(agent: string, createdFrom: number): Effect.Effect<ReadonlyArray<RunRecord>, RunError> {
    const { isDrawn, userId } = this.options
    return Effect.gen(this, function* () {
      const found: Array<RunRecord> = []
      let cursor: string | undefined
      do {
        const page: RunStore.Page = yield* this.store.list({ agent, userId, createdFrom, limit: PAGE, cursor })
        for (const record of page.records) if (isDrawn(record.runId)) found.push(record)
        cursor = page.next
      } while (cursor !== undefined)
      return found
    })
  }

  /** The runs that ended since the last call, the oldest first. A call that fails loses none: the next has them. */
  next(now: number): Effect.Effect<ReadonlyArray<RunRecord>, RunError> {
    const { agents, from, maxDuration, userId } = this.options
    return Effect.gen(this, function* () {
      const known = yield* Effect.forEach(this.open.keys(), (runId) => this.store.get(runId, { userId }), {
        concurrency: 4
      })
      const lists = yield* Effect.forEach(agents, (agent) => this.created(agent, Math.max(from, this.from - OVERLAP)))
      const fresh = unseen(lists.flat(), this.seen)
      const records = [...known.flatMap(Option.toArray), ...fresh]
      for (const { createdAt, runId } of fresh) this.seen.set(runId, createdAt)
      this.from = Math.max(now, from)
      this.seen = new Map(Array.from(this.seen).filter(([, createdAt]) => createdAt >= this.from - OVERLAP))
      this.open = new Map(
        records
          .filter(({ createdAt, state }) => !isEnded(state) && now - createdAt <= maxDuration)
          .map((record) => [record.runId, record])
      )
      return records
        .filter(({ state }) => isEnded(state))
        .sort((a, b) => a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : 1))
    })
  }
}

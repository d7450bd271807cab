/**
 * Shows what the runs of this process emit to readers in other processes, and reads what others show.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { AgentEvent } from "../domain/AgentEvent.js"
import { RunId } from "../domain/Ids.js"
import type * as DeltaFeed from "../observability/log/DeltaFeed.js"
import * as LiveRuns from "../observability/log/LiveRuns.js"
import type { Registry } from "./AgentWorkflow.js"

/** How often events are shown and read while somebody reads them elsewhere, in milliseconds. */
const PACE = 75

/** How long a reader is taken to be there after it has said so, in milliseconds, and how often it says so. */
const STAYS = 10_000
const SAYS = 3_000

/** What comes next of a run that is shown, and whether something is kept. */
interface Shown {
  next: number
  isKept: boolean
}

/** Shows runs while the scope is open. */
export const share = (
  feed: DeltaFeed.Service,
  { live, log, poll }: Pick<Registry, "live" | "log" | "poll">
): Effect.Effect<void, never, Scope.Scope> => {
  const emitted = log.live
  if (emitted === undefined) return Effect.void
  const shown = new Map<RunId, Shown>()
  const pollMillis = Duration.toMillis(poll)

  const show = (runId: RunId): Effect.Effect<void> =>
    Effect.suspend(() => {
      const run = shown.get(runId) ?? { next: 0, isKept: false }
      shown.set(runId, run)
      const events = emitted.read(runId, run.next)?.events ?? []
      const last = events.at(-1)
      if (last !== undefined) {
        return Effect.map(feed.put(runId, events), (isKept) => {
          // Otherwise they are shown again: a reader who has later ones does not come back for them.
          if (isKept) run.next = last.seq + 1
          run.isKept ||= isKept
        })
      }
      if (!run.isKept || (emitted.read(runId, 0)?.events ?? []).length > 0) return Effect.void
      // All of it is in the log by now.
      run.isKept = false
      return feed.clear(runId)
    })

  const leave = (left: ReadonlyArray<RunId>): Effect.Effect<void> =>
    Effect.forEach(
      left,
      (runId) => {
        shown.delete(runId)
        return feed.clear(runId)
      },
      { discard: true }
    )

  let going: ReadonlyArray<RunId> = []
  let askAt = 0
  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now >= askAt) {
      askAt = now + pollMillis
      going = live.size === 0 ? [] : yield* feed.wanted(Array.from(live.keys(), (runId) => RunId.make(runId)))
    }
    going = going.filter((runId) => live.has(runId))
    const here = new Set(going)
    yield* leave(Array.from(shown.keys()).filter((runId) => !here.has(runId)))
    yield* Effect.forEach(going, show, { discard: true })
    yield* Effect.sleep(going.length > 0 ? PACE : pollMillis)
  })
  return Effect.asVoid(Effect.forkScoped(Effect.interruptible(Effect.forever(round))))
}

/** Reads a run that may go on in another process. */
export const reader = (
  feed: DeltaFeed.Service,
  runId: RunId
): {
  /** Those from a number on. `written` reads at most `limit` of the log. */
  readonly read: <E>(
    from: number,
    limit: number,
    written: Effect.Effect<ReadonlyArray<AgentEvent>, E>
  ) => Effect.Effect<ReadonlyArray<AgentEvent>, E>
  /** How long to wait for more. */
  readonly pace: Duration.Duration
} => {
  let saidAt = Number.NEGATIVE_INFINITY
  const say = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if (now - saidAt < SAYS) return Effect.void
    saidAt = now
    return feed.want(runId, STAYS)
  })
  return {
    // First what is shown: the log has all before that which is not shown.
    read: (from, limit, written) =>
      Effect.zipRight(
        say,
        Effect.flatMap(feed.read(runId, from), (events) =>
          Effect.map(written, (known) =>
            // Of a full page the rest is not known, and comes before what is shown.
            events.length === 0 || known.length >= limit
              ? known
              : LiveRuns.merge(known, { events, last: Number.POSITIVE_INFINITY })
          )
        )
      ),
    pace: Duration.millis(PACE)
  }
}

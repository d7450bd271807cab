/**
 * Keeps the events of runs.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../domain/AgentEvent.js"
import * as ErrorCode from "../domain/ErrorCode.js"
import type { RunId } from "../domain/Ids.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import { count } from "../internal/Count.js"
import * as LiveRuns from "./log/LiveRuns.js"
import { WholeTexts } from "./log/WholeTexts.js"

/**
 * The log could not be written or read.
 *
 * @since 0.1.0
 * @category errors
 */
export class RunLogError extends ErrorCode.TaggedError<RunLogError>("effect-lexigram/observability/RunLog/RunLogError")(
  "RunLogError",
  { ...ErrorCode.fields("LEX_ERR_AGT_106"), operation: Schema.Literal("append", "read") }
) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  /** Only what is written: without what a run of this process has emitted since. Default false. */
  readonly written?: boolean | undefined
  /** Default 0. */
  readonly from?: number | undefined
  /** The maximum number of events; default all. */
  readonly limit?: number | undefined
  /**
   * The reader. A run belongs to the user it was started for; an inner run without a user belongs to the user of the
   * outer one. A run that the system started for no user is visible only to the system, since it may have seen
   * anybody's data. Without `userId` only runs without a user are found, unless the caller acts for the system
   * (`SystemAccess`).
   */
  readonly userId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** False: nothing is kept, and events need not be collected. */
  readonly enabled: boolean
  /**
   * Appends events to those of their runs. An event that a run already has (by `seq`) is kept once. Runs append in
   * batches, and append no deltas: the text of an answer is in its `Message`, and what a run showed of an answer that
   * it did not finish is in its `Error`.
   */
  readonly append: (events: ReadonlyArray<AgentEvent>) => Effect.Effect<void, RunLogError>
  /**
   * Events of one run from a `seq` on, in order; empty for an unknown run or one that the reader may not see. `seq` has
   * gaps where deltas were.
   */
  readonly read: (
    runId: RunId,
    options?: ReadOptions | undefined
  ) => Effect.Effect<ReadonlyArray<AgentEvent>, RunLogError>
  /**
   * Whether what the current fiber appends is part of a transaction of its caller. Nothing is then written beside the
   * run, because two fibers cannot share the savepoints of one transaction. Absent: never.
   */
  readonly inTransaction?: Effect.Effect<boolean> | undefined
  /** Told when a transaction of a caller is committed in which these events were appended. */
  readonly committed?: ((events: ReadonlyArray<AgentEvent>) => void) | undefined
  /** The runs that are going on in this process. `read` shows what they have emitted, deltas included (`withLive`). */
  readonly live?: LiveRuns.LiveRuns | undefined
}

/**
 * @since 0.1.0
 * @category tags
 */
export class RunLog extends Context.Tag("effect-lexigram/observability/RunLog")<RunLog, Service>() {}

/**
 * A log whose `read` also shows what runs of this process have emitted and not written yet: for readers who come back
 * to a run while it goes on. The deltas of its current text are among it, the newest 1,024 at least.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withLive = (log: Service): Service => {
  const live = LiveRuns.make()
  return {
    ...log,
    live,
    read: (runId, options) =>
      Effect.suspend(() => {
        const emitted = live.read(runId, options?.from ?? 0)
        const written = log.read(runId, options)
        if (emitted === undefined || options?.written === true) return written
        const limit = count(options?.limit, Number.POSITIVE_INFINITY, 0)
        return Effect.flatMap(written, (events) => {
          const isKnown =
            events.length > 0
              ? Effect.succeed(true)
              : // Only the log knows who may read the run.
                Effect.map(log.read(runId, { limit: 1, userId: options?.userId }), ({ length }) => length > 0)
          return Effect.map(isKnown, (isKnown) => (isKnown ? LiveRuns.merge(events, emitted, limit) : events))
        })
      })
  }
}

/** Events per page of a stream. */
const PAGE = 1000

/**
 * Events of one run from a `seq` on (default 0), in order, read page by page as the stream is consumed.
 *
 * A reader of deltas sees each text once, wherever it begins: where the log has none, the text comes whole, as one
 * `TextDelta` with the number of the last one, after a `TextRetracted` if the reader may have seen a part of it. Of a
 * run that goes on in another process, a text comes with its `Message`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const stream = (
  runId: RunId,
  options?: Omit<ReadOptions, "limit"> | undefined
): Stream.Stream<AgentEvent, RunLogError, RunLog> =>
  Stream.unwrap(
    Effect.map(RunLog, (log) => {
      const texts = new WholeTexts(options?.from ?? 0)
      return Stream.paginateChunkEffect(options?.from, (from) =>
        Effect.map(log.read(runId, { from, limit: PAGE, userId: options?.userId }), (events) => {
          const last = events.at(-1)
          return [
            Chunk.unsafeFromArray(texts.page(events)),
            last === undefined || events.length < PAGE ? Option.none() : Option.some<number | undefined>(last.seq + 1)
          ]
        })
      )
    })
  )

/**
 * Keeps nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<RunLog> = Layer.succeed(RunLog, {
  enabled: false,
  append: () => Effect.void,
  read: () => Effect.succeed([])
})

/** The index of the first event whose `seq` is not below the given one. */
const firstFrom = (events: ReadonlyArray<AgentEvent>, from: number): number => {
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((events[middle] as AgentEvent).seq < from) low = middle + 1
    else high = middle
  }
  return low
}

interface Kept {
  userId: string | undefined
  /** Started by the system for no user. */
  system: boolean
  readonly events: Array<AgentEvent>
}

/**
 * Keeps the last runs in memory.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: {
  /** Runs to keep; the one that began first is removed first. Default 1,000. */
  readonly maxRuns?: number | undefined
}): Service => {
  const maxRuns = Math.max(1, options?.maxRuns ?? 1000)
  const runs = new Map<RunId, Kept>()
  return withLive({
    enabled: true,
    append: (events) =>
      Effect.sync(() => {
        for (const event of events) {
          let kept = runs.get(event.runId)
          if (kept === undefined) {
            const above = event.parentRunId === undefined ? undefined : runs.get(event.parentRunId)
            const named = event._tag === "Started" ? event.userId : undefined
            kept = { userId: named ?? above?.userId, system: named === undefined && above?.system === true, events: [] }
            runs.set(event.runId, kept)
            if (runs.size > maxRuns) runs.delete(runs.keys().next().value as RunId)
          }
          if (event._tag === "Started") {
            if (!kept.system) kept.userId ??= event.userId
            kept.system = kept.userId === undefined && (kept.system || event.system === true)
          }
          const last = kept.events.at(-1)
          if (last === undefined || last.seq < event.seq) kept.events.push(event)
        }
      }),
    read: (runId, readOptions) =>
      Effect.map(SystemAccess.held, (held) => {
        const kept = runs.get(runId)
        if (kept === undefined || !SystemAccess.allows(held, readOptions?.userId, kept.userId)) return []
        if (kept.system && !SystemAccess.isGrant(held)) return []
        const begin = firstFrom(kept.events, readOptions?.from ?? 0)
        return kept.events.slice(begin, begin + count(readOptions?.limit, Number.POSITIVE_INFINITY, 0))
      })
  })
}

/**
 * Keeps the last runs in memory, by default 1,000.
 *
 * @example
 * ```ts
 * import { Agents, type Ids } from "effect-lexigram"
 * import { RunLog } from "effect-lexigram/observability"
 * import * as Layer from "effect/Layer"
 *
 * const log = RunLog.layerMemory({ maxRuns: 100 })
 * const agents = Agents.layerWith({ log }).pipe(Layer.provideMerge(log))
 *
 * const replay = (runId: Ids.RunId) => RunLog.stream(runId, { userId: "ann" })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: { readonly maxRuns?: number | undefined }): Layer.Layer<RunLog> =>
  Layer.sync(RunLog, () => makeMemory(options))

/**
 * Writes the events of a run to its log in batches, behind the run.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { AgentEvent } from "../domain/AgentEvent.js"
import type { RunId } from "../domain/Ids.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as LiveRuns from "./log/LiveRuns.js"
import type * as RunLog from "./RunLog.js"

/**
 * @category models
 */
export interface Writer {
  readonly push: (event: AgentEvent) => void
  /**
   * What the run waits for after the event pushed last: for a tool call that it is written, and for other events that
   * the log is not too far behind. Deltas wait for nothing.
   */
  readonly settle: () => Effect.Effect<void> | undefined
  /**
   * Runs an effect and writes its events meanwhile and at its end. Writing never fails, and ends in time whatever the
   * log does.
   */
  readonly around: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Takes what is not written yet, for a write of the caller; nothing else is written until the claim is released. */
  readonly claim: Effect.Effect<Claim | undefined>
  /** Writes what is not written yet, for as long as that takes. */
  readonly flush: Effect.Effect<void, RunLog.RunLogError>
}

/**
 * @category models
 */
export interface Claim {
  readonly events: ReadonlyArray<AgentEvent>
  /** Ends the claim: the events are written, or they wait again. */
  readonly release: (written: boolean) => void
}

/** Milliseconds after which events are written that nothing else has written. */
const DELAY = 25
/** A run waits for its log when so many events are not written. */
const MOST_BEHIND = 64
/** A run waits for its log when an event is not written after so many milliseconds. */
const LONGEST_BEHIND = 100
/** Milliseconds that a run waits for one write. */
const PATIENCE = 5000

const isDelta = ({ _tag }: AgentEvent): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "ToolProgress"

/** After one of these the text of the deltas before is complete, retracted, or no longer written. */
const endsText: ReadonlySet<AgentEvent["_tag"]> = new Set([
  "StepStarted",
  "TextRetracted",
  "Message",
  "Finished",
  "Error"
])

/** One run of the writer. */
interface Followed {
  readonly deltas: LiveRuns.Deltas
  last: number
  readonly leave: () => void
}

/**
 * Deltas are not written. While a run goes on they are kept for readers of this process, within bounds.
 *
 * One batch is written at a time, so that the log gets the events in order, and events are released once written: a
 * write that fails, hangs or is interrupted is repeated, and the log keeps each event once. After a failure or a
 * timeout nothing is written before the run ends.
 *
 * @category constructors
 */
export const make = (
  log: RunLog.Service,
  options: {
    /** False: tool calls do not wait until their event is written: something else records them. Default true. */
    readonly eager?: boolean | undefined
  } = {}
): Writer => {
  const { eager = true } = options
  const runs = new Map<RunId, Followed>()
  const waiting = new Set<() => void>()
  let pending: Array<AgentEvent> = []
  let last: AgentEvent | undefined
  let isWriting = false
  let hasFailed = false
  let hasEnded = false
  let wake: (() => void) | undefined

  const source: LiveRuns.Source = (runId, from) => {
    const events = pending.filter((event) => event.runId === runId && event.seq >= from)
    const run = runs.get(runId)
    if (run === undefined) return { events, last: -1 }
    const deltas = run.deltas.from(from)
    return {
      events: deltas.length === 0 ? events : LiveRuns.merge(events, { events: deltas, last: run.last }),
      last: run.last
    }
  }
  const followed = (runId: RunId): Followed => {
    let run = runs.get(runId)
    if (run === undefined) {
      run = { deltas: new LiveRuns.Deltas(), last: -1, leave: log.live?.add(runId, source) ?? (() => {}) }
      runs.set(runId, run)
    }
    return run
  }

  const idle = Effect.async<void>((resume) => {
    if (!isWriting) return resume(Effect.void)
    const waiter = () => resume(Effect.void)
    waiting.add(waiter)
    return Effect.sync(() => waiting.delete(waiter))
  })
  // A waiter looks again before it writes, so that an interrupted one holds up nobody: a semaphore loses the permit of
  // a fiber that is interrupted between getting and using it.
  const append: Effect.Effect<void, RunLog.RunLogError> = Effect.uninterruptibleMask((restore) => {
    if (pending.length === 0) return Effect.void
    if (isWriting) return Effect.zipRight(restore(idle), append)
    isWriting = true
    const events = pending.slice()
    return Effect.onExit(restore(log.append(events)), (exit) =>
      Effect.sync(() => {
        isWriting = false
        if (Exit.isSuccess(exit)) pending = pending.slice(events.length)
        for (const resume of waiting) resume()
        waiting.clear()
      })
    )
  })
  const claim: Effect.Effect<Claim | undefined> = Effect.suspend(() => {
    if (pending.length === 0) return Effect.succeed(undefined)
    if (isWriting) return Effect.zipRight(idle, claim)
    isWriting = true
    const events = pending.slice()
    return Effect.succeed({
      events,
      release: (written) => {
        isWriting = false
        if (written) pending = pending.slice(events.length)
        for (const resume of waiting) resume()
        waiting.clear()
      }
    })
  })
  const within = (appending: Effect.Effect<void, RunLog.RunLogError>): Effect.Effect<void> =>
    Effect.catchAll(
      Deadline.run(() => appending, {
        whole: PATIENCE,
        onTimeout: (_phase, limit) => new Cause.TimeoutException(`no answer within ${limit} ms`)
      }),
      (error) => {
        hasFailed = true
        return Effect.annotateLogs(
          Effect.logWarning(`the run log did not take ${pending.length} events: ${error.message}`),
          { module: "AgentExecutor" }
        )
      }
    )
  const write = within(append)

  const pushed = Effect.async<void>((resume) => {
    if (pending.length > 0) return resume(Effect.void)
    wake = () => {
      wake = undefined
      resume(Effect.void)
    }
  })
  const behind: Effect.Effect<void> = pushed.pipe(
    Effect.zipRight(Effect.sleep(DELAY)),
    Effect.flatMap(() => (pending.length === 0 || hasEnded ? Effect.void : Effect.uninterruptible(write))),
    Effect.flatMap(() => (hasFailed || hasEnded ? Effect.void : behind))
  )
  const end = (fiber: Fiber.RuntimeFiber<void> | undefined): Effect.Effect<void> =>
    Effect.withFiberRuntime((self) => {
      hasEnded = true
      fiber?.unsafeInterruptAsFork(self.id())
      const stopped = fiber === undefined ? Effect.void : Fiber.await(fiber)
      return Effect.map(within(Effect.zipRight(stopped, append)), () => {
        for (const { leave } of runs.values()) leave()
        runs.clear()
      })
    })

  return {
    claim,
    flush: append,
    push: (event) => {
      last = event
      if (hasEnded) return void pending.push(event)
      const run = followed(event.runId)
      run.last = event.seq
      if (isDelta(event)) {
        if (log.live !== undefined) run.deltas.push(event)
        return
      }
      if (endsText.has(event._tag)) run.deltas.clear()
      pending.push(event)
      wake?.()
    },
    settle: () => {
      if (hasFailed || last === undefined || isDelta(last) || last._tag === "TextRetracted") return undefined
      const [oldest] = pending
      if (oldest === undefined) return undefined
      const isBehind = pending.length >= MOST_BEHIND || last.at - oldest.at >= LONGEST_BEHIND
      return isBehind || (eager && last._tag === "ToolCall") ? write : undefined
    },
    around: (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(log.inTransaction ?? Effect.succeed(false), (inTransaction) =>
          Effect.flatMap(
            inTransaction ? Effect.succeed(undefined) : Effect.forkDaemon(Effect.interruptible(behind)),
            (fiber) => Effect.onExit(restore(effect), () => end(fiber))
          )
        )
      )
  }
}

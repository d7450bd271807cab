/**
 * The sink of one run: folds its events, and passes them to a reader and a log if there are any.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { AgentEvent } from "../domain/AgentEvent.js"
import * as AgentResponse from "../domain/AgentResponse.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import type * as EventSink from "../internal/fiber/EventSink.js"
import * as Run from "./Run.js"
import type * as RunLog from "./RunLog.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface RunSink {
  readonly sink: Run.Sink
  readonly reader: EventSink.EventSink<AgentEvent, any> | undefined
  readonly progress: () => AgentResponse.AgentResponse<unknown>
  /**
   * Writes the events that the log does not have yet; absent without a log. Never fails, and ends in time whatever the
   * log does.
   */
  readonly flush: Effect.Effect<void> | undefined
}

const patience = 5000

interface Writer {
  readonly push: (event: AgentEvent) => void
  /** Writes what was pushed, as long as the log keeps up. */
  readonly settle: () => Effect.Effect<void> | undefined
  readonly flush: Effect.Effect<void>
}

/**
 * Writes one batch at a time, so that the log gets the events in order. Events pushed meanwhile go with the next batch.
 * Events are released once written: a write that fails, hangs or is interrupted is repeated, and the log keeps each
 * event once. After a failure or a timeout, the log is not awaited again before the run ends.
 */
const makeWriter = (log: RunLog.Service): Writer => {
  let pending: Array<AgentEvent> = []
  let writing = false
  let behind = false
  const append = Effect.uninterruptibleMask((restore) => {
    if (writing || pending.length === 0) return Effect.void
    writing = true
    const events = pending.slice()
    return Effect.onExit(restore(log.append(events)), (exit) =>
      Effect.sync(() => {
        writing = false
        if (Exit.isSuccess(exit)) pending = pending.slice(events.length)
      })
    )
  })
  const write = Effect.catchAll(
    Deadline.run(() => append, {
      whole: patience,
      onTimeout: (_phase, limit) => new Cause.TimeoutException(`no answer within ${limit} ms`)
    }),
    (error) => {
      behind = true
      return Effect.annotateLogs(
        Effect.logWarning(`the run log did not take ${pending.length} events: ${error.message}`),
        { module: "AgentExecutor" }
      )
    }
  )
  return {
    push: (event) => void pending.push(event),
    settle: () => (behind || pending.length === 0 ? undefined : write),
    flush: Effect.suspend(() => (pending.length === 0 ? Effect.void : write))
  }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly reader?: EventSink.EventSink<AgentEvent, any> | undefined
  readonly log: RunLog.Service
  readonly parent: Run.Service
}): RunSink => {
  const { log, parent, reader } = options
  const fold = AgentResponse.fold()
  if (Run.isCurrent(parent)) {
    // An inner run uses the sink of the outer one, which logs and waits for both.
    return {
      reader,
      progress: fold.response,
      flush: undefined,
      sink: {
        live: reader !== undefined || parent.live,
        kept: reader !== undefined || parent.sink.kept !== false,
        push: (event, whole) => {
          fold.push(whole)
          reader?.push(event)
          parent.sink.push(event, whole)
        },
        settle: () => reader?.settle() ?? parent.sink.settle()
      }
    }
  }
  const writer = log.enabled ? makeWriter(log) : undefined
  return {
    reader,
    progress: fold.response,
    flush: writer?.flush,
    sink: {
      live: reader !== undefined,
      kept: reader !== undefined || writer !== undefined,
      push: (event, whole) => {
        fold.push(whole)
        reader?.push(event)
        writer?.push(event)
      },
      settle: () => {
        const writing = writer?.settle()
        const waiting = reader?.settle()
        return writing === undefined ? waiting : waiting === undefined ? writing : Effect.zipRight(writing, waiting)
      }
    }
  }
}

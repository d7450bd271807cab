/**
 * The sink of one run: folds its events, and passes them to a reader and a log if there are any.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../domain/AgentEvent.js"
import * as AgentResponse from "../domain/AgentResponse.js"
import type * as EventSink from "../internal/fiber/EventSink.js"
import type * as RunJournal from "./journal/RunJournal.js"
import * as Run from "./Run.js"
import type * as RunLog from "./RunLog.js"
import * as RunLogWriter from "./RunLogWriter.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface RunSink {
  readonly sink: Run.Sink
  readonly reader: EventSink.EventSink<AgentEvent, any> | undefined
  readonly progress: () => AgentResponse.AgentResponse<unknown>
  /**
   * Runs an effect and writes its events to the log, behind it and at its end. Without a log of its own, the effect
   * itself.
   */
  readonly logged: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const undoableOf = (compensates: boolean, outer: Run.Undoable | null | undefined): Run.Undoable | null =>
  compensates ? { calls: undefined, outer: outer ?? undefined } : null

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly reader?: EventSink.EventSink<AgentEvent, any> | undefined
  readonly log: RunLog.Service
  readonly parent: Run.Service
  /** Takes the place of the log in a durable run. */
  readonly journal?: RunJournal.Service | undefined
  /** Whether calls are undone if the run does not succeed; default true. */
  readonly compensates?: boolean | undefined
}): RunSink => {
  const { journal, log, parent, reader } = options
  const fold = AgentResponse.fold()
  if (Run.isCurrent(parent)) {
    // An inner run uses the sink of the outer one, which logs and waits for both.
    return {
      reader,
      progress: fold.response,
      logged: (effect) => effect,
      sink: {
        live: reader !== undefined || parent.live,
        kept: reader !== undefined || parent.sink.kept !== false,
        undoable: undoableOf(options.compensates !== false && parent.sink.undoable !== null, parent.sink.undoable),
        push: (event, whole) => {
          fold.push(whole)
          reader?.push(event)
          parent.sink.push(event, whole)
        },
        settle: () => reader?.settle() ?? parent.sink.settle(),
        journal: parent.sink.journal,
        recall: (event) => {
          fold.push(event)
          parent.sink.recall?.(event)
        }
      }
    }
  }
  if (journal !== undefined) {
    return {
      reader,
      progress: fold.response,
      logged: (effect) => journal.around(effect, fold.push),
      sink: {
        live: reader !== undefined || journal.live,
        kept: true,
        push: (event, whole) => {
          fold.push(whole)
          reader?.push(event)
          journal.push(event)
        },
        settle: () => journal.settle() ?? reader?.settle(),
        journal,
        recall: fold.push,
        undoable: undoableOf(options.compensates !== false, undefined)
      }
    }
  }
  const writer = log.enabled ? RunLogWriter.make(log) : undefined
  return {
    reader,
    progress: fold.response,
    logged: writer?.around ?? ((effect) => effect),
    sink: {
      live: reader !== undefined,
      kept: reader !== undefined || writer !== undefined,
      undoable: undoableOf(options.compensates !== false, undefined),
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

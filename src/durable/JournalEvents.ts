/**
 * The events of a durable run: numbered by their places, kept once, and kept with the steps that they belong to.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { AgentConfigurationError } from "../agent/definition/AgentError.js"
import type { AgentEvent } from "../domain/AgentEvent.js"
import type { RunId } from "../domain/Ids.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import * as RunJournal from "../observability/journal/RunJournal.js"
import * as Run from "../observability/Run.js"
import * as RunLog from "../observability/RunLog.js"
import * as RunLogWriter from "../observability/RunLogWriter.js"
import type { Registry } from "./AgentWorkflow.js"
import type { PayloadLost } from "./payload/RunPayloads.js"
import * as RecordedTime from "./RecordedTime.js"

/**
 * Events that depend on whether somebody reads: a replay does not emit them, so they have no place.
 */
const isUnplaced: ReadonlySet<AgentEvent["_tag"]> = new Set([
  "TextDelta",
  "ReasoningDelta",
  "TextRetracted",
  "ToolProgress",
  "ProviderToolUsed"
])

/** Events of a page. */
const PAGE = 1000

/** The events of one run. */
interface Numbers {
  next: number
  /** The time of an event that is kept, by its place. */
  readonly known: Map<string, { readonly seq: number; readonly at: number }>
}

export interface JournalEvents {
  readonly service: RunJournal.Service
  /** Events that were kept with a step are not emitted by a replay: the runs that they belong to fold them. */
  readonly replayed: (path: string) => Effect.Effect<void>
  /** Emits the events that another run has kept with a step: those of a step that a fork takes from it. */
  readonly adopted: (path: string) => Effect.Effect<void>
  /** Whether the run goes on from a step of another one, and has not come to it. */
  readonly isShared: () => boolean
  /** Completes when the log has all events: before the record says that a run has ended. Retries without end. */
  readonly written: Effect.Effect<void>
  /** What one step keeps with its outcome. */
  readonly commit: () => Commit
}

export interface Commit {
  /** Takes the events that are not kept yet. At the end of the step, before its outcome is kept. */
  readonly before: Effect.Effect<void>
  /** Keeps what was taken; for engines that keep it in the transaction of the outcome. */
  readonly append: () => Effect.Effect<void> | undefined
  /** Runs around the step. */
  readonly around: <A, E, R>(step: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * What a fork takes from its run.
 *
 * @category models
 */
export interface Source {
  readonly runId: RunId
  readonly step: number
  /** Those of the run itself, with their places. */
  readonly events: ReadonlyArray<AgentEvent>
  /** What the run has recorded of a step, encoded. */
  readonly result: (name: string) => Effect.Effect<Option.Option<unknown>, PayloadLost>
}

/**
 * All that a log has of a run, page by page. An attempt before this one may still be in the process: what it has not
 * written is not of the run, and what others wrote after it is.
 */
export const readAll = (
  log: RunLog.Service,
  runId: RunId
): Effect.Effect<ReadonlyArray<AgentEvent>, RunLog.RunLogError> =>
  Effect.gen(function* () {
    const events: Array<AgentEvent> = []
    for (;;) {
      const from = (events.at(-1)?.seq ?? -1) + 1
      const page = yield* SystemAccess.grant(log.read(runId, { from, limit: PAGE, written: true }))
      for (const event of page) events.push(event)
      if (page.length < PAGE) return events
    }
  })

/** The log in context. Durable runs need one that keeps events. */
export const keptLog = Effect.filterOrFail(
  RunLog.RunLog,
  ({ enabled }) => enabled,
  () =>
    new AgentConfigurationError({
      agentName: "",
      message: "Durable runs need a log of their events, and the RunLog in context keeps nothing",
      hint: "Provide SqlRunLog, here and to the executor"
    })
)

/** Tries until the log has taken the last events of a run: a run whose log is away has not ended. */
export const untilTaken = (write: Effect.Effect<void, RunLog.RunLogError>): Effect.Effect<void> =>
  Effect.orDie(
    Effect.retry(
      Effect.tapError(write, (error) => unwritten("the last", error)),
      Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("10 seconds"))
    )
  )

/** A run whose events are not known would number them again: it does not begin, and dies with the log's failure. */
export const known = (log: RunLog.Service, runId: RunId): Effect.Effect<ReadonlyArray<AgentEvent>> =>
  Effect.orDie(
    Effect.retry(readAll(log, runId), Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(6)))
  )

const unwritten = (events: string | number, error: RunLog.RunLogError): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(`the run log did not take ${events} events: ${error.message}`), {
    module: "Durable"
  })

/** Adds an event to those inside of each step that it is in. */
const enter = (inside: Map<string, Array<AgentEvent>>, event: AgentEvent): void => {
  const { place } = event
  if (place === undefined) return
  for (let end = place.indexOf(":"); end >= 0; end = place.indexOf(":", end + 1)) {
    const path = place.slice(0, end)
    const events = inside.get(path)
    if (events === undefined) inside.set(path, [event])
    else events.push(event)
  }
}

/**
 * @param source what a fork takes from its run
 */
export const make = (
  { isAtomic, log, stepLog = log }: Pick<Registry, "isAtomic" | "log" | "stepLog">,
  onEvent: (event: AgentEvent) => Effect.Effect<void> | undefined,
  root: RunId,
  source?: Source | undefined
): JournalEvents => {
  const writer = RunLogWriter.make(log, { eager: false })
  const runs = new Map<RunId, Numbers>()
  /** The events inside of each step, by the path of the step. */
  const inside = new Map<string, Array<AgentEvent>>()
  const folded = new Set<AgentEvent>()
  /** What the run waits for after the events that were pushed last. */
  let noted: Effect.Effect<void> | undefined

  const numbersOf = (runId: RunId): Numbers => {
    let numbers = runs.get(runId)
    if (numbers === undefined) {
      numbers = { next: 0, known: new Map() }
      runs.set(runId, numbers)
    }
    return numbers
  }
  const remember = (numbers: Numbers, event: AgentEvent): void => {
    numbers.next = event.seq + RunJournal.ATTEMPT_GAP
    if (event.place === undefined) return
    numbers.known.set(event.place, event)
    enter(inside, event)
  }
  const shared = new Map<string, Array<AgentEvent>>()
  for (const event of source?.events ?? []) enter(shared, event)
  /** Steps that the run has begun. */
  let steps = 0
  const push = (event: AgentEvent): void => {
    writer.push(event)
    const noting = onEvent(event)
    if (noting !== undefined) noted = noted === undefined ? noting : Effect.zipRight(noted, noting)
  }

  const service: RunJournal.Service = {
    live: true,
    push,
    settle: () => {
      const noting = noted
      noted = undefined
      const writing = writer.settle()
      return noting === undefined ? writing : writing === undefined ? noting : Effect.zipRight(noting, writing)
    },
    around: (effect) => writer.around(effect),
    open: (runId) =>
      runs.has(runId)
        ? Effect.void
        : Effect.map(known(log, runId), (events) => {
            const numbers = numbersOf(runId)
            for (const event of events) remember(numbers, event)
          }),
    locate: (runId, tag) => {
      if (tag === "StepStarted" && runId === root) steps++
      const place = isUnplaced.has(tag) ? undefined : RecordedTime.currentPlace()?.draw("e")
      return place === undefined ? {} : { place, known: numbersOf(runId).known.get(place) }
    },
    next: (runId) => numbersOf(runId).next++
  }

  return {
    service,
    replayed: (path) => {
      const events = inside.get(path)
      if (events === undefined) return Effect.void
      return Effect.map(Run.Run, ({ sink }) => {
        for (const event of events) {
          if (folded.has(event)) continue
          folded.add(event)
          sink.recall?.(event)
        }
      })
    },
    isShared: () => source !== undefined && steps <= source.step,
    adopted: (path) => {
      const events = shared.get(path)
      if (events === undefined) return Effect.void
      return Effect.map(Run.Run, ({ sink }) => {
        for (const event of events) {
          const own = { ...event, runId: root, seq: service.next(root) }
          push(own)
          sink.recall?.(own)
        }
      })
    },
    written: untilTaken(writer.flush),
    commit: () => {
      let claim: RunLogWriter.Claim | undefined
      const release = (isWritten: boolean): void => {
        claim?.release(isWritten)
        claim = undefined
      }
      const write = (events: ReadonlyArray<AgentEvent>): Effect.Effect<boolean> =>
        Effect.matchEffect((isAtomic ? stepLog : log).append(events), {
          onFailure: (error) => Effect.as(unwritten(events.length, error), false),
          onSuccess: () => Effect.succeed(true)
        })
      let isWritten = false
      return {
        before: Effect.flatMap(writer.claim, (taken) => {
          claim = taken
          if (isAtomic || taken === undefined) return Effect.void
          return Effect.map(write(taken.events), release)
        }),
        append: () => {
          const taken = claim
          if (taken === undefined) return undefined
          return Effect.map(write(taken.events), (written) => {
            isWritten = written
          })
        },
        around: (step) =>
          Effect.onExit(step, (exit) =>
            Effect.sync(() => {
              const isKept = isWritten && Exit.isSuccess(exit)
              if (isKept && claim !== undefined) stepLog.committed?.(claim.events)
              release(isKept)
            })
          )
      }
    }
  }
}

/**
 * A run that goes on in this process: its newest events, and the readers that wait for more.
 *
 * @private
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as AgentEvents from "../../domain/AgentEvent.js"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import type { RunId, SessionId } from "../../domain/Ids.js"
import type { NotUndone } from "../../tool/definition/Compensations.js"

/**
 * The newest events that are kept at least. A reader that lacks older ones reads the log.
 *
 * @category constants
 */
export const KEPT = 1024

/** Deltas are not logged. */
const isDelta = ({ _tag }: AgentEvent): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "ToolProgress"

/** Gets new events, or none at the end of the run, and says whether it wants those that follow. */
type Reader = (events: ReadonlyArray<AgentEvent> | undefined) => boolean

/**
 * Takes the events of a run and of its inner runs as they come. Only those of the run itself are kept.
 *
 * @category models
 */
export class LiveRun {
  /** Completed when the run has ended and its record says so; with the cause if it did not succeed. */
  readonly ended = Deferred.unsafeMake<Cause.Cause<unknown> | undefined>(FiberId.none)
  /** Its last event: readers get it once the record has its last state. */
  last: AgentEvents.Of<"Error"> | AgentEvents.Of<"Finished"> | undefined
  sessionId: SessionId | undefined
  /** The calls that should be undone and are not. */
  readonly notUndone: Array<NotUndone> = []
  fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined
  private events: Array<AgentEvent> = []
  /** The number of the first event that is certain to be kept. */
  private first = 0
  /** The number of the newest event that is no longer kept, deltas aside. */
  private dropped = -1
  private isOver = false
  private readonly readers = new Set<Reader>()
  /** The requests that wait for a person, also those of inner runs. */
  private readonly requests = new Set<string>()

  constructor(readonly runId: RunId) {}

  /** Whether a person must answer before the run goes on. */
  get isWaiting(): boolean {
    return this.requests.size > 0
  }

  get hasEnded(): boolean {
    return this.isOver
  }

  /** The number of the first event that is certain to be kept. */
  get begin(): number {
    return this.first
  }

  /** Takes note of events before readers see them: what the record says comes first. */
  note(events: Iterable<AgentEvent>): void {
    for (const event of events) {
      if (event._tag === "ApprovalRequested" || event._tag === "QuestionAsked") this.requests.add(event.id)
      if (event._tag === "ApprovalResolved" || event._tag === "QuestionAnswered") this.requests.delete(event.id)
      if (event.runId !== this.runId) continue
      if (event._tag === "Started" || event._tag === "Finished") {
        this.sessionId ??= event.sessionId as SessionId | undefined
      }
      if (AgentEvents.isTerminal(event)) this.last = event
    }
  }

  push(events: Iterable<AgentEvent>): void {
    const own: Array<AgentEvent> = []
    for (const event of events) {
      if (event.runId === this.runId && !AgentEvents.isTerminal(event)) own.push(event)
    }
    if (own.length === 0) return
    for (const event of own) this.events.push(event)
    if (this.events.length > 2 * KEPT) this.trim()
    this.tell(own)
  }

  private trim(): void {
    const begin = this.events.length - KEPT
    this.dropped = this.events.findLast((event, i) => i < begin && !isDelta(event))?.seq ?? this.dropped
    this.events = this.events.slice(begin)
    this.first = (this.events[0] as AgentEvent).seq
  }

  /** Whether the log has, or will have, events between a number and those that are kept. */
  isLogged(seq: number): boolean {
    return seq <= this.dropped
  }

  /** The kept events from a number on; `undefined` if some of them are no longer kept. */
  from(seq: number): ReadonlyArray<AgentEvent> | undefined {
    if (seq < this.first) return undefined
    let begin = this.events.length
    // The numbers have no gaps, and readers lack few events.
    while (begin > 0 && (this.events[begin - 1] as AgentEvent).seq >= seq) begin--
    return this.events.slice(begin)
  }

  /**
   * Gives a reader the events as they come, outside of its fiber, until it wants no more; then goes on with `then`.
   * At once if there is an event from a number on that it lacks, or the run has ended.
   */
  follow<E>(
    seq: number,
    take: (events: ReadonlyArray<AgentEvent>) => Effect.Effect<void> | undefined,
    then: Effect.Effect<void, E>
  ): Effect.Effect<void, E> {
    return Effect.async<void, E>((resume) => {
      const last = this.events.at(-1)
      if (this.isOver || seq < this.first || (last !== undefined && last.seq >= seq)) return resume(then)
      const reader: Reader = (events) => {
        try {
          const wait = events === undefined ? Effect.void : take(events)
          if (wait === undefined) return true
          resume(Effect.zipRight(wait, then))
        } catch (error) {
          resume(Effect.die(error))
        }
        return false
      }
      this.readers.add(reader)
      return Effect.sync(() => this.readers.delete(reader))
    })
  }

  /** Completes when there is an event from a number on, or the run has ended. */
  readonly changed = (seq: number): Effect.Effect<void> => this.follow(seq, () => Effect.void, Effect.void)

  /** Ends the run for its readers. */
  end(cause: Cause.Cause<unknown> | undefined): void {
    this.isOver = true
    Deferred.unsafeDone(this.ended, Effect.succeed(cause))
    this.tell(undefined)
  }

  /** Interrupts the run and waits until its record says so. */
  readonly interrupt: Effect.Effect<void> = Effect.suspend(() =>
    this.fiber === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(this.fiber))
  )

  /** How many readers wait. */
  get waiting(): number {
    return this.readers.size
  }

  private tell(events: ReadonlyArray<AgentEvent> | undefined): void {
    for (const reader of Array.from(this.readers)) {
      if (!reader(events)) this.readers.delete(reader)
    }
  }
}

/**
 * Why a run failed, as its last event has it.
 *
 * @category getters
 */
export const failureOf = ({ last }: LiveRun): ErrorInfo | undefined => (last?._tag === "Error" ? last.error : undefined)

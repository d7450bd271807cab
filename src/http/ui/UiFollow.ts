/**
 * Streams the answer of a run as one message of AI SDK UI.
 *
 * @private
 * @since 0.1.0
 */
import type { HttpServerResponse } from "@effect/platform/HttpServerResponse"
import type * as Chunk from "effect/Chunk"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { RunError } from "../../agent/record/RunError.js"
import * as AskedEvents from "../../agent/runs/AskedEvents.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as PublicView from "../../domain/PublicView.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type { Identity } from "../api/Authentication.js"
import * as EventStream from "../api/EventStream.js"
import * as Refusals from "../api/Refusals.js"
import { RUN_ID } from "../api/RunEndpoints.js"
import type { RunReaders } from "../api/RunReaders.js"
import * as UiChunk from "./UiChunk.js"
import { UiStream } from "./UiStream.js"

/**
 * @category models
 */
export interface Options extends EventStream.Options {
  /**
   * What messages show in addition: reasoning, and the results of tools. Default neither; then the output of a call is
   * `null`.
   */
  readonly view?: PublicView.Options | undefined
  /**
   * A stream whose run waits for an approval ends at once if nothing else goes on in the run, and otherwise when no
   * event came for this long; default 250 milliseconds.
   */
  readonly quiet?: Duration.DurationInput | undefined
  /**
   * Takes a retracted text back by `reset-step`, for servers whose pages all have `ai` 7. Default false: a part
   * `data-retracted` follows the text, and the page hides what is before it in the step.
   */
  readonly resetSteps?: boolean | undefined
}

const frameOf = (chunk: UiChunk.UiChunk): EventStream.Frame => ({ data: UiChunk.encode(chunk) })

/** For ten seconds. */
const untilKept = Schedule.exponential("10 millis").pipe(Schedule.intersect(Schedule.recurs(10)))

type Pull = Effect.Effect<Option.Option<Chunk.Chunk<AgentEvent>>, RunError>

/**
 * @category models
 */
export class UiFollow {
  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    private readonly readers: RunReaders,
    private readonly options: Options
  ) {}

  private framesOf(message: UiStream, events: Iterable<AgentEvent>): ReadonlyArray<EventStream.Frame> {
    const frames: Array<EventStream.Frame> = []
    for (const event of events) {
      const shown = PublicView.fromEvent(event, this.options.view)
      if (shown !== undefined) for (const chunk of message.push(shown)) frames.push(frameOf(chunk))
    }
    return frames
  }

  /** The next events; none at the end, and when a person is waited for and nothing else comes. */
  private next(message: UiStream, pull: Pull): Effect.Effect<Option.Option<Chunk.Chunk<AgentEvent>>, RunError> {
    if (message.isIdle) return Effect.succeedNone
    return message.mayPause
      ? Effect.map(Effect.timeoutOption(pull, this.options.quiet ?? "250 millis"), Option.flatten)
      : pull
  }

  /** Waits until a request can be answered: it is announced before it is kept, and pages answer at once. */
  private kept(id: string, access: Runs.Access) {
    return Effect.ignore(Effect.repeat(this.pending.get(id, access), { until: Option.isSome, schedule: untilKept }))
  }

  private sendAll(
    message: UiStream,
    pull: Pull,
    access: Runs.Access,
    send: EventStream.Send
  ): Effect.Effect<void, RunError> {
    return Effect.gen(this, function* () {
      for (;;) {
        const events = yield* this.next(message, pull)
        if (Option.isNone(events)) break
        yield* send(this.framesOf(message, events.value))
      }
      if (message.hasEnded || message.waiting.length === 0) return
      yield* Effect.forEach(message.waiting, (id) => this.kept(id, access), { discard: true })
      yield* send(message.pause().map(frameOf))
    })
  }

  private produce(
    runId: string,
    access: Runs.Access,
    answered: ReadonlySet<string>,
    send: EventStream.Send
  ): Effect.Effect<void> {
    const message = new UiStream({ runId, answered, resetSteps: this.options.resetSteps })
    // A run that waits for a person goes on waiting, whoever follows it.
    const isOver = () => message.hasEnded || message.isWaiting
    const sent = Effect.gen(this, function* () {
      yield* this.readers.follow(runId, isOver, Effect.ignore(this.runs.interrupt(runId, access)))
      const pull = yield* AskedEvents.toPull(this.runs, this.pending, runId, access)
      yield* this.sendAll(message, pull, access, send)
    })
    return Effect.scoped(sent).pipe(
      Effect.catchAll((error) =>
        Effect.flatMap(Effect.flip(Refusals.fromRun(error)), ({ message }) =>
          send([frameOf({ type: "error", errorText: message })])
        )
      ),
      Effect.zipRight(send([{ data: UiChunk.DONE }]))
    )
  }

  /** The answer of a run: from its beginning, or after what the reader has answered. */
  response(
    runId: string,
    { userId }: Identity,
    answered: ReadonlySet<string> = new Set()
  ): Effect.Effect<HttpServerResponse, never, Scope.Scope> {
    const access = userId === undefined ? {} : { userId }
    return EventStream.response((send) => this.produce(runId, access, answered, send), {
      ...this.options,
      headers: { ...this.options.headers, ...UiChunk.HEADERS, [RUN_ID]: runId }
    })
  }
}

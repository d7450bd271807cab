/**
 * A run that is answered in a dialect of OpenAI: followed until it has ended, or waits for a person.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type * as Chunk from "effect/Chunk"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import * as AskedEvents from "../../agent/runs/AskedEvents.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type * as PublicView from "../../domain/PublicView.js"
import type { Usage } from "../../domain/Usage.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { type ApiError, statusOf } from "../api/ApiError.js"
import type * as EventStream from "../api/EventStream.js"
import * as Refusals from "../api/Refusals.js"
import { RUN_ID } from "../api/RunEndpoints.js"
import { ChatAnswer } from "./ChatAnswer.js"
import * as OpenAiFailures from "./OpenAiFailures.js"

/**
 * @category models
 */
export interface Options extends EventStream.Options {
  /** What streams show in addition: with `reasoning`, deltas have `reasoning_content`. Default: text alone. */
  readonly view?: Pick<PublicView.Options, "reasoning"> | undefined
  /** A run goes on when its caller leaves. Default false: it is interrupted. */
  readonly detach?: boolean | undefined
  /** How long a call of a tool that the request brings waits for its result; default 15 minutes. */
  readonly callsExpireAfter?: Duration.DurationInput | undefined
  /** How long a run that waits for an answer sends nothing before its response ends; default 250 milliseconds. */
  readonly quiet?: Duration.DurationInput | undefined
}

const noRequests: ReadonlySet<string> = new Set()

type Pull = Effect.Effect<Option.Option<Chunk.Chunk<AgentEvent>>, ApiError>

/** Takes an event, and the text of the answer that it adds. */
export type Take = (event: AgentEvent, text: string) => void

/**
 * @category models
 */
export class OpenAiRun {
  readonly answer: ChatAnswer

  /**
   * With `isWhole` nothing is sent before the answer is certain: it is data. `answered` are requests of the run that
   * its caller has answered: the answer is what comes behind them.
   */
  constructor(
    private readonly runs: Runs.Service,
    private readonly pending: PendingApprovals.Service,
    readonly record: RunRecord,
    private readonly access: Runs.Access,
    readonly options: Options,
    isWhole: boolean,
    private readonly answered: ReadonlySet<string> = noRequests
  ) {
    this.answer = new ChatAnswer(isWhole)
  }

  /** The run ends with its caller, unless it has ended or waits for a person. */
  readonly leave: Effect.Effect<void> = Effect.suspend(() =>
    this.answer.hasEnded || this.answer.isWaiting || this.options.detach === true
      ? Effect.void
      : Effect.ignore(this.runs.interrupt(this.record.runId, this.access))
  )

  /** Takes the events of the run until it has ended, or waits for a person and nothing else comes. */
  follow(take: Take, sent: Effect.Effect<void>): Effect.Effect<void, ApiError> {
    const { answer, options, record } = this
    const next = (pull: Pull) =>
      !answer.isWaiting ? pull : Effect.map(Effect.timeoutOption(pull, options.quiet ?? "250 millis"), Option.flatten)
    return Effect.scoped(
      Effect.gen(this, function* () {
        const events = yield* AskedEvents.toPull(this.runs, this.pending, record.runId, this.access)
        const pull = Refusals.ofRun(events)
        const ahead = new Set(this.answered)
        for (;;) {
          const events = yield* next(pull)
          if (Option.isNone(events)) break
          for (const event of events.value) if (this.isNew(event, ahead)) take(event, answer.push(event))
          yield* sent
        }
        if (answer.failure !== undefined) return yield* answer.failure
      })
    )
  }

  /** Whether an event belongs to this answer; `ahead` are the answered requests that were not asked yet. */
  private isNew(event: AgentEvent, ahead: Set<string>): boolean {
    switch (event._tag) {
      case "ApprovalRequested":
      case "QuestionAsked":
        ahead.delete(event.id)
        return !this.answered.has(event.id)
      // What else is asked stays asked until it is answered, and calls keep their arguments.
      case "ApprovalResolved":
      case "QuestionAnswered":
      case "ToolCall":
      case "ToolResult":
        return true
      default:
        return ahead.size === 0
    }
  }

  /** What the run has used, once it has ended. */
  get usage(): Effect.Effect<Usage, ApiError> {
    return Effect.map(Refusals.ofRun(this.runs.poll(this.record.runId, this.access)), (found) =>
      Option.isSome(found) ? (found.value.response?.usage ?? {}) : {}
    )
  }

  get headers(): Readonly<Record<string, string>> {
    return { [RUN_ID]: this.record.runId }
  }

  failed(error: ApiError): HttpServerResponse.HttpServerResponse {
    return HttpServerResponse.unsafeJson(OpenAiFailures.toFailure(error), {
      status: statusOf(error),
      headers: {
        ...this.headers,
        "cache-control": "no-store",
        // The client would start the run again.
        "x-should-retry": error.reason === "unavailable" ? "true" : "false"
      }
    })
  }
}

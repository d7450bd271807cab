/**
 * A run as a chat completion: whole, or in chunks.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type * as Chunk from "effect/Chunk"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RunError } from "../../agent/record/RunError.js"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent, FinishReason } from "../../domain/AgentEvent.js"
import type * as PublicView from "../../domain/PublicView.js"
import type { Usage } from "../../domain/Usage.js"
import { ApiError, statusOf } from "../api/ApiError.js"
import type { Identity } from "../api/Authentication.js"
import * as EventStream from "../api/EventStream.js"
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
  /** How long a run that waits for a person sends nothing before its response ends; default 250 milliseconds. */
  readonly quiet?: Duration.DurationInput | undefined
}

interface Settings extends Options {
  /** Nothing is sent before the answer is certain: it is data. */
  readonly isWhole: boolean
}

const finishReasons: Readonly<Record<FinishReason, string>> = {
  completed: "stop",
  "stop-condition": "stop",
  length: "length",
  limit: "length",
  "content-filter": "content_filter"
}

const usageOf = ({ cachedInputTokens, inputTokens = 0, outputTokens = 0, reasoningTokens, totalTokens }: Usage) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: totalTokens ?? inputTokens + outputTokens,
  ...(cachedInputTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
  ...(reasoningTokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } })
})

const waits = (requestId: string, runId: string): ApiError =>
  new ApiError({
    reason: "conflict",
    error: "waits_for_person",
    message: `The run ${runId} waits for a person`,
    hint: `Answer POST /v1/approvals/${requestId}/decision, then read GET /v1/runs/${runId}`
  })

const DONE: EventStream.Frame = { data: "[DONE]" }

type Pull = Effect.Effect<Chunk.Chunk<AgentEvent>, Option.Option<RunError>>
type Take = (event: AgentEvent, text: string) => void

/**
 * @category models
 */
export class ChatCompletion {
  private readonly answer: ChatAnswer
  private readonly base: { readonly id: string; readonly created: number; readonly model: string }

  constructor(
    private readonly runs: Runs.Service,
    private readonly record: RunRecord,
    private readonly access: Runs.Access,
    private readonly options: Settings
  ) {
    this.answer = new ChatAnswer(options.isWhole)
    const { agent, createdAt, runId } = record
    this.base = { id: `chatcmpl-${runId}`, created: Math.floor(createdAt / 1000), model: agent }
  }

  /** The run ends with its caller, unless it has ended or waits for a person. */
  readonly leave: Effect.Effect<void> = Effect.suspend(() =>
    this.answer.hasEnded || this.answer.waitsFor !== undefined || this.options.detach === true
      ? Effect.void
      : Effect.ignore(this.runs.interrupt(this.record.runId, this.access))
  )

  /** Takes the events of the run until it has ended, or waits for a person and nothing else comes. */
  private follow(take: Take, sent: Effect.Effect<void>): Effect.Effect<void, ApiError> {
    const { answer, options, record } = this
    const next = (pull: Pull) => {
      const pulled = Effect.catchAll(Effect.asSome(pull), (end) =>
        Option.isSome(end) ? Refusals.fromRun(end.value) : Effect.succeedNone
      )
      return answer.waitsFor === undefined
        ? pulled
        : Effect.map(Effect.timeoutOption(pulled, options.quiet ?? "250 millis"), Option.flatten)
    }
    return Effect.scoped(
      Effect.gen(this, function* () {
        const pull = yield* Stream.toPull(this.runs.events(record.runId, this.access))
        for (;;) {
          const events = yield* next(pull)
          if (Option.isNone(events)) break
          for (const event of events.value) take(event, answer.push(event))
          yield* sent
        }
        if (answer.failure !== undefined) return yield* answer.failure
        if (answer.waitsFor !== undefined) return yield* waits(answer.waitsFor, record.runId)
      })
    )
  }

  private get usage() {
    return Effect.map(Refusals.ofRun(this.runs.poll(this.record.runId, this.access)), (found) =>
      usageOf(Option.isSome(found) ? (found.value.response?.usage ?? {}) : {})
    )
  }

  private get finishReason(): string {
    return finishReasons[this.answer.reason ?? "completed"]
  }

  private failed(error: ApiError): HttpServerResponse.HttpServerResponse {
    return HttpServerResponse.unsafeJson(OpenAiFailures.toFailure(error), {
      status: statusOf(error),
      headers: {
        [RUN_ID]: this.record.runId,
        "cache-control": "no-store",
        // The client would start the run again.
        "x-should-retry": error.reason === "unavailable" ? "true" : "false"
      }
    })
  }

  /** The answer as one response. */
  get whole(): Effect.Effect<HttpServerResponse.HttpServerResponse> {
    return Effect.gen(this, function* () {
      yield* this.follow(() => {}, Effect.void)
      const usage = yield* this.usage
      const message = { role: "assistant", content: this.answer.message, refusal: null }
      return HttpServerResponse.unsafeJson(
        {
          ...this.base,
          object: "chat.completion",
          choices: [{ index: 0, message, logprobs: null, finish_reason: this.finishReason }],
          usage
        },
        { headers: { [RUN_ID]: this.record.runId, "cache-control": "no-store" } }
      )
    }).pipe(Effect.catchAll((error) => Effect.succeed(this.failed(error))))
  }

  /** The answer in chunks, as it comes. */
  stream(withUsage: boolean): Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
    const { options, record } = this
    const head = JSON.stringify({ ...this.base, object: "chat.completion.chunk" }).slice(0, -1)
    const chunk = (delta: unknown, reason: string | null = null): EventStream.Frame => ({
      data: `${head},"choices":[{"index":0,"delta":${JSON.stringify(delta)},"logprobs":null,"finish_reason":${JSON.stringify(reason)}}]}`
    })
    const produce = (send: EventStream.Send) => {
      const frames: Array<EventStream.Frame> = []
      const take: Take = (event, text) => {
        if (text !== "") frames.push(chunk({ content: text }))
        if (event._tag === "ReasoningDelta" && options.view?.reasoning === true) {
          frames.push(chunk({ reasoning_content: event.text }))
        }
      }
      const sent = Effect.suspend(() => send(frames.splice(0)))
      return Effect.gen(this, function* () {
        yield* send([chunk({ role: "assistant", content: "" })])
        yield* this.follow(take, sent)
        yield* send([chunk({}, this.finishReason)])
        if (withUsage) yield* send([{ data: `${head},"choices":[],"usage":${JSON.stringify(yield* this.usage)}}` }])
      }).pipe(
        Effect.catchAll((error) => send([{ data: JSON.stringify(OpenAiFailures.toFailure(error)) }])),
        Effect.zipRight(send([DONE]))
      )
    }
    return EventStream.response(produce, { ...options, headers: { ...options.headers, [RUN_ID]: record.runId } })
  }
}

/**
 * Starts a run for a caller. It ends with the scope.
 *
 * @category constructors
 */
export const start = (
  runs: Runs.Service,
  { tenantId, userId }: Identity,
  request: Runs.StartRequest,
  options: Settings
): Effect.Effect<ChatCompletion, ApiError, Scope.Scope> => {
  const access = userId === undefined ? {} : { userId }
  return Effect.acquireRelease(
    Effect.map(
      Refusals.ofRun(runs.start({ ...request, ...access, ...(tenantId === undefined ? {} : { tenantId }) })),
      (record) => new ChatCompletion(runs, record, access, options)
    ),
    (chat) => chat.leave
  )
}

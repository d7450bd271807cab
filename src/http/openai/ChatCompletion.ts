/**
 * A run as a chat completion: whole, or in chunks.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { FinishReason } from "../../domain/AgentEvent.js"
import type { Usage } from "../../domain/Usage.js"
import { ApiError } from "../api/ApiError.js"
import * as EventStream from "../api/EventStream.js"
import * as OpenAiFailures from "./OpenAiFailures.js"
import type { OpenAiRun, Take } from "./OpenAiRun.js"

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

/**
 * @category models
 */
export class ChatCompletion {
  private readonly base: { readonly id: string; readonly created: number; readonly model: string }

  constructor(private readonly run: OpenAiRun) {
    const { agent, createdAt, runId } = run.record
    this.base = { id: `chatcmpl-${runId}`, created: Math.floor(createdAt / 1000), model: agent }
  }

  /** A chat has no way to say that a run waits for a person, so that it fails. */
  private follow(take: Take, sent: Effect.Effect<void>): Effect.Effect<void, ApiError> {
    const { answer, record } = this.run
    return Effect.zipRight(
      this.run.follow(take, sent),
      Effect.suspend(() =>
        answer.waitsFor === undefined || answer.calls.size > 0 ? Effect.void : waits(answer.waitsFor, record.runId)
      )
    )
  }

  private get finishReason(): string {
    const { calls, reason = "completed" } = this.run.answer
    return calls.size > 0 ? "tool_calls" : finishReasons[reason]
  }

  /** The calls that the caller is to make. */
  private get calls(): ReadonlyArray<object> {
    return Array.from(this.run.answer.calls.values(), ({ id, ...called }) => ({
      id,
      type: "function",
      function: called
    }))
  }

  /** The answer as one response. */
  get whole(): Effect.Effect<HttpServerResponse.HttpServerResponse> {
    return Effect.gen(this, function* () {
      const said: Array<string> = []
      yield* this.follow((_, text) => void said.push(text), Effect.void)
      const usage = usageOf(yield* this.run.usage)
      const { calls } = this
      const message =
        calls.length === 0
          ? { role: "assistant", content: this.run.answer.message, refusal: null }
          : { role: "assistant", content: said.join("") || null, refusal: null, tool_calls: calls }
      return HttpServerResponse.unsafeJson(
        {
          ...this.base,
          object: "chat.completion",
          choices: [{ index: 0, message, logprobs: null, finish_reason: this.finishReason }],
          usage
        },
        { headers: { ...this.run.headers, "cache-control": "no-store" } }
      )
    }).pipe(Effect.catchAll((error) => Effect.succeed(this.run.failed(error))))
  }

  /** The answer in chunks, as it comes. */
  stream(withUsage: boolean): Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
    const { options } = this.run
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
        const calls = this.calls.map((call, index) => ({ index, ...call }))
        if (calls.length > 0) yield* send([chunk({ tool_calls: calls })])
        yield* send([chunk({}, this.finishReason)])
        if (withUsage)
          yield* send([{ data: `${head},"choices":[],"usage":${JSON.stringify(usageOf(yield* this.run.usage))}}` }])
      }).pipe(
        Effect.catchAll((error) => send([{ data: JSON.stringify(OpenAiFailures.toFailure(error)) }])),
        Effect.zipRight(send([DONE]))
      )
    }
    return EventStream.response(produce, { ...options, headers: { ...options.headers, ...this.run.headers } })
  }
}

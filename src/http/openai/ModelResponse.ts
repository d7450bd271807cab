/**
 * A run as a response of OpenAI's Responses API: whole, or as its events.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RunState } from "../../agent/record/RunRecord.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import * as PublicView from "../../domain/PublicView.js"
import type { Usage } from "../../domain/Usage.js"
import type { ApiError } from "../api/ApiError.js"
import type { WaitingRequest } from "../api/ApiModels.js"
import * as EventStream from "../api/EventStream.js"
import * as CallerTools from "../chat/CallerTools.js"
import * as AnswerForm from "./AnswerForm.js"
import type { ClientCall } from "./ChatAnswer.js"
import * as OpenAiFailures from "./OpenAiFailures.js"
import type { OpenAiRun } from "./OpenAiRun.js"
import { ID } from "./ResponseRequest.js"

const usageOf = ({
  cachedInputTokens = 0,
  inputTokens = 0,
  outputTokens = 0,
  reasoningTokens = 0,
  totalTokens
}: Usage) => ({
  input_tokens: inputTokens,
  input_tokens_details: { cached_tokens: cachedInputTokens },
  output_tokens: outputTokens,
  output_tokens_details: { reasoning_tokens: reasoningTokens },
  total_tokens: totalTokens ?? inputTokens + outputTokens
})

const statuses: Readonly<Record<RunState, string>> = {
  queued: "queued",
  running: "in_progress",
  waiting: "completed",
  completed: "completed",
  failed: "failed",
  interrupted: "cancelled"
}

/** A call that waits for a person: the API has it for tools of MCP. */
interface Waiting {
  readonly id: string
  readonly type: "mcp_approval_request"
  readonly name: string
  readonly arguments: string
  readonly server_label: string
}

/** What a person is asked, with the arguments of a call that the agent leaves to its caller. */
const askedOf = (question: WaitingRequest["question"], params: unknown): unknown =>
  question === undefined
    ? params
    : { message: question.message, form: question.form, ...(question.clientTool === true ? { params } : {}) }

const waitingOf = (event: Extract<AgentEvent, { readonly _tag: "ApprovalRequested" | "QuestionAsked" }>): Waiting => {
  const shown = PublicView.fromEvent(event) as typeof event
  const asked = askedOf(shown._tag === "ApprovalRequested" ? undefined : shown, shown.params)
  return {
    id: shown.id,
    type: "mcp_approval_request",
    name: shown.name,
    arguments: JSON.stringify(asked) ?? "null",
    server_label: shown.agent
  }
}

/** A call of a tool that the request brought. */
const callOf = ({ id, ...called }: ClientCall) => ({
  id: `fc_${id}`,
  type: "function_call" as const,
  call_id: id,
  ...called,
  status: "completed"
})

const fromRequest = ({ agent, id, params, question, tool }: WaitingRequest) =>
  CallerTools.isGiven(question)
    ? callOf({ id, name: tool, arguments: JSON.stringify(params) ?? "null" })
    : ({
        id,
        type: "mcp_approval_request",
        name: tool,
        arguments: JSON.stringify(askedOf(question, params)) ?? "null",
        server_label: agent
      } satisfies Waiting)

/**
 * @category models
 */
export class ModelResponse {
  private readonly id: string
  private readonly messageId: string
  /** What persons are asked, by its id. */
  private readonly asked = new Map<string, Waiting>()

  constructor(
    private readonly run: OpenAiRun,
    private readonly before: string | null
  ) {
    const { runId } = run.record
    this.id = `${ID}${runId}`
    this.messageId = `msg_${runId}`
  }

  /** The response with what it has so far. */
  private body(status: string, output: ReadonlyArray<unknown>, usage?: Usage, error?: ApiError): object {
    const { agent, createdAt, labels, sessionId } = this.run.record
    const shown = error === undefined ? undefined : OpenAiFailures.toFailure(error).error
    return {
      id: this.id,
      object: "response",
      created_at: Math.floor(createdAt / 1000),
      status,
      error: shown === undefined ? null : { code: shown.code, message: shown.message },
      incomplete_details: status === "incomplete" ? { reason: this.incomplete ?? "max_output_tokens" } : null,
      instructions: null,
      max_output_tokens: null,
      model: agent,
      output,
      parallel_tool_calls: true,
      previous_response_id: this.before,
      conversation: sessionId === undefined ? null : { id: sessionId },
      temperature: null,
      top_p: null,
      tool_choice: "auto",
      tools: [],
      truncation: "disabled",
      metadata: labels,
      usage: usage === undefined ? null : usageOf(usage)
    }
  }

  private get incomplete(): string | undefined {
    switch (this.run.answer.reason) {
      case "length":
      case "limit":
        return "max_output_tokens"
      case "content-filter":
        return "content_filter"
      default:
        return undefined
    }
  }

  private message(status: string, text: string | undefined): object {
    const content = text === undefined ? [] : [{ type: "output_text", text, annotations: [], logprobs: [] }]
    return { id: this.messageId, type: "message", status, role: "assistant", content }
  }

  private readonly note = (event: AgentEvent): void => {
    if (event._tag === "ApprovalRequested" || (event._tag === "QuestionAsked" && !CallerTools.isGiven(event))) {
      this.asked.set(event.id, waitingOf(event))
    } else if (event._tag === "ApprovalResolved" || event._tag === "QuestionAnswered") this.asked.delete(event.id)
  }

  /** What the run waits for. */
  private get waiting() {
    return [...Array.from(this.run.answer.calls.values(), callOf), ...this.asked.values()]
  }

  /** The response at the end of the run, or where it waits for an answer. */
  private end(text: string | undefined): Effect.Effect<{ readonly type: string; readonly body: object }, ApiError> {
    return Effect.gen(this, function* () {
      const said = text === undefined ? [] : [this.message("completed", text)]
      const { waiting } = this
      if (waiting.length > 0) {
        return { type: "response.completed", body: this.body("completed", [...said, ...waiting]) }
      }
      const status = this.incomplete === undefined ? "completed" : "incomplete"
      return { type: `response.${status}`, body: this.body(status, said, yield* this.run.usage) }
    })
  }

  /** The answer as one response. */
  get whole(): Effect.Effect<HttpServerResponse.HttpServerResponse> {
    const { run } = this
    return run.follow(this.note, Effect.void).pipe(
      Effect.zipRight(Effect.suspend(() => this.end(run.answer.hasEnded ? run.answer.message : undefined))),
      Effect.map(({ body }) =>
        HttpServerResponse.unsafeJson(body, { headers: { ...run.headers, "cache-control": "no-store" } })
      ),
      Effect.catchAll((error) => Effect.succeed(run.failed(error)))
    )
  }

  /** The run as it is, without waiting for it. */
  now(response: AgentResponse<unknown> | undefined, requests: ReadonlyArray<WaitingRequest>): object {
    const status = statuses[this.run.record.state]
    if (status === "failed" && response?.error !== undefined) {
      return this.body(status, [], response.usage, OpenAiFailures.fromRunError(response.error, response.interrupted))
    }
    const isAnswer = status === "completed" && response !== undefined
    const isData = typeof response?.output !== "string"
    return this.body(
      status,
      isAnswer
        ? [this.message("completed", isData ? AnswerForm.toJson(response.message) : response.message)]
        : requests.map(fromRequest),
      response?.usage
    )
  }

  /** The answer as it comes. */
  get stream(): Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
    const { run } = this
    const produce = (send: EventStream.Send) => {
      let number = 0
      let text: string | undefined
      const frames: Array<EventStream.Frame> = []
      const place = { item_id: this.messageId, output_index: 0, content_index: 0 }
      const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] })
      const push = (type: string, fields: object) =>
        frames.push({ event: type, data: JSON.stringify({ type, sequence_number: number++, ...fields }) })
      const take = (event: AgentEvent, piece: string) => {
        this.note(event)
        if (piece === "") return
        if (text === undefined) {
          text = ""
          push("response.output_item.added", { output_index: 0, item: this.message("in_progress", undefined) })
          push("response.content_part.added", { ...place, part: part("") })
        }
        text += piece
        push("response.output_text.delta", { ...place, delta: piece, logprobs: [] })
      }
      const close = () => {
        if (text === undefined) return
        push("response.output_text.done", { ...place, text, logprobs: [] })
        push("response.content_part.done", { ...place, part: part(text) })
        push("response.output_item.done", { output_index: 0, item: this.message("completed", text) })
      }
      const sent = Effect.suspend(() => send(frames.splice(0)))
      return Effect.gen(this, function* () {
        const begun = this.body("in_progress", [])
        push("response.created", { response: begun })
        push("response.in_progress", { response: begun })
        yield* sent
        yield* run.follow(take, sent)
        close()
        const at = text === undefined ? 0 : 1
        for (const [index, item] of this.waiting.entries()) {
          const place = { item_id: item.id, output_index: at + index }
          if (item.type === "function_call") {
            const begun = { ...item, arguments: "", status: "in_progress" }
            push("response.output_item.added", { output_index: at + index, item: begun })
            push("response.function_call_arguments.delta", { ...place, delta: item.arguments })
            push("response.function_call_arguments.done", { ...place, name: item.name, arguments: item.arguments })
          } else push("response.output_item.added", { output_index: at + index, item })
          push("response.output_item.done", { output_index: at + index, item })
        }
        const { body, type } = yield* this.end(text)
        push(type, { response: body })
      }).pipe(
        Effect.catchAll((error) =>
          Effect.sync(() => {
            close()
            push("response.failed", { response: this.body("failed", [], undefined, error) })
          })
        ),
        Effect.zipRight(sent)
      )
    }
    return EventStream.response(produce, { ...run.options, headers: { ...run.options.headers, ...run.headers } })
  }
}

/**
 * Answers of the model of a run to what servers ask it during a tool call.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as LlmGateway from "../../llm/model/LlmGateway.js"
import * as Run from "../../observability/Run.js"
import * as ToolProgress from "../../tool/ToolProgress.js"
import type { CallOptions, Sampled, SampleRequest } from "./McpClient.js"
import * as McpOutput from "./McpOutput.js"
import * as McpText from "./McpText.js"

const elicitation = OnDemand.make(() => import("../../tool/Elicitation.js"))

/** The most characters of a request, base64 included. */
const MAX_CHARS = 1_048_576

/** The most characters of one text that the person sees who is asked. */
const MAX_SHOWN = 4_000

/** The request as its messages: hidden characters of a server are shown. */
const messagesOf = ({ messages, system }: SampleRequest): ReadonlyArray<LlmClient.Message> => {
  let left = MAX_CHARS
  const given = messages.map(({ content, role }): LlmClient.Message => {
    const parts = McpOutput.bound(content, left, "keep").map(McpOutput.partOf)
    for (const part of parts) left -= part.type === "text" ? part.text.length : part.data.length
    return { role, content: parts }
  })
  return system === undefined
    ? given
    : [{ role: "system", content: McpText.truncate(McpText.visible(system), MAX_CHARS) }, ...given]
}

const shown = ({ maxTokens, messages, system }: SampleRequest) => {
  const text = (given: string) => McpText.truncate(McpText.visible(given), MAX_SHOWN)
  return {
    ...(system === undefined ? {} : { system: text(system) }),
    messages: messages.map(({ content, role }) => ({
      role,
      content: text(content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n"))
    })),
    maxTokens
  }
}

/** The most characters of the last message in the reason for the approval. */
const MAX_REASON = 300

const warned = (reason: string) =>
  Effect.annotateLogs(Effect.logWarning("The request of an MCP server for an answer of the model was refused"), {
    module: "McpSampling",
    reason
  })

/** A person approves it as a call of the tool; the model's usage is the run's. */
const answer = (request: SampleRequest): Effect.Effect<Sampled | undefined> =>
  Effect.gen(function* () {
    const client = yield* Effect.serviceOption(LlmClient.LlmClient)
    if (Option.isNone(client)) return undefined
    const { approve } = yield* elicitation
    const sampling = shown(request)
    const last = sampling.messages.at(-1)?.content ?? ""
    const decision = yield* approve({ sampling }, `A server asks the model: ${McpOutput.excerpt(last, MAX_REASON)}`)
    if (decision._tag === "Denied") return undefined
    const { maxTokens, temperature } = request
    const response = yield* LlmGateway.complete({
      messages: messagesOf(request),
      settings: { maxTokens, ...(temperature === undefined ? {} : { temperature }) }
    }).pipe(Effect.provideService(LlmClient.LlmClient, client.value))
    return {
      text: LlmClient.text(response),
      model: response.model ?? "unknown",
      stopReason: response.finishReason === "length" ? ("maxTokens" as const) : ("endTurn" as const)
    }
  }).pipe(Effect.catchAll((error) => Effect.as(warned(error._tag), undefined)))

/** Answers for the tool call that the fiber serves; nothing outside of a run. */
export const current: Effect.Effect<CallOptions["sample"]> = Effect.zipWith(
  ToolProgress.CurrentCall,
  Run.Run,
  (call, run) => (call === undefined || !Run.isCurrent(run) ? undefined : { asker: run.rootRunId, answer })
)

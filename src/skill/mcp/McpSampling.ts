/**
 * Answers of the model of a run to what servers ask it during a tool call.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as LlmGateway from "../../llm/model/LlmGateway.js"
import * as Run from "../../observability/Run.js"
import * as JsonSchemaCheck from "../../tool/definition/JsonSchemaCheck.js"
import * as Observation from "../../tool/definition/Observation.js"
import * as ToolProgress from "../../tool/ToolProgress.js"
import type { CallOptions, ContentBlock, SampleBlock, Sampled, SampleRequest } from "./McpClient.js"
import * as McpOutput from "./McpOutput.js"
import * as McpText from "./McpText.js"

const elicitation = OnDemand.make(() => import("../../tool/Elicitation.js"))

/** The most characters of a request, base64 included. */
const MAX_CHARS = 1_048_576

/** The most characters of one text that the person sees who is asked. */
const MAX_SHOWN = 4_000

type Message = SampleRequest["messages"][number]
type Call = Extract<SampleBlock, { readonly type: "tool_use" }>
type Result = Extract<SampleBlock, { readonly type: "tool_result" }>

const isCall = (block: SampleBlock): block is Call => block.type === "tool_use"
const isResult = (block: SampleBlock): block is Result => block.type === "tool_result"
const isContent = (block: SampleBlock): block is ContentBlock => !isCall(block) && !isResult(block)

const textOf = (content: ReadonlyArray<ContentBlock>): string =>
  content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n")

/** The request as its messages, within a number of characters: hidden characters of a server are shown. */
class Messages {
  private left = MAX_CHARS
  /** The names of the tools by their calls. */
  private readonly names = new Map<string, string>()

  private bound(content: ReadonlyArray<ContentBlock>, binary: McpOutput.Binary): ReadonlyArray<McpOutput.Part> {
    const parts = McpOutput.bound(content, this.left, binary).map(McpOutput.partOf)
    for (const part of parts) this.left -= part.type === "text" ? part.text.length : part.data.length
    return parts
  }

  private callOf({ id, input, name }: Call) {
    this.names.set(id, name)
    // Data that is too large or too deep is not read any further.
    const params = McpText.isWithin(input, Math.max(0, this.left)) ? McpText.visibleData(input) : {}
    this.left -= Observation.stringify(params)?.length ?? 0
    return { type: "tool-call" as const, id, name, params, providerExecuted: false }
  }

  private resultOf({ content, id, isError: isFailure }: Result) {
    const [name = "", result] = [this.names.get(id), this.bound(content, "describe")]
    const text = result.map((part) => (part.type === "text" ? part.text : "")).join("\n\n")
    return { type: "tool-result" as const, id, name, isFailure, result: text, providerExecuted: false }
  }

  readonly read = ({ content, role }: Message): LlmClient.Message => {
    if (content.some(isResult)) {
      return { role: "tool", content: content.filter(isResult).map((block) => this.resultOf(block)) }
    }
    const parts = this.bound(content.filter(isContent), "keep")
    return role === "user"
      ? { role, content: parts }
      : { role, content: [...parts, ...content.filter(isCall).map((block) => this.callOf(block))] }
  }
}

const messagesOf = ({ messages, system }: SampleRequest): ReadonlyArray<LlmClient.Message> => {
  const read = new Messages().read
  const given = messages.map(read)
  return system === undefined
    ? given
    : [{ role: "system", content: McpText.truncate(McpText.visible(system), MAX_CHARS) }, ...given]
}

/** The tools of a server; `undefined` if a schema of them is none. */
const toolsOf = ({ tools = [] }: SampleRequest): ReadonlyArray<LlmClient.ToolDefinition> | undefined => {
  const read: Array<LlmClient.ToolDefinition> = []
  for (const { description = "", inputSchema, name } of tools) {
    const parameters = JsonSchemaCheck.parameters(inputSchema)
    if (Either.isLeft(parameters)) return undefined
    read.push({
      name,
      description: McpText.truncate(McpText.visible(description), MAX_SHOWN) || name,
      parameters: McpText.visibleSchema(parameters.right, MAX_SHOWN)
    })
  }
  return read
}

const shownOf = (block: SampleBlock): string => {
  if (isCall(block)) return `[${block.name}] ${Observation.stringify(block.input) ?? ""}`
  return isResult(block) ? `[result] ${textOf(block.content)}` : textOf([block])
}

const shown = ({ maxTokens, messages, system }: SampleRequest, tools: ReadonlyArray<LlmClient.ToolDefinition>) => {
  const text = (given: string) => McpText.truncate(McpText.visible(given), MAX_SHOWN)
  return {
    ...(system === undefined ? {} : { system: text(system) }),
    messages: messages.map(({ content, role }) => ({ role, content: text(content.map(shownOf).join("\n")) })),
    ...(tools.length === 0 ? {} : { tools: tools.map(({ description, name }) => ({ name, description })) }),
    maxTokens
  }
}

/** The answer; calls of tools that the server does not have are left out. */
const sampledOf = (response: LlmClient.LlmResponse, tools: ReadonlyArray<LlmClient.ToolDefinition>): Sampled => {
  const calls = LlmClient.toolCalls(response).flatMap(({ id, name, params }) =>
    tools.some((tool) => tool.name === name) && Predicate.isReadonlyRecord(params) ? [{ id, name, input: params }] : []
  )
  return {
    text: LlmClient.text(response),
    model: response.model ?? "unknown",
    stopReason: calls.length > 0 ? "toolUse" : response.finishReason === "length" ? "maxTokens" : "endTurn",
    ...(calls.length === 0 ? {} : { calls })
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
    const tools = toolsOf(request)
    if (tools === undefined) return yield* Effect.as(warned("tools"), undefined)
    const { approve } = yield* elicitation
    const sampling = shown(request, tools)
    const last = sampling.messages.at(-1)?.content ?? ""
    const decision = yield* approve({ sampling }, `A server asks the model: ${McpOutput.excerpt(last, MAX_REASON)}`)
    if (decision._tag === "Denied") return undefined
    const { maxTokens, temperature, toolChoice = "auto" } = request
    const response = yield* LlmGateway.complete({
      messages: messagesOf(request),
      ...(tools.length === 0 ? {} : { tools, toolChoice }),
      settings: { maxTokens, ...(temperature === undefined ? {} : { temperature }) }
    }).pipe(Effect.provideService(LlmClient.LlmClient, client.value))
    return sampledOf(response, tools)
  }).pipe(Effect.catchAll((error) => Effect.as(warned(error._tag), undefined)))

/** Answers for the tool call that the fiber serves; nothing outside of a run. */
export const current: Effect.Effect<CallOptions["sample"]> = Effect.zipWith(
  ToolProgress.CurrentCall,
  Run.Run,
  (call, run) => (call === undefined || !Run.isCurrent(run) ? undefined : { asker: run.rootRunId, answer })
)

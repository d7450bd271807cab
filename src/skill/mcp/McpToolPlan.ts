/**
 * Plans how a tool of an MCP server becomes a skill or a tool.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ToolContent } from "../../content/ToolContent.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as ToolProgress from "../../tool/ToolProgress.js"
import type { McpError, Progress, Service, ToolInfo } from "./McpClient.js"
import * as McpFiles from "./McpFiles.js"
import * as McpOutput from "./McpOutput.js"
import * as McpQuestions from "./McpQuestions.js"
import * as McpSampling from "./McpSampling.js"
import * as McpText from "./McpText.js"

/**
 * The result of a tool: its structured content if it declares a schema or returns nothing else, its text if it returns
 * only text, otherwise its blocks.
 *
 * @since 0.1.0
 * @category models
 */
export type Output = McpOutput.Output

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Prefix of each name, followed by `__`. Default: the client's name; `false`: no prefix. */
  readonly prefix?: string | false | undefined
  /** Selects tools. Default: all. */
  readonly include?: ((tool: ToolInfo) => boolean) | undefined
  /**
   * What needs confirmation. `destructive` (default): all tools except those that claim to be read-only or not
   * destructive; `always`: every tool; `never`: none.
   */
  readonly confirm?: "destructive" | "always" | "never" | undefined
  /** Default `mcp`. */
  readonly category?: string | undefined
  /** Permissions that each skill requires. */
  readonly permissions?: ReadonlyArray<string> | undefined
  /** Time limit of each call. Default: that of the executor and the client. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Receives progress of calls. */
  readonly onProgress?: ((name: string, progress: Progress) => Effect.Effect<void>) | undefined
  /** Adds `list_resources` and `read_resource`, by which a model reads resources of the server. Default false. */
  readonly resources?: boolean | undefined
  /** Adds `list_prompts` and `get_prompt`, by which a model reads prompts of the server. Default false. */
  readonly prompts?: boolean | undefined
  /**
   * Which tools are called as tasks: those that have to (`required`), or also those that may (`optional`). Default
   * `required`.
   */
  readonly tasks?: "required" | "optional" | undefined
  /**
   * Images, audio and other bytes: `keep` them as base64, `describe` them in one line, or `show` them to the model as
   * files of the result, at most 20 MiB. By default skills keep and tools show; skills cannot show.
   */
  readonly binary?: "keep" | "describe" | "show" | undefined
  /** Maximum number of tools; further ones are left out. Default 256. */
  readonly maxTools?: number | undefined
  /** Maximum characters of a description, also of each parameter's. Default 4,096. */
  readonly maxDescription?: number | undefined
  /** Maximum characters of a schema; tools with a larger one are left out. Default 65,536. */
  readonly maxSchema?: number | undefined
  /**
   * Maximum characters of a result, base64 included: text is cut, larger bytes are described, larger structured content
   * fails. Default 1,048,576.
   */
  readonly maxResult?: number | undefined
}

const MAX_NAME = 128

/** Maximum length of the server's own name of a tool, which is kept beside ours. */
const MAX_TOOL_NAME = 512

/**
 * Reduces a name to the characters that providers allow and adds a hash if characters were dropped: the result does not
 * depend on other tools.
 */
export const nameOf = (prefix: string, name: string): string => {
  const whole = prefix === "" ? name : `${prefix}__${name}`
  const cleaned = whole.slice(0, MAX_NAME).replace(/[^A-Za-z0-9_.-]/g, "_")
  return cleaned === whole ? whole : `${cleaned.slice(0, MAX_NAME - 9)}_${CanonicalJson.hash(whole).slice(0, 8)}`
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const prefixOf = (client: Service, options: Options | undefined): string =>
  options?.prefix === false ? "" : (options?.prefix ?? client.name)

/** The parts common to a skill and a tool. */
interface Plan {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly confirm: boolean
  readonly idempotent: boolean
  readonly readOnly: boolean
  readonly isRetryable: (error: McpError) => boolean
  readonly call: (
    params: Readonly<Record<string, unknown>>,
    limits: McpOutput.Limits,
    isStructured: boolean
  ) => Effect.Effect<Output, McpError>
  /** The same with bytes as files of the result. */
  readonly show: Plan["call"] extends (...args: infer Args) => unknown
    ? (...args: Args) => Effect.Effect<Output | ToolContent, McpError>
    : never
}

const needsConfirmation = (tool: ToolInfo, confirm: Options["confirm"] = "destructive"): boolean => {
  if (confirm !== "destructive") return confirm === "always"
  return tool.annotations?.readOnlyHint !== true && tool.annotations?.destructiveHint !== false
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const limitsOf = (options: Options | undefined, binary: "keep" | "show"): McpOutput.Limits => ({
  binary: options?.binary === undefined || (binary === "keep" && options.binary === "show") ? binary : options.binary,
  max: options?.maxResult ?? 1_048_576
})

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const make = (client: Service, tool: ToolInfo, options: Options | undefined): Either.Either<Plan, string> => {
  const { annotations, description, inputSchema, requiresTask, task, title } = tool
  if (requiresTask === true) return Either.left("it can only be called as a task, and the server offers none")
  if (tool.name.length > MAX_TOOL_NAME) return Either.left(`its name is longer than ${MAX_TOOL_NAME} characters`)
  const maxSchema = options?.maxSchema ?? 65_536
  if (!McpText.isWithin(inputSchema, maxSchema)) {
    return Either.left(`its schema is larger than ${maxSchema} characters, or too deep`)
  }
  const maxDescription = options?.maxDescription ?? 4096
  const name = nameOf(prefixOf(client, options), tool.name)
  const said = [description, title, annotations?.title].find((text) => text !== undefined && text.trim() !== "")
  const readOnly = annotations?.readOnlyHint === true
  const idempotent = readOnly || annotations?.idempotentHint === true
  const tell = options?.onProgress
  const call = (params: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(
      Effect.all([ToolProgress.reporter, McpQuestions.current, McpSampling.current]),
      ([report, elicit, sample]) =>
        client.callTool(tool.name, params, {
          timeout: options?.timeout,
          elicit,
          sample,
          task: task === "required" || (task === "optional" && options?.tasks === "optional"),
          onProgress: (progress) =>
            Effect.zipRight(
              report({ message: progress.message, done: progress.progress, total: progress.total }),
              tell?.(name, progress) ?? Effect.void
            )
        })
    )
  return Either.right({
    name,
    description: said === undefined ? name : McpText.truncate(McpText.visible(said), maxDescription),
    parameters: McpText.visibleSchema(inputSchema, maxDescription),
    confirm: needsConfirmation(tool, options?.confirm),
    idempotent,
    readOnly,
    // An interrupted call may have taken effect.
    isRetryable: ({ reason }) => reason === "Connection" || (idempotent && reason === "Closed"),
    call: (params, limits, isStructured) =>
      Effect.flatMap(call(params), (result) => McpOutput.ofTool(client, tool, result, limits, isStructured)),
    show: (params, limits, isStructured) =>
      Effect.flatMap(call(params), (result) =>
        Effect.flatMap(McpOutput.ofTool(client, tool, result, limits, isStructured), (output) =>
          McpFiles.show(output, result.content, limits)
        )
      )
  })
}

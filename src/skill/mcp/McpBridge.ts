/**
 * Converts tools of an MCP server to skills and tools, its prompts to messages, and skills to definitions for MCP
 * clients.
 *
 * A server is a third party. Its descriptions and results reach the model as data: hidden characters are made visible
 * and sizes are bounded. Its annotations are claims: `readOnlyHint` and `destructiveHint` decide about confirmation
 * only as far as `confirm` lets them. Use `confirm: "always"` for untrusted servers.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ToolContent } from "../../content/ToolContent.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { JsonSchema, Message } from "../../llm/model/LlmClient.js"
import * as Tool from "../../tool/definition/Tool.js"
import * as Skill from "../definition/Skill.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import { SkillRegistry } from "../execute/SkillRegistry.js"
import { McpClient, type McpError, type PromptResult, type Service, type ToolInfo } from "./McpClient.js"
import * as McpFiles from "./McpFiles.js"
import * as McpOutput from "./McpOutput.js"
import * as McpReaders from "./McpReaders.js"
import * as McpText from "./McpText.js"
import { limitsOf, make as makePlan, nameOf, type Options, type Output, prefixOf } from "./McpToolPlan.js"

/**
 * A server's tool as a skill.
 *
 * @since 0.1.0
 * @category models
 */
export type McpSkill = Skill.Skill<Readonly<Record<string, unknown>>, Output, McpError>

/**
 * A server's tool as a tool.
 *
 * @since 0.1.0
 * @category models
 */
export type McpTool = Tool.Tool<Readonly<Record<string, unknown>>, Output | ToolContent, never, never, McpError>

const skillOf = (client: Service, tool: ToolInfo, options: Options | undefined): Either.Either<Made, string> =>
  Either.flatMap(makePlan(client, tool, options), (plan) => {
    const limits = limitsOf(options, "keep")
    const build = (returns: JsonSchema | undefined): McpSkill =>
      Skill.fromJsonSchema(plan.name, {
        description: plan.description,
        parameters: plan.parameters,
        returns,
        category: options?.category ?? "mcp",
        requiresConfirmation: plan.confirm,
        idempotent: plan.idempotent,
        permissions: options?.permissions,
        timeout: options?.timeout,
        metadata: { mcpServer: client.name, mcpTool: tool.name },
        retryable: plan.isRetryable,
        handler: (params) => plan.call(params, limits, returns !== undefined)
      })
    const { outputSchema } = tool
    const isReadable = outputSchema !== undefined && McpText.isWithin(outputSchema, options?.maxSchema ?? 65_536)
    const whole = isReadable ? build(McpText.visibleSchema(outputSchema, options?.maxDescription ?? 4096)) : undefined
    if (whole !== undefined && whole.problem === undefined) return Either.right({ skill: whole, warning: undefined })
    const skill = build(undefined)
    if (skill.problem !== undefined) return Either.left(skill.problem.errors.join("; "))
    const warning = outputSchema === undefined ? undefined : "the schema of its result cannot be used"
    return Either.right({ skill, warning })
  })

interface Made {
  readonly skill: McpSkill
  readonly warning: string | undefined
}

const isReadable = ({ reason }: McpError): boolean => reason === "Connection" || reason === "Closed"

const readerSkill = (client: Service, options: Options | undefined, reader: McpReaders.Reader): McpSkill =>
  Skill.fromJsonSchema(reader.name, {
    description: reader.description,
    parameters: reader.parameters,
    category: options?.category ?? "mcp",
    requiresConfirmation: options?.confirm === "always",
    idempotent: true,
    permissions: options?.permissions,
    timeout: options?.timeout,
    metadata: { mcpServer: client.name },
    retryable: isReadable,
    handler: (params) => reader.read(params, limitsOf(options, "keep"))
  })

const warn = (client: Service, name: string, reason: string) =>
  Effect.logWarning(
    `The tool "${McpOutput.excerpt(name, 128)}" of the MCP server "${client.name}": ${McpOutput.excerpt(reason, 500)}`
  )

/** The tools to convert. */
const wanted = (client: Service, options: Options | undefined): Effect.Effect<ReadonlyArray<ToolInfo>, McpError> =>
  Effect.flatMap(client.listTools, (all) => {
    const max = options?.maxTools ?? 256
    const { include = () => true } = options ?? {}
    const names = new Set<string>()
    const once = all.filter((tool) => include(tool) && !names.has(tool.name) && names.add(tool.name))
    if (once.length <= max) return Effect.succeed(once)
    const message = `The MCP server "${client.name}" has ${once.length} tools: those after the first ${max} are left out`
    return Effect.as(Effect.logWarning(message), once.slice(0, max))
  })

/**
 * The server's tools as skills, with their schemas. Left out with a warning: a tool whose schema does not compile or is
 * too large, or that can only be called as a task. A tool that fails is a failure of its skill, with the beginning of
 * its message.
 *
 * @since 0.1.0
 * @category conversions
 */
export const skills = (client: Service, options?: Options): Effect.Effect<ReadonlyArray<McpSkill>, McpError> =>
  Effect.map(collect(client, options, new Map()), (made) => Array.from(made.values(), ({ skill }) => skill))

/** `key` is the hash of the tool it was made from. */
interface Known {
  readonly key: string
  readonly skill: McpSkill
}

/** By name. An unchanged tool keeps its skill. */
const collect = (
  client: Service,
  options: Options | undefined,
  before: ReadonlyMap<string, Known>
): Effect.Effect<ReadonlyMap<string, Known>, McpError> =>
  Effect.gen(function* () {
    const tools = yield* wanted(client, options)
    const made = new Map<string, Known>()
    for (const tool of tools) {
      const known = before.get(nameOf(prefixOf(client, options), tool.name))
      const key = keyOf(tool)
      if (known !== undefined && key !== undefined && known.key === key) {
        made.set(known.skill.definition.name, known)
        continue
      }
      const one = skillOf(client, tool, options)
      if (Either.isLeft(one)) {
        yield* warn(client, tool.name, `it is left out: ${one.left}`)
        continue
      }
      const { skill, warning } = one.right
      if (warning !== undefined) yield* warn(client, tool.name, warning)
      made.set(skill.definition.name, { key: key ?? "", skill })
      // Compiling schemas takes time, so other fibers may run in between.
      yield* Effect.yieldNow()
    }
    for (const reader of McpReaders.of(client, options)) {
      const { name } = reader
      if (made.has(name)) yield* warn(client, name, "the server has a tool of this name, which is used instead of ours")
      else made.set(name, before.get(name) ?? { key: "", skill: readerSkill(client, options, reader) })
    }
    return made
  })

/** Tools with schemas too large to compare are left out anyway, or only lose the schema of their result. */
const keyOf = (tool: ToolInfo): string | undefined => {
  const { outputSchema = {} } = tool
  return McpText.isWithin(tool.inputSchema, 1_000_000) && McpText.isWithin(outputSchema, 1_000_000)
    ? CanonicalJson.hash(tool)
    : undefined
}

/** The tool of a server, or why it cannot be used. */
const toolOf = (client: Service, tool: ToolInfo, options: Options | undefined): Either.Either<McpTool, string> =>
  Either.flatMap(makePlan(client, tool, options), (plan) =>
    Either.mapLeft(
      Tool.fromJsonSchema<Output | ToolContent, McpError>(plan.name, {
        description: plan.description,
        parameters: plan.parameters,
        requiresApproval: plan.confirm,
        idempotent: plan.idempotent,
        readOnly: plan.readOnly,
        timeout: options?.timeout,
        retryable: plan.isRetryable,
        handler: (params) => plan.show(params, limitsOf(options, "show"), tool.outputSchema !== undefined)
      }),
      ({ message }) => message
    )
  )

const readerTool = (options: Options | undefined, reader: McpReaders.Reader): Either.Either<McpTool, unknown> =>
  Tool.fromJsonSchema<Output | ToolContent, McpError>(reader.name, {
    description: reader.description,
    parameters: reader.parameters,
    requiresApproval: options?.confirm === "always",
    readOnly: true,
    timeout: options?.timeout,
    retryable: isReadable,
    handler: (params) => McpFiles.showAll((to) => reader.read(params, to), limitsOf(options, "show"))
  })

/**
 * Tools by a hash of what the server says of them.
 *
 * @internal
 */
export type KnownTools = ReadonlyMap<string, McpTool>

/**
 * The server's tools. An unchanged tool stays the same object.
 *
 * @internal
 */
export const renewedTools = (
  client: Service,
  options: Options | undefined,
  before: KnownTools
): Effect.Effect<KnownTools, McpError> =>
  Effect.gen(function* () {
    const made = new Map<string, McpTool>()
    for (const tool of yield* wanted(client, options)) {
      const key = keyOf(tool) ?? `large ${made.size}`
      const known = before.get(key)
      if (known !== undefined && !key.startsWith("large ")) {
        made.set(key, known)
        continue
      }
      const one = toolOf(client, tool, options)
      if (Either.isRight(one)) made.set(key, one.right)
      else yield* warn(client, tool.name, `it is left out: ${one.left}`)
      yield* Effect.yieldNow()
    }
    const taken = new Set(Array.from(made.values(), ({ name }) => name))
    for (const reader of McpReaders.of(client, options)) {
      const key = `reader ${reader.name}`
      const known = before.get(key)
      const one = known === undefined ? readerTool(options, reader) : Either.right(known)
      if (Either.isRight(one) && !taken.has(reader.name)) made.set(key, one.right)
    }
    return made
  })

/**
 * The server's tools as tools, to give to agents directly. As `skills`, but bytes are described, and there is no
 * registry, permission check or cache.
 *
 * @since 0.1.0
 * @category conversions
 */
export const tools = (client: Service, options?: Options): Effect.Effect<ReadonlyArray<McpTool>, McpError> =>
  Effect.map(renewedTools(client, options, new Map()), (made) => Array.from(made.values()))

/** Lists that change in quick succession are read once. */
const PAUSE = "100 millis"

/**
 * Registers the server's tools as skills and follows their changes: new tools are registered, changed ones replaced,
 * removed ones unregistered, now and after each reconnection. Other skills are left alone: a taken name is kept, with a
 * warning. When the scope closes, the registered skills are removed.
 *
 * @since 0.1.0
 * @category registration
 */
export const register = (
  client: Service,
  options?: Options
): Effect.Effect<void, McpError, SkillRegistry | Scope.Scope> =>
  Effect.gen(function* () {
    const registry = yield* SkillRegistry
    let mine: ReadonlyMap<string, Known> = new Map()

    const isMine = (name: string): Effect.Effect<boolean> =>
      Effect.map(registry.get(name), (held) => Option.isSome(held) && held.value === mine.get(name)?.skill)

    const apply = (listed: ReadonlyMap<string, Known>) =>
      Effect.gen(function* () {
        const registered = new Map<string, Known>()
        for (const name of mine.keys()) {
          if (!listed.has(name) && (yield* isMine(name))) yield* registry.unregister(name)
        }
        for (const [name, known] of listed) {
          const isHeld = yield* isMine(name)
          if (!isHeld || known.skill !== mine.get(name)?.skill) {
            const done = yield* Effect.either((isHeld ? registry.replace : registry.register)(known.skill))
            if (Either.isLeft(done)) {
              yield* warn(client, name, done.left.message)
              continue
            }
          }
          registered.set(name, known)
        }
        mine = registered
      })

    const sync = Effect.flatMap(
      Effect.suspend(() => collect(client, options, mine)),
      (listed) => Effect.uninterruptible(apply(listed))
    )

    yield* Effect.addFinalizer(() =>
      Effect.forEach(
        [...mine.keys()],
        (name) => Effect.flatMap(isMine(name), (is) => (is ? registry.unregister(name) : Effect.void)),
        { discard: true }
      )
    )
    yield* sync
    yield* client.changes.pipe(
      Stream.filter(({ _tag }) => _tag === "Connected" || _tag === "ToolsChanged"),
      Stream.runForEachChunk((changes) =>
        changes.length === 0
          ? Effect.void
          : Effect.catchAll(sync, ({ message }) => Effect.logWarning(`Its skills stay as they are: ${message}`)).pipe(
              Effect.zipRight(Effect.sleep(PAUSE))
            )
      ),
      Effect.forkScoped
    )
  })

/**
 * `register` for the `McpClient` of the context. For several servers, provide each layer with its own client.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultSkillRegistry, McpBridge } from "effect-lexigram/skill"
 * import { McpClientSdk } from "effect-lexigram/mcp"
 * import * as Layer from "effect/Layer"
 *
 * const files = McpBridge.layer().pipe(
 *   Layer.provide(
 *     McpClientSdk.layerStdio({ name: "files", command: "mcp-server-filesystem", args: ["/srv/documents"] })
 *   )
 * )
 * const skills = files.pipe(Layer.provideMerge(DefaultSkillRegistry.layerEmpty))
 * ```
 */
export const layer = (options?: Options): Layer.Layer<never, McpError, McpClient | SkillRegistry> =>
  Layer.scopedDiscard(Effect.flatMap(McpClient, (client) => register(client, options)))

/**
 * A server's prompt as messages. Bytes become files and resources their text, also in assistant messages.
 *
 * @since 0.1.0
 * @category conversions
 */
export const messages = (prompt: PromptResult, options?: Pick<Options, "maxResult">): ReadonlyArray<Message> => {
  const max = options?.maxResult ?? 1_048_576
  return prompt.messages.flatMap(({ content, role }): ReadonlyArray<Message> => {
    const [block] = McpOutput.bound([content], max, "keep")
    return block === undefined ? [] : [{ role, content: [McpOutput.partOf(block)] }]
  })
}

/**
 * A skill as MCP clients see it.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpDefinition {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  /** Schema of structured content; only objects are allowed. */
  readonly outputSchema?: JsonSchema | undefined
  readonly annotations: { readonly idempotentHint: boolean; readonly destructiveHint: boolean }
}

/**
 * Skills as definitions of MCP tools. A skill that requires confirmation is marked destructive, so that clients ask
 * first.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMcpDefinitions = (given: ReadonlyArray<SkillDefinition | Skill.Any>): ReadonlyArray<McpDefinition> =>
  given.map((one) => {
    const { description, idempotent, name, parametersSchema, requiresConfirmation, returnsSchema } = Skill.isSkill(one)
      ? one.definition
      : one
    return {
      name,
      description,
      inputSchema: { ...parametersSchema, type: "object" },
      ...(returnsSchema["type"] === "object" ? { outputSchema: returnsSchema } : {}),
      annotations: { idempotentHint: idempotent, destructiveHint: requiresConfirmation }
    }
  })

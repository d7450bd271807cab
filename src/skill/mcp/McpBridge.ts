/**
 * The tools of an MCP server as skills and tools, its prompts as messages, and skills as definitions that MCP clients
 * understand.
 *
 * A server is another party. Its descriptions and results reach the model as data: hidden characters are made visible
 * and sizes are bounded. Its annotations are claims: `readOnlyHint` and `destructiveHint` decide whether somebody is
 * asked first only as far as `confirm` lets them, so use `confirm: "always"` for servers that are not trusted.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type { JsonSchema, Message } from "../../llm/model/LlmClient.js"
import * as Tool from "../../tool/definition/Tool.js"
import * as Skill from "../definition/Skill.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import { SkillRegistry } from "../execute/SkillRegistry.js"
import { McpClient, type McpError, type Progress, type PromptResult, type Service, type ToolInfo } from "./McpClient.js"
import * as McpOutput from "./McpOutput.js"
import * as McpText from "./McpText.js"

/**
 * What a tool gives: its structured content where it declares a schema for it or has nothing else, its text where it
 * gives only text, and otherwise its blocks.
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
  /** In front of each name, followed by `__`; the client's name unless set, nothing where it is `false`. */
  readonly prefix?: string | false | undefined
  /** Which tools are taken; all unless set. */
  readonly include?: ((tool: ToolInfo) => boolean) | undefined
  /**
   * What somebody is asked for first. `destructive` (default): all but tools that say they are read-only or not
   * destructive; `always`: every tool, whatever it says; `never`: none.
   */
  readonly confirm?: "destructive" | "always" | "never" | undefined
  /** Default `mcp`. */
  readonly category?: string | undefined
  /** What users need for each of the skills. */
  readonly permissions?: ReadonlyArray<string> | undefined
  /** For each call. Unset: the executor's, and the client's. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Told of what calls are doing. */
  readonly onProgress?: ((name: string, progress: Progress) => Effect.Effect<void>) | undefined
  /** Also `read_resource`, which reads a resource of the server by its address. Default false. */
  readonly resources?: boolean | undefined
  /**
   * Images, audio and other bytes: `keep` them as base64, or `describe` them in a line, which is all that a model can
   * use of them in the result of a tool. Skills keep and tools describe, unless set.
   */
  readonly binary?: "keep" | "describe" | undefined
  /** Tools beyond this many are left out. Default 256. */
  readonly maxTools?: number | undefined
  /** Characters of a description, that of each parameter too. Default 4,096. */
  readonly maxDescription?: number | undefined
  /** Characters of a schema; tools with a larger one are left out. Default 65,536. */
  readonly maxSchema?: number | undefined
  /**
   * Characters of a result, base64 included: text is cut, larger bytes are described, larger structured content fails.
   * Default 1,048,576.
   */
  readonly maxResult?: number | undefined
}

/**
 * A tool of a server as a skill.
 *
 * @since 0.1.0
 * @category models
 */
export type McpSkill = Skill.Skill<Readonly<Record<string, unknown>>, Output, McpError>

/**
 * A tool of a server as a tool.
 *
 * @since 0.1.0
 * @category models
 */
export type McpTool = Tool.Tool<Readonly<Record<string, unknown>>, Output, never, never, McpError>

const MAX_NAME = 128

/** Of a server's own names, which are kept beside ours. */
const MAX_TOOL_NAME = 512

/**
 * What the protocol allows in names, and a hash where something had to go: the same name whatever other tools there
 * are.
 */
const nameOf = (prefix: string, name: string): string => {
  const whole = prefix === "" ? name : `${prefix}__${name}`
  const cleaned = whole.slice(0, MAX_NAME).replace(/[^A-Za-z0-9_.-]/g, "_")
  return cleaned === whole ? whole : `${cleaned.slice(0, MAX_NAME - 9)}_${CanonicalJson.hash(whole).slice(0, 8)}`
}

const prefixOf = (client: Service, options: Options | undefined): string =>
  options?.prefix === false ? "" : (options?.prefix ?? client.name)

/** What becomes of a tool, skill or not. */
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
}

const needsConfirmation = (tool: ToolInfo, confirm: Options["confirm"] = "destructive"): boolean => {
  if (confirm !== "destructive") return confirm === "always"
  return tool.annotations?.readOnlyHint !== true && tool.annotations?.destructiveHint !== false
}

const limitsOf = (options: Options | undefined, binary: "keep" | "describe"): McpOutput.Limits => ({
  binary: options?.binary ?? binary,
  max: options?.maxResult ?? 1_048_576
})

const planOf = (client: Service, tool: ToolInfo, options: Options | undefined): Either.Either<Plan, string> => {
  const { annotations, description, inputSchema, requiresTask, title } = tool
  if (requiresTask === true) return Either.left("it can only be called as a task")
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
  return Either.right({
    name,
    description: said === undefined ? name : McpText.cut(McpText.visible(said), maxDescription),
    parameters: McpText.visibleSchema(inputSchema, maxDescription),
    confirm: needsConfirmation(tool, options?.confirm),
    idempotent,
    readOnly,
    // A call that was cut off may have taken effect.
    isRetryable: ({ reason }) => reason === "Connection" || (idempotent && reason === "Closed"),
    call: (params, limits, isStructured) =>
      Effect.flatMap(
        client.callTool(tool.name, params, {
          timeout: options?.timeout,
          onProgress: tell && ((progress) => tell(name, progress))
        }),
        (result) => McpOutput.ofTool(client, tool, result, limits, isStructured)
      )
  })
}

const skillOf = (client: Service, tool: ToolInfo, options: Options | undefined): Either.Either<Made, string> =>
  Either.flatMap(planOf(client, tool, options), (plan) => {
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

const readResource = (client: Service, options: Options | undefined): McpSkill =>
  Skill.fromJsonSchema(nameOf(prefixOf(client, options), "read_resource"), {
    description: `Reads a resource of the server ${VisibleText.visible(client.name)} by its address (URI)`,
    parameters: { type: "object", properties: { uri: { type: "string", minLength: 1 } }, required: ["uri"] },
    category: options?.category ?? "mcp",
    requiresConfirmation: options?.confirm === "always",
    idempotent: true,
    permissions: options?.permissions,
    timeout: options?.timeout,
    metadata: { mcpServer: client.name },
    retryable: ({ reason }: McpError) => reason === "Connection" || reason === "Closed",
    handler: ({ uri }) => resourceOf(client, String(uri), options, limitsOf(options, "keep"))
  })

const resourceOf = (
  client: Service,
  uri: string,
  options: Options | undefined,
  limits: McpOutput.Limits
): Effect.Effect<Output, McpError> =>
  Effect.map(client.readResource(uri, { timeout: options?.timeout }), (contents) =>
    McpOutput.ofResource(contents, limits)
  )

const warn = (client: Service, name: string, reason: string): Effect.Effect<void> =>
  Effect.logWarning(
    `The tool "${McpOutput.excerpt(name, 128)}" of the MCP server "${client.name}": ${McpOutput.excerpt(reason, 500)}`
  )

/** The tools to be made something of. */
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
 * The server's tools as skills, schemas kept. A tool whose schema does not compile or is too large, or that can only be
 * called as a task, is left out with a warning; the others stay. A tool that fails is a failure of its skill, with the
 * beginning of what it says.
 *
 * @since 0.1.0
 * @category conversions
 */
export const skills = (client: Service, options?: Options): Effect.Effect<ReadonlyArray<McpSkill>, McpError> =>
  Effect.map(collect(client, options, new Map()), (made) => Array.from(made.values(), ({ skill }) => skill))

interface Known {
  /** What it was made of. */
  readonly key: string
  readonly skill: McpSkill
}

/** By name; what is made of the same tool as before is the same skill. */
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
      // Compiling schemas takes time: others may run in between.
      yield* Effect.yieldNow()
    }
    if (options?.resources === true) {
      const skill = readResource(client, options)
      const { name } = skill.definition
      if (made.has(name))
        yield* warn(client, name, "the server has a tool of this name: resources cannot be read by it")
      else made.set(name, before.get(name) ?? { key: "", skill })
    }
    return made
  })

/** Schemas that are too large to be compared are left out anyway, or only lose their result's. */
const keyOf = (tool: ToolInfo): string | undefined => {
  const { outputSchema = {} } = tool
  return McpText.isWithin(tool.inputSchema, 1_000_000) && McpText.isWithin(outputSchema, 1_000_000)
    ? CanonicalJson.hash(tool)
    : undefined
}

/**
 * The server's tools as tools, for agents that are given them directly. As `skills`, but bytes are described and there
 * is no registry, no permissions and no cache between.
 *
 * @since 0.1.0
 * @category conversions
 */
export const tools = (client: Service, options?: Options): Effect.Effect<ReadonlyArray<McpTool>, McpError> =>
  Effect.gen(function* () {
    const limits = limitsOf(options, "describe")
    const made: Array<McpTool> = []
    for (const tool of yield* wanted(client, options)) {
      const one = Either.flatMap(planOf(client, tool, options), (plan) =>
        Either.mapLeft(
          Tool.fromJsonSchema<Output, McpError>(plan.name, {
            description: plan.description,
            parameters: plan.parameters,
            requiresApproval: plan.confirm,
            idempotent: plan.idempotent,
            readOnly: plan.readOnly,
            timeout: options?.timeout,
            retryable: plan.isRetryable,
            handler: (params) => plan.call(params, limits, tool.outputSchema !== undefined)
          }),
          ({ message }) => message
        )
      )
      if (Either.isRight(one)) made.push(one.right)
      else yield* warn(client, tool.name, `it is left out: ${one.left}`)
      yield* Effect.yieldNow()
    }
    if (options?.resources === true) {
      const { definition, erased } = readResource(client, options)
      const one = Tool.fromJsonSchema<Output, McpError>(definition.name, {
        description: definition.description,
        parameters: definition.parametersSchema,
        requiresApproval: definition.requiresConfirmation,
        readOnly: true,
        timeout: options.timeout,
        retryable: (error) => erased.isRetryable?.(error) === true,
        handler: ({ uri }) => resourceOf(client, String(uri), options, limits)
      })
      if (Either.isRight(one) && !made.some(({ name }) => name === definition.name)) made.push(one.right)
    }
    return made
  })

/** Lists that change in quick succession are read once. */
const PAUSE = "100 millis"

/**
 * Registers the server's tools as skills, and follows them: tools that come are registered, those that change replaced,
 * those that go unregistered, now and after each reconnection. Skills of others are left alone: a name that is taken
 * stays taken, with a warning. When the scope closes, what was registered here is gone.
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
 * As `register`, for the `McpClient` of the context. For several servers, provide each layer with its own client.
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
 *   Layer.provide(McpClientSdk.layerStdio({ name: "files", command: "mcp-server-filesystem", args: ["/srv/documents"] }))
 * )
 * const skills = files.pipe(Layer.provideMerge(DefaultSkillRegistry.layerEmpty))
 * ```
 */
export const layer = (options?: Options): Layer.Layer<never, McpError, McpClient | SkillRegistry> =>
  Layer.scopedDiscard(Effect.flatMap(McpClient, (client) => register(client, options)))

/**
 * A prompt of a server as messages. Bytes become files, resources their text; images of the assistant too.
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
  /** The shape of structured content; only objects can be. */
  readonly outputSchema?: JsonSchema | undefined
  readonly annotations: { readonly idempotentHint: boolean; readonly destructiveHint: boolean }
}

/**
 * Skills as definitions of MCP tools. A skill that requires confirmation is called destructive: clients then ask first.
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

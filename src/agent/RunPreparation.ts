/**
 * Checks an agent, a request and a configuration before a run begins.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Content, File } from "../content/Content.js"
import { RunId, SessionId, UserId } from "../domain/Ids.js"
import * as ModelSettings from "../llm/model/ModelSettings.js"
import type { Strategy } from "../strategy/definition/Strategy.js"
import type * as StrategyRegistry from "../strategy/definition/StrategyRegistry.js"
import type { AgentRequest } from "./AgentExecutor.js"
import type * as Agent from "./definition/Agent.js"
import * as AgentConfig from "./definition/AgentConfig.js"
import { AgentConfigurationError } from "./definition/AgentError.js"
import { isResolved } from "./definition/RunIdentity.js"
import type { RunPolicy } from "./record/RunPolicy.js"

/** What stands for files where only text can: their names or media types. */
export const namesOf = (files: ReadonlyArray<File>): string =>
  files.map(({ fileName, mediaType }) => `[${fileName ?? mediaType}]`).join(" ")

const isPart = (part: unknown): part is Content =>
  Predicate.isReadonlyRecord(part) &&
  (part["type"] === "file" || (part["type"] === "text" && typeof part["text"] === "string"))

/** The parts of an input that are parts: requests may come from outside the types. */
const partsOf = (input: AgentRequest["input"]): ReadonlyArray<Content> =>
  Array.isArray(input) ? input.filter(isPart) : noParts

const noParts: ReadonlyArray<never> = []

/**
 * The files of an input.
 *
 * @category getters
 */
export const filesOf = (input: AgentRequest["input"]): ReadonlyArray<File> =>
  typeof input === "string" ? noParts : partsOf(input).filter((part) => part.type === "file")

/**
 * The text of an input.
 *
 * @category getters
 */
export const textOf = (input: AgentRequest["input"]): string => {
  if (typeof input === "string") return input
  const texts = partsOf(input).flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []))
  return texts.length === 0 ? namesOf(filesOf(input)) : texts.join("\n")
}

/**
 * An input with files, as a request has it.
 *
 * @category constructors
 */
export const withFiles = (text: string, files: ReadonlyArray<File>): AgentRequest["input"] =>
  files.length === 0 ? text : [...(text === namesOf(files) ? [] : [{ type: "text" as const, text }]), ...files]

/** Why an input is none. */
const problemOf = ({ input, sessionId }: AgentRequest): string | undefined => {
  if (typeof input === "string") return undefined
  if (!Array.isArray(input) || !input.every(isPart)) return "The input is neither text nor a list of texts and files"
  if (input.length === 0) return "The input has no parts"
  const references = filesOf(input).filter((file) => !isResolved(file))
  if (!references.every(({ data }) => Predicate.hasProperty(data, "hash")))
    return "A file of the input has neither bytes nor a URL"
  return references.length > 0 && sessionId === undefined
    ? "The input refers to a file of a session, and the request has none"
    : undefined
}

const decodeSessionId = Schema.decodeUnknownEither(SessionId)
export const decodeRunId = Schema.decodeUnknownEither(RunId)
/** Ids that are valid without a check by their schema. */
const plainId = /^[0-9A-Za-z_-]{1,256}$/
/** A generated id as that of a run. */
export const toRunId = (id: string): RunId => (plainId.test(id) ? (id as RunId) : RunId.make(id))
const decodeUserId = Schema.decodeUnknownEither(UserId)
const validateSettings = ParseResult.validateEither(ModelSettings.ModelSettings, { errors: "all" })

const issuesOf = (issue: ParseResult.ParseIssue): string =>
  ParseResult.ArrayFormatter.formatIssueSync(issue)
    .map((one) => `${one.path.join(".")}: ${one.message}`)
    .join("; ")

/** The name of a limit that would never be reached, or always. */
const unusableLimit = (limits: Agent.RunLimits): string | undefined =>
  Object.entries(limits).find(
    ([name, limit]) => name.startsWith("max") && limit !== undefined && !(typeof limit === "number" && limit >= 0)
  )?.[0]

const misconfigured = (agentName: string, message: string, hint?: string) =>
  new AgentConfigurationError({ agentName, message, ...(hint === undefined ? {} : { hint }) })

export interface Prepared {
  readonly strategy: Strategy<unknown, unknown>
  readonly sessionId: SessionId | undefined
  readonly userId: UserId | undefined
  readonly tenantId: string | undefined
  readonly settings: ModelSettings.ModelSettings
}

export type SettingsOf = (
  definition: Agent.Definition,
  given: ModelSettings.ModelSettings | undefined,
  config: AgentConfig.AgentConfig
) => Either.Either<ModelSettings.ModelSettings, string>

/** The settings of a request over those of its agent, over the defaults. */
export const settingsOf = (
  definition: Agent.Definition,
  given: ModelSettings.ModelSettings | undefined,
  config: AgentConfig.AgentConfig
): ModelSettings.ModelSettings => {
  const own = ModelSettings.merge(definition.settings, given)
  // Reasoning is a part of the answer that `maxTokens` bounds: the default leaves it room.
  const maxTokens = config.defaultMaxTokens + ModelSettings.reasoningRoom(own)
  return ModelSettings.merge({ temperature: config.defaultTemperature, maxTokens }, own)
}

/** Checks the settings of a run; those of an agent without request settings once per agent. */
export const makeSettings = (): SettingsOf => {
  const known = new WeakMap<Agent.Definition, Either.Either<ModelSettings.ModelSettings, string>>()
  const make: SettingsOf = (definition, given, config) => {
    const settings = settingsOf(definition, given, config)
    const limit = unusableLimit(definition.limits)
    if (limit !== undefined) return Either.left(`The limit \`${limit}\` is not valid: it must be a number from 0`)
    const valid = validateSettings(settings)
    return Either.isLeft(valid)
      ? Either.left(`The model settings are not valid: ${issuesOf(valid.left)}`)
      : Either.right(settings)
  }
  return (definition, given, config) => {
    if (given !== undefined) return make(definition, given, config)
    let made = known.get(definition)
    if (made === undefined) {
      made = make(definition, given, config)
      known.set(definition, made)
    }
    return made
  }
}

const defaultStrategy: StrategyRegistry.Named = { _tag: "Named", name: "react", options: {} }

/** The registry makes a strategy once per options object. */
const noOptions: StrategyRegistry.Options = {}

/** What a definition has for its strategy where the policy of the run names one. */
export const chosenOf = (
  { strategy = defaultStrategy }: Agent.Definition,
  policy: RunPolicy | undefined
): NonNullable<Agent.Definition["strategy"]> => {
  const name = policy?.strategy
  return name === undefined || name === strategy.name
    ? strategy
    : { _tag: "Named", name: String(name), options: noOptions }
}

/** The strategy of an agent under the policy of the run, or why there is none. */
export const strategyOf = (
  definition: Agent.Definition,
  strategies: StrategyRegistry.Service,
  policy: RunPolicy | undefined
): Effect.Effect<Either.Either<Strategy<unknown, unknown>, string>> => {
  const strategy = chosenOf(definition, policy)
  return "_tag" in strategy ? Effect.either(strategies.resolve(strategy)) : Effect.succeed(Either.right(strategy))
}

/** What a run needs before it begins, or why it cannot begin. */
export const prepare = (
  agent: Agent.Any,
  request: AgentRequest,
  config: Either.Either<AgentConfig.AgentConfig, string>,
  strategy: Either.Either<Strategy<unknown, unknown>, string>,
  settings: SettingsOf
): Either.Either<Prepared, AgentConfigurationError> => {
  const { definition, name } = agent
  if (Either.isLeft(config))
    return Either.left(misconfigured(name, `The configuration of agents is not valid: ${config.left}`))
  if (!config.right.enabled) {
    return Either.left(misconfigured(name, "Agents are disabled", `Set ${AgentConfig.ENV_PREFIX}ENABLED to true`))
  }
  if (name.trim() === "") return Either.left(misconfigured(name, "The agent has an empty name"))
  const problem = definition.tools.problems[0]
  if (problem !== undefined) {
    return Either.left(
      new AgentConfigurationError({
        agentName: name,
        message: problem.message,
        cause: problem,
        ...(problem.hint === undefined ? {} : { hint: problem.hint })
      })
    )
  }
  if (definition.output?.problem !== undefined)
    return Either.left(misconfigured(name, `The agent cannot run: ${definition.output.problem}`))
  const unready = problemOf(request)
  if (unready !== undefined) {
    return Either.left(
      misconfigured(
        name,
        unready,
        "Make files with `Content`; a reference needs the session that has the file, else replace it by `Content.resolve`"
      )
    )
  }
  const made = settings(definition, request.settings, config.right)
  if (Either.isLeft(made)) return Either.left(misconfigured(name, made.left))
  if (Either.isLeft(strategy)) return Either.left(misconfigured(name, strategy.left))
  const sessionId = request.sessionId === undefined ? undefined : decodeSessionId(request.sessionId)
  const userId = request.userId === undefined ? undefined : decodeUserId(request.userId)
  const runId = request.runId === undefined ? undefined : decodeRunId(request.runId)
  const tenantId = request.tenantId === undefined ? undefined : decodeUserId(request.tenantId)
  const ids: ReadonlyArray<Either.Either<string, unknown> | undefined> = [sessionId, userId, tenantId, runId]
  if (ids.some((id) => id !== undefined && Either.isLeft(id))) {
    return Either.left(
      misconfigured(
        name,
        "The session id, user id, tenant id or run id is not valid",
        "Ids have 1 to 256 characters and no control characters"
      )
    )
  }
  return Either.right({
    strategy: strategy.right,
    settings: made.right,
    sessionId: sessionId === undefined ? undefined : Either.getOrUndefined(sessionId),
    userId: userId === undefined ? undefined : Either.getOrUndefined(userId),
    tenantId: tenantId === undefined ? undefined : Either.getOrUndefined(tenantId)
  })
}

/**
 * The handlers of tools and skills.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import * as PublicView from "../../domain/PublicView.js"
import { ApiError } from "../../http/api/ApiError.js"
import { Caller } from "../../http/api/Authentication.js"
import * as Refusals from "../../http/api/Refusals.js"
import type { SkillDefinition } from "../../skill/definition/SkillDefinition.js"
import type { LoadedSkill } from "../../skill/definition/SkillFile.js"
import * as SkillExecutor from "../../skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../../skill/execute/SkillRegistry.js"
import * as SkillTool from "../../skill/execute/SkillTool.js"
import * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import * as SecretParams from "../../tool/definition/SecretParams.js"
import type * as Tool from "../../tool/definition/Tool.js"
import { predicateOf } from "../../tool/definition/ToolCombinators.js"
import * as ToolRegistry from "../../tool/ToolRegistry.js"
import type * as ToolSource from "../../tool/ToolSource.js"
import { StudioApi } from "../api/StudioApi.js"
import type { SkillInfo, ToolInfo } from "../api/StudioToolApi.js"
import * as ShownValue from "./ShownValue.js"
import * as ToolTrial from "./ToolTrial.js"

/** A tool and the agents that have it. */
interface Placed {
  readonly tool: Tool.Any
  readonly agents: ReadonlyArray<Agent.Any>
  readonly source: ToolInfo["source"]
  readonly from?: string
}

/** A tool source that did not answer, and the agents that have it. */
interface Failed {
  readonly source: string
  readonly agents: ReadonlyArray<Agent.Any>
  readonly error: ErrorInfo
}

/** Those of one source, or why there are none. */
const answerOf = (
  { maxTools, name, tools }: ToolSource.Source,
  agents: ReadonlyArray<Agent.Any>,
  services: Context.Context<never>
): Effect.Effect<Either.Either<ReadonlyArray<Placed>, Failed>> =>
  Effect.map(
    Effect.sandbox(Effect.provide(tools as Effect.Effect<ReadonlyArray<Tool.Any>, unknown>, services)),
    (found) => found.slice(0, maxTools).map((tool): Placed => ({ tool, agents, source: "source", from: name }))
  ).pipe(
    Effect.mapError(
      (cause): Failed => ({
        source: name,
        agents,
        error: PublicView.fromError(errorInfo(Cause.squash(cause)), { developer: true })
      })
    ),
    Effect.either
  )

/** What the tool sources of agents have now; each is asked once. */
const ofSources = (agents: ReadonlyArray<Agent.Any>, services: Context.Context<never>) => {
  const holders = new Map<ToolSource.Source, Array<Agent.Any>>()
  for (const agent of agents) {
    for (const source of agent.definition.control.toolSources) {
      holders.set(source, [...(holders.get(source) ?? []), agent])
    }
  }
  return Effect.map(
    Effect.forEach(holders, ([source, all]) => answerOf(source, all, services), { concurrency: 8 }),
    (answers) => ({
      placed: answers.flatMap((answer) => (Either.isRight(answer) ? answer.right : [])),
      failed: answers.flatMap((answer) => (Either.isLeft(answer) ? [answer.left] : []))
    })
  )
}

const ofAgents = (agents: ReadonlyArray<Agent.Any>): ReadonlyArray<Placed> => {
  const holders = new Map<Tool.Any, Array<Agent.Any>>()
  for (const agent of agents) {
    for (const tool of agent.definition.tools.tools) holders.set(tool, [...(holders.get(tool) ?? []), agent])
  }
  return Array.from(holders, ([tool, agents]) => ({ tool, agents, source: "agent" }))
}

const always = predicateOf(true)
const never = predicateOf(false)

const approvalOf = ({ erased: { requiresApproval } }: Tool.Any): ToolInfo["approval"] =>
  requiresApproval === never ? "never" : requiresApproval === always ? "always" : "depends"

const fromTool = ({ agents, from, source, tool }: Placed): ToolInfo => {
  const { idempotent, owner, readOnly, retries, timeout } = tool.annotations
  const timeoutMs = timeout === undefined ? undefined : Duration.toMillis(timeout)
  return {
    name: tool.name,
    description: ShownValue.text(tool.description),
    parameters: ShownValue.attributes(tool.parameters),
    agents: agents.map(({ name }) => name),
    source,
    ...(from === undefined ? {} : { from }),
    ...(owner === undefined ? {} : { owner }),
    approval: approvalOf(tool),
    secret: SecretParams.namesOf(tool) ?? [],
    readOnly: readOnly === true,
    idempotent: idempotent === true,
    ...(timeoutMs === undefined || !Number.isFinite(timeoutMs) ? {} : { timeoutMs }),
    ...(retries === undefined ? {} : { retries }),
    isClient: tool.erased.isClient === true,
    ...(tool.problem === undefined ? {} : { problem: ShownValue.text(tool.problem.message) })
  }
}

const fromCode = (skill: SkillDefinition): SkillInfo => ({
  kind: "code",
  name: skill.name,
  description: ShownValue.text(skill.description),
  parameters: ShownValue.attributes(skill.parametersSchema),
  returns: ShownValue.attributes(skill.returnsSchema),
  category: skill.category,
  permissions: skill.permissions,
  requiresConfirmation: skill.requiresConfirmation,
  cacheable: skill.cacheable,
  idempotent: skill.idempotent,
  ...(skill.timeoutSeconds === undefined ? {} : { timeoutSeconds: skill.timeoutSeconds }),
  ...(skill.maxRetries === undefined ? {} : { maxRetries: skill.maxRetries })
})

const MOST_FILES = 200
const MOST_INSTRUCTIONS = 4000

const fromFolder = ({ directory, file, files, hash, warnings }: LoadedSkill): SkillInfo => ({
  kind: "folder",
  name: file.name,
  description: ShownValue.text(file.description),
  ...(file.license === undefined ? {} : { license: ShownValue.text(file.license) }),
  ...(file.compatibility === undefined ? {} : { compatibility: ShownValue.text(file.compatibility) }),
  ...(file.allowedTools === undefined
    ? {}
    : {
        allowedTools: file.allowedTools.map(({ name, pattern }) =>
          pattern === undefined ? name : `${name}(${pattern})`
        )
      }),
  directory,
  hash,
  files: files.slice(0, MOST_FILES),
  warnings: warnings.map((warning) => ShownValue.text(warning)),
  instructions: ShownValue.text(file.body, MOST_INSTRUCTIONS)
})

const unknown = new ApiError({
  reason: "unknown",
  message: "No tool of the agents or of the registry has this name",
  hint: "The list of tools has the names, and the agents that have them"
})

const unknownSkill = new ApiError({
  reason: "unknown",
  message: "No skill of the registry has this name, or no agent has that one",
  hint: "The list of skills has the names; those of folders are activated by models"
})

const HOW = "add `Skills.layer()` to its layers"

const ofCaller = new ApiError({
  reason: "conflict",
  message: "The caller of a run executes this tool, so that it cannot be tried here",
  hint: "Start a run in the playground"
})

const LONGEST = Duration.minutes(1)

/** The tool of a name, and the agent in whose place it is called. */
const find = (all: ReadonlyArray<Placed>, name: string, agent: string | undefined) => {
  for (const { agents, tool } of all) {
    const found = agents.find((one) => agent === undefined || one.name === agent)
    if (tool.name === name && found !== undefined) return { tool, agent: found }
  }
  return undefined
}

/**
 * @category layers
 */
export const layer = (agents: ReadonlyArray<Agent.Any>) =>
  HttpApiBuilder.group(StudioApi, "tools", (handlers) =>
    Effect.gen(function* () {
      const executor = yield* AgentExecutor.AgentExecutor
      const registry = yield* Effect.serviceOption(ToolRegistry.ToolRegistry)
      const skills = yield* Effect.serviceOption(SkillRegistry.SkillRegistry)
      const skillExecutors = yield* Effect.serviceOption(SkillExecutor.SkillExecutor)
      const catalog = yield* Effect.serviceOption(SkillCatalog.SkillCatalog)
      // Handlers of tools find the services of the server.
      const services = yield* Effect.context<never>()
      const own = ofAgents(agents)
      const tools = Effect.gen(function* () {
        const sources = yield* ofSources(agents, services)
        const registered = Option.isSome(registry) ? yield* registry.value.list : []
        const all: ReadonlyArray<Placed> = [
          ...own,
          ...sources.placed,
          ...registered.map((tool) => ({ tool, agents, source: "registry" as const }))
        ]
        return { all, failed: sources.failed }
      })
      return handlers
        .handle("listTools", () =>
          Effect.map(tools, ({ all, failed }) => ({
            tools: all.map(fromTool),
            failed: failed.map(({ agents, ...one }) => ({ ...one, agents: agents.map(({ name }) => name) }))
          }))
        )
        .handle("listSkillDefinitions", () =>
          Effect.gen(function* () {
            const code = Option.isSome(skills) ? yield* skills.value.list() : []
            const folders = Option.isSome(catalog) ? yield* catalog.value.skills : []
            return { skills: [...code.map(fromCode), ...folders.map(fromFolder)] }
          })
        )
        .handle("tryTool", ({ path, payload: { agent, confirm = false, params } }) =>
          Effect.gen(function* () {
            const found = find((yield* tools).all, path.name, agent)
            if (found === undefined) return yield* unknown
            if (found.tool.erased.isClient === true) return yield* ofCaller
            const caller = yield* Caller
            return yield* ToolTrial.run(executor, services, { ...found, params, caller, confirm, within: LONGEST })
          })
        )
        .handle("trySkill", ({ path, payload: { agent, confirm = false, params } }) =>
          Effect.gen(function* () {
            const registered = yield* Refusals.offered(skills, `skills: ${HOW}`)
            const skillExecutor = yield* Refusals.offered(skillExecutors, `skills that can be executed: ${HOW}`)
            const skill = yield* registered.get(path.name)
            const holder = agents.find(({ name }) => agent === undefined || name === agent)
            if (Option.isNone(skill) || holder === undefined) return yield* unknownSkill
            const tool = SkillTool.fromRegistry(skill.value, skillExecutor)
            const caller = yield* Caller
            const call = { agent: holder, tool, params, caller, confirm, within: LONGEST }
            return yield* ToolTrial.run(executor, services, call)
          })
        )
    })
  )

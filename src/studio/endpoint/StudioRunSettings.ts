/**
 * The settings of the model calls of a run, from its agent and from what its request asked for.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import type { AgentConfig } from "../../agent/definition/AgentConfig.js"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import * as RunPolicies from "../../agent/RunPolicies.js"
import * as RunPreparation from "../../agent/RunPreparation.js"
import type { RunPolicy } from "../../agent/record/RunPolicy.js"
import type { Asked } from "../../agent/record/RunRecord.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { RunSettings } from "../api/StudioRunApi.js"
import * as ShownValue from "./ShownValue.js"
import * as StudioAgents from "./StudioAgents.js"

const defaultLimits = (config: AgentConfig): Agent.RunLimits => ({
  maxIterations: config.maxIterations,
  maxCallsPerTurn: config.maxCallsPerTurn,
  llmTimeout: config.llmTimeout,
  toolTimeout: config.toolTimeout,
  ...(config.runTimeout === undefined ? {} : { timeout: config.runTimeout }),
  ...(config.maxRunTokens === undefined ? {} : { maxTokens: config.maxRunTokens })
})

/** The settings of each role that has its own. Guards keep theirs under a policy that chooses the model. */
const rolesOf = (
  { router }: AgentExecutor.Choices,
  base: ModelSettings.ModelSettings,
  { model: chosen }: RunPolicy
): Effect.Effect<RunSettings["roles"]> =>
  Effect.forEach(router.configured ?? [], (role) =>
    Effect.map(router.resolve(chosen === undefined || role === "guard" ? role : chosen), ({ settings }) => ({
      role,
      settings: ShownValue.attributes(ModelSettings.merge(base, settings))
    }))
  )

const toolChoiceOf = (
  { control: { toolChoice } }: Agent.Definition,
  { toolChoice: asked }: Asked
): RunSettings["toolChoice"] =>
  asked === undefined || asked === "auto" ? toolChoice : { choice: asked, on: asked === "none" ? "every" : "first" }

/**
 * Of an agent that the server does not have, what the request asked for alone.
 *
 * @category conversions
 */
export const make = (
  name: string,
  agent: Agent.Any | undefined,
  asked: Asked | undefined,
  choices: AgentExecutor.Choices | undefined
): Effect.Effect<RunSettings> =>
  Effect.gen(function* () {
    const { policy = {}, settings: given } = asked ?? {}
    const about = { agent: name, fallback: policy.fallback ?? [], ...(asked === undefined ? {} : { asked }) }
    const limits = policy.limits === undefined ? {} : RunPolicies.limitsOf(policy.limits)
    if (agent === undefined) {
      return {
        ...about,
        settings: ShownValue.attributes({ ...given }),
        roles: [],
        limits: StudioAgents.limitsOf(limits),
        ...(policy.model === undefined ? {} : { role: policy.model })
      }
    }
    const { definition } = agent
    const role = policy.model ?? definition.role
    const settings =
      choices === undefined
        ? ModelSettings.merge(definition.settings, given)
        : RunPreparation.settingsOf(definition, given, choices.config)
    const toolChoice = toolChoiceOf(definition, asked ?? {})
    return {
      ...about,
      settings: ShownValue.attributes({ ...settings }),
      roles: choices === undefined ? [] : yield* rolesOf(choices, settings, policy),
      limits: StudioAgents.limitsOf({
        ...(choices === undefined ? {} : defaultLimits(choices.config)),
        ...definition.limits,
        ...limits
      }),
      system: ShownValue.text(definition.system),
      ...(role === undefined ? {} : { role }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
      ...(choices === undefined ? {} : { sessionTurns: choices.config.sessionTurns })
    }
  })

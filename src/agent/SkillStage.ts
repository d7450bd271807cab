/**
 * Puts skills beside the agent's tools.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ToolDefinition } from "../llm/LlmClient.js"
import type { SkillContext } from "../skill/Skill.js"
import type { SkillResult } from "../skill/SkillDefinition.js"
import { SkillExecutionError } from "../skill/SkillError.js"
import * as Tool from "../tool/Tool.js"
import type { ToolDefinitionError } from "../tool/ToolError.js"
import * as ToolSet from "../tool/ToolSet.js"
import { degrade, type Stage, type State } from "./Stage.js"

/**
 * Whom a skill is executed for: what its permissions are checked against.
 *
 * @since 0.1.0
 * @category tags
 */
export class SkillCaller extends Context.Reference<SkillCaller>()("effect-lexigram/agent/SkillStage/SkillCaller", {
  defaultValue: (): SkillContext => ({})
}) {}

/** Time and further attempts are the skill executor's: the tool around it adds none of its own. */
const toTool = (state: State, definition: ToolDefinition): Effect.Effect<Tool.Any, ToolDefinitionError> => {
  const { skillExecutor, skills, skillTools } = state.uses
  const known = skillTools.get(definition)
  if (known !== undefined) return Effect.succeed(known)
  return Effect.flatMap(skills.get(definition.name), (skill) => {
    const made = Tool.fromJsonSchema(definition.name, {
      description: definition.description,
      parameters: definition.parameters,
      requiresApproval: Option.isSome(skill) && skill.value.definition.requiresConfirmation,
      timeout: Duration.infinity,
      retries: 0,
      handler: (params) =>
        Effect.flatMap(SkillCaller, (caller) =>
          Effect.flatMap(skillExecutor.execute({ name: definition.name, params, ...caller }), resultOf)
        )
    })
    return Either.map(made, (tool): Tool.Any => {
      skillTools.set(definition, tool)
      return tool
    })
  })
}

const resultOf = (result: SkillResult): Effect.Effect<unknown, SkillExecutionError> =>
  result.success
    ? Effect.succeed(result.output)
    : Effect.fail(
        new SkillExecutionError({
          skillName: result.skillName,
          message: result.error ?? `The skill "${result.skillName}" did not succeed`
        })
      )

/**
 * A skill of a tool's name gives way to the tool; one whose schema does not compile is passed over. Both are visible as events.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "skills",
  wrap: (state, next) =>
    Effect.flatMap(state.uses.skills.schemas(), (schemas) => {
      if (schemas.length === 0) return next(state)
      return Effect.flatMap(
        Effect.forEach(schemas, (definition) => {
          const tool: Effect.Effect<Tool.Any, unknown> =
            state.tools.get(definition.name) === undefined
              ? toTool(state, definition)
              : Either.left({ _tag: "SkillShadowed", message: `The skill "${definition.name}" has the name of a tool` })
          return degrade(tool, { state, stage: "skills", orElse: undefined })
        }),
        (tools) => {
          const added = tools.filter((tool): tool is Tool.Any => tool !== undefined)
          const set = ToolSet.make(...state.tools.tools, ...added)
          return Effect.provideService(
            next({ ...state, tools: { ...set, provide: state.tools.provide } }),
            SkillCaller,
            {
              ...(state.userId === undefined ? {} : { userId: state.userId }),
              ...(state.sessionId === undefined ? {} : { sessionId: state.sessionId })
            }
          )
        }
      )
    })
}

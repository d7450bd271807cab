/**
 * Puts skills beside the agent's tools.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ToolDefinition } from "../llm/LlmClient.js"
import { SkillNotFoundError, type SkillValidationError } from "../skill/SkillError.js"
import * as SkillTool from "../skill/SkillTool.js"
import type * as Tool from "../tool/Tool.js"
import * as ToolSet from "../tool/ToolSet.js"
import { degrade, type Stage, type State } from "./Stage.js"

const toTool = (
  state: State,
  definition: ToolDefinition
): Effect.Effect<Tool.Any, SkillNotFoundError | SkillValidationError> => {
  const { skillExecutor, skills, skillTools } = state.uses
  const known = skillTools.get(definition)
  if (known !== undefined) return Effect.succeed(known)
  return Effect.flatMap(
    skills.get(definition.name),
    Option.match({
      onNone: (): Effect.Effect<Tool.Any, SkillNotFoundError | SkillValidationError> =>
        Effect.fail(
          new SkillNotFoundError({
            skillName: definition.name,
            message: `The skill "${definition.name}" is listed but cannot be found`
          })
        ),
      onSome: (skill): Effect.Effect<Tool.Any, SkillValidationError> =>
        Effect.suspend(() => {
          if (skill.problem !== undefined) return Effect.fail(skill.problem)
          const tool = SkillTool.registered(skill, skillExecutor)
          skillTools.set(definition, tool)
          return Effect.succeed(tool)
        })
    })
  )
}

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
          return next({ ...state, tools: { ...set, provide: state.tools.provide } })
        }
      )
    })
}

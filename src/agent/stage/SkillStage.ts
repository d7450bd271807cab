/**
 * Puts skills beside the agent's tools.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ToolDefinition } from "../../llm/model/LlmClient.js"
import { FOLDER_CATEGORY } from "../../skill/definition/SkillDefinition.js"
import { SkillNotFoundError, type SkillValidationError } from "../../skill/definition/SkillError.js"
import * as SkillTool from "../../skill/execute/SkillTool.js"
import * as ActiveSkills from "../../skill/folder/ActiveSkills.js"
import type { Listing } from "../../skill/folder/SkillListing.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import type * as Tool from "../../tool/definition/Tool.js"
import * as ToolRunner from "../../tool/ToolRunner.js"
import { degrade, type Stage, type State } from "../definition/Stage.js"
import * as SkillChoice from "./SkillChoice.js"
import { withTools } from "./ToolStage.js"

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

/** The skills of the registry as tools; `hidden` are told of in another way. */
const registered = (
  state: State,
  { only }: SkillChoice.Chosen,
  hidden: ReadonlySet<string>
): Effect.Effect<ReadonlyArray<Tool.Any>> =>
  Effect.flatMap(state.uses.skills.schemas(), (all) => {
    const schemas = only === undefined ? all : all.filter(only)
    if (schemas.length === 0) return Effect.succeed([])
    return Effect.map(
      Effect.forEach(schemas, (definition) => {
        if (hidden.has(definition.name)) return Effect.succeed(undefined)
        const tool: Effect.Effect<Tool.Any, unknown> =
          state.tools.get(definition.name) === undefined
            ? toTool(state, definition)
            : shadowed(`The skill "${definition.name}" has the name of a tool`)
        return degrade(tool, { state, stage: "skills", orElse: undefined })
      }),
      (tools) => tools.filter((tool): tool is Tool.Any => tool !== undefined)
    )
  })

/** A name that was chosen and that no skill has. */
const missing = (state: State, { catalog, names }: SkillChoice.Chosen): Effect.Effect<void> =>
  names.length === 0
    ? Effect.void
    : Effect.flatMap(Effect.zip(state.uses.skills.schemas(), catalog.skills), ([schemas, folders]) => {
        const known = new Set([...schemas.map(({ name }) => name), ...folders.map(({ file }) => file.name)])
        return Effect.forEach(
          names.filter((name) => !known.has(name)),
          (name) => {
            const error = new SkillNotFoundError({
              skillName: name,
              message: `The agent is to be shown the skill "${name}", and there is none`
            })
            return degrade(Either.left(error), { state, stage: "skills", orElse: undefined })
          },
          { discard: true }
        )
      })

const shadowed = (message: string) => Either.left({ _tag: "SkillShadowed", message })

/**
 * Names of registered skills that the catalogue tells of, each in one line: a tool for each of them would tell of it
 * twice.
 */
const inCatalog = (state: State, names: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(state.uses.skills.list({ category: FOLDER_CATEGORY }), (definitions) => {
    const known = new Set(names)
    return new Set(definitions.map(({ name }) => name).filter((name) => known.has(name)))
  })

/**
 * Skills that are folders: their names and descriptions come as a message of the user's, what they say as results of
 * tools, and the tools they allow hold from their activation on.
 */
const disclosed = <E, R>(
  state: State,
  chosen: SkillChoice.Chosen,
  listing: Listing,
  next: (state: State) => Effect.Effect<Answer, E, R>
): Effect.Effect<Answer, E, R> => {
  const { activate, all: always, search } = chosen.tools
  const all = listing.omitted.length === 0 ? always : [...always, search]
  const taken = all.find(({ name }) => state.tools.get(name) !== undefined)
  if (taken !== undefined) {
    const passed = degrade(shadowed(`The tool "${taken.name}" for skills has the name of a tool of the agent's`), {
      state,
      stage: "skills",
      orElse: undefined
    })
    return Effect.zipRight(passed, plain(state, chosen, next))
  }
  return Effect.flatMap(inCatalog(state, [...listing.names, ...listing.omitted]), (hidden) =>
    Effect.flatMap(registered(state, chosen, hidden), (added) =>
      Effect.flatMap(ActiveSkills.make, (active) => {
        const told = withTools(state, [...all, ...added])
        const interceptor = ActiveSkills.interceptor(active, {
          tools: told.tools,
          skillTools: all,
          activating: activate
        })
        return Effect.mapInputContext(
          next({ ...told, history: [{ role: "user", content: listing.text }, ...state.history] }),
          (current: Context.Context<R>) =>
            Context.add(current, ActiveSkills.ActiveSkills, active).pipe(
              // Outermost of the run's own: calls are judged in the order in which they begin.
              Context.add(ToolRunner.ToolInterceptors, [
                ...Context.get(current as Context.Context<any>, ToolRunner.ToolInterceptors),
                interceptor
              ])
            )
        )
      })
    )
  )
}

const none: ReadonlySet<string> = new Set()

const plain = <E, R>(
  state: State,
  chosen: SkillChoice.Chosen,
  next: (state: State) => Effect.Effect<Answer, E, R>
): Effect.Effect<Answer, E, R> =>
  Effect.flatMap(registered(state, chosen, none), (added) => next(withTools(state, added)))

/**
 * The skills that the agent is shown (`Agent.Skills`). A skill of a tool's name gives way to the tool; one whose schema
 * does not compile is passed over, and so is a chosen name that no skill has. All of that is visible as events.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "skills",
  wrap: (state, next) => {
    const chosen = SkillChoice.of(state)
    const shown = Effect.flatMap(chosen.catalog.listing(), (listing) =>
      listing.text === "" ? plain(state, chosen, next) : disclosed(state, chosen, listing, next)
    )
    return chosen.names.length === 0 ? shown : Effect.zipRight(missing(state, chosen), shown)
  }
}

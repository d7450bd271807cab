/**
 * Adds the skills of the executor to a run: registered skills as tools, folders as a listing with tools to activate
 * them.
 *
 * @private
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
import * as CatalogTools from "../../skill/folder/CatalogTools.js"
import * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import type { Listing } from "../../skill/folder/SkillListing.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import type * as Tool from "../../tool/definition/Tool.js"
import * as ToolRunner from "../../tool/ToolRunner.js"
import type * as Agent from "../definition/AgentDefinition.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { degrade, type State } from "../definition/Stage.js"
import { withTools } from "./ToolStage.js"

/** The skills that one agent sees. */
interface Chosen {
  readonly only: SkillCatalog.Choice | undefined
  readonly catalog: SkillCatalog.Service
  readonly tools: CatalogTools.CatalogTools
  /** The names that the agent gave. */
  readonly names: ReadonlyArray<string>
}

type Choosing = Exclude<Agent.Skills, "all">

const choices = new WeakMap<SkillCatalog.Service, WeakMap<object, Chosen>>()

const all = {}

const choose = (skills: Choosing, catalog: SkillCatalog.Service): Chosen => {
  const names = typeof skills === "function" ? [] : skills
  const set = new Set(names)
  const only: SkillCatalog.Choice = typeof skills === "function" ? skills : ({ name }) => set.has(name)
  const filtered = SkillCatalog.filtered(catalog, only)
  return { only, catalog: filtered, tools: CatalogTools.make(filtered), names }
}

/** Created once per catalog and choice; a choice is a value of the agent's definition. */
const chosenOf = ({ agent, uses: { catalog } }: State): Chosen => {
  const { skills } = agent.definition
  let known = choices.get(catalog)
  if (known === undefined) {
    known = new WeakMap()
    choices.set(catalog, known)
  }
  const key = skills === "all" ? all : skills
  let chosen = known.get(key)
  if (chosen === undefined) {
    chosen =
      skills === "all"
        ? { only: undefined, catalog, tools: CatalogTools.make(catalog), names: [] }
        : choose(skills, catalog)
    known.set(key, chosen)
  }
  return chosen
}

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
          const tool = SkillTool.fromRegistry(skill, skillExecutor)
          skillTools.set(definition, tool)
          return Effect.succeed(tool)
        })
    })
  )
}

/** The skills of the registry as tools, without `hidden` ones that the listing has. */
const registryTools = (
  state: State,
  { only }: Chosen,
  hidden: ReadonlySet<string>
): Effect.Effect<ReadonlyArray<Tool.Any>> =>
  RecordedStages.tools(
    Effect.flatMap(state.uses.skills.schemas(), (all) => {
      const schemas = only === undefined ? all : all.filter(only)
      if (schemas.length === 0) return Effect.succeed([])
      return Effect.map(
        Effect.forEach(schemas, (definition) => {
          if (hidden.has(definition.name)) return Effect.succeed(undefined)
          const tool: Effect.Effect<Tool.Any, unknown> =
            state.tools.get(definition.name) === undefined
              ? toTool(state, definition)
              : shadowed(`The skill "${definition.name}" has the same name as a tool`)
          return degrade(tool, { state, stage: "skills", orElse: undefined })
        }),
        (tools) => tools.filter((tool): tool is Tool.Any => tool !== undefined)
      )
    })
  )

/** Reports chosen names without a skill. */
const missing = (state: State, { catalog, names }: Chosen): Effect.Effect<void> =>
  names.length === 0
    ? Effect.void
    : Effect.flatMap(Effect.zip(state.uses.skills.schemas(), catalog.skills), ([schemas, folders]) => {
        const known = new Set([...schemas.map(({ name }) => name), ...folders.map(({ file }) => file.name)])
        return Effect.forEach(
          names.filter((name) => !known.has(name)),
          (name) => {
            const error = new SkillNotFoundError({
              skillName: name,
              message: `The agent names the skill "${name}", which does not exist`
            })
            return degrade(Either.left(error), { state, stage: "skills", orElse: undefined })
          },
          { discard: true }
        )
      })

const shadowed = (message: string) => Either.left({ _tag: "SkillShadowed", message })

/**
 * Names of registered skills that the catalog lists, each in one line. A tool for each would list it twice.
 */
const inCatalog = (state: State, names: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(state.uses.skills.list({ category: FOLDER_CATEGORY }), (definitions) => {
    const known = new Set(names)
    return new Set(definitions.map(({ name }) => name).filter((name) => known.has(name)))
  })

/**
 * Skills in folders: a user message lists their names and descriptions, tools return their contents, and the tools they
 * allow are available once they are activated.
 */
const disclosed = <E, R>(
  state: State,
  chosen: Chosen,
  listing: Listing,
  next: (state: State) => Effect.Effect<Answer, E, R>
): Effect.Effect<Answer, E, R> => {
  const { activate, all: always, search } = chosen.tools
  const all = listing.omitted.length === 0 ? always : [...always, search]
  const taken = all.find(({ name }) => state.tools.get(name) !== undefined)
  if (taken !== undefined) {
    const passed = degrade(shadowed(`The skill tool "${taken.name}" has the same name as a tool of the agent`), {
      state,
      stage: "skills",
      orElse: undefined
    })
    return Effect.zipRight(passed, plain(state, chosen, next))
  }
  return Effect.flatMap(inCatalog(state, [...listing.names, ...listing.omitted]), (hidden) =>
    Effect.flatMap(registryTools(state, chosen, hidden), (added) =>
      Effect.flatMap(ActiveSkills.make, (active) => {
        const extended = withTools(state, [...all, ...added])
        const interceptor = ActiveSkills.interceptor(active, {
          tools: extended.tools,
          skillTools: all,
          activating: activate
        })
        return Effect.mapInputContext(
          next({ ...extended, history: [{ role: "user", content: listing.text }, ...state.history] }),
          (current: Context.Context<R>) =>
            Context.add(current, ActiveSkills.ActiveSkills, active).pipe(
              // Outermost of the run's own interceptors: calls are judged in the order in which they begin.
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
  chosen: Chosen,
  next: (state: State) => Effect.Effect<Answer, E, R>
): Effect.Effect<Answer, E, R> =>
  Effect.flatMap(registryTools(state, chosen, none), (added) => next(withTools(state, added)))

/** Runs the inner stages with the skills that the agent sees. */
export const prepare = <E, R>(
  state: State,
  next: (state: State) => Effect.Effect<Answer, E, R>
): Effect.Effect<Answer, E, R> => {
  const chosen = chosenOf(state)
  const prepared = Effect.flatMap(RecordedStages.listing(chosen.catalog.listing()), (listing) =>
    listing.text === "" ? plain(state, chosen, next) : disclosed(state, chosen, listing, next)
  )
  if (chosen.names.length === 0) return prepared
  return Effect.zipRight(missing(state, chosen), prepared)
}

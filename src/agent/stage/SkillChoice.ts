/**
 * The skills of the executor as one agent is shown them.
 *
 * @internal
 * @since 0.1.0
 */
import * as CatalogTools from "../../skill/folder/CatalogTools.js"
import * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import type * as Agent from "../definition/Agent.js"
import type { Collaborators, State } from "../definition/Stage.js"

export interface Chosen {
  readonly only: SkillCatalog.Choice | undefined
  readonly catalog: SkillCatalog.Service
  readonly tools: CatalogTools.CatalogTools
  /** The names the agent gave. */
  readonly names: ReadonlyArray<string>
}

type Choosing = Exclude<Agent.Skills, "all">

const known = new WeakMap<SkillCatalog.Service, WeakMap<Choosing, Chosen>>()

const make = (skills: Choosing, { catalog }: Collaborators): Chosen => {
  const names = typeof skills === "function" ? [] : skills
  const set = new Set(names)
  const only: SkillCatalog.Choice = typeof skills === "function" ? skills : ({ name }) => set.has(name)
  const filtered = SkillCatalog.filtered(catalog, only)
  return { only, catalog: filtered, tools: CatalogTools.make(filtered), names }
}

/** Made once for each choice: it is a value of the agent's definition. */
export const of = ({ agent, uses }: State): Chosen => {
  const { skills } = agent.definition
  const { catalog, catalogTools } = uses
  if (skills === "all") return { only: undefined, catalog, tools: catalogTools, names: [] }
  let choices = known.get(catalog)
  if (choices === undefined) {
    choices = new WeakMap()
    known.set(catalog, choices)
  }
  let chosen = choices.get(skills)
  if (chosen === undefined) {
    chosen = make(skills, uses)
    choices.set(skills, chosen)
  }
  return chosen
}

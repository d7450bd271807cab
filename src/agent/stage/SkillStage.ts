/**
 * Adds skills to the agent's tools.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as SkillRegistry from "../../skill/execute/SkillRegistry.js"
import * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import type { Stage, State } from "../definition/Stage.js"

const preparation = OnDemand.make(() => import("./SkillPreparation.js"))

/** An agent that names skills is told which of them are missing, even by an executor without skills. */
const mayHaveSkills = ({ agent, uses }: State): boolean =>
  uses.skills !== SkillRegistry.noop || uses.catalog !== SkillCatalog.noop || Array.isArray(agent.definition.skills)

/**
 * Shows the agent its skills (`Agent.Skills`). A tool wins over a skill of the same name; a skill whose schema does not
 * compile is skipped, and so is a chosen name that no skill has. Each of these emits a `Degraded` event.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "skills",
  wrap: (state, next) =>
    mayHaveSkills(state) ? Effect.flatMap(preparation, ({ prepare }) => prepare(state, next)) : next(state)
}

/**
 * Adds the tools of a registry to those of the agent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Tool from "../../tool/definition/Tool.js"
import * as ToolSet from "../../tool/definition/ToolSet.js"
import * as ToolRunner from "../../tool/ToolRunner.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import { degrade, type Stage, type State } from "../definition/Stage.js"

/**
 * Adds tools after the existing ones.
 *
 * @internal
 */
export const withTools = (state: State, added: ReadonlyArray<Tool.Any>): State => {
  if (added.length === 0) return state
  const set = ToolSet.make(...state.tools.tools, ...added)
  return { ...state, tools: { ...set, provide: state.tools.provide } }
}

const shadowed = (state: State, name: string): Effect.Effect<void> =>
  degrade(
    Either.left({
      _tag: "ToolShadowed",
      message: `The registry tool "${name}" has the same name as a tool of the agent`
    }),
    { state, stage: "tools", orElse: undefined }
  )

/**
 * Adds the tools that the agent's module may see when the run begins. A tool of the agent wins over one with the same
 * name, which emits a `Degraded` event.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage = {
  name: "tools",
  wrap: (state, next) => {
    const { registry } = state.uses
    if (registry === undefined) return next(state)
    const { module } = state.agent.definition
    const visible =
      module === undefined
        ? registry.listVisible
        : Effect.provideService(registry.listVisible, ToolRunner.CallerModule, module)
    return Effect.flatMap(RecordedStages.tools(visible), (tools) => {
      const taken = tools.filter(({ name }) => state.tools.get(name) !== undefined)
      const added = taken.length === 0 ? tools : tools.filter((tool) => !taken.includes(tool))
      return Effect.zipRight(
        Effect.forEach(taken, ({ name }) => shadowed(state, name), { discard: true }),
        Effect.suspend(() => next(withTools(state, added)))
      )
    })
  }
}

/**
 * Expansion of tree search: samples actions from a state and carries them out.
 *
 * @since 0.1.0
 * @private
 */

import * as Effect from "effect/Effect"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as Step from "../../observability/Step.js"
import * as LatsPrompts from "../../prompt/defaults/LatsPrompts.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Task } from "../definition/Strategy.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as LatsAction from "./LatsAction.js"
import * as LatsPath from "./LatsPath.js"
import * as LatsReply from "./LatsReply.js"
import type { Settings } from "./LatsSettings.js"
import * as LatsSettings from "./LatsSettings.js"
import type { State } from "./LatsState.js"
import * as LatsText from "./LatsText.js"
import * as SearchTree from "./SearchTree.js"

const NATIVE_FORMAT = `Call the tool that is to be tried next, and say in the text beside the call in a sentence why. If nothing is left to do, call no tool and write the final answer, whole and alone.
Asked for several actions, make as many calls in one turn: each is another way to go on, and none sees the result of another.`

/** Uses the tool's own name: the call is the same, however the model spells it. */
const withToolName = (task: Task, action: LatsAction.Action): LatsAction.Action => {
  const name = action.tool === undefined ? undefined : task.tools.get(action.tool)?.name
  return name === undefined || name === action.tool ? action : { ...action, tool: name }
}

const sample = (settings: Settings<any, any>, state: State, count: number, admit: LatsSettings.Meter["admit"]) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { task } = reasoning
    const { definitions } = task.tools
    const path = LatsPath.actionsTo(state.tree, state.current)
    const left = settings.maxDepth - path.length
    const values = {
      task: task.input,
      path: LatsText.renderPath(path),
      current_state: `${LatsText.renderState(path)}\n${left === 1 ? "One step is left: it has to be the final answer." : `Steps left: ${left}.`}`,
      tools: LatsText.renderTools(definitions),
      reflections: LatsText.renderReflections(state.reflections)
    }
    const native = settings.native && definitions.length > 0
    const { seed } = task.settings
    const ask = (index: number, wanted: number) => {
      const own: ModelSettings = {
        temperature: settings.temperature,
        // With the same seed all samples would be equal.
        ...(seed === undefined ? {} : { seed: seed + index }),
        ...(native && left > 1 ? { parallelToolCalls: wanted > 1 } : {})
      }
      const filled = { ...values, num_expansions: String(wanted) }
      const asked = native
        ? reasoning.askCalls(
            LatsPrompts.Expand,
            filled,
            { tools: left === 1 ? [] : definitions, format: NATIVE_FORMAT, read: LatsReply.readCalls },
            { admit, settings: own }
          )
        : reasoning.askFor(
            LatsPrompts.Expand,
            filled,
            LatsReply.expansionForm(definitions, ToolLoop.writtenNames(task.tools), settings.format),
            { admit, settings: own }
          )
      return Effect.map(LatsSettings.orSpent(asked), (reply) => {
        if (reply === undefined) return []
        const proposed = LatsReply.actions(reply.value)
        const isCut = reply.response.finishReason === "length"
        return proposed.slice(0, wanted).map((action, at) => ({
          action: {
            ...withToolName(task, action),
            ...(isCut && action.kind === "answer" && at === proposed.length - 1 ? { isCut } : {})
          },
          step: reply.step
        }))
      })
    }
    const asked = settings.together ? [count] : Array.from({ length: count }, () => 1)
    const samples = yield* Step.forEach(asked, (wanted, index) => ask(index, wanted), {
      concurrency: reasoning.concurrency
    })
    return LatsAction.distinct(samples.flat())
  })

export const expandNode =
  <E, R>(settings: Settings<E, R>) =>
  (state: State) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const parent = SearchTree.get(state.tree, state.current)
      const count = parent.exhausted ? 0 : LatsSettings.affordable(settings, state)
      if (count === 0) return { expanded: [], simulating: false }
      const { admit, calls } = LatsSettings.searchMeter(settings, state)
      const sampled = yield* sample(settings, state, count, admit)
      for (const { action, step } of sampled) {
        const { thought } = action
        // An answer without a thought would be published before it is judged.
        if (thought === "" && action.kind === "answer" && reasoning.run.withheld) continue
        yield* reasoning.run.emit({
          _tag: "Thought",
          step,
          text: thought === "" ? LatsAction.describe(action) : thought
        })
      }
      // A source may have added tools since the search began.
      yield* LatsPath.refuseLasting(
        settings,
        sampled.flatMap(({ action }) => {
          const tool = action.kind === "call" ? reasoning.task.tools.get(action.tool ?? "") : undefined
          return tool === undefined ? [] : [tool]
        })
      )
      const path = LatsPath.actionsTo(state.tree, parent.id)
      const carryOut = ({ action, step }: LatsAction.Sampled, index: number) =>
        action.kind === "call"
          ? Effect.map(
              Effect.zipRight(
                LatsPath.resetTo(settings, path),
                reasoning.call(
                  { id: `lats_${state.tree.size + index}`, name: action.tool ?? "", params: action.params },
                  step
                )
              ),
              ({ observation }): LatsAction.Action => ({ ...action, observation })
            )
          : Effect.succeed(action)
      const actions = yield* Step.forEach(sampled, carryOut, {
        concurrency: settings.reset === undefined ? reasoning.concurrency : 1
      })
      const children = actions.map((action, index) => ({
        terminal: action.kind === "answer" || parent.depth + 1 >= settings.maxDepth,
        data: { action, share: sampled[index]?.share ?? 0, score: null, critique: "", solved: false }
      }))
      const { ids, tree } = SearchTree.grow(state.tree, parent.id, children)
      return { tree: SearchTree.pick(tree, [parent.id, ...ids]), expanded: ids, simulating: false, modelCalls: calls() }
    })

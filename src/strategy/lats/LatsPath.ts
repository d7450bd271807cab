/**
 * Paths through the tree of a search, and the world of the tools at their end.
 *
 * @since 0.1.0
 * @private
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import * as Step from "../../observability/Step.js"
import type * as Tool from "../../tool/definition/Tool.js"
import * as Reasoning from "../definition/Reasoning.js"
import { StrategyConfigurationError } from "../definition/StrategyError.js"
import type * as LatsAction from "./LatsAction.js"
import type { Settings } from "./LatsSettings.js"
import type { Move, State } from "./LatsState.js"
import * as SearchTree from "./SearchTree.js"

/** The actions from the root to a node. */
export const actionsTo = (tree: State["tree"], id: number): ReadonlyArray<LatsAction.Action> =>
  SearchTree.path(tree, id).flatMap(({ data }) => (data.action === null ? [] : [data.action]))

/** The nodes from the root to a node. */
export const idsTo = (tree: State["tree"], id: number): ReadonlyArray<number> =>
  SearchTree.path(tree, id).map((node) => node.id)

export const isAnswer = (node: SearchTree.Node<Move>): boolean => node.data.action?.kind === "answer"

/** Brings the world of the tools to its state after these actions, if the options can. */
export const resetTo = <E, R>({ reset }: Settings<E, R>, path: ReadonlyArray<LatsAction.Action>) =>
  reset === undefined
    ? Effect.void
    : Effect.flatMap(Reasoning.Reasoning, ({ task }) =>
        Step.run(
          { kind: "reset", hash: () => CanonicalJson.stringify(path), success: Schema.Void, error: StepFailure.any },
          Effect.asVoid(reset(path, task))
        )
      )

/** Rejects tools with lasting effects, because a search calls its tools on many paths and abandons most of them. */
export const refuseLasting = (
  { reset, strategyName }: Settings<any, any>,
  tools: ReadonlyArray<Tool.Any>
): Effect.Effect<void, StrategyConfigurationError> => {
  const lasting = tools.filter(({ annotations }) => annotations.readOnly !== true && annotations.idempotent !== true)
  if (lasting.length === 0 || reset !== undefined) return Effect.void
  const names = lasting.slice(0, 20).map(({ name }) => `"${name}"`)
  if (lasting.length > names.length) names.push(`${lasting.length - names.length} more`)
  return new StrategyConfigurationError({
    strategyName,
    option: "reset",
    message: `A search repeats tool calls, and these tools are neither read-only nor idempotent: ${names.join(", ")}`,
    hint: "Set `readOnly: true` on a tool that changes nothing, or `idempotent: true` where a repeated call has no further effect; give the search tools that simulate the real ones; or give it `reset`, which undoes their effects"
  })
}

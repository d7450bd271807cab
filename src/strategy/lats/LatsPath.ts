/**
 * Paths through the tree of a search, and the world of the tools at their end.
 *
 * @since 0.1.0
 * @private
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as Step from "../../observability/Step.js"
import * as Reasoning from "../definition/Reasoning.js"
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
          { kind: "reset", hash: () => CanonicalJson.stringify(path), success: Schema.Void },
          Effect.asVoid(reset(path, task))
        )
      )

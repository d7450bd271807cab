/**
 * Evaluation of tree search: judges the states of the last expansion.
 *
 * @since 0.1.0
 * @private
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as StepFailure from "../../observability/journal/StepFailure.js"
import * as Step from "../../observability/Step.js"
import * as LatsPrompts from "../../prompt/defaults/LatsPrompts.js"
import * as Reasoning from "../definition/Reasoning.js"
import type { Task } from "../definition/Strategy.js"
import type * as LatsAction from "./LatsAction.js"
import * as LatsPath from "./LatsPath.js"
import * as LatsReply from "./LatsReply.js"
import type { Settings } from "./LatsSettings.js"
import * as LatsSettings from "./LatsSettings.js"
import type { Candidate, Options, State } from "./LatsState.js"
import * as LatsText from "./LatsText.js"
import * as SearchTree from "./SearchTree.js"

/** Runs the evaluator of the options as a recorded step, so that a replay does not run it again. */
const external = <E, R>(evaluate: Options<E, R>["evaluate"], candidate: Candidate, task: Task) =>
  evaluate === undefined
    ? Effect.succeed(undefined)
    : Effect.tap(
        Step.run(
          {
            kind: "evaluate",
            hash: () => CanonicalJson.stringify(candidate.path),
            success: Schema.UndefinedOr(LatsReply.Verdict),
            error: StepFailure.any
          },
          evaluate(candidate, task)
        ),
        (verdict) =>
          verdict !== undefined && Number.isNaN(verdict.value)
            ? Effect.dieMessage("Lats: the value that `evaluate` gave is not a number")
            : Effect.void
      )

const judge = <E, R>(settings: Settings<E, R>, state: State, id: number, admit: LatsSettings.Meter["admit"]) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const node = SearchTree.get(state.tree, id)
    const { depth, terminal } = node
    const path = LatsPath.actionsTo(state.tree, id)
    const action = path[path.length - 1] as LatsAction.Action
    const given = yield* external(settings.evaluate, { path, action, depth, terminal }, reasoning.task)
    let judged: { readonly score: number; readonly reason: string; readonly step: number } | undefined
    if (given !== undefined) {
      judged = { score: LatsSettings.clamp(given.value), reason: given.reason ?? "", step: reasoning.steps() }
    } else {
      const values = {
        task: reasoning.task.input,
        path: LatsText.renderPath(path),
        current_state: LatsText.renderState(path),
        reflections: LatsText.renderReflections(state.reflections)
      }
      const reply = yield* LatsSettings.orSpent(
        reasoning.askFor(LatsPrompts.Evaluate, values, LatsReply.judgementForm, { admit })
      )
      if (reply === undefined) return undefined
      judged = { score: LatsSettings.clamp(reply.value.score), reason: reply.value.reason, step: reply.step }
    }
    const { reason, score, step } = judged
    const solved = given?.solved ?? (LatsPath.isAnswer(node) && score >= settings.successThreshold)
    yield* reasoning.run.emit({
      _tag: "Critique",
      step,
      text: reason,
      score,
      ...(terminal || solved ? { accepted: solved } : {})
    })
    const { valueWeight } = settings
    const value = given === undefined ? valueWeight * score + (1 - valueWeight) * node.data.share : score
    return { id, value, score, critique: reason, solved }
  })

export const evaluateNode =
  <E, R>(settings: Settings<E, R>) =>
  (state: State) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { admit, calls } = LatsSettings.searchMeter(settings, state)
      const verdicts = yield* Step.forEach(state.expanded, (id) => judge(settings, state, id, admit), {
        concurrency: reasoning.concurrency
      })
      let tree = state.tree
      const failed: Array<number> = []
      const solutions: Array<number> = []
      for (const verdict of verdicts) {
        if (verdict === undefined) continue
        const { critique, id, score, solved, value } = verdict
        tree = SearchTree.modify(SearchTree.visit(tree, id, value), id, ({ data, terminal }) => ({
          terminal: terminal || solved,
          data: { ...data, score, critique, solved }
        }))
        if (solved) solutions.push(id)
        else if (SearchTree.get(tree, id).terminal) failed.push(id)
      }
      for (const id of [...solutions, ...failed]) tree = SearchTree.exhaust(tree, id)
      const solution = SearchTree.bestOf(tree, solutions)
      const best = SearchTree.bestOf(tree, state.expanded)
      const modelCalls = calls()
      const simulating =
        settings.rollout &&
        solution === undefined &&
        best !== undefined &&
        !best.terminal &&
        LatsSettings.affordable(settings, { ...state, modelCalls }) > 0
      return {
        tree: SearchTree.pick(tree, [...LatsPath.idsTo(tree, state.current), ...state.expanded]),
        modelCalls,
        failed: [...state.failed, ...failed],
        solved: solution?.id ?? null,
        simulating,
        ...(simulating ? { current: best.id } : {})
      }
    })

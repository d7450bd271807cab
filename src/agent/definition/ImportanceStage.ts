/**
 * Judges the importance of what a run saves in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import type * as ImportanceJudge from "../../memory/semantic/ImportanceJudge.js"
import * as Stage from "./Stage.js"

const judged = (
  { rules }: ImportanceJudge.ImportanceJudge,
  entries: ReadonlyArray<MemoryEntry>,
  scores: ReadonlyArray<number> | undefined
): ReadonlyArray<MemoryEntry> =>
  entries.map((entry, at) => {
    const score = scores?.length === entries.length ? scores[at] : undefined
    return { ...entry, importance: score !== undefined && score >= 0 && score <= 1 ? score : rules(entry) }
  })

/**
 * For `Agent.withStages`: the turns of each run get the importance that the judge gives them. `ImportanceJudge.model`
 * asks the model of the run, within its limits. A judge that fails is reported, and the rules of
 * `ImportanceJudge.heuristic` decide.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { ImportanceStage } from "effect-lexigram/agent"
 * import { ImportanceJudge } from "effect-lexigram/memory"
 *
 * const clerk = Agent.make("clerk").pipe(
 *   Agent.withStages(ImportanceStage.make(ImportanceJudge.model({ maxChars: 2_000 })))
 * )
 * ```
 */
export const make = (judge: ImportanceJudge.ImportanceJudge): Stage.Placed =>
  Stage.outside("memorySave")(
    Stage.make("importance", (state, next) =>
      next({
        ...state,
        judged: (entries) =>
          Effect.map(
            Stage.degrade(judge.judge(entries, state.uses.client), {
              state,
              stage: "memory importance",
              orElse: undefined
            }),
            (scores) => judged(judge, entries, scores)
          )
      })
    )
  )

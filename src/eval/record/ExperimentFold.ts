/**
 * What the entries of an experiment say: its results, its attempts, what they took, and the labels of people.
 *
 * @since 0.1.0
 */
import * as Usage from "../../domain/Usage.js"
import { type Entry, keyOf, type Label, type Trial, type TrialResult } from "./ExperimentRecord.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Finished {
  readonly trial: Trial
  readonly result: TrialResult
}

/**
 * Takes entries one at a time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Fold {
  readonly push: (entry: Entry) => void
  /** Whether a trial has its result. */
  readonly has: (trial: Trial) => boolean
  /** The results in the order of their ends, one for each trial. */
  readonly finished: () => ReadonlyArray<Finished>
  /** How many attempts began. More than there are results: some were tried again, or cut off. */
  readonly attempts: () => number
  /** US dollars that the results took, with their scoring. What an attempt took that was cut off is not known. */
  readonly costUsd: () => number
  /** Tokens that the results took, with their scoring. */
  readonly usage: () => Usage.Usage
  /** The last label of each person on each trial and scorer, in the order in which they were given. */
  readonly labels: () => ReadonlyArray<Label>
}

/**
 * @example
 * ```ts
 * import { ExperimentFold, ExperimentStore } from "effect-lexigram/eval"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * const spent = Effect.gen(function* () {
 *   const store = yield* ExperimentStore.ExperimentStore
 *   const fold = ExperimentFold.make()
 *   yield* Stream.runForEach(store.read("1a2b3c4"), ({ entry }) => Effect.sync(() => fold.push(entry)))
 *   return fold.costUsd()
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (): Fold => {
  const results = new Map<string, Finished>()
  const labels = new Map<string, Label>()
  let attempts = 0
  let costUsd = 0
  let usage = Usage.empty
  return {
    push: (entry) => {
      if (entry._tag === "Began") {
        attempts++
        return
      }
      if (entry._tag === "Labelled") {
        const { _tag, ...label } = entry
        const key = JSON.stringify([keyOf(label.trial), label.scorer, label.by])
        labels.delete(key)
        labels.set(key, label)
        return
      }
      const key = keyOf(entry.trial)
      if (results.has(key)) return
      const { result, trial } = entry
      results.set(key, { trial, result })
      costUsd += (result.costUsd ?? 0) + (result.scoring?.costUsd ?? 0)
      usage = Usage.add(Usage.add(usage, result.usage ?? Usage.empty), result.scoring?.usage ?? Usage.empty)
    },
    has: (trial) => results.has(keyOf(trial)),
    finished: () => Array.from(results.values()),
    attempts: () => attempts,
    costUsd: () => costUsd,
    usage: () => usage,
    labels: () => Array.from(labels.values())
  }
}

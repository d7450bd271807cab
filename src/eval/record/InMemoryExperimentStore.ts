/**
 * Keeps experiments in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as ExperimentPage from "./ExperimentPage.js"
import { type Entry, type Header, keyOf } from "./ExperimentRecord.js"
import * as ExperimentStore from "./ExperimentStore.js"
import * as ExperimentStoreError from "./ExperimentStoreError.js"

interface Kept {
  readonly header: Header
  readonly entries: Array<Entry>
  readonly ended: Set<string>
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (): ExperimentStore.Service => {
  const experiments = new Map<string, Kept>()
  const known = (id: string) =>
    Effect.suspend(() => {
      const kept = experiments.get(id)
      return kept === undefined ? Effect.fail(ExperimentStoreError.unknown(id)) : Effect.succeed(kept)
    })
  return {
    open: (header) =>
      Effect.suspend((): ReturnType<ExperimentStore.Service["open"]> => {
        const kept = experiments.get(header.id)
        if (kept === undefined) {
          experiments.set(header.id, { header, entries: [], ended: new Set() })
          return Effect.succeed({ header, added: true })
        }
        return kept.header.fingerprint === header.fingerprint
          ? Effect.succeed({ header: kept.header, added: false })
          : Effect.fail(ExperimentStoreError.conflict(header.id))
      }),
    get: (id) => Effect.sync(() => Option.fromNullable(experiments.get(id)?.header)),
    list: (filter = {}) =>
      Effect.suspend(() =>
        ExperimentPage.select(
          Array.from(experiments.values(), ({ header }) => header),
          filter
        )
      ),
    append: (id, entry) =>
      Effect.map(known(id), ({ ended, entries }) => {
        if (entry._tag === "Ended") {
          const key = keyOf(entry.trial)
          if (ended.has(key)) return
          ended.add(key)
        }
        entries.push(entry)
      }),
    read: (id, options = {}) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const { entries } = yield* known(id)
          const from = yield* ExperimentPage.fromPosition(options)
          if (from > entries.length) return yield* ExperimentPage.noPosition()
          return Stream.fromIterable(
            entries.slice(from).map((entry, index) => ({ entry, position: `${from + index + 1}` }))
          )
        })
      ),
    remove: (id) => Effect.sync(() => experiments.delete(id))
  }
}

/**
 * Experiments end with the process.
 *
 * @example
 * ```ts
 * import { Experiment, InMemoryExperimentStore } from "effect-lexigram/eval"
 * import * as Effect from "effect/Effect"
 *
 * const tried = <I, E, O>(experiment: Experiment.Experiment<I, E, O, never>) =>
 *   Experiment.run(experiment, { id: "draft" }).pipe(Effect.provide(InMemoryExperimentStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ExperimentStore.ExperimentStore> = Layer.sync(ExperimentStore.ExperimentStore, make)

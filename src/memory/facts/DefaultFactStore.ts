/**
 * The fact store over a backend: merges, closes and trims facts. Includes the in-process store.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Count from "../../internal/Count.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import { MemoryStoreError, type MemoryStoreFailure, StorageError } from "../entry/MemoryError.js"
import type { Fact, FactId, NewFact } from "./Fact.js"
import * as FactAssertion from "./FactAssertion.js"
import type * as FactBackend from "./FactBackend.js"
import * as FactCardinality from "./FactCardinality.js"
import * as FactLineage from "./FactLineage.js"
import * as FactReading from "./FactReading.js"
import type { AssertOptions, Service } from "./FactStore.js"
import * as FactTimeline from "./FactTimeline.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Maximum open facts of one subject. Default 100. */
  readonly maxFactsPerEntity?: number | undefined
  /** Maximum closed facts of one subject. Default 1000; `Infinity` keeps all. */
  readonly maxClosedPerEntity?: number | undefined
  /**
   * Decides whether a predicate has one object at a time, so that another object closes the previous fact, or any
   * number. Receives the normalized predicate: lower case, single spaces. Default `FactCardinality.standard`.
   */
  readonly cardinality?: ((predicate: string) => FactCardinality.Cardinality) | undefined
  /** Wraps the backend of the store: with `FactVectors.inContext`, `search` finds facts by meaning, too. */
  readonly wrapBackend?: FactBackend.Wrap | undefined
}

/** Only a faulty backend reports this many conflicts in a row. */
const maxAttempts = 100

interface Edit<A> {
  readonly change: Omit<FactBackend.FactChange, "maxOpen" | "maxClosed"> & { readonly maxOpen?: number | undefined }
  readonly result: (trimmed: ReadonlySet<FactId>) => A
}

/** A backend and the rules of its store. */
interface Rules {
  readonly backend: FactBackend.FactBackend
  readonly owned: FactAssertion.Owned
  readonly lock: KeyedLock.KeyedLock
  readonly maxOpen: number
  readonly maxClosed: number
  readonly cardinality: (predicate: string) => FactCardinality.Cardinality
}

const changedTooOften = (name: string): StorageError =>
  new StorageError({ message: `Other writers kept changing the facts of an owner in the store "${name}"` })

const unknownFact = (name: string): MemoryStoreError =>
  new MemoryStoreError({ message: "The owner has no fact with this id", store: name })

/** Reads and applies a change, and retries if another writer changed the facts in the meantime. */
const edit = <A>(
  { backend, lock, maxClosed, maxOpen, owned }: Rules,
  ownerId: string,
  read: Effect.Effect<Edit<A>, MemoryStoreFailure>
): Effect.Effect<A, MemoryStoreFailure> => {
  const attempt = (left: number): Effect.Effect<A, MemoryStoreFailure> =>
    Effect.flatMap(backend.revision(ownerId), (revision) =>
      Effect.flatMap(read, ({ change, result }) => {
        if (change.put === undefined && change.delete === undefined) return Effect.sync(() => result(new Set()))
        return Effect.flatMap(
          backend.apply(ownerId, revision, {
            delete: change.delete,
            put: change.put,
            trim: change.trim,
            maxOpen: change.maxOpen ?? maxOpen,
            maxClosed
          }),
          (applied) =>
            Option.isSome(applied)
              ? Effect.sync(() => result(new Set(applied.value)))
              : left === 0
                ? Effect.fail(changedTooOften(backend.name))
                : attempt(left - 1)
        )
      })
    )
  return owned(ownerId, lock.withLock(ownerId)(attempt(maxAttempts)))
}

/** Changes one fact of the owner. */
const editOne = (
  rules: Rules,
  ownerId: string,
  id: FactId,
  change: (record: FactTimeline.FactRecord) => FactTimeline.FactRecord
): Effect.Effect<Fact, MemoryStoreFailure> =>
  edit<Fact>(
    rules,
    ownerId,
    Effect.flatMap(
      rules.backend.get(ownerId, [id]),
      ([row]): Effect.Effect<Edit<Fact>, MemoryStoreFailure> =>
        row === undefined
          ? Effect.fail(unknownFact(rules.backend.name))
          : Effect.map(FactLineage.recordOf(rules.backend.name, row), (record): Edit<Fact> => {
              const changed = change(record)
              return {
                change: changed === record ? {} : { put: [FactTimeline.toRow(changed)] },
                result: () => FactTimeline.toFact(changed)
              }
            })
    )
  )

const assertFacts = (
  rules: Rules,
  ownerId: string,
  facts: ReadonlyArray<NewFact>,
  options: AssertOptions | undefined
): Effect.Effect<ReadonlyArray<Option.Option<Fact>>, MemoryStoreFailure> =>
  facts.length === 0
    ? rules.owned(ownerId, Effect.succeed([]))
    : Effect.flatMap(FactAssertion.read(rules.backend.name, facts), (said) =>
        edit(
          rules,
          ownerId,
          Effect.map(
            FactAssertion.plan(rules.backend, ownerId, said, rules.cardinality),
            ({ kept, put, subjects }) => ({
              change:
                put.length === 0
                  ? {}
                  : { put, trim: subjects, maxOpen: Count.count(options?.maxFactsPerEntity, rules.maxOpen, 1) },
              result: (trimmed) =>
                kept.map((record) =>
                  trimmed.has(record.row.id) ? Option.none() : Option.some(FactTimeline.toFact(record))
                )
            })
          )
        )
      )

/**
 * The fact store over a backend. Resolves how facts affect each other.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { DefaultFactStore, FactBackend, FactStore } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // A store of facts on a backend of one's own. An address has one value at a time, everything else any number.
 * const layerOn = (backend: FactBackend.FactBackend): Layer.Layer<FactStore.FactStore> =>
 *   Layer.succeed(
 *     FactStore.FactStore,
 *     DefaultFactStore.fromBackend(backend, {
 *       cardinality: (predicate) => (predicate === "lives in" ? "one" : "many")
 *     })
 *   )
 * ```
 */
export const fromBackend = (given: FactBackend.FactBackend, options?: Options | undefined): Service => {
  const backend = options?.wrapBackend?.(given) ?? given
  const rules: Rules = {
    backend,
    owned: FactAssertion.owned(backend.name),
    lock: KeyedLock.make(),
    maxOpen: Count.count(options?.maxFactsPerEntity, 100, 1),
    maxClosed: Count.count(options?.maxClosedPerEntity, 1000, 0),
    cardinality: options?.cardinality ?? FactCardinality.standard
  }
  const invalid = (message: string) => Effect.fail(new MemoryStoreError({ message, store: backend.name }))
  return {
    name: backend.name,
    ...FactReading.make(backend, rules.owned),
    assert: (ownerId, facts, options) => assertFacts(rules, ownerId, facts, options),
    updateConfidence: (ownerId, id, confidence) =>
      confidence >= 0 && confidence <= 1
        ? editOne(rules, ownerId, id, (record) => FactTimeline.withConfidence(record, confidence))
        : invalid("The confidence of a fact must be a number from 0 to 1"),
    close: (ownerId, id, at) =>
      Effect.flatMap(at === undefined ? Clock.currentTimeMillis : Effect.succeed(at), (end) =>
        Number.isFinite(end)
          ? editOne(rules, ownerId, id, (record) => FactTimeline.ended(record, end))
          : invalid("The end of a fact must be a finite time")
      ),
    delete: (ownerId, id) =>
      edit(
        rules,
        ownerId,
        Effect.map(FactAssertion.sameTriple(backend, ownerId, id), (ids) => ({
          change: ids.length === 0 ? {} : { delete: ids },
          result: () => ids.length > 0
        }))
      ),
    clear: (ownerId) => rules.owned(ownerId, rules.lock.withLock(ownerId)(backend.clear(ownerId)))
  }
}

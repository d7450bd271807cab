/**
 * Where facts are kept: what is known, how sure it is, and from when until when it held.
 *
 * Nothing is overwritten. A fact that another one contradicts is closed at the time from which the other holds, and
 * stays; what is told late finds its place between what was told before, so that the same assertions give the same
 * history in whatever order they come.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Count from "../../internal/Count.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import { MemoryStoreError, type MemoryStoreFailure, StorageError } from "../entry/MemoryError.js"
import type * as Selection from "../entry/Selection.js"
import type { Fact, FactId, NewFact } from "./Fact.js"
import * as FactAssertion from "./FactAssertion.js"
import type * as FactBackend from "./FactBackend.js"
import * as FactCardinality from "./FactCardinality.js"
import * as FactReading from "./FactReading.js"
import * as FactTable from "./FactTable.js"
import * as FactTimeline from "./FactTimeline.js"
import * as FactWay from "./FactWay.js"

/**
 * Which facts of an owner are meant; all that is given must hold. Without closed ones: what holds at a time.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactSelection {
  /** What the subject begins with, whatever the case. Its first 190 characters count. */
  readonly subject?: string | undefined
  /** Subjects: one of them, whatever the case. */
  readonly subjects?: ReadonlyArray<string> | undefined
  /** A name that stands in the subject or in the object as whole words. */
  readonly entity?: string | undefined
  readonly predicate?: string | undefined
  readonly object?: string | undefined
  /** 0 unless set. */
  readonly minConfidence?: number | undefined
  /** Milliseconds since the epoch; now unless set. */
  readonly at?: number | undefined
  /** Those that had begun by then and have ended as well. */
  readonly includeClosed?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface FactQuery extends FactSelection {
  /** At most so many; 100 unless set. */
  readonly limit?: number | undefined
  /** Those behind this one: for the next page the last fact of the page before. */
  readonly after?: FactBackend.FactPosition | undefined
}

/**
 * Of which branch, and what is looked for.
 *
 * @since 0.1.0
 * @category models
 */
export interface Way extends Required<Pick<Selection.Selection, "lineage">>, Pick<Selection.Selection, "tree"> {
  /** Milliseconds since the epoch; now unless set. */
  readonly at?: number | undefined
  /** 0 unless set. */
  readonly minConfidence?: number | undefined
}

/**
 * A subject and how many facts there are about it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Entity {
  /** Its normalised name: the same for every way to write it. */
  readonly key: string
  readonly name: string
  readonly open: number
  readonly closed: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AssertOptions {
  /** Instead of the store's own number. */
  readonly maxFactsPerEntity?: number | undefined
}

/**
 * Every call names an owner and sees nothing of any other.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Names it in errors, metrics and hooks: `in_memory`, `sqlite`, … */
  readonly name: string
  /**
   * Says that something is so, all of it in one step or nothing; gives each as it is kept afterwards, in their order.
   *
   * A triple that is known for that time (whatever the case and the spaces) stays one fact: it is as sure as the surest
   * that said so, and its sources are united, the newest 64; what the same sources say again changes nothing. Of a
   * predicate that has one object at a time, the fact that holds at `validFrom` ends there and says which one closed
   * it; if that fact was said again later, it holds again from then. An assertion that is older than what is known ends
   * where the next one begins. Of two from the same time the one told later holds.
   *
   * What is taken back (`retracted`) ends then, on every branch, and nothing else does: other objects stay, and so does
   * what was said before and after. It is given as it ended. What has an end (`validTo`) is as if it were said, and
   * taken back at its end.
   *
   * Each subject has a limit of open facts. Beyond it the least sure go for good, of equally sure ones those that hold
   * since longest: none for one that was asserted and did not find room. Closed facts have a limit of their own: the
   * ones that ended first go.
   */
  readonly assert: (
    ownerId: string,
    facts: ReadonlyArray<NewFact>,
    options?: AssertOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Option.Option<Fact>>, MemoryStoreFailure>
  readonly get: (ownerId: string, id: FactId) => Effect.Effect<Option.Option<Fact>, MemoryStoreFailure>
  /** Surest first, then those that hold since later, then by id. */
  readonly query: (
    ownerId: string,
    query?: FactQuery | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Those that share words with the text, best first. */
  readonly search: (
    ownerId: string,
    text: string,
    query?: Omit<FactQuery, "after"> | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /**
   * These facts as a branch of a session knows them, in their order: each by what was said on the way to it (see
   * `NewFact.origins`, `Selection.lineage` and `Selection.tree`), since when that says so and until something that was
   * said on the way closed it. One of which nothing was said on the way is left out; what it had taken the place of
   * stands there, if it was said on the way and holds.
   */
  readonly onTheWay: (
    ownerId: string,
    facts: ReadonlyArray<Fact>,
    options: Way
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Sets how sure it is, whoever said so; an id that the owner does not have is a `MemoryStoreError`. */
  readonly updateConfidence: (
    ownerId: string,
    id: FactId,
    confidence: number
  ) => Effect.Effect<Fact, MemoryStoreFailure>
  /**
   * It no longer holds, from this time on (now unless set; not before it began), and nothing took its place. One that
   * had ended by then stays as it is; an id that the owner does not have is a `MemoryStoreError`.
   */
  readonly close: (ownerId: string, id: FactId, at?: number | undefined) => Effect.Effect<Fact, MemoryStoreFailure>
  /**
   * Removes it for good, with every other time in which the same triple held; what it had closed stays closed. Gives
   * whether there was one.
   */
  readonly delete: (ownerId: string, id: FactId) => Effect.Effect<boolean, MemoryStoreFailure>
  /** Everything of the owner; gives how many facts there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  readonly count: (ownerId: string, selection?: FactSelection | undefined) => Effect.Effect<number, MemoryStoreFailure>
  /** Who or what there are facts about, ascending by key, those after `after`. */
  readonly entities: (
    ownerId: string,
    options?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined
  ) => Effect.Effect<ReadonlyArray<Entity>, MemoryStoreFailure>
  /** Which of these names are subjects of facts, whatever the case; in their order, each once. */
  readonly known: (
    ownerId: string,
    names: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** Everybody who has facts, each once, ascending; read in pages. */
  readonly owners: Stream.Stream<string, MemoryStoreFailure>
  /** Succeeds if the store answers. */
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class FactStore extends Context.Tag("effect-lexigram/memory/FactStore")<FactStore, Service>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Open facts of one subject at most; 100 unless set. */
  readonly maxFactsPerEntity?: number | undefined
  /** Closed facts of one subject at most; 1000 unless set, `Infinity` for all of them. */
  readonly maxClosedPerEntity?: number | undefined
  /**
   * Whether a predicate has one object at a time, so that another object closes the fact before, or any number of them.
   * It is asked for the normalised predicate: in small letters, with single spaces. `FactCardinality.standard` unless
   * set.
   */
  readonly cardinality?: ((predicate: string) => FactCardinality.Cardinality) | undefined
}

/** Another process got in between so often only if the backend is at fault. */
const maxAttempts = 100

interface Edit<A> {
  readonly change: Omit<FactBackend.FactChange, "maxOpen" | "maxClosed"> & { readonly maxOpen?: number | undefined }
  readonly result: (trimmed: ReadonlySet<FactId>) => A
}

const changedTooOften = (name: string): StorageError =>
  new StorageError({ message: `The facts of an owner in the store "${name}" were changed by others again and again` })

const unknownFact = (name: string): MemoryStoreError =>
  new MemoryStoreError({ message: "The owner has no such fact", store: name })

/**
 * The store over a backend: everything that facts do to each other.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromBackend = (backend: FactBackend.FactBackend, options?: Options | undefined): Service => {
  const maxOpen = Count.count(options?.maxFactsPerEntity, 100, 1)
  const maxClosed = Count.count(options?.maxClosedPerEntity, 1000, 0)
  const cardinality = options?.cardinality ?? FactCardinality.standard
  const lock = KeyedLock.make()
  const owned: FactAssertion.Owned = FactAssertion.owned(backend.name)

  /** Reads and changes until nobody else has changed anything in between. */
  const edit = <A>(
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

  const one = (ownerId: string, id: FactId, change: (record: FactTimeline.FactRecord) => FactTimeline.FactRecord) =>
    edit<Fact>(
      ownerId,
      Effect.flatMap(
        backend.get(ownerId, [id]),
        ([row]): Effect.Effect<Edit<Fact>, MemoryStoreFailure> =>
          row === undefined
            ? Effect.fail(unknownFact(backend.name))
            : Effect.map(FactWay.recordOf(backend.name, row), (record): Edit<Fact> => {
                const changed = change(record)
                return {
                  change: changed === record ? {} : { put: [FactTimeline.toRow(changed)] },
                  result: () => FactTimeline.toFact(changed)
                }
              })
      )
    )

  return {
    name: backend.name,
    ...FactReading.make(backend, owned),
    assert: (ownerId, facts, assertOptions) =>
      facts.length === 0
        ? owned(ownerId, Effect.succeed([]))
        : Effect.flatMap(FactAssertion.read(backend.name, facts), (said) =>
            edit(
              ownerId,
              Effect.map(FactAssertion.plan(backend, ownerId, said, cardinality), ({ kept, put, subjects }) => ({
                change:
                  put.length === 0
                    ? {}
                    : { put, trim: subjects, maxOpen: Count.count(assertOptions?.maxFactsPerEntity, maxOpen, 1) },
                result: (trimmed) =>
                  kept.map((record) =>
                    trimmed.has(record.row.id) ? Option.none() : Option.some(FactTimeline.toFact(record))
                  )
              }))
            )
          ),
    updateConfidence: (ownerId, id, confidence) =>
      confidence >= 0 && confidence <= 1
        ? one(ownerId, id, (record) => FactTimeline.withConfidence(record, confidence))
        : Effect.fail(
            new MemoryStoreError({ message: "The confidence of a fact is a number from 0 to 1", store: backend.name })
          ),
    close: (ownerId, id, at) =>
      Effect.flatMap(at === undefined ? Clock.currentTimeMillis : Effect.succeed(at), (end) =>
        Number.isFinite(end)
          ? one(ownerId, id, (record) => FactTimeline.ended(record, end))
          : Effect.fail(new MemoryStoreError({ message: "A fact ends at a finite time", store: backend.name }))
      ),
    delete: (ownerId, id) =>
      edit(
        ownerId,
        Effect.map(FactAssertion.sameTriple(backend, ownerId, id), (ids) => ({
          change: ids.length === 0 ? {} : { delete: ids },
          result: () => ids.length > 0
        }))
      ),
    clear: (ownerId) => owned(ownerId, lock.withLock(ownerId)(backend.clear(ownerId)))
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryOptions extends Options, FactTable.Options {}

/**
 * In this process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: MemoryOptions | undefined): Effect.Effect<Service> =>
  Effect.sync(() => fromBackend(FactTable.make(options), options))

/**
 * In this process, and gone with it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: MemoryOptions | undefined): Layer.Layer<FactStore> =>
  Layer.effect(FactStore, makeMemory(options))

const noop: Service = {
  name: "none",
  assert: (_ownerId, facts) => Effect.succeed(facts.map(() => Option.none())),
  get: () => Effect.succeed(Option.none()),
  query: () => Effect.succeed([]),
  search: () => Effect.succeed([]),
  onTheWay: () => Effect.succeed([]),
  updateConfidence: () => Effect.fail(unknownFact("none")),
  close: () => Effect.fail(unknownFact("none")),
  delete: () => Effect.succeed(false),
  clear: () => Effect.succeed(0),
  count: () => Effect.succeed(0),
  entities: () => Effect.succeed([]),
  known: () => Effect.succeed([]),
  owners: Stream.empty,
  health: Effect.void
}

/**
 * Knows nothing: for what is asserted there is no room.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<FactStore> = Layer.succeed(FactStore, noop)

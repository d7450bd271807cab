/**
 * The fact store port: facts with their confidence and the time in which they held.
 *
 * Nothing is overwritten. A fact that another one contradicts is closed at the time from which the other holds, and
 * stays. A late assertion is inserted between earlier ones, so that the same assertions give the same history in any
 * order.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { EntryId } from "../../domain/Ids.js"
import { MemoryStoreError, type MemoryStoreFailure } from "../entry/MemoryError.js"
import type * as Selection from "../entry/Selection.js"
import type { Fact, FactId, NewFact } from "./Fact.js"
import type * as FactBackend from "./FactBackend.js"

/**
 * Selects facts of an owner. All given conditions must hold. Without closed facts: those that hold at a time.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactSelection {
  /** A prefix of the subject, ignoring case. Only its first 190 characters count. */
  readonly subject?: string | undefined
  /** The subject is one of these, ignoring case. */
  readonly subjects?: ReadonlyArray<string> | undefined
  /** A name that the subject or the object contains as whole words. */
  readonly entity?: string | undefined
  readonly predicate?: string | undefined
  readonly object?: string | undefined
  /** Default 0. */
  readonly minConfidence?: number | undefined
  /** Milliseconds since the epoch. Default now. */
  readonly at?: number | undefined
  /** Also returns facts that had begun by then and have ended. */
  readonly includeClosed?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface FactQuery extends FactSelection {
  /** Maximum number of facts. Default 100. */
  readonly limit?: number | undefined
  /** Returns the facts after this one: for the next page, the last fact of the previous page. */
  readonly after?: FactBackend.FactPosition | undefined
  /** Only facts that were read from one of these entries. */
  readonly sources?: ReadonlyArray<EntryId> | undefined
}

/**
 * The branch whose facts are queried.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lineage extends Required<Pick<Selection.Selection, "lineage">>, Pick<Selection.Selection, "tree"> {
  /** Milliseconds since the epoch. Default now. */
  readonly at?: number | undefined
  /** Default 0. */
  readonly minConfidence?: number | undefined
}

/**
 * A subject and the number of its facts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Entity {
  /** The normalized name, equal for all spellings. */
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
  /** Overrides the limit of the store. */
  readonly maxFactsPerEntity?: number | undefined
}

/**
 * Every call names an owner and sees only that owner's facts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Identifies the store in errors, metrics and hooks: `in_memory`, `sqlite`, … */
  readonly name: string
  /**
   * Asserts facts in one step, all or nothing. Returns each fact as it is stored afterwards, in their order.
   *
   * A triple that already holds at that time (ignoring case and spaces) stays one fact. Its confidence is the highest
   * asserted, and its sources are merged, up to the newest 64. Repeating a statement with the same sources changes
   * nothing. If a predicate has one object at a time, the fact that holds at `validFrom` ends there and records which
   * fact closed it; if it was stated again later, it holds again from then. An assertion that is older than a known
   * fact ends where that one begins. Of two facts with the same time, the later assertion holds.
   *
   * A retraction (`retracted`) ends the fact at that time, on every branch, and affects nothing else: other objects,
   * earlier and later statements stay. The result is the ended fact. A fact with an end (`validTo`) acts like an
   * assertion and a retraction at its end.
   *
   * Each subject has a limit of open facts. Beyond it the facts with the lowest confidence are deleted, the oldest
   * first. The result is none for an asserted fact that did not fit. Closed facts have a separate limit: those that
   * ended first are deleted.
   */
  readonly assert: (
    ownerId: string,
    facts: ReadonlyArray<NewFact>,
    options?: AssertOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Option.Option<Fact>>, MemoryStoreFailure>
  readonly get: (ownerId: string, id: FactId) => Effect.Effect<Option.Option<Fact>, MemoryStoreFailure>
  /** Highest confidence first, then latest `validFrom`, then by id. */
  readonly query: (
    ownerId: string,
    query?: FactQuery | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Facts that share words with the text, best first. With vectors (`FactVectors`) also those of similar meaning. */
  readonly search: (
    ownerId: string,
    text: string,
    query?: Omit<FactQuery, "after" | "sources"> | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /**
   * Returns these facts as a branch of a session knows them, in their order. Each is based on what was stated on the
   * lineage of the branch (see `NewFact.origins`, `Selection.lineage` and `Selection.tree`): it holds from the first
   * such statement until another statement on the lineage closed it. A fact without a statement on the lineage is
   * omitted; a fact that it had replaced takes its place if that was stated on the lineage and holds.
   */
  readonly onLineage: (
    ownerId: string,
    facts: ReadonlyArray<Fact>,
    options: Lineage
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Sets the confidence, regardless of sources. Fails with a `MemoryStoreError` if the owner does not have the id. */
  readonly updateConfidence: (
    ownerId: string,
    id: FactId,
    confidence: number
  ) => Effect.Effect<Fact, MemoryStoreFailure>
  /**
   * Ends the fact at this time (default now, not before it began) without a replacement. A fact that had ended by then
   * does not change. Fails with a `MemoryStoreError` if the owner does not have the id.
   */
  readonly close: (ownerId: string, id: FactId, at?: number | undefined) => Effect.Effect<Fact, MemoryStoreFailure>
  /**
   * Deletes the fact and every other period in which the same triple held. Facts that it had closed stay closed.
   * Returns whether it existed.
   */
  readonly delete: (ownerId: string, id: FactId) => Effect.Effect<boolean, MemoryStoreFailure>
  /** Removes all facts of the owner and returns how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  readonly count: (ownerId: string, selection?: FactSelection | undefined) => Effect.Effect<number, MemoryStoreFailure>
  /** The subjects of facts, ascending by key; only those after `after`. */
  readonly entities: (
    ownerId: string,
    options?: { readonly limit?: number | undefined; readonly after?: string | undefined } | undefined
  ) => Effect.Effect<ReadonlyArray<Entity>, MemoryStoreFailure>
  /** The distinct names that are subjects of facts, ignoring case, in their order. */
  readonly known: (
    ownerId: string,
    names: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** The distinct owners that have facts, ascending, read page by page. */
  readonly owners: Stream.Stream<string, MemoryStoreFailure>
  /** Succeeds if the store answers. */
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class FactStore extends Context.Tag("effect-lexigram/memory/FactStore")<FactStore, Service>() {}

const unknownFact = Effect.fail(new MemoryStoreError({ message: "The owner has no fact with this id", store: "none" }))

const noop: Service = {
  name: "none",
  assert: (_ownerId, facts) => Effect.succeed(facts.map(() => Option.none())),
  get: () => Effect.succeed(Option.none()),
  query: () => Effect.succeed([]),
  search: () => Effect.succeed([]),
  onLineage: () => Effect.succeed([]),
  updateConfidence: () => unknownFact,
  close: () => unknownFact,
  delete: () => Effect.succeed(false),
  clear: () => Effect.succeed(0),
  count: () => Effect.succeed(0),
  entities: () => Effect.succeed([]),
  known: () => Effect.succeed([]),
  owners: Stream.empty,
  health: Effect.void
}

/**
 * Knows nothing and stores nothing: every assertion returns none.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { FactStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const move = Effect.gen(function* () {
 *   const facts = yield* FactStore.FactStore
 *   yield* facts.assert("ada", [{ subject: "Anna", predicate: "lives in", object: "Ghent" }])
 *   return yield* facts.query("ada", { entity: "Anna" })
 * })
 *
 * // In tests of the program nothing is kept: the result is empty.
 * const test = move.pipe(Effect.provide(FactStore.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<FactStore> = Layer.succeed(FactStore, noop)

/**
 * Where facts are kept: what is known, how sure it is, and from when until when it held.
 *
 * Nothing is overwritten. A fact that another one contradicts is closed at the time from which the other holds, and
 * stays; what is told late finds its place between what was told before, so that the same assertions give the same
 * history in whatever order they come.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { MemoryStoreError, type MemoryStoreFailure } from "../entry/MemoryError.js"
import type * as Selection from "../entry/Selection.js"
import type { Fact, FactId, NewFact } from "./Fact.js"
import type * as FactBackend from "./FactBackend.js"

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
export interface Lineage extends Required<Pick<Selection.Selection, "lineage">>, Pick<Selection.Selection, "tree"> {
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
  readonly onLineage: (
    ownerId: string,
    facts: ReadonlyArray<Fact>,
    options: Lineage
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
 * Knows nothing: for what is asserted there is no room.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<FactStore> = Layer.succeed(FactStore, noop)

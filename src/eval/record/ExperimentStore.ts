/**
 * The port that keeps experiments, so that one that was cut off goes on, and two can be compared.
 *
 * Experiments are tools of developers and belong to no user. Outputs of cases made of the data of users are such data:
 * remove the experiment to erase them.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { Entry, Header } from "./ExperimentRecord.js"
import type { ExperimentStoreError } from "./ExperimentStoreError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Filter {
  readonly name?: string | undefined
  /** Default 50, at most 500. */
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly experiments: ReadonlyArray<Header>
  /** The cursor of the next page; absent if there is none. */
  readonly next?: string | undefined
}

/**
 * An entry and its place in the experiment.
 *
 * @since 0.1.0
 * @category models
 */
export interface Placed {
  readonly entry: Entry
  /** Where to go on after it (`after`). It holds for this store and this experiment until the experiment is removed. */
  readonly position: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  /** The `position` of an entry: those after it are read, at a cost that does not grow with those before. */
  readonly after?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds an experiment. A known id with the same fingerprint gives the known one, with another the error `conflict`.
   * Of concurrent calls one is `added`.
   */
  readonly open: (
    header: Header
  ) => Effect.Effect<{ readonly header: Header; readonly added: boolean }, ExperimentStoreError>
  readonly get: (id: string) => Effect.Effect<Option.Option<Header>, ExperimentStoreError>
  /** The newest first; those of one millisecond in the descending order of their ids. */
  readonly list: (filter?: Filter | undefined) => Effect.Effect<Page, ExperimentStoreError>
  /**
   * Appends an entry: it outlives the process once this returns. Of several ends of one trial the first stays. The
   * error `unknown` if there is no such experiment.
   */
  readonly append: (id: string, entry: Entry) => Effect.Effect<void, ExperimentStoreError>
  /**
   * The entries in the order of their appending, each trial with at most one end. A reader that goes on after a
   * position misses no entry, whoever appended it and when. It may get another end of a trial than an earlier read: the
   * first counts. Fails with `unknown` as `append`, and with `cursor` for a text that is no position.
   */
  readonly read: (id: string, options?: ReadOptions | undefined) => Stream.Stream<Placed, ExperimentStoreError>
  /** Removes an experiment with all its entries; returns whether it was there. */
  readonly remove: (id: string) => Effect.Effect<boolean, ExperimentStoreError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ExperimentStore extends Context.Tag("effect-lexigram/eval/ExperimentStore")<ExperimentStore, Service>() {}

/**
 * Reads lists page by page.
 *
 * @private
 * @since 0.1.0
 */
import * as Options from "@effect/cli/Options"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** The most that a page of the API has. */
const LARGEST = 500

const Limit = Schema.Int.pipe(Schema.between(1, 1_000_000))

/**
 * The flag `--limit`.
 *
 * @category constants
 */
export const limit = (description: string, standard: number): Options.Options<number> =>
  Options.integer("limit").pipe(
    Options.withSchema(Limit),
    Options.withDescription(description),
    Options.withDefault(standard)
  )

/**
 * @category models
 */
export interface Page<A, C> {
  readonly items: ReadonlyArray<A>
  /** Where the next page begins; absent on the last one. */
  readonly next?: C | undefined
}

/**
 * All pages, each read when its first item is taken. `most` bounds the number of items.
 *
 * @category constructors
 */
export const stream = <A, C, E, R>(
  read: (limit: number, cursor: C | undefined) => Effect.Effect<Page<A, C>, E, R>,
  most = Number.MAX_SAFE_INTEGER
): Stream.Stream<A, E, R> =>
  Stream.take(
    Stream.paginateChunkEffect({ cursor: undefined as C | undefined, left: most }, ({ cursor, left }) =>
      Effect.map(read(Math.min(left, LARGEST), cursor), ({ items, next }) => {
        const rest = left - items.length
        const isLast = next === undefined || rest <= 0
        return [
          Chunk.unsafeFromArray(items),
          isLast ? Option.none() : Option.some({ cursor: next, left: rest })
        ] as const
      })
    ),
    most
  )

/**
 * The first items of all pages.
 *
 * @category constructors
 */
export const first = <A, C, E, R>(
  most: number,
  read: (limit: number, cursor: C | undefined) => Effect.Effect<Page<A, C>, E, R>
): Effect.Effect<ReadonlyArray<A>, E, R> => Effect.map(Stream.runCollect(stream(read, most)), Chunk.toReadonlyArray)

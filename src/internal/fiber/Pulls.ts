/**
 * Streams that are read without their channels where both ends are ours: a chunk that passes a channel costs as much as
 * all that an agent does for it. To others they are streams like any.
 *
 * @private
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** The next values; `undefined` at the end. */
export type Pull<A, E, R = never> = Effect.Effect<ReadonlyArray<A> | undefined, E, R>

/** Begins to read. The scope ends it. */
type Open<A, E, R> = Effect.Effect<Pull<A, E, R>, E, R | Scope.Scope>

const known = new WeakMap<object, Open<any, any, any>>()

/**
 * The stream, which `open` reads too: both must give the same values.
 *
 * @category constructors
 */
export const make = <A, E, R>(stream: Stream.Stream<A, E, R>, open: Open<A, E, R>): Stream.Stream<A, E, R> => {
  known.set(stream, open)
  return stream
}

/**
 * Begins to read a stream.
 *
 * @category conversions
 */
export const open = <A, E, R>(stream: Stream.Stream<A, E, R>): Open<A, E, R> =>
  known.get(stream) ??
  Effect.map(Stream.toPull(stream), (pull) =>
    Effect.matchEffect(pull, {
      onFailure: (end): Effect.Effect<undefined, E> =>
        Option.isSome(end) ? Effect.fail(end.value) : Effect.succeed(undefined),
      onSuccess: (chunk) => Effect.succeed(Chunk.toReadonlyArray(chunk))
    })
  )

/**
 * The stream of an effect.
 *
 * @category constructors
 */
export const unwrap = <A, E, R, E2, R2>(
  made: Effect.Effect<Stream.Stream<A, E, R>, E2, R2>
): Stream.Stream<A, E | E2, R | R2> =>
  make<A, E | E2, R | R2>(
    Stream.unwrap(made),
    Effect.flatMap(made, (stream): Open<A, E | E2, R> => open(stream))
  )

/**
 * Takes all values, chunk by chunk.
 *
 * @category destructors
 */
export const forEach = <A, E, R, E2, R2>(
  stream: Stream.Stream<A, E, R>,
  take: (values: ReadonlyArray<A>) => Effect.Effect<void, E2, R2>
): Effect.Effect<void, E | E2, R | R2> => {
  const direct: Open<A, E, R> | undefined = known.get(stream)
  if (direct === undefined) return Stream.runForEachChunk(stream, (chunk) => take(Chunk.toReadonlyArray(chunk)))
  return Effect.scopedWith((scope) =>
    Effect.flatMap(Effect.provideService(direct, Scope.Scope, scope), (pull) => {
      const loop: Effect.Effect<void, E | E2, R | R2> = Effect.flatMap(pull, (values) =>
        values === undefined ? Effect.void : Effect.flatMap(take(values), () => loop)
      )
      return loop
    })
  )
}

/**
 * Streams that are read without their channels where both ends are ours: a chunk that passes a channel costs as much as
 * all that an agent does for it. To others they are streams like any.
 *
 * @private
 * @since 0.1.0
 */
import * as Channel from "effect/Channel"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** The next values; `undefined` at the end. */
export type Pull<A, E, R = never> = Effect.Effect<ReadonlyArray<A> | undefined, E, R>

/** Begins to read. The scope ends it. */
type Open<A, E, R> = Effect.Effect<Pull<A, E, R>, never, R | Scope.Scope>

/**
 * Takes values at once, outside of any fiber where they come so; an effect if the next ones must wait for it.
 *
 * @category models
 */
export type Take<A> = (values: ReadonlyArray<A>) => Effect.Effect<void> | undefined

/** Gives all values as they come, without a wait of a fiber for each. */
type Drive<A, E, R> = (take: Take<A>) => Effect.Effect<void, E, R>

interface Source<A, E, R> {
  readonly open: Open<A, E, R>
  readonly drive: Drive<A, E, R> | undefined
}

const known = new WeakMap<object, Source<any, any, any>>()

const withSource = <A, E, R>(stream: Stream.Stream<A, E, R>, source: Source<A, E, R>): Stream.Stream<A, E, R> => {
  known.set(stream, source)
  return stream
}

/** What is pulled, as a plain chain of channels: each stream inside of another costs as much again a chunk. */
const channelOf = <A, E, R>(
  pull: Pull<A, E, R>
): Channel.Channel<Chunk.Chunk<A>, unknown, E, unknown, void, unknown, R> => {
  const channel: Channel.Channel<Chunk.Chunk<A>, unknown, E, unknown, void, unknown, R> = Channel.flatMap(
    Channel.fromEffect(pull),
    (values) =>
      values === undefined ? Channel.void : Channel.flatMap(Channel.write(Chunk.unsafeFromArray(values)), () => channel)
  )
  return channel
}

/**
 * A stream of what is acquired. `drive` gives the same values.
 *
 * @category constructors
 */
export const make = <A, E, R, S>(options: {
  readonly acquire: Effect.Effect<S, never, R>
  readonly pull: (acquired: S) => Pull<A, E>
  readonly release?: ((acquired: S) => Effect.Effect<unknown>) | undefined
  readonly drive?: Drive<A, E, R> | undefined
}): Stream.Stream<A, E, R> => {
  const { acquire, drive, pull, release = () => Effect.void } = options
  return withSource(
    Stream.fromChannel(Channel.acquireUseRelease(acquire, (acquired) => channelOf(pull(acquired)), release)),
    { open: Effect.map(Effect.acquireRelease(acquire, release), pull), drive }
  )
}

/**
 * Begins to read a stream.
 *
 * @category conversions
 */
export const open = <A, E, R>(stream: Stream.Stream<A, E, R>): Open<A, E, R> =>
  known.get(stream)?.open ??
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
  withSource<A, E | E2, R | R2>(Stream.unwrap(made), {
    open: Effect.map(Effect.scope, (scope) => {
      let inner: Pull<A, E, R> | undefined
      return Effect.suspend(
        (): Pull<A, E | E2, R | R2> =>
          inner ??
          Effect.flatMap(made, (stream) =>
            Effect.flatMap(Scope.extend(open(stream), scope), (pull) => {
              inner = pull
              return pull
            })
          )
      )
    }),
    drive: (take) => Effect.flatMap(made, (stream) => forEach(stream, take))
  })

/**
 * Takes all values as they come.
 *
 * @category destructors
 */
export const forEach = <A, E, R>(stream: Stream.Stream<A, E, R>, take: Take<A>): Effect.Effect<void, E, R> => {
  const source: Source<A, E, R> | undefined = known.get(stream)
  if (source?.drive !== undefined) return source.drive(take)
  const taken = (values: ReadonlyArray<A>) => Effect.suspend(() => take(values) ?? Effect.void)
  return Stream.runForEachChunk(stream, (chunk) => taken(Chunk.toReadonlyArray(chunk)))
}

/**
 * A bounded queue between a producer and one Stream consumer. The consumer is woken once per turn of the event loop, so that what
 * arrives together is read together: a wake per microtask would cut every chunk down to one element (7 µs instead of 0.3).
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

export interface EventSink<in out A, in out E> {
  readonly push: (value: A) => void
  /** What a producer waits for while `capacity` values are unread. */
  readonly settle: () => Effect.Effect<void> | undefined
  /** Ends the stream after what was pushed; the first call counts. */
  readonly done: (exit: Exit.Exit<unknown, E>) => void
  readonly stream: Stream.Stream<A, E>
}

export const make = <A, E>(options: { readonly capacity: number }): EventSink<A, E> => {
  const { capacity } = options
  let buffer: Array<A> = []
  let end: Exit.Exit<unknown, E> | undefined
  let reader: ((effect: Effect.Effect<Chunk.Chunk<A>, Option.Option<E>>) => void) | undefined
  let writers: Array<(effect: Effect.Effect<void>) => void> = []
  let wakeScheduled = false

  const release = () => {
    if (writers.length === 0) return
    const waiting = writers
    writers = []
    for (const resume of waiting) resume(Effect.void)
  }
  const take = (): Effect.Effect<Chunk.Chunk<A>, Option.Option<E>> | undefined => {
    if (buffer.length > 0) {
      const chunk = Chunk.unsafeFromArray(buffer)
      buffer = []
      release()
      return Effect.succeed(chunk)
    }
    if (end === undefined) return undefined
    return Exit.isSuccess(end) ? Effect.fail(Option.none()) : Effect.mapError(Effect.failCause(end.cause), Option.some)
  }
  const wake = () => {
    if (reader === undefined || wakeScheduled) return
    wakeScheduled = true
    setImmediate(() => {
      wakeScheduled = false
      if (reader === undefined) return
      const next = take()
      if (next === undefined) return
      const resume = reader
      reader = undefined
      resume(next)
    })
  }
  const drained: Effect.Effect<void> = Effect.async<void>((resume) => {
    if (buffer.length < capacity || end !== undefined) return resume(Effect.void)
    writers.push(resume)
    return Effect.sync(() => {
      writers = writers.filter((waiting) => waiting !== resume)
    })
  })
  const pull: Effect.Effect<Chunk.Chunk<A>, Option.Option<E>> = Effect.suspend(
    () =>
      take() ??
      Effect.async((resume) => {
        reader = resume
        if (buffer.length > 0 || end !== undefined) wake()
        return Effect.sync(() => {
          reader = undefined
        })
      })
  )

  return {
    push: (value) => {
      if (end !== undefined) return
      buffer.push(value)
      wake()
    },
    settle: () => (buffer.length >= capacity ? drained : undefined),
    done: (exit) => {
      if (end !== undefined) return
      end = exit
      release()
      wake()
    },
    stream: Stream.repeatEffectChunkOption(pull)
  }
}

/**
 * Shares embedding requests between fibers: a text that several fibers want at once is sent once, and texts of several
 * fibers are sent together.
 *
 * @private
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type { Service, Vector } from "./Embedder.js"
import { EmbeddingError } from "./Embedder.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly send: Service["embedMany"]
  /** How long the first text of a flight waits for others; without it, the flight departs at once. */
  readonly window?: Duration.DurationInput | undefined
  /** This many texts depart at once. */
  readonly maxBatchSize?: number | undefined
}

class Item {
  vector: Vector | undefined
  waiters = 0

  constructor(
    readonly text: string,
    readonly flight: Flight
  ) {}
}

class Flight {
  readonly items = new Map<string, Item>()
  readonly landed = Deferred.unsafeMake<void, EmbeddingError>(FiberId.none)
  /** Starts the flight, or holds its running fiber. */
  fiber: Fiber.RuntimeFiber<void, EmbeddingError> | undefined
  /** Items that somebody waits for. */
  wanted = 0
  hasDeparted = false
  isOver = false
}

/**
 * Provides `embedMany`. An interrupted call removes the texts that only it wanted from a flight that has not departed;
 * the last call to leave a departed flight interrupts it. When a flight fails with a permanent error, each of its calls
 * repeats the request for its own texts alone, so that no call fails because of another call's text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = ({ maxBatchSize, send, window }: Options): Service["embedMany"] => {
  const most = maxBatchSize ?? Number.POSITIVE_INFINITY
  const items = new Map<string, Item>()
  let boarding: Flight | undefined

  const remove = (item: Item): void => {
    if (items.get(item.text) === item) items.delete(item.text)
  }

  const close = (flight: Flight): void => {
    flight.hasDeparted = true
    if (boarding === flight) boarding = undefined
  }

  const land = (flight: Flight, exit: Exit.Exit<ReadonlyArray<Vector>, EmbeddingError>): void => {
    flight.isOver = true
    let at = 0
    for (const item of flight.items.values()) {
      remove(item)
      if (Exit.isSuccess(exit)) item.vector = exit.value[at++]
    }
    Deferred.unsafeDone(flight.landed, Exit.asVoid(exit))
  }

  const depart = (flight: Flight): Effect.Effect<void, EmbeddingError> =>
    Effect.suspend(() => {
      const texts = Array.from(flight.items.keys())
      const rows = Effect.filterOrFail(
        send(texts),
        (rows) => rows.length === texts.length,
        (rows) =>
          new EmbeddingError({ message: `An embedder returned ${rows.length} vectors for ${texts.length} texts` })
      )
      return Effect.asVoid(Effect.onExit(rows, (exit) => Effect.sync(() => land(flight, exit))))
    })

  const departLater = (flight: Flight, after: Duration.DurationInput): Effect.Effect<void, EmbeddingError> =>
    Effect.zipRight(
      Effect.sleep(after),
      Effect.suspend(() => {
        if (flight.hasDeparted) return Effect.void
        close(flight)
        return depart(flight)
      })
    )

  const launch = (flight: Flight, effect: Effect.Effect<void, EmbeddingError>): Effect.Effect<void> =>
    // The caller's region is uninterruptible here, and a fork would inherit that.
    Effect.map(Effect.forkDaemon(Effect.interruptible(effect)), (fiber) => {
      flight.fiber = fiber
    })

  const board = (texts: ReadonlySet<string>): ReadonlyArray<Item> => {
    const wanted: Array<Item> = []
    for (const text of texts) {
      let item = items.get(text)
      if (item === undefined) {
        boarding ??= new Flight()
        item = new Item(text, boarding)
        items.set(text, item)
        boarding.items.set(text, item)
      }
      if (item.waiters++ === 0) item.flight.wanted++
      wanted.push(item)
    }
    return wanted
  }

  /** Makes the flight depart in time. */
  const schedule = (flight: Flight): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (window !== undefined && flight.items.size < most) {
        return flight.fiber === undefined ? launch(flight, departLater(flight, window)) : Effect.void
      }
      const waiting = flight.fiber
      close(flight)
      const launched = launch(flight, depart(flight))
      return waiting === undefined ? launched : Effect.zipRight(Fiber.interruptFork(waiting), launched)
    })

  const leave = (wanted: ReadonlyArray<Item>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const empty: Array<Fiber.RuntimeFiber<void, EmbeddingError>> = []
      for (const item of wanted) {
        const { flight } = item
        if (--item.waiters > 0) continue
        flight.wanted--
        if (flight.isOver) continue
        if (!flight.hasDeparted) {
          flight.items.delete(item.text)
          remove(item)
        }
        if (flight.wanted > 0) continue
        close(flight)
        for (const other of flight.items.values()) remove(other)
        if (flight.fiber !== undefined) empty.push(flight.fiber)
      }
      return empty.length === 0 ? Effect.void : Effect.asVoid(Fiber.interruptAll(empty))
    })

  /** The vectors of these items of one flight. */
  const arrive = (flight: Flight, own: ReadonlyArray<Item>): Effect.Effect<ReadonlyArray<Vector>, EmbeddingError> =>
    Deferred.await(flight.landed).pipe(
      Effect.map(() => own.map((item) => item.vector as Vector)),
      Effect.catchAll((error) =>
        error.isRetryable || own.length === flight.items.size ? Effect.fail(error) : send(own.map((item) => item.text))
      )
    )

  return (texts) => {
    if (texts.length === 0) return Effect.succeed([])
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const wanted = board(new Set(texts))
        const flights = new Map<Flight, Array<Item>>()
        for (const item of wanted) {
          const own = flights.get(item.flight)
          if (own === undefined) flights.set(item.flight, [item])
          else own.push(item)
        }
        const vectors = new Map<string, Vector>()
        const arrived = Effect.forEach(
          flights,
          ([flight, own]) =>
            Effect.map(arrive(flight, own), (rows) => {
              for (const [i, item] of own.entries()) vectors.set(item.text, rows[i] as Vector)
            }),
          { discard: true }
        ).pipe(Effect.map(() => texts.map((text) => vectors.get(text) as Vector)))
        const scheduled = boarding !== undefined && flights.has(boarding) ? schedule(boarding) : Effect.void
        return Effect.zipRight(scheduled, Effect.ensuring(restore(arrived), leave(wanted)))
      })
    )
  }
}

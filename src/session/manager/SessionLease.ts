/**
 * The lease of a process. While it is renewed, other processes leave its open exchanges alone.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionWrites from "./SessionWrites.js"

/**
 * @category models
 */
export interface Lease {
  /**
   * Marks exchanges that other processes left open, unless that was done less than a third of a lease ago. Failures are
   * logged.
   */
  readonly sweep: Effect.Effect<void>
  /** The name of this process, with a valid lease; renewed in the background while anything is open. */
  readonly hold: (key: string) => Effect.Effect<string, SessionStorageError>
  /** Closes the key. Does nothing for a key that is not held. */
  readonly letGo: (key: string) => Effect.Effect<void>
  /** Releases the key, and runs `rest` in the background until it succeeds. Does nothing for a key that is not held. */
  readonly leave: (key: string, rest: Effect.Effect<unknown, SessionStorageError>) => Effect.Effect<void>
}

const shortest = 1000

/**
 * `sweep` marks exchanges that other processes left open: once when the layer is built, and then with every renewal. A
 * process with nothing open does nothing. Failures are logged and retried a third of a lease later. When the scope
 * closes, the lease is given up.
 *
 * @category constructors
 */
export const make = (
  store: Pick<SessionStore.Service, "lease">,
  millis: number,
  sweep: Effect.Effect<unknown, SessionStorageError>
): Effect.Effect<Lease, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lasting = Math.max(shortest, millis)
    const pause = lasting / 3
    const owner = yield* IdGenerator.generate
    const used = yield* Effect.makeLatch(false)
    const open = new Set<string>()
    const left = new Map<string, Effect.Effect<unknown, SessionStorageError>>()
    let until = 0
    let swept = yield* Clock.currentTimeMillis
    const renew = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.map(store.lease({ owner, until: now + lasting }), () => {
        until = now + lasting
      })
    )
    const warned = (text: string) => Effect.annotateLogs(Effect.logWarning(text), { module: "SessionManager" })
    // A defect of a store must not end the renewals, and neither must a call that it never answers.
    const logged = (what: string, effect: Effect.Effect<unknown, SessionStorageError>): Effect.Effect<void> =>
      SessionWrites.bounded("upkeep of exchanges", Effect.asVoid(effect)).pipe(
        Effect.catchAll(({ _tag }) => warned(`${what}: ${_tag}`)),
        Effect.catchAllDefect(() => warned(`${what}: defect`))
      )
    const marked = logged("Exchanges that other processes left open could not be marked", sweep)
    const sweepWhenDue = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (now - swept < pause) return Effect.void
      swept = now
      return marked
    })
    const retried = Effect.suspend(() =>
      Effect.forEach(
        Array.from(left),
        ([key, rest]) =>
          logged(
            "An exchange could not be closed",
            Effect.map(rest, () => left.get(key) === rest && left.delete(key))
          ),
        { discard: true }
      )
    )
    const round = Effect.suspend(() => {
      if (open.size > 0 || left.size > 0) {
        return logged("The lease could not be renewed", renew).pipe(
          Effect.zipRight(retried),
          Effect.zipRight(sweepWhenDue)
        )
      }
      // Atomic with the check: a key held later opens the latch again.
      used.unsafeClose()
      return Effect.void
    })
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() =>
        until === 0 ? Effect.void : logged("The lease could not be given up", store.lease({ owner, until: 0 }))
      )
    )
    yield* Effect.forkScoped(
      Effect.zipRight(
        marked,
        Effect.forever(used.await.pipe(Effect.zipRight(Effect.sleep(pause)), Effect.zipRight(round)))
      )
    )
    return {
      sweep: sweepWhenDue,
      hold: (key) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          open.add(key)
          const lasts = until - now > (lasting * 2) / 3 ? Effect.void : renew
          return Effect.onError(Effect.as(Effect.zipRight(lasts, used.open), owner), () =>
            Effect.sync(() => void open.delete(key))
          )
        }),
      letGo: (key) => Effect.sync(() => void open.delete(key)),
      leave: (key, rest) => Effect.sync(() => void (open.delete(key) && left.set(key, rest)))
    }
  })

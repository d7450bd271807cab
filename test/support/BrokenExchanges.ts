/** Case for session stores: an unreadable open exchange does not hide the others. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { RunId, SessionId, TurnId } from "../../src/domain/Ids.js"
import { type Exchange, NewTurn } from "../../src/session/turn/Session.js"
import type * as SessionStore from "../../src/session/turn/SessionStore.js"
import { session } from "../../src/testing/session/SessionFixtures.js"
import { created } from "../../src/testing/session/SessionStoreCase.js"

const exchange = (number: number): Exchange => ({
  sessionId: SessionId.make("s"),
  runId: RunId.make(`run ${number}`),
  owner: number < 4 ? "first" : "second",
  turns: [NewTurn.make({ id: TurnId.make(`turn ${number}`), role: "user", content: "question", timestamp: 1 })]
})

/** `damage` makes the texts of these exchanges unreadable. */
export const check = (
  store: SessionStore.Service,
  damage: (exchanges: ReadonlyArray<Exchange>) => Effect.Effect<unknown, unknown>
) =>
  Effect.gen(function* () {
    yield* created(store, session("s"))
    for (let number = 0; number < 6; number++) yield* store.open(exchange(number))
    yield* damage([0, 1, 2].map(exchange))
    yield* store.lease({ owner: "first", until: 1 })
    yield* store.lease({ owner: "second", until: 2 })
    const found = yield* store.orphans({ at: 10, limit: 100 })
    assert.sameMembers(
      found.map(({ runId }) => runId),
      [3, 4, 5].map((number) => `run ${number}`)
    )
    for (const one of found) yield* store.withdraw(one)
    assert.deepStrictEqual(yield* store.orphans({ at: 10, limit: 100 }), [])
    // More than requested precede the others.
    for (let number = 3; number < 6; number++) yield* store.open(exchange(number))
    const [one] = yield* store.orphans({ at: 10, limit: 1 })
    assert.include(["run 3", "run 4", "run 5"], one?.runId)
  })

import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionId } from "../../../src/domain/Ids.js"
import * as KeyValueSessionStore from "../../../src/session/keyvalue/KeyValueSessionStore.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import { SessionConflictError } from "../../../src/session/turn/SessionError.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import { behind, session, turnsOf } from "../../../src/testing/session/SessionFixtures.js"
import { created, some } from "../../../src/testing/session/SessionStoreCase.js"

const writers = 64
const each = 20

/** Fibers that read, let others go first, and write; again after a while when another was faster. */
const race = Effect.gen(function* () {
  const store = yield* SessionStore.SessionStore
  const id = SessionId.make("s")
  yield* created(store, session("s"))
  let lost = 0
  const add = (turn: string, pause: number): Effect.Effect<void, unknown> =>
    Effect.gen(function* () {
      const found = some(yield* store.load(id), "the session")
      yield* Effect.yieldNow()
      const turns = turnsOf(found, [turn])
      const isWritten = yield* Effect.as(store.append({ session: behind(found, turns), turns }), true).pipe(
        Effect.catchIf(
          (error) => error instanceof SessionConflictError,
          () => Effect.succeed(false)
        )
      )
      if (isWritten) return
      lost++
      for (let turn = 0; turn < pause; turn++) yield* Effect.yieldNow()
      yield* add(turn, (pause * 2) % 61)
    })
  yield* Effect.forEach(
    Array.from({ length: writers }, (_, writer) => writer),
    (writer) =>
      Effect.forEach(
        Array.from({ length: each }, (_, at) => `w${writer}-${at}`),
        (turn) => Effect.zipRight(Effect.yieldNow(), add(turn, 1 + ((writer * 7) % 61)))
      ),
    { concurrency: "unbounded", discard: true }
  )
  const after = some(yield* store.load(id), "the session")
  assert.strictEqual(after.depth, writers * each)
  assert.strictEqual(after.revision, writers * each)
  assert.strictEqual(after.totalTokens, writers * each)
  assert.isDefined(after.head)
  const turns = after.head === undefined ? [] : yield* store.turns(after.head, { limit: 10_000 })
  assert.deepStrictEqual(
    turns.map((turn) => turn.depth),
    Array.from({ length: writers * each }, (_, at) => at + 1)
  )
  assert.strictEqual(new Set(turns.map((turn) => turn.id)).size, writers * each)
  for (let writer = 0; writer < writers; writer++) {
    const own = turns.filter((turn) => turn.id.startsWith(`w${writer}-`)).map((turn) => turn.id as string)
    assert.deepStrictEqual(
      own,
      Array.from({ length: each }, (_, at) => `w${writer}-${at}`)
    )
  }
  return lost
})

const layers = [
  ["in memory", InMemorySessionStore.layer],
  ["in a key-value store", Layer.provide(KeyValueSessionStore.layer(), KeyValueStore.layerMemory)]
] as const

describe("64 writers of 20 turns each to one session", () => {
  for (const [where, layer] of layers) {
    it.effect(
      `lose none and duplicate none ${where} when they race`,
      () =>
        Effect.gen(function* () {
          assert.isAbove(yield* race, writers)
        }).pipe(Effect.provide(layer)),
      120_000
    )
  }
})

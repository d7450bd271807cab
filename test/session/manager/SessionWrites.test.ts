import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { RunId } from "../../../src/domain/Ids.js"
import * as SessionWriter from "../../../src/session/manager/SessionWriter.js"
import * as SessionWrites from "../../../src/session/manager/SessionWrites.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import { begin } from "../../../src/session/turn/Session.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as FaultyService from "../../../src/testing/FaultyService.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"

const { ada, sid, turn } = ManagedSessions
const id = sid("s1")
const session = begin(id, { at: 0, userId: ada })
const next = { ...session, revision: 1 }
const down = new SessionStorageError({ message: "The disk is away" })

const calls: {
  readonly [K in keyof SessionWrites.Writes]: (writes: SessionWrites.Writes) => Effect.Effect<unknown, unknown>
} = {
  append: (writes) => writes.append({ session: next, turns: [{ ...turn(1), sessionId: id, depth: 1 }] }),
  create: (writes) => writes.create({ session }),
  delete: (writes) => writes.delete(id),
  lease: (writes) => writes.lease({ owner: "o", until: 1 }),
  open: (writes) => writes.open({ sessionId: id, runId: RunId.make("r"), turns: [] }),
  save: (writes) => writes.save({ session: next })
}

const faulty = (
  store: SessionStore.Service,
  faults: FaultyService.Faults,
  only?: ReadonlyArray<keyof SessionStore.Service>
) => FaultyService.make(store, { seed: 1, ...faults, only, error: () => down })

const inMemory = Effect.provide(SessionStore.SessionStore, InMemorySessionStore.layer)

describe("SessionWrites", () => {
  for (const [name, call] of Object.entries(calls)) {
    it.effect(`fails a call of ${name} that is not answered within 60 s, where nothing else can interrupt it`, () =>
      Effect.gen(function* () {
        const writes = SessionWrites.make(faulty(yield* inMemory, { hang: 1 }))
        const fiber = yield* Effect.fork(Effect.uninterruptible(Effect.flip(call(writes))))
        yield* TestClock.adjust("59 seconds")
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust("1 second")
        const error = yield* Fiber.join(fiber)
        assert.instanceOf(error, SessionStorageError)
        assert.include((error as SessionStorageError).message, `did not answer \`${name}\` within 60 s`)
        assert.include((error as SessionStorageError).hint, "timeout")
      })
    )

    it.effect(`passes on what ${name} of the store gives and fails with`, () =>
      Effect.gen(function* () {
        const created = (store: SessionStore.Service) => (name === "create" ? Effect.void : store.create({ session }))
        const [one, other] = [yield* inMemory, yield* inMemory]
        yield* created(one)
        yield* created(other)
        assert.deepStrictEqual(yield* call(SessionWrites.make(one)), yield* call(other))
        assert.strictEqual(yield* Effect.flip(call(SessionWrites.make(faulty(other, { fail: 1 })))), down)
      })
    )
  }
})

describe("SessionWriter over a store that does not answer a write", () => {
  it.effect("frees the session for the next write", () =>
    Effect.gen(function* () {
      const store = yield* inMemory
      yield* store.create({ session })
      let hangs = true
      const once: SessionStore.Service = {
        ...store,
        save: (change) =>
          hangs
            ? Effect.zipRight(
                Effect.sync(() => (hangs = false)),
                Effect.never
              )
            : store.save(change)
      }
      const modify = Effect.flatMap(SessionWriter.SessionWriter, (writer) =>
        writer.modify(id, { userId: ada }, (session, now) =>
          Effect.succeed({
            _tag: "Save",
            value: session.revision,
            change: { session: { ...session, updatedAt: now, revision: session.revision + 1 } }
          } as const)
        )
      )
      yield* Effect.gen(function* () {
        const first = yield* Effect.fork(Effect.exit(modify))
        yield* Effect.yieldNow()
        const second = yield* Effect.fork(modify)
        yield* TestClock.adjust("1 minute")
        assert.isTrue(Exit.isFailure(yield* Fiber.join(first)))
        assert.strictEqual(yield* Fiber.join(second), 0)
      }).pipe(Effect.provide(Layer.provide(SessionWriter.layer, Layer.succeed(SessionStore.SessionStore, once))))
    })
  )
})

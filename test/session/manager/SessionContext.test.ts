import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SessionContext from "../../../src/session/manager/SessionContext.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { begin, type Session } from "../../../src/session/turn/Session.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import * as KeptSessions from "../../support/KeptSessions.js"

const ada = UserId.make("ada")
const eve = UserId.make("eve")

const session = (id: string, userId?: UserId): Session => begin(SessionId.make(id), { at: 0, userId })

const id: Effect.Effect<string> = Effect.map(SessionContext.option, (bound) =>
  Option.match(bound, { onNone: () => "none", onSome: (one) => one.id })
)

describe("SessionContext", () => {
  it.effect("has no binding outside and fails with its own error", () =>
    Effect.gen(function* () {
      assert.isTrue(Option.isNone(yield* SessionContext.option))
      for (const asked of [SessionContext.session, SessionContext.sessionId]) {
        const error = yield* Effect.flip(
          asked as Effect.Effect<unknown, { readonly _tag: string; readonly code: string }>
        )
        assert.deepStrictEqual([error._tag, error.code], ["SessionUnboundError", "LEX_ERR_SES_110"])
      }
      const error = yield* Effect.flip(SessionContext.current)
      assert.strictEqual(error._tag, "SessionUnboundError")
    }).pipe(Effect.provide(SessionManager.layerNoop))
  )

  it.effect("binds until the effect ends in any way, and restores the outer binding", () =>
    Effect.gen(function* () {
      const outer = session("outer", ada)
      const inner = SessionContext.bind(session("inner"))
      yield* SessionContext.bind(outer)(
        Effect.gen(function* () {
          assert.strictEqual(yield* SessionContext.session, outer)
          assert.strictEqual(yield* inner(SessionContext.sessionId), "inner")
          assert.strictEqual(yield* id, "outer")
          yield* Effect.exit(inner(Effect.fail("no")))
          yield* Effect.exit(inner(Effect.die("no")))
          yield* Effect.exit(inner(Effect.interrupt))
          assert.strictEqual(yield* id, "outer")
          assert.strictEqual(yield* SessionContext.isolated(id), "none")
          assert.strictEqual(yield* id, "outer")
        })
      )
      assert.strictEqual(yield* id, "none")
    })
  )

  it.effect("keeps the sessions of a hundred fibers apart at every step", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const seen = (name: string) =>
        SessionContext.bind(session(name))(
          Effect.gen(function* () {
            const before = yield* id
            yield* Deferred.await(gate)
            yield* Effect.yieldNow()
            const nested = yield* SessionContext.bind(session(`${name}-nested`))(Effect.zipRight(Effect.yieldNow(), id))
            return [before, nested, yield* id]
          })
        )
      const names = Array.from({ length: 100 }, (_, index) => `s${index}`)
      const fibers = yield* Effect.forEach(names, (name) => Effect.fork(seen(name)))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(
        yield* Effect.forEach(fibers, Fiber.join),
        names.map((name) => [name, `${name}-nested`, name])
      )
      assert.strictEqual(yield* id, "none")
    })
  )

  it.effect("is inherited by forked fibers, concurrent effects and streams", () =>
    SessionContext.bind(session("s"))(
      Effect.gen(function* () {
        assert.strictEqual(yield* Effect.flatMap(Effect.fork(id), Fiber.join), "s")
        assert.strictEqual(yield* Effect.flatMap(Effect.forkDaemon(id), Fiber.join), "s")
        assert.deepStrictEqual(yield* Effect.all([id, id, id], { concurrency: "unbounded" }), ["s", "s", "s"])
        assert.strictEqual(yield* Effect.race(Effect.never, id), "s")
        const streamed = Stream.range(1, 3).pipe(
          Stream.mapEffect(() => id, { concurrency: 3 }),
          Stream.buffer({ capacity: 2 })
        )
        assert.deepStrictEqual(Array.from(yield* Stream.runCollect(streamed)), ["s", "s", "s"])
      })
    )
  )

  it.effect("stays with a fiber as it was at the fork", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const fiber = yield* SessionContext.bind(session("s"))(
        Effect.forkDaemon(Effect.zipRight(Deferred.await(gate), id))
      )
      assert.strictEqual(yield* id, "none")
      yield* SessionContext.bind(session("other"))(Deferred.succeed(gate, undefined))
      assert.strictEqual(yield* Fiber.join(fiber), "s")
    })
  )

  it.effect("keeps the bound record and reads the current one for its own user", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const created = yield* sessions.create({ userId: ada, variables: { a: 1 } })
      yield* SessionContext.bind(created)(
        Effect.gen(function* () {
          yield* sessions.update(created.id, { userId: ada, variables: { a: 2 } })
          assert.deepStrictEqual((yield* SessionContext.session).variables, { a: 1 })
          assert.deepStrictEqual((yield* SessionContext.current).variables, { a: 2 })
          yield* sessions.close(created.id, { userId: ada })
          assert.strictEqual((yield* SessionContext.current).status, "closed")
          yield* sessions.delete(created.id, { userId: ada })
          const error = yield* Effect.flip(SessionContext.current)
          assert.deepInclude(error, { _tag: "SessionNotFoundError", sessionId: created.id })
        })
      )
      const mine = yield* sessions.create({ userId: ada })
      const stolen = yield* Effect.flip(SessionContext.bind({ ...mine, userId: eve })(SessionContext.current))
      assert.strictEqual(stolen._tag, "SessionNotFoundError")
    }).pipe(Effect.provide(KeptSessions.layer))
  )
})

describe("SessionContext.getOrCreate", () => {
  it.effect("returns the bound session as stored if it is the user's and live", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const bound = yield* sessions.create({ userId: ada })
      yield* SessionContext.bind(bound)(
        Effect.gen(function* () {
          yield* sessions.update(bound.id, { userId: ada, variables: { a: 2 } })
          const found = yield* SessionContext.getOrCreate(ada, { variables: { a: 9 } })
          assert.deepStrictEqual([found.id, found.variables], [bound.id, { a: 2 }])
          yield* sessions.suspend(bound.id, { userId: ada })
          assert.deepInclude(yield* SessionContext.getOrCreate(ada), { id: bound.id, status: "suspended" })
        })
      )
      assert.strictEqual((yield* sessions.list(ada)).sessions.length, 1)
    }).pipe(Effect.provide(KeptSessions.layer))
  )

  it.effect("ignores an ended or another user's session and creates a new one once per user", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const bound = yield* sessions.create({ userId: ada })
      const nobodys = yield* sessions.create()
      yield* SessionContext.bind(nobodys)(
        Effect.map(SessionContext.getOrCreate(ada), ({ id }) => assert.notStrictEqual(id, nobodys.id))
      )
      yield* SessionContext.bind(bound)(
        Effect.gen(function* () {
          const other = yield* SessionContext.getOrCreate(eve, { systemPrompt: "Be short.", variables: { a: 1 } })
          assert.deepInclude(other, { userId: eve, systemPrompt: "Be short.", variables: { a: 1 } })
          assert.strictEqual((yield* SessionContext.getOrCreate(eve)).id, other.id)
          assert.strictEqual((yield* SessionContext.getOrCreate(ada)).id, bound.id)
          yield* sessions.close(bound.id, { userId: ada })
          const next = yield* SessionContext.getOrCreate(ada)
          assert.notStrictEqual(next.id, bound.id)
          assert.strictEqual((yield* SessionContext.getOrCreate(ada)).id, next.id)
          assert.strictEqual(yield* SessionContext.sessionId, bound.id)
          yield* sessions.close(next.id, { userId: next.userId })
          assert.notStrictEqual((yield* SessionContext.getOrCreate(ada)).id, next.id)
        })
      )
      assert.strictEqual((yield* sessions.list(eve)).sessions.length, 1)
    }).pipe(Effect.provide(KeptSessions.layer))
  )

  it.effect("creates one session for a hundred concurrent calls in a binding", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const many = Effect.all(
        Array.from({ length: 100 }, (_, index) => SessionContext.getOrCreate(index % 2 === 0 ? ada : eve)),
        { concurrency: "unbounded" }
      )
      const made = yield* SessionContext.isolated(many)
      assert.strictEqual(new Set(made.map(({ id }) => id)).size, 2)
      assert.strictEqual((yield* sessions.list(ada)).sessions.length, 1)
      assert.strictEqual((yield* sessions.list(eve)).sessions.length, 1)
      yield* SessionContext.isolated(SessionContext.getOrCreate(ada))
      assert.strictEqual((yield* sessions.list(ada)).sessions.length, 2)
    }).pipe(Effect.provide(KeptSessions.layer))
  )

  it.effect("binds the first session created in isolated work, also for surrounding fibers", () =>
    Effect.gen(function* () {
      const bound = yield* SessionContext.isolated(
        Effect.gen(function* () {
          const made = yield* Effect.flatMap(Effect.fork(SessionContext.getOrCreate(ada)), Fiber.join)
          yield* SessionContext.getOrCreate(eve)
          assert.strictEqual(yield* SessionContext.sessionId, made.id)
          return made
        })
      )
      assert.strictEqual(bound.userId, ada)
      assert.strictEqual(yield* id, "none")
    }).pipe(Effect.provide(KeptSessions.layer))
  )

  it.effect("creates another session per call without a binding", () =>
    Effect.gen(function* () {
      const first = yield* SessionContext.getOrCreate(ada)
      const second = yield* SessionContext.getOrCreate(ada)
      assert.notStrictEqual(first.id, second.id)
    }).pipe(Effect.provide(KeptSessions.layer))
  )

  it.effect("lets others create a session after a failure or an interruption", () =>
    Effect.gen(function* () {
      const kept = yield* SessionManager.SessionManager
      const gate = yield* Deferred.make<void>()
      let calls = 0
      const first = Effect.suspend(() => {
        calls++
        return calls === 1
          ? Effect.zipRight(Deferred.succeed(gate, undefined), Effect.never)
          : calls === 2
            ? Effect.fail(new SessionStorageError({ message: "the disk is full" }))
            : Effect.void
      })
      const sessions: SessionManager.Service = {
        ...kept,
        create: (options) => Effect.zipRight(first, kept.create(options))
      }
      yield* SessionContext.isolated(
        Effect.gen(function* () {
          const hanging = yield* Effect.fork(SessionContext.getOrCreate(ada))
          yield* Deferred.await(gate)
          const waiting = yield* Effect.fork(Effect.flip(SessionContext.getOrCreate(ada)))
          yield* Effect.yieldNow()
          yield* Fiber.interrupt(hanging)
          assert.strictEqual((yield* Fiber.join(waiting))._tag, "SessionStorageError")
          assert.strictEqual((yield* SessionContext.getOrCreate(ada)).userId, ada)
        })
      ).pipe(Effect.provide(Context.make(SessionManager.SessionManager, sessions)))
      assert.strictEqual((yield* kept.list(ada)).sessions.length, 1)
    }).pipe(Effect.provide(KeptSessions.layer))
  )
})

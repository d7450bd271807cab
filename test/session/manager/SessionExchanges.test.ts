import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { RunId, TurnId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import type * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import type { NewTurn } from "../../../src/session/turn/Session.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import { CountingSessionStore, layer as counting } from "../../support/CountingSessionStore.js"
import { ada, bob, layer, sid, storeWith, Told, turn, words } from "../../support/ManagedSessions.js"

const manager = SessionManager.SessionManager
const id = sid("s")
const runId = RunId.make("r")
const ref = { sessionId: id, runId }
const question = turn(1, { id: TurnId.make("r:user"), content: "what?" })
const answer = turn(2, { id: TurnId.make("r:assistant"), role: "assistant", content: "that" })
const both = [question, answer]

const kept = Effect.map(
  Effect.flatMap(SessionStore.SessionStore, (store) => store.exchange(ref)),
  Option.isSome
)
const all = Effect.flatMap(manager, (sessions) => sessions.turns(id, { last: 100 }))
const marks = Effect.map(all, (turns) => turns.map(({ content, unanswered }) => `${content} ${unanswered ?? "-"}`))
const begun = (turns: ReadonlyArray<NewTurn> = [question]) =>
  Effect.gen(function* () {
    const sessions = yield* manager
    yield* sessions.create({ id })
    yield* sessions.beginExchange(id, { runId, turns })
    return sessions
  })

/** Another process over the same store, for as long as its scope. */
const another = (options?: DefaultSessionManager.Options) =>
  Effect.flatMap(SessionStore.SessionStore, (store) =>
    Effect.map(
      Layer.build(Layer.fresh(layer(options, { store: Layer.succeed(SessionStore.SessionStore, store) }))),
      (context) => Effect.provide(manager, context)
    )
  )

const broken = new SessionStorageError({ message: "The disk is full", hint: "Make room" })

/** Fails the named writes as long as `fails` has them. */
const failing = (fails: Set<string>) =>
  storeWith((store) => ({
    open: (exchange) => (fails.has("open") ? Effect.fail(broken) : store.open(exchange)),
    append: (addition) => (fails.has("append") ? Effect.fail(broken) : store.append(addition)),
    lease: (options) => (fails.has("lease") ? Effect.fail(broken) : store.lease(options))
  }))

describe("SessionManager exchanges", () => {
  it.effect("keeps the question out of the conversation until one write stores it with the answer", () => {
    const told = new Told()
    return Effect.gen(function* () {
      const sessions = yield* begun()
      assert.deepStrictEqual(yield* words(id), [])
      yield* sessions.addTurn(id, turn(9))
      const { revision } = Option.getOrThrow(yield* sessions.get(id))
      const turns = yield* sessions.endExchange(id, { runId, turns: both })
      assert.deepStrictEqual(
        turns.map(({ depth, id }) => [depth, id]),
        [
          [2, question.id],
          [3, answer.id]
        ]
      )
      assert.deepStrictEqual(yield* words(id), ["t9", "what?", "that"])
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id)).revision, revision + 1)
      assert.isFalse(yield* kept)
      assert.deepStrictEqual(
        told.entries.map(({ content }) => content),
        ["t9", "what?", "that"]
      )
    }).pipe(SystemAccess.grant, Effect.provide(layer({}, { told })))
  })

  it.effect("changes nothing when ended again with the same turns, and conflicts with others", () =>
    Effect.gen(function* () {
      const sessions = yield* begun()
      const first = yield* sessions.endExchange(id, { runId, turns: both })
      assert.deepStrictEqual(yield* sessions.endExchange(id, { runId, turns: both }), first)
      const later = both.map((one) => ({ ...one, timestamp: 99, model: "other" }))
      assert.deepStrictEqual(yield* sessions.endExchange(id, { runId, turns: later }), first)
      for (const changed of [
        [question, { ...answer, content: "this" }],
        [{ ...question, content: "who?" }, answer],
        [
          { ...question, content: "who?" },
          { ...answer, id: TurnId.make("r:other") }
        ]
      ]) {
        const error = yield* Effect.flip(sessions.endExchange(id, { runId, turns: changed }))
        assert.strictEqual(error._tag, "SessionConflictError")
      }
      assert.deepStrictEqual(yield* words(id), ["what?", "that"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("conflicts with an end that a restore removed", () =>
    Effect.gen(function* () {
      const sessions = yield* begun()
      const checkpoint = yield* sessions.checkpoint(id)
      yield* sessions.endExchange(id, { runId, turns: both })
      yield* sessions.restore(checkpoint.id)
      const error = yield* Effect.flip(sessions.endExchange(id, { runId, turns: both }))
      assert.strictEqual(error._tag, "SessionConflictError")
      assert.deepStrictEqual(yield* words(id), [])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("ends an inherited exchange in a branch without a duplicate turn id", () =>
    Effect.gen(function* () {
      const sessions = yield* begun()
      const first = yield* sessions.endExchange(id, { runId, turns: both })
      const branch = yield* (yield* BranchManager.BranchManager).fork(id)
      assert.deepStrictEqual(yield* sessions.endExchange(branch.id, { runId, turns: both }), first)
      const error = yield* Effect.flip(
        sessions.endExchange(branch.id, { runId, turns: [question, { ...answer, content: "this" }] })
      )
      assert.strictEqual(error._tag, "SessionConflictError")
      assert.deepStrictEqual(yield* words(branch.id), ["what?", "that"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("rejects two turns with one id and keeps the question", () =>
    Effect.gen(function* () {
      const sessions = yield* begun()
      const twice = { runId, turns: [question, { ...answer, id: question.id }] }
      assert.strictEqual((yield* Effect.flip(sessions.beginExchange(id, twice)))._tag, "SessionInputError")
      assert.strictEqual((yield* Effect.flip(sessions.endExchange(id, twice)))._tag, "SessionInputError")
      assert.deepStrictEqual(yield* marks, ["what? failed"])
      assert.isFalse(yield* kept)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("takes the answer of a session closed in the meantime, and keeps it closed", () =>
    Effect.gen(function* () {
      const sessions = yield* begun()
      yield* sessions.close(id)
      yield* sessions.endExchange(id, { runId, turns: both })
      assert.deepStrictEqual(yield* words(id), ["what?", "that"])
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id)).status, "closed")
      const other = yield* Effect.flip(sessions.endExchange(id, { runId: RunId.make("never"), turns: [turn(7)] }))
      assert.strictEqual(other._tag, "SessionClosedError")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("refuses a session that is suspended, closed, full or another user's", () =>
    Effect.gen(function* () {
      const sessions = yield* manager
      const tagOf = (effect: Effect.Effect<unknown, { readonly _tag: string }>) =>
        Effect.map(Effect.flip(effect), ({ _tag }) => _tag)
      const given = { runId, turns: [question] }
      assert.strictEqual(yield* tagOf(sessions.beginExchange(id, given)), "SessionNotFoundError")
      yield* sessions.create({ id, userId: ada })
      for (const access of [{ userId: bob }, {}]) {
        assert.strictEqual(yield* tagOf(sessions.beginExchange(id, { ...given, ...access })), "SessionNotFoundError")
      }
      yield* sessions.beginExchange(id, { ...given, userId: ada })
      for (const access of [{ userId: bob }, {}]) {
        const turns = [question, { ...answer, content: 1 as never }]
        for (const said of [both, turns]) {
          const ended = sessions.endExchange(id, { runId, turns: said, ...access })
          assert.include(["SessionNotFoundError", "SessionInputError"], yield* tagOf(ended))
        }
      }
      assert.isTrue(yield* kept)
      yield* sessions.endExchange(id, { runId, turns: [question], userId: ada })
      const again = { runId: RunId.make("r2"), turns: [turn(5)], userId: ada }
      assert.strictEqual(yield* tagOf(sessions.beginExchange(id, again)), "SessionCapacityError")
      yield* sessions.suspend(id, { userId: ada })
      assert.strictEqual(yield* tagOf(sessions.beginExchange(id, again)), "SessionTransitionError")
      yield* sessions.close(id, { userId: ada })
      assert.strictEqual(yield* tagOf(sessions.beginExchange(id, again)), "SessionClosedError")
    }).pipe(Effect.provide(layer({ maxTurnsPerSession: 2 })))
  )
})

const counted = Layer.unwrapEffect(
  Effect.map(Layer.memoize(counting(InMemorySessionStore.layer)), (store) => Layer.merge(layer({}, { store }), store))
).pipe(Layer.provide(Layer.scope))

describe("exchanges of an ended process", () => {
  it.scoped("are marked as interrupted after the lease expired, not before", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore.SessionStore
      const sessions = yield* manager
      yield* sessions.create({ id })
      yield* store.open({ ...ref, owner: "dead", turns: [question] })
      yield* store.lease({ owner: "dead", until: 30_000 })
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(yield* SystemAccess.grant(sessions.recover), [])
      yield* TestClock.adjust("1 second")
      // It tells what anybody asked: without the capability nothing is done.
      assert.strictEqual((yield* Effect.flip(sessions.recover))._tag, "SessionInputError")
      const [marked, ...others] = yield* SystemAccess.grant(sessions.recover)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(marked, { content: "what?", unanswered: "interrupted", depth: 1 })
      assert.deepStrictEqual(yield* SystemAccess.grant(sessions.recover), [])
      assert.isFalse(yield* kept)
    }).pipe(Effect.provide(layer()))
  )

  it.scoped("renews its lease only while something is open", () =>
    Effect.gen(function* () {
      const { take } = yield* CountingSessionStore
      const sessions = yield* begun()
      const watcher = yield* yield* another()
      yield* take
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* SystemAccess.grant(watcher.recover), [])
      // A minute's lease is renewed every 20 seconds.
      const { calls } = yield* take
      assert.strictEqual(calls["lease"], 30)
      yield* sessions.endExchange(id, { runId, turns: both })
      yield* TestClock.adjust("20 seconds")
      yield* take
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual((yield* take).calls, {})
      assert.deepStrictEqual(yield* words(id), ["what?", "that"])
    }).pipe(Effect.provide(counted))
  )

  it.scoped("gives its lease up at the end, and the next process marks what it left", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sessions = yield* yield* another()
          yield* sessions.create({ id })
          yield* sessions.beginExchange(id, { runId, turns: [question] })
        })
      )
      yield* yield* another()
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* marks, ["what? interrupted"])
    }).pipe(Effect.provide(layer()))
  )

  it.scoped("shows the marked question to a run of the session without another start", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore.SessionStore
      const sessions = yield* manager
      yield* sessions.create({ id })
      yield* store.open({ ...ref, owner: "dead", turns: [question] })
      yield* TestClock.adjust("21 seconds")
      yield* sessions.beginExchange(id, { runId: RunId.make("r2"), turns: [turn(5)] })
      assert.deepStrictEqual(yield* marks, ["what? interrupted"])
    }).pipe(Effect.provide(layer()))
  )

  it.scoped("stores a late answer next to its question", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore.SessionStore
      const sessions = yield* begun()
      const watcher = yield* yield* another()
      // The process stood still: its lease has ended.
      const { owner } = Option.getOrThrow(yield* store.exchange(ref))
      yield* store.lease({ owner: owner ?? "", until: 0 })
      assert.strictEqual((yield* SystemAccess.grant(watcher.recover)).length, 1)
      yield* watcher.addTurn(id, turn(7))
      yield* sessions.endExchange(id, { runId, turns: both })
      const said = ["what? interrupted", "t7 -", "what? -", "that -"]
      assert.deepStrictEqual(yield* marks, said)
      yield* sessions.endExchange(id, { runId, turns: both })
      assert.deepStrictEqual(yield* marks, said)
      assert.isFalse(yield* kept)
    }).pipe(Effect.provide(layer()))
  )

  it.scoped("leaves a durable exchange to its end, whichever process runs it", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sessions = yield* yield* another({ sessionTtl: 0 })
          yield* sessions.create({ id })
          yield* sessions.beginExchange(id, { runId, turns: [question], durable: true })
        })
      )
      const sessions = yield* yield* another({ sessionTtl: 0 })
      yield* TestClock.adjust("3 days")
      assert.deepStrictEqual(yield* SystemAccess.grant(sessions.recover), [])
      // The replay in another process.
      yield* sessions.beginExchange(id, { runId, turns: [question], durable: true })
      yield* sessions.endExchange(id, { runId, turns: both })
      assert.deepStrictEqual(yield* words(id), ["what?", "that"])
      yield* sessions.beginExchange(id, { runId, turns: [question], durable: true })
      yield* sessions.endExchange(id, { runId, turns: both })
      assert.deepStrictEqual(yield* words(id), ["what?", "that"])
      assert.isFalse(yield* kept)
    }).pipe(Effect.provide(layer({ sessionTtl: 0 })))
  )

  it.scoped("marks the others when one cannot be marked", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore.SessionStore
      const sessions = yield* manager
      for (const name of ["bad", "s"]) {
        yield* sessions.create({ id: sid(name) })
        yield* store.open({ sessionId: sid(name), runId, owner: "dead", turns: [question] })
      }
      assert.strictEqual((yield* Effect.flip(SystemAccess.grant(sessions.recover))).message, broken.message)
      assert.deepStrictEqual(yield* marks, ["what? interrupted"])
    }).pipe(
      Effect.provide(
        layer(
          {},
          {
            store: storeWith((store) => ({
              append: (addition) => (addition.session.id === "bad" ? Effect.fail(broken) : store.append(addition))
            }))
          }
        )
      )
    )
  )
})

describe("exchanges on a failing store", () => {
  it.scoped("fail to open without leaving anything to renew", () => {
    const fails = new Set(["open"])
    return Effect.gen(function* () {
      const sessions = yield* manager
      yield* sessions.create({ id })
      const open = sessions.beginExchange(id, { runId, turns: [question] })
      assert.strictEqual((yield* Effect.flip(open))._tag, "SessionStorageError")
      fails.clear()
      yield* TestClock.adjust("1 minute")
      fails.add("lease")
      assert.strictEqual((yield* Effect.flip(open))._tag, "SessionStorageError")
      assert.isFalse(yield* kept)
      assert.deepStrictEqual(yield* words(id), [])
    }).pipe(Effect.provide(layer({}, { store: failing(fails) })))
  })

  it.scoped("write a failed answer in the background, with its question", () => {
    const fails = new Set<string>()
    return Effect.gen(function* () {
      const sessions = yield* begun()
      fails.add("append")
      const error = yield* Effect.flip(sessions.endExchange(id, { runId, turns: both }))
      assert.strictEqual(error._tag, "SessionStorageError")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* words(id), [])
      assert.isTrue(yield* kept)
      fails.clear()
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* words(id), ["what?", "that"])
      assert.isFalse(yield* kept)
    }).pipe(Effect.provide(layer({}, { store: failing(fails) })))
  })

  it.scoped("keep renewing after a defect of the store", () => {
    let isBroken = false
    const store = storeWith((store) => ({
      lease: (options) => (isBroken ? Effect.dieMessage("a bug") : store.lease(options))
    }))
    return Effect.gen(function* () {
      yield* begun()
      const watcher = yield* yield* another()
      isBroken = true
      yield* TestClock.adjust("20 seconds")
      isBroken = false
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* SystemAccess.grant(watcher.recover), [])
    }).pipe(Effect.provide(layer({}, { store })))
  })

  it.scoped("finish an end in the background that was interrupted while the store hung", () => {
    let hangs = false
    const store = storeWith((store) => ({
      load: (id) => (hangs ? Effect.never : store.load(id))
    }))
    return Effect.gen(function* () {
      const sessions = yield* begun()
      hangs = true
      const fiber = yield* Effect.fork(sessions.endExchange(id, { runId, turns: both }))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      hangs = false
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* words(id), ["what?", "that"])
    }).pipe(Effect.provide(layer({}, { store })))
  })

  it.scoped("keep the caller's permissions in the background", () => {
    const fails = new Set<string>()
    return Effect.gen(function* () {
      const sessions = yield* manager
      yield* sessions.create({ id, userId: ada })
      const granted = SystemAccess.grant(sessions.beginExchange(id, { runId, turns: [question] }))
      yield* granted
      fails.add("append")
      const ended = sessions.endExchange(id, { runId, turns: both })
      yield* Effect.flip(SystemAccess.grant(ended))
      fails.clear()
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* SystemAccess.grant(words(id)), ["what?", "that"])
    }).pipe(Effect.provide(layer({}, { store: failing(fails) })))
  })
})

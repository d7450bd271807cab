import { assert, describe } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as SessionWriter from "../../../src/session/manager/SessionWriter.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import { begin, type Session, type SessionTurn } from "../../../src/session/turn/Session.js"
import { SessionConflictError, SessionStorageError } from "../../../src/session/turn/SessionError.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"
import * as SystemTest from "../../support/SystemTest.js"

const { ada, bob, sid, turn } = ManagedSessions
const id = sid("s1")

const conflict = new SessionConflictError({
  message: "lost",
  sessionId: id,
  expected: "revision 0",
  actual: "revision 1"
})

const over = (store: Layer.Layer<SessionStore.SessionStore>) => Layer.provideMerge(SessionWriter.layer, store)

const created = Effect.flatMap(SessionStore.SessionStore, (store) =>
  store.create({
    session: begin(id, { at: 0, userId: ada })
  })
)

const counting = (session: Session, now: number): Effect.Effect<SessionWriter.Decision<number>> => {
  const count = Number(session.variables["count"] ?? 0) + 1
  const next = { ...session, variables: { count }, updatedAt: now, revision: session.revision + 1 }
  return Effect.succeed({ _tag: "Save", value: count, change: { session: next } })
}

const appending = (
  session: Session,
  n: number
): SessionWriter.Decision<{ readonly turn: SessionTurn; readonly isNew: boolean }> => {
  const added: SessionTurn = { ...turn(n), sessionId: id, depth: session.depth + 1 }
  return {
    _tag: "Append",
    value: { turn: added, isNew: true },
    known: ([known = added]) => Effect.succeed({ turn: known, isNew: false }),
    addition: {
      turns: [added],
      session: {
        ...session,
        head: { sessionId: id, turnId: added.id },
        depth: added.depth,
        revision: session.revision + 1
      }
    }
  }
}

/** So many writes come too late. */
const losing = (times: number) => {
  let lost = 0
  const lose = <A, E>(write: Effect.Effect<A, E>) =>
    Effect.suspend((): Effect.Effect<A, E | SessionConflictError> => (lost++ < times ? conflict : write))
  return ManagedSessions.storeWith((store) => ({
    save: (change) => lose(store.save(change)),
    append: (addition) => lose(store.append(addition))
  }))
}

describe("SessionWriter.find", () => {
  SystemTest.effect("finds a session for its user and for callers without a user", () =>
    Effect.gen(function* () {
      const { find } = yield* SessionWriter.SessionWriter
      const { session } = yield* created
      assert.deepStrictEqual(yield* find(id, { userId: ada }), session)
      assert.deepStrictEqual(yield* find(id, undefined), session)
      const others = yield* Effect.flip(find(id, { userId: bob }))
      const nobodys = yield* Effect.flip(find(sid("s2"), { userId: bob }))
      // The two are not told apart.
      assert.deepStrictEqual({ ...others, sessionId: "" }, { ...nobodys, sessionId: "" })
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  )
})

describe("SessionWriter.modify", () => {
  SystemTest.effect("decides on the stored state and writes", () =>
    Effect.gen(function* () {
      const { find, modify } = yield* SessionWriter.SessionWriter
      yield* created
      yield* TestClock.setTime(9)
      assert.strictEqual(yield* modify(id, undefined, counting), 1)
      assert.strictEqual(yield* modify(id, { userId: ada }, counting), 2)
      const session = yield* find(id, undefined)
      assert.deepInclude(session, { variables: { count: 2 }, updatedAt: 9, revision: 2 })
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  )

  SystemTest.effect("decides a lost race again on the new state", () =>
    Effect.gen(function* () {
      const { modify, store } = yield* SessionWriter.SessionWriter
      yield* created
      const seen: Array<number> = []
      const value = yield* modify(id, undefined, (session, now) => {
        seen.push(session.revision)
        const decided = counting(session, now)
        // Somebody in another process is faster, twice.
        return seen.length > 2
          ? decided
          : Effect.tap(decided, (decision) => (decision._tag === "Save" ? store.save(decision.change) : Effect.void))
      })
      assert.deepStrictEqual(seen, [0, 1, 2])
      assert.strictEqual(value, 3)
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  )

  SystemTest.effect("makes a late addition again and returns known turns", () =>
    Effect.gen(function* () {
      const { modify } = yield* SessionWriter.SessionWriter
      yield* created
      const first = yield* modify(id, undefined, (session) => Effect.succeed(appending(session, 1)))
      const again = yield* modify(id, undefined, (session) => Effect.succeed(appending(session, 1)))
      assert.isTrue(first.isNew)
      assert.deepStrictEqual(again, { turn: first.turn, isNew: false })
    }).pipe(Effect.provide(over(losing(2))))
  )

  SystemTest.effect("writes nothing when there is nothing to write", () =>
    Effect.gen(function* () {
      const { find, modify } = yield* SessionWriter.SessionWriter
      const { session } = yield* created
      assert.strictEqual(
        yield* modify(id, undefined, () => Effect.succeed({ _tag: "Keep" as const, value: "as it is" })),
        "as it is"
      )
      assert.deepStrictEqual(yield* find(id, undefined), session)
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  )

  SystemTest.effect("survives 199 lost races in a row", () =>
    Effect.gen(function* () {
      const { modify } = yield* SessionWriter.SessionWriter
      yield* created
      const writing = yield* Effect.fork(modify(id, undefined, counting))
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* Fiber.join(writing), 1)
    }).pipe(Effect.provide(over(losing(199))))
  )

  SystemTest.effect("gives up after 200, with a hint to retry later", () =>
    Effect.gen(function* () {
      const { find, modify } = yield* SessionWriter.SessionWriter
      const { session } = yield* created
      const writing = yield* Effect.fork(Effect.flip(modify(id, undefined, counting)))
      yield* TestClock.adjust("2 minutes")
      const error = yield* Fiber.join(writing)
      assert.strictEqual(error._tag, "SessionStorageError")
      assert.include(error.hint, "later")
      assert.deepStrictEqual(yield* find(id, undefined), session)
    }).pipe(Effect.provide(over(losing(Number.POSITIVE_INFINITY))))
  )

  SystemTest.effect("passes on a conflict of the decision itself", () => {
    let decided = 0
    return Effect.gen(function* () {
      const { modify } = yield* SessionWriter.SessionWriter
      yield* created
      const error = yield* Effect.flip(
        modify(id, undefined, () => {
          decided++
          return Effect.fail(conflict)
        })
      )
      assert.strictEqual(error, conflict)
      assert.strictEqual(decided, 1)
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  })

  SystemTest.effect("does not retry failures of the store", () => {
    let tried = 0
    const broken = new SessionStorageError({ message: "disk full" })
    const store = ManagedSessions.storeWith(() => ({
      save: () =>
        Effect.suspend(() => {
          tried++
          return Effect.fail(broken)
        })
    }))
    return Effect.gen(function* () {
      const { modify } = yield* SessionWriter.SessionWriter
      yield* created
      assert.strictEqual(yield* Effect.flip(modify(id, undefined, counting)), broken)
      assert.strictEqual(tried, 1)
    }).pipe(Effect.provide(over(store)))
  })

  SystemTest.effect("serializes writers of one session in a process, but not of two sessions", () => {
    let lost = 0
    const store = ManagedSessions.storeWith((store) => ({
      // A store that takes its time would let everybody lose who does not wait.
      save: (change) =>
        Effect.tapError(Effect.zipRight(Effect.yieldNow(), store.save(change)), () => Effect.sync(() => lost++))
    }))
    return Effect.gen(function* () {
      const { find, modify } = yield* SessionWriter.SessionWriter
      yield* created
      yield* Effect.all(
        Array.from({ length: 30 }, () => modify(id, undefined, counting)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(lost, 0)
      assert.deepStrictEqual((yield* find(id, undefined)).variables, { count: 30 })
      const gate = yield* Deferred.make<void>()
      const waiting = yield* Effect.fork(
        modify(id, undefined, (session, now) => Effect.zipRight(Deferred.await(gate), counting(session, now)))
      )
      yield* Effect.yieldNow()
      assert.strictEqual((yield* Effect.flip(modify(sid("s2"), undefined, counting)))._tag, "SessionNotFoundError")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(yield* Fiber.join(waiting), 31)
    }).pipe(Effect.provide(over(store)))
  })

  SystemTest.effect("frees the session when a writer is interrupted, fails or dies", () =>
    Effect.gen(function* () {
      const { modify } = yield* SessionWriter.SessionWriter
      yield* created
      const stuck = yield* Effect.fork(modify(id, undefined, () => Effect.never))
      yield* Effect.yieldNow()
      const waiting = yield* Effect.fork(modify(id, undefined, counting))
      const leaving = yield* Effect.fork(modify(id, undefined, counting))
      yield* Effect.repeatN(Effect.yieldNow(), 10)
      yield* Fiber.interrupt(leaving)
      assert.isNull(waiting.unsafePoll())
      yield* Fiber.interrupt(stuck)
      assert.strictEqual(yield* Fiber.join(waiting), 1)
      yield* Effect.exit(modify(id, undefined, () => Effect.die("no")))
      yield* Effect.exit(modify(id, undefined, () => Effect.fail("no")))
      assert.strictEqual(yield* modify(id, undefined, counting), 2)
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  )
})

import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SessionId, TurnId } from "../../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import { NewTurn } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import { branch, epoch, next, ref, session } from "../../../src/testing/session/SessionFixtures.js"
import { created, forked, idsOf, said, some, turnsKept } from "../../../src/testing/session/SessionStoreCase.js"
import * as SessionRows from "../../support/SessionRows.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const timeout = 300_000
const id = SessionId.make("s")

/** The store of one client, as one process has it. */
const storeOf = <E>(client: Layer.Layer<SqlClient.SqlClient, E>) =>
  Effect.flatMap(Layer.build(client), (context) => Effect.provide(SqlSessionStore.make, context))

const managerOf = (store: SessionStore.Service) =>
  DefaultSessionManager.layer({ maxTurnsPerSession: 10_000 }).pipe(
    Layer.fresh,
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(SessionStore.SessionStore, store),
        WorkingMemory.layerNoop,
        MemoryConsolidator.layerNoop
      )
    ),
    Layer.build,
    Effect.map((context) => context.unsafeMap.get(SessionManager.SessionManager.key) as SessionManager.Service)
  )

const many = <A>(count: number, of: (at: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, at) => of(at))

SqlBackends.suite("sessions with many writers", ({ dialect, kept, layer, other }) => {
  const two = Effect.gen(function* () {
    return [yield* storeOf(layer), yield* storeOf(Layer.fresh(other))] as const
  })

  // On SQLite nobody else writes while a transaction that writes is open.
  if (dialect === "postgres") {
    it.scoped("return the existing session when another writer creates it during the lookup", () =>
      Effect.gen(function* () {
        const rival = yield* storeOf(layer)
        let begun = 0
        const slow = yield* storeOf(
          Layer.provide(
            SqlBackends.preceded(({ sql }) => {
              if (begun > 0 || !/^SELECT status, revision FROM lex_sessions/.test(sql)) return Effect.void
              begun++
              return Effect.orDie(rival.create({ session: session("s") }))
            }),
            Layer.fresh(other)
          )
        )
        const { isNew } = yield* slow.create({ session: session("s"), limits: { perUser: 5 } })
        assert.strictEqual(begun, 1)
        assert.isFalse(isNew)
      })
    )
  }

  const rounds = (managers: ReadonlyArray<SessionManager.Service>, fibers: number, each: number) =>
    Effect.gen(function* () {
      const [first] = managers as [SessionManager.Service]
      yield* first.create({ id })
      yield* Effect.forEach(
        many(fibers, (fiber) => fiber),
        (fiber) =>
          Effect.forEach(
            many(each, (n) => n),
            (n) =>
              (managers[fiber % managers.length] ?? first).addTurn(
                id,
                NewTurn.make({
                  id: TurnId.make(`${fiber}-${n}`),
                  role: "user",
                  content: "",
                  timestamp: n,
                  tokensUsed: 1
                })
              ),
            { discard: true }
          ),
        { concurrency: "unbounded", discard: true }
      )
      const turns = yield* first.turns(id, { last: 100_000 })
      assert.strictEqual(turns.length, fibers * each)
      assert.strictEqual(new Set(turns.map((turn) => turn.id)).size, fibers * each)
      assert.deepStrictEqual(
        turns.map(({ depth }) => depth),
        many(fibers * each, (at) => at + 1)
      )
      const places = new Map<string, number>()
      for (const turn of turns) {
        const [fiber, n] = turn.id.split("-") as [string, string]
        assert.strictEqual(Number(n), places.get(fiber) ?? 0)
        places.set(fiber, Number(n) + 1)
      }
      const now = some(yield* first.get(id), "the session")
      assert.deepStrictEqual([now.depth, now.totalTokens], [fibers * each, fibers * each])
    })

  it.scopedLive(
    "lose and duplicate no turn of 64 fibers that add 12 each through one manager",
    () =>
      Effect.gen(function* () {
        yield* rounds([yield* managerOf(yield* storeOf(layer))], 64, 12)
      }),
    timeout
  )

  it.scopedLive(
    "lose and duplicate none through managers of two independent clients",
    () =>
      Effect.gen(function* () {
        const [one, another] = yield* two
        yield* rounds([yield* managerOf(one), yield* managerOf(another)], 16, 10)
      }),
    timeout
  )

  it.scopedLive(
    "exceed no limit with two clients",
    () =>
      Effect.gen(function* () {
        const stores = yield* two
        const parent = yield* said(stores[0], yield* created(stores[0], session("p", { userId: "bob" })), "t1")
        const turn = some(yield* stores[0].turn(ref("p", "t1")), "the turn")
        const attempts = (limits: SessionStore.Limits, of: (at: number) => ReturnType<typeof session>) =>
          Effect.map(
            Effect.forEach(
              many(24, (at) => at),
              (at) => Effect.either((stores[at % 2] ?? stores[0]).create({ session: of(at), limits })),
              { concurrency: "unbounded" }
            ),
            (all) => {
              for (const one of all) {
                if (Either.isLeft(one)) assert.strictEqual(one.left._tag, "SessionCapacityError")
              }
              return all.filter(Either.isRight).length
            }
          )
        assert.strictEqual(yield* attempts({ perUser: 5 }, (at) => session(`u${at}`)), 5)
        assert.strictEqual(yield* attempts({ perParent: 3 }, (at) => branch(`b${at}`, parent, turn)), 3)
        const closed = yield* Effect.forEach(
          many(12, (at) => session(`c${at}`, { userId: "eve", status: "closed" })),
          (one) => created(stores[0], one)
        )
        yield* Effect.forEach(
          closed,
          (one, at) =>
            Effect.either(
              (stores[at % 2] ?? stores[0]).save({ session: next(one, { status: "active" }), limits: { perUser: 4 } })
            ),
          { concurrency: "unbounded", discard: true }
        )
        const live = yield* stores[1].list({ statuses: ["active"], limit: 100 })
        assert.strictEqual(live.filter((one) => one.userId === "eve").length, 4)
      }),
    timeout
  )

  it.scopedLive(
    "return each session once when two clients expire them",
    () =>
      Effect.gen(function* () {
        const stores = yield* two
        yield* Effect.forEach(
          many(40, (at) => session(`s${at}`, { updatedAt: epoch + at })),
          (one) => created(stores[0], one)
        )
        const given = yield* Effect.forEach(
          many(12, (at) => at),
          (at) => (stores[at % 2] ?? stores[0]).expire({ since: epoch + 40, at: epoch + 100, limit: 5 }),
          { concurrency: "unbounded" }
        )
        const all = given.flat().map((one) => one.id as string)
        assert.deepStrictEqual([...all].sort(), [...many(40, (at) => `s${at}`)].sort())
        for (const one of given) {
          const times = one.map((each) => Number(each.id.slice(1)))
          assert.deepStrictEqual(
            times,
            [...times].sort((a, b) => a - b)
          )
        }
      }),
    timeout
  )

  it.scopedLive(
    "give a branch its turns, or reject it, while another client deletes the source",
    () =>
      Effect.gen(function* () {
        const [one, another] = yield* two
        for (let round = 0; round < 24; round++) {
          const [from, to] = [`p${round}`, `b${round}`]
          const parent = yield* said(one, yield* created(one, session(from)), "t1", "t2", "t3")
          const turn = some(yield* one.turn(ref(from, "t2")), "the turn")
          const fork = another.create({ session: branch(to, parent, turn) })
          const [made, removed] = yield* Effect.all(
            [
              round % 3 === 0 ? Effect.zipRight(Effect.sleep(1), Effect.either(fork)) : Effect.either(fork),
              round % 3 === 1 ? Effect.zipRight(Effect.sleep(1), one.delete(parent.id)) : one.delete(parent.id)
            ],
            { concurrency: "unbounded" }
          )
          assert.isTrue(removed)
          if (Either.isLeft(made)) assert.strictEqual(made.left._tag, "SessionConflictError")
          yield* turnsKept(one, from, ["t1", "t2", "t3"], Either.isRight(made) ? ["t1", "t2"] : [])
          assert.strictEqual(Option.isSome(yield* one.load(SessionId.make(to))), Either.isRight(made))
          yield* another.delete(SessionId.make(to))
          yield* turnsKept(one, from, ["t1", "t2", "t3"], [])
        }
      }),
    timeout
  )

  it.scopedLive(
    "leave no turn when two clients delete branches and their sessions at once",
    () =>
      Effect.gen(function* () {
        const stores = yield* two
        for (let round = 0; round < 8; round++) {
          const names = ["a", "b", "c", "d"].map((name) => `${name}${round}`) as [string, string, string, string]
          const first = yield* said(stores[0], yield* created(stores[0], session(names[0])), "t1", "t2")
          const second = yield* said(stores[0], yield* forked(stores[0], first, names[1]), "t1")
          const third = yield* said(stores[0], yield* forked(stores[0], second, names[2]), "t1")
          yield* forked(stores[0], third, names[3], ref(names[1], "t1"))
          const removed = yield* Effect.forEach(
            [...names, ...names],
            (name, at) => (stores[at < 4 ? 0 : 1] ?? stores[0]).delete(SessionId.make(name)),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(removed.filter((one) => one).length, 4)
          assert.strictEqual(yield* Effect.provide(SessionRows.left, kept), 0)
        }
      }),
    timeout
  )

  it.scopedLive(
    "are never found in part while one id is created and deleted",
    () =>
      Effect.gen(function* () {
        const stores = yield* two
        yield* Effect.forEach(
          many(40, (at) => at),
          (at) => {
            const store = stores[at % 2] ?? stores[0]
            return at % 4 < 2
              ? Effect.map(
                  store.create({ session: session("s", { metadata: { at } }), limits: { perUser: 9 } }),
                  (made) => assert.strictEqual(made.session.id, id)
                )
              : Effect.asVoid(store.delete(id))
          },
          { concurrency: "unbounded", discard: true }
        )
        yield* stores[0].delete(id)
        assert.deepStrictEqual(idsOf(yield* stores[1].list({ limit: 10 })), [])
        assert.strictEqual(yield* Effect.provide(SessionRows.left, kept), 0)
      }),
    timeout
  )
})

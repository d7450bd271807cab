import { assert, describe } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { SessionId, TurnId, UserId } from "../../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../../src/session/branch/DefaultBranchManager.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionWriter from "../../../src/session/manager/SessionWriter.js"
import * as InMemorySessionStore from "../../../src/session/turn/InMemorySessionStore.js"
import { NewTurn, type Session, SessionTurn } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import * as DefaultSessionAnalytics from "../../../src/session/upkeep/DefaultSessionAnalytics.js"
import * as SessionAnalytics from "../../../src/session/upkeep/SessionAnalytics.js"
import * as SystemTest from "../../support/SystemTest.js"

const ann = UserId.make("ann")
const bob = UserId.make("bob")
const DAY = 86_400_000
const HOUR = 3_600_000
/** A Wednesday. */
const start = Date.UTC(2026, 3, 15)

interface World {
  readonly store: SessionStore.Service
  readonly manager: SessionManager.Service
  readonly branches: BranchManager.Service
  readonly analytics: SessionAnalytics.Service
  /** How many turns each reading of turns asked for, and how many it got. */
  readonly read: Array<readonly [limit: number, got: number]>
}

const run = <A, E>(
  body: (world: World) => Effect.Effect<A, E>,
  options: DefaultSessionAnalytics.Options = {}
): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const read: Array<readonly [number, number]> = []
    const counting = Layer.effect(
      SessionStore.SessionStore,
      Effect.map(SessionStore.SessionStore, (store) => ({
        ...store,
        turns: (head, request) =>
          Effect.tap(store.turns(head, request), (turns) => Effect.sync(() => read.push([request.limit, turns.length])))
      }))
    ).pipe(Layer.provide(InMemorySessionStore.layer))
    const world = Effect.gen(function* () {
      const store = yield* SessionStore.SessionStore
      const manager = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      const analytics = yield* SessionAnalytics.SessionAnalytics
      return yield* body({ store, manager, branches, analytics, read })
    })
    return Effect.provide(
      world,
      DefaultSessionAnalytics.layer(options).pipe(
        Layer.provideMerge(Layer.merge(DefaultSessionManager.layer(), DefaultBranchManager.layer())),
        Layer.provide([SessionWriter.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop]),
        Layer.provideMerge(counting)
      )
    )
  })

type Given = Partial<(typeof NewTurn)["Encoded"]>
const decode = Schema.decodeSync(NewTurn)

/** Adds turns, each a second after the one before. */
const say = (manager: SessionManager.Service, { id, userId }: Session, ...turns: ReadonlyArray<Given>) =>
  Effect.forEach(
    turns,
    (given) =>
      Effect.flatMap(Effect.orDie(manager.turns(id, { last: 1 })), ([last]) =>
        Effect.orDie(
          manager.addTurn(
            id,
            decode({
              id: `t${(last?.depth ?? 0) + 1}`,
              role: "user",
              content: "hello",
              timestamp: last === undefined ? start : last.timestamp + 1000,
              ...given
            }),
            userId === undefined ? {} : { userId }
          )
        )
      ),
    { discard: true }
  )

const create = (manager: SessionManager.Service, id: string, userId: UserId | undefined = ann) =>
  Effect.orDie(manager.create({ id: SessionId.make(id), ...(userId === undefined ? {} : { userId }) }))

/** As many turns at once as are wanted, a user's and its answer in turn. */
const write = (store: SessionStore.Service, session: Session, count: number) => {
  const turns = Array.from({ length: count }, (_, i) =>
    SessionTurn.make({
      id: TurnId.make(`t${i}`),
      role: i % 2 === 0 ? "user" : "assistant",
      content: "x",
      timestamp: start + i * 100,
      sessionId: session.id,
      depth: i + 1,
      tokensUsed: 1,
      ...(i === 0 ? {} : { parent: { sessionId: session.id, turnId: TurnId.make(`t${i - 1}`) } })
    })
  )
  const head = { sessionId: session.id, turnId: TurnId.make(`t${count - 1}`) }
  return store.append({ turns, session: { ...session, head, depth: count, revision: session.revision + 1 } })
}

describe("ofSession", () => {
  SystemTest.effect("counts turns for callers who may see them", () =>
    run(({ analytics, manager }) =>
      Effect.gen(function* () {
        const session = yield* create(manager, "s")
        yield* say(
          manager,
          session,
          {},
          { role: "assistant", tokensUsed: 10, cost: 0.1, model: "m", provider: "p", metadata: { agent: "a" } }
        )
        const report = yield* analytics.ofSession(session.id, { userId: ann })
        assert.isTrue(Schema.is(SessionAnalytics.SessionReport)(report))
        assert.strictEqual(report.sessionId, session.id)
        assert.strictEqual(report.totalTurns, 2)
        assert.strictEqual(report.durationSeconds, 1)
        assert.strictEqual(report.averageResponseTimeMs, 1000)
        assert.deepStrictEqual(report.agentsUsed, ["a"])
        const error = yield* Effect.flip(analytics.ofSession(session.id, { userId: bob }))
        assert.strictEqual(error._tag, "SessionNotFoundError")
      })
    )
  )

  SystemTest.effect("returns zeros for a session without turns", () =>
    run(({ analytics, manager }) =>
      Effect.gen(function* () {
        const session = yield* create(manager, "s")
        const report = yield* analytics.ofSession(session.id)
        assert.strictEqual(report.totalTurns, 0)
        assert.strictEqual(report.durationSeconds, 0)
      })
    )
  )

  SystemTest.effect("counts all turns on a branch's path, and on its parent's own", () =>
    run(({ analytics, branches, manager }) =>
      Effect.gen(function* () {
        const parent = yield* create(manager, "p")
        yield* say(manager, parent, {}, { role: "assistant" })
        const branch = yield* branches.fork(parent.id)
        yield* say(manager, branch, {}, { role: "assistant" }, {})
        yield* say(manager, parent, {})
        assert.strictEqual((yield* analytics.ofSession(branch.id)).totalTurns, 5)
        assert.strictEqual((yield* analytics.ofSession(branch.id)).answeredTurns, 2)
        assert.strictEqual((yield* analytics.ofSession(parent.id)).totalTurns, 3)
      })
    )
  )

  SystemTest.effect("excludes turns that a restore removed", () =>
    run(({ analytics, manager }) =>
      Effect.gen(function* () {
        const session = yield* create(manager, "s")
        yield* say(manager, session, { tokensUsed: 1 })
        const checkpoint = yield* manager.checkpoint(session.id)
        yield* say(manager, session, { tokensUsed: 10 }, { tokensUsed: 100 })
        yield* manager.restore(checkpoint.id)
        yield* say(manager, session, { id: "again", tokensUsed: 1000 })
        assert.strictEqual((yield* analytics.ofSession(session.id)).totalTokens, 1001)
      })
    )
  )

  SystemTest.effect("reads 10,000 turns page by page, each once", () =>
    run(({ analytics, manager, read, store }) =>
      Effect.gen(function* () {
        const session = yield* create(manager, "long")
        yield* write(store, session, 10_000)
        const report = yield* analytics.ofSession(session.id)
        assert.strictEqual(report.totalTurns, 10_000)
        assert.strictEqual(report.totalTokens, 10_000)
        assert.strictEqual(report.answeredTurns, 5000)
        assert.strictEqual(report.averageResponseTimeMs, 100)
        assert.strictEqual(report.durationSeconds, 999.9)
        assert.strictEqual(Math.max(...read.map(([limit]) => limit)), 256)
        assert.strictEqual(
          read.reduce((sum, [, got]) => sum + got, 0),
          10_000
        )
      })
    )
  )

  SystemTest.effect("gives the same figures for any page size", () =>
    Effect.gen(function* () {
      const reports = yield* Effect.forEach([1, 2, 3, 7, 100, 0, Number.NaN], (pageSize) =>
        run(
          ({ analytics, manager, read, store }) =>
            Effect.gen(function* () {
              const session = yield* create(manager, "s")
              yield* write(store, session, 15)
              const report = yield* analytics.ofSession(session.id)
              assert.isTrue(
                read.every(([limit]) => limit === (pageSize === 0 ? 1 : Number.isNaN(pageSize) ? 256 : pageSize))
              )
              return report
            }),
          { pageSize }
        )
      )
      for (const report of reports) assert.deepStrictEqual(report, reports[0])
    })
  )

  SystemTest.effect("is not affected by a restore during the read", () =>
    run(({ manager, store }) =>
      Effect.gen(function* () {
        const session = yield* create(manager, "s")
        const checkpoint = yield* manager.checkpoint(session.id)
        yield* write(store, Option.getOrThrow(yield* manager.get(session.id)), 10)
        let pages = 0
        const analytics = yield* Effect.provideService(
          DefaultSessionAnalytics.make({ pageSize: 3 }),
          SessionManager.SessionManager,
          {
            ...manager,
            turns: (id, options) =>
              Effect.tap(manager.turns(id, options), () =>
                ++pages === 2 ? Effect.orDie(manager.restore(checkpoint.id)) : Effect.void
              )
          }
        )
        assert.strictEqual((yield* analytics.ofSession(session.id)).totalTurns, 10)
        assert.strictEqual((yield* analytics.ofSession(session.id)).totalTurns, 0)
      })
    )
  )
})

describe("ofUser", () => {
  SystemTest.effect("sums up the sessions of a user in any status, and no others", () =>
    run(({ analytics, manager }) =>
      Effect.gen(function* () {
        const first = yield* create(manager, "a")
        const second = yield* create(manager, "b")
        const foreign = yield* create(manager, "c", bob)
        const nobody = yield* Effect.orDie(manager.create({ id: SessionId.make("d") }))
        yield* create(manager, "without turns")
        yield* say(manager, first, {}, { role: "assistant", cost: 0.1, model: "m-1" })
        yield* say(manager, second, {}, { role: "assistant", cost: 0.2, model: "m-2", timestamp: start + 3000 })
        yield* say(manager, foreign, { cost: 5 })
        yield* say(manager, nobody, { cost: 7 })
        yield* manager.close(first.id)
        const report = yield* analytics.ofUser(ann)
        assert.isTrue(Schema.is(SessionAnalytics.UserReport)(report))
        assert.strictEqual(report.sessions, 2)
        assert.strictEqual(report.totalTurns, 4)
        assert.strictEqual(report.totalCost, 0.3)
        assert.strictEqual(report.durationSeconds, 4)
        assert.strictEqual(report.averageResponseTimeMs, 2000)
        assert.deepStrictEqual(report.modelsUsed, ["m-1", "m-2"])
        assert.deepStrictEqual(report.buckets, [])
        assert.strictEqual((yield* analytics.ofUser(null)).totalCost, 7)
        assert.strictEqual((yield* analytics.ofUser(UserId.make("eve"))).sessions, 0)
      })
    )
  )

  SystemTest.effect("finds nothing for another user", () =>
    run(({ analytics, manager }) =>
      Effect.gen(function* () {
        yield* say(manager, yield* create(manager, "a"), {})
        assert.strictEqual((yield* analytics.ofUser(ann, { access: { userId: ann } })).totalTurns, 1)
        assert.strictEqual((yield* analytics.ofUser(ann, { access: { userId: bob } })).totalTurns, 0)
        assert.strictEqual((yield* analytics.ofUser(null, { access: { userId: bob } })).totalTurns, 0)
      })
    )
  )

  SystemTest.effect("counts more sessions than fit a page, and more turns than fit one", () =>
    run(
      ({ analytics, manager }) =>
        Effect.gen(function* () {
          for (let i = 0; i < 100; i++) yield* say(manager, yield* create(manager, `s${i}`), {}, {}, {})
          for (let i = 0; i < 5; i++) yield* manager.close(SessionId.make(`s${i}`))
          for (let i = 100; i < 105; i++) yield* say(manager, yield* create(manager, `s${i}`), {})
          const report = yield* analytics.ofUser(ann)
          assert.strictEqual(report.sessions, 105)
          assert.strictEqual(report.totalTurns, 305)
        }),
      { pageSize: 2 }
    )
  )

  SystemTest.effect("counts shared turns once", () =>
    run(({ analytics, branches, manager, read }) =>
      Effect.gen(function* () {
        const parent = yield* create(manager, "p")
        yield* say(manager, parent, { tokensUsed: 1 }, { role: "assistant", tokensUsed: 10 })
        const one = yield* branches.fork(parent.id)
        const two = yield* branches.fork(parent.id)
        yield* say(manager, one, { tokensUsed: 100 })
        const inner = yield* branches.fork(one.id)
        yield* say(manager, two, { tokensUsed: 1000 })
        yield* say(manager, inner, { tokensUsed: 10_000 })
        read.length = 0
        const report = yield* analytics.ofUser(ann)
        assert.strictEqual(report.totalTokens, 11_111)
        assert.strictEqual(report.totalTurns, 5)
        assert.strictEqual(report.sessions, 4)
      })
    )
  )

  SystemTest.effect("counts a merged turn once: at its origin, or here when that session is deleted", () =>
    run(({ analytics, branches, manager }) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const parent = yield* create(manager, "p")
        yield* say(manager, parent, { tokensUsed: 1 })
        const branch = yield* branches.fork(parent.id)
        yield* say(
          manager,
          branch,
          { tokensUsed: 10, timestamp: start + 5000 },
          { role: "assistant", tokensUsed: 100, timestamp: start + 5400 }
        )
        yield* say(manager, parent, { tokensUsed: 1000, timestamp: start + 9000 })
        yield* TestClock.adjust("1 hour")
        const merged = yield* branches.merge(parent.id, branch.id)
        assert.lengthOf(merged.turns, 2)
        assert.strictEqual((yield* analytics.ofSession(parent.id)).totalTokens, 1111)
        const tokens = (options?: SessionAnalytics.UserOptions) =>
          Effect.map(analytics.ofUser(ann, options), ({ averageResponseTimeMs, totalTokens }) => [
            totalTokens,
            averageResponseTimeMs
          ])
        assert.deepStrictEqual(yield* tokens(), [1111, 400])
        yield* manager.delete(branch.id)
        assert.deepStrictEqual(yield* tokens(), [1111, 400])
        assert.deepStrictEqual(yield* tokens({ to: start + 6000 }), [111, 400])
        assert.deepStrictEqual(yield* tokens({ from: start + 6000 }), [1000, 0])
      })
    )
  )

  SystemTest.effect("includes the beginning of a period and excludes its end", () =>
    run(({ analytics, manager }) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(start + 4 * DAY)
        const session = yield* create(manager, "s")
        yield* Effect.forEach([0, 1, 2, 3], (day) =>
          say(
            manager,
            session,
            { tokensUsed: 1, timestamp: start + day * DAY },
            { role: "assistant", tokensUsed: 10 ** day, timestamp: start + day * DAY + 500 }
          )
        )
        const period = yield* analytics.ofUser(ann, { from: start + DAY, to: start + 3 * DAY })
        assert.strictEqual(period.totalTurns, 4)
        assert.strictEqual(period.totalTokens, 112)
        assert.strictEqual(period.durationSeconds, DAY / 1000 + 0.5)
        assert.strictEqual((yield* analytics.ofUser(ann, { from: start + 3 * DAY + 500 })).totalTokens, 1000)
        assert.strictEqual((yield* analytics.ofUser(ann, { to: start })).totalTurns, 0)
        const none = yield* analytics.ofUser(ann, { from: start + 50 * DAY })
        assert.deepStrictEqual([none.sessions, none.totalTurns], [0, 0])
      })
    )
  )

  SystemTest.effect("does not read sessions unchanged since the beginning of the period", () =>
    run(({ analytics, manager, read }) =>
      Effect.gen(function* () {
        yield* say(manager, yield* create(manager, "s"), {}, {})
        read.length = 0
        // The clock stands at 0, when the session was written to last. Clocks may differ by a day.
        yield* analytics.ofUser(ann, { from: DAY + 1 })
        assert.deepStrictEqual(read, [])
        assert.strictEqual((yield* analytics.ofUser(ann, { from: DAY })).totalTurns, 2)
      })
    )
  )

  const bucketed = (
    options: Omit<SessionAnalytics.UserOptions, "from">,
    times: ReadonlyArray<number>,
    layer: DefaultSessionAnalytics.Options = {}
  ) =>
    run(
      ({ analytics, manager }) =>
        Effect.gen(function* () {
          const session = yield* create(manager, "s")
          for (const timestamp of times) yield* say(manager, session, { timestamp })
          return yield* analytics.ofUser(ann, options)
        }),
      { pageSize: 2, ...layer }
    )

  const starts = (report: SessionAnalytics.UserReport) =>
    report.buckets.map(({ start, totalTurns }) => `${new Date(start).toISOString().slice(0, 16)} ${totalTurns}`)

  SystemTest.effect("groups by days, weeks from Monday and months in UTC", () =>
    Effect.gen(function* () {
      const times = [
        Date.UTC(2026, 2, 29, 23, 59, 59, 999),
        Date.UTC(2026, 2, 30),
        Date.UTC(2026, 3, 1, 12),
        Date.UTC(2026, 3, 5, 23),
        Date.UTC(2026, 3, 6)
      ]
      assert.deepStrictEqual(starts(yield* bucketed({ by: "day" }, times)), [
        "2026-03-29T00:00 1",
        "2026-03-30T00:00 1",
        "2026-04-01T00:00 1",
        "2026-04-05T00:00 1",
        "2026-04-06T00:00 1"
      ])
      assert.deepStrictEqual(starts(yield* bucketed({ by: "week" }, times)), [
        "2026-03-23T00:00 1",
        "2026-03-30T00:00 3",
        "2026-04-06T00:00 1"
      ])
      assert.deepStrictEqual(starts(yield* bucketed({ by: "month" }, times)), [
        "2026-03-01T00:00 2",
        "2026-04-01T00:00 3"
      ])
    })
  )

  SystemTest.effect("groups by days of a time zone, including 23 and 25 hours", () =>
    Effect.gen(function* () {
      const timeZone = DateTime.zoneUnsafeMakeNamed("Europe/Berlin")
      const spring = Date.UTC(2026, 2, 28, 23)
      const autumn = Date.UTC(2026, 9, 24, 22)
      const times = [spring - 1, spring, spring + 23 * HOUR - 1, spring + 23 * HOUR, autumn, autumn + 25 * HOUR - 1]
      assert.deepStrictEqual(starts(yield* bucketed({ by: "day", timeZone }, times)), [
        "2026-03-27T23:00 1",
        "2026-03-28T23:00 2",
        "2026-03-29T22:00 1",
        "2026-10-24T22:00 2"
      ])
    })
  )

  SystemTest.effect("dates an answer by its question, and adds buckets up to the whole", () =>
    run(({ analytics, manager }) =>
      Effect.gen(function* () {
        const first = yield* create(manager, "a")
        const second = yield* create(manager, "b")
        yield* say(
          manager,
          first,
          { timestamp: start - 2000 },
          { role: "assistant", timestamp: start + 2000, cost: 0.1 },
          { timestamp: start + 10_000 },
          { role: "assistant", timestamp: start + 11_000, cost: 0.2 }
        )
        yield* say(manager, second, { timestamp: start + 1 })
        const report = yield* analytics.ofUser(ann, { by: "day" })
        assert.deepStrictEqual(
          report.buckets.map((bucket) => [
            bucket.start,
            bucket.sessions,
            bucket.totalTurns,
            bucket.answeredTurns,
            bucket.averageResponseTimeMs,
            bucket.durationSeconds
          ]),
          [
            [start - DAY, 1, 1, 1, 4000, 0],
            [start, 2, 4, 1, 1000, 9]
          ]
        )
        assert.strictEqual(report.answeredTurns, 2)
        assert.strictEqual(report.averageResponseTimeMs, 2500)
        assert.strictEqual(report.sessions, 2)
      })
    )
  )

  SystemTest.effect("has a bucket for times beyond any calendar", () =>
    Effect.gen(function* () {
      const report = yield* bucketed({ by: "week" }, [-1e300, 0, 1e300])
      assert.deepStrictEqual(
        report.buckets.map(({ totalTurns }) => totalTurns),
        [1, 1, 1]
      )
    })
  )

  SystemTest.effect("keeps the newest of too many buckets, and the total of all", () =>
    Effect.gen(function* () {
      const times = Array.from({ length: 10 }, (_, day) => start + day * DAY)
      const report = yield* bucketed({ by: "day" }, times, { maxBuckets: 3 })
      assert.deepStrictEqual(
        report.buckets.map((bucket) => (bucket.start - start) / DAY),
        [7, 8, 9]
      )
      assert.isTrue(report.moreBuckets)
      assert.strictEqual(report.totalTurns, 10)
      const shuffled = yield* bucketed(
        { by: "day" },
        [3, 9, 1, 8, 0, 7].map((day) => start + day * DAY),
        { maxBuckets: 3 }
      )
      assert.deepStrictEqual(
        shuffled.buckets.map((bucket) => (bucket.start - start) / DAY),
        [7, 8, 9]
      )
      assert.isFalse((yield* bucketed({ by: "day" }, times, { maxBuckets: 10 })).moreBuckets)
    })
  )

  SystemTest.effect("skips a session that is deleted during the read", () =>
    run(({ manager }) =>
      Effect.gen(function* () {
        yield* say(manager, yield* create(manager, "a"), {})
        const doomed = yield* create(manager, "b")
        yield* say(manager, doomed, {})
        const analytics = yield* Effect.provideService(DefaultSessionAnalytics.make(), SessionManager.SessionManager, {
          ...manager,
          list: (userId, options) => Effect.zipLeft(manager.list(userId, options), manager.delete(doomed.id))
        })
        assert.strictEqual((yield* analytics.ofUser(ann)).totalTurns, 1)
      })
    )
  )
})

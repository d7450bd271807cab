import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { SessionId, type TurnId, UserId } from "../../src/domain/Ids.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../../src/session/branch/DefaultBranchManager.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as SessionWriter from "../../src/session/manager/SessionWriter.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import type { NewTurn, Session } from "../../src/session/turn/Session.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as SystemTest from "../support/SystemTest.js"
import * as YieldingScheduler from "../support/YieldingScheduler.js"

const ada = UserId.make("ada")
const id = SessionId.make("s1")
const branchId = SessionId.make("b1")

const turn = (turnId: string, fields: Partial<NewTurn> = {}): NewTurn => ({
  id: turnId as TurnId,
  role: "user",
  content: turnId,
  timestamp: 1,
  toolCalls: [],
  skillResults: [],
  metadata: {},
  tokensUsed: 1,
  cost: 0,
  ...fields
})

type Services = SessionManager.SessionManager | BranchManager.BranchManager | SessionStore.SessionStore

/** What others are told. */
interface Told {
  readonly events: Array<string>
  readonly remembered: Array<string>
}

const over = (
  store: Layer.Layer<SessionStore.SessionStore>,
  told: Told = { events: [], remembered: [] },
  options?: DefaultSessionManager.Options
): Layer.Layer<Services> =>
  Layer.mergeAll(
    SystemTest.layer,
    DefaultSessionManager.layer(options),
    DefaultBranchManager.layer({ maxBranchesPerSession: 100, maxSessionsPerUser: options?.maxSessionsPerUser })
  ).pipe(
    Layer.provide(SessionWriter.layer),
    Layer.provideMerge(store),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(WorkingMemory.WorkingMemory, {
          ...WorkingMemory.noop,
          add: (entry) => Effect.sync(() => void told.remembered.push(entry.content))
        }),
        MemoryConsolidator.layerNoop,
        Layer.succeed(EventBus.EventBus, {
          ...EventBus.noop,
          enabled: true,
          offer: (event) => {
            told.events.push(`${event.eventType} ${String(event.fields["change"] ?? event.fields["sessionId"])}`)
            return true
          }
        })
      )
    )
  )

describe("interruption at every point", () => {
  interface Case {
    readonly name: string
    readonly before?: Effect.Effect<unknown, unknown, Services>
    readonly operation: Effect.Effect<unknown, unknown, Services>
    /** What is wrong, if something is, when the operation was interrupted or not. */
    readonly problem: (told: Told) => Effect.Effect<string | undefined, unknown, Services>
  }

  const withManager = <A, E>(use: (manager: SessionManager.Service) => Effect.Effect<A, E>) =>
    Effect.flatMap(SessionManager.SessionManager, use)
  const withBranches = <A, E>(use: (branches: BranchManager.Service) => Effect.Effect<A, E>) =>
    Effect.flatMap(BranchManager.BranchManager, use)
  const session = (of: SessionId) =>
    withManager((manager) => Effect.map(manager.get(of), Option.getOrUndefined)) as Effect.Effect<
      Session | undefined,
      unknown,
      SessionManager.SessionManager
    >

  const attempt = async ({ before, operation, problem }: Case, at: number | undefined) => {
    const told: Told = { events: [], remembered: [] }
    const runtime = ManagedRuntime.make(over(InMemorySessionStore.layer, told, { autoCheckpointInterval: 2 }))
    await runtime.runPromise(
      withManager((manager) => Effect.zipRight(manager.create({ id, userId: ada }), manager.addTurn(id, turn("first"))))
    )
    if (before !== undefined) await runtime.runPromise(before)
    told.events.length = 0
    told.remembered.length = 0
    let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
    const scheduler = YieldingScheduler.make((count) => {
      if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
    }, at)
    const exit = await new Promise<Exit.Exit<unknown, unknown>>((resolve) => {
      main = runtime.runFork(Effect.withScheduler(operation, scheduler), { immediate: false })
      main.addObserver(resolve)
    })
    const yields = scheduler.count()
    const found = await runtime.runPromise(
      // Nobody holds the session any more, and doing it again leads to where it would have led.
      Effect.gen(function* () {
        if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) return Cause.pretty(exit.cause)
        const found = yield* problem(told)
        if (found !== undefined) return found
        yield* operation
        return yield* problem(told)
      })
    )
    await runtime.dispose()
    return { yields, exit, found }
  }

  const cases: ReadonlyArray<Case> = [
    {
      name: "a turn that is kept is remembered, and its checkpoint is there",
      operation: withManager((manager) => manager.addTurn(id, turn("second"))),
      problem: ({ remembered }) =>
        Effect.gen(function* () {
          const { depth = 0, checkpointId } = (yield* session(id)) ?? {}
          if (remembered.length !== depth - 1) return `${depth - 1} turns kept, ${remembered.length} remembered`
          if ((depth === 2) !== (checkpointId !== undefined)) return `depth ${depth} with checkpoint ${checkpointId}`
          return undefined
        })
    },
    {
      name: "a session that is created is announced",
      operation: withManager((manager) => manager.create({ id: branchId })),
      problem: ({ events }) =>
        Effect.map(session(branchId), (found) =>
          events.length === (found === undefined ? 0 : 1) ? undefined : `${found?.status}, ${events}`
        )
    },
    {
      name: "a session that is closed is announced",
      operation: withManager((manager) => manager.close(id)),
      problem: (all) =>
        Effect.map(session(id), (found) =>
          all.events.length === (found?.status === "closed" ? 1 : 0) ? undefined : `${found?.status}, ${all.events}`
        )
    },
    {
      name: "a session that is suspended is announced",
      operation: withManager((manager) => manager.suspend(id)),
      problem: (all) =>
        Effect.map(session(id), (found) =>
          all.events.length === (found?.status === "suspended" ? 1 : 0) ? undefined : `${found?.status}, ${all.events}`
        )
    },
    {
      name: "a checkpoint that is made is the session's, and there is no other",
      operation: withManager((manager) => manager.checkpoint(id)),
      problem: () =>
        Effect.gen(function* () {
          const found = yield* session(id)
          const checkpoints = yield* withManager((manager) => manager.checkpoints(id))
          return found?.checkpointId === checkpoints[0]?.id ? undefined : `${found?.checkpointId} is not the newest`
        })
    },
    {
      name: "a branch that is made is announced",
      operation: withBranches((branches) => branches.fork(id, { id: branchId })),
      problem: ({ events }) =>
        Effect.map(session(branchId), (found) =>
          events.length === (found === undefined ? 0 : 1) ? undefined : `${found?.status}, ${events}`
        )
    },
    {
      name: "a merge takes all turns over or none, and is announced",
      before: Effect.gen(function* () {
        const manager = yield* SessionManager.SessionManager
        yield* withBranches((branches) => branches.fork(id, { id: branchId }))
        for (const n of [1, 2, 3]) yield* manager.addTurn(branchId, turn(`of the branch ${n}`))
      }),
      operation: withBranches((branches) => branches.merge(id, branchId)),
      problem: ({ events }) =>
        Effect.gen(function* () {
          const found = yield* session(id)
          const merged = (yield* withManager((manager) => manager.checkpoints(id))).filter(
            ({ kind }) => kind === "merge"
          )
          const turns = yield* withManager((manager) => manager.turns(id, { last: 100 }))
          const isDone = found?.depth === 4
          if (!isDone && found?.depth !== 1) return `depth ${found?.depth}`
          if (turns.length !== found.depth || merged.length !== (isDone ? 1 : 0)) return `${merged.length} merges`
          return events.length === (isDone ? 1 : 0) ? undefined : `depth ${found.depth}, ${events}`
        })
    }
  ]

  for (const one of cases) {
    it(one.name, { timeout: 300_000 }, async () => {
      const whole = await attempt(one, undefined)
      assert.isTrue(Exit.isSuccess(whole.exit))
      assert.isUndefined(whole.found)
      const problems: Array<string> = []
      let interrupted = 0
      for (let k = 1; k <= whole.yields; k++) {
        const { exit, found } = await attempt(one, k)
        if (Exit.isFailure(exit)) interrupted++
        if (found !== undefined) problems.push(`interrupted at ${k} of ${whole.yields}: ${found}`)
      }
      assert.deepStrictEqual(problems, [])
      assert.isAbove(interrupted, 0)
    })
  }
})

/** Of the event loop: timers and sockets have theirs in between. */
const nextTurn = Effect.async<void>((resume) => {
  const waiting = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(waiting))
})

/** A store whose calls wait before and after they are done, now longer and now shorter, as stores behind a network do. */
const slow: Layer.Layer<SessionStore.SessionStore> = Layer.effect(
  SessionStore.SessionStore,
  Effect.map(SessionStore.SessionStore, (store) => {
    const wait = Effect.flatMap(Random.nextIntBetween(1, 6), (times) =>
      Effect.replicateEffect(nextTurn, times, { discard: true })
    )
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        return typeof member !== "function"
          ? member
          : (...args: ReadonlyArray<unknown>) =>
              Effect.zipRight(wait, Effect.zipLeft(member.apply(target, args) as Effect.Effect<unknown>, wait))
      }
    })
  })
).pipe(Layer.provide(InMemorySessionStore.layer))

/** So many managers that know nothing of each other, as in so many processes, over one store. */
const managers = (count: number, options?: DefaultSessionManager.Options) =>
  Effect.gen(function* () {
    const store = Layer.succeed(SessionStore.SessionStore, yield* SessionStore.SessionStore)
    return yield* Effect.forEach(Array.from({ length: count }), () =>
      Effect.map(
        Layer.build(Layer.fresh(over(store, undefined, { maxTurnsPerSession: 100_000, ...options }))),
        (context) => ({
          manager: Context.get(context, SessionManager.SessionManager),
          branches: Context.get(context, BranchManager.BranchManager)
        })
      )
    )
  })

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, n) => n)

describe("independent writers", () => {
  it.scopedLive("append every turn exactly once", () =>
    Effect.gen(function* () {
      const all = yield* managers(5)
      const first = all[0]!.manager
      yield* first.create({ id, userId: ada })
      yield* Effect.forEach(
        all,
        ({ manager }, n) =>
          Effect.forEach(
            upTo(6),
            (fiber) =>
              Effect.forEach(upTo(10), (k) => manager.addTurn(id, turn(`${n} ${fiber} ${k}`)), { discard: true }),
            { concurrency: "unbounded", discard: true }
          ),
        { concurrency: "unbounded", discard: true }
      )
      const turns = yield* first.turns(id, { last: 1000 })
      assert.strictEqual(turns.length, 300)
      assert.strictEqual(new Set(turns.map((turn) => turn.id)).size, 300)
      turns.forEach((turn, at) => {
        assert.strictEqual(turn.depth, at + 1)
        assert.strictEqual(turn.parent?.turnId, turns[at - 1]?.id)
      })
      const session = Option.getOrThrow(yield* first.get(id))
      assert.strictEqual(session.totalTokens, 300)
      // What one fiber says stays in its order.
      const places = new Map(turns.map((turn, at) => [turn.id as string, at]))
      for (const k of upTo(9)) assert.isBelow(places.get(`3 3 ${k}`)!, places.get(`3 3 ${k + 1}`)!)
    }).pipe(Effect.provide(Layer.merge(slow, SystemTest.layer)))
  )

  it.scopedLive("add a turn once when several write it, and return the same turn to all", () =>
    Effect.gen(function* () {
      const all = yield* managers(8)
      yield* all[0]!.manager.create({ id, userId: ada })
      const given = yield* Effect.forEach(all, ({ manager }) => manager.addTurn(id, turn("the one")), {
        concurrency: "unbounded"
      })
      assert.strictEqual(new Set(given.map((turn) => JSON.stringify(turn))).size, 1)
      assert.deepStrictEqual(yield* all[1]!.manager.turns(id, { last: 10 }), given.slice(0, 1))
    }).pipe(Effect.provide(Layer.merge(slow, SystemTest.layer)))
  )

  it.scopedLive("let only one of several with the same expected head succeed", () =>
    Effect.gen(function* () {
      const all = yield* managers(8)
      yield* all[0]!.manager.create({ id, userId: ada })
      const results = yield* Effect.forEach(
        all,
        ({ manager }, n) => Effect.either(manager.addTurn(id, turn(`t${n}`), { expectedHead: null })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Either.isRight).length, 1)
      for (const result of results) {
        if (Either.isLeft(result)) assert.strictEqual(result.left._tag, "SessionConflictError")
      }
    }).pipe(Effect.provide(Layer.merge(slow, SystemTest.layer)))
  )

  it.scopedLive("let a close through among busy writers, with no turn after it", () =>
    Effect.gen(function* () {
      const all = yield* managers(4)
      yield* all[0]!.manager.create({ id, userId: ada })
      const added = yield* Effect.forEach(
        all,
        ({ manager }, n) =>
          n === 0
            ? Effect.as(Effect.zipRight(Effect.yieldNow(), manager.close(id)), 0)
            : Effect.iterate(
                { kept: 0, refused: false },
                {
                  while: ({ kept, refused }) => !refused && kept < 5000,
                  body: ({ kept }) =>
                    manager.addTurn(id, turn(`${n} ${kept}`)).pipe(
                      Effect.as({ kept: kept + 1, refused: false }),
                      Effect.catchTag("SessionClosedError", () => Effect.succeed({ kept, refused: true }))
                    )
                }
              ).pipe(Effect.map(({ kept }) => kept)),
        { concurrency: "unbounded" }
      )
      const kept = yield* all[0]!.manager.turns(id, { last: 100_000 })
      assert.strictEqual(
        kept.length,
        added.reduce((sum, count) => sum + count, 0)
      )
      assert.isBelow(kept.length, 5000)
      const session = Option.getOrThrow(yield* all[0]!.manager.get(id))
      assert.strictEqual(session.status, "closed")
      assert.strictEqual(session.depth, kept.length)
    }).pipe(Effect.provide(Layer.merge(slow, SystemTest.layer)))
  )

  it.scopedLive("never exceed a user's session limit", () =>
    Effect.gen(function* () {
      const all = yield* managers(4, { maxSessionsPerUser: 5 })
      const results = yield* Effect.forEach(
        all,
        ({ branches, manager }) =>
          Effect.forEach(
            upTo(5),
            (n) =>
              Effect.either(
                n % 2 === 0
                  ? manager.create({ userId: ada })
                  : Effect.flatMap(manager.list(ada, { limit: 1 }), ({ sessions: [session] }) =>
                      session === undefined ? manager.create({ userId: ada }) : branches.fork(session.id)
                    )
              ),
            { concurrency: "unbounded" }
          ),
        { concurrency: "unbounded" }
      )
      assert.strictEqual((yield* all[0]!.manager.list(ada)).sessions.length, 5)
      assert.strictEqual(results.flat().filter(Either.isRight).length, 5)
    }).pipe(Effect.provide(Layer.merge(slow, SystemTest.layer)))
  )

  it.scopedLive("leave one path to the head and matching totals when restores and turns race", () =>
    Effect.gen(function* () {
      const all = yield* managers(4)
      const [{ manager }] = all as [(typeof all)[number]]
      yield* manager.create({ id, userId: ada })
      yield* Effect.forEach(upTo(5), (n) => manager.addTurn(id, turn(`before ${n}`)), { discard: true })
      const checkpoint = yield* manager.checkpoint(id)
      yield* Effect.forEach(
        all,
        (one, n) =>
          Effect.forEach(
            upTo(20),
            (k) =>
              Effect.asVoid<unknown, unknown, never>(
                k % 4 === 0 ? one.manager.restore(checkpoint.id) : one.manager.addTurn(id, turn(`${n} ${k}`))
              ),
            { discard: true }
          ),
        { concurrency: "unbounded", discard: true }
      )
      const session = Option.getOrThrow(yield* manager.get(id))
      const turns = yield* manager.turns(id, { last: 1000 })
      assert.strictEqual(turns.length, session.depth)
      assert.strictEqual(session.totalTokens, session.depth)
      assert.deepStrictEqual(
        turns.map(({ depth }) => depth),
        upTo(session.depth).map((n) => n + 1)
      )
      assert.isAtMost(session.cuts.length, 1)
    }).pipe(Effect.provide(Layer.merge(slow, SystemTest.layer)))
  )
})

describe("unusual ids and contents", () => {
  const names = [
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "\ud800",
    "\udfff\ud800",
    "é",
    "e\u0301",
    "a/b",
    "../a",
    "a:b",
    "a%2Fb",
    "*",
    "%",
    "_",
    "' or 1=1 --",
    "\u202e",
    " ",
    "x".repeat(256)
  ]

  SystemTest.effect("keeps each session id and turn id distinct and returns everything as written", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      for (const name of names) {
        yield* manager.create({ id: SessionId.make(name), userId: UserId.make(name), variables: { [name]: name } })
        for (const turnId of names)
          yield* manager.addTurn(SessionId.make(name), turn(turnId, { metadata: { [turnId]: name } }))
      }
      for (const name of names) {
        const access = { userId: UserId.make(name) }
        const found = Option.getOrThrow(yield* manager.get(SessionId.make(name), access))
        assert.deepStrictEqual(Object.entries(found.variables), [[name, name]])
        const turns = yield* manager.turns(SessionId.make(name), { last: 1000, ...access })
        assert.deepStrictEqual(
          turns.map((turn): ReadonlyArray<unknown> => [turn.id, turn.content, Object.entries(turn.metadata)]),
          names.map((turnId) => [turnId, turnId, [[turnId, name]]])
        )
        const listed = yield* manager.list(UserId.make(name))
        assert.deepStrictEqual(
          listed.sessions.map(({ id }) => id as string),
          [name]
        )
      }
      assert.deepStrictEqual(Object.keys(Object.prototype), [])
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  )

  SystemTest.effect("rejects content that cannot be stored, without a defect and without showing it", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* manager.create({ id, userId: ada })
      const cycle: Record<string, unknown> = { secret: "hunter2" }
      cycle["self"] = cycle
      let deep: Record<string, unknown> = { secret: "hunter2" }
      for (let n = 0; n < 100_000; n++) deep = { deep }
      const throwing = Object.defineProperty({}, "x", {
        enumerable: true,
        get: () => {
          throw new Error("hunter2")
        }
      })
      const proxied = new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("hunter2")
          }
        }
      )
      // Of a tool anything may come that is data, a text or nothing too.
      const noData: ReadonlyArray<any> = [cycle, deep, throwing, proxied, { big: 1n }, { toJSON: () => cycle }]
      const noRecord: ReadonlyArray<any> = ["hunter2", null, ["hunter2"], 1]
      const call = { id: "c", name: "n", params: {} }
      const attempts = [
        ...[...noData, ...noRecord].flatMap((value) => [
          manager.addTurn(id, turn("t", { metadata: value })),
          manager.addTurn(id, turn("t", { skillResults: [value] })),
          manager.update(id, { variables: value }),
          manager.update(id, { metadata: value }),
          manager.checkpoint(id, { metadata: value }),
          manager.create({ metadata: value }),
          branches.fork(id, { metadata: value })
        ]),
        ...noData.flatMap((value) => [
          manager.addTurn(id, turn("t", { toolCalls: [{ ...call, result: value }] })),
          manager.addTurn(id, turn("t", { toolCalls: [{ ...call, params: value }] }))
        ]),
        manager.addTurn(id, turn("t".repeat(257))),
        manager.addTurn(id, turn("")),
        manager.addTurn(id, turn("t\u0000")),
        manager.addTurn(id, turn("t", { cost: -1 })),
        manager.addTurn(id, turn("t", { cost: Number.POSITIVE_INFINITY })),
        manager.addTurn(id, turn("t", { tokensUsed: 0.5 })),
        manager.addTurn(id, turn("t", { timestamp: Number.NaN })),
        manager.create({ id: "\u0007" as SessionId }),
        manager.create({ userId: "x".repeat(257) as UserId })
      ] as ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>>
      const before = yield* manager.get(id)
      for (const [n, attempt] of attempts.entries()) {
        const exit = yield* Effect.exit(attempt)
        assert.isTrue(Exit.isFailure(exit), `${n} is kept`)
        if (Exit.isSuccess(exit)) continue
        assert.strictEqual(Option.getOrUndefined(Cause.failureOption(exit.cause))?._tag, "SessionInputError", `${n}`)
        assert.notInclude(Cause.pretty(exit.cause), "hunter2")
      }
      assert.deepStrictEqual(yield* manager.get(id), before)
      assert.lengthOf((yield* manager.list(null)).sessions, 0)
    }).pipe(Effect.provide(over(InMemorySessionStore.layer)))
  )
})

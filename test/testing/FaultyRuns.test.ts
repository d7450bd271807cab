import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Supervisor from "effect/Supervisor"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as InMemoryCostLedger from "../../src/governance/store/InMemoryCostLedger.js"
import * as NextTurn from "../../src/internal/fiber/NextTurn.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import { StorageError } from "../../src/memory/entry/MemoryError.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import { SessionStorageError } from "../../src/session/turn/SessionError.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as FaultyService from "../../src/testing/FaultyService.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"

const SEEDS = Number(process.env["FAULT_SEEDS"] ?? 24)
/** With those whose stores never answered the upkeep of open exchanges: it has to go on. */
const seeds = new Set([...Array.from({ length: SEEDS }, (_, seed) => seed), 40, 91, 143, 156, 208, 256, 280])
const RUNS = 4

const userId = UserId.make("ada")
const sessionId = SessionId.make("s")

/** What has faults: one part at a time, or all. */
const parts = ["sessions", "memory", "tools", "all"] as const

/** Few faults of all kinds, many of one. */
const strengths: ReadonlyArray<FaultyService.Faults & { readonly corrupt?: number }> = [
  { fail: 0.03, late: 0.03, delay: 0.2 },
  { fail: 0.2, corrupt: 0.5 },
  { late: 0.2 },
  { hang: 0.03 },
  { hang: 0.1, delay: 0.3 },
  { fail: 0.1, late: 0.1, hang: 0.05, delay: 0.2, corrupt: 0.3 }
]

/** Asks both tools, then answers with the number of its question. */
const model = ({ messages }: LlmClient.LlmRequest): TestModel.Turn => {
  const at = messages.findLastIndex(({ role }) => role === "user")
  if (messages.slice(at + 1).some(({ role }) => role === "tool")) return { text: "Done." }
  return {
    calls: [
      { name: "look", params: { key: "x" } },
      { name: "book", params: { place: "p" } }
    ]
  }
}

const tools = (faults: Omit<FaultyService.HandlerOptions<string>, "error">) => {
  const open = { calls: 0 }
  const counted = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => void open.calls++),
      () => effect,
      () => Effect.sync(() => void open.calls--)
    )
  const look = FaultyService.handler(({ key }: { readonly key: string }) => Effect.succeed({ found: [key, key] }), {
    ...faults,
    error: () => "Nobody answers"
  })
  const book = FaultyService.handler(({ place }: { readonly place: string }) => Effect.succeed(`#${place}`), {
    ...faults,
    seed: faults.seed + 1000,
    error: () => "The line went dead"
  })
  return {
    open,
    tools: [
      Tool.make("look", {
        description: "Looks something up",
        parameters: { key: Schema.String },
        success: Schema.Struct({ found: Schema.Array(Schema.String) }),
        readOnly: true,
        handler: (params) => counted(look(params))
      }),
      Tool.make("book", {
        description: "Books a place",
        parameters: { place: Schema.String },
        handler: (params) => counted(book(params))
      })
    ]
  }
}

const system = (seed: number) =>
  Effect.gen(function* () {
    const injected: Array<FaultyService.Injected> = []
    const onFault = (one: FaultyService.Injected) => void injected.push(one)
    const part = parts[seed % parts.length]
    const strength = strengths[Math.floor(seed / parts.length) % strengths.length]
    const faultsOf = (name: (typeof parts)[number]) =>
      ({ ...(part === name || part === "all" ? strength : {}), seed, maxDelay: "3 seconds", onFault }) as const
    const sessionStore = yield* Effect.provide(SessionStore.SessionStore, InMemorySessionStore.layer)
    const memoryStore = yield* InMemoryMemoryStore.make()
    const sessions = Sessions.layer({
      cleanup: false,
      store: Layer.succeed(
        SessionStore.SessionStore,
        FaultyService.make(sessionStore, {
          ...faultsOf("sessions"),
          error: ({ method }) => new SessionStorageError({ message: `${method}: the disk is away` })
        })
      )
    })
    const memory = DefaultMemory.layer({
      config: { ttlSeconds: 0, consolidation: { enabled: false } },
      store: Layer.succeed(
        MemoryStore.MemoryStore,
        FaultyService.make(memoryStore, {
          ...faultsOf("memory"),
          error: ({ method }) => new StorageError({ message: `${method}: the disk is away` })
        })
      )
    })
    const prices = CostEstimator.layerPrices({ "test-model": { input: 1_000_000, output: 1_000_000 } })
    const governance = DefaultGovernance.layerWith({
      config: { monthlyBudget: 9_000_000 },
      ledger: Layer.succeed(CostLedger.CostLedger, yield* InMemoryCostLedger.make())
    }).pipe(Layer.provide(prices))
    const made = tools(faultsOf("tools"))
    const agent = Agent.make("clerk", {
      tools: made.tools,
      limits: { timeout: "1 minute", maxModelCalls: 6, maxToolCalls: 6, toolTimeout: "5 seconds" }
    })
    const layer = Agents.layerWith({
      sessions,
      memory,
      prices,
      governance: Layer.effect(Governance.Governance, Governance.Governance)
    }).pipe(Layer.provideMerge(governance), Layer.provideMerge(TestModel.layer(model))) as Layer.Layer<
      AgentExecutor.AgentExecutor | TestModel.TestModel | Governance.Governance
    >
    return { agent, injected, layer, memoryStore, open: made.open, sessionStore }
  })

/** Moves the clock until a fiber ends, for ten minutes at most. */
const ended = <A, E>(fiber: Fiber.RuntimeFiber<A, E>) =>
  Effect.gen(function* () {
    for (let round = 0; round < 120; round++) {
      yield* NextTurn.nextTurn
      const exit = fiber.unsafePoll()
      if (exit !== null) return exit
      yield* TestClock.adjust("5 seconds")
    }
    return undefined
  })

const endOf = (exit: Exit.Exit<unknown, unknown> | undefined): string => {
  if (exit === undefined) return "no end"
  if (Exit.isSuccess(exit)) return "success"
  const failures = Chunk.toReadonlyArray(Cause.failures(exit.cause))
  return failures.length === 1 && Chunk.isEmpty(Cause.defects(exit.cause))
    ? String((failures[0] as { readonly _tag?: string })._tag)
    : `no failure: ${Cause.pretty(exit.cause).slice(0, 2000)}`
}

describe("runs over faulty sessions, memory and tools", () => {
  for (const seed of seeds) {
    it.effect(`end, keep what was written once, and leave nothing behind, seed ${seed}`, () =>
      Effect.gen(function* () {
        const { agent, injected, layer, open, sessionStore } = yield* system(seed)
        const saved: Array<string> = []
        const questions: Array<string> = []
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(layer, scope)
        yield* Effect.gen(function* () {
          for (let n = 0; n < RUNS; n++) {
            const supervisor = yield* Supervisor.track
            const events: Array<AgentEvent> = []
            const run = Stream.runForEach(
              AgentExecutor.stream(agent, { input: `Question ${n}`, userId, sessionId, runId: `r${n}` }),
              (event) => Effect.sync(() => void events.push(event))
            )
            const fiber = yield* Effect.fork(Effect.supervised(run, supervisor))
            const before = injected.length
            const end = endOf(yield* ended(fiber))
            const name = `seed ${seed}, run ${n}: ${end} after ${JSON.stringify(injected.slice(before))}`
            assert.notMatch(end, /^no /, name)
            const last = events.at(-1)
            assert.isTrue(
              end === "success" ? last?._tag === "Finished" : last?._tag === "Error" && last.error.tag === end,
              name
            )
            assert.deepStrictEqual(EventRecorder.violations(events), [], name)
            const { active } = yield* TestModel.TestModel
            assert.deepStrictEqual([yield* active, open.calls], [0, 0], name)
            const alive = (yield* supervisor.value).filter((one) => one.unsafePoll() === null)
            assert.lengthOf(alive, 0, name)
            const governance = yield* Governance.Governance
            assert.strictEqual((yield* governance.getBudget()).reserved, 0, name)
            const isSaved = !events.some((event) => event._tag === "Degraded" && event.stage === "session save")
            if (end === "success" && isSaved) {
              saved.push(`r${n}:user`, `r${n}:assistant`)
            }
          }
          // A question that a model was asked is kept, however its run ended: in the background, if the store was away.
          for (let round = 0; round < 60; round++) {
            yield* TestClock.adjust("20 seconds")
            yield* NextTurn.nextTurn
          }
          const asked = new Set(
            (yield* TestModel.requests).map(({ messages }) => messages.findLast(({ role }) => role === "user")?.content)
          )
          for (let n = 0; n < RUNS; n++) if (asked.has(`Question ${n}`)) questions.push(`r${n}:user`)
        }).pipe(Effect.provide(context))
        // The lease of the process is given up at the end, and the store has faults then too.
        assert.isDefined(yield* ended(yield* Effect.fork(Scope.close(scope, Exit.void))), `seed ${seed}: no end`)
        const session = yield* sessionStore.load(sessionId)
        if (Option.isNone(session)) return assert.isEmpty(saved)
        const { head } = session.value
        const turns = head === undefined ? [] : yield* sessionStore.turns(head, { limit: 100 })
        const ids = turns.map(({ id }) => String(id))
        assert.strictEqual(new Set(ids).size, ids.length)
        assert.strictEqual(session.value.depth, ids.length)
        assert.includeMembers(ids, [...questions, ...saved], JSON.stringify({ seed, ids, questions, saved }))
      })
    )
  }
})

import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { EntryId, RunId, SessionId, UserId } from "../../src/domain/Ids.js"
import * as Governance from "../../src/governance/Governance.js"
import * as DefaultPolicyEngine from "../../src/governance/policy/DefaultPolicyEngine.js"
import * as ResourceQuotas from "../../src/governance/ResourceQuotas.js"
import * as AuditLog from "../../src/governance/store/AuditLog.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import { ResourceExhaustedError } from "../../src/governance/store/GovernanceError.js"
import * as Embedder from "../../src/llm/embedding/Embedder.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as EntityExtractor from "../../src/memory/semantic/EntityExtractor.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as SessionStore from "../../src/session/turn/SessionStore.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalStore from "../../src/tool/approval/ApprovalStore.js"
import * as CountingEmbedder from "../support/CountingEmbedder.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"

const agent = Agent.make("helper", { system: "You help." })
const userId = UserId.make("ada")
const sessionId = SessionId.make("chat")

/** Everything that a system has of its own, looked at from outside. */
const lived = Effect.gen(function* () {
  const { output, runId } = yield* AgentExecutor.run(agent, { input: "my cat is called Tom", sessionId, userId })
  assert.strictEqual(output, "nice")
  return runId
})

const remembered = (runId: Effect.Effect.Success<typeof lived>) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    assert.deepStrictEqual(
      (yield* sessions.turns(sessionId, { last: 10, userId })).map(({ content }) => content),
      ["my cat is called Tom", "nice"]
    )
    const memory = yield* MemoryStore.MemoryStore
    const [found] = yield* memory.retrieve({ ownerId: "ada", query: "cat" })
    assert.strictEqual(found?.entry.content, "my cat is called Tom")
    const log = yield* RunLog.RunLog
    assert.isAbove((yield* log.read(runId, { userId })).length, 2)
    assert.deepStrictEqual(yield* log.read(runId), [])
    const audit = yield* AuditLog.AuditLog
    assert.isAbove((yield* audit.read({ userId })).length, 0)
    const governance = yield* Governance.Governance
    assert.isAbove((yield* governance.getBudget(userId)).spent, -1)
    const { health } = yield* Lexigram.Lexigram
    assert.strictEqual((yield* health).status, "healthy")
  })

/** Not every system has a run. */
const model = TestModel.layer([{ text: "nice" }], { exhausted: false })

type Open = (
  options: Lexigram.Replaceable & Lexigram.Settings
) => Effect.Effect<Layer.Layer<Lexigram.Out, unknown>, unknown, import("effect/Scope").Scope>

/** What is given here needs nothing else. */
const closed = (system: Layer.Layer<Lexigram.Out, any, any>): Layer.Layer<Lexigram.Out, unknown> =>
  Layer.provide(system, model) as Layer.Layer<Lexigram.Out, unknown>

const size = { inputTokens: 10, maxOutputTokens: 10 }

/** What can be given in place of what a system has of its own. */
const takes = (open: Open) => {
  it.scoped("embeds with the given embedder", () =>
    Effect.gen(function* () {
      const { calls, embedder } = CountingEmbedder.make()
      const system = yield* open({
        memory: { defaultBackend: "vector" },
        embedder: Layer.succeed(Embedder.Embedder, embedder)
      })
      yield* Effect.provide(lived, system)
      assert.include(calls.flat(), "my cat is called Tom")
    })
  )

  it.scoped("reads facts, summarizes and counts tokens with the given layers", () =>
    Effect.gen(function* () {
      const extractor = Layer.succeed(EntityExtractor.EntityExtractor, {
        extract: () =>
          Effect.succeed({ facts: [{ subject: "Ada", predicate: "owns", object: "a kite" }], entities: ["Ada"] })
      })
      const tokens = TokenCounter.make({ model: "letters", exact: true, count: (text) => text.length })
      const system = yield* open({
        memory: { consolidation: { batchSize: 5, intervalSeconds: 36_000, ageThresholdHours: 1 } },
        extractor,
        compressor: DefaultEpisodicCompressor.layerExtractive,
        tokens: Layer.succeed(TokenCounter.TokenCounter, tokens)
      })
      yield* Effect.gen(function* () {
        const memory = yield* WorkingMemory.WorkingMemory
        const entries = Array.from("abcdefghij", (letter, n) =>
          MemoryEntry.make({
            id: EntryId.make(`entry ${letter}`),
            ownerId: "ada",
            content: `${letter} alone`,
            role: "user",
            timestamp: n
          })
        )
        yield* Effect.forEach(entries, memory.add)
        yield* memory.flush({ ownerId: "ada" })
        const { facts, tokens } = yield* memory.assemble({ ownerId: "ada", query: "Ada", tokenBudget: 2000 })
        assert.lengthOf(facts, 1)
        assert.include(facts[0], "kite")
        assert.isAbove(tokens, 30)
        const store = yield* MemoryStore.MemoryStore
        assert.strictEqual(yield* store.count("ada"), 10)
        const consolidator = yield* MemoryConsolidator.MemoryConsolidator
        yield* TestClock.adjust("40 hours")
        yield* consolidator.consolidate({ ownerId: "ada" })
        assert.strictEqual(yield* store.count("ada"), 2)
      }).pipe(Effect.provide(system))
    })
  )

  it.scoped("applies the given policies and quotas", () =>
    Effect.gen(function* () {
      const policies = DefaultPolicyEngine.layer([
        { id: "not today", scope: "model", effect: "deny", when: { users: ["ada"] } }
      ])
      const denying = yield* open({ policies })
      const denied = (yield* Effect.flip(Effect.provide(lived, denying))) as { readonly _tag: string }
      assert.strictEqual(denied._tag, "PolicyViolationError")
      const error = new ResourceExhaustedError({
        message: "no more",
        tenantId: "t",
        unitName: "u",
        limit: 1,
        current: 1
      })
      const exhausted = Effect.succeed<ResourceQuotas.QuotaDecision>({ status: "exhausted", usage: [], error })
      const quotas = Layer.succeed(ResourceQuotas.ResourceQuotas, {
        consume: () => exhausted,
        consumeKind: () => exhausted,
        consumeKinds: () => exhausted,
        correct: () => Effect.void,
        snapshot: (tenantId, unit) => Effect.succeed({ tenantId, unit, current: 1 })
      })
      const refused = Effect.flatMap(Governance.Governance, (governance) =>
        Effect.flip(
          governance.reserve({
            runId: RunId.make("run"),
            agent: "a",
            provider: "p",
            model: "m",
            tenantId: "t",
            ...size
          })
        )
      )
      assert.deepStrictEqual(yield* Effect.provide(refused, yield* open({ quotas })), error as unknown)
    })
  )
}

describe("a system in memory", () => {
  takes((options) => Effect.succeed(closed(Lexigram.layerMemory(options))))

  it.effect("keeps memory, session, run and audit log", () =>
    Effect.flatMap(lived, remembered).pipe(
      Effect.provide(Lexigram.layerMemory({ audit: true }).pipe(Layer.provideMerge(model)))
    )
  )
})

const suite = (name: string, system: Open) =>
  describe(`a system on ${name}`, () => {
    takes(system)

    it.scoped("continues in the next process with all its data", () =>
      Effect.gen(function* () {
        const one = yield* system({})
        const runId = yield* Effect.provide(lived, one)
        yield* Effect.provide(remembered(runId), Layer.fresh(one))
      })
    )

    it.scoped("stores every port in the database", () =>
      Effect.gen(function* () {
        const one = yield* system({})
        yield* Effect.gen(function* () {
          assert.strictEqual((yield* SessionStore.SessionStore).name, name)
          assert.strictEqual((yield* MemoryStore.MemoryStore).name, name)
          assert.strictEqual((yield* CostLedger.CostLedger).backend, name)
          assert.strictEqual((yield* Lexigram.Lexigram).backend, name)
          const approvals = yield* ApprovalStore.ApprovalStore
          assert.deepStrictEqual(yield* approvals.pending({}), [])
          const { health } = yield* Lexigram.Lexigram
          assert.deepStrictEqual(
            (yield* health).parts.map(({ name }) => name),
            [name, "entries", "facts", "ai-session"]
          )
        }).pipe(Effect.provide(one))
      })
    )

    it.scoped("keeps in memory what is configured so", () =>
      Effect.gen(function* () {
        const one = yield* system({ memory: { defaultBackend: "in_memory" }, sessions: { backend: "in_memory" } })
        yield* Effect.gen(function* () {
          assert.strictEqual((yield* SessionStore.SessionStore).name, "in_memory")
          assert.strictEqual((yield* MemoryStore.MemoryStore).name, "in_memory")
        }).pipe(Effect.provide(one))
      })
    )

    it.scoped("searches by meaning when memory uses vectors", () =>
      Effect.gen(function* () {
        const one = yield* system({ memory: { defaultBackend: "vector" } })
        const runId = yield* Effect.provide(lived, one)
        yield* Effect.gen(function* () {
          const memory = yield* MemoryStore.MemoryStore
          const [found] = yield* memory.retrieve({ ownerId: "ada", query: "cats", explain: true })
          assert.isDefined(found?.explanation?.vector)
          yield* remembered(runId)
        }).pipe(Effect.provide(Layer.fresh(one)))
      })
    )

    it.scoped("does not replace a missing cache by something else", () =>
      Effect.gen(function* () {
        for (const settings of [{ memory: { defaultBackend: "cache" } }, { sessions: { backend: "cache" } }] as const) {
          const one = yield* system(settings)
          const built = yield* Effect.either(Effect.provide(Effect.void, one))
          assert.strictEqual(
            (Either.getOrThrow(Either.flip(built)) as { readonly _tag: string })._tag,
            "PersistenceConfigurationError"
          )
        }
      })
    )
  })

suite("sqlite", (settings) =>
  Effect.map(SqliteDrivers.file, (file) => closed(Lexigram.layerSqlite({ file, audit: true, ...settings }))))

const postgres = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ empty, url }) => {
  suite("postgres", (settings) =>
    Effect.as(
      Effect.ignore(empty),
      closed(Lexigram.layerPostgres({ url: Redacted.make(url), vectors: "scan", audit: true, ...settings }))
    ))
})

TestServers.suite("postgres", postgres, ({ url }) => {
  it.scoped("does not replace pgvector by something else when the server lacks it", () =>
    Effect.gen(function* () {
      const one = Lexigram.layerPostgres({ url: Redacted.make(url), memory: { defaultBackend: "vector" } })
      const error = yield* Effect.flip(Effect.provide(Effect.void, Layer.provide(one, model)))
      assert.strictEqual(error._tag, "PersistenceConfigurationError")
      assert.include(error.message, "pgvector")
    })
  )
})

const redis = await TestServers.redis()

TestServers.suite("redis", redis, (server) => {
  it.scoped("a system stores its cached data in Redis, and is healthy only with it", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const one = Lexigram.layerSqlite({
        file,
        audit: true,
        redis: { url: Redacted.make(server.url) },
        memory: { defaultBackend: "cache" },
        sessions: { backend: "cache" }
      })
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* SessionStore.SessionStore).name, "redis")
        assert.strictEqual((yield* MemoryStore.MemoryStore).name, "redis")
        yield* remembered(yield* lived)
        const { health } = yield* Lexigram.Lexigram
        assert.includeMembers(
          (yield* health).parts.map(({ name }) => name),
          ["sqlite", "redis"]
        )
      }).pipe(Effect.provide(Layer.provide(one, model)))
    })
  )
})

describe("a system from the environment", () => {
  const over = (variables: Record<string, string>) =>
    Lexigram.layerConfig({ audit: true }).pipe(
      Layer.provide(model),
      Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables)))))
    )
  const failure = (variables: Record<string, string>) => Effect.flip(Effect.provide(Effect.void, over(variables)))

  it.scoped("uses the file of its URL and stores everything there", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      yield* Effect.gen(function* () {
        yield* remembered(yield* lived)
        assert.strictEqual((yield* SessionStore.SessionStore).name, "sqlite")
        assert.strictEqual((yield* MemoryStore.MemoryStore).name, "sqlite")
      }).pipe(Effect.provide(over({ LEX_AI_DATABASE__URL: `sqlite:${file}` })))
    })
  )

  it.scoped("stores sessions and memory where their own variables say", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* SessionStore.SessionStore).name, "in_memory")
        assert.strictEqual((yield* MemoryStore.MemoryStore).name, "in_memory")
      }).pipe(
        Effect.provide(
          over({
            LEX_AI_DATABASE__URL: `sqlite:${file}`,
            LEX_AI_MEMORY__DEFAULT_BACKEND: "in_memory",
            LEX_AI_SESSION__BACKEND: "in_memory"
          })
        )
      )
    })
  )

  it.scoped("runs in memory when configured", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Lexigram.Lexigram).backend, "memory")
    }).pipe(Effect.provide(over({ LEX_AI_DATABASE__URL: "memory:" })))
  )

  it.effect("is rejected without a name, with an unknown one, or with Redis", () =>
    Effect.gen(function* () {
      for (const [variables, tag] of [
        [{}, undefined],
        [{ LEX_AI_DATABASE__URL: "mysql://localhost/agents" }, "PersistenceConfigurationError"],
        [{ LEX_AI_DATABASE__URL: "redis://localhost" }, "PersistenceConfigurationError"],
        [
          { LEX_AI_DATABASE__URL: "sqlite::memory:", LEX_AI_DATABASE__REDIS_URL: "sqlite:x" },
          "PersistenceConfigurationError"
        ],
        [{ LEX_AI_DATABASE__URL: "sqlite::memory:", LEX_AI_MEMORY__DEFAULT_BACKEND: "disk" }, undefined]
      ] as const) {
        const error = yield* failure(variables as Record<string, string>)
        if (tag !== undefined) assert.strictEqual((error as { readonly _tag: string })._tag, tag)
      }
    })
  )
})

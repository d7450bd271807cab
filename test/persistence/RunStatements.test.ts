import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { UserId } from "../../src/domain/Ids.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"
import * as WatchedStatements from "../support/WatchedStatements.js"

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }

/** Calls its tool as many times as the input says, unless it is to `say` something, then answers in as many deltas. */
const model: LlmClient.Service = {
  provider: "test",
  model: "test",
  complete: (request, options) => {
    const last = request.messages.at(-1)
    const input = request.messages.findLast(({ role }) => role === "user")
    const said = JSON.stringify(input?.content)
    const times = Number(/\d+/.exec(said)?.[0])
    const done = said.includes("say")
      ? times
      : last?.role === "tool"
        ? Number(JSON.stringify(last.content).match(/"result":(\d+)/)?.[1])
        : 0
    if (done < times) {
      return Effect.succeed({
        content: [{ type: "tool-call", id: `c${done}`, name: "add", params: { a: done } }],
        finishReason: "tool-calls",
        usage
      })
    }
    const deltas = Array.from({ length: times }, () => ({ type: "text-delta" as const, id: "t", delta: "x " }))
    const text = "x ".repeat(times)
    const parts: ReadonlyArray<LlmClient.LlmPart> = [
      { type: "text-start", id: "t" },
      ...deltas,
      { type: "text-end", id: "t" }
    ]
    const streamed = Effect.forEach(parts, (part) => options?.onParts?.([part]) ?? Effect.void, { discard: true })
    return Effect.as(streamed, { content: [{ type: "text", text }], finishReason: "stop", usage })
  }
}

const add = Tool.make("add", {
  description: "Adds one",
  parameters: { a: Schema.Number },
  success: Schema.Number,
  handler: ({ a }) => Effect.succeed(a + 1)
})

const agent = Agent.make("counted", { tools: [add] })
const agents = { maxIterations: 200 }
const userId = UserId.make("ada")

const tally = (texts: ReadonlyArray<string>, table: string): number =>
  texts.filter((text) => new RegExp(`INTO ${table}\\b`).test(text)).length

/** Sweeps of old rows follow low numbers: none is drawn. */
const withoutSweeps = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.random, (random) =>
    Effect.withRandom(effect, Object.create(random, { next: { value: Effect.map(random.next, (n) => (1 + n) / 2) } }))
  )

/** What ten more steps of a run add, a step. */
const perStep = (take: () => WatchedStatements.Statements) =>
  Effect.gen(function* () {
    const run = (steps: number) =>
      Effect.map(AgentExecutor.run(agent, { input: `${steps}`, userId, sessionId: "s" }), take)
    yield* run(2)
    const few = yield* run(5)
    const many = yield* run(45)
    return {
      statements: (many.texts.length - few.texts.length) / 40,
      commits: (many.commits - few.commits) / 40,
      /** Statements of the run with five steps, the markers of its transactions included. */
      ofFew: few.texts.length,
      texts: many.texts
    }
  }).pipe(withoutSweeps)

const suite = (name: string, layer: (options: { readonly audit?: boolean }) => Layer.Layer<any, any>) =>
  describe(`a run on ${name}`, () => {
    it.effect("commits twice a step at most, with two statements, and takes 58 with five steps", () =>
      Effect.gen(function* () {
        const take = WatchedStatements.watch(yield* SqlClient.SqlClient)
        const { commits, ofFew, statements, texts } = yield* perStep(take)
        assert.isAtMost(commits, 2.1)
        assert.isAtMost(statements, 2.5)
        // Session, recall and what is kept: about 40 beside the steps.
        assert.isAtMost(ofFew, 58)
        assert.strictEqual(tally(texts, "lex_runs"), 2)
        assert.strictEqual(tally(texts, "lex_audit"), 0)
        assert.strictEqual(tally(texts, "lex_ledger_holds"), 0)
        // Session and run share a memory; both turns are written to it at once.
        assert.strictEqual(tally(texts, "lex_memories"), 1)
        assert.strictEqual(tally(texts, "lex_session_turns"), 1)
      }).pipe(Effect.provide(layer({})))
    )

    it.effect("audits where an audit is configured", () =>
      Effect.gen(function* () {
        const take = WatchedStatements.watch(yield* SqlClient.SqlClient)
        const { texts } = yield* perStep(take)
        assert.isAtLeast(tally(texts, "lex_audit"), 90)
      }).pipe(Effect.provide(layer({ audit: true })))
    )

    it.effect("stores no row for a delta, and its text once", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const stream = (deltas: number) =>
          Effect.gen(function* () {
            const seen: Array<AgentEvent> = []
            yield* Stream.runForEach(AgentExecutor.stream(Agent.make("told"), { input: `say ${deltas}` }), (event) =>
              Effect.sync(() => void seen.push(event))
            )
            const rows = yield* sql<{ readonly rows: number; readonly size: number }>`
              SELECT COUNT(*) AS rows, SUM(LENGTH(body)) AS size FROM lex_run_events WHERE run_id = ${seen[0]?.runId ?? ""}`
            return { deltas: seen.length, rows: Number(rows[0]?.rows), size: Number(rows[0]?.size) }
          })
        const few = yield* stream(1)
        const many = yield* stream(500)
        assert.isAtLeast(many.deltas, 500)
        assert.strictEqual(many.rows, few.rows, `rows of ${many.deltas} events`)
        assert.isBelow(many.size - few.size, 1100)
      }).pipe(Effect.provide(layer({})))
    )
  })

const gateway = LlmGateway.layer(model)

suite("SQLite", ({ audit }) =>
  Layer.unwrapScoped(
    Effect.map(SqliteDrivers.file, (file) => Lexigram.layerSqlite({ file, agents, audit }).pipe(Layer.provide(gateway)))
  ))

const postgres = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ url }) => {
  suite("Postgres", ({ audit }) =>
    Lexigram.layerPostgres({ url: Redacted.make(url), vectors: "scan", agents, audit }).pipe(Layer.provide(gateway)))
})

/** What every log of runs must do. `layer` starts empty and keeps at least 100 runs. */
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as RunLog from "../../src/observability/RunLog.js"

export const event = (run: string, seq: number, text = `${run}${seq}`): AgentEvent => ({
  _tag: "TextDelta",
  runId: RunId.make(run),
  agent: "a",
  seq,
  at: 1000 + seq,
  text
})

/** One of each kind, with something in every field. */
export const everyKind = (run: string): ReadonlyArray<AgentEvent> => {
  const error = { tag: "ToolExecutionError", code: "LEX_ERR_AGT_007", message: "no", hint: "ü\u0000\ud800" }
  const params = { a: [1, "two", null, { deep: true }], text: "日本\u{1f600}\n", __proto__key: 1 }
  const hostile = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"$":"number","$$":1}}')
  const bodies = [
    { _tag: "Started", input: "i", strategy: "s", provider: "p", model: "m", sessionId: "s1", userId: "u1" },
    { _tag: "InputChecked", input: "" },
    { _tag: "Steered", text: "x" },
    { _tag: "StepStarted", step: 1, name: "n" },
    { _tag: "TextDelta", text: "\u0000\ud83d" },
    { _tag: "ReasoningDelta", text: "r" },
    { _tag: "Thought", step: 1, text: "t" },
    { _tag: "Plan", steps: [{ id: "1", description: "d", tool: "t", dependsOn: [], status: "pending" }] },
    { _tag: "ToolCall", step: 1, id: "c", name: "t", params },
    {
      _tag: "ToolResult",
      step: 1,
      id: "c",
      name: "t",
      isFailure: true,
      result: hostile,
      observation: "o".repeat(100_000),
      truncated: false,
      durationMs: 1.25,
      attempts: 2,
      error
    },
    { _tag: "ApprovalRequested", id: "a", toolCallId: "c", name: "t", params: null, reason: "r" },
    { _tag: "ApprovalResolved", id: "a", toolCallId: "c", approved: false, reason: "r" },
    { _tag: "ProviderToolUsed", step: 1, id: "p", name: "n", params: {}, result: [{ a: 1 }], isFailure: false },
    { _tag: "QuestionAsked", id: "q", toolCallId: "c", name: "t", message: "Which?", form: { type: "object" } },
    { _tag: "QuestionAnswered", id: "q", toolCallId: "c", name: "t", action: "accept", content: { row: 3 } },
    { _tag: "Delegated", toAgent: "b", childRunId: RunId.make("child"), message: "m" },
    { _tag: "Critique", step: 1, text: "c", accepted: true, score: -0.5 },
    { _tag: "NodeFinished", graph: "g", node: "n", step: 1, update: [] },
    { _tag: "UsageReported", usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 }, model: "m", costUsd: 1e-9 },
    { _tag: "GuardTriggered", stage: "input", guard: "g", action: "redact", reason: "r" },
    { _tag: "NodeEmitted", graph: "g", node: "n", step: 1, value: { done: 3 } },
    {
      _tag: "FilesKept",
      files: [
        { mediaType: "image/png", fileName: "a.png", data: { hash: "sha256:0", size: 1, mediaType: "image/png" } },
        { mediaType: "image/*", data: { url: "https://example.com/a" } }
      ]
    },
    { _tag: "MemoryRecalled", source: "session", count: 1, tokens: 2 },
    { _tag: "AnswerRejected", step: 2, message: "m" },
    { _tag: "Degraded", stage: "memory", error },
    { _tag: "Message", text: "m", output: { a: 1 } },
    { _tag: "Error", error, interrupted: false },
    { _tag: "Finished", reason: "completed", sessionId: "s1", durationMs: 5 }
  ]
  return bodies.map(
    (body, seq) =>
      ({ ...body, runId: RunId.make(run), parentRunId: RunId.make("parent"), agent: "a", seq, at: seq }) as AgentEvent
  )
}

const hostile = ["__proto__", "constructor", "Run", "run ", "a'b\"c", "%_", "é", "e\u0301", "日本\u{1f600}", "\ud800"]
const long = ["x", "y"].map((end) => `${"日本\u{1f600}".repeat(63)}${end}`)

export const suite = <E>(name: string, layer: Layer.Layer<RunLog.RunLog, E>): void => {
  const test = (fact: string, body: (log: RunLog.Service) => Effect.Effect<void, unknown, RunLog.RunLog>) =>
    it.effect(fact, () => Effect.provide(Effect.flatMap(RunLog.RunLog, body), layer))

  const seqs = (log: RunLog.Service, run: string, options?: RunLog.ReadOptions) =>
    Effect.map(log.read(RunId.make(run), options), (events) => events.map(({ seq }) => seq))

  describe(`${name} as a RunLog`, () => {
    test("a run that was never written is empty", (log) =>
      Effect.gen(function* () {
        assert.isTrue(log.enabled)
        assert.deepStrictEqual(yield* log.read(RunId.make("a")), [])
        yield* log.append([])
        assert.deepStrictEqual(yield* log.read(RunId.make("a"), { from: 3, limit: 1 }), [])
      }))

    test("events of every kind come back as they were", (log) =>
      Effect.gen(function* () {
        const events = everyKind("a")
        yield* log.append(events)
        const read = yield* log.read(RunId.make("a"), { userId: "u1" })
        assert.deepStrictEqual(read, events)
        assert.strictEqual(JSON.stringify(read), JSON.stringify(events))
        assert.notProperty({}, "polluted")
      }))

    test("what JSON has no form for comes back as it was", (log) =>
      Effect.gen(function* () {
        const results = [Number.NaN, -0, Number.NEGATIVE_INFINITY, 12n, new Date(0), [undefined, { $: 1, $a: null }]]
        const events = results.map((result, seq): AgentEvent => {
          const meta = { runId: RunId.make("a"), agent: "a", seq, at: 0 }
          return { _tag: "ToolCall", step: 1, id: "c", name: "t", params: { result }, ...meta }
        })
        yield* log.append(events)
        assert.deepStrictEqual(yield* log.read(RunId.make("a")), events)
      }))

    test("the events of a run come in order, from a number on, so many at most", (log) =>
      Effect.gen(function* () {
        yield* log.append([event("a", 0), event("b", 0), event("a", 1)])
        yield* log.append([event("a", 2), event("b", 1)])
        assert.deepStrictEqual(yield* seqs(log, "a"), [0, 1, 2])
        assert.deepStrictEqual(yield* seqs(log, "b"), [0, 1])
        assert.deepStrictEqual(yield* seqs(log, "a", { from: 1 }), [1, 2])
        assert.deepStrictEqual(yield* seqs(log, "a", { from: 3 }), [])
        assert.deepStrictEqual(yield* seqs(log, "a", { limit: 2 }), [0, 1])
        assert.deepStrictEqual(yield* seqs(log, "a", { from: 1, limit: 1 }), [1])
        assert.deepStrictEqual(yield* seqs(log, "a", { limit: 0 }), [])
        assert.deepStrictEqual(yield* seqs(log, "a", { limit: Number.POSITIVE_INFINITY }), [0, 1, 2])
      }))

    test("an event is kept once, as it was first, however often it is written", (log) =>
      Effect.gen(function* () {
        yield* log.append([event("a", 0), event("a", 1)])
        yield* log.append([event("a", 0, "other"), event("a", 1), event("a", 2), event("a", 2, "other")])
        assert.deepStrictEqual(yield* log.read(RunId.make("a")), [event("a", 0), event("a", 1), event("a", 2)])
      }))

    test("what was read does not change when more is written", (log) =>
      Effect.gen(function* () {
        yield* log.append([event("a", 0)])
        const read = yield* log.read(RunId.make("a"))
        yield* log.append([event("a", 1)])
        assert.lengthOf(read, 1)
      }))

    test("a run is read by its user, one of nobody without a user, and any by the system", (log) =>
      Effect.gen(function* () {
        const begun = (run: string, more: object): AgentEvent =>
          ({ _tag: "Started", input: "i", strategy: "s", runId: run, agent: "a", seq: 0, at: 0, ...more }) as AgentEvent
        const inside = { parentRunId: "adas" }
        yield* log.append([begun("adas", { userId: "ada" }), begun("nobodys", {})])
        yield* log.append([begun("of adas", inside), { ...event("of adas", 1), ...inside } as AgentEvent])
        yield* log.append([begun("for bob in adas", { ...inside, userId: "bob" })])
        yield* log.append([begun("in that", { parentRunId: "of adas" }), event("adas", 1)])
        const runs = ["adas", "nobodys", "of adas", "for bob in adas", "in that"]
        const seen = (userId?: string) =>
          Effect.filter(runs, (run) => Effect.map(seqs(log, run, { userId }), (found) => found.length > 0))
        assert.deepStrictEqual(yield* seen("ada"), ["adas", "of adas", "in that"])
        assert.deepStrictEqual(yield* seen("bob"), ["for bob in adas"])
        assert.deepStrictEqual(yield* seen(), ["nobodys"])
        assert.deepStrictEqual(yield* seen(""), [])
        assert.deepStrictEqual(yield* SystemAccess.grant(seen()), runs)
        assert.deepStrictEqual(yield* SystemAccess.grant(seen("bob")), ["for bob in adas"])
        const streamed = (userId?: string) =>
          Effect.map(Stream.runCollect(RunLog.stream(RunId.make("adas"), { userId })), Chunk.size)
        assert.deepStrictEqual([yield* streamed("ada"), yield* streamed("bob"), yield* streamed()], [2, 0, 0])
        // Who begins a run under an id of somebody else's does not make it theirs.
        yield* log.append([begun("adas", { userId: "eve", seq: 2 })])
        assert.deepStrictEqual(yield* seen("eve"), [])
        assert.deepStrictEqual(yield* seqs(log, "adas", { userId: "ada", limit: 1 }), [0])
      }))

    test("a run that the system began for no user is read by the system alone, and so is what it began", (log) =>
      Effect.gen(function* () {
        const begun = (run: string, more: object): AgentEvent =>
          ({ _tag: "Started", input: "i", strategy: "s", runId: run, agent: "a", seq: 0, at: 0, ...more }) as AgentEvent
        yield* log.append([begun("systems", { system: true }), begun("below", { parentRunId: "systems" })])
        yield* log.append([begun("adas", { userId: "ada" }), event("late", 0), event("later", 0)])
        yield* log.append([begun("of adas", { parentRunId: "adas", system: true })])
        yield* log.append([begun("for ada", { parentRunId: "systems", userId: "ada" })])
        yield* log.append([begun("late", { seq: 1, system: true }), begun("later", { seq: 1, userId: "ada" })])
        const runs = ["systems", "below", "adas", "of adas", "for ada", "late", "later"]
        const seen = (userId?: string) =>
          Effect.filter(runs, (run) => Effect.map(seqs(log, run, { userId }), (found) => found.length > 0))
        assert.deepStrictEqual(yield* seen(), [])
        assert.deepStrictEqual(yield* seen("ada"), ["adas", "of adas", "for ada", "later"])
        assert.deepStrictEqual(yield* seen("\u0001*"), [])
        assert.deepStrictEqual(yield* SystemAccess.grant(seen()), runs)
      }))

    test("runs are told apart exactly, whatever they are called", (log) =>
      Effect.gen(function* () {
        const names = [...hostile, ...long]
        for (const name of names) yield* log.append([event(name, 0)])
        for (const name of names) assert.deepStrictEqual(yield* log.read(RunId.make(name)), [event(name, 0)])
      }))

    test("a long run is read whole, and event by event as it is wanted", (log) =>
      Effect.gen(function* () {
        const events = Array.from({ length: 2501 }, (_, seq) => event("a", seq))
        yield* log.append(events)
        yield* log.append([event("b", 0)])
        assert.deepStrictEqual(yield* log.read(RunId.make("a")), events)
        const collect = (from?: number) =>
          Effect.map(Stream.runCollect(RunLog.stream(RunId.make("a"), { from })), Chunk.toReadonlyArray)
        assert.deepStrictEqual(yield* collect(), events)
        assert.deepStrictEqual(yield* collect(501), events.slice(501))
        assert.deepStrictEqual(yield* collect(9999), [])
        const first = yield* Stream.runCollect(Stream.take(RunLog.stream(RunId.make("a")), 3))
        assert.deepStrictEqual(Chunk.toReadonlyArray(first), events.slice(0, 3))
      }))

    test("many fibers may write at once", (log) =>
      Effect.gen(function* () {
        const names = Array.from({ length: 64 }, (_, index) => `run ${index}`)
        yield* Effect.forEach(
          names,
          (name) => Effect.forEach([0, 1, 2], (seq) => log.append([event(name, seq)]), { discard: true }),
          { concurrency: "unbounded", discard: true }
        )
        for (const name of names) assert.deepStrictEqual(yield* seqs(log, name), [0, 1, 2])
      }))
  })
}

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import type { RunId } from "../../src/domain/Ids.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Trace from "../../src/trace/Trace.js"
import * as EveryStrategy from "../strategy/EveryStrategy.js"
import * as Growth from "../support/Growth.js"
import * as RunEvents from "../support/RunEvents.js"
import * as TracedRuns from "./TracedRuns.js"

const kinds = (trace: Trace.Trace) => trace.issues.map(({ kind }) => kind)

const itemsOf = <T extends Trace.Item["_tag"]>(run: Trace.Run | undefined, tag: T) =>
  (run?.items ?? []).filter((item): item is Extract<Trace.Item, { readonly _tag: T }> => item._tag === tag)

/** Redacted values are compared by what shows of them. */
const plain = (trace: Trace.Trace) => JSON.parse(JSON.stringify({ ...trace, issues: [] }))

describe("Trace", () => {
  it.live("has the calls, approvals, guards and retries of a run and of the run inside of it", () =>
    Effect.gen(function* () {
      const trace = Trace.fromEvents(yield* TracedRuns.office)
      assert.deepStrictEqual(trace.issues, [])
      assert.lengthOf(trace.runs, 1)
      const [chief] = trace.runs
      assert.deepInclude(chief, { agent: "chief", state: "completed", finishReason: "completed", strategy: "react" })
      assert.deepStrictEqual(
        itemsOf(chief, "Guard").map(({ action, guard, stage }) => [guard, action, stage]),
        [["hide-numbers", "redact", "input"]]
      )
      const [retry] = itemsOf(chief, "Degraded")
      assert.strictEqual(retry?.attempt, 2)
      assert.deepInclude(retry?.error, { tag: "LlmUnavailableError", code: "LEX_ERR_LLM_108" })
      assert.deepStrictEqual(
        itemsOf(chief, "ModelCall").map(({ costUsd, retries, usage }) => [usage.cachedInputTokens, retries, costUsd]),
        [
          [900, 1, 0.00237],
          [900, 0, 0.00237]
        ]
      )
      const [inner] = itemsOf(chief, "SubRun")
      assert.deepInclude(inner, { agent: "clerk", handoff: false })
      assert.deepStrictEqual(
        itemsOf(inner?.run, "ToolCall").map(({ error, isFailure, name }) => [name, isFailure, error?.code]),
        [
          ["look_up", false, undefined],
          ["look_up", true, "LEX_ERR_AGT_007"],
          ["pay", false, undefined],
          ["pay", true, "LEX_ERR_AGT_101"]
        ]
      )
      assert.deepStrictEqual(
        itemsOf(inner?.run, "Approval").map(({ approved, name }) => [name, approved]),
        [
          ["pay", true],
          ["pay", false]
        ]
      )
      assert.deepInclude(chief?.own, { modelCalls: 2, toolCalls: 1, subRuns: 1 })
      assert.deepInclude(chief?.total, { modelCalls: 5, toolCalls: 5, failedToolCalls: 2, retries: 1, subRuns: 1 })
    })
  )

  for (const given of EveryStrategy.samples) {
    it.live(`counts what a run of ${given.name} took as its response does`, () =>
      Effect.gen(function* () {
        const { events } = yield* EveryStrategy.succeed(given)
        const response = AgentResponse.fromEvents(events)
        const trace = Trace.fromEvents(events)
        assert.deepStrictEqual(trace.issues, [])
        const [run] = trace.runs
        assert.strictEqual(run?.total.modelCalls, response.modelCalls)
        assert.deepStrictEqual(run?.total.usage, response.usage)
        assert.strictEqual(run?.own.toolCalls, response.toolCalls.length)
        assert.strictEqual(itemsOf(run, "Step").length, response.metadata.iterations)
        assert.strictEqual(itemsOf(run, "SubRun").length, response.metadata.delegations)
        assert.deepStrictEqual(
          run?.plan.map(({ id, status }) => [id, status]),
          (response.plan ?? []).map(({ id, status }) => [id, status])
        )
        for (const call of itemsOf(run, "ModelCall")) assert.isAtMost(call.startedAt, call.at)
      })
    )
  }

  it.live("reads the tree of a search", () =>
    Effect.gen(function* () {
      const lats = EveryStrategy.samples.find(({ name }) => name === "lats")
      const { events } = yield* EveryStrategy.succeed(lats as EveryStrategy.Case)
      const tree = Trace.fromEvents(events).runs[0]?.search ?? []
      assert.deepStrictEqual(
        tree.map(({ children, id, kind }) => [id, kind, children]),
        [
          [0, undefined, [1]],
          [1, "call", [2, 3]],
          [2, "call", [4]],
          [3, "call", [5]],
          [4, "answer", []],
          [5, "call", [6]],
          [6, "answer", []]
        ]
      )
      assert.deepInclude(tree[6], { solved: true, score: 1, visits: 1, value: 1, parent: 5 })
    })
  )

  it("begins a model call with its step, or where the one before ended", () => {
    const usage = { _tag: "UsageReported", usage: { inputTokens: 1, outputTokens: 1 } }
    const events = RunEvents.of("r", [
      { _tag: "Started", input: "", strategy: "lats" },
      { _tag: "StepStarted", step: 1, at: 10 },
      { _tag: "StepStarted", step: 2, at: 20 },
      { ...usage, at: 50 },
      { ...usage, at: 60 },
      { ...usage, at: 90 },
      { _tag: "ToolCall", step: 2, id: "c", name: "t", params: {}, at: 95 },
      {
        _tag: "ToolResult",
        step: 2,
        id: "c",
        name: "t",
        isFailure: false,
        result: 1,
        observation: "1",
        at: 200,
        durationMs: 105,
        truncated: false,
        attempts: 1
      },
      { ...usage, at: 230 }
    ])
    assert.deepStrictEqual(
      itemsOf(Trace.fromEvents(events).runs[0], "ModelCall").map(({ at, startedAt }) => [startedAt, at]),
      [
        [10, 50],
        [20, 60],
        [60, 90],
        [200, 230]
      ]
    )
  })

  it.live("gives every prefix of a run, and says that its end is missing", () =>
    Effect.gen(function* () {
      const events = yield* TracedRuns.office
      for (let length = 1; length < events.length; length++) {
        const trace = Trace.fromEvents(events.slice(0, length))
        assert.include(kinds(trace), "no-end")
        assert.strictEqual(trace.runs[0]?.state, "open")
      }
      const cut = Trace.fromEvents(events.slice(3))
      assert.include(kinds(cut), "no-start")
      assert.strictEqual(cut.runs[0]?.strategy, "")
    })
  )

  it.live("puts events in order, and counts those that come twice once", () =>
    Effect.gen(function* () {
      const events = yield* TracedRuns.office
      const whole = plain(Trace.fromEvents(events))
      FastCheck.assert(
        FastCheck.property(FastCheck.infiniteStream(FastCheck.nat()), (numbers) => {
          const shuffled = [...events, ...events.slice(0, 10)]
            .map((event) => ({ event, at: numbers.next().value as number }))
            .sort((a, b) => a.at - b.at)
            .map(({ event }) => event)
          const trace = Trace.fromEvents(shuffled)
          assert.deepStrictEqual(plain(trace), whole)
          assert.include(kinds(trace), "duplicate")
        }),
        { numRuns: 50 }
      )
    })
  )

  it("tells results without calls, calls without results, and events after the end", () => {
    const result = {
      _tag: "ToolResult",
      step: 1,
      name: "t",
      isFailure: false,
      result: 1,
      observation: "1",
      truncated: false,
      durationMs: 5,
      attempts: 1
    }
    const trace = Trace.fromEvents(
      RunEvents.of("r", [
        { _tag: "Started", input: "hi", strategy: "react" },
        { ...result, id: "none" },
        { _tag: "ToolCall", step: 1, id: "open", name: "t", params: {} },
        { _tag: "QuestionAnswered", id: "q", toolCallId: "open", name: "t", action: "accept" },
        { _tag: "Finished", reason: "completed", durationMs: 9 },
        { _tag: "Message", text: "late" }
      ])
    )
    assert.sameDeepMembers(
      trace.issues.map(({ count, kind }) => [kind, count]),
      [
        ["unmatched", 2],
        ["open-call", 1],
        ["after-end", 1]
      ]
    )
    assert.strictEqual(trace.runs[0]?.durationMs, 9)
    assert.isUndefined(trace.runs[0]?.answer)
  })

  it("leaves out what is no event, and what another version has", () => {
    const [started] = RunEvents.of("r", [{ _tag: "Started", input: "hi", strategy: "react" }])
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no")
        }
      }
    )
    const values = [
      null,
      1,
      "x",
      [],
      {},
      hostile,
      { ...started, seq: Number.NaN },
      { ...started, runId: 7 },
      { ...started, _tag: "__proto__" },
      { ...started, _tag: "Teleported" },
      started
    ]
    const trace = Trace.fromEvents(values as unknown as ReadonlyArray<AgentEvent>)
    assert.sameDeepMembers(
      trace.issues.map(({ count, kind }) => [kind, count]),
      [
        ["malformed", 8],
        ["unknown-event", 2],
        ["no-end", 1]
      ]
    )
    assert.deepStrictEqual(Trace.fromEvents([]), { runs: [], issues: [{ kind: "empty", count: 1 }] })
  })

  it("tells attempts by the gaps between numbers, and by nothing less", () => {
    const events = RunEvents.of("run", [
      { _tag: "Started", input: "", strategy: "react" },
      { _tag: "Thought", text: "one", step: 1 },
      { _tag: "Thought", text: "two", step: 2 },
      { _tag: "Thought", text: "three", step: 3 }
    ])
    const traced = (seqs: ReadonlyArray<number>) => {
      const given = events.map((event, index) => ({ ...event, seq: seqs[index] ?? index, at: 10 * index }))
      const [run] = Trace.fromEvents(given.toReversed()).runs
      const resumed = run?.items.flatMap((item) => (item._tag === "Resumed" ? [item] : []))
      return [run?.attempts, resumed?.map(({ attempt, pauseMs }) => [attempt, pauseMs])]
    }
    const gap = 1_048_576
    assert.deepStrictEqual(traced([0, 1, gap, 2 * gap - 1]), [1, []])
    assert.deepStrictEqual(traced([0, 1, gap + 1, gap + 2]), [2, [[2, 10]]])
    assert.deepStrictEqual(traced([gap, 2 * gap, 3 * gap, 1e300]), [
      4,
      [
        [2, 10],
        [3, 10],
        [4, 10]
      ]
    ])
  })

  it("breaks circles of runs, and takes runs that are nested deep", () => {
    const started = { _tag: "Started", input: "", strategy: "react" }
    const circle = ["a", "b", "c"].flatMap((runId, at, all) =>
      RunEvents.of(runId, [{ ...started, parentRunId: all[(at + 1) % 3] }])
    )
    const trace = Trace.fromEvents([...circle, ...RunEvents.of("self", [{ ...started, parentRunId: "self" }])])
    assert.strictEqual(kinds(trace).filter((kind) => kind === "cycle").length, 2)
    assert.lengthOf(trace.runs, 2)
    assert.strictEqual(
      trace.runs.reduce((sum, { total }) => sum + total.subRuns, 0),
      2
    )
    const deep = Array.from({ length: 5000 }, (_, at) =>
      RunEvents.of(`r${at}`, [{ ...started, ...(at === 0 ? {} : { parentRunId: `r${at - 1}` }) }])
    ).flat()
    const nested = Trace.fromEvents(deep)
    assert.strictEqual(nested.runs[0]?.total.subRuns, 4999)
    assert.include(Trace.toText(nested, { maxItems: 10 }), "4,999 inner runs")
    assert.include(Trace.toHtml(nested), "Inner runs")
  })

  it("says which inner and outer runs have no events", () => {
    const trace = Trace.fromEvents([
      ...RunEvents.of("a", [
        { _tag: "Started", input: "", strategy: "react" },
        { _tag: "Delegated", toAgent: "b", childRunId: "gone", message: "" }
      ]),
      ...RunEvents.of("c", [{ _tag: "Started", input: "", strategy: "react", parentRunId: "unknown" }])
    ])
    assert.deepInclude(trace.issues, { kind: "no-events", runId: "gone" as RunId, count: 1 })
    assert.deepInclude(trace.issues, { kind: "no-parent", runId: "c" as RunId, count: 1 })
  })

  it("takes any events in any order", () => {
    FastCheck.assert(
      FastCheck.property(RunEvents.any("r"), (events) => {
        const trace = Trace.fromEvents(events)
        const text = Trace.toText(trace, { content: true, width: 60, nodes: true })
        for (const line of text.split("\n")) assert.isAtMost(line.length, 60)
        Trace.toHtml(trace, { content: true, nodes: true })
      }),
      { numRuns: 300 }
    )
  })

  it("takes time in proportion to the events", () =>
    Growth.assertLinear({
      input: manyCalls,
      run: (events) => Trace.toText(Trace.fromEvents(events), { maxItems: 100_000 }),
      size: 40_000
    }))

  it.live("reads a run and those inside of it from the log, for its user alone", () => {
    const log = RunLog.layerMemory()
    return Effect.gen(function* () {
      const { runId } = yield* AgentExecutor.run(TracedRuns.chief, {
        input: "Pay the bills of order 4711",
        userId: "ada"
      })
      const trace = yield* Trace.fromRun(runId, { userId: "ada" })
      assert.deepStrictEqual(trace.issues, [])
      assert.strictEqual(itemsOf(trace.runs[0], "SubRun")[0]?.run?.agent, "clerk")
      assert.strictEqual(trace.runs[0]?.total.modelCalls, 5)
      const alone = yield* Trace.fromRun(runId, { userId: "ada", maxRuns: 1 })
      assert.sameMembers(kinds(alone), ["left-out", "no-events"])
      assert.deepStrictEqual(kinds(yield* Trace.fromRun(runId, { userId: "bob" })), ["empty"])
      assert.deepStrictEqual(kinds(yield* Trace.fromRun("none" as RunId, { userId: "ada" })), ["empty"])
    }).pipe(Effect.provide(Layer.merge(TracedRuns.executor(log), log)))
  })

  it.live("makes the trace of a stream, whatever its end", () =>
    Effect.gen(function* () {
      const whole = yield* Trace.fromStream(TracedRuns.stream)
      assert.deepStrictEqual(whole.issues, [])
      const cut = yield* Trace.fromStream(TracedRuns.stream.pipe(Stream.take(4), Stream.concat(Stream.fail("gone"))))
      assert.sameMembers(kinds(cut), ["no-end", "stream-failed"])
      assert.strictEqual((yield* Effect.exit(Trace.fromStream(Stream.die("bug"))))._tag, "Failure")
    }).pipe(Effect.provide(TracedRuns.executor()))
  )
})

const manyCalls = (size: number): ReadonlyArray<AgentEvent> =>
  RunEvents.of(
    "run-1",
    Array.from({ length: size }, (_, at) =>
      at % 2 === 0
        ? { _tag: "ToolCall", step: at, id: `c${at}`, name: "t", params: { at } }
        : { _tag: "StepStarted", step: at }
    )
  )

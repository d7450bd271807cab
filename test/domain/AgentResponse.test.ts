import { assert, describe, it } from "@effect/vitest"
import type { AgentEvent, Body } from "../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import { RunId } from "../../src/domain/Ids.js"

/** A recorder of events of several runs, each with numbers of its own, one millisecond apart. */
const recorder = () => {
  const events: Array<AgentEvent> = []
  const seqs = new Map<string, number>()
  const add = (run: string, ...bodies: ReadonlyArray<Body>) => {
    for (const body of bodies) {
      const seq = seqs.get(run) ?? 0
      seqs.set(run, seq + 1)
      events.push({
        runId: RunId.make(run),
        agent: `agent-${run}`,
        seq,
        at: 1000 + events.length,
        ...body
      } as AgentEvent)
    }
  }
  return { events, add, response: () => AgentResponse.fromEvents(events) }
}

const started: Body = { _tag: "Started", input: "How much?", strategy: "react", sessionId: "s0" }
const finished: Body = { _tag: "Finished", reason: "completed", durationMs: 77 }
const step = (n: number): Body => ({ _tag: "StepStarted", step: n })
const usage = (inputTokens: number, costUsd?: number): Body => ({
  _tag: "UsageReported",
  usage: { inputTokens, totalTokens: inputTokens },
  ...(costUsd === undefined ? {} : { costUsd })
})
const call = (id: string, n = 1, params: unknown = { id }): Body => ({
  _tag: "ToolCall",
  step: n,
  id,
  name: "shop.search",
  params
})
const result = (id: string, over: object = {}): Body => ({
  _tag: "ToolResult",
  step: 1,
  id,
  name: "shop.search",
  isFailure: false,
  result: `r-${id}`,
  observation: `r-${id}`,
  truncated: false,
  durationMs: 5,
  attempts: 1,
  ...over
})
const text = (value: string): Body => ({ _tag: "TextDelta", text: value })
const message = (value: string, output?: unknown): Body => ({
  _tag: "Message",
  text: value,
  ...(output === undefined ? {} : { output })
})
const holds = (actual: object | undefined, expected: object) => assert.deepInclude(actual, expected)

const failure: Body = { _tag: "Error", interrupted: false, error: { tag: "E", message: "e" } }

describe("AgentResponse.fromEvents", () => {
  it("is empty of nothing", () => {
    const response = AgentResponse.fromEvents([])
    holds(response, {
      runId: "",
      input: "",
      message: "",
      modelCalls: 0,
      durationMs: 0,
      interrupted: false
    })
    assert.notProperty(response, "costUsd")
    assert.notProperty(response, "finishReason")
  })

  it("holds the steps with their thoughts and calls, the message and how it ended", () => {
    const { add, response } = recorder()
    add("r", started, step(1), usage(10, 0.5), { _tag: "Thought", step: 1, text: "look" }, call("a"), call("b"))
    add("r", result("b", { isFailure: true, error: { tag: "T", message: "t" }, attempts: 3 }), result("a"))
    add("r", step(2), text("four"), usage(20, 0.25), message("four"), { ...finished, sessionId: "s1" })
    const folded = response()
    holds(folded, {
      runId: "r",
      agent: "agent-r",
      input: "How much?",
      message: "four",
      output: "four",
      modelCalls: 2,
      costUsd: 0.75,
      durationMs: 77,
      finishReason: "completed",
      sessionId: "s1",
      interrupted: false
    })
    assert.deepStrictEqual(folded.usage, { inputTokens: 30, totalTokens: 30 })
    assert.deepStrictEqual(
      folded.steps.map(({ step, thought, toolCalls }) => [step, thought, toolCalls.map((call) => call.id)]),
      [
        [1, "look", ["a", "b"]],
        [2, undefined, []]
      ]
    )
    assert.strictEqual(folded.toolCalls[0], folded.steps[0]!.toolCalls[0])
    holds(folded.toolCalls[1], { isFailure: true, attempts: 3, error: { tag: "T", message: "t" } })
    assert.deepStrictEqual(
      AgentResponse.successfulToolCalls(folded).map(({ id }) => id),
      ["a"]
    )
    assert.deepStrictEqual(
      AgentResponse.failedToolCalls(folded).map(({ id }) => id),
      ["b"]
    )
  })

  it("counts what runs inside it used, and nothing else of theirs", () => {
    const { add, response } = recorder()
    add("r", started, step(1), usage(10, 0.5), call("a"))
    add("child", started, step(1), usage(5, 0.25), call("x"), text("inner"), message("inner"), finished)
    add("r", result("a"), message("outer"), finished)
    const folded = response()
    holds(folded, { runId: "r", message: "outer", modelCalls: 2, costUsd: 0.75 })
    assert.deepStrictEqual(folded.usage.inputTokens, 15)
    assert.lengthOf(folded.toolCalls, 1)
  })

  it("knows the cost only when that of every call is known", () => {
    const costs = (...given: ReadonlyArray<number | undefined>) => {
      const { add, response } = recorder()
      add("r", started, ...given.map((cost) => usage(1, cost)))
      return response().costUsd
    }
    assert.strictEqual(costs(0.5, 0.25), 0.75)
    assert.strictEqual(costs(0, 0), 0)
    assert.isUndefined(costs(0.5, undefined, 0.25))
    assert.isUndefined(costs())
    const { add, response } = recorder()
    add("r", started, usage(1, 1))
    add("child", usage(1))
    assert.isUndefined(response().costUsd)
  })

  it("keeps a call that never ended without a result", () => {
    const { add, response } = recorder()
    add("r", started, step(1), call("a"), call("b"), result("a"), failure)
    const folded = response()
    assert.notProperty(folded.toolCalls[1]!, "isFailure")
    assert.deepStrictEqual(
      AgentResponse.failedToolCalls(folded).map(({ id }) => id),
      ["b"]
    )
    assert.deepStrictEqual(
      AgentResponse.successfulToolCalls(folded).map(({ id }) => id),
      ["a"]
    )
  })

  it("of a run that failed shows the text of the last step so far", () => {
    const { add, response } = recorder()
    add("r", started, step(1), text("first "), step(2), text("sec"), text("ond"), failure)
    const folded = response()
    assert.deepStrictEqual(
      [folded.message, folded.finishReason, folded.error],
      ["second", undefined, { tag: "E", message: "e" }]
    )
    assert.strictEqual(folded.durationMs, 6)
    const interrupted = recorder()
    interrupted.add("r", started, { ...failure, interrupted: true } as Body)
    assert.isTrue(interrupted.response().interrupted)
  })

  it("takes the message over the text, also when it is empty", () => {
    const { add, response } = recorder()
    add("r", started, step(1), text("secret"), message(""), finished)
    assert.strictEqual(response().message, "")
  })

  it("keeps output, plan and what degraded", () => {
    const { add, response } = recorder()
    const plan = [{ id: "1", description: "d", status: "pending" }] as const
    add("r", started, { _tag: "Plan", steps: plan }, { _tag: "Plan", steps: [{ ...plan[0], status: "completed" }] })
    add(
      "r",
      { _tag: "Degraded", stage: "memory", error: { tag: "M", message: "m" } },
      message("{}", { n: 1 }),
      finished
    )
    const folded = response()
    assert.deepStrictEqual(folded.output, { n: 1 })
    assert.strictEqual(folded.plan?.[0]?.status, "completed")
    assert.deepStrictEqual(folded.degraded, [{ stage: "memory", error: { tag: "M", message: "m" } }])
  })

  it("says how it went in numbers", () => {
    const { add, response } = recorder()
    const plan = (
      ...steps: ReadonlyArray<readonly [id: string, status: "pending" | "completed" | "failed" | "skipped"]>
    ): Body => ({
      _tag: "Plan",
      steps: steps.map(([id, status]) => ({ id, description: `do ${id}`, status }))
    })
    const delegated = (toAgent: string): Body => ({
      _tag: "Delegated",
      toAgent,
      childRunId: RunId.make(`to-${toAgent}`),
      message: "do it"
    })
    assert.deepStrictEqual(response().metadata, {
      strategy: "",
      iterations: 0,
      replans: 0,
      delegations: 0,
      agentsUsed: []
    })
    add("1", started, step(1), plan(["1", "pending"], ["2", "pending"]), delegated("b"), delegated("a"))
    // As far as it got, and more of it: the same plan.
    add(
      "1",
      step(2),
      plan(["1", "completed"], ["2", "pending"]),
      plan(["1", "completed"], ["2", "pending"], ["3", "pending"])
    )
    add("2", started, step(1), delegated("c"))
    assert.strictEqual(response().metadata.replans, 0)
    add("1", step(3), plan(["1", "completed"], ["2", "failed"], ["3", "skipped"], ["4", "pending"]), delegated("b"))
    assert.strictEqual(response().metadata.replans, 1)
    add(
      "1",
      plan(["1", "completed"], ["2", "failed"], ["3", "skipped"], ["4", "completed"]),
      plan(["5", "pending"]),
      finished
    )
    assert.deepStrictEqual(response().metadata, {
      strategy: "react",
      iterations: 3,
      replans: 2,
      delegations: 3,
      agentsUsed: ["b", "a"]
    })
  })

  it("can be asked while events still come", () => {
    const { add, events } = recorder()
    add("r", started, step(1), text("a"), message("done"), finished)
    const fold = AgentResponse.fold()
    const seen = events.map((event) => {
      fold.push(event)
      return fold.response().message
    })
    assert.deepStrictEqual(seen, ["", "", "a", "done", "done"])
  })
})

describe("AgentResponse.toMessages", () => {
  it("is the conversation: question, calls with their results in order, answer", () => {
    const { add, response } = recorder()
    add("r", started, step(1), { _tag: "Thought", step: 1, text: "look" }, call("a"), call("b"), result("b"))
    add("r", result("a", { isFailure: true, result: "Error: no" }), step(2), message("four"), finished)
    const name = "shop.search"
    const base = { name, providerExecuted: false }
    assert.deepStrictEqual(AgentResponse.toMessages(response()), [
      { role: "user", content: "How much?" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "look" },
          { type: "tool-call", id: "a", ...base, params: { id: "a" } },
          { type: "tool-call", id: "b", ...base, params: { id: "b" } }
        ]
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", id: "a", ...base, isFailure: true, result: "Error: no" },
          { type: "tool-result", id: "b", ...base, isFailure: false, result: "r-b" }
        ]
      },
      { role: "assistant", content: "four" }
    ])
  })

  it("leaves out calls without a result, and the text of a run that failed", () => {
    const { add, response } = recorder()
    add("r", started, step(1), call("a"), call("b"), result("a"), step(2), call("c"), text("half"), failure)
    assert.deepStrictEqual(
      AgentResponse.toMessages(response()).map(({ content, role }) => [role, content.length]),
      [
        ["user", "How much?".length],
        ["assistant", 1],
        ["tool", 1]
      ]
    )
  })

  it("names tools as it is told", () => {
    const { add, response } = recorder()
    add("r", started, step(1), call("a"), result("a"), message("x"), finished)
    const messages = AgentResponse.toMessages(response(), { toolName: (name) => name.replace(".", "_") })
    assert.deepStrictEqual(
      messages.slice(1, 3).map((message) => (message.content[0] as { readonly name: string }).name),
      ["shop_search", "shop_search"]
    )
  })

  it("is empty of nothing", () => {
    assert.deepStrictEqual(AgentResponse.toMessages(AgentResponse.fromEvents([])), [])
  })
})

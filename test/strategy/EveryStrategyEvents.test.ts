import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as AgentEvent from "../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import * as Usage from "../../src/domain/Usage.js"
import * as StateGraph from "../../src/graph/StateGraph.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as EveryStrategy from "./EveryStrategy.js"

const { cases, shaping, succeed, watch } = EveryStrategy

const of = <T extends AgentEvent.Tag>(events: ReadonlyArray<AgentEvent.AgentEvent>, tag: T) =>
  events.filter((event): event is AgentEvent.Of<T> => event._tag === tag)

/** What must hold of the events of every run, of those it started too. */
const check = (name: string, watched: EveryStrategy.Watched) => {
  const { events } = watched
  assert.deepStrictEqual(EventRecorder.violations(events), [], name)
  assert.strictEqual(watched.active, 0, name)
  assert.strictEqual(watched.tools.open, 0, name)
  for (const runId of new Set(events.map((event) => event.runId))) {
    const run = events.filter((event) => event.runId === runId)
    assert.strictEqual(run.filter(AgentEvent.isTerminal).length, 1, name)
    const steps = of(run, "StepStarted").map((event) => event.step)
    assert.deepStrictEqual(
      steps,
      steps.map((_, index) => index + 1),
      `${name}: steps`
    )
    const calls = of(run, "ToolCall").map((event) => event.id)
    assert.strictEqual(new Set(calls).size, calls.length, `${name}: ids of calls are unique in ${calls.join(", ")}`)
    assert.deepStrictEqual(
      of(run, "ToolResult")
        .map((event) => event.id)
        .sort(),
      calls.slice().sort(),
      `${name}: results`
    )
    for (const call of of(run, "ToolCall")) {
      const result = of(run, "ToolResult").find((event) => event.id === call.id)
      assert.deepStrictEqual([result?.name, result?.step], [call.name, call.step], `${name}: ${call.id}`)
      assert.isTrue(call.step >= 1 && call.step <= steps.length, `${name}: the step of ${call.id}`)
    }
    for (const event of [...of(run, "Thought"), ...of(run, "Critique")]) {
      assert.isTrue(event.step >= 1 && event.step <= steps.length, `${name}: the step of ${event._tag}`)
    }
    for (const { steps: plan } of of(run, "Plan")) {
      assert.strictEqual(new Set(plan.map(({ id }) => id)).size, plan.length, `${name}: ids of a plan`)
    }
  }
  const reported = of(events, "UsageReported")
  assert.strictEqual(reported.length, watched.requests.length, `${name}: a report for each model call`)
  const response = AgentResponse.fromEvents(events)
  const sum = reported.reduce((total, event) => Usage.add(total, event.usage), Usage.empty)
  assert.deepStrictEqual(response.usage, sum, name)
  assert.strictEqual(response.modelCalls, watched.requests.length, name)
  for (const event of events) {
    // What is written to a journal is read back the same.
    const encoded = Schema.encodeSync(AgentEvent.AgentEvent)(event)
    assert.deepStrictEqual(
      Schema.decodeUnknownSync(AgentEvent.AgentEvent)(JSON.parse(JSON.stringify(encoded))),
      JSON.parse(JSON.stringify(event)),
      `${name}: ${event._tag}`
    )
  }
}

describe("events of every strategy", () => {
  for (const given of cases) {
    it.effect(given.name, () =>
      Effect.gen(function* () {
        const watched = yield* succeed(given)
        check(given.name, watched)
        const { events } = watched
        const own = events.filter((event) => event.agent === "sample")
        assert.strictEqual(own.at(0)?._tag, "Started")
        assert.strictEqual(own.at(-1)?._tag, "Finished")
        assert.strictEqual(of(own, "Message").length, 1)
        const last = of(own, "Plan").at(-1)
        for (const step of last?.steps ?? []) assert.notStrictEqual(step.status, "pending", `${given.name}: ${step.id}`)

        const { graph } = given.sample.strategy
        const finished = of(own, "NodeFinished").filter((event) => event.graph === graph?.name)
        if (graph === undefined) {
          assert.strictEqual(given.name, "function_calling", "the one strategy that is a plain loop")
          return
        }
        const names = Array.from<string>(graph.graph.nodes.keys())
        assert.isAbove(finished.length, 0)
        for (const { node } of finished) assert.include(names, node)
        const diagram = StateGraph.toMermaid(graph)
        for (const name of names) assert.include(diagram, name)
      })
    )
  }

  it.effect("cover every node of every graph", () =>
    Effect.gen(function* () {
      const nodes = new Map<string, Set<string>>()
      for (const given of cases) {
        const { graph, name } = given.sample.strategy
        if (graph === undefined) continue
        const key = given.name.includes("critique") ? `${name} critique` : name
        const left = nodes.get(key) ?? new Set<string>(graph.graph.nodes.keys())
        nodes.set(key, left)
        const { events } = yield* succeed(given)
        for (const event of of(events, "NodeFinished")) if (event.graph === graph.name) left.delete(event.node)
      }
      const left = Array.from(nodes, ([key, set]) => [key, Array.from(set)] as const).filter(
        ([, set]) => set.length > 0
      )
      // Adaptive takes one of its candidates.
      assert.deepStrictEqual(left, [["adaptive", ["strategy lookup"]]])
    })
  )

  it.effect("are well formed when the answer has to be reshaped", () =>
    Effect.gen(function* () {
      for (const given of cases) {
        const shaped = { ...given, shaped: true }
        const watched = yield* succeed(shaped, { model: shaping(given.sample.model, { stubborn: true }) })
        check(`${given.name}, shaped`, watched)
      }
    })
  )

  it.effect("are well formed when a run fails at any of its model calls", () =>
    Effect.gen(function* () {
      for (const given of EveryStrategy.samples) {
        const whole = (yield* succeed(given)).requests.length
        for (let at = 0; at < whole; at++) {
          let count = 0
          const watched = yield* watch(given, {
            model: (request) => (count++ >= at ? Effect.fail(EveryStrategy.refused) : given.sample.model(request))
          })
          const name = `${given.name}, failing at call ${at}`
          assert.deepStrictEqual(EventRecorder.violations(watched.events), [], name)
          assert.strictEqual(watched.active + watched.tools.open, 0, name)
          assert.isTrue(Exit.isFailure(watched.exit), name)
          assert.strictEqual(watched.events.findLast((event) => event.agent === "sample")?._tag, "Error", name)
        }
      }
    })
  )
})

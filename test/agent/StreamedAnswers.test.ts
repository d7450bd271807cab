import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as WindowGuard from "../../src/guard/pipeline/WindowGuard.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as Run from "../../src/observability/Run.js"
import * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as EveryStrategy from "../strategy/EveryStrategy.js"
import * as Runs from "../support/Runs.js"

/** Checks each run that streamed text and answered: a reader of its deltas has the answer in the end. */
const addsUp = (name: string, events: ReadonlyArray<AgentEvent>): number => {
  let checked = 0
  for (const { runId, text } of Runs.of(events, "Message")) {
    const own = events.filter((event) => event.runId === runId)
    if (Runs.of(own, "TextDelta").length === 0) continue
    let read = ""
    for (const event of own) {
      if (event._tag === "TextDelta") read += event.text
      else if (event._tag === "TextRetracted") read = ""
      else if (event._tag === "Message") break
    }
    assert.strictEqual(read, text, name)
    checked++
  }
  return checked
}

const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })

const streamed = (
  agent: Agent.Agent<any, any, AgentExecutor.AgentExecutor>,
  script: Parameters<typeof Runs.layer>[0],
  given: Parameters<typeof Runs.layer>[1] = {}
) => Effect.provide(Runs.record(AgentExecutor.stream(agent, "hi")), Runs.layer(script, given))

describe("the text deltas of a run add up to its answer", () => {
  for (const shaped of [false, true]) {
    it.effect(`for every strategy, ${shaped ? "with" : "without"} an output schema`, () =>
      Effect.gen(function* () {
        let checked = 0
        for (const given of EveryStrategy.cases) {
          const { events } = yield* EveryStrategy.watch({ ...given, shaped })
          checked += addsUp(given.name, events)
        }
        assert.isAbove(checked, 10)
      })
    )
  }

  it.effect("at the limit of a strategy, whatever was said beside the calls of tools", () =>
    Effect.gen(function* () {
      const word = FastCheck.stringMatching(/^[a-z ]{1,8}$/)
      const turns = FastCheck.array(FastCheck.option(word, { nil: undefined }), { minLength: 1, maxLength: 4 })
      for (const texts of FastCheck.sample(turns, { numRuns: 40, seed: 5 })) {
        const options = { maxIterations: texts.length, noProgressAfter: 100, onLimit: "answer" } as const
        for (const strategy of [FunctionCalling.make(options), ReAct.make(options)]) {
          const script = (
            request: { readonly tools?: ReadonlyArray<unknown> | undefined },
            index: number
          ): TestModel.Turn =>
            (request.tools ?? []).length === 0 || index >= texts.length
              ? { text: "that is all" }
              : { text: texts[index], calls: [{ name: "look", params: { index } }] }
          const { events } = yield* streamed(Agent.make("a", { strategy, tools: [look] }), script)
          if (texts.some((text) => text !== undefined)) {
            assert.strictEqual(addsUp(`${strategy.name}: ${texts.join("|")}`, events), 1)
          }
        }
      }
    })
  )

  for (const strategy of [FunctionCalling.make({ textCalls: "always" }), ReAct.make({ textCalls: "always" })]) {
    it.effect(`when ${strategy.name} reads the answer out of a text`, () =>
      Effect.gen(function* () {
        const { events } = yield* streamed(Agent.make("a", { strategy, tools: [look] }), [
          "THOUGHT: Look.\nACTION: look\nACTION_INPUT: {}",
          "THOUGHT: I know.\nFINAL_ANSWER: It was seen."
        ])
        assert.strictEqual(addsUp(strategy.name, events), 1)
        assert.strictEqual(Runs.of(events, "Message")[0]?.text, "It was seen.")
      })
    )
  }

  it.effect("when the answer filter changes it", () =>
    Effect.gen(function* () {
      const loud = Hooks.filterHandler(AgentHooks.AgentAnswerFilter, (text) => Effect.succeed(text.toUpperCase()))
      const { events } = yield* streamed(Agent.make("a"), ["All is well."], {
        hooks: Layer.provideMerge(loud, Hooks.layer)
      })
      assert.strictEqual(addsUp("filter", events), 1)
      assert.strictEqual(Runs.of(events, "Message")[0]?.text, "ALL IS WELL.")
    })
  )

  it.effect("when a guard that judges windows redacts it", () =>
    Effect.gen(function* () {
      const digits = WindowGuard.make({
        name: "digits",
        stages: ["output"],
        window: {
          reach: 6,
          find: (text) =>
            Array.from(text.matchAll(/\b\d{4}\b/g), (match) => ({
              start: match.index,
              end: match.index + match[0].length,
              label: "DIGITS",
              action: "redact" as const
            }))
        }
      })
      const { events } = yield* streamed(
        Agent.make("a", { tools: [look] }),
        [{ text: ["I read 12", "34"], calls: [{ name: "look" }] }, { text: ["The code is 12", "34, it says."] }],
        { guards: DefaultGuardPipeline.layerGuards([digits]) }
      )
      assert.strictEqual(addsUp("guard", events), 1)
      assert.strictEqual(Runs.of(events, "Message")[0]?.text, "The code is [REDACTED:DIGITS], it says.")
      assert.notInclude(JSON.stringify(events), "1234")
    })
  )

  it.effect("when a strategy answers with another text than it streamed", () =>
    Effect.gen(function* () {
      const strategy = Strategy.make("other", () =>
        Effect.gen(function* () {
          yield* Run.emit({ _tag: "StepStarted", step: 1 })
          yield* Run.emit({ _tag: "TextDelta", text: "First " })
          yield* Run.emit({ _tag: "TextDelta", text: "draft" })
          return { text: "Second draft", reason: "completed" as const, messages: [] }
        })
      )
      const { events } = yield* streamed(Agent.make("a", { strategy }), [])
      assert.strictEqual(addsUp("other", events), 1)
      assert.deepStrictEqual(
        events.filter(({ _tag }) => _tag === "TextDelta" || _tag === "TextRetracted").map(({ _tag }) => _tag),
        ["TextDelta", "TextDelta", "TextRetracted", "TextDelta"]
      )
      const numbers = events.map(({ seq }) => seq)
      assert.deepStrictEqual(
        numbers,
        numbers.map((_, index) => index)
      )
    })
  )

  it.effect("when another agent answers after a handoff", () =>
    Effect.gen(function* () {
      const clerk = Agent.make("clerk")
      const desk = Agent.make("desk", { tools: [Handoff.to(clerk)] })
      const { events } = yield* streamed(desk, [
        { text: "One moment.", calls: [{ name: "transfer_to_clerk", params: {} }] },
        "I am the clerk."
      ])
      assert.isAbove(addsUp("handoff", events), 0)
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import * as StateGraph from "../../src/graph/StateGraph.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as Prompts from "../../src/prompt/defaults/PlanExecutePrompts.js"
import * as PromptLibrary from "../../src/prompt/PromptLibrary.js"
import * as PlanExecute from "../../src/strategy/PlanExecute.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as Plans from "./Plans.js"
import * as Strategies from "./Strategies.js"

const run = (script: Strategies.Script, options: PlanExecute.Options & Strategies.Setup = {}) =>
  Strategies.run(PlanExecute.make(options), script, { tools: Strategies.tools, ...options })

const plan = (...steps: ReadonlyArray<object>) => Plans.json({ steps })
const add = { description: "Add 1 and 2", tool: "add" }
const think = { description: "Double it" }
const done = (result: string) => Plans.json({ status: "done", result })

const prompts = (requests: ReadonlyArray<LlmClient.LlmRequest>) =>
  requests.map((request) => Plans.promptOf(Prompts.steps, request))

describe("PlanExecute", () => {
  it.effect("plans, runs tools with arguments from the model, reasons, and answers from the results", () =>
    Effect.gen(function* () {
      const ran = yield* run([plan(add, think), Plans.json({ a: 1, b: 2 }), done("6"), "It is 6."])
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.text, answer.reason], ["It is 6.", "completed"])
      assert.deepStrictEqual(Strategies.shape(answer.messages), [
        ["user", "What is it?"],
        ["assistant", "It is 6."]
      ])
      assert.deepStrictEqual(prompts(ran.requests), ["Plan", "ToolInput", "Reason", "Synthesize"])
      assert.deepStrictEqual(Plans.statuses(ran.events), [
        ["1 pending", "2 pending"],
        ["1 completed", "2 pending"],
        ["1 completed", "2 completed"]
      ])
      assert.deepStrictEqual(
        ran.of("ToolCall").map(({ id, name, params, step }) => ({ id, name, params, step })),
        [{ id: "plan_1", name: "add", params: { a: 1, b: 2 }, step: 2 }]
      )
      const [planned, input, reasoned, last] = ran.requests
      assert.include(Plans.system(planned), "Be brief.")
      for (const text of ["What is it?", "- add: The sum of two numbers", '"required":["a","b"]']) {
        assert.include(Plans.user(planned), text)
      }
      for (const text of ["What is it?", "Add 1 and 2", "add: The sum", '"required":["a","b"]', "None yet."]) {
        assert.include(Plans.user(input), text)
      }
      assert.deepStrictEqual(input!.responseFormat, {
        type: "json",
        name: "add",
        schema: Strategies.add.parameters
      })
      for (const text of ["What is it?", "Double it", "Step 1: Add 1 and 2\n<result>\n3\n</result>"]) {
        assert.include(Plans.user(reasoned), text)
      }
      for (const text of ["What is it?", "<result>\n6\n</result>", "Every step was carried out."]) {
        assert.include(Plans.user(last), text)
      }
    })
  )

  it.effect("works the same with text forms", () =>
    Effect.gen(function* () {
      const ran = yield* run(
        [
          "Let me see.\n\nPLAN:\n1. [TOOL:add] Add 1 and 2\n2. [REASON] Double it",
          'ACTION_INPUT: {"a": 1, "b": 2}',
          "Twice 3 is 6.\nSTEP_RESULT: 6",
          "It is 6."
        ],
        { format: "text" }
      )
      assert.strictEqual((yield* ran.exit).text, "It is 6.")
      assert.isTrue(ran.requests.every((request) => request.responseFormat === undefined))
      for (const [i, format] of [Prompts.Plan, Prompts.ToolInput, Prompts.Reason, Prompts.Synthesize].entries()) {
        assert.include(Plans.system(ran.requests[i]), format.textFormat)
      }
      assert.deepStrictEqual(
        ran.of("Thought").map(({ step, text }) => [step, text]),
        [[3, "Twice 3 is 6."]]
      )
      assert.deepStrictEqual(Plans.statuses(ran.events).at(-1), ["1 completed", "2 completed"])
    })
  )

  it.effect("does not ask for arguments that the plan contains, in either form", () =>
    Effect.gen(function* () {
      const json = yield* run([plan({ ...add, arguments: { a: 1, b: 2 } }), "3."])
      assert.strictEqual((yield* json.exit).text, "3.")
      const text = yield* run(['1. [TOOL:add] Sum them: {"a": 1, "b": 2}', "3."], { format: "text" })
      assert.strictEqual((yield* text.exit).text, "3.")
      for (const ran of [json, text]) {
        assert.deepStrictEqual(ran.of("ToolCall")[0]!.params, { a: 1, b: 2 })
        assert.deepStrictEqual(prompts(ran.requests), ["Plan", "Synthesize"])
      }
      assert.strictEqual(text.of("Plan")[0]!.steps[0]!.description, "Sum them")
    })
  )

  it.effect("asks for arguments that are incomplete or refer to results", () =>
    Effect.gen(function* () {
      const texts = ["$1", "#E2", "{{step 1}}", "the <result of step 1>", "{output}"]
      for (const args of [{ a: 1 }, { a: "x", b: 2 }, "no", null]) {
        const ran = yield* run([plan({ ...add, arguments: args }), Plans.json({ a: 1, b: 2 }), "3."])
        assert.deepStrictEqual(ran.of("ToolCall")[0]!.params, { a: 1, b: 2 })
        assert.lengthOf(ran.requests, 3)
      }
      for (const text of texts) {
        const step = { description: "Say it", tool: "echo", arguments: { text } }
        const ran = yield* run([plan(step), Plans.json({ text: "hello" }), "hello."])
        assert.deepStrictEqual(ran.of("ToolCall")[0]!.params, { text: "hello" })
      }
      const plain = yield* run([plan({ description: "Say it", tool: "echo", arguments: { text: "$ and # {}" } }), "x"])
      assert.lengthOf(plain.requests, 2)
    })
  )

  it.effect("asks for no arguments of a tool without parameters", () =>
    Effect.gen(function* () {
      const ran = yield* run([plan({ description: "Try it", tool: "broken" }), plan(), "Nothing."])
      assert.deepStrictEqual(prompts(ran.requests), ["Plan", "Replan", "Synthesize"])
    })
  )

  it.effect("ignores case, hyphens and spaces in tool names", () =>
    Effect.gen(function* () {
      const ran = yield* run([plan({ description: "x", tool: " ADD " }), Plans.json({ a: 1, b: 2 }), "3."])
      assert.strictEqual(ran.of("Plan")[0]!.steps[0]!.tool, "add")
      assert.strictEqual((yield* ran.exit).text, "3.")
    })
  )

  it.effect("answers with a text that is not a plan, is marked as the answer, or is the answer in JSON", () =>
    Effect.gen(function* () {
      for (const [reply, text] of [
        ["Hello to you.", "Hello to you."],
        ["ANSWER: Hello.\n- really\n- yes", "Hello.\n- really\n- yes"],
        [Plans.json({ steps: [], answer: "Hello." }), "Hello."],
        ["I am sorry, but I cannot help with that.", "I am sorry, but I cannot help with that."]
      ] as const) {
        const ran = yield* run([reply])
        assert.strictEqual((yield* ran.exit).text, text)
        assert.deepStrictEqual(EventRecorder.tags(ran.events), [
          "StepStarted",
          "UsageReported",
          "TextDelta",
          "NodeFinished"
        ])
        assert.strictEqual(ran.of("TextDelta")[0]!.text, text)
      }
      const cut = yield* run([{ text: "Once upon", finishReason: "length" }])
      assert.strictEqual((yield* cut.exit).reason, "length")
    })
  )

  it.effect("asks again for a plan without direct answers, and finally fails", () =>
    Effect.gen(function* () {
      const ran = yield* run(["Hello.", plan(think), done("Hello."), "Hello."], { directAnswer: false })
      assert.strictEqual((yield* ran.exit).text, "Hello.")
      assert.include(Plans.system(ran.requests[0]), Prompts.NO_DIRECT_ANSWER)
      assert.notInclude(JSON.stringify(ran.requests[0]!.responseFormat), '"answer"')
      assert.include(Plans.user(ran.requests[1]), "cannot be used")
      const refused = yield* run(["No.", "No!", "Never."], { directAnswer: false })
      const error = yield* Effect.flip(refused.exit)
      assert.strictEqual(error._tag, "StrategyReplyError")
    })
  )

  it.effect("shapes the answer, planned or direct", () =>
    Effect.gen(function* () {
      const task = { output: Strategies.outputSpec(1) }
      const planned = yield* run([plan(think), done("6"), Plans.json({ n: 6 })], { task })
      assert.deepStrictEqual((yield* planned.exit).output, { n: 6 })
      assert.strictEqual(planned.requests[2]!.responseFormat?.type, "json")
      const direct = yield* run(["It is six.", Plans.json({ n: 6 })], { task })
      assert.deepStrictEqual((yield* direct.exit).output, { n: 6 })
      assert.lengthOf(direct.of("TextDelta"), 0)
    })
  )

  it.effect("emits events in order and sums the usage of all calls", () =>
    Effect.gen(function* () {
      const { events } = yield* Strategies.record(
        PlanExecute.make(),
        [plan(add, think), Plans.json({ a: 1, b: 2 }), done("6"), "It is 6."],
        { tools: Strategies.tools }
      )
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.deepStrictEqual(EventRecorder.tags(events), [
        "Started",
        "StepStarted",
        "UsageReported",
        "Plan",
        "NodeFinished",
        "StepStarted",
        "UsageReported",
        "ToolCall",
        "ToolResult",
        "Plan",
        "NodeFinished",
        "StepStarted",
        "UsageReported",
        "Plan",
        "NodeFinished",
        "StepStarted",
        "TextDelta",
        "UsageReported",
        "NodeFinished",
        "Message",
        "Finished"
      ])
      const response = AgentResponse.fromEvents(events)
      assert.deepStrictEqual([response.usage.totalTokens, response.modelCalls], [60, 4])
      assert.deepStrictEqual(
        response.plan?.map((step) => step.status),
        ["completed", "completed"]
      )
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "NodeFinished" ? [event.node] : [])),
        ["plan", "execute_step", "execute_step", "synthesize"]
      )
    })
  )

  it.effect("uses overridden prompts and custom instructions", () =>
    Effect.gen(function* () {
      const names = Prompts.steps.map((step) => step.name)
      const overrides = Object.fromEntries(
        Prompts.steps.map((step) => [
          step.name,
          { user: step.variables.map((name) => `${name}=[{${name}}]`).join("\n"), system: `I am ${step.name}` }
        ])
      )
      const ran = yield* run([
        plan({ description: "Fail", tool: "broken", arguments: {} }, think),
        plan(add, think),
        Plans.json({ a: 1, b: 2 }),
        done("6"),
        "It is 6."
      ]).pipe(
        Effect.provide(
          CustomPrompts.layer({ overrides: { [PlanExecute.PATTERN]: overrides }, instructions: "Say please." })
        )
      )
      assert.strictEqual((yield* ran.exit).text, "It is 6.")
      const seen = ran.requests.map(
        (request) => /I am (\w+)\n\n## Custom Instructions\n\nSay please\./.exec(Plans.system(request))?.[1]
      )
      assert.deepStrictEqual(seen, ["Plan", "Replan", "ToolInput", "Reason", "Synthesize"])
      assert.deepStrictEqual([...seen].sort(), [...names].sort())
      // Every variable is filled: none is empty, none is left as a place.
      for (const request of ran.requests) assert.notMatch(Plans.user(request), /=\[\]|\{\w+\}\]/)
      const replan = Plans.user(ran.requests[1])
      for (const text of [
        "failed_step=[Step 1: Fail]",
        "error=[Error: ",
        "remaining=[2. Double it]",
        "max_steps=[10]"
      ]) {
        assert.include(replan, text)
      }
    })
  )

  it.effect("plans, executes and writes with the models of the roles", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        Prompts.steps.map((step) => [step.name, step.role]),
        [
          ["Plan", "planning"],
          ["ToolInput", "execution"],
          ["Reason", "thinking"],
          ["Replan", "planning"],
          ["Synthesize", "documentation"]
        ]
      )
      assert.isTrue(Prompts.steps.every((step) => step.pattern === PlanExecute.PATTERN))
      const extended = yield* PromptLibrary.PromptLibrary
      assert.include(
        extended.render(Prompts.Reason, {
          task: "t",
          step: "s",
          previous_results: "p",
          output_format: "F"
        }).system,
        "F"
      )
    })
  )

  it("draws the graph that runs", () => {
    const compiled = PlanExecute.make().graph!
    const diagram = StateGraph.toMermaid(compiled.graph)
    for (const node of ["plan", "execute_step", "replan", "synthesize"]) assert.include(diagram, node)
  })
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as ReActPrompts from "../../../src/prompt/defaults/ReActPrompts.js"
import type * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { MaxIterationsExceededError, NoProgressError } from "../../../src/strategy/definition/StrategyError.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as ReActText from "../../../src/strategy/reasoning/ReActText.js"
import * as StopCondition from "../../../src/strategy/reasoning/StopCondition.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as ReActCompletions from "../../support/ReActCompletions.js"
import * as Strategies from "../Strategies.js"

const run = (
  script: Strategies.Script,
  options: ReAct.Options & Strategies.Setup = {}
): Effect.Effect<Strategies.Ran<Strategy.StrategyBaseError>> =>
  Strategies.run(ReAct.make(options), script, { tools: Strategies.tools, ...options })

const text = (script: Strategies.Script, options: ReAct.Options & Strategies.Setup = {}) =>
  run(script, { ...options, format: "text" })

const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

const content = (request: LlmClient.LlmRequest | undefined, index: number): string =>
  String(request!.messages.at(index)!.content)

const act = (name: string, input: string) => lines("THOUGHT: so", `ACTION: ${name}`, `ACTION_INPUT: ${input}`)

describe("ReAct with native calls", () => {
  it.effect("emits the text with calls as a thought, and puts the rules after the system prompt", () =>
    Effect.gen(function* () {
      const ran = yield* run([{ text: " I add. ", calls: [{ name: "add", params: { a: 1, b: 2 }, id: "c1" }] }, "3"])
      assert.strictEqual((yield* ran.exit).text, "3")
      assert.deepStrictEqual(
        ran.of("Thought").map(({ step, text }) => [step, text]),
        [[1, "I add."]]
      )
      assert.strictEqual(content(ran.requests[0], 0), `Be brief.\n\n${ReActPrompts.ThoughtStepNative.system.source}`)
      assert.deepStrictEqual(EventRecorder.tags(ran.events).slice(0, 9), [
        "StepStarted",
        "TextDelta",
        "TextRetracted",
        "UsageReported",
        "Thought",
        "NodeFinished",
        "ToolCall",
        "ToolResult",
        "NodeFinished"
      ])
    })
  )

  it.effect("emits no thought for a call without text", () =>
    Effect.gen(function* () {
      const ran = yield* run([{ calls: [{ name: "add", params: { a: 1, b: 2 } }] }, "3"])
      assert.lengthOf(ran.of("Thought"), 0)
    })
  )

  it.effect("emits the text after the marker as the thought of a written call", () =>
    Effect.gen(function* () {
      const ran = yield* run([act("add", '{"a": 1, "b": 2}'), "Final Answer: 3"], { textCalls: "always" })
      assert.deepStrictEqual([ran.of("Thought")[0]?.text, (yield* ran.exit).text], ["so", "3"])
    })
  )

  it.effect("sends no rules without tools", () =>
    Effect.gen(function* () {
      const ran = yield* run(["ok"], { tools: ToolSet.empty })
      assert.strictEqual(content(ran.requests[0], 0), "Be brief.")
      assert.notProperty(ran.requests[0]!, "tools")
    })
  )
})

describe("ReAct as text", () => {
  it.effect("alternates thought, action and observation until the final answer", () =>
    Effect.gen(function* () {
      const first = lines("THOUGHT: I need the sum.", "ACTION: add", 'ACTION_INPUT: {"a": 1, "b": 2}')
      const last = lines("THOUGHT: Now I know.", "FINAL_ANSWER: It is 3.")
      const ran = yield* text([first, last])
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.text, answer.reason], ["It is 3.", "completed"])
      const transcript = [
        ["user", "What is it?"],
        ["assistant", first],
        ["user", "OBSERVATION: 3"]
      ] as const
      assert.deepStrictEqual(Strategies.shape(ran.requests[1]!.messages).slice(1), [...transcript])
      assert.deepStrictEqual(Strategies.shape(answer.messages), [...transcript, ["assistant", last]])
      assert.deepStrictEqual(
        ran.of("Thought").map(({ step, text }) => [step, text]),
        [
          [1, "I need the sum."],
          [2, "Now I know."]
        ]
      )
      assert.deepStrictEqual(
        ran.of("ToolCall").map(({ id, name, params, step }) => ({ id, name, params, step })),
        [{ id: "text_1", name: "add", params: { a: 1, b: 2 }, step: 1 }]
      )
    })
  )

  it.effect("ignores what a model invents after an action: the tool runs and its result is sent", () =>
    Effect.gen(function* () {
      const action = act("add", '{"a": 1, "b": 2}')
      const ran = yield* text([lines(action, "OBSERVATION: 5", "FINAL_ANSWER: 5"), "FINAL_ANSWER: 3"])
      assert.strictEqual((yield* ran.exit).text, "3")
      assert.strictEqual(content(ran.requests[1], -2), action)
      assert.strictEqual(content(ran.requests[1], -1), "OBSERVATION: 3")
      assert.notInclude(JSON.stringify(ran.requests[1]!.messages.slice(1)), "5")
      assert.notInclude(JSON.stringify(ran.events), "OBSERVATION: 5")
    })
  )

  it.effect("puts tools and schemas into the system prompt only", () =>
    Effect.gen(function* () {
      const ran = yield* text(["FINAL_ANSWER: x"])
      const system = content(ran.requests[0], 0)
      assert.isTrue(system.startsWith("Be brief.\n\n"))
      for (const tool of Strategies.tools.definitions) {
        assert.include(system, `- ${tool.name}: ${tool.description}`)
        assert.include(system, JSON.stringify(tool.parameters))
      }
      assert.notProperty(ran.requests[0]!, "tools")
    })
  )

  it.effect("requests stop sequences, including those of the task, each once", () =>
    Effect.gen(function* () {
      const ran = yield* text(["FINAL_ANSWER: x"], { task: { settings: { stop: ["END", "\nOBSERVATION:"], seed: 1 } } })
      const { seed, stop } = ran.requests[0]!.settings!
      assert.deepStrictEqual([seed, [...stop!].sort()], [1, ["\nOBSERVATION:", "END"]])
    })
  )

  it.effect("answers an unreadable completion with instructions", () =>
    Effect.gen(function* () {
      const ran = yield* text(["It is three.", "ACTION_INPUT: {}", "", "FINAL_ANSWER: 3"])
      assert.strictEqual((yield* ran.exit).text, "3")
      const told = ran.requests.slice(1).map((request) => content(request, -1))
      assert.match(told[0]!, /^OBSERVATION: Your message holds neither/)
      assert.match(told[1]!, /no usable tool name/)
      assert.match(told[2]!, /was empty/)
      assert.deepStrictEqual(
        ran.requests[3]!.messages.map((message) => message.role),
        ["system", "user", "assistant", "user", "assistant", "user", "user"]
      )
    })
  )

  it.effect("observes unknown tools, invalid arguments and failures", () =>
    Effect.gen(function* () {
      const ran = yield* text([
        act("subtract", "{}"),
        act("add", '{"a": "x"}'),
        act("broken", "{}"),
        act("add", "{'a': 1, b: 2,}"),
        "FINAL_ANSWER: done"
      ])
      assert.strictEqual((yield* ran.exit).text, "done")
      const observed = ran.requests.slice(1).map((request) => content(request, -1))
      assert.match(observed[0]!, /^OBSERVATION: Error: There is no tool named "subtract".*add, echo, broken/)
      assert.match(observed[1]!, /^OBSERVATION: Error: The arguments of "add" are not valid/)
      assert.match(observed[2]!, /out of order/)
      assert.strictEqual(observed[3], "OBSERVATION: 3")
    })
  )

  it.effect("keeps the spelling of a bare number for a tool that takes text", () =>
    Effect.gen(function* () {
      const ran = yield* text([act("echo", "1e5"), act("echo", "true"), act("echo", "0.10"), "FINAL_ANSWER: x"])
      assert.deepStrictEqual(
        ran.of("ToolResult").map((event) => event.observation),
        ["1e5", "true", "0.10"]
      )
    })
  )

  it.effect("accepts tool names as the model was given them, as they are, or nearly", () =>
    Effect.gen(function* () {
      const look = Tool.make("web.look up", { description: "Looks up", handler: () => Effect.succeed("found") })
      const ran = yield* text(
        [act("web_look_up", "{}"), act("web.look up", '{"x":1}'), act("Web_Look_Up", '{"x":2}'), "FINAL_ANSWER: x"],
        { tools: ToolSet.make(look) }
      )
      assert.deepStrictEqual(
        ran.of("ToolResult").map((event) => [event.name, event.observation]),
        [
          ["web.look up", "found"],
          ["web.look up", "found"],
          ["web.look up", "found"]
        ]
      )
      assert.include(content(ran.requests[0], 0), "- web_look_up:")
    })
  )

  describe("ends", () => {
    const again = (n: number) => lines(`THOUGHT: try ${n}`, "ACTION: add", `ACTION_INPUT: {"a": ${n}, "b": 1}`)

    it.effect("at the limit of iterations, failing or answering with the last text", () =>
      Effect.gen(function* () {
        const script = [again(1), again(2), "no form at all"]
        const failed = yield* Effect.flip((yield* text(script, { maxIterations: 3 })).exit)
        assert.instanceOf(failed, MaxIterationsExceededError)
        const answer = yield* (yield* text(script, { maxIterations: 3, onLimit: "answer" })).exit
        assert.deepStrictEqual([answer.text, answer.reason], ["no form at all", "limit"])
      })
    )

    it.effect("skips a leading observation, also in events, and makes no further call for it", () =>
      Effect.gen(function* () {
        const ran = yield* text([
          lines("", "Observation: 12", "Action: add", 'Action Input: {"a": 1, "b": 1}'),
          lines("Observation: 2", "Thought: so", "Final Answer: two")
        ])
        assert.deepStrictEqual([(yield* ran.exit).text, ran.requests.length], ["two", 2])
        const shown = ran.events.flatMap((event) =>
          event._tag === "ReasoningDelta" || event._tag === "TextDelta" ? [`${event._tag} ${event.text.trim()}`] : []
        )
        assert.include(shown, 'ReasoningDelta Action: add\nAction Input: {"a": 1, "b": 1}')
        assert.include(shown, "TextDelta two")
      })
    )

    it.effect("when it goes in circles", () =>
      Effect.gen(function* () {
        const script = [again(1), again(1), again(1)]
        const stuck = yield* text(script)
        assert.instanceOf(yield* Effect.flip(stuck.exit), NoProgressError)
        assert.match(String(stuck.requests[2]!.messages.at(-1)!.content), /^OBSERVATION: 2\n\nNote: /)
        const polled = yield* text([...script, "FINAL_ANSWER: x"], {
          tools: ToolSet.make(Tool.annotate(Strategies.add, { polling: true }))
        })
        assert.strictEqual((yield* polled.exit).text, "x")
        const answer = yield* (yield* text(script, { onLimit: "answer" })).exit
        assert.deepStrictEqual([answer.text, answer.reason], ["try 1", "limit"])
        const free = yield* text([...script, "FINAL_ANSWER: x"], { noProgressAfter: false })
        assert.strictEqual((yield* free.exit).text, "x")
      })
    )

    it.effect("at a stop condition, in the output shape of the task", () =>
      Effect.gen(function* () {
        const stopWhen = StopCondition.toolSucceeded("add")
        const plain = yield* (yield* text([again(1)], { stopWhen })).exit
        assert.deepStrictEqual([plain.text, plain.reason], ["try 1", "stop-condition"])
        const output = Strategies.outputSpec(1)
        const shaped = yield* (yield* text([again(1), '{"n": 2}'], { stopWhen, task: { output } })).exit
        assert.deepStrictEqual([shaped.output, shaped.reason], [{ n: 2 }, "stop-condition"])
      })
    )

    it.effect("with a shaped final answer, asked for once more where it does not fit", () =>
      Effect.gen(function* () {
        const output = Strategies.outputSpec(1)
        const first = yield* text(['FINAL_ANSWER: {"n": 1}'], { task: { output } })
        assert.deepStrictEqual((yield* first.exit).output, { n: 1 })
        const second = yield* text(["FINAL_ANSWER: one", '```json\n{"n": 1}\n```'], { task: { output } })
        assert.deepStrictEqual((yield* second.exit).output, { n: 1 })
        assert.strictEqual(second.requests[1]!.responseFormat?.type, "json")
      })
    )

    it.effect("at a filter, and at the token limit only if no text was left", () =>
      Effect.gen(function* () {
        const filtered = yield* (yield* text([{ text: "THOUGHT: I", finishReason: "content-filter" }])).exit
        assert.deepStrictEqual([filtered.text, filtered.reason], ["THOUGHT: I", "content-filter"])
        const empty = yield* (yield* text([{ text: "", finishReason: "length" }])).exit
        assert.deepStrictEqual([empty.text, empty.reason, empty.messages.length], ["", "length", 1])
        const long = yield* text([{ text: "THOUGHT: so much", finishReason: "length" }, "FINAL_ANSWER: x"])
        assert.strictEqual((yield* long.exit).text, "x")
        const cut = yield* (yield* text([{ text: "FINAL_ANSWER: half an", finishReason: "length" }])).exit
        assert.deepStrictEqual([cut.text, cut.reason], ["half an", "length"])
      })
    )
  })

  describe("deltas", () => {
    it.effect("stream thoughts as reasoning and the answer as text, piece by piece", () =>
      Effect.gen(function* () {
        const ran = yield* text([{ text: ["THOUGHT: I ", "know.\nFINAL_", "ANSWER: for", "ty ", "two"] }])
        assert.deepStrictEqual(
          ran.of("TextDelta").map((event) => event.text),
          ["for", "ty ", "two"]
        )
        const reasoning = ran.of("ReasoningDelta").map((event) => event.text)
        assert.deepStrictEqual([reasoning[0], reasoning.join("")], ["THOUGHT: I ", "THOUGHT: I know.\n"])
      })
    )

    it.effect("stream no text for an action, and end reasoning with it", () =>
      Effect.gen(function* () {
        const action = act("add", '{"a": 1, "b": 2}')
        const ran = yield* text([lines(action, "Observation: 9", "Final Answer: 9"), "Final Answer: 3"])
        assert.deepStrictEqual(
          ran.of("TextDelta").map((event) => event.text),
          ["3"]
        )
        assert.strictEqual(
          ran
            .of("ReasoningDelta")
            .map((event) => event.text)
            .join(""),
          action
        )
      })
    )

    it.effect("keep separate reasoning as reasoning", () =>
      Effect.gen(function* () {
        const ran = yield* text([{ reasoning: "FINAL_ANSWER: no", text: "FINAL_ANSWER: yes" }])
        assert.deepStrictEqual(
          [ran.of("ReasoningDelta")[0]?.text, ran.of("TextDelta")[0]?.text],
          ["FINAL_ANSWER: no", "yes"]
        )
      })
    )

    it.effect("are not made without a reader", () =>
      Effect.gen(function* () {
        const ran = yield* text(["FINAL_ANSWER: 3"], { live: false })
        assert.deepStrictEqual(EventRecorder.tags(ran.events), [
          "StepStarted",
          "UsageReported",
          "NodeFinished",
          "NodeFinished"
        ])
      })
    )

    it.effect("add up to exactly the final answer of the completion", () =>
      Effect.gen(function* () {
        const samples = FastCheck.sample(ReActCompletions.inPieces, { numRuns: 400, seed: 7 })
        const tools = ToolSet.make(
          Tool.make("search", { description: "Searches", handler: () => Effect.succeed("ok") })
        )
        let answers = 0
        for (const [whole, pieces] of samples) {
          const ran = yield* text([{ text: pieces }], { tools, maxIterations: 1, onLimit: "answer" })
          const parsed = ReActText.parse(whole, { tools: ["search"] })
          const expected = parsed._tag === "FinalAnswer" ? parsed.answer : ""
          if (expected !== "") answers++
          const streamed = ran
            .of("TextDelta")
            .map((event) => event.text)
            .join("")
          assert.strictEqual(streamed.trimEnd(), expected.trimEnd(), JSON.stringify(whole))
        }
        assert.isAbove(answers, 60)
      })
    )
  })

  it.effect("ignores markers in the question, the system prompt, the history and tool results", () =>
    Effect.gen(function* () {
      const hostile = FastCheck.sample(ReActCompletions.completion, { numRuns: 150, seed: 3 })
      for (const data of hostile) {
        const read = Tool.make("read", {
          description: data.trim() === "" ? "Reads" : data,
          parameters: { path: Schema.String },
          handler: () => Effect.succeed(data)
        })
        const ran = yield* text([act("read", "x"), "FINAL_ANSWER: mine"], {
          tools: ToolSet.make(read),
          task: {
            input: data,
            system: data,
            history: [
              { role: "user", content: data },
              { role: "assistant", content: data }
            ]
          }
        })
        assert.strictEqual((yield* ran.exit).text, "mine")
        assert.strictEqual(ran.requests.length, 2)
        assert.lengthOf(ran.of("ToolCall"), 1)
        const observed = content(ran.requests[1], -1)
        assert.strictEqual(ReActText.parse(observed.slice("OBSERVATION: ".length))._tag === "Action", false)
      }
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as DefaultModelRouter from "../../../src/llm/DefaultModelRouter.js"
import { LlmContentPolicyError, LlmInvalidRequestError, LlmRateLimitError } from "../../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../../src/llm/model/LlmGateway.js"
import * as PromptStep from "../../../src/prompt/template/PromptStep.js"
import type * as Reasoning from "../../../src/strategy/definition/Reasoning.js"
import * as ReplyForm from "../../../src/strategy/definition/ReplyForm.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { StrategyReplyError } from "../../../src/strategy/definition/StrategyError.js"
import * as ReasoningService from "../../../src/strategy/reasoning/ReasoningService.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Strategies from "../Strategies.js"

const Count = PromptStep.make({
  pattern: "TestAgent",
  name: "Count",
  role: "evaluation",
  variables: ["text"],
  textFormat: "COUNT: a number",
  system: { role: "You count." },
  user: "How many: {text}"
})

const Say = PromptStep.make({
  pattern: "TestAgent",
  name: "Say",
  variables: ["text"],
  system: { role: "You speak.", output: "Words." },
  user: "Say: {text}"
})

const form = ReplyForm.make({
  name: "count",
  schema: Schema.Struct({ count: Schema.Int }),
  text: (text) => {
    const found = /^COUNT: (\d+)$/.exec(text)
    return found === null ? Either.left("there is no COUNT") : Either.right({ count: Number(found[1]) })
  }
})

interface Given extends Strategies.Setup {
  readonly options?: Reasoning.Options | undefined
}

/** What a use of Reasoning comes to, with everything that happened. */
const use = <A>(
  body: (reasoning: Reasoning.Service) => Effect.Effect<A, any>,
  script: Strategies.Script,
  given: Given = {}
) =>
  Effect.gen(function* () {
    const values: Array<A> = []
    const ran = yield* Strategies.run(
      Strategy.make("test", (task) =>
        Effect.gen(function* () {
          const value = yield* body(yield* ReasoningService.make("test", task, given.options))
          values.push(value)
          return { text: "", reason: "completed" as const, messages: [] }
        })
      ) as Strategy.Strategy,
      script,
      given
    )
    return { ...ran, value: Effect.map(ran.exit, () => values[0] as A) }
  })

const ask =
  (given: Reasoning.AskOptions = {}) =>
  (reasoning: Reasoning.Service) =>
    reasoning.ask(Say, { text: "hi" }, given)

const count =
  (given: Reasoning.AskOptions = {}) =>
  (reasoning: Reasoning.Service) =>
    Effect.map(reasoning.askFor(Count, { text: "o o" }, form, given), ({ value }) => value.count)

const refused = (message = "response_format is not supported") =>
  new LlmInvalidRequestError({ provider: "test", message })

describe("ask", () => {
  it.effect("makes one call in a new step: the agent's prompt, the earlier turns, the step's question", () =>
    Effect.gen(function* () {
      const ran = yield* use(ask(), [" hello \n"], {
        task: {
          history: [
            { role: "user", content: "before" },
            { role: "assistant", content: "yes" }
          ]
        }
      })
      const reply = yield* ran.value
      assert.deepStrictEqual([reply.text, reply.step, reply.response.finishReason], ["hello", 1, "stop"])
      assert.deepStrictEqual(Strategies.shape(ran.requests[0]!.messages), [
        ["system", "Be brief.\n\n## Role\n\nYou speak.\n\n## Output Format\n\nWords."],
        ["user", "before"],
        ["assistant", "yes"],
        ["user", "Say: hi"]
      ])
      assert.notProperty(ran.requests[0]!, "responseFormat")
      assert.deepStrictEqual(
        ran.of("StepStarted").map(({ name, step }) => [step, name]),
        [[1, "Say"]]
      )
    })
  )

  it.effect("omits the agent's prompt and earlier turns without context", () =>
    Effect.gen(function* () {
      const ran = yield* use(ask({ context: false }), ["hello"], {
        task: { history: [{ role: "user", content: "before" }] }
      })
      assert.deepStrictEqual(
        Strategies.shape(ran.requests[0]!.messages).map(([role]) => role),
        ["system", "user"]
      )
      assert.notInclude(JSON.stringify(ran.requests), "Be brief.")
    })
  )

  it.effect("appends follow-up messages, and prefers settings of the call", () =>
    Effect.gen(function* () {
      const follow = [
        { role: "assistant", content: "hm" },
        { role: "user", content: "go on" }
      ] as const
      const ran = yield* use(ask({ follow, settings: { temperature: 0.1 } }), ["hello"], {
        task: { settings: { temperature: 0.9, maxTokens: 7 } }
      })
      assert.deepStrictEqual(Strategies.shape(ran.requests[0]!.messages).slice(1), [
        ["user", "Say: hi"],
        ["assistant", "hm"],
        ["user", "go on"]
      ])
      assert.deepStrictEqual(ran.requests[0]!.settings, { temperature: 0.1, maxTokens: 7 })
    })
  )

  it.effect("asks again for an empty reply, each time in a step, then fails", () =>
    Effect.gen(function* () {
      const repaired = yield* use(ask(), ["", " \n", "hello"])
      assert.strictEqual((yield* repaired.value).step, 3)
      assert.deepStrictEqual(
        repaired.of("StepStarted").map(({ name, step }) => [step, name]),
        [
          [1, "Say"],
          [2, "Say"],
          [3, "Say"]
        ]
      )
      // Nothing was said, so nothing is shown as said.
      assert.deepStrictEqual(
        repaired.requests.map(({ messages }) => messages.filter(({ role }) => role === "assistant").length),
        [0, 0, 0]
      )
      const never = yield* use(ask(), ["", "", ""])
      const error = yield* Effect.flip(never.value)
      assert.instanceOf(error, StrategyReplyError)
      assert.deepStrictEqual(
        [error.prompt, error.attempts, error.issues, error.strategyName, error.text],
        ["TestAgent/Say", 3, "the reply is empty", "test", ""]
      )
    })
  )

  it.effect("neither uses nor repeats a filtered reply", () =>
    Effect.gen(function* () {
      for (const text of ["", "half of"]) {
        const ran = yield* use(ask(), [{ text, finishReason: "content-filter" }])
        const error = yield* Effect.flip(ran.value)
        assert.instanceOf(error, LlmContentPolicyError)
        assert.deepStrictEqual([error.provider, ran.remaining], ["test", 0])
        assert.include(error.message, "TestAgent/Say")
      }
    })
  )

  it.effect("shows nothing, or the reply as reasoning, or as the answer", () =>
    Effect.gen(function* () {
      const deltas = (show: Reasoning.AskOptions["show"]) =>
        Effect.map(use(ask({ show }), [{ reasoning: "hm", text: ["hel", "lo"] }]), ({ events }) =>
          events.flatMap((event) =>
            event._tag === "TextDelta" || event._tag === "ReasoningDelta" ? [[event._tag, event.text]] : []
          )
        )
      assert.deepStrictEqual(yield* deltas(undefined), [])
      assert.deepStrictEqual(yield* deltas("nothing"), [])
      assert.deepStrictEqual(yield* deltas("reasoning"), [
        ["ReasoningDelta", "hm"],
        ["ReasoningDelta", "hel"],
        ["ReasoningDelta", "lo"]
      ])
      assert.deepStrictEqual(yield* deltas("answer"), [
        ["ReasoningDelta", "hm"],
        ["TextDelta", "hel"],
        ["TextDelta", "lo"]
      ])
    })
  )

  it.effect("passes the text in pieces, also without a reader of the run", () =>
    Effect.gen(function* () {
      for (const live of [true, false]) {
        const pieces: Array<string> = []
        const onText = (text: string) => Effect.sync(() => void pieces.push(text))
        yield* use(ask({ onText }), [{ reasoning: "hm", text: ["hel", "", "lo"] }], { live })
        assert.strictEqual(pieces.join(""), "hello")
        assert.notInclude(pieces, "")
      }
    })
  )

  it.effect("admits each call first, and fails before a step begins", () =>
    Effect.gen(function* () {
      let left = 2
      const stop = new Fatality({ toolName: "", error: "enough" })
      const admit = Effect.suspend(() => (left-- > 0 ? Effect.void : Effect.fail(stop)))
      const ran = yield* use(ask({ admit }), ["", ""])
      assert.strictEqual(yield* Effect.flip(ran.value), stop)
      assert.deepStrictEqual([ran.remaining, ran.of("StepStarted").length], [0, 2])
    })
  )

  it.effect("reports usage per call, with the role", () =>
    Effect.gen(function* () {
      const ran = yield* use(ask(), ["", "hello"])
      assert.deepStrictEqual(
        ran.of("UsageReported").map(({ role, usage }) => [usage.totalTokens, role]),
        [
          [15, undefined],
          [15, undefined]
        ]
      )
    })
  )
})

describe("askFor", () => {
  it.effect("asks for JSON by the schema of its form, with the schema in the prompt", () =>
    Effect.gen(function* () {
      const ran = yield* use(count(), ['{"count": 2}'])
      assert.strictEqual(yield* ran.value, 2)
      const [request] = ran.requests
      assert.deepStrictEqual(request!.responseFormat, { type: "json", name: "count", schema: form.jsonSchema })
      const [system] = Strategies.shape(request!.messages)
      assert.include(String(system![1]), JSON.stringify(form.jsonSchema))
      assert.notInclude(String(system![1]), Count.textFormat)
    })
  )

  it.effect("asks in text form if requested, and reads either form", () =>
    Effect.gen(function* () {
      for (const text of ["COUNT: 2", '{"count": 2}']) {
        const ran = yield* use(count(), [text], { options: { format: "text" } })
        assert.strictEqual(yield* ran.value, 2)
        assert.notProperty(ran.requests[0]!, "responseFormat")
        assert.include(JSON.stringify(ran.requests[0]!.messages), "COUNT: a number")
      }
      const json = yield* use(count(), ["COUNT: 2"])
      assert.strictEqual(yield* json.value, 2)
    })
  )

  it.effect("returns issues of a reply, up to the attempts", () =>
    Effect.gen(function* () {
      const ran = yield* use(count(), ['{"count": "x"}', '{"count": 1.5}', '{"count": 2}'])
      assert.strictEqual(yield* ran.value, 2)
      const messages = Strategies.shape(ran.requests[2]!.messages).slice(2)
      assert.deepStrictEqual(
        messages.map(([role]) => role),
        ["assistant", "user", "assistant", "user"]
      )
      assert.strictEqual(messages[0]![1], '{"count": "x"}')
      assert.include(String(messages[1]![1]), "count: ")
      for (const replyRetries of [0, 1, 4]) {
        const never = yield* use(
          count(),
          Array.from({ length: replyRetries + 1 }, () => "many"),
          {
            options: { replyRetries }
          }
        )
        const error = yield* Effect.flip(never.value)
        assert.instanceOf(error, StrategyReplyError)
        assert.deepStrictEqual(
          [error.attempts, error.text, error.issues, never.remaining],
          [replyRetries + 1, "many", "there is no COUNT", 0]
        )
      }
    })
  )

  it.effect("quotes a reply of any size within bounds", () =>
    Effect.gen(function* () {
      const ran = yield* use(count(), ["x".repeat(50_000)], { options: { replyRetries: 0 } })
      const error = yield* Effect.flip(ran.value)
      assert.instanceOf(error, StrategyReplyError)
      assert.isAtMost(error.text.length, 2000)
      assert.isBelow(error.message.length, 1000)
    })
  )

  it.effect("asks a model that rejects JSON for text from then on", () =>
    Effect.gen(function* () {
      const twice = (reasoning: Reasoning.Service) => Effect.all([count()(reasoning), count()(reasoning)])
      const ran = yield* use(twice, [{ fail: refused() }, "COUNT: 2", "COUNT: 3"])
      assert.deepStrictEqual(yield* ran.value, [2, 3])
      assert.deepStrictEqual(
        ran.requests.map(({ responseFormat }) => responseFormat?.type),
        ["json", undefined, undefined]
      )
      assert.include(JSON.stringify(ran.requests[1]!.messages), "COUNT: a number")
      // One question is one step, however it was asked.
      assert.deepStrictEqual(
        ran.of("StepStarted").map(({ step }) => step),
        [1, 2]
      )
      // Another client is asked for JSON.
      const other = yield* use(count(), ['{"count": 4}'])
      assert.strictEqual(other.requests[0]!.responseFormat?.type, "json")
    })
  )

  it.effect("fails with the first rejection when text is rejected too, and asks for JSON next time", () =>
    Effect.gen(function* () {
      const ran = yield* use(
        (reasoning) => Effect.zip(Effect.flip(count()(reasoning)), count()(reasoning)),
        [{ fail: refused("too long") }, { fail: refused("too long, too") }, '{"count": 2}']
      )
      const [error, value] = yield* ran.value
      assert.deepStrictEqual([(error as LlmInvalidRequestError).message, value], ["too long", 2])
      assert.strictEqual(ran.requests[2]!.responseFormat?.type, "json")
    })
  )

  it.effect("does not take a later rejection of a model that answered in JSON for one of JSON", () =>
    Effect.gen(function* () {
      const ran = yield* use(
        (reasoning) => Effect.zip(Effect.flip(count()(reasoning)), count()(reasoning)),
        ['{"count": "x"}', { fail: refused("the conversation is too long") }, '{"count": 2}']
      )
      const [error, value] = yield* ran.value
      assert.deepStrictEqual([(error as LlmInvalidRequestError)._tag, value], ["LlmInvalidRequestError", 2])
      assert.deepStrictEqual(
        ran.requests.map(({ responseFormat }) => responseFormat?.type),
        ["json", "json", "json"]
      )
    })
  )

  it.effect("fails with other failures of the model", () =>
    Effect.gen(function* () {
      const ran = yield* use(count(), [{ fail: new LlmRateLimitError({ provider: "test", message: "slow down" }) }])
      assert.strictEqual((yield* Effect.flip(ran.value))._tag, "LlmRateLimitError")
      assert.lengthOf(ran.requests, 1)
    })
  )
})

describe("askCalls", () => {
  const calls: Reasoning.CallForm<string> = {
    tools: [{ name: "add", description: "", parameters: {} }],
    format: "Call add.",
    read: (text, calls) =>
      calls[0] === undefined
        ? text === "no"
          ? Either.left("say yes")
          : Either.right(text)
        : Either.right(`${calls[0].name} ${JSON.stringify(calls[0].params)}`)
  }
  const act =
    (given: Reasoning.AskOptions = {}) =>
    (reasoning: Reasoning.Service) =>
      Effect.map(reasoning.askCalls(Count, { text: "x" }, calls, given), ({ value }) => value)

  it.effect("offers the tools and returns the calls without running them", () =>
    Effect.gen(function* () {
      const ran = yield* use(act(), [{ calls: [{ name: "add", params: { a: 1 } }] }], { tools: Strategies.tools })
      assert.strictEqual(yield* ran.value, 'add {"a":1}')
      assert.deepStrictEqual(ran.requests[0]!.tools, calls.tools)
      assert.include(JSON.stringify(ran.requests[0]!.messages), "Call add.")
      assert.notProperty(ran.requests[0]!, "responseFormat")
      assert.lengthOf(ran.of("ToolCall"), 0)
    })
  )

  it.effect("reads text as well, returns its issues, and asks again for an empty reply", () =>
    Effect.gen(function* () {
      const ran = yield* use(act(), ["no", "", "yes"])
      assert.strictEqual(yield* ran.value, "yes")
      assert.include(JSON.stringify(ran.requests[1]!.messages), "say yes")
    })
  )

  it.effect("sends no field for no tools", () =>
    Effect.gen(function* () {
      const ran = yield* use((reasoning) => reasoning.askCalls(Count, { text: "x" }, { ...calls, tools: [] }), ["yes"])
      yield* ran.value
      assert.notProperty(ran.requests[0]!, "tools")
    })
  )
})

describe("roles", () => {
  const own = TestModel.make(() => "COUNT: 1", { model: "own" })
  const judge = TestModel.make(() => "COUNT: 2", { model: "judge" })
  const special = TestModel.make(() => "COUNT: 3", { model: "special" })
  const roles = {
    evaluation: { client: judge, settings: { temperature: 0 } },
    planning: { client: special },
    thinking: { settings: { temperature: 0.6 } }
  }

  const asked = <A>(
    body: (reasoning: Reasoning.Service) => Effect.Effect<A, unknown>,
    task: Partial<Strategy.Task> = {}
  ) =>
    Effect.gen(function* () {
      const given = yield* Strategies.task({ task })
      return yield* body(yield* ReasoningService.make("test", given, { format: "text" }))
    }).pipe(
      Effect.provide(
        Strategies.layer([]).pipe(
          Layer.provideMerge(Layer.empty),
          Layer.merge(Layer.provideMerge(DefaultModelRouter.layer({ roles }), LlmGateway.layer(own)))
        )
      )
    )

  it.effect("answer each step by the model of its role, with its settings over those of the agent", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* asked(count(), { settings: { temperature: 1, maxTokens: 5 } }), 2)
      const [request] = yield* judge.observer.requests
      assert.deepStrictEqual(request!.settings, { temperature: 0, maxTokens: 5, model: "judge" })
    })
  )

  it.effect("prefer the caller's role; a role with settings only is the default client", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* asked(count({ role: "planning" })), 3)
      assert.strictEqual(yield* asked(count({ role: "thinking" })), 1)
      assert.deepStrictEqual((yield* own.observer.requests).at(-1)!.settings, { temperature: 0.6 })
    })
  )

  it.effect("resolve an unknown role to the agent's own model, which may be that of a role", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* asked(count({ role: "solver" })), 1)
      assert.strictEqual(yield* asked(count({ role: "solver" }), { role: "planning" }), 3)
      assert.strictEqual(yield* asked(count({ role: "evaluation" }), { role: "planning" }), 2)
    })
  )
})

describe("finish and answer", () => {
  it.effect("finish without an output streams its reply as the answer", () =>
    Effect.gen(function* () {
      const ran = yield* use((reasoning) => reasoning.finish(Say, { text: "hi" }), [{ text: ["hel", "lo"] }])
      assert.deepStrictEqual(yield* ran.value, {
        text: "hello",
        reason: "completed",
        messages: [
          { role: "user", content: "What is it?" },
          { role: "assistant", content: "hello" }
        ]
      })
      assert.deepStrictEqual(
        ran.of("TextDelta").map(({ text }) => text),
        ["hel", "lo"]
      )
    })
  )

  it.effect("report a truncated answer", () =>
    Effect.gen(function* () {
      const ran = yield* use(
        (reasoning) => reasoning.finish(Say, { text: "hi" }),
        [{ text: "hel", finishReason: "length" }]
      )
      assert.strictEqual((yield* ran.value).reason, "length")
    })
  )

  it.effect("with an output ask in its shape, and repair it with the retries of the task", () =>
    Effect.gen(function* () {
      const ran = yield* use((reasoning) => reasoning.finish(Say, { text: "hi" }), ["no", '{"n": 1}'], {
        task: { output: Strategies.outputSpec(1) }
      })
      const { output, text } = yield* ran.value
      assert.deepStrictEqual([output, text], [{ n: 1 }, '{"n": 1}'])
      assert.deepStrictEqual(
        ran.requests.map(({ responseFormat }) => responseFormat?.type === "json" && responseFormat.name),
        ["answer", "answer"]
      )
    })
  )

  it.effect("admit the calls that shape an output", () =>
    Effect.gen(function* () {
      for (const end of [
        (reasoning: Reasoning.Service, admit: Effect.Effect<void, Fatality>) =>
          reasoning.finish(Say, { text: "hi" }, { admit }),
        (reasoning: Reasoning.Service, admit: Effect.Effect<void, Fatality>) =>
          reasoning.answer("no", "completed", { admit })
      ]) {
        let left = 2
        const admit = Effect.suspend(() =>
          left-- > 0 ? Effect.void : Effect.fail(new Fatality({ toolName: "", error: "enough" }))
        )
        const ran = yield* use((reasoning) => end(reasoning, admit), ["no", "no"], {
          task: { output: Strategies.outputSpec(9) }
        })
        assert.instanceOf(yield* Effect.flip(ran.value), Fatality)
        assert.lengthOf(ran.requests, 2)
      }
    })
  )

  it.effect("turn a text into the answer without a call, or in the output shape", () =>
    Effect.gen(function* () {
      const plain = yield* use((reasoning) => reasoning.answer("hello", "limit"), [])
      assert.deepStrictEqual(yield* Effect.map(plain.value, ({ reason, text }) => [text, reason]), ["hello", "limit"])
      const fits = yield* use((reasoning) => reasoning.answer('{"n": 1}'), [], {
        task: { output: Strategies.outputSpec(0) }
      })
      assert.deepStrictEqual((yield* fits.value).output, { n: 1 })
      const shaped = yield* use((reasoning) => reasoning.answer("one"), ['{"n": 1}'], {
        task: { output: Strategies.outputSpec(1) }
      })
      assert.deepStrictEqual((yield* shaped.value).output, { n: 1 })
    })
  )
})

describe("steps", () => {
  it.effect("count over all questions, and contain their tool calls", () =>
    Effect.gen(function* () {
      const ran = yield* use(
        (reasoning) =>
          Effect.gen(function* () {
            const first = yield* reasoning.ask(Say, { text: "a" })
            const own = yield* reasoning.begin("own")
            const outcome = yield* reasoning.call({ id: "c1", name: "add", params: { a: 1, b: 2 } }, own)
            const { step } = yield* reasoning.askFor(Count, { text: "b" }, form)
            return [first.step, own, outcome.result, step, reasoning.steps()]
          }),
        ["hello", '{"count": 1}'],
        { tools: Strategies.tools }
      )
      assert.deepStrictEqual(yield* ran.value, [1, 2, 3, 3, 3])
      assert.deepStrictEqual(
        ran.of("ToolCall").map(({ step }) => step),
        [2]
      )
      assert.deepStrictEqual(
        ran.of("StepStarted").map(({ name }) => name),
        ["Say", "own", "Count"]
      )
    })
  )

  it.effect("give tools the limits of the strategy", () =>
    Effect.gen(function* () {
      const ran = yield* use(
        (reasoning) => reasoning.call({ id: "c1", name: "echo", params: { text: "x".repeat(500) } }, 1),
        [],
        { tools: Strategies.tools, options: { observationMaxChars: 100 } }
      )
      const outcome = yield* ran.value
      assert.isTrue(outcome.truncated)
      assert.isBelow(outcome.observation.length, 200)
    })
  )
})

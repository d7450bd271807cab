import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as DefaultModelRouter from "../../../src/llm/DefaultModelRouter.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as StopCondition from "../../../src/strategy/reasoning/StopCondition.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

class Clock extends Context.Tag("test/Clock")<Clock, { readonly day: Effect.Effect<string> }>() {}
class Closed extends Data.TaggedError("Closed")<{}> {}

const search = Tool.make("search", { description: "Searches", handler: () => Effect.succeed("found") })
const weather = Tool.make("get weather", {
  description: "The weather",
  parameters: { city: Schema.String },
  handler: ({ city }) => Effect.succeed(`sunny in ${city}`)
})

/** The requests that a run of the agent sends, and how it ends. */
const requestsOf = <O, E>(
  agent: Agent.Agent<O, E, never>,
  script: Parameters<typeof Runs.layer>[0],
  request: Parameters<typeof AgentExecutor.run>[1] = "go",
  options?: Parameters<typeof Runs.layer>[1]
) =>
  Effect.gen(function* () {
    const ended = yield* Effect.either(AgentExecutor.run(agent, request))
    return { ended, requests: yield* TestModel.requests }
  }).pipe(Effect.provide(Runs.layer(script, options)))

const lastText = ({ messages }: LlmClient.LlmRequest): unknown => messages.at(-1)?.content
const systemOf = ({ messages }: LlmClient.LlmRequest): unknown =>
  messages.find(({ role }) => role === "system")?.content
const offered = ({ tools }: LlmClient.LlmRequest) => tools?.map(({ name }) => name)

describe("withInstructions", () => {
  it.effect("adds a text made for the run behind the system prompt", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { system: "Be brief." }).pipe(
        Agent.withInstructions(({ agentName, input, userId }) => Effect.succeed(`${agentName} ${input} ${userId}`)),
        Agent.withInstructions(() => Effect.succeed("")),
        Agent.withInstructions(() => Effect.map(Clock, () => "And kind."))
      )
      const { requests } = yield* Effect.provideService(
        Effect.gen(function* () {
          yield* AgentExecutor.run(agent, { input: "go", userId: "ada" })
          return { requests: yield* TestModel.requests }
        }).pipe(Effect.provide(Runs.layer(["done"]))),
        Clock,
        { day: Effect.succeed("Monday") }
      )
      assert.strictEqual(systemOf(requests[0]!), "Be brief.\n\na go ada\n\nAnd kind.")
    })
  )

  it.effect("sees the input after the guards", () =>
    Effect.gen(function* () {
      const guard = Guard.make({
        name: "hide",
        stages: ["input"],
        check: (text) => Effect.succeed(Guard.redact("hide", text.replace("1234", "****")))
      })
      const agent = Agent.make("a").pipe(Agent.withInstructions(({ input }) => Effect.succeed(input)))
      const { requests } = yield* requestsOf(agent, ["done"], "code 1234", {
        guards: DefaultGuardPipeline.layerGuards([guard])
      })
      assert.strictEqual(systemOf(requests[0]!), "code ****")
    })
  )

  it.effect("fails the run with its own failure", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(Agent.withInstructions(() => Effect.fail(new Closed())))
      const { ended, requests } = yield* requestsOf(agent, [])
      assert.strictEqual(ended._tag === "Left" && ended.left._tag, "Closed")
      assert.lengthOf(requests, 0)
    })
  )
})

describe("withToolChoice", () => {
  const script = [{ calls: [{ name: "search" }] }, "done"]
  const choices = (requests: ReadonlyArray<LlmClient.LlmRequest>) => requests.map(({ toolChoice }) => toolChoice)

  it.effect("forces a call in the first step only", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search] }).pipe(Agent.withToolChoice("required"))
      const { requests } = yield* requestsOf(agent, script)
      assert.deepStrictEqual(choices(requests), ["required", undefined])
    })
  )

  it.effect("holds for every step where it says so", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search] }).pipe(Agent.withToolChoice("required", { on: "every" }))
      const { requests } = yield* requestsOf(agent, script)
      assert.deepStrictEqual(choices(requests), ["required", "required"])
    })
  )

  it.effect("names a tool by its own name and sends the provider's", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search, weather] }).pipe(Agent.withToolChoice({ tool: "get weather" }))
      const { requests } = yield* requestsOf(agent, ["done"])
      assert.deepStrictEqual(choices(requests), [{ tool: "get_weather" }])
    })
  )

  it.effect("with none holds for every step", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search] }).pipe(Agent.withToolChoice("none"))
      const { requests } = yield* requestsOf(agent, script)
      assert.deepStrictEqual(choices(requests), ["none", "none"])
    })
  )

  it.effect("is left out of calls without tools", () =>
    Effect.gen(function* () {
      const { requests } = yield* requestsOf(Agent.make("a").pipe(Agent.withToolChoice("required")), ["done"])
      assert.deepStrictEqual(choices(requests), [undefined])
    })
  )

  it.effect("fails before the call for a tool that the agent does not have", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search] }).pipe(Agent.withToolChoice({ tool: "find" }))
      const { ended, requests } = yield* requestsOf(agent, [])
      assert.strictEqual(ended._tag === "Left" && ended.left._tag, "AgentConfigurationError")
      assert.lengthOf(requests, 0)
    })
  )
})

describe.each([
  ["function_calling", FunctionCalling.make()],
  ["react", ReAct.make()]
] as const)("withPrepareStep with %s", (_name, strategy) => {
  it.effect("changes one call and nothing after it", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search, weather], strategy, settings: { model: "small" } }).pipe(
        Agent.withPrepareStep(({ messages, step, tools }) =>
          Effect.succeed(
            step === 1
              ? { activeTools: ["search"], toolChoice: { tool: "search" }, settings: { model: tools.join("+") } }
              : step === 2
                ? { messages: messages.slice(-1) }
                : undefined
          )
        )
      )
      const call = { calls: [{ name: "search" }] }
      const { requests } = yield* requestsOf(agent, [call, call, "done"])
      assert.deepStrictEqual(requests.map(offered), [["search"], ["search", "get_weather"], ["search", "get_weather"]])
      assert.deepStrictEqual(
        requests.map(({ settings, toolChoice }) => [settings?.model, toolChoice]),
        [
          ["search+get weather", { tool: "search" }],
          ["small", undefined],
          ["small", undefined]
        ]
      )
      assert.lengthOf(requests[1]!.messages, 1)
      // The conversation itself is whole.
      assert.isAbove(requests[2]!.messages.length, 4)
    })
  )

  it.effect("refuses a call of a tool that was not offered, and tells the model", () =>
    Effect.gen(function* () {
      let ran = 0
      const risky = Tool.make("risky", { description: "Risky", handler: () => Effect.sync(() => `ran ${++ran}`) })
      const agent = Agent.make("a", { tools: [search, risky], strategy }).pipe(
        Agent.withPrepareStep(({ step }) => Effect.succeed(step === 1 ? { activeTools: ["search"] } : undefined))
      )
      const call = { calls: [{ name: "risky" }] }
      const { requests } = yield* requestsOf(agent, [call, call, "done"])
      assert.include(JSON.stringify(lastText(requests[1]!)), "not available in this step. Available: search")
      assert.include(JSON.stringify(lastText(requests[2]!)), "ran 1")
      assert.strictEqual(ran, 1)
    })
  )

  it.effect("offers no tools for an empty list, and forces none", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search], strategy }).pipe(
        Agent.withPrepareStep(() => Effect.succeed({ activeTools: [], toolChoice: "required" }))
      )
      const { requests } = yield* requestsOf(agent, ["done"])
      assert.notProperty(requests[0], "tools")
      assert.notProperty(requests[0], "toolChoice")
    })
  )
})

describe("withPrepareStep", () => {
  it.effect("asks the model of another role", () =>
    Effect.gen(function* () {
      const large = TestModel.make(["large says so"], { model: "large" })
      const agent = Agent.make("a", { tools: [search] }).pipe(
        Agent.withPrepareStep(({ step }) => Effect.succeed(step === 2 ? { role: "review" } : undefined))
      )
      const { ended, requests } = yield* requestsOf(agent, [{ calls: [{ name: "search" }] }], "go", {
        router: DefaultModelRouter.layer({ roles: { review: { client: large, settings: { temperature: 0 } } } })
      })
      assert.strictEqual(ended._tag === "Right" && ended.right.message, "large says so")
      assert.lengthOf(requests, 1)
      const asked = yield* large.observer.requests
      assert.strictEqual(asked[0]?.settings?.temperature, 0)
    })
  )

  it.effect("lets a later function win", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(
        Agent.withPrepareStep(() => Effect.succeed({ settings: { model: "one" }, messages: [] })),
        Agent.withPrepareStep(() => Effect.succeed({ settings: { model: "two" } }))
      )
      const { requests } = yield* requestsOf(agent, ["done"])
      assert.strictEqual(requests[0]?.settings?.model, "two")
      assert.lengthOf(requests[0]!.messages, 0)
    })
  )

  it.effect("fails the run for a tool that the step does not have", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search] }).pipe(
        Agent.withPrepareStep(() => Effect.succeed({ activeTools: ["find"] }))
      )
      const { ended } = yield* requestsOf(agent, [])
      assert.strictEqual(ended._tag === "Left" && ended.left._tag, "AgentConfigurationError")
      assert.include(ended._tag === "Left" ? (ended.left as { hint?: string }).hint : "", "search")
    })
  )

  it.effect("fails the run with its own failure, and uses the services of the caller", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(
        Agent.withPrepareStep(() => Effect.flatMap(Clock, ({ day }) => Effect.zipRight(day, Effect.fail(new Closed()))))
      )
      const ended = yield* AgentExecutor.run(agent, "go").pipe(
        Effect.flip,
        Effect.provide(Layer.merge(Runs.layer([]), Layer.succeed(Clock, { day: Effect.succeed("Monday") })))
      )
      assert.strictEqual(ended._tag, "Closed")
    })
  )
})

describe("withStopWhen", () => {
  it.effect("ends the run before the next model call, with the text so far", () =>
    Effect.gen(function* () {
      const seen: Array<StopCondition.Progress> = []
      const agent = Agent.make("a", { tools: [search, weather] }).pipe(
        Agent.withStopWhen((progress) => {
          seen.push({ ...progress, last: [...progress.last] })
          return StopCondition.toolSucceeded("search")(progress)
        })
      )
      const { ended, requests } = yield* requestsOf(agent, [
        { text: "First the weather.", calls: [{ name: "get weather", params: {} }] },
        { text: "Then a search.", calls: [{ name: "search" }] }
      ])
      assert.lengthOf(requests, 2)
      assert.strictEqual(ended._tag === "Right" && ended.right.message, "Then a search.")
      assert.strictEqual(ended._tag === "Right" && ended.right.finishReason, "stop-condition")
      assert.deepStrictEqual(
        seen.map(({ last, step, text, toolCalls, usage }) => [step, toolCalls, text, last, usage.totalTokens]),
        [
          [1, 1, "First the weather.", [{ name: "get weather", isFailure: true }], 15],
          [2, 2, "Then a search.", [{ name: "search", isFailure: false }], 30]
        ]
      )
    })
  )

  it.effect("reads the output from the text so far", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search], output: Schema.Struct({ n: Schema.Number }) }).pipe(
        Agent.withStopWhen(StopCondition.steps(1))
      )
      const script = (text: string) => [{ text, calls: [{ name: "search" }] }]
      const fits = yield* requestsOf(agent, script('{"n":1}'))
      assert.deepStrictEqual(fits.ended._tag === "Right" && fits.ended.right.output, { n: 1 })
      const not = yield* requestsOf(agent, script("not yet"))
      assert.strictEqual(not.ended._tag === "Left" && not.ended.left._tag, "OutputValidationError")
    })
  )
})

describe("withToolRepair", () => {
  const calls = (params: unknown, name = "get weather") => ({ calls: [{ name, params }] })

  it.effect("runs the repaired arguments of a call that did not fit", () =>
    Effect.gen(function* () {
      const seen: Array<Agent.FailedCall> = []
      const agent = Agent.make("a", { tools: [weather] }).pipe(
        Agent.withToolRepair((call) =>
          Effect.sync(() => {
            seen.push(call)
            return { params: { city: "Rome" } }
          })
        )
      )
      const { requests } = yield* requestsOf(agent, [calls({ town: "Rome" }), "done"])
      assert.include(JSON.stringify(lastText(requests[1]!)), "sunny in Rome")
      assert.strictEqual(seen[0]?.name, "get weather")
      assert.deepStrictEqual(seen[0]?.params, { town: "Rome" })
      assert.include(seen[0]?.problem, "city")
      assert.deepStrictEqual(seen[0]?.parameters?.required, ["city"])
    })
  )

  it.effect("runs another tool in place of an unknown one", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [weather] }).pipe(
        Agent.withToolRepair(({ params, tools }) => Effect.succeed({ name: tools[0], params }))
      )
      const { requests } = yield* requestsOf(agent, [calls({ city: "Rome" }, "weatherAt"), "done"])
      assert.include(JSON.stringify(lastText(requests[1]!)), "sunny in Rome")
    })
  )

  it.effect("tells the model of the problem where nothing repairs the call", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [weather] }).pipe(Agent.withToolRepair(() => Effect.succeed(undefined)))
      const { requests } = yield* requestsOf(agent, [calls({}), "done"])
      assert.include(JSON.stringify(lastText(requests[1]!)), "city")
    })
  )

  it.effect("repairs a call once, and guards the repaired arguments", () =>
    Effect.gen(function* () {
      let asked = 0
      const checked: Array<string> = []
      const guard = Guard.make({
        name: "seen",
        stages: ["toolInput"],
        check: (text) =>
          Effect.sync(() => {
            checked.push(text)
            return Guard.pass("seen")
          })
      })
      const agent = Agent.make("a", { tools: [weather], guards: [guard] }).pipe(
        Agent.withToolRepair(() => Effect.sync(() => ({ params: { city: ++asked } })))
      )
      const { requests } = yield* requestsOf(agent, [calls({}), "done"])
      assert.strictEqual(asked, 1)
      assert.include(JSON.stringify(lastText(requests[1]!)), "city")
      assert.deepStrictEqual(checked, ["{}", '{"city":1}'])
    })
  )
})

describe("withValidator", () => {
  it.effect("reports each rejected answer and retracts its text, so that the rest of the deltas is the answer", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(
        Agent.withValidator((text) => (text === "good" ? Effect.void : Effect.fail(Agent.reject(`not ${text}`))))
      )
      const { events } = yield* Runs.record(AgentExecutor.stream(agent, "go")).pipe(
        Effect.provide(Runs.layer(["bad", "worse", "good"]))
      )
      assert.deepStrictEqual(
        Runs.of(events, "AnswerRejected").map(({ message, step }) => [step, message]),
        [
          [1, "not bad"],
          [1, "not worse"]
        ]
      )
      const told = events.flatMap((event) =>
        event._tag === "TextDelta" ? [event.text] : event._tag === "TextRetracted" ? ["-"] : []
      )
      assert.strictEqual(told.join(""), "bad-worse-good")
    })
  )

  it.effect("reports the rejection that fails the run", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(Agent.withValidator(() => Effect.fail(Agent.reject("never")), { retries: 0 }))
      const { events } = yield* Runs.record(AgentExecutor.stream(agent, "go")).pipe(Effect.provide(Runs.layer(["bad"])))
      assert.deepStrictEqual(events.map(({ _tag }) => _tag).slice(-2), ["AnswerRejected", "Error"])
    })
  )

  it.effect("sends a rejected text back with the problem and the conversation", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [search] }).pipe(
        Agent.withValidator((text) => (text.includes("[1]") ? Effect.void : Effect.fail(Agent.reject("Cite as [1]."))))
      )
      const { ended, requests } = yield* requestsOf(agent, [
        { calls: [{ name: "search" }] },
        "It rains.",
        "It rains [1]."
      ])
      assert.strictEqual(ended._tag === "Right" && ended.right.message, "It rains [1].")
      assert.deepStrictEqual(
        requests[2]!.messages.map(({ role }) => role),
        ["system", "user", "assistant", "tool", "assistant", "user"]
      )
      assert.include(JSON.stringify(lastText(requests[2]!)), "Cite as [1].")
    })
  )

  it.effect("checks the decoded output", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { output: Schema.Struct({ sum: Schema.NumberFromString }) }).pipe(
        Agent.withValidator(({ sum }) => (sum > 0 ? Effect.void : Effect.fail(Agent.reject("The sum is not positive"))))
      )
      const { ended } = yield* requestsOf(agent, ['{"sum":"-1"}', '{"sum":"2"}'])
      assert.deepStrictEqual(ended._tag === "Right" && ended.right.output, { sum: 2 })
    })
  )

  it.effect("fails the run after its retries", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(Agent.withValidator(() => Effect.fail(Agent.reject("never")), { retries: 1 }))
      const { ended, requests } = yield* requestsOf(agent, ["one", "two"])
      assert.strictEqual(ended._tag === "Left" && ended.left._tag, "OutputValidationError")
      assert.lengthOf(requests, 2)
    })
  )

  it.effect("fails the run with other failures", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(Agent.withValidator(() => Effect.fail(new Closed())))
      const { ended } = yield* requestsOf(agent, ["one"])
      assert.strictEqual(ended._tag === "Left" && ended.left._tag, "Closed")
    })
  )

  it.effect("keeps what a session shows free of rejected answers", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a").pipe(
        Agent.withValidator((text) => (text === "good" ? Effect.void : Effect.fail(Agent.reject("not good"))))
      )
      const program = Effect.gen(function* () {
        yield* AgentExecutor.run(agent, { input: "hi", userId: "ada", sessionId: "s" })
        yield* AgentExecutor.run(agent, { input: "again", userId: "ada", sessionId: "s" })
        return yield* TestModel.requests
      })
      const requests = yield* Effect.provide(
        program,
        Runs.layer(["bad", "good", "good"], { sessions: Collaborators.sessions().layer })
      )
      const texts = JSON.stringify(requests[2]!.messages)
      assert.include(texts, "good")
      assert.notInclude(texts, "bad")
      assert.notInclude(texts, "not good")
      assert.deepStrictEqual(
        requests[2]!.messages.map(({ role }) => role),
        ["user", "assistant", "user"]
      )
    })
  )
})

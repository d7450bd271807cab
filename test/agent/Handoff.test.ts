import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { expectTypeOf } from "vitest"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { HandoffError } from "../../src/agent/definition/AgentError.js"
import * as Handoff from "../../src/agent/Handoff.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import type { MemoryEntry } from "../../src/memory/entry/MemoryEntry.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import type * as Strategy from "../../src/strategy/definition/Strategy.js"
import type { OutputValidationError } from "../../src/strategy/definition/StrategyError.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as PlanExecute from "../../src/strategy/PlanExecute.js"
import * as Supervisor from "../../src/strategy/supervisor/Supervisor.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"

const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }

const systemOf = (request: LlmClient.LlmRequest): string => {
  const [first] = request.messages
  return first?.role === "system" ? (first.content.split("\n")[0] as string) : ""
}

type Roles = { readonly [system: string]: (request: LlmClient.LlmRequest) => string | TestModel.Turn }

/** One model for all agents, which knows who asks by the system prompt. */
const layer = (roles: Roles, replace: Agents.Replaceable = {}) =>
  Agents.layerWith(replace).pipe(
    Layer.provideMerge(
      TestModel.layer((request) => {
        const role = roles[systemOf(request)]
        if (role === undefined) throw new Error(`nobody is "${systemOf(request)}"`)
        const turn = role(request)
        return typeof turn === "string" ? { text: turn, usage } : { usage, ...turn }
      })
    )
  )

const results = (request: LlmClient.LlmRequest): ReadonlyArray<unknown> =>
  request.messages.flatMap((message) => (message.role === "tool" ? message.content.map((part) => part.result) : []))

const transfer = (to: string, id = `to_${to}`): TestModel.Call => ({ id, name: `transfer_to_${to}` })

const billing = Agent.make("billing", { system: "billing" })
const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })

const desk = Agent.make("desk", { system: "desk", tools: [look, Handoff.to(billing)] })

const own = (events: ReadonlyArray<AgentEvent>, agent: string) => events.filter((event) => event.agent === agent)

const record = <O, E, R>(agent: Agent.Agent<O, E, R>, request: string | AgentExecutor.AgentRequest = "My invoice?") =>
  EventRecorder.record(AgentExecutor.stream(agent, request))

class Ledger extends Context.Tag("Ledger")<Ledger, { readonly total: number }>() {}
class Broke extends Schema.TaggedError<Broke>()("Broke", { message: Schema.String }) {}

describe("a handoff", () => {
  it("adds failures and requirements of the other agent to its caller", () => {
    const failing = Agent.make("failing", {
      tools: [
        Tool.make("pay", {
          description: "Pays",
          fatal: true,
          failure: Broke,
          handler: () => Effect.flatMap(Ledger, () => new Broke({ message: "broke" }))
        })
      ]
    })
    const caller = Agent.make("caller", { tools: [Handoff.to(failing)] })
    expectTypeOf(caller).toEqualTypeOf<Agent.Agent<string, Broke, Ledger | AgentExecutor.AgentExecutor>>()
    const strict = Agent.make("caller", { tools: [Handoff.to(failing).pipe(Tool.failOn("HandoffError"))] })
    expectTypeOf<Agent.ErrorOf<typeof strict>>().toEqualTypeOf<Broke | HandoffError>()
    // @ts-expect-error an option that does not exist
    Handoff.to(billing, { max_handoffs: 3 })
  })

  it.effect("answers with the answer of the other agent, in a run of its own", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* record(desk)
      yield* exit
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const [outer, inner] = [own(events, "desk"), own(events, "billing")]
      const delegated = outer.find((event) => event._tag === "Delegated")
      assert.deepStrictEqual([delegated?.toAgent, delegated?.message], ["billing", "My invoice?"])
      for (const event of inner) {
        assert.strictEqual(event.runId, delegated?.childRunId)
        assert.strictEqual(event.parentRunId, outer[0]?.runId)
      }
      const said = (list: ReadonlyArray<AgentEvent>) => list.find((event) => event._tag === "Message")?.text
      assert.strictEqual(said(inner), "Paid.")
      assert.strictEqual(said(outer), "Paid.")
      assert.strictEqual(events.at(-1)?._tag, "Finished")
      const result = outer.find((event) => event._tag === "ToolResult")
      assert.strictEqual(result?.isFailure, false)
      assert.isTrue(inner.some((event) => event._tag === "TextDelta" && event.text === "Paid."))
    }).pipe(Effect.provide(layer({ desk: () => ({ calls: [transfer("billing")] }), billing: () => "Paid." })))
  )

  it.effect("does not call the caller's model again, and counts the usage of both once", () =>
    Effect.gen(function* () {
      const response = yield* AgentExecutor.run(desk, "My invoice?")
      assert.strictEqual(response.message, "Paid.")
      assert.strictEqual(response.output, "Paid.")
      assert.strictEqual(response.finishReason, "completed")
      assert.strictEqual(response.modelCalls, 2)
      assert.deepStrictEqual(response.usage, { inputTokens: 200, outputTokens: 20, totalTokens: 220 })
      const requests = yield* TestModel.requests
      assert.deepStrictEqual(requests.map(systemOf), ["desk", "billing"])
    }).pipe(Effect.provide(layer({ desk: () => ({ calls: [transfer("billing")] }), billing: () => "Paid." })))
  )

  it.effect("shows the other agent the conversation, calls with results, and its own system prompt", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(desk, {
        input: "My invoice?",
        history: [
          { role: "system", content: "for the desk alone" },
          { role: "user", content: "Hi" },
          { role: "assistant", content: "Hello" }
        ]
      })
      const seen = (yield* TestModel.requests).at(-1)!
      const call = (id: string, name: string, result: string, params: unknown = {}) => [
        { role: "assistant", content: [{ type: "tool-call", id, name, providerExecuted: false, params }] },
        {
          role: "tool",
          content: [{ type: "tool-result", id, name, providerExecuted: false, isFailure: false, result }]
        }
      ]
      assert.strictEqual(systemOf(seen), "billing")
      assert.deepStrictEqual(seen.messages.slice(1), [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello" },
        ...call("call_1", "look", "seen"),
        ...call("to", "transfer_to_billing", 'The conversation continues with "billing"', { note: "a loyal customer" }),
        { role: "user", content: "My invoice?" }
      ] as unknown as ReadonlyArray<LlmClient.Message>)
    }).pipe(
      Effect.provide(
        layer({
          desk: (request) =>
            results(request).length === 0
              ? { calls: [{ name: "look" }] }
              : { calls: [{ id: "to", name: "transfer_to_billing", params: { note: "a loyal customer" } }] },
          billing: () => "Paid."
        })
      )
    )
  )

  it.effect("hands over what a filter leaves", () =>
    Effect.gen(function* () {
      const caller = Agent.make("desk", {
        system: "desk",
        tools: [
          Handoff.to(billing, {
            input: (handed, from) => ({ ...Handoff.withoutTools(handed), input: `${handed.input} (from ${from})` })
          })
        ]
      })
      yield* AgentExecutor.run(caller, { input: "My invoice?", history: [{ role: "user", content: "Hi" }] })
      const seen = (yield* TestModel.requests).at(-1)!
      assert.deepStrictEqual(seen.messages.slice(1), [
        { role: "user", content: "Hi" },
        { role: "user", content: "My invoice? (from desk)" }
      ])
    }).pipe(Effect.provide(layer({ desk: () => ({ calls: [transfer("billing")] }), billing: () => "Paid." })))
  )

  it.effect("makes calls beside it first, and the first of two handoffs wins", () =>
    Effect.gen(function* () {
      const sales = Agent.make("sales", { system: "sales" })
      const caller = Agent.make("desk", {
        system: "desk",
        tools: [look, Handoff.to(sales), Handoff.to(billing)]
      })
      const response = yield* AgentExecutor.run(caller, "My invoice?")
      assert.strictEqual(response.message, "Paid.")
      assert.deepStrictEqual(
        response.toolCalls.map(({ isFailure, name, observation }) => [name, isFailure, observation]),
        [
          ["transfer_to_billing", false, 'The conversation continues with "billing"'],
          ["look", false, "seen"],
          [
            "transfer_to_sales",
            true,
            'Error: "transfer_to_sales" failed: The conversation was already handed to "billing"'
          ]
        ]
      )
      const seen = (yield* TestModel.requests).at(-1)!
      assert.strictEqual(results(seen).length, 3)
    }).pipe(
      Effect.provide(
        layer({
          desk: () => ({ calls: [transfer("billing"), { name: "look" }, transfer("sales")] }),
          billing: () => "Paid.",
          sales: () => "never asked"
        })
      )
    )
  )

  it.effect("fails the run with the failure of the other agent", () =>
    Effect.gen(function* () {
      const failure = new LlmUnavailableError({ provider: "test", message: "down" })
      const failing = (fail: LlmUnavailableError) =>
        layer({ desk: () => ({ calls: [transfer("billing")] }), billing: () => ({ fail }) })
      const error = yield* Effect.flip(Effect.provide(AgentExecutor.run(desk, "My invoice?"), failing(failure)))
      assert.deepStrictEqual([error._tag, error.message], ["LlmUnavailableError", "down"])
      const { events, exit } = yield* Effect.provide(record(desk), failing(failure))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.strictEqual(events.at(-1)?._tag, "Error")
    })
  )

  it.effect("fails the run with the error of a fatal tool of the other agent", () =>
    Effect.gen(function* () {
      const pay = Tool.make("pay", {
        description: "Pays",
        fatal: true,
        failure: Broke,
        handler: () => new Broke({ message: "no money" })
      })
      const payer = Agent.make("payer", { system: "payer", tools: [pay] })
      const caller = Agent.make("desk", { system: "desk", tools: [Handoff.to(payer)] })
      const message = yield* AgentExecutor.run(caller, "Pay").pipe(
        Effect.as("paid"),
        Effect.catchTag("Broke", (error) => Effect.succeed(error.message)),
        Effect.provide(
          layer({ desk: () => ({ calls: [transfer("payer")] }), payer: () => ({ calls: [{ name: "pay" }] }) })
        )
      )
      assert.strictEqual(message, "no money")
    })
  )

  it.effect("is refused outside of a run", () =>
    Effect.gen(function* () {
      const runner = yield* ToolRunner.ToolRunner
      const tools = yield* ToolSet.bind(ToolSet.make(Handoff.to(billing)))
      const outcome = yield* runner.run(tools, { id: "1", name: "transfer_to_billing", params: {} })
      assert.include(outcome.observation, "There is no conversation to hand over")
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          DefaultToolRunner.layer().pipe(Layer.provide(Layer.mergeAll(ApprovalGate.layerDeny, ModuleGraph.layerNoop))),
          layer({})
        )
      )
    )
  )
})

describe("handoffs in cycles", () => {
  const circle = (maxHandoffs?: number) => {
    const options = maxHandoffs === undefined ? {} : { maxHandoffs }
    const ping: Agent.Agent<string, never, AgentExecutor.AgentExecutor> = Agent.make("ping", {
      system: "ping",
      tools: [Handoff.lazy("pong", (): Agent.Agent<string, never, AgentExecutor.AgentExecutor> => pong, options)]
    })
    const pong = Agent.make("pong", { system: "pong", tools: [Handoff.to(ping, options)] })
    return ping
  }

  const player = (other: string) => (request: LlmClient.LlmRequest) => {
    const refusal = results(request).findLast((result) => String(result).startsWith("Error"))
    return refusal === undefined ? { calls: [{ id: "go", name: `transfer_to_${other}` }] } : `I must: ${refusal}`
  }
  const players = layer({ ping: player("pong"), pong: player("ping") })

  it.effect("end at the limit with a refusal that the model reads", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* record(circle(3), "play")
      yield* exit
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "Delegated" ? [event.toAgent] : [])),
        ["pong", "ping", "pong"]
      )
      const message = events.find((event) => event._tag === "Message")
      assert.include(message?.text, "already handed over 3 times: answer the user yourself")
      assert.strictEqual(message?.agent, "pong")
    }).pipe(Effect.provide(players))
  )

  it.effect("are limited to ten by default", () =>
    Effect.gen(function* () {
      const { events } = yield* record(circle(), "play")
      assert.strictEqual(events.filter((event) => event._tag === "Delegated").length, 10)
    }).pipe(Effect.provide(players))
  )

  it.effect("keep the ids of calls unique in the conversation", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(circle(2), "play")
      const last = (yield* TestModel.requests).at(-1)!
      const ids = last.messages.flatMap((message) =>
        typeof message.content === "string"
          ? []
          : message.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : []))
      )
      const answered = last.messages.flatMap((message) =>
        message.role === "tool" ? message.content.map((part) => part.id) : []
      )
      assert.deepStrictEqual(ids.slice(0, 2), ["go", "go_2"])
      assert.deepStrictEqual(answered, ids)
    }).pipe(Effect.provide(players))
  )

  it.effect("count for the conversation, not for a delegation within it", () =>
    Effect.gen(function* () {
      const helper = Agent.make("helper", { system: "helper", tools: [Handoff.to(billing, { maxHandoffs: 1 })] })
      const second = Agent.make("second", { system: "second", tools: [AgentTool.make(helper)] })
      const first = Agent.make("first", { system: "first", tools: [Handoff.to(second, { maxHandoffs: 1 })] })
      const response = yield* AgentExecutor.run(first, "go")
      assert.strictEqual(response.message, "helped: Paid.")
    }).pipe(
      Effect.provide(
        layer({
          first: () => ({ calls: [transfer("second")] }),
          second: (request) => {
            const told = results(request).at(-1)
            return told === undefined || String(told).startsWith("The conversation")
              ? { calls: [{ id: "ask", name: "delegate_to_helper", params: { message: "help" } }] }
              : `helped: ${told}`
          },
          helper: () => ({ calls: [transfer("billing")] }),
          billing: () => "Paid."
        })
      )
    )
  )
})

describe("a handoff under every strategy", () => {
  const native = () => ({ text: "I hand over.", calls: [transfer("billing")] })
  const cases: ReadonlyArray<readonly [string, Strategy.Strategy, () => string | TestModel.Turn]> = [
    ["function_calling", FunctionCalling.make(), native],
    ["function_calling at its last turn", FunctionCalling.make({ maxIterations: 1 }), native],
    ["function_calling that stops there", FunctionCalling.make({ stopWhen: () => true }), native],
    ["react", ReAct.make(), native],
    [
      "react in text",
      ReAct.make({ format: "text" }),
      () => "THOUGHT: not mine\nACTION: transfer_to_billing\nACTION_INPUT: {}"
    ],
    ["supervisor", Supervisor.make(), native],
    [
      "plan-execute",
      PlanExecute.make(),
      () => JSON.stringify({ steps: [{ description: "Hand over", tool: "transfer_to_billing", arguments: {} }] })
    ]
  ]
  for (const [name, strategy, turn] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const caller = desk.pipe(Agent.withStrategy(strategy))
        const { events, exit } = yield* record(caller)
        yield* exit
        assert.deepStrictEqual(EventRecorder.violations(events), [])
        const messages = events.flatMap((event) => (event._tag === "Message" ? [[event.agent, event.text]] : []))
        assert.deepStrictEqual(messages, [
          ["billing", "Paid."],
          ["desk", "Paid."]
        ])
        const requests = yield* TestModel.requests
        assert.deepStrictEqual(requests.map(systemOf), ["desk", "billing"])
        assert.strictEqual(requests.at(-1)?.messages.at(-1)?.content, "My invoice?")
        assert.strictEqual(results(requests.at(-1)!).length, 1)
      }).pipe(Effect.provide(layer({ desk: turn, billing: () => "Paid." })))
    )
  }

  it.effect("works inside an agent that is a tool", () =>
    Effect.gen(function* () {
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(desk)] })
      const response = yield* AgentExecutor.run(top, "go")
      assert.strictEqual(response.message, "told: Paid.")
      assert.strictEqual(response.modelCalls, 4)
    }).pipe(
      Effect.provide(
        layer({
          top: (request) =>
            results(request).length > 0
              ? `told: ${results(request)[0]}`
              : { calls: [{ name: "delegate_to_desk", params: { message: "My invoice?" } }] },
          desk: () => ({ calls: [transfer("billing")] }),
          billing: () => "Paid."
        })
      )
    )
  )
})

describe("the answer after a handoff", () => {
  const Total = Schema.Struct({ total: Schema.NumberFromString })
  const roles = (answer: string): Roles => ({
    desk: () => ({ calls: [transfer("billing")] }),
    billing: () => answer
  })
  const caller = <O, E, R>(target: Agent.Agent<O, E, R>) =>
    Agent.make("desk", { system: "desk", output: Total, tools: [Handoff.to(target)] })

  it.effect("matches the caller's schema if the agent has none, after another attempt if needed", () =>
    Effect.gen(function* () {
      let asked = 0
      const response = yield* AgentExecutor.run(caller(billing), "Total?").pipe(
        Effect.provide(
          layer({ ...roles(""), billing: () => (asked++ === 0 ? "twelve" : JSON.stringify({ total: "12" })) })
        )
      )
      assert.deepStrictEqual(response.output, { total: 12 })
      assert.strictEqual(asked, 2)
    })
  )

  it.effect("matches the agent's own schema, or fails the run with the issues", () =>
    Effect.gen(function* () {
      const same = billing.pipe(
        Agent.withOutput(Schema.Struct({ total: Schema.NumberFromString, extra: Schema.Boolean }))
      )
      const fits = yield* AgentExecutor.run(caller(same), "Total?").pipe(
        Effect.provide(layer(roles(JSON.stringify({ total: "3", extra: true }))))
      )
      assert.deepStrictEqual(fits.output, { total: 3 })
      const other = billing.pipe(Agent.withOutput(Schema.Struct({ sum: Schema.Number })))
      const error = yield* AgentExecutor.run(caller(other), "Total?").pipe(
        Effect.flip,
        Effect.provide(layer(roles(JSON.stringify({ sum: 3 }))))
      )
      assert.strictEqual(error._tag, "OutputValidationError")
      assert.include((error as OutputValidationError).issues, "total")
    })
  )
})

describe("limits, guards and memory around a handoff", () => {
  const roles: Roles = { desk: () => ({ calls: [transfer("billing")] }), billing: () => "My secret." }

  it.effect("apply the limits of the caller and of the other agent", () =>
    Effect.gen(function* () {
      const limited = desk.pipe(Agent.withLimits({ maxModelCalls: 1 }))
      const outer = yield* Effect.flip(Effect.provide(AgentExecutor.run(limited, "go"), layer(roles)))
      assert.deepInclude(outer, { _tag: "RunLimitExceededError", limitType: "model-calls", agentName: "desk" })
      const tokens = desk.pipe(Agent.withLimits({ maxTokens: 100 }))
      const spent = yield* Effect.flip(Effect.provide(AgentExecutor.run(tokens, "go"), layer(roles)))
      assert.deepInclude(spent, { _tag: "RunLimitExceededError", limitType: "tokens", agentName: "desk" })
      const poor = Agent.make("billing", { system: "billing", limits: { maxModelCalls: 0 } })
      const caller = Agent.make("desk", { system: "desk", tools: [Handoff.to(poor)] })
      const inner = yield* Effect.flip(Effect.provide(AgentExecutor.run(caller, "go"), layer(roles)))
      assert.deepInclude(inner, { _tag: "RunLimitExceededError", agentName: "billing" })
    })
  )

  it.effect("run the guards of both on input and output", () =>
    Effect.gen(function* () {
      const block = (stage: "input" | "output", word: string) =>
        Guard.make({
          name: `no-${word}`,
          stages: [stage],
          check: (content) => Effect.succeed(content.includes(word) ? Guard.block("no") : Guard.pass("no"))
        })
      const guarded = desk.pipe(Agent.withGuards(block("output", "secret")))
      const out = yield* Effect.flip(Effect.provide(AgentExecutor.run(guarded, "go"), layer(roles)))
      assert.strictEqual(out._tag, "OutputGuardError")
      const careful = billing.pipe(Agent.withGuards(block("input", "invoice")))
      const caller = Agent.make("desk", { system: "desk", tools: [Handoff.to(careful)] })
      const into = yield* Effect.flip(Effect.provide(AgentExecutor.run(caller, "my invoice"), layer(roles)))
      assert.strictEqual(into._tag, "InputGuardError")
    })
  )

  it.effect("save the conversation once, by the run that keeps it", () =>
    Effect.gen(function* () {
      const kept: Array<MemoryEntry> = []
      const memory = Layer.succeed(WorkingMemory.WorkingMemory, {
        ...WorkingMemory.noop,
        addAll: (entries: ReadonlyArray<MemoryEntry>) => Effect.sync(() => void kept.push(...entries))
      })
      const { events } = yield* Effect.provide(record(desk, { input: "go", userId: "ada" }), layer(roles, { memory }))
      assert.deepStrictEqual(
        kept.map((entry) => `${entry.ownerId} ${entry.role}: ${entry.content}`),
        ["ada user: go", "ada assistant: My secret."]
      )
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "Started" ? [event.userId] : [])),
        ["ada", "ada"]
      )
    })
  )
})

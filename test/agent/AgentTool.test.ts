import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as Schema from "effect/Schema"
import { expectTypeOf } from "vitest"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Governance from "../../src/governance/Governance.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import type { MemoryEntry } from "../../src/memory/entry/MemoryEntry.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as AgentMetrics from "../../src/observability/AgentMetrics.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as Tool from "../../src/tool/definition/Tool.js"

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

const observed = (request: LlmClient.LlmRequest): ReadonlyArray<unknown> =>
  request.messages.flatMap((message) => (message.role === "tool" ? message.content.map((part) => part.result) : []))

/** Asks once, then says what it was told. */
const asks =
  (name: string, message = "do it") =>
  (request: LlmClient.LlmRequest): string | TestModel.Turn => {
    const results = observed(request)
    return results.length > 0
      ? `told: ${results.map((result) => (typeof result === "string" ? result : JSON.stringify(result))).join(" | ")}`
      : { calls: [{ id: "call", name, params: { message } }] }
  }

const sub = Agent.make("sub", { system: "sub" })

describe("an agent as a tool", () => {
  it("adds the requirements of its agent, and no failure", () => {
    const tool = AgentTool.make(sub)
    expectTypeOf<Tool.ErrorOf<typeof tool>>().toEqualTypeOf<never>()
    expectTypeOf<Tool.ServicesOf<typeof tool>>().toEqualTypeOf<AgentExecutor.AgentExecutor>()
    // @ts-expect-error an option that does not exist
    AgentTool.make(sub, { allowCycle: true })
  })

  it.effect("refuses an agent that is already in the path of runs, and tells the model", () =>
    Effect.gen(function* () {
      const again = Agent.make("top", { system: "inner top" })
      const middle = Agent.make("middle", { system: "middle", tools: [AgentTool.make(again)] })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(middle)] })
      const response = yield* AgentExecutor.run(top, "go").pipe(
        Effect.provide(
          layer({ top: asks("delegate_to_middle"), middle: asks("delegate_to_top"), "inner top": () => "never asked" })
        )
      )
      assert.include(
        response.message,
        '"top" is already working and waits for this (top > middle): do the task yourself'
      )
      assert.notInclude(response.message, "never asked")
    })
  )

  it.effect("allows as many visits as configured", () =>
    Effect.gen(function* () {
      const once = Agent.make("top", { system: "second" })
      const second = Agent.make("top", { system: "first", tools: [AgentTool.make(once, { maxVisits: 2 })] })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(second, { maxVisits: 2 })] })
      const response = yield* AgentExecutor.run(top, "go").pipe(
        Effect.provide(
          layer({ top: asks("delegate_to_top"), first: asks("delegate_to_top"), second: () => "never asked" })
        )
      )
      assert.include(response.message, "told: told: ")
      assert.include(response.message, '"top" is already working')
    })
  )

  it.effect("refuses nesting beyond the limit", () =>
    Effect.gen(function* () {
      const leaf = Agent.make("leaf", { system: "leaf" })
      const middle = Agent.make("middle", { system: "middle", tools: [AgentTool.make(leaf, { maxDepth: 1 })] })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(middle, { maxDepth: 1 })] })
      const response = yield* AgentExecutor.run(top, "go").pipe(
        Effect.provide(
          layer({ top: asks("delegate_to_middle"), middle: asks("delegate_to_leaf"), leaf: () => "never asked" })
        )
      )
      assert.include(response.message, "Delegations are nested deeper than 1")
    })
  )

  it.effect("ends the delegated run at its own budget, not the caller", () =>
    Effect.gen(function* () {
      const busy = Agent.make("sub", {
        system: "sub",
        tools: [Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })]
      })
      const run = (limits: Agent.RunLimits) => {
        const top = Agent.make("top", { system: "top", tools: [AgentTool.make(busy, { limits })] })
        return Effect.provide(
          AgentExecutor.run(top, "go"),
          layer({
            top: asks("delegate_to_sub"),
            sub: (request) => (observed(request).length > 1 ? "done" : { calls: [{ name: "look" }] })
          })
        )
      }
      assert.include((yield* run({})).message, "told: done")
      const limited: ReadonlyArray<readonly [Agent.RunLimits, string]> = [
        [{ maxModelCalls: 1 }, "reached its limit of 1 model-calls"],
        [{ maxToolCalls: 1 }, "reached its limit of 1 tool-calls"],
        [{ maxTokens: 150 }, "reached its limit of 150 tokens"]
      ]
      for (const [limits, expected] of limited) assert.include((yield* run(limits)).message, expected)
    })
  )

  it.effect("keeps the limits of the agent that are not overridden", () =>
    Effect.gen(function* () {
      const own = Agent.make("sub", { system: "sub", limits: { maxModelCalls: 0 } })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(own, { limits: { maxTokens: 10_000 } })] })
      const { message } = yield* AgentExecutor.run(top, "go").pipe(
        Effect.provide(layer({ top: asks("delegate_to_sub"), sub: () => "never asked" }))
      )
      assert.include(message, "reached its limit of 0 model-calls")
    })
  )

  it.effect("shows only the message by default", () =>
    Effect.gen(function* () {
      let seen: ReadonlyArray<LlmClient.Message> = []
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(sub)] })
      yield* AgentExecutor.run(top, { input: "go", history: [{ role: "user", content: "before" }] }).pipe(
        Effect.provide(
          layer({
            top: asks("delegate_to_sub"),
            sub: (request) => {
              seen = request.messages
              return "done"
            }
          })
        )
      )
      assert.deepStrictEqual(seen.slice(1), [{ role: "user", content: "do it" }])
    })
  )

  it.effect("shows the conversation if asked to, without system messages and the current step", () =>
    Effect.gen(function* () {
      const seen: Array<ReadonlyArray<LlmClient.Message>> = []
      const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("seen") })
      const top = Agent.make("top", {
        system: "top",
        tools: [
          look,
          AgentTool.make(sub, { context: "conversation" }),
          AgentTool.make(sub, { name: "ask_last", context: (messages) => messages.slice(-1) })
        ]
      })
      yield* AgentExecutor.run(top, {
        input: "go",
        history: [
          { role: "system", content: "a secret" },
          { role: "user", content: "before" }
        ]
      }).pipe(
        Effect.provide(
          layer({
            top: (request) => {
              const turns = request.messages.filter((message) => message.role === "assistant").length
              if (turns === 0) return { calls: [{ id: "look", name: "look" }] }
              if (turns > 1) return "end"
              return {
                calls: [
                  { id: "one", name: "delegate_to_sub", params: { message: "first" } },
                  { id: "two", name: "ask_last", params: { message: "second" } }
                ]
              }
            },
            sub: (request) => {
              seen.push(request.messages)
              return "done"
            }
          })
        )
      )
      const looked = [
        {
          role: "assistant",
          content: [{ type: "tool-call", id: "look", name: "look", providerExecuted: false, params: {} }]
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", id: "look", name: "look", providerExecuted: false, isFailure: false, result: "seen" }
          ]
        }
      ]
      const byMessage = (text: string) => seen.find((messages) => messages.at(-1)?.content === text)
      assert.deepStrictEqual(byMessage("first")?.slice(1), [
        { role: "user", content: "before" },
        { role: "user", content: "go" },
        ...looked,
        { role: "user", content: "first" }
      ] as unknown as ReadonlyArray<LlmClient.Message>)
      assert.deepStrictEqual(byMessage("second")?.slice(1), [
        looked[1],
        { role: "user", content: "second" }
      ] as unknown as ReadonlyArray<LlmClient.Message>)
    })
  )

  it.effect("returns the encoded value of an agent with an output schema", () =>
    Effect.gen(function* () {
      const dated = Agent.make("sub", {
        system: "sub",
        output: Schema.Struct({ on: Schema.Date, count: Schema.NumberFromString })
      })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(dated)] })
      const response = yield* AgentExecutor.run(top, "go").pipe(
        Effect.provide(
          layer({
            top: asks("delegate_to_sub"),
            sub: () => 'Here it is:\n```json\n{"on":"2026-01-02T00:00:00Z","count":"042"}\n```'
          })
        )
      )
      assert.deepStrictEqual(response.toolCalls[0]?.result, { on: "2026-01-02T00:00:00.000Z", count: "42" })
    })
  )

  it.effect("counts usage and cost once at any depth", () =>
    Effect.gen(function* () {
      const leaf = Agent.make("leaf", { system: "leaf" })
      const middle = Agent.make("middle", { system: "middle", tools: [AgentTool.make(leaf)] })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(middle)] })
      const response = yield* AgentExecutor.run(top, "go").pipe(
        Effect.provide(
          Layer.provideMerge(
            layer({ top: asks("delegate_to_middle"), middle: asks("delegate_to_leaf"), leaf: () => "done" }),
            CostEstimator.layerPrices({ "test-model": { input: 10_000, output: 100_000 } })
          )
        )
      )
      assert.strictEqual(response.message, "told: told: done")
      assert.strictEqual(response.modelCalls, 5)
      assert.deepStrictEqual(response.usage, { inputTokens: 500, outputTokens: 50, totalTokens: 550 })
      assert.closeTo(response.costUsd!, 5 * (100 * 0.01 + 10 * 0.1), 1e-9)
    })
  )

  it.effect("counts delegations by the agent they go to", () =>
    Effect.gen(function* () {
      const caller = Agent.make("counting-caller", { system: "top", tools: [AgentTool.make(sub)] })
      yield* AgentExecutor.run(caller, "go").pipe(
        Effect.provide(layer({ top: asks("delegate_to_sub"), sub: () => "done" }))
      )
      const counted = (yield* Metric.snapshot).filter(
        ({ metricKey }) =>
          metricKey.name === AgentMetrics.METRIC_AGENT_DELEGATIONS_TOTAL &&
          Array.from(metricKey.tags).some((tag) => tag.key === "agent" && tag.value === "counting-caller")
      )
      assert.deepStrictEqual(
        counted.map(({ metricKey, metricState }) => [
          Array.from(metricKey.tags).find((tag) => tag.key === "to")?.value,
          MetricState.isCounterState(metricState) ? Number(metricState.count) : undefined
        ]),
        [["sub", 1]]
      )
    })
  )

  it.effect("shows its approval requests in the outer stream", () =>
    Effect.gen(function* () {
      const danger = Tool.make("danger", {
        description: "Is dangerous",
        requiresApproval: true,
        handler: () => Effect.succeed("boom")
      })
      const careful = Agent.make("sub", { system: "sub", tools: [danger] })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(careful)] })
      const { events, exit } = yield* EventRecorder.record(AgentExecutor.stream(top, "go")).pipe(
        Effect.provide(
          layer(
            {
              top: asks("delegate_to_sub"),
              sub: (request) => (observed(request).length > 0 ? "done" : { calls: [{ name: "danger" }] })
            },
            { approvals: ApprovalGate.layerAutoApprove }
          )
        )
      )
      yield* exit
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const requested = events.find((event) => event._tag === "ApprovalRequested")
      const resolved = events.find((event) => event._tag === "ApprovalResolved")
      assert.strictEqual(requested?.agent, "sub")
      assert.strictEqual(requested?.parentRunId, events[0]?.runId)
      assert.isTrue(resolved?._tag === "ApprovalResolved" && resolved.approved)
    })
  )

  it.effect("reaches each agent whose name providers refuse or that clashes with another", () =>
    Effect.gen(function* () {
      const names = ["data analyst", "data_analyst", "データ", "数据", "x".repeat(80)]
      const top = Agent.make("top", {
        system: "top",
        tools: names.map((name) => AgentTool.make(Agent.make(name, { system: name })))
      })
      let told: ReadonlyArray<string> = []
      const roles = Object.fromEntries(names.map((name) => [name, () => `I am ${name}`]))
      const response = yield* AgentExecutor.run(top, "go").pipe(
        Effect.provide(
          layer({
            ...roles,
            top: (request) => {
              told = request.tools?.map((tool) => tool.name) ?? []
              return observed(request).length > 0
                ? observed(request).join(" | ")
                : { calls: told.map((name, i) => ({ id: `c${i}`, name, params: { message: "who?" } })) }
            }
          })
        )
      )
      assert.strictEqual(new Set(told).size, names.length)
      for (const name of told) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
      assert.strictEqual(response.message, names.map((name) => `I am ${name}`).join(" | "))
    })
  )
})

describe("for whom a sub-agent works", () => {
  const watched = () => {
    const seen: Array<readonly [string, string | undefined, string | undefined]> = []
    const kept: Array<MemoryEntry> = []
    const recalled: Array<string> = []
    const memory = Layer.succeed(WorkingMemory.WorkingMemory, {
      ...WorkingMemory.noop,
      assemble: (options) => {
        recalled.push(options.query)
        return WorkingMemory.noop.assemble(options)
      },
      addAll: (entries) => Effect.sync(() => void kept.push(...entries))
    })
    const run = (options: AgentTool.Options) => {
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(sub, options)] })
      return EventRecorder.record(AgentExecutor.stream(top, { input: "go", userId: "ada" })).pipe(
        Effect.map(({ events }) => {
          for (const event of events) {
            if (event._tag === "Started") seen.push([event.agent, event.userId, event.sessionId])
          }
          return { seen, recalled, kept: kept.map((entry) => `${entry.ownerId}: ${entry.content}`) }
        }),
        Effect.provide(layer({ top: asks("delegate_to_sub"), sub: () => "done" }, { memory }))
      )
    }
    return run
  }

  it.effect("is the caller's user, whose memory records nothing that agents say to each other", () =>
    Effect.gen(function* () {
      const { kept, recalled, seen } = yield* watched()({})
      assert.deepStrictEqual(seen, [
        ["top", "ada", undefined],
        ["sub", "ada", undefined]
      ])
      assert.deepStrictEqual(recalled, ["go"])
      assert.deepStrictEqual(kept, ["ada: go", "ada: told: done"])
    })
  )

  it.effect("is another user or nobody, with the memory of that user", () =>
    Effect.gen(function* () {
      const other = yield* watched()({ userId: ({ userId }) => `${userId}/helper` })
      assert.deepStrictEqual(other.seen[1], ["sub", "ada/helper", undefined])
      assert.deepStrictEqual(other.recalled, ["go", "do it"])
      assert.deepStrictEqual(other.kept.slice(0, 2), ["ada/helper: do it", "ada/helper: done"])
      const nobody = yield* watched()({ userId: () => undefined })
      assert.deepStrictEqual(nobody.seen[1], ["sub", undefined, undefined])
      assert.deepStrictEqual(nobody.recalled, ["go"])
    })
  )

  it.effect("uses a session of its own if it is given one", () =>
    Effect.gen(function* () {
      const { seen } = yield* watched()({ sessionId: ({ agent, userId }) => `${agent}-${userId}` })
      assert.deepStrictEqual(seen[1], ["sub", "ada", "top-ada"])
    })
  )

  it.effect("asks governance about the caller's user", () =>
    Effect.gen(function* () {
      const asked: Array<string | undefined> = []
      const governance = Layer.effect(
        Governance.Governance,
        Effect.map(
          Governance.Governance,
          (noop): Governance.Service => ({
            ...noop,
            enabled: true,
            checkRequest: (request) => {
              asked.push(request.userId)
              return noop.checkRequest(request)
            }
          })
        )
      ).pipe(Layer.provide(Governance.layerNoop))
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(sub)] })
      yield* AgentExecutor.run(top, { input: "go", userId: "ada" }).pipe(
        Effect.provide(layer({ top: asks("delegate_to_sub"), sub: () => "done" }, { governance }))
      )
      assert.deepStrictEqual(asked, ["ada", "ada"])
    })
  )
})

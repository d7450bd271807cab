import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalPolicy from "../../src/tool/approval/ApprovalPolicy.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import * as Tool from "../../src/tool/definition/Tool.js"

interface Setup {
  readonly amounts?: ReadonlyArray<number>
  readonly options?: PendingApprovals.Options
  readonly rules?: ReadonlyArray<ApprovalPolicy.ApprovalRule>
}

/** A chief who has a clerk pay: the clerk's tool is what somebody must allow. */
const office = ({ amounts = [500], options, rules }: Setup = {}) => {
  const paid: Array<number> = []
  const pay = Tool.make("pay", {
    description: "Pays",
    parameters: { amount: Schema.Int.pipe(Schema.lessThan(1000)) },
    requiresApproval: ({ amount }) => amount > 100,
    timeout: "1 second",
    handler: ({ amount }) => Effect.sync(() => `paid ${paid.push(amount) && amount}`)
  })
  const clerk = Agent.make("clerk", { system: "clerk", tools: [pay] })
  const chief = Agent.make("chief", { system: "chief", tools: [AgentTool.make(clerk)] })
  const told = (request: LlmClient.LlmRequest) =>
    request.messages.flatMap((message) => (message.role === "tool" ? message.content.map((part) => part.result) : []))
  const model = TestModel.layer((request) => {
    const [first] = request.messages
    const results = told(request)
    if (results.length > 0) return { text: `told: ${results.join(" | ")}` }
    return first?.role === "system" && first.content.startsWith("chief")
      ? { calls: [{ name: "delegate_to_clerk", params: { message: "pay the bill" } }] }
      : { calls: amounts.map((amount, n) => ({ id: `pay-${n}`, name: "pay", params: { amount } })) }
  })
  const pending = PendingApprovals.layerMemory(options)
  const approvals = rules === undefined ? pending : Layer.provide(ApprovalPolicy.layerOver(rules), pending)
  return {
    chief,
    paid,
    layer: Layer.merge(Layer.provide(Agents.layerWith({ approvals }), model), pending)
  }
}

const waiting = Effect.flatMap(PendingApprovals.PendingApprovals, (pending) => pending.list())

const of = <Tag extends AgentEvent["_tag"]>(events: ReadonlyArray<AgentEvent>, tag: Tag) =>
  events.filter((event): event is Extract<AgentEvent, { readonly _tag: Tag }> => event._tag === tag)

/** The message a run ends with. */
const answer = (events: ReadonlyArray<AgentEvent>) => of(events, "Message").at(-1)?.text ?? ""

const collected = (agent: ReturnType<typeof office>["chief"]) =>
  Effect.map(Stream.runCollect(AgentExecutor.stream(agent, "go")), (events) => Chunk.toReadonlyArray(events))

describe("approvals of a run", () => {
  it.effect("shows a request of an inner agent in the outer stream and accepts the answer there", () => {
    const { chief, layer, paid } = office()
    return Effect.gen(function* () {
      const pending = yield* PendingApprovals.PendingApprovals
      const events = yield* AgentExecutor.stream(chief, "go").pipe(
        // At once, in the reader of the stream itself.
        Stream.tap((event) =>
          event._tag === "ApprovalRequested" ? pending.decide(event.id, { _tag: "Approved" }) : Effect.void
        ),
        Stream.runCollect
      )
      assert.deepStrictEqual(paid, [500])
      assert.include(answer(Chunk.toReadonlyArray(events)), "paid 500")
    }).pipe(Effect.provide(layer))
  })

  it.effect("accepts an answer while the stream is read, with other arguments and days later", () => {
    const { chief, layer, paid } = office()
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(EventRecorder.record(AgentExecutor.stream(chief, "go")))
      yield* TestClock.adjust("3 days")
      const [record] = yield* waiting
      assert.deepInclude(record?.request as object, { agent: "clerk", tool: "pay", params: { amount: 500 } })
      yield* PendingApprovals.approve(record?.request.id ?? "", { params: { amount: 50 } })
      yield* TestClock.adjust(0)
      const { events } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.deepStrictEqual(paid, [50])
      const outer = of(events, "Started")[0]?.runId
      const [requested] = of(events, "ApprovalRequested")
      assert.deepInclude(requested as object, { agent: "clerk", parentRunId: outer, id: record?.request.id })
      assert.deepInclude(record?.request as object, { rootRunId: outer, runId: requested?.runId })
      assert.deepInclude(of(events, "ApprovalResolved")[0] as object, { approved: true, id: requested?.id })
      const result = of(events, "ToolResult").find((event) => event.name === "pay")
      assert.deepInclude(result as object, { isFailure: false, result: "paid 50", durationMs: 0 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("runs nothing when edited arguments do not match the schema, and tells the model", () => {
    const { chief, layer, paid } = office()
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust(0)
      const [record] = yield* waiting
      yield* PendingApprovals.approve(record?.request.id ?? "", { params: { amount: 5000 } })
      yield* TestClock.adjust(0)
      const events = yield* Fiber.join(fiber)
      assert.strictEqual(of(events, "ToolResult")[0]?.error?.tag, "ToolValidationError")
      assert.deepStrictEqual(paid, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("tells the model the reason of a denial", () => {
    const { chief, layer, paid } = office()
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust(0)
      const [record] = yield* waiting
      yield* PendingApprovals.deny(record?.request.id ?? "", { reason: "the budget is spent" })
      yield* TestClock.adjust(0)
      const events = yield* Fiber.join(fiber)
      assert.include(answer(events), '"pay" was not allowed: the budget is spent')
      assert.deepStrictEqual(paid, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("denies after the timeout, and the run continues", () => {
    const { chief, layer } = office({ options: { expiresAfter: "2 days" } })
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust("2 days")
      assert.include(answer(yield* Fiber.join(fiber)), "expired")
    }).pipe(Effect.provide(layer))
  })

  it.effect("decides waiting calls of one turn in any order", () => {
    const { chief, layer, paid } = office({ amounts: [300, 20, 400] })
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(paid, [20])
      const records = yield* waiting
      assert.deepStrictEqual(
        records.map(({ request }) => request.params),
        [{ amount: 300 }, { amount: 400 }]
      )
      yield* PendingApprovals.approve(records[1]?.request.id ?? "")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(paid, [20, 400])
      yield* PendingApprovals.deny(records[0]?.request.id ?? "", { reason: "no" })
      yield* TestClock.adjust(0)
      assert.include(answer(yield* Fiber.join(fiber)), "not allowed: no")
    }).pipe(Effect.provide(layer))
  })

  it.effect("withdraws inner requests when the outer run is interrupted", () => {
    const { chief, layer, paid } = office({ amounts: [300, 400] })
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust("1 day")
      const records = yield* waiting
      assert.strictEqual(records.length, 2)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* waiting, [])
      const late = yield* Effect.flip(PendingApprovals.approve(records[0]?.request.id ?? ""))
      assert.strictEqual(late.reason, "unknown")
      assert.deepStrictEqual(paid, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("applies a decision for a run to later runs of the agent inside it, and to no other run", () => {
    const { chief, layer, paid } = office()
    return Effect.gen(function* () {
      const first = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust(0)
      const [record] = yield* waiting
      yield* PendingApprovals.approve(record?.request.id ?? "", { remember: "run" })
      yield* TestClock.adjust(0)
      yield* Fiber.join(first)
      const second = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust(0)
      assert.isTrue(Option.isNone(yield* Fiber.poll(second)))
      const [again] = yield* waiting
      yield* SystemAccess.grant(PendingApprovals.approve(again?.request.id ?? "", { remember: "tool" }))
      yield* TestClock.adjust(0)
      yield* Fiber.join(second)
      yield* collected(chief)
      assert.deepStrictEqual(paid, [500, 500, 500])
    }).pipe(Effect.provide(layer))
  })

  it.effect("works for the user that the caller names, in inner runs as well", () => {
    const { chief, layer } = office()
    return Effect.gen(function* () {
      const requester = { userId: UserId.make("u1"), sessionId: SessionId.make("s1") }
      const fiber = yield* Effect.fork(AgentExecutor.run(chief, { input: "go", ...requester }))
      yield* TestClock.adjust(0)
      const { list } = yield* PendingApprovals.PendingApprovals
      const [record] = yield* list({ userId: "u1", sessionId: "s1" })
      assert.deepInclude(record?.request as object, { agent: "clerk", ...requester })
      assert.deepStrictEqual(yield* list(), [])
      yield* PendingApprovals.approve(record?.request.id ?? "", { userId: "u1", remember: "user" })
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(layer))
  })

  it.effect("applies rules first, and waits for what they leave open", () => {
    const { chief, layer, paid } = office({
      amounts: [150, 300, 900],
      rules: [
        { agents: ["clerk"], tools: ["pay"], arguments: [{ pointer: "/amount", max: 200 }], decision: "approve" },
        { tools: ["pay"], arguments: [{ pointer: "/amount", min: 800 }], decision: "deny", reason: "too much" }
      ]
    })
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(collected(chief))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(paid, [150])
      const records = yield* waiting
      assert.deepStrictEqual(
        records.map(({ request }) => request.params),
        [{ amount: 300 }]
      )
      yield* PendingApprovals.approve(records[0]?.request.id ?? "")
      yield* TestClock.adjust(0)
      assert.include(answer(yield* Fiber.join(fiber)), "too much")
      assert.deepStrictEqual(paid, [150, 300])
    }).pipe(Effect.provide(layer))
  })
})

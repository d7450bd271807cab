import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as NextTurn from "../../../src/internal/fiber/NextTurn.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as PageTool from "../../../src/tool/client/PageTool.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Elicitation from "../../../src/tool/Elicitation.js"

const waiting = Effect.flatMap(PendingApprovals.PendingApprovals, (pending) =>
  Effect.repeat(Effect.zipRight(NextTurn.nextTurn, pending.list()), { until: (all) => all.length > 0 })
)

/** The agent with the tool `locate`, and what the model reads of a call. */
const run = (tool: Tool.Any, params: unknown = {}) => {
  const approvals = PendingApprovals.layerMemory()
  const model = TestModel.layer(({ messages }) => {
    const results = messages.flatMap((message) => (message.role === "tool" ? message.content : []))
    return results.length === 0
      ? { calls: [{ name: "locate", params }] }
      : results.map(({ result }) => (typeof result === "string" ? result : JSON.stringify(result))).join(" | ")
  })
  return {
    message: Effect.map(
      AgentExecutor.run(Agent.make("clerk", { tools: [tool] }) as Agent.Agent<string, never, never>, "where?"),
      ({ message }) => message
    ),
    layer: Layer.merge(Layer.provide(Agents.layerWith({ approvals }), model), approvals)
  }
}

const answered = (tool: Tool.Any, result: string) => {
  const { layer, message } = run(tool)
  return Effect.gen(function* () {
    const fiber = yield* Effect.fork(message)
    const [asked] = yield* waiting
    yield* Elicitation.accept(asked?.request.id ?? "", { result })
    return yield* Fiber.join(fiber)
  }).pipe(Effect.provide(layer))
}

const described = { description: "Where the user is" }

it.effect("passes a result on as it is without a schema", () =>
  Effect.gen(function* () {
    const text = '{"city":  "Ghent"}'
    assert.strictEqual(yield* answered(PageTool.make("locate", described), text), text)
  })
)

it.effect("decodes a result by its schema: from JSON, or from the text where the schema takes one", () =>
  Effect.gen(function* () {
    const cases: ReadonlyArray<readonly [Schema.Schema<any, any>, string, string]> = [
      [Schema.Struct({ at: Schema.Number }), '{"at":7,"more":1}', '{"at":7}'],
      [Schema.String, "7", "7"],
      [Schema.String, '"quoted"', '"quoted"'],
      [Schema.Number, "7", "7"],
      [Schema.Literal("north", "south"), "north", "north"],
      [Schema.Union(Schema.String, Schema.Struct({ at: Schema.Number })), '{"at":7}', '{"at":7}']
    ]
    for (const [success, result, read] of cases) {
      assert.strictEqual(yield* answered(PageTool.make("locate", { ...described, success }), result), read)
    }
    const deep = `${"[".repeat(40_000)}${"]".repeat(40_000)}`
    const schemas: ReadonlyArray<Schema.Schema<any, any>> = [
      Schema.Struct({ at: Schema.Number }),
      Schema.Array(Schema.Unknown)
    ]
    for (const success of schemas) {
      const refused = yield* answered(PageTool.make("locate", { ...described, success }), deep)
      assert.include(refused, "The result does not fit")
    }
    const unfit = yield* answered(PageTool.make("locate", { ...described, success: Schema.Number }), "north")
    assert.include(unfit, "The result does not fit: Expected number")
  })
)

it.effect("asks with the arguments as their schema encodes them, after they were checked", () =>
  Effect.gen(function* () {
    const tool = PageTool.make("locate", { ...described, parameters: { on: Schema.Date } })
    const day = "2026-11-28T00:00:00.000Z"
    const { layer, message } = run(tool, { on: day })
    yield* Effect.gen(function* () {
      const fiber = yield* Effect.fork(message)
      const [asked] = yield* waiting
      assert.deepStrictEqual(asked?.request.params, { on: day })
      yield* Elicitation.accept(asked?.request.id ?? "", { result: "here" })
      assert.strictEqual(yield* Fiber.join(fiber), "here")
    }).pipe(Effect.provide(layer))
    const wrong = run(tool, { on: 7 })
    assert.include(yield* Effect.provide(wrong.message, wrong.layer), "on")
  })
)

it.effect("asks a person first where the tool requires approval", () =>
  Effect.gen(function* () {
    const { layer, message } = run(PageTool.make("locate", { ...described, requiresApproval: true }))
    yield* Effect.gen(function* () {
      const fiber = yield* Effect.fork(message)
      const [approval] = yield* waiting
      assert.isUndefined(approval?.request.question)
      yield* PendingApprovals.approve(approval?.request.id ?? "")
      const [asked] = yield* waiting
      assert.isTrue(asked?.request.question?.declared)
      yield* Elicitation.accept(asked?.request.id ?? "", { result: "here" })
      assert.strictEqual(yield* Fiber.join(fiber), "here")
    }).pipe(Effect.provide(layer))
  })
)

it.effect("has typed failures, which may end the run", () =>
  Effect.gen(function* () {
    const tool = PageTool.make("locate", { ...described, success: Schema.Number, expiresAfter: "1 minute" }).pipe(
      Tool.failOn("PageToolError")
    )
    const agent = Agent.make("clerk", { tools: [tool] })
    const reasons: Array<unknown> = []
    for (const answer of [
      (id: string) => Effect.asVoid(Elicitation.cancel(id)),
      (id: string) => Effect.asVoid(Elicitation.decline(id, { reason: "no" })),
      (id: string) => Effect.asVoid(Elicitation.accept(id, { result: "no signal", isError: true })),
      (id: string) => Effect.asVoid(Elicitation.accept(id, { result: "north" })),
      () => TestClock.adjust("2 minutes")
    ]) {
      const approvals = PendingApprovals.layerMemory()
      const model = TestModel.layer([{ calls: [{ name: "locate" }] }])
      yield* Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.flip(AgentExecutor.run(agent, "where?")))
        const [asked] = yield* waiting
        yield* answer(asked?.request.id ?? "")
        const error = yield* Fiber.join(fiber)
        reasons.push(error._tag === "PageToolError" ? [error.reason, error.toolName] : error)
      }).pipe(Effect.provide(Layer.merge(Layer.provide(Agents.layerWith({ approvals }), model), approvals)))
    }
    assert.deepStrictEqual(
      reasons,
      ["unanswered", "declined", "failed", "result", "unanswered"].map((reason) => [reason, "locate"])
    )
  })
)

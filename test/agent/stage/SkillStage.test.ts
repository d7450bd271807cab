import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type { ToolDefinition } from "../../../src/llm/model/LlmClient.js"
import type { SkillResult } from "../../../src/skill/definition/SkillDefinition.js"
import { SkillPermissionDeniedError } from "../../../src/skill/definition/SkillError.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const sum: ToolDefinition = {
  name: "sum",
  description: "Adds two numbers",
  parameters: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"]
  }
}

const result = (output: unknown): SkillResult => ({
  skillName: "sum",
  success: true,
  output,
  durationMs: 1,
  cached: false,
  attempt: 1,
  metadata: {}
})

const script = [{ calls: [{ name: "sum", params: { a: 1, b: 2 } }] }, "done"]
const time = Tool.make("time", { description: "The time", handler: () => Effect.succeed("noon") })

describe("SkillStage", () => {
  it.effect("adds skills to the tools and executes them for the user and the session", () => {
    const skills = Collaborators.skills([sum], () => Effect.succeed(result(3)))
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [time] }), {
        input: "hi",
        userId: "ada",
        sessionId: "s"
      })
      assert.deepStrictEqual(
        (yield* TestModel.requests)[0]?.tools?.map((tool) => tool.name),
        ["time", "sum"]
      )
      assert.deepStrictEqual(response.toolCalls[0]?.result, 3)
      assert.deepEqual(skills.executed, [
        { name: "sum", params: { a: 1, b: 2 }, userId: "ada", sessionId: "s", id: "call_1", confirmed: false } as never
      ])
    }).pipe(Effect.provide(Runs.layer(script, { skills: skills.layer })))
  })

  it.effect("executes skills for nobody in a run without a user; refusals and inner failures are observations", () => {
    const refused = new SkillPermissionDeniedError({ skillName: "sum", required: ["math"], message: "It needs math" })
    const failed: SkillResult = { ...result(undefined), success: false, error: "two of three parts failed" }
    const answers = [refused, Effect.succeed(failed)]
    const skills = Collaborators.skills([sum], () => answers.shift()!)
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a"), "hi")
      assert.deepStrictEqual(skills.executed[0], {
        name: "sum",
        params: { a: 1, b: 2 },
        id: "call_1",
        confirmed: false
      })
      assert.deepStrictEqual(
        response.toolCalls.map((call) => call.isFailure),
        [true, true]
      )
      assert.include(response.toolCalls[0]?.observation, "It needs math")
      assert.include(response.toolCalls[1]?.observation, "two of three parts failed")
    }).pipe(Effect.provide(Runs.layer([script[0]!, script[0]!, "done"], { skills: skills.layer })))
  })

  it.effect("skips a skill with a tool's name and one that does not compile, and reports both", () => {
    const mine = Tool.make("sum", { description: "My own", handler: () => Effect.succeed("mine") })
    const broken: ToolDefinition = {
      name: "broken",
      description: "b",
      parameters: { type: "object", $ref: "http://x/y" }
    }
    const skills = Collaborators.skills([sum, broken], () => Effect.succeed(result(3)))
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [mine] }), "hi")
      assert.deepStrictEqual(
        (yield* TestModel.requests)[0]?.tools?.map((tool) => [tool.name, tool.description]),
        [["sum", "My own"]]
      )
      assert.strictEqual(response.toolCalls[0]?.result, "mine")
      assert.deepStrictEqual(skills.executed, [])
      assert.deepStrictEqual(
        response.degraded.map(({ error, stage }) => [stage, error.tag]),
        [
          ["skills", "SkillShadowed"],
          ["skills", "SkillValidationError"]
        ]
      )
    }).pipe(Effect.provide(Runs.layer(script, { skills: skills.layer })))
  })

  it.effect("rejects parameters that do not match the skill's schema", () => {
    const skills = Collaborators.skills([sum], () => Effect.succeed(result(3)))
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a"), "hi")
      assert.strictEqual(response.toolCalls[0]?.error?.tag, "ToolValidationError")
      assert.deepStrictEqual(skills.executed, [])
    }).pipe(
      Effect.provide(Runs.layer([{ calls: [{ name: "sum", params: { a: 1 } }] }, "done"], { skills: skills.layer }))
    )
  })

  it.effect("executes a skill that needs confirmation only when allowed", () => {
    const asked = (approvals: typeof ApprovalGate.layerDeny) => {
      const skills = Collaborators.skills([{ ...sum, requiresConfirmation: true }], () => Effect.succeed(result(3)))
      return AgentExecutor.run(Agent.make("a"), "hi").pipe(
        Effect.map((response) => [skills.executed.length, response.toolCalls[0]?.error?.tag]),
        Effect.provide(Runs.layer(script, { skills: skills.layer, approvals }))
      )
    }
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* asked(ApprovalGate.layerDeny), [0, "ToolApprovalDeniedError"])
      assert.deepStrictEqual(yield* asked(ApprovalGate.layerAutoApprove), [1, undefined])
    })
  })

  it.effect("applies the executor's timeout and attempts", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let attempts = 0
      const slow = Collaborators.skills([sum], () =>
        Deferred.succeed(started, undefined).pipe(
          Effect.zipRight(Effect.sleep("10 minutes")),
          Effect.zipRight(Effect.sync(() => attempts++)),
          Effect.zipRight(Effect.fail(refusedConnection()))
        )
      )
      const fiber = yield* Effect.fork(
        AgentExecutor.run(Agent.make("a"), "hi").pipe(Effect.provide(Runs.layer(script, { skills: slow.layer })))
      )
      yield* Deferred.await(started)
      yield* TestClock.adjust("1 hour")
      const response = yield* Fiber.join(fiber)
      assert.strictEqual(attempts, 1)
      assert.strictEqual(response.toolCalls[0]?.error?.tag, "ToolExecutionError")
    })
  )
})

const refusedConnection = () =>
  new SkillPermissionDeniedError({
    skillName: "sum",
    required: [],
    message: "refused",
    cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" })
  })

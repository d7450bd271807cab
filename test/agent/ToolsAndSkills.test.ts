import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import * as DefaultSkillExecutor from "../../src/skill/execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "../../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../../src/skill/execute/PermissionChecker.js"
import * as SkillExecutor from "../../src/skill/execute/SkillExecutor.js"
import * as SkillResultCache from "../../src/skill/execute/SkillResultCache.js"
import * as SkillTool from "../../src/skill/execute/SkillTool.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"
import * as Runs from "../support/Runs.js"

const sum = Skill.make("sum", {
  description: "Adds",
  returns: Schema.Number,
  handler: () => Effect.succeed(3)
})
const byName = Effect.flatMap(SkillExecutor.SkillExecutor, (executor) => executor.execute({ name: "sum", params: {} }))
const typed = Effect.flatMap(SkillExecutor.SkillExecutor, (executor) => executor.run(sum, {}))

const skills = DefaultSkillExecutor.layer().pipe(
  Layer.provideMerge(DefaultSkillRegistry.layer(sum)),
  Layer.provide([PermissionChecker.layerNoop, SkillResultCache.layerNoop, ApprovalGate.layerDeny])
)

const meddling = (name: string, skill: Effect.Effect<unknown, unknown, SkillExecutor.SkillExecutor>) =>
  Tool.make(name, {
    description: "Executes a skill",
    handler: () => Effect.map(Effect.either(skill), (result) => (Either.isRight(result) ? "done" : String(result.left)))
  })

const refusal = (tool: string) =>
  `SkillExecutionError: The tool "${tool}" executes the skill "sum": tools never invoke skills`

describe("tools never invoke skills", () => {
  it.effect("by name or by value: the skill fails with the reason", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [meddling("named", byName), meddling("valued", typed)] })
      const { toolCalls } = yield* AgentExecutor.run(agent, "hi")
      for (const [i, tool] of ["named", "valued"].entries()) {
        assert.include(toolCalls[i]?.result, refusal(tool))
      }
    }).pipe(
      Effect.provide([skills, Runs.layer([{ calls: [{ name: "named" }, { name: "valued" }] }, "done"], { skills })])
    )
  )

  it.effect("except through the skill as a tool or an agent as a tool", () =>
    Effect.gen(function* () {
      const inner = Agent.make("inner")
      const running = Tool.make("running", {
        description: "Runs an agent",
        handler: () =>
          Effect.map(Effect.orDie(AgentExecutor.run(inner, "hi")), ({ toolCalls }) => `${toolCalls[0]?.result}`)
      })
      const agent = Agent.make("a", { tools: [AgentTool.make(inner), SkillTool.toTool(sum), running] })
      const { toolCalls } = yield* AgentExecutor.run(agent, "hi")
      assert.deepStrictEqual(
        toolCalls.map(({ isFailure }) => isFailure),
        [false, false, false]
      )
      assert.deepStrictEqual(toolCalls.map(({ result }) => result).slice(1), [3, "3"])
    }).pipe(
      Effect.provide([
        skills,
        Runs.layer(
          [
            { calls: [{ name: AgentTool.make(Agent.make("inner")).name, params: { message: "add" } }] },
            { calls: [{ name: "sum" }] },
            "3",
            { calls: [{ name: "sum" }] },
            { calls: [{ name: "running" }] },
            { calls: [{ name: "sum" }] },
            "3",
            "done"
          ],
          { skills }
        )
      ])
    )
  )

  it.effect("even when a skill calls a tool", () => {
    const tool = meddling("meddling", byName)
    const calling = Skill.make("calling", {
      description: "Calls a tool",
      handler: () =>
        Effect.gen(function* () {
          const runner = yield* ToolRunner.ToolRunner
          const tools = yield* ToolSet.bind(ToolSet.make(tool))
          return (yield* Effect.orDie(runner.run(tools, { id: "1", name: "meddling", params: {} }))).observation
        })
    })
    return Effect.gen(function* () {
      const executor = yield* SkillExecutor.SkillExecutor
      const { output } = yield* executor.run(calling, {})
      assert.include(output, refusal("meddling"))
    }).pipe(
      Effect.provide([
        skills,
        DefaultToolRunner.layer().pipe(Layer.provide([ApprovalGate.layerDeny, ModuleGraph.layerNoop]))
      ])
    )
  })
})

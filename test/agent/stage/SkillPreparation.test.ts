/** Which of the executor's skills an agent is shown, and what its model can reach of the others: nothing. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type { LlmRequest } from "../../../src/llm/model/LlmClient.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as DefaultSkillExecutor from "../../../src/skill/execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../../../src/skill/execute/PermissionChecker.js"
import * as SkillResultCache from "../../../src/skill/execute/SkillResultCache.js"
import * as DefaultSkillCatalog from "../../../src/skill/folder/DefaultSkillCatalog.js"
import type { ScriptError } from "../../../src/skill/folder/ScriptRunner.js"
import * as ScriptRunner from "../../../src/skill/folder/ScriptRunner.js"
import * as SkillCatalog from "../../../src/skill/folder/SkillCatalog.js"
import * as SkillTrust from "../../../src/skill/folder/SkillTrust.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import { loaded } from "../../skill/LoadedSkills.js"
import * as Runs from "../../support/Runs.js"

const executed: Array<string> = []
const skill = (name: string) =>
  Skill.make(name, {
    description: `Does ${name}`,
    handler: () =>
      Effect.sync(() => {
        executed.push(name)
        return `${name} done`
      })
  })

const skills = DefaultSkillExecutor.layer().pipe(
  Layer.provideMerge(DefaultSkillRegistry.layer(skill("sum"), skill("wipe"))),
  Layer.provide([PermissionChecker.layerNoop, SkillResultCache.layerNoop, ApprovalGate.layerDeny])
)

const folder = (name: string, description: string) =>
  loaded(name, { file: { description, body: `The body of ${name}` } })

const withCatalog = (...folders: ReadonlyArray<ReturnType<typeof folder>>) =>
  DefaultSkillCatalog.layer(folders).pipe(
    Layer.provide(Layer.mergeAll(NodeContext.layer, ScriptRunner.layerNoop, SkillTrust.layerNoop))
  )

const catalog = withCatalog(folder("reports", "Writes reports"), folder("secrets", "Reads secrets"))

const layer = (script: Parameters<typeof Runs.layer>[0]) => Runs.layer(script, { skills, catalog })

const names = (request: LlmRequest | undefined) => request?.tools?.map(({ name }) => name)

describe("the skills of an agent", () => {
  it.effect("are all by default", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a"), "hi")
      yield* AgentExecutor.run(Agent.make("a", { skills: "all" }), "hi")
      for (const request of yield* TestModel.requests) {
        assert.deepStrictEqual(names(request), ["activate_skill", "read_skill_file", "sum", "wipe"])
        const told = JSON.stringify(request.messages)
        assert.include(told, "Writes reports")
        assert.include(told, "Reads secrets")
      }
    }).pipe(Effect.provide(layer(["done", "done"])))
  )

  it.effect("are chosen by name or predicate, or changed later, and the others are not listed", () =>
    Effect.gen(function* () {
      const chosen: ReadonlyArray<Agent.Skills> = [
        ["sum", "reports"],
        ({ description }) => description === "Does sum" || description.includes("reports")
      ]
      for (const one of chosen) {
        yield* AgentExecutor.run(Agent.make("a", { skills: one }), "hi")
        yield* AgentExecutor.run(Agent.make("a").pipe(Agent.withSkills(one)), "hi")
      }
      const requests = yield* TestModel.requests
      assert.strictEqual(requests.length, 4)
      for (const request of requests) {
        assert.deepStrictEqual(names(request), ["activate_skill", "read_skill_file", "sum"])
        const told = JSON.stringify(request.messages)
        assert.include(told, "Writes reports")
        assert.notInclude(told, "secrets")
      }
      yield* AgentExecutor.run(Agent.make("a", { skills: [] }), "hi")
      assert.isUndefined((yield* TestModel.requests)[4]?.tools?.[0])
      assert.strictEqual((yield* TestModel.requests)[4]?.messages.filter(({ role }) => role === "user").length, 1)
    }).pipe(Effect.provide(layer(["done", "done", "done", "done", "done"])))
  )

  it.effect("cannot be called, activated, read or run if not chosen", () =>
    Effect.gen(function* () {
      executed.length = 0
      const agent = Agent.make("a", { skills: ["sum", "reports"] })
      const { toolCalls } = yield* AgentExecutor.run(agent, "hi")
      assert.deepStrictEqual(
        toolCalls.map(({ isFailure, name }) => [name, isFailure]),
        [
          ["wipe", true],
          ["activate_skill", true],
          ["read_skill_file", true],
          ["activate_skill", false],
          ["sum", false]
        ]
      )
      assert.deepStrictEqual(executed, ["sum"])
      assert.notInclude(JSON.stringify(toolCalls), "body of secrets")
      // What is not chosen is not proposed either.
      assert.notInclude(toolCalls[1]?.observation, "Did you mean")
      assert.notInclude(toolCalls[2]?.observation, "Skills: reports, secrets")
    }).pipe(
      Effect.provide(
        layer([
          { calls: [{ name: "wipe", params: {} }] },
          { calls: [{ name: "activate_skill", params: { name: "secrets" } }] },
          { calls: [{ name: "read_skill_file", params: { name: "secrets", path: "SKILL.md" } }] },
          { calls: [{ name: "activate_skill", params: { name: "reports" } }] },
          { calls: [{ name: "sum", params: {} }] },
          "done"
        ])
      )
    )
  )

  it.effect("are what a search finds, and the listing has room for them alone", () => {
    const long = "x".repeat(400)
    const many = Array.from({ length: 40 }, (_, n) =>
      folder(`guide-${n}`, `Report ${n % 2 === 0 ? "even" : "odd"} ${long}`)
    )
    return Effect.gen(function* () {
      const agent = Agent.make("a", { skills: ({ description }) => description.includes("even") })
      const { toolCalls } = yield* AgentExecutor.run(agent, "hi")
      const found = JSON.stringify(toolCalls[0]?.result)
      assert.include(found, "even")
      assert.notInclude(found, "odd")
      assert.notInclude(JSON.stringify(yield* TestModel.requests), "Report odd")
    }).pipe(
      Effect.provide(
        Runs.layer([{ calls: [{ name: "find_skills", params: { query: "report odd" } }] }, "done"], {
          catalog: withCatalog(...many)
        })
      )
    )
  })

  it.effect("are separate for agents above or below", () =>
    Effect.gen(function* () {
      const inner = Agent.make("inner", { skills: ["reports"] })
      yield* AgentExecutor.run(Agent.make("outer", { skills: ["sum"], tools: [AgentTool.make(inner)] }), "hi")
      const [outer, below] = yield* TestModel.requests
      assert.deepStrictEqual(names(outer), ["delegate_to_inner", "sum"])
      assert.deepStrictEqual(names(below), ["activate_skill", "read_skill_file"])
    }).pipe(
      Effect.provide(layer([{ calls: [{ name: "delegate_to_inner", params: { message: "go" } }] }, "in", "done"]))
    )
  )

  it.effect("report a name without a skill", () =>
    Effect.gen(function* () {
      const { degraded, message } = yield* AgentExecutor.run(Agent.make("a", { skills: ["sum", "smu"] }), "hi")
      assert.strictEqual(message, "done")
      assert.deepStrictEqual(
        degraded.map(({ error, stage }) => [stage, error.tag]),
        [["skills", "SkillNotFoundError"]]
      )
      assert.include(degraded[0]?.error.message, "smu")
    }).pipe(Effect.provide(layer(["done"])))
  )
})

describe("SkillCatalog.filtered", () => {
  it.effect("is a catalog of the chosen skills, with one listing until something changes", () =>
    Effect.gen(function* () {
      const all = yield* SkillCatalog.SkillCatalog
      const some = SkillCatalog.filtered(all, ({ name }) => name === "reports")
      assert.deepStrictEqual((yield* some.listing()).names, ["reports"])
      assert.strictEqual(yield* some.listing(), yield* some.listing())
      assert.deepStrictEqual((yield* all.listing()).names, ["reports", "secrets"])
      assert.deepStrictEqual(
        (yield* some.skills).map(({ file }) => file.name),
        ["reports"]
      )
      const none = SkillCatalog.filtered(some, ({ name }) => name === "secrets")
      assert.deepStrictEqual((yield* none.listing()).names, [])
      const uses: ReadonlyArray<Effect.Effect<void, SkillCatalog.UseError | ScriptError>> = [
        Effect.asVoid(some.skill("secrets")),
        Effect.asVoid(some.activate("secrets")),
        Effect.asVoid(some.readFile("secrets", "SKILL.md")),
        Effect.asVoid(some.script("secrets", "scripts/main.py"))
      ]
      for (const use of uses) assert.strictEqual((yield* Effect.flip(use))._tag, "SkillNotFoundError")
      assert.strictEqual((yield* some.skill("reports")).file.name, "reports")
    }).pipe(Effect.provide(catalog))
  )
})

import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import * as DefaultSkillRegistry from "../../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../../src/skill/execute/PermissionChecker.js"
import * as Skills from "../../src/skill/Skills.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRegistry from "../../src/tool/DefaultToolRegistry.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as ToolSource from "../../src/tool/ToolSource.js"
import * as StudioApis from "../support/StudioApis.js"

const { dev, nobody, other } = StudioApis

const KEY = "sk-1234567890abcdef1234567890"

class Missing extends Context.Tag("test/Missing")<Missing, string>() {}

class OutOfOrder extends Schema.TaggedError<OutOfOrder>()("OutOfOrder", { message: Schema.String }) {}

const calls: Array<unknown> = []

const add = Tool.make("add", {
  description: "Adds two numbers",
  parameters: { a: Schema.Number, b: Schema.Number },
  readOnly: true,
  handler: ({ a, b }) => Effect.succeed({ sum: a + b })
})

const pay = Tool.make("pay", {
  description: "Pays an amount",
  parameters: { amount: Schema.Number, note: Schema.optional(Schema.String) },
  requiresApproval: ({ amount }) => amount > 10,
  handler: (params) => Effect.sync(() => calls.push(params)).pipe(Effect.as(`paid ${params.amount}`))
})

const secret = Tool.make("login", {
  description: "Logs in",
  parameters: { name: Schema.String, pin: Schema.String },
  secretParams: ["pin"],
  handler: ({ pin }) => Effect.succeed({ token: KEY, length: pin.length })
})

const broken = Tool.make("broken", {
  description: "Fails",
  failure: OutOfOrder,
  handler: () => Effect.fail(new OutOfOrder({ message: `no paper, ${KEY}` }))
})

const fatal = Tool.make("fatal", {
  description: "Ends its run",
  fatal: true,
  failure: OutOfOrder,
  handler: () => Effect.fail(new OutOfOrder({ message: "on fire" }))
})

const crashing = Tool.make("crashing", {
  description: "Throws",
  handler: () => Effect.die(new Error(`boom ${KEY}`))
})

const needing = Tool.make("needing", { description: "Needs a service", handler: () => Missing })

const slow = Tool.make("slow", {
  description: "Takes long",
  timeout: "50 millis",
  handler: () => Effect.never
})

const hostile = Tool.make("</script><img src=x onerror=alert(1)>", {
  description: "\u202eevil\u202c </pre>",
  handler: () => Effect.succeed("\u001b[31mred")
})

const worker = Agent.make("worker", {
  tools: ToolSet.make(add, pay, secret, broken, fatal, crashing, needing, slow, hostile)
})
const clerk = Agent.make("clerk", { tools: ToolSet.make(add) })

const registered = DefaultToolRegistry.layerTools(
  Tool.make("clock", { description: "The time", owner: "office", handler: () => Effect.succeed("noon") })
).pipe(Layer.provide(DefaultToolRunner.layer()), Layer.provide([ApprovalGate.layerDeny, ModuleGraph.layerNoop]))

const greet = Skill.make("greet", {
  description: "Greets a person",
  parameters: { name: Schema.String },
  permissions: ["people:read"],
  requiresConfirmation: true,
  handler: ({ name }) => Effect.succeed(`hello ${name}`)
})

const plugins = ToolSource.merge(
  ToolSource.make({
    name: "plugins",
    tools: Effect.succeed([
      Tool.make("ring", { description: "Rings", handler: () => Effect.succeed("rung") }),
      Tool.make("add", { description: "Is hidden by the tool of the agent", handler: () => Effect.succeed("wrong") })
    ])
  }),
  ToolSource.make({
    name: "away",
    tools: Effect.fail(new OutOfOrder({ message: `no line, ${KEY}` })) as Effect.Effect<never, OutOfOrder>
  })
)
const plugged = Agent.make("plugged", { tools: ToolSet.make(add) }).pipe(Agent.withToolSource(plugins))

const start = StudioApis.start({ agents: [worker, clerk] as never })

const trial = (
  ask: Effect.Effect.Success<typeof start>["ask"],
  name: string,
  body: { readonly params: unknown; readonly agent?: string; readonly confirm?: boolean }
) => ask(`/studio/api/tools/${encodeURIComponent(name)}/try`, { user: dev, body })

describe("tools of the studio", () => {
  it.scopedLive("are those of tool sources, too, which say if they do not answer", () =>
    Effect.gen(function* () {
      const { ask } = yield* StudioApis.start({ agents: [plugged] as never })
      const { json, text } = yield* ask("/studio/api/tools", { user: dev })
      const tools = json.tools as ReadonlyArray<{ name: string; source: string; from?: string }>
      assert.deepStrictEqual(
        tools.map(({ from, name, source }) => [name, source, from]),
        [
          ["add", "agent", undefined],
          ["ring", "source", "plugins"],
          ["add", "source", "plugins"]
        ]
      )
      assert.deepStrictEqual(
        json.failed.map(({ agents, error, source }: any) => [source, agents, error.tag]),
        [["away", ["plugged"], "OutOfOrder"]]
      )
      assert.notInclude(text, KEY)
      const rung = yield* trial(ask, "ring", { params: {} })
      assert.deepStrictEqual([rung.json.succeeded, rung.json.result], [true, "rung"])
      assert.strictEqual((yield* trial(ask, "add", { params: { a: 1, b: 2 } })).json.result.sum, 3)
    })
  )

  it.scopedLive("are listed with their schema, approval, secrets and agents, to developers alone", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const { json, status, text } = yield* ask("/studio/api/tools", { user: dev })
      assert.strictEqual(status, 200, text)
      const named = (name: string) => json.tools.find((one: { name: string }) => one.name === name)
      assert.deepInclude(named("add"), {
        agents: ["worker", "clerk"],
        source: "agent",
        approval: "never",
        readOnly: true,
        idempotent: true,
        isClient: false
      })
      assert.deepStrictEqual(named("add").parameters.required, ["a", "b"])
      assert.strictEqual(named("pay").approval, "depends")
      assert.deepStrictEqual(named("login").secret, ["pin"])
      assert.strictEqual(named("slow").timeoutMs, 50)
      assert.isDefined(named("</script><img src=x onerror=alert(1)>"))
      for (const path of ["/studio/api/tools", "/studio/api/skills"]) {
        assert.strictEqual((yield* ask(path, { user: nobody })).status, 403, path)
        assert.strictEqual((yield* ask(path, { user: "" })).status, 401, path)
      }
    })
  )

  it.scopedLive("run by their name with the arguments as they are", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const { json, status, text } = yield* trial(ask, "add", { params: { a: 1, b: 2 } })
      assert.strictEqual(status, 200, text)
      assert.deepInclude(json, { tool: "add", agent: "worker", succeeded: true, attempts: 1, truncated: false })
      assert.deepStrictEqual(json.result, { sum: 3 })
      assert.strictEqual((yield* trial(ask, "add", { params: { a: 1, b: 2 }, agent: "clerk" })).json.agent, "clerk")
      const named = yield* trial(ask, "</script><img src=x onerror=alert(1)>", { params: {} })
      assert.strictEqual(named.json.observation, "\u001b[31mred", named.text)
    })
  )

  it.scopedLive("fail as a model would be told", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const invalid = yield* trial(ask, "add", { params: { a: "one" } })
      assert.strictEqual(invalid.status, 200, invalid.text)
      assert.isFalse(invalid.json.succeeded)
      assert.strictEqual(invalid.json.error.tag, "ToolValidationError")
      for (const params of [null, 7, "text", [], { a: { __proto__: 1 } }]) {
        assert.strictEqual((yield* trial(ask, "add", { params })).json.error.tag, "ToolValidationError")
      }
      const failed = yield* trial(ask, "broken", { params: {} })
      assert.include(failed.json.error.message, "no paper")
      assert.notInclude(failed.text, KEY)
      const ended = yield* trial(ask, "fatal", { params: {} })
      assert.deepInclude(ended.json, { succeeded: false, result: null })
      assert.deepInclude(ended.json.error, { tag: "OutOfOrder", message: "on fire" })
      const late = yield* trial(ask, "slow", { params: {} })
      assert.strictEqual(late.json.error.tag, "ToolTimeoutError")
    })
  )

  it.scopedLive("say that they crashed, or what they lack, without secrets", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const crashed = yield* trial(ask, "crashing", { params: {} })
      assert.strictEqual(crashed.status, 200, crashed.text)
      assert.strictEqual(crashed.json.error.tag, "Defect")
      assert.include(crashed.json.error.message, "boom")
      assert.notInclude(crashed.text, KEY)
      assert.include((yield* trial(ask, "needing", { params: {} })).json.error.message, "test/Missing")
    })
  )

  it.scopedLive("wait for a confirmation where a call needs approval", () =>
    Effect.gen(function* () {
      calls.length = 0
      const { ask } = yield* start
      const refused = yield* trial(ask, "pay", { params: { amount: 11 } })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.json.hint, "confirm")
      assert.lengthOf(calls, 0)
      assert.lengthOf((yield* ask("/v1/approvals", { user: dev })).json.approvals, 0)
      assert.strictEqual((yield* trial(ask, "pay", { params: { amount: 10 } })).json.result, "paid 10")
      assert.strictEqual((yield* trial(ask, "pay", { params: { amount: 11 }, confirm: true })).json.result, "paid 11")
      assert.lengthOf(calls, 2)
    })
  )

  it.scopedLive("show no secrets of what they return", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      const { json, text } = yield* trial(ask, "login", { params: { name: "ann", pin: "1234" } })
      assert.strictEqual(json.result.length, 4, text)
      assert.notInclude(text, KEY)
    })
  )

  it.scopedLive("are not found under other names, and are tried by developers alone", () =>
    Effect.gen(function* () {
      const { ask } = yield* start
      for (const name of ["none", "constructor", "__proto__", "x".repeat(300), "../add"]) {
        const { status } = yield* trial(ask, name, { params: {} })
        assert.include([400, 404], status, name)
      }
      assert.strictEqual((yield* trial(ask, "pay", { params: {}, agent: "clerk" })).status, 404)
      const body = { params: { a: 1, b: 2 } }
      assert.strictEqual((yield* ask("/studio/api/tools/add/try", { user: nobody, body })).status, 403)
      assert.strictEqual((yield* ask("/studio/api/tools/add/try", { user: "", body })).status, 401)
      assert.strictEqual((yield* ask("/studio/api/tools/add/try", { user: dev, body: "{" })).status, 400)
    })
  )

  it.scopedLive("of the registry, and skills, are listed where the server has them", () =>
    Effect.gen(function* () {
      const { ask } = yield* StudioApis.start({
        agents: [clerk],
        others: Layer.orDie(Layer.merge(DefaultSkillRegistry.layer(greet), registered)) as never
      })
      const { json } = yield* ask("/studio/api/tools", { user: dev })
      assert.deepInclude(json.tools.at(-1), { name: "clock", source: "registry", agents: ["clerk"], owner: "office" })
      assert.strictEqual((yield* trial(ask, "clock", { params: {} })).json.result, "noon")
      const listed = yield* ask("/studio/api/skills", { user: dev })
      assert.lengthOf(listed.json.skills, 1, listed.text)
      assert.deepInclude(listed.json.skills[0], {
        kind: "code",
        name: "greet",
        permissions: ["people:read"],
        requiresConfirmation: true
      })
    })
  )

  it.scopedLive("pass the guards and limits of their agent, and leave nothing in memory", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const noKnives = Guard.make({
        name: "no-knives",
        stages: ["input", "toolInput", "toolOutput", "output"],
        check: (content, { stage }) =>
          Effect.sync(() => {
            seen.push(stage)
            return content.includes("knife") ? Guard.block("no-knives") : Guard.pass("no-knives")
          })
      })
      const buy = Tool.make("buy", {
        description: "Buys something",
        parameters: { item: Schema.String },
        handler: ({ item }) => Effect.succeed(item === "surprise" ? "a knife" : `one ${item}`)
      })
      const guarded = Agent.make("guarded", { tools: ToolSet.make(buy), guards: [noKnives] })
      const tired = Agent.make("tired", { tools: ToolSet.make(buy), limits: { maxToolCalls: 0 } })
      const { ask } = yield* StudioApis.start({
        agents: [guarded, tired],
        others: Layer.orDie(DefaultMemory.layer()) as never
      })
      const bought = (item: string, agent = "guarded") => trial(ask, "buy", { params: { item }, agent })
      assert.strictEqual((yield* bought("lamp")).json.result, "one lamp")
      assert.includeMembers(seen, ["input", "toolInput", "toolOutput"])
      const blocked = yield* bought("knife")
      assert.deepInclude(blocked.json, { succeeded: false, attempts: 0 }, blocked.text)
      assert.include(blocked.json.error.message, "no-knives")
      assert.notInclude((yield* bought("surprise")).text, "a knife")
      const limited = yield* bought("lamp", "tired")
      assert.strictEqual(limited.json.error.tag, "RunLimitExceededError", limited.text)
      assert.deepStrictEqual((yield* ask("/v1/memory", { user: dev })).json.entries, [])
    })
  )

  it.scopedLive("that are skills run with the permissions of the caller", () =>
    Effect.gen(function* () {
      const open = Skill.make("open", {
        description: "Says a word",
        parameters: { word: Schema.String },
        handler: ({ word }) => Effect.succeed(`said ${word}`)
      })
      const locked = Skill.make("locked", {
        description: "Opens a lock",
        permissions: ["locks.open"],
        handler: () => Effect.succeed("opened")
      })
      const others = Skills.layer({
        config: { enableSkillSources: false, enableBuiltin: false },
        skills: [open, locked, greet],
        permissions: PermissionChecker.layerStatic({ [other]: ["*"] })
      })
      const { ask } = yield* StudioApis.start({
        agents: [clerk],
        others: Layer.orDie(Layer.provide(others, NodeContext.layer)) as never
      })
      const run = (name: string, body: object, user: string = dev) =>
        ask(`/studio/api/skills/${encodeURIComponent(name)}/try`, { user, body })
      const said = yield* run("open", { params: { word: "hi" } })
      assert.deepInclude(said.json, { tool: "open", agent: "clerk", succeeded: true, result: "said hi" }, said.text)
      const denied = yield* run("locked", { params: {} })
      assert.isFalse(denied.json.succeeded)
      assert.include(denied.json.error.message, "missing permissions: locks.open")
      assert.strictEqual((yield* run("locked", { params: {} }, other)).json.result, "opened")
      assert.strictEqual((yield* run("greet", { params: { name: "Ann" } }, other)).status, 409)
      assert.strictEqual(
        (yield* run("greet", { params: { name: "Ann" }, confirm: true }, other)).json.result,
        "hello Ann"
      )
      assert.strictEqual((yield* run("open", { params: { word: 1 } })).json.error.tag, "ToolValidationError")
      for (const name of ["none", "constructor", "__proto__"]) {
        assert.strictEqual((yield* run(name, { params: {} })).status, 404, name)
      }
      assert.strictEqual((yield* run("open", { params: {}, agent: "none" })).status, 404)
      assert.strictEqual((yield* run("open", { params: {} }, nobody)).status, 403)
      const bare = yield* StudioApis.start({ agents: [clerk] })
      const missing = yield* bare.ask("/studio/api/skills/open/try", { user: dev, body: { params: {} } })
      assert.strictEqual(missing.status, 501)
      assert.include(missing.json.detail, "Skills.layer()")
    })
  )
})

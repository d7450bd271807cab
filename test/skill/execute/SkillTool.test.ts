import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { UserId } from "../../../src/domain/Ids.js"
import * as BoundSkill from "../../../src/skill/definition/BoundSkill.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as DefaultSkillExecutor from "../../../src/skill/execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "../../../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../../../src/skill/execute/PermissionChecker.js"
import * as SkillExecutor from "../../../src/skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../../../src/skill/execute/SkillRegistry.js"
import * as SkillResultMemory from "../../../src/skill/execute/SkillResultMemory.js"
import * as SkillTool from "../../../src/skill/execute/SkillTool.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../../src/tool/ModuleGraph.js"
import * as ToolRunner from "../../../src/tool/ToolRunner.js"

class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}
class Greeting extends Context.Tag("test/Greeting")<Greeting, string>() {}

const services = (
  gate: Layer.Layer<ApprovalGate.ApprovalGate>,
  modules: Layer.Layer<ModuleGraph.ModuleGraph, ModuleGraph.ModuleGraphError> = ModuleGraph.layerNoop
) =>
  DefaultSkillExecutor.layer().pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        DefaultSkillRegistry.layerEmpty,
        PermissionChecker.layerStatic({ ada: ["greet"] }),
        SkillResultMemory.layer(),
        gate
      )
    ),
    Layer.merge(DefaultToolRunner.layer().pipe(Layer.provide([gate, modules])))
  )

const asked: Array<ApprovalGate.ApprovalRequest> = []
const counting = ApprovalGate.layer((request) =>
  Effect.sync(() => {
    asked.push(request)
    return ApprovalGate.approve()
  })
)

const run = <E, R>(
  tools: ToolSet.ToolSet<E, R>,
  name: string,
  params: unknown
): Effect.Effect<ToolRunner.Outcome, never, R | ToolRunner.ToolRunner> =>
  Effect.gen(function* () {
    const bound = yield* ToolSet.bind(tools)
    return yield* Effect.orDie((yield* ToolRunner.ToolRunner).run(bound, { id: "call-7", name, params }))
  })

const greet = Skill.make("greet", {
  description: "Greets somebody",
  parameters: { name: Schema.NonEmptyString, at: Schema.optional(Schema.DateFromString) },
  returns: Schema.Struct({ text: Schema.String, at: Schema.optional(Schema.DateFromString) }),
  permissions: ["greet"],
  handler: ({ at, name }) =>
    name === "nobody"
      ? Effect.fail(new Refused({ message: "there is nobody" }))
      : Effect.map(Greeting, (greeting) => ({ text: `${greeting} ${name}`, at }))
})

const as = (user: string) => Effect.provideService(ApprovalGate.Requester, { userId: UserId.make(user) })

describe("a skill as a tool", () => {
  it.effect("executes for the user of the run, with its schemas, and failures are observations", () =>
    Effect.gen(function* () {
      const tools = ToolSet.make(SkillTool.toTool(greet))
      assert.deepStrictEqual(tools.definitions[0]?.parameters, greet.definition.parametersSchema)
      const at = "2026-01-02T03:04:05.000Z"
      const done = yield* as("ada")(run(tools, "greet", { name: "Bob", at }))
      assert.deepStrictEqual(done.result, { text: "Hi Bob", at })
      const failed = yield* as("ada")(run(tools, "greet", { name: "nobody" }))
      assert.deepStrictEqual([failed.isFailure, failed.attempts], [true, 1])
      assert.include(failed.observation, "there is nobody")
      const denied = yield* as("eve")(run(tools, "greet", { name: "Bob" }))
      assert.include(denied.observation, "greet")
      assert.isTrue(denied.isFailure)
      assert.isTrue((yield* run(tools, "greet", { name: "Bob" })).isFailure)
      const wrong = yield* as("ada")(run(tools, "greet", { name: "" }))
      assert.strictEqual(wrong.error?.tag, "ToolValidationError")
    }).pipe(Effect.provide(services(ApprovalGate.layerDeny)), Effect.provideService(Greeting, "Hi"))
  )

  it.effect("is confirmed once, by the tool runner, depending on its parameters", () =>
    Effect.gen(function* () {
      asked.length = 0
      const pay = Skill.make("pay", {
        description: "Pays",
        parameters: { amount: Schema.NumberFromString },
        requiresConfirmation: ({ amount }) => amount > 100,
        handler: ({ amount }) => Effect.succeed(amount)
      })
      const skill = yield* BoundSkill.make(pay)
      yield* (yield* SkillRegistry.SkillRegistry).register(skill)
      const executor = yield* SkillExecutor.SkillExecutor
      for (const tool of [SkillTool.toTool(pay), SkillTool.fromRegistry(skill, executor)]) {
        const tools = ToolSet.make(tool)
        assert.strictEqual((yield* run(tools, "pay", { amount: "50" })).isFailure, false)
        assert.strictEqual(asked.length, 0)
        assert.strictEqual((yield* run(tools, "pay", { amount: "500" })).result, 500)
        assert.deepStrictEqual(
          asked.splice(0).map(({ params, toolCallId }) => [toolCallId, params]),
          [["call-7", { amount: "500" }]]
        )
      }
    }).pipe(Effect.provide(services(counting)))
  )

  it.effect("resolves its name when it is called", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      const executor = yield* SkillExecutor.SkillExecutor
      const version = (number: number) =>
        Skill.make("v", { description: "Its version", handler: (_, { id }) => Effect.succeed({ number, id }) })
      yield* registry.register(version(1))
      const tools = ToolSet.make(SkillTool.fromRegistry(version(1), executor))
      assert.deepStrictEqual((yield* run(tools, "v", {})).result, { number: 1, id: "call-7" })
      yield* registry.replace(version(2))
      assert.deepStrictEqual((yield* run(tools, "v", {})).result, { number: 2, id: "call-7" })
      yield* registry.replace(Skill.annotate(version(3), { requiresConfirmation: true }))
      assert.isTrue((yield* run(tools, "v", {})).isFailure)
      yield* registry.unregister("v")
      assert.include((yield* run(tools, "v", {})).observation, '"v"')
    }).pipe(Effect.provide(services(ApprovalGate.layerDeny)))
  )

  it.effect("reports an unusable definition as a problem of the tool", () =>
    Effect.sync(() => {
      const broken = Skill.fromJsonSchema("broken", {
        description: "Broken",
        parameters: { type: "string" },
        handler: () => Effect.succeed(1)
      })
      assert.strictEqual(SkillTool.toTool(broken).problem?._tag, "ToolDefinitionError")
    })
  )
})

describe("a tool as a skill", () => {
  const weather = Tool.make("weather", {
    description: "The weather",
    parameters: { city: Schema.String },
    success: Schema.Struct({ at: Schema.DateFromString }),
    timeout: "3 seconds",
    retries: 1,
    idempotent: true,
    owner: "meteo",
    requiresApproval: ({ city }) => city === "secret",
    handler: ({ city }, { attempt, id }) =>
      city === "lost"
        ? Effect.fail(new Refused({ message: `attempt ${attempt} of ${id === "" ? "nothing" : "something"}` }))
        : city === "slow"
          ? Effect.never
          : Effect.succeed({ at: new Date(0) })
  })

  it.effect("keeps its schemas, timeout, retries and approval", () =>
    Effect.gen(function* () {
      const skill = SkillTool.fromTool(weather, { category: "web", permissions: ["greet"] })
      const { definition } = skill
      assert.deepStrictEqual(
        [definition.name, definition.category, definition.timeoutSeconds, definition.maxRetries, definition.idempotent],
        ["weather", "web", 3, 1, true]
      )
      assert.deepStrictEqual(definition.parametersSchema, weather.parameters)
      assert.strictEqual(definition.requiresConfirmation, true)
      const executor = yield* SkillExecutor.SkillExecutor
      const ada = { userId: UserId.make("ada") }
      yield* (yield* SkillRegistry.SkillRegistry).register(skill)
      const done = yield* executor.execute({ name: "weather", params: { city: "Oslo" }, ...ada })
      assert.deepStrictEqual(done.output, { at: "1970-01-01T00:00:00.000Z" })
      const denied = yield* Effect.flip(executor.execute({ name: "weather", params: { city: "secret" }, ...ada }))
      assert.strictEqual(denied._tag, "SkillConfirmationDeniedError")
      const stranger = yield* Effect.flip(executor.execute({ name: "weather", params: { city: "Oslo" } }))
      assert.strictEqual(stranger._tag, "SkillPermissionDeniedError")
      const invalid = yield* Effect.flip(executor.execute({ name: "weather", params: {}, ...ada }))
      assert.strictEqual(invalid._tag, "SkillValidationError")
      const lost = yield* Effect.flip(executor.run(skill, { city: "lost" }, ada))
      assert.deepStrictEqual([lost._tag, lost.message], ["Refused", "attempt 1 of something"])
      const slow = yield* Effect.fork(Effect.exit(executor.run(skill, { city: "slow" }, ada)))
      yield* TestClock.adjust("20 seconds")
      const exit = yield* Fiber.join(slow)
      assert.isTrue(Exit.isFailure(exit))
    }).pipe(Effect.provide(services(ApprovalGate.layerDeny)))
  )

  it("declares a confirmation only if a tool may ask for one", () => {
    const plain = Tool.make("plain", { description: "Plain", handler: () => Effect.succeed(1) })
    assert.strictEqual(SkillTool.fromTool(plain).definition.requiresConfirmation, false)
    assert.strictEqual(SkillTool.fromTool(Tool.withApproval(plain, true)).definition.requiresConfirmation, true)
    assert.strictEqual(SkillTool.fromTool(plain).definition.category, "tool")
    assert.strictEqual(
      SkillTool.fromTool(Tool.invalid(Tool.make("", { description: "", handler: () => Effect.void }).problem!)).problem
        ?._tag,
      "SkillValidationError"
    )
  })

  it.effect("returns to a tool of the same module, hidden from other modules as before", () =>
    Effect.gen(function* () {
      const executor = yield* SkillExecutor.SkillExecutor
      const tools = ToolSet.make(SkillTool.fromRegistry(SkillTool.fromTool(weather), executor))
      const bound = yield* ToolSet.bind(tools)
      const runner = yield* ToolRunner.ToolRunner
      const listed = (module: string) =>
        Effect.map(
          Effect.provideService(runner.visible(bound), ToolRunner.CallerModule, module),
          ({ tools }) => tools.length
        )
      assert.deepStrictEqual([yield* listed("meteo"), yield* listed("billing")], [1, 0])
    }).pipe(
      Effect.provide(services(ApprovalGate.layerDeny, ModuleGraph.layer({ modules: { meteo: {}, billing: {} } })))
    )
  )
})

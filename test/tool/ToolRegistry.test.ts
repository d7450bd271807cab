import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { expectTypeOf } from "vitest"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRegistry from "../../src/tool/DefaultToolRegistry.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as ToolRegistry from "../../src/tool/ToolRegistry.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"

class Word extends Context.Tag("test/Word")<Word, string>() {}

const named = (name: string) => Tool.make(name, { description: "d", handler: () => Effect.succeed(name) })
const speak = Tool.make("speak", {
  description: "d",
  parameters: { to: Schema.String },
  handler: ({ to }) => Effect.map(Word, (word) => `${word}, ${to}`)
})

const runner = (graph: Layer.Layer<ModuleGraph.ModuleGraph, ModuleGraph.ModuleGraphError> = ModuleGraph.layerNoop) =>
  DefaultToolRunner.layer().pipe(Layer.provide(ApprovalGate.layerDeny), Layer.provideMerge(graph))

const live = DefaultToolRegistry.layer.pipe(Layer.provideMerge(runner()))

const registry = ToolRegistry.ToolRegistry

const as = (module: string) => Effect.provideService(ToolRunner.CallerModule, module)

describe("a registry", () => {
  const check = <A, E>(
    name: string,
    effect: Effect.Effect<A, E, ToolRegistry.ToolRegistry | ToolRunner.ToolRunner | Scope.Scope>
  ) => it.scoped(name, () => Effect.provide(effect, live))

  check(
    "holds tools by name, in the order of their registration",
    Effect.gen(function* () {
      const tools = yield* registry
      yield* tools.register(named("b"))
      yield* tools.register(named("a tool"))
      yield* tools.register(named("__proto__"))
      assert.deepStrictEqual(yield* tools.names, ["b", "a tool", "__proto__"])
      assert.deepStrictEqual(
        (yield* tools.schemas).map((schema) => schema.name),
        ["b", "a_tool", "__proto__"]
      )
      assert.strictEqual((yield* tools.get("a tool"))?.name, "a tool")
      assert.strictEqual((yield* tools.get("a_tool"))?.name, "a tool")
      assert.isUndefined(yield* tools.get("constructor"))
      assert.isTrue(yield* tools.unregister("b"))
      assert.isFalse(yield* tools.unregister("b"))
      yield* tools.register(named("b"))
      assert.deepStrictEqual(yield* tools.names, ["a tool", "__proto__", "b"])
      yield* tools.clear
      assert.deepStrictEqual([yield* tools.list, yield* tools.schemas, (yield* tools.toolSet).tools], [[], [], []])
    })
  )

  check(
    "takes a name once, and no tool that cannot be used",
    Effect.gen(function* () {
      const tools = yield* registry
      yield* tools.register(named("a"))
      const taken = yield* Effect.flip(tools.register(named("a")))
      assert.deepStrictEqual([taken._tag, taken.code, taken.toolName], ["ToolDefinitionError", "LEX_ERR_AGT_102", "a"])
      const broken = Tool.make("broken", { description: " ", handler: () => Effect.void })
      assert.strictEqual(yield* Effect.flip(tools.register(broken)), broken.problem)
      assert.deepStrictEqual(yield* tools.names, ["a"])
    })
  )

  check(
    "loses a tool with the scope it was registered in, and never another of its name",
    Effect.gen(function* () {
      const tools = yield* registry
      const scope = yield* Scope.make()
      yield* Scope.extend(ToolRegistry.register(named("a")), scope)
      yield* Scope.extend(ToolRegistry.register(named("b")), scope)
      yield* tools.unregister("a")
      yield* tools.register(named("a"))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* tools.names, ["a"])
    })
  )

  check(
    "tells of its tools as they are, then of each change; of many at once, the last",
    Effect.gen(function* () {
      const tools = yield* registry
      yield* tools.register(named("a"))
      const started = yield* Deferred.make<void>()
      const seen: Array<ReadonlyArray<string>> = []
      const watching = yield* tools.changes.pipe(
        Stream.runForEach((list) =>
          Effect.zipRight(
            Effect.sync(() => seen.push(list.map((tool) => tool.name))),
            Deferred.succeed(started, undefined)
          )
        ),
        Effect.fork
      )
      yield* Deferred.await(started)
      yield* tools.register(named("b"))
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      yield* tools.register(named("c"))
      yield* tools.unregister("a")
      yield* Effect.repeatN(Effect.yieldNow(), 20)
      assert.deepStrictEqual(seen, [["a"], ["a", "b"], ["b", "c"]])
      yield* Fiber.interrupt(watching)
    })
  )

  it.scoped("ends its change streams when closed", () =>
    Effect.gen(function* () {
      const watching = yield* Effect.gen(function* () {
        const tools = yield* registry
        yield* tools.register(named("a"))
        const fiber = yield* Effect.forkDaemon(Stream.runCollect(tools.changes))
        yield* Effect.repeatN(Effect.yieldNow(), 20)
        return fiber
      }).pipe(Effect.provide(live))
      assert.strictEqual(Chunk.size(yield* Fiber.join(watching)), 1)
    })
  )
})

describe("requirements of handlers", () => {
  it.effect("come from the registration; a service present at the call wins", () =>
    Effect.gen(function* () {
      const tools = yield* registry
      yield* tools.register(speak).pipe(Effect.provideService(Word, "hello"))
      const call = Effect.map(tools.execute("speak", { to: "ann" }), (outcome) => outcome.result)
      assert.strictEqual(yield* call, "hello, ann")
      assert.strictEqual(yield* call.pipe(Effect.provideService(Word, "bye")), "bye, ann")
      const set = yield* tools.toolSet
      const bound = yield* ToolSet.bind(set)
      const outcome = yield* (yield* ToolRunner.ToolRunner).run(bound, {
        id: "1",
        name: "speak",
        params: { to: "bob" }
      })
      assert.strictEqual(outcome.result, "hello, bob")
    }).pipe(Effect.provide(live))
  )

  it.effect("appear in the type of a registry of tools", () => {
    const made = DefaultToolRegistry.layerTools(speak, named("a"))
    expectTypeOf<Layer.Layer.Context<typeof made>>().toEqualTypeOf<ToolRunner.ToolRunner | Word>()
    const more = ToolRegistry.tool(named("b"), { module: "m" })
    return Effect.gen(function* () {
      const tools = yield* registry
      assert.deepStrictEqual(yield* tools.names, ["speak", "a", "b"])
      assert.strictEqual((yield* tools.get("b"))?.annotations.owner, "m")
      assert.strictEqual((yield* tools.execute("speak", { to: "ann" })).result, "hey, ann")
    }).pipe(
      Effect.provide(
        more.pipe(Layer.provideMerge(made), Layer.provide(runner()), Layer.provide(Layer.succeed(Word, "hey")))
      )
    )
  })

  it.effect("fail the layer for two tools with one name", () =>
    Effect.gen(function* () {
      const made = DefaultToolRegistry.layerTools(named("a"), named("a"))
      const error = yield* Effect.flip(Effect.scoped(Layer.build(made)))
      assert.strictEqual(error._tag, "ToolDefinitionError")
    }).pipe(Effect.provide(runner()))
  )

  it("exclude tools with failures that end runs", () => {
    const fatal = Tool.make("f", { description: "d", fatal: true, handler: () => Effect.fail("the end" as const) })
    // @ts-expect-error
    DefaultToolRegistry.layerTools(fatal)
    // @ts-expect-error
    void ToolRegistry.register(fatal)
  })
})

describe("calls", () => {
  it.effect("go through the runner: arguments are checked, and failures are outcomes", () =>
    Effect.gen(function* () {
      const tools = yield* registry
      const ids: Array<string> = []
      yield* tools.register(speak)
      yield* tools.register(
        Tool.make("fails", {
          description: "d",
          handler: (_, { id }) =>
            Effect.zipRight(
              Effect.sync(() => ids.push(id)),
              Effect.fail({ _tag: "No", message: "no" })
            )
        })
      )
      assert.strictEqual((yield* tools.execute("speak", { to: "ann", x: [] })).result, "hi, ann")
      assert.strictEqual((yield* tools.execute("speak", {})).error?.tag, "ToolValidationError")
      assert.strictEqual((yield* tools.execute("fails", {})).error?.tag, "ToolExecutionError")
      assert.strictEqual((yield* tools.execute("fails", {}, { id: "mine" })).id, "mine")
      assert.lengthOf(ids[0]!, 36)
      assert.strictEqual(ids[1], "mine")
      assert.isTrue((yield* tools.execute("speak", { to: "x".repeat(100) }, { maxResultChars: 40 })).truncated)
    }).pipe(Effect.provide(live), Effect.provideService(Word, "hi"))
  )

  it.effect("fail for an unknown tool, and name the visible ones", () =>
    Effect.gen(function* () {
      const tools = yield* registry
      yield* tools.register(named("order_find"), { module: "orders" })
      yield* tools.register(named("refund"), { module: "billing" })
      const error = yield* Effect.flip(tools.execute("order_fnd".padEnd(200, "!").slice(0, 9), {})).pipe(as("orders"))
      assert.strictEqual(error._tag, "ToolNotFoundError")
      assert.deepStrictEqual(
        [(error as any).availableTools, error.hint],
        [["order_find"], 'Did you mean "order_find"?']
      )
      const huge = yield* Effect.flip(tools.execute("x".repeat(100_000), {}))
      assert.strictEqual(huge.toolName.length, 128)
    }).pipe(
      Effect.provide(
        DefaultToolRegistry.layer.pipe(
          Layer.provide(runner(ModuleGraph.layer({ modules: { orders: {}, billing: {} } })))
        )
      )
    )
  )
})

describe("visibility during a run", () => {
  const modules = { support: { imports: ["orders"] }, orders: {}, billing: {}, clock: { global: true } }
  const tools = Layer.mergeAll(
    ToolRegistry.tool(named("order_find"), { module: "orders" }),
    ToolRegistry.tool(named("refund").pipe(Tool.annotate({ owner: "billing" }))),
    ToolRegistry.tool(named("now"), { module: "clock" }),
    ToolRegistry.tool(named("echo")),
    ToolRegistry.tool(named("lost"), { module: "nowhere" })
  )
  const guarded = tools.pipe(
    Layer.provideMerge(DefaultToolRegistry.layer),
    Layer.provideMerge(runner(ModuleGraph.layer({ modules })))
  )
  const sorted = (names: ReadonlyArray<string>) => Array.from(names).sort()

  it.effect("applies to lists, schemas, agent tool sets and calls", () =>
    Effect.gen(function* () {
      const tools = yield* registry
      const runner = yield* ToolRunner.ToolRunner
      const all = ["echo", "lost", "now", "order_find", "refund"]
      const expected: ReadonlyArray<readonly [string | undefined, ReadonlyArray<string>]> = [
        [undefined, ["echo"]],
        ["support", ["echo", "now", "order_find"]],
        ["billing", ["echo", "now", "refund"]],
        ["nowhere", ["echo"]],
        ["__proto__", ["echo"]]
      ]
      const everything = yield* ToolSet.bind(ToolSet.make(...(yield* tools.list)) as ToolSet.ToolSet)
      for (const [caller, names] of expected) {
        yield* Effect.gen(function* () {
          assert.deepStrictEqual(sorted((yield* tools.listVisible).map((tool) => tool.name)), names)
          assert.deepStrictEqual(sorted((yield* tools.schemas).map((schema) => schema.name)), names)
          const set = yield* tools.toolSet
          assert.deepStrictEqual(sorted(set.tools.map((tool) => tool.name)), names)
          assert.deepStrictEqual(sorted(set.definitions.map((tool) => tool.name)), names)
          assert.deepStrictEqual(sorted(yield* tools.names), all)
          for (const name of all) {
            const called = yield* Effect.either(tools.execute(name, {}))
            // A set that holds more than the caller may see, as an agent's does.
            const outcome = yield* runner.run(everything, { id: "1", name, params: {} })
            assert.strictEqual(outcome.isFailure, !names.includes(name))
            if (names.includes(name)) {
              assert.strictEqual(called._tag === "Right" && called.right.result, name)
            } else {
              assert.strictEqual(outcome.error?.tag, "ToolAccessDeniedError")
              assert.strictEqual(called._tag === "Left" && called.left._tag, "ToolAccessDeniedError")
              assert.strictEqual(called._tag === "Left" && (called.left as any).agentModule, caller)
            }
          }
        }).pipe(Effect.provideService(ToolRunner.CallerModule, caller))
      }
    }).pipe(Effect.provide(guarded))
  )

  it.effect("is per fiber: concurrent runs of different modules do not see each other's tools", () =>
    Effect.gen(function* () {
      const tools = yield* registry
      const run = Effect.gen(function* () {
        const seen: Array<ReadonlyArray<string>> = []
        for (let i = 0; i < 20; i++) {
          yield* Effect.yieldNow()
          seen.push(sorted((yield* tools.listVisible).map((tool) => tool.name)))
          yield* Effect.yieldNow()
          yield* Effect.ignore(tools.execute("refund", {}))
        }
        return seen
      })
      const [support, billing, none] = yield* Effect.all([run.pipe(as("support")), run.pipe(as("billing")), run], {
        concurrency: "unbounded"
      })
      for (const seen of support) assert.deepStrictEqual(seen, ["echo", "now", "order_find"])
      for (const seen of billing) assert.deepStrictEqual(seen, ["echo", "now", "refund"])
      for (const seen of none) assert.deepStrictEqual(seen, ["echo"])
    }).pipe(Effect.provide(guarded))
  )

  it.effect("depends on the caller, never on the registrar", () =>
    Effect.gen(function* () {
      const tools = yield* registry
      const whoami = Tool.make("whoami", {
        description: "d",
        handler: () => Effect.map(ToolRunner.CallerModule, (module) => module ?? "nobody")
      })
      yield* tools.register(whoami).pipe(as("billing"))
      assert.strictEqual((yield* tools.execute("whoami", {})).result, "nobody")
      assert.strictEqual((yield* tools.execute("whoami", {}).pipe(as("support"))).result, "support")
    }).pipe(Effect.provide(guarded))
  )

  it.effect("is limited to tools without a module when the lookup fails", () =>
    Effect.gen(function* () {
      const tools = yield* registry
      yield* tools.register(named("free"))
      yield* tools.register(named("owned"), { module: "m" })
      assert.deepStrictEqual(
        (yield* tools.listVisible).map((tool) => tool.name),
        ["free"]
      )
      assert.strictEqual((yield* Effect.flip(tools.execute("owned", {})))._tag, "ToolAccessDeniedError")
    }).pipe(
      Effect.provide(
        DefaultToolRegistry.layer.pipe(
          Layer.provide(runner(Layer.succeed(ModuleGraph.ModuleGraph, { isVisible: () => Effect.fail("down") })))
        )
      )
    )
  )
})

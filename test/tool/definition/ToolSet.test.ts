import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import { call, Greeting, run } from "../RecordedRun.js"

const tool = (name: string, description = "d") => Tool.make(name, { description, handler: () => Effect.succeed(name) })

describe("ToolSet.make", () => {
  it("keeps the order of tools, with provider names", () => {
    const set = ToolSet.make(tool("fs.read"), tool("now"))
    assert.deepStrictEqual(
      set.definitions.map((definition) => definition.name),
      ["fs_read", "now"]
    )
    assert.strictEqual(set.get("fs.read"), set.get("fs_read"))
    assert.strictEqual(set.get("now")?.name, "now")
    for (const name of ["", "fs", "__proto__", "constructor"]) assert.isUndefined(set.get(name))
  })

  it("reports a duplicate name and keeps the first tool", () => {
    const first = tool("a", "first")
    const set = ToolSet.make(first, tool("a", "second"))
    assert.strictEqual(set.get("a"), first)
    assert.strictEqual(set.tools.length, 1)
    assert.deepStrictEqual(
      set.problems.map((problem) => problem.message),
      ['Two tools are named "a"']
    )
  })

  it("includes the problems of tools once each, also after merging", () => {
    const broken = tool("b", "")
    const left = ToolSet.make(tool("a"), tool("a"), broken)
    const merged = ToolSet.merge(left, ToolSet.make(tool("c"), tool("a")))
    assert.deepStrictEqual(
      merged.problems.map((problem) => problem.toolName),
      ["a", "b", "a"]
    )
    assert.deepStrictEqual(
      merged.tools.map((tool) => tool.name),
      ["a", "b", "c"]
    )
    assert.strictEqual(ToolSet.merge(left, ToolSet.empty), left)
    assert.strictEqual(ToolSet.merge(ToolSet.empty, left), left)
  })
})

describe("ToolSet.bind", () => {
  it.effect("provides handlers with the services present at binding", () =>
    Effect.gen(function* () {
      const greet = Tool.make("greet", {
        description: "d",
        handler: () => Effect.map(Greeting, (greeting) => greeting.word)
      })
      const bound = yield* Effect.provideService(ToolSet.bind(ToolSet.make(greet)), Greeting, { word: "captured" })
      const handler = greet.erased.handle({}, { id: "1", idempotencyKey: "key", attempt: 1 })
      assert.strictEqual(yield* bound.provide(handler), "captured")
      const current = Effect.provideService(bound.provide(handler), Greeting, { word: "current" })
      assert.strictEqual(yield* current, "current")
    })
  )

  it.effect("makes spans of handlers children of the current span, not of the one at binding", () =>
    Effect.gen(function* () {
      const parent = Effect.map(Effect.currentParentSpan, (span) => (span._tag === "Span" ? span.name : ""))
      const bound = yield* Effect.withSpan(ToolSet.bind(ToolSet.make(tool("a"))), "binding")
      assert.strictEqual(yield* Effect.withSpan(bound.provide(parent), "running"), "running")
    })
  )
})

describe("ToolSet.fromRecord", () => {
  const functions = ToolSet.fromRecord({
    add: {
      description: "Adds",
      parameters: { a: Schema.Number, b: Schema.NumberFromString },
      run: ({ a, b }) => a + b
    },
    later: {
      description: "Later",
      parameters: { type: "object", properties: { text: { type: "str" } }, required: ["text"] },
      run: async ({ text }) => ({ text })
    },
    now: { description: "Now", run: () => "now" },
    nothing: { description: "Nothing", parameters: {}, run: () => {} },
    throws: {
      description: "Throws",
      run: () => {
        throw new Error("no luck")
      }
    },
    rejects: { description: "Rejects", run: () => Promise.reject({ reason: "busy" }) },
    bad: { description: "Bad", parameters: { type: "object", properties: { a: { $ref: "#/nowhere" } } }, run: () => 1 },
    guarded: { description: "Guarded", run: () => "ran", requiresApproval: true, owner: "ops", retries: 0 }
  })

  it.effect("runs sync and async plain functions", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* run(functions, call("add", { a: 1, b: "2" }))).result, 3)
      assert.deepStrictEqual((yield* run(functions, call("later", { text: "x" }))).result, { text: "x" })
      assert.deepStrictEqual((yield* run(functions, call("now"))).result, "now")
      assert.deepStrictEqual((yield* run(functions, call("nothing"))).result, "ok")
      assert.isTrue((yield* run(functions, call("later", {}))).isFailure)
    })
  )

  it.effect("makes a throw or rejection a failure for the model", () =>
    Effect.gen(function* () {
      const thrown = yield* run(functions, call("throws"))
      assert.strictEqual(thrown.observation, 'Error: "throws" failed: no luck')
      const rejected = yield* run(functions, call("rejects"))
      assert.include(rejected.observation, '{"reason":"busy"}')
    })
  )

  it.effect("applies tool annotations", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(functions.get("guarded")?.annotations.owner, "ops")
      assert.strictEqual((yield* run(functions, call("guarded"))).error?.tag, "ToolApprovalDeniedError")
    })
  )

  it("reports an unusable schema as a problem of the set", () => {
    assert.deepStrictEqual(
      functions.problems.map((problem) => problem.toolName),
      ["bad"]
    )
  })

  it.effect("aborts the signal on timeout", () =>
    Effect.gen(function* () {
      const aborted = yield* Deferred.make<boolean>()
      const slow = ToolSet.fromRecord({
        slow: {
          description: "Slow",
          timeout: "1 second",
          run: (_params, signal) =>
            new Promise(() =>
              signal.addEventListener("abort", () => Deferred.unsafeDone(aborted, Effect.succeed(true)))
            )
        }
      })
      const fiber = yield* Effect.fork(run(slow, call("slow")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* fiber).error?.tag, "ToolTimeoutError")
      assert.isTrue(yield* Deferred.await(aborted))
      assert.isTrue(Option.isSome(yield* Fiber.poll(fiber)))
    })
  )
})

describe("ToolSet wrappers", () => {
  const names = (set: ToolSet.ToolSet<any, any>) => set.tools.map((tool) => tool.name)

  it.effect("prefixes every name, also for the model, and runs the tools by it", () =>
    Effect.gen(function* () {
      const set = ToolSet.make(tool("fs.read"), tool("now")).pipe(ToolSet.prefixed("disk"))
      assert.deepStrictEqual(names(set), ["disk_fs.read", "disk_now"])
      assert.deepStrictEqual(
        set.definitions.map((definition) => definition.name),
        ["disk_fs_read", "disk_now"]
      )
      const outcome = yield* run(set, call("disk_now"))
      assert.deepStrictEqual([outcome.name, outcome.result], ["disk_now", "now"])
      assert.isTrue((yield* run(set, call("now"))).isFailure)
    })
  )

  it.effect("renames some tools, and reports unknown and taken names", () =>
    Effect.gen(function* () {
      const set = ToolSet.make(tool("a"), tool("b"))
      const renamed = ToolSet.renamed(set, { a: "first" })
      assert.deepStrictEqual(names(renamed), ["first", "b"])
      assert.strictEqual((yield* run(renamed, call("first"))).result, "a")
      const problems = ToolSet.renamed(set, { a: "b", c: "d" }).problems
      assert.deepStrictEqual(
        problems.map((problem) => [problem._tag, problem.message]),
        [
          ["ToolDefinitionError", 'There is no tool named "c" to rename'],
          ["ToolDefinitionError", 'Two tools are named "b"']
        ]
      )
    })
  )

  it.effect("hides filtered tools from the model and rejects calls of them", () =>
    Effect.gen(function* () {
      const set = ToolSet.make(tool("a"), tool("b"), tool("broken", "")).pipe(
        ToolSet.filtered(({ name }) => name === "a")
      )
      assert.deepStrictEqual(names(set), ["a"])
      assert.deepStrictEqual(set.problems, [])
      const outcome = yield* run(set, call("b"))
      assert.strictEqual(outcome.error?.tag, "ToolNotFoundError")
    })
  )

  it("combines sets in order, and reports duplicate names", () => {
    const set = ToolSet.combined(ToolSet.make(tool("a")), ToolSet.make(tool("b")), ToolSet.make(tool("a")))
    assert.deepStrictEqual(names(set), ["a", "b"])
    assert.deepStrictEqual(
      set.problems.map((problem) => problem.toolName),
      ["a"]
    )
    assert.deepStrictEqual(ToolSet.combined().tools, [])
  })

  it.effect("requires approval for all calls, or for those a predicate accepts", () =>
    Effect.gen(function* () {
      const parameters = { amount: Schema.Number }
      const pay = Tool.make("pay", { description: "d", parameters, handler: () => Effect.succeed("paid") })
      const tag = (set: ToolSet.ToolSet, amount: number) =>
        Effect.map(run(set, call("pay", { amount })), (outcome) => outcome.error?.tag)
      const all = ToolSet.make(pay).pipe(ToolSet.approvalRequired())
      assert.strictEqual(yield* tag(all, 1), "ToolApprovalDeniedError")
      const large = ToolSet.approvalRequired(ToolSet.make(pay), ({ name }, params) => {
        assert.strictEqual(name, "pay")
        return (params as { readonly amount: number }).amount > 100
      })
      assert.isUndefined(yield* tag(large, 100))
      assert.strictEqual(yield* tag(large, 101), "ToolApprovalDeniedError")
    })
  )

  it.effect("keeps a tool's own approval, and requires it when the predicate throws", () =>
    Effect.gen(function* () {
      const guarded = ToolSet.make(tool("a").pipe(Tool.withApproval(true)))
      const kept = ToolSet.approvalRequired(guarded, () => false)
      assert.strictEqual((yield* run(kept, call("a"))).error?.tag, "ToolApprovalDeniedError")
      const thrown = ToolSet.approvalRequired(ToolSet.make(tool("a")), () => {
        throw new Error("broken")
      })
      assert.strictEqual((yield* run(thrown, call("a"))).error?.tag, "ToolApprovalDeniedError")
    })
  )
})

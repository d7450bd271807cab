import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as GuardPipeline from "../../../src/guard/pipeline/GuardPipeline.js"

class Offline extends Data.TaggedError("Offline")<{ readonly host: string }> {}
class Words extends Context.Tag("test/Words")<Words, ReadonlyArray<string>>() {}
class Mask extends Context.Tag("test/Mask")<Mask, string>() {}

const mask = (name: string, from: string, to: string, seen: Array<string> = []) =>
  Guard.make({
    name,
    stages: ["input", "output"],
    check: (content) =>
      Effect.sync(() => {
        seen.push(content)
        return content.includes(from) ? Guard.redact(name, content.replaceAll(from, to)) : Guard.pass(name)
      })
  })

const forbid = (word: string) =>
  Guard.make({
    name: `no ${word}`,
    stages: ["input"],
    check: (content) =>
      Effect.succeed(content.includes(word) ? Guard.block(`no ${word}`, { reason: "forbidden" }) : Guard.pass("no"))
  })

const offline = Guard.make({
  name: "remote",
  stages: ["input", "toolOutput"],
  check: () => new Offline({ host: "guards" })
})

const listed = Guard.make({
  name: "listed",
  stages: ["input"],
  check: (content) =>
    Effect.map(Words, (words) =>
      words.some((word) => content.includes(word)) ? Guard.block("listed") : Guard.pass("listed")
    )
})

const masked = Guard.make({
  name: "masked",
  stages: ["output"],
  check: (content) => Effect.map(Mask, (to) => Guard.redact("masked", content.replaceAll("secret", to)))
})

describe("GuardPipeline.layerNoop", () => {
  it.effect("passes everything unchanged at every stage", () =>
    Effect.gen(function* () {
      const pipeline = yield* GuardPipeline.GuardPipeline
      const results = [
        yield* pipeline.checkInput("text", {}),
        yield* pipeline.checkOutput("text", {}),
        yield* pipeline.checkToolInput("text", { toolName: "t" }),
        yield* pipeline.checkToolOutput("text", { toolName: "t" })
      ]
      for (const result of results) assert.deepStrictEqual(result, Guard.aggregate([], "text"))
    }).pipe(Effect.provide(GuardPipeline.layerNoop))
  )
})

describe("DefaultGuardPipeline.fromGuards", () => {
  it.effect("gives the redacted text to the next guard", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const pipeline = yield* DefaultGuardPipeline.fromGuards([mask("a", "x", "y"), mask("b", "y", "z", seen)])
      const result = yield* pipeline.checkInput("x!", {})
      assert.deepStrictEqual(seen, ["y!"])
      assert.strictEqual(result.finalContent, "z!")
      assert.strictEqual(result.action, "redact")
      assert.deepStrictEqual(
        result.results.map((found) => found.guardName),
        ["a", "b"]
      )
    })
  )

  it.effect("stops at a block: skips later guards and returns no text", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const pipeline = yield* DefaultGuardPipeline.fromGuards([forbid("bomb"), mask("late", "x", "y", seen)])
      const result = yield* pipeline.checkInput("a bomb", {})
      assert.isTrue(result.blocked)
      assert.isUndefined(result.finalContent)
      assert.strictEqual(result.blockingResult?.guardName, "no bomb")
      assert.lengthOf(result.results, 1)
      assert.deepStrictEqual(seen, [])
    })
  )

  it.effect("withholds the text and names the guard when a guard fails", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const pipeline = yield* DefaultGuardPipeline.fromGuards([offline, mask("late", "x", "y", seen)])
      const error = yield* Effect.flip(pipeline.checkInput("text", {}))
      assert.strictEqual(error._tag, "GuardPipelineError")
      assert.strictEqual(error.guard, "remote")
      assert.strictEqual(error.stage, "input")
      assert.instanceOf(error.cause, Offline)
      assert.deepStrictEqual(seen, [])
      const atTool = yield* Effect.flip(pipeline.checkToolOutput("text", { toolName: "t" }))
      assert.strictEqual(atTool.stage, "toolOutput")
    })
  )

  it.effect("keeps a bug in a guard a defect", () =>
    Effect.gen(function* () {
      const buggy = Guard.make({
        name: "buggy",
        stages: ["input"],
        check: (): Effect.Effect<Guard.GuardResult> => {
          throw new TypeError("bug")
        }
      })
      const pipeline = yield* DefaultGuardPipeline.fromGuards([buggy])
      const exit = yield* Effect.exit(pipeline.checkInput("text", {}))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
    })
  )

  it.effect("runs guards only at their stages and passes the stage", () =>
    Effect.gen(function* () {
      const seen: Array<Guard.GuardContext> = []
      const watcher = Guard.make({
        name: "watcher",
        stages: ["toolInput", "output"],
        check: (_, context) =>
          Effect.sync(() => {
            seen.push(context)
            return Guard.pass("watcher")
          })
      })
      const pipeline = yield* DefaultGuardPipeline.fromGuards([watcher])
      yield* pipeline.checkInput("text", {})
      yield* pipeline.checkToolOutput("text", { toolName: "t" })
      yield* pipeline.checkOutput("text", { originalInput: "question" })
      yield* pipeline.checkToolInput("{}", { toolName: "t", toolCallId: "c1" })
      assert.deepStrictEqual(seen, [
        { stage: "output", originalInput: "question" },
        { stage: "toolInput", toolName: "t", toolCallId: "c1" }
      ])
    })
  )

  it.effect("takes the guards' requirements from the context once", () =>
    Effect.gen(function* () {
      const made = DefaultGuardPipeline.fromGuards([listed, masked, mask("a", "x", "y"), offline])
      expectTypeOf(made).toEqualTypeOf<Effect.Effect<GuardPipeline.Service, never, Words | Mask>>()
      const none = DefaultGuardPipeline.layerGuards([mask("a", "x", "y")])
      expectTypeOf(none).toEqualTypeOf<Layer.Layer<GuardPipeline.GuardPipeline>>()
      const pipeline = yield* DefaultGuardPipeline.fromGuards([listed, masked]).pipe(
        Effect.provideService(Words, ["bomb"]),
        Effect.provideService(Mask, "***")
      )
      assert.isTrue((yield* pipeline.checkInput("a bomb", {})).blocked)
      assert.strictEqual((yield* pipeline.checkOutput("my secret", {})).finalContent, "my ***")
    })
  )

  it.effect("prefers services around a check to captured ones", () =>
    Effect.gen(function* () {
      const pipeline = yield* Effect.provideService(DefaultGuardPipeline.fromGuards([masked]), Mask, "***")
      const result = yield* Effect.provideService(pipeline.checkOutput("my secret", {}), Mask, "---")
      assert.strictEqual(result.finalContent, "my ---")
    })
  )
})

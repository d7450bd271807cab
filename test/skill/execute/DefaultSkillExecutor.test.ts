import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type * as SkillCall from "../../../src/skill/definition/SkillCall.js"
import type * as SkillDefinition from "../../../src/skill/definition/SkillDefinition.js"
import { ann, make, session } from "../definition/SkillRig.js"

class Broken extends Schema.TaggedError<Broken>("test/Broken")("Broken", { reason: Schema.String }) {}

const double = Skill.make("double", {
  description: "Doubles a number",
  parameters: { n: Schema.NumberFromString },
  returns: Schema.NumberFromString,
  handler: ({ n }) => Effect.succeed(n * 2)
})

/** Fails as often as said, then succeeds. */
const flaky = (
  failures: number,
  error: unknown,
  traits: SkillDefinition.Traits = {},
  retryable?: (error: unknown) => boolean
) => {
  const at: Array<number> = []
  const skill = Skill.make("flaky", {
    description: "d",
    ...traits,
    ...(retryable === undefined ? {} : { retryable }),
    handler: (_, call) =>
      Effect.clockWith((clock) => {
        at.push(clock.unsafeCurrentTimeMillis())
        return call.attempt > failures ? Effect.succeed(call.attempt) : Effect.fail(error)
      })
  })
  return { skill, at }
}

const lost = { _tag: "Lost", code: "ECONNRESET", message: "connection reset" }

/** Lets the time pass that somebody waits for. */
const play = <A, E, R>(effect: Effect.Effect<A, E, R>, seconds = 20) =>
  Effect.flatMap(Effect.fork(effect), (fiber) =>
    Effect.zipRight(
      Effect.forEach(Array.from({ length: seconds }), () => TestClock.adjust("1 second"), { discard: true }),
      Fiber.await(fiber)
    )
  )

describe("SkillExecutor.execute", () => {
  it.effect("decodes the parameters and returns the output as JSON", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([double])
      const result = yield* executor.execute({ name: "double", params: { n: "21" }, sessionId: session })
      assert.deepStrictEqual(result, {
        skillName: "double",
        success: true,
        output: "42",
        durationMs: 0,
        cached: false,
        attempt: 1,
        metadata: { sessionId: "session-1" }
      })
    })
  )

  it.effect("suggests a similar name for an unknown skill", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([double])
      const error = yield* Effect.flip(executor.execute({ name: "doubel", params: {} }))
      assert.strictEqual(error._tag, "SkillNotFoundError")
      assert.strictEqual(error.hint, `Did you mean "double"? Registered skills: double`)
      const far = yield* Effect.flip(executor.execute({ name: "__proto__", params: {} }))
      assert.strictEqual(far.message, `There is no skill named "__proto__"`)
      const long = yield* Effect.flip(executor.execute({ name: "x".repeat(100_000), params: {} }))
      assert.isBelow(long.message.length, 300)
    })
  )

  it.effect("reports everything wrong with the parameters, within bounds", () =>
    Effect.gen(function* () {
      const both = Skill.make("both", {
        description: "d",
        parameters: { a: Schema.Number, b: Schema.Array(Schema.Number) },
        handler: () => Effect.void
      })
      const { executor } = yield* make([both])
      const error = yield* Effect.flip(executor.execute({ name: "both", params: { b: "no" } }))
      assert(error._tag === "SkillValidationError")
      assert.strictEqual(error.errors.length, 2)
      const huge = Array.from({ length: 5000 }, () => "no")
      const many = yield* Effect.flip(executor.execute({ name: "both", params: { a: 1, b: huge } }))
      assert(many._tag === "SkillValidationError")
      assert.strictEqual(many.errors.length, 101)
      assert.strictEqual(many.errors[100], "… and 4900 more")
      assert.isAtMost(many.message.length, 2000)
      const hostile = yield* Effect.flip(
        executor.execute({ name: "both", params: JSON.parse(`{"__proto__":{"a":1}}`) })
      )
      assert.strictEqual(hostile._tag, "SkillValidationError")
    })
  )

  it.effect("fails with the problem of an unusable definition", () =>
    Effect.gen(function* () {
      const bad = Skill.make("bad", { description: "", handler: () => Effect.void })
      const { executor } = yield* make([bad])
      const error = yield* Effect.flip(executor.execute({ name: "bad", params: {} }))
      assert.strictEqual(error.message, bad.problem?.message)
      assert.strictEqual(error._tag, "SkillValidationError")
    })
  )

  it.effect("reports a failure of the handler with its attempts, as the cause, without secrets", () =>
    Effect.gen(function* () {
      const failure = new Error("no entry with api_key=abcdef123456789")
      const { skill } = flaky(9, failure, { maxRetries: 2 })
      const { executor } = yield* make([skill])
      const exit = yield* play(executor.execute({ name: "flaky", params: {} }))
      assert(Exit.isFailure(exit) && exit.cause._tag === "Fail" && exit.cause.error._tag === "SkillExecutionError")
      assert.strictEqual(
        exit.cause.error.message,
        `The skill "flaky" failed after 3 attempts: no entry with api_key=[REDACTED]`
      )
      assert.strictEqual((exit.cause.error.cause as Error).message, failure.message)
    })
  )

  it.effect("fails the execution, not the caller, when a handler throws, dies or returns no Effect", () =>
    Effect.gen(function* () {
      const bug = new Error("bug")
      const skills = [
        Skill.make("throws", {
          description: "d",
          handler: () => {
            throw bug
          }
        }),
        Skill.make("dies", { description: "d", maxRetries: 5, handler: () => Effect.die(bug) }),
        Skill.make("none", { description: "d", handler: (() => Promise.resolve(1)) as never })
      ]
      const { executor } = yield* make(skills)
      for (const name of ["throws", "dies"]) {
        const error = yield* Effect.flip(executor.execute({ name, params: {} }))
        assert.strictEqual(error._tag, "SkillExecutionError")
        assert.strictEqual((error.cause as Error).message, "bug")
      }
      const none = yield* Effect.flip(executor.execute({ name: "none", params: {} }))
      assert.include(none.message, "did not return an Effect")
      assert.strictEqual(
        yield* Effect.flip(executor.run(skills[1] as typeof double, { n: 1 } as never)).pipe(
          Effect.map((error) => error._tag)
        ),
        "SkillExecutionError"
      )
    })
  )

  it.effect("reports an invalid result as the skill's fault, without a retry", () =>
    Effect.gen(function* () {
      let calls = 0
      const skill = Skill.make("wrong", {
        description: "d",
        maxRetries: 3,
        returns: Schema.Number,
        handler: () => Effect.sync(() => String(++calls) as unknown as number)
      })
      const { executor } = yield* make([skill])
      const error = yield* Effect.flip(executor.execute({ name: "wrong", params: {} }))
      assert.strictEqual(error._tag, "SkillValidationError")
      assert.match(error.message, /^The result of the skill "wrong"/)
      assert.strictEqual(calls, 1)
    })
  )

  it.effect("passes on an interruption of the handler", () =>
    Effect.gen(function* () {
      const skill = Skill.make("ends", { description: "d", maxRetries: 3, handler: () => Effect.interrupt })
      const { executor } = yield* make([skill])
      const exit = yield* Effect.exit(executor.execute({ name: "ends", params: {} }))
      assert(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
    })
  )
})

describe("SkillExecutor.run", () => {
  it.effect("takes decoded parameters and returns the handler's own result", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([])
      const { output } = yield* executor.run(double, { n: 21 })
      assert.strictEqual(output, 42)
    })
  )

  it.effect("rejects invalid parameters, including those of a JSON Schema", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([])
      const error = yield* Effect.flip(executor.run(double, { n: "x" as unknown as number }))
      assert.strictEqual(error._tag, "SkillValidationError")
      const raw = Skill.fromJsonSchema("raw", {
        description: "d",
        parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
        handler: ({ a }) => Effect.succeed(a)
      })
      assert.strictEqual((yield* Effect.flip(executor.run(raw, { a: "x" })))._tag, "SkillValidationError")
      assert.strictEqual((yield* executor.run(raw, { a: 1 })).output, 1)
    })
  )

  it.effect("fails as the last attempt did", () =>
    Effect.gen(function* () {
      const skill = Skill.make("broken", {
        description: "d",
        maxRetries: 1,
        handler: (_, { attempt }) => Effect.fail(new Broken({ reason: `attempt ${attempt}` }))
      })
      const { executor } = yield* make([])
      const exit = yield* play(Effect.flip(executor.run(skill, {})))
      assert(Exit.isSuccess(exit) && exit.value instanceof Broken)
      assert.strictEqual(exit.value.reason, "attempt 2")
    })
  )

  it.effect("executes the registered skill for a reference: JSON in and out", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([double, Skill.ref("loop")])
      assert.strictEqual((yield* executor.run(Skill.ref("double"), { n: "4" })).output, "8")
      assert.strictEqual((yield* Effect.flip(executor.run(Skill.ref("none"), {})))._tag, "SkillNotFoundError")
      assert.include((yield* Effect.flip(executor.run(Skill.ref("loop"), {}))).message, "is a reference")
    })
  )
})

describe("attempts of skills", () => {
  const waits = (at: ReadonlyArray<number>) => at.slice(1).map((time, index) => time - at[index]!)

  it.effect("retries every failure with maxRetries, after 1, 2, 4 … and at most 30 s", () =>
    Effect.gen(function* () {
      const { at, skill } = flaky(7, "no", { maxRetries: 7 })
      const { executor } = yield* make([skill])
      const exit = yield* play(executor.execute({ name: "flaky", params: {} }), 95)
      assert(Exit.isSuccess(exit))
      assert.strictEqual(exit.value.attempt, 8)
      assert.strictEqual(exit.value.durationMs, 91_000)
      assert.deepStrictEqual(waits(at), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
    })
  )

  it.effect("retries only lost connections by default, unless the skill decides", () =>
    Effect.gen(function* () {
      const attempts = (
        error: unknown,
        traits?: SkillDefinition.Traits,
        retryable?: (error: unknown) => boolean,
        maxRetries?: number
      ) =>
        Effect.gen(function* () {
          const { at, skill } = flaky(9, error, traits, retryable)
          const { executor } = yield* make([skill], { maxRetries })
          yield* play(executor.execute({ name: "flaky", params: {} }))
          return at.length
        })
      assert.strictEqual(yield* attempts("no"), 1)
      assert.strictEqual(yield* attempts(lost), 3)
      assert.strictEqual(yield* attempts(lost, {}, undefined, 0), 1)
      assert.strictEqual(yield* attempts(lost, {}, undefined, 4), 5)
      assert.strictEqual(yield* attempts("no", {}, () => true), 3)
      assert.strictEqual(yield* attempts(lost, {}, () => false), 1)
      assert.strictEqual(yield* attempts("no", { maxRetries: 1 }), 2)
      assert.strictEqual(yield* attempts("no", { maxRetries: 1 }, () => false), 1)
      assert.strictEqual(yield* attempts(lost, { maxRetries: 0 }), 1)
    })
  )

  it.effect("draws delays from their upper half with jitter", () =>
    Effect.gen(function* () {
      const { at, skill } = flaky(4, "no", { maxRetries: 4 })
      const { executor } = yield* make([skill], { jitter: true })
      const fiber = yield* Effect.fork(executor.execute({ name: "flaky", params: {} }))
      yield* Effect.forEach(Array.from({ length: 160 }), () => TestClock.adjust("100 millis"), { discard: true })
      yield* Fiber.join(fiber)
      const drawn = waits(at)
      for (const [index, wait] of drawn.entries()) {
        assert.isAtLeast(wait, 500 * 2 ** index)
        assert.isAtMost(wait, 1000 * 2 ** index + 100)
      }
      assert.isFalse(drawn.every((wait, index) => wait === 1000 * 2 ** index))
    })
  )

  const slow = (traits: SkillDefinition.Traits) => {
    const seen = { begun: 0, interrupted: 0 }
    const skill = Skill.make("slow", {
      description: "d",
      ...traits,
      handler: () =>
        Effect.suspend(() => {
          seen.begun++
          return Effect.never
        }).pipe(Effect.onInterrupt(() => Effect.sync(() => seen.interrupted++)))
    })
    return { seen, skill }
  }

  it.effect("ends each attempt at its timeout, the skill's own before the executor's", () =>
    Effect.gen(function* () {
      for (const [traits, options, seconds] of [
        [{}, {}, 30],
        [{}, { timeout: "5 seconds" }, 5],
        [{ timeout: "2 seconds" }, { timeout: "5 seconds" }, 2]
      ] as const) {
        const { seen, skill } = slow(traits)
        const { executor } = yield* make([skill], options)
        const fiber = yield* Effect.fork(Effect.flip(executor.execute({ name: "slow", params: {} })))
        yield* TestClock.adjust(seconds * 1000 - 1)
        assert.deepStrictEqual(seen, { begun: 1, interrupted: 0 })
        yield* TestClock.adjust(1)
        const error = yield* Fiber.join(fiber)
        assert(error._tag === "SkillTimeoutError")
        assert.strictEqual(error.timeoutSeconds, seconds)
        assert.deepStrictEqual(seen, { begun: 1, interrupted: 1 })
      }
    })
  )

  it.effect("retries a timeout only when the skill is idempotent", () =>
    Effect.gen(function* () {
      const begun = (traits: SkillDefinition.Traits) =>
        Effect.gen(function* () {
          const { seen, skill } = slow({ timeout: "1 second", ...traits })
          const { executor } = yield* make([skill])
          yield* play(executor.execute({ name: "slow", params: {} }))
          return seen.begun
        })
      assert.strictEqual(yield* begun({}), 1)
      assert.strictEqual(yield* begun({ maxRetries: 3 }), 1)
      assert.strictEqual(yield* begun({ idempotent: true }), 3)
      assert.strictEqual(yield* begun({ idempotent: true, maxRetries: 3 }), 4)
    })
  )

  it.effect("does not wait for a function that ignores its signal", () =>
    Effect.gen(function* () {
      const deaf = Skill.fromFunction("deaf", { description: "d" }, () => new Promise<void>(() => {}))
      const { executor } = yield* make([deaf])
      const exit = yield* play(executor.execute({ name: "deaf", params: {} }), 31)
      assert(Exit.isFailure(exit) && exit.cause._tag === "Fail")
      assert.strictEqual(exit.cause.error._tag, "SkillTimeoutError")
    })
  )

  it.effect("treats an infinite timeout as none", () =>
    Effect.gen(function* () {
      const patient = Skill.make("patient", {
        description: "d",
        handler: () => Effect.delay(Effect.succeed(1), "100 seconds")
      })
      const { executor } = yield* make([patient], { timeout: Number.POSITIVE_INFINITY })
      const exit = yield* play(executor.execute({ name: "patient", params: {} }), 101)
      assert(Exit.isSuccess(exit))
      assert.strictEqual(exit.value.durationMs, 100_000)
    })
  )

  it.effect("keeps the given id on every attempt", () =>
    Effect.gen(function* () {
      const ids: Array<string> = []
      const skill = Skill.make("ids", {
        description: "d",
        maxRetries: 1,
        handler: (_, { attempt, id }) => {
          ids.push(id)
          return attempt === 1 ? Effect.fail("no") : Effect.void
        }
      })
      const { executor } = yield* make([skill])
      yield* play(executor.execute({ name: "ids", params: {} }))
      yield* play(executor.execute({ name: "ids", params: {}, id: "mine" }))
      assert.strictEqual(ids[0], ids[1])
      assert.isAbove(ids[0]!.length, 10)
      assert.deepStrictEqual(ids.slice(2), ["mine", "mine"])
    })
  )

  it.effect("passes the user to the handler", () =>
    Effect.gen(function* () {
      const calls: Array<SkillCall.SkillCall> = []
      const skill = Skill.make("who", {
        description: "d",
        handler: (_, call) => Effect.sync(() => void calls.push({ ...call }))
      })
      const { executor } = yield* make([skill])
      yield* executor.execute({ name: "who", params: {}, id: "1" })
      yield* executor.execute({ name: "who", params: {}, id: "2", userId: ann, sessionId: session })
      assert.deepStrictEqual(calls, [
        { skillName: "who", id: "1", attempt: 1 },
        { skillName: "who", id: "2", attempt: 1, userId: ann, sessionId: session }
      ])
    })
  )
})

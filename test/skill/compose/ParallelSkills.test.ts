import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import * as ParallelSkills from "../../../src/skill/compose/ParallelSkills.js"
import * as SkillCombinators from "../../../src/skill/compose/SkillCombinators.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillExecutionError, SkillNotFoundError } from "../../../src/skill/definition/SkillError.js"
import * as SkillRuns from "../../support/SkillRuns.js"
import * as YieldingScheduler from "../../support/YieldingScheduler.js"

const about = { description: "d" }

const words = Skill.make("words", {
  description: "d",
  parameters: { text: Schema.String },
  returns: Schema.Number,
  permissions: ["a"],
  handler: ({ text }) => Effect.succeed(text.split(" ").length)
})
const day = Skill.make("day", {
  description: "d",
  parameters: { text: Schema.String, at: Schema.Date },
  returns: Schema.Struct({ next: Schema.Date }),
  permissions: ["a", "b"],
  handler: ({ at }) => Effect.succeed({ next: new Date(at.getTime() + 1) })
})
const failing = Skill.make("failing", {
  description: "d",
  parameters: { text: Schema.String },
  handler: () => Effect.fail("no" as const)
})

const at = new Date(0)

/** Skills that count what they take and give back, and end at their times. */
const counting = () => {
  const counts = { acquired: 0, released: 0 }
  const skill = (name: string, end: Effect.Effect<string, string>) =>
    Skill.make(name, {
      description: "d",
      handler: () =>
        Effect.acquireUseRelease(
          Effect.sync(() => void counts.acquired++),
          () => end,
          () => Effect.sync(() => void counts.released++)
        )
    })
  return { counts, skill }
}

describe("ParallelSkills.all", () => {
  const both = ParallelSkills.all("both", { ...about, skills: { words, day } })

  it.effect("returns each result under its key", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* SkillRuns.make()(both, { text: "a b", at }), {
        words: 2,
        day: { next: new Date(1) }
      })
    })
  )

  it.effect("takes the combined parameters, and shows parameters and results as JSON", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(both.definition.permissions, ["a", "b"])
      assert.deepStrictEqual(Object.keys(both.definition.parametersSchema["properties"] as object), ["text", "at"])
      assert.deepStrictEqual(both.definition.parametersSchema["required"], ["text", "at"])
      assert.deepStrictEqual(both.definition.returnsSchema["required"], ["words", "day"])
      assert.deepStrictEqual(yield* SkillRuns.call(both, { text: "a", at: at.toISOString() }), {
        words: 1,
        day: { next: "1970-01-01T00:00:00.001Z" }
      })
      const issues = yield* Skill.validate(both, { text: 1 })
      assert.isTrue(issues.some((issue) => issue.includes("text")))
      assert.isTrue(issues.some((issue) => issue.includes("at")))
      const json = { words: 1, day: { next: "1970-01-01T00:00:00.001Z" } }
      assert.deepStrictEqual(yield* both.erased.decodeResult(json), { words: 1, day: { next: new Date(1) } })
    })
  )

  it.effect("passes JSON to references next to typed skills", () =>
    Effect.gen(function* () {
      const mixed = ParallelSkills.all("mixed", { ...about, skills: { typed: day, named: Skill.ref("day") } })
      assert.deepStrictEqual(yield* SkillRuns.make(day)(mixed, { text: "", at }), {
        typed: { next: new Date(1) },
        named: { next: "1970-01-01T00:00:00.001Z" }
      })
      const extra = Skill.fromJsonSchema("extra", {
        description: "d",
        parameters: { type: "object", properties: { more: { type: "number" } }, required: ["more"] },
        handler: ({ more }) => Effect.succeed(more)
      })
      const open = ParallelSkills.all("open", { ...about, skills: [words, Skill.ref("extra")] })
      assert.deepStrictEqual(yield* SkillRuns.call(open, { text: "a", more: 3 }, extra), { words: 1, extra: 3 })
    })
  )

  it.effect("fails with the first failure and interrupts the others", () =>
    Effect.gen(function* () {
      const { counts, skill } = counting()
      const parallel = ParallelSkills.all("p", {
        ...about,
        skills: { a: skill("a", Effect.never), b: skill("b", Effect.never), failing }
      })
      assert.strictEqual(yield* Effect.flip(SkillRuns.make()(parallel, { text: "" })), "no")
      assert.deepStrictEqual(counts, { acquired: 2, released: 2 })
    })
  )

  it.effect("limits concurrency and keeps the order", () =>
    Effect.gen(function* () {
      const begun: Array<string> = []
      const one = (name: string) =>
        Skill.make(name, {
          description: "d",
          handler: () =>
            Effect.zipRight(
              Effect.sync(() => begun.push(name)),
              Effect.sleep("1 second")
            )
        })
      const skills = [one("a"), one("b"), one("c")]
      const two = ParallelSkills.all("p", { ...about, skills, concurrency: 2 })
      const fiber = yield* Effect.fork(SkillRuns.make()(two, {}))
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(begun, ["a", "b"])
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(begun, ["a", "b", "c"])
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      const together = yield* Effect.fork(SkillRuns.make()(ParallelSkills.all("p", { ...about, skills }), {}))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(together)))
    })
  )

  it.effect("isolates each skill from changes to its parameters", () =>
    Effect.gen(function* () {
      const spoiling = Skill.make("spoiling", {
        description: "d",
        parameters: { list: Schema.mutable(Schema.Array(Schema.Number)) },
        handler: ({ list }) => Effect.sync(() => list.push(9))
      })
      const params = { list: [1] }
      const parallel = ParallelSkills.all("p", {
        ...about,
        skills: { a: spoiling, b: spoiling, c: Skill.annotate(spoiling, { name: "c" }) }
      })
      assert.deepStrictEqual(yield* SkillRuns.make()(parallel, params), { a: 2, b: 2, c: 2 })
      assert.deepStrictEqual(params, { list: [1] })
    })
  )

  it.effect("treats `__proto__` as a key", () =>
    Effect.gen(function* () {
      const skills: Record<string, typeof words> = JSON.parse(`{"a":1}`)
      Object.defineProperty(skills, "__proto__", { value: words, enumerable: true })
      skills["a"] = words
      for (const make of [ParallelSkills.all, ParallelSkills.collect]) {
        const result = yield* SkillRuns.call(make("p", { ...about, skills }), { text: "x" })
        assert.strictEqual(Object.getPrototypeOf(result), Object.prototype)
        const outputs = (result as { readonly outputs?: object }).outputs ?? (result as object)
        assert.deepStrictEqual(Object.keys(outputs).toSorted(), ["__proto__", "a"])
      }
    })
  )

  it("reports impossible combinations as problems of the definition", () => {
    const problem = (skill: Skill.Any) => skill.problem?.errors
    assert.deepStrictEqual(problem(ParallelSkills.all("p", { ...about, skills: {} })), ["There are no skills"])
    assert.include(problem(ParallelSkills.all("p", { ...about, skills: [words, words] }))?.[0], `"words"`)
    assert.include(problem(ParallelSkills.all("p", { ...about, skills: [words], concurrency: 0 }))?.[0], "concurrency")
    for (const count of [0, 3, 1.5]) {
      assert.include(problem(ParallelSkills.quorum("p", { ...about, skills: { words, day }, count }))?.[0], "quorum")
    }
    assert.isUndefined(problem(ParallelSkills.quorum("p", { ...about, skills: { words, day }, count: 2 })))
  })

  it("equals sequential execution", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(
        FastCheck.array(FastCheck.tuple(FastCheck.nat(3), FastCheck.boolean()), { minLength: 1, maxLength: 5 }),
        FastCheck.integer({ min: 1, max: 5 }),
        async (plan, concurrency) => {
          const skills = plan.map(([yields, fails], index) =>
            Skill.make(`s${index}`, {
              description: "d",
              handler: () =>
                Effect.zipRight(
                  Effect.repeatN(Effect.yieldNow(), yields),
                  fails ? Effect.fail(index) : Effect.succeed(`${index}`)
                )
            })
          )
          const run = SkillRuns.make()
          const alone = await Effect.runPromise(Effect.forEach(skills, (skill) => Effect.either(run(skill, {}))))
          const outputs = alone.flatMap((one, i) => (Either.isRight(one) ? [[`s${i}`, one.right]] : []))
          const errors = alone.flatMap((one, i) => (Either.isLeft(one) ? [[`s${i}`, one.left]] : []))
          const options = { ...about, skills, concurrency }
          assert.deepStrictEqual(await Effect.runPromise(run(ParallelSkills.collect("p", options), {})), {
            outputs: Object.fromEntries(outputs),
            errors: Object.fromEntries(errors)
          })
          const all = await Effect.runPromise(Effect.either(run(ParallelSkills.all("p", options), {})))
          if (errors.length === 0) assert.deepStrictEqual(all, Either.right(Object.fromEntries(outputs)))
          else assert.isTrue(Either.isLeft(all) && errors.some(([, error]) => error === all.left))
        }
      ),
      { numRuns: 50 }
    ))

  it("leaves nothing running wherever it is interrupted", async () => {
    const { counts, skill } = counting()
    const pause = Effect.as(Effect.yieldNow(), "done")
    const skills = { a: skill("a", pause), b: skill("b", pause), c: skill("c", pause) }
    const forms: ReadonlyArray<Skill.Skill<{}, unknown, unknown>> = [
      ParallelSkills.all("p", { ...about, skills, concurrency: 2 }),
      ParallelSkills.collect("p", { ...about, skills }),
      ParallelSkills.quorum("p", { ...about, skills, count: 2 }),
      SkillCombinators.race(skills.a, skills.b, skills.c)
    ]
    for (const form of forms) {
      for (let at = 1; ; at++) {
        counts.acquired = 0
        counts.released = 0
        let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
        const scheduler: Scheduler.Scheduler = YieldingScheduler.make((count) => {
          if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
        })
        main = Effect.runFork(Effect.withScheduler(SkillRuns.make()(form, {}), scheduler))
        const exit = await Effect.runPromise(Fiber.await(main).pipe(Effect.timeout("5 seconds")))
        assert.strictEqual(counts.acquired, counts.released, `${form.definition.name} interrupted at ${at}`)
        if (Exit.isSuccess(exit)) break
        assert.isTrue(Exit.isInterrupted(exit))
      }
    }
  })
})

describe("ParallelSkills.collect", () => {
  const parallel = ParallelSkills.collect("p", { ...about, skills: { words, failing, gone: Skill.ref("gone") } })

  it.effect("collects results and typed failures side by side", () =>
    Effect.gen(function* () {
      const { errors, outputs } = yield* SkillRuns.make()(parallel, { text: "a b" })
      assert.deepStrictEqual(outputs, { words: 2 })
      assert.strictEqual(errors.failing, "no")
      assert.instanceOf(errors.gone, SkillNotFoundError)
    })
  )

  it.effect("shows a failure as its message in JSON", () =>
    Effect.gen(function* () {
      const json = yield* SkillRuns.call(parallel, { text: "a b" })
      assert.deepStrictEqual(json, { outputs: { words: 2 }, errors: { failing: "no", gone: "no such skill" } })
      const back = (yield* parallel.erased.decodeResult(json)) as Skill.ResultOf<typeof parallel>
      assert.deepStrictEqual(back.outputs, { words: 2 })
      assert.instanceOf(back.errors.failing, SkillExecutionError)
    })
  )

  it.effect("shows only the message or tag of a failure", () =>
    Effect.gen(function* () {
      const leaking = (error: unknown) => Skill.make("leaking", { description: "d", handler: () => Effect.fail(error) })
      for (const [error, shown] of [
        [{ _tag: "Secret", key: "sk-123" }, "Secret"],
        [new Error("said"), "said"],
        [{ key: "sk-123" }, "UnknownError"],
        [new Error(`no: ${"sk-"}${"a1B2".repeat(10)}`), "no: [REDACTED]"],
        [new Cause.UnknownException(new Error("inside")), "inside"]
      ] as const) {
        const json = yield* SkillRuns.call(ParallelSkills.collect("p", { ...about, skills: { a: leaking(error) } }), {})
        assert.deepStrictEqual(json, { outputs: {}, errors: { a: shown } })
      }
    })
  )

  it.effect("does not treat defects as failures", () =>
    Effect.gen(function* () {
      const { counts, skill } = counting()
      const dying = Skill.make("dying", { description: "d", handler: () => Effect.die("bug") })
      const exit = yield* Effect.exit(
        SkillRuns.make()(ParallelSkills.collect("p", { ...about, skills: { a: skill("a", Effect.never), dying } }), {})
      )
      assert.deepStrictEqual(exit, Exit.die("bug"))
      assert.strictEqual(counts.acquired, counts.released)
    })
  )
})

describe("ParallelSkills.quorum", () => {
  it.effect("returns the first N successes and interrupts the others", () =>
    Effect.gen(function* () {
      const { counts, skill } = counting()
      const later = (millis: number) => Effect.as(Effect.sleep(millis), `${millis}`)
      const skills = { a: skill("a", later(30)), b: skill("b", later(10)), c: skill("c", later(20)), failing }
      const fiber = yield* Effect.fork(
        SkillRuns.make()(ParallelSkills.quorum("p", { ...about, skills, count: 2 }), { text: "" })
      )
      yield* TestClock.adjust(20)
      assert.deepStrictEqual(yield* Fiber.join(fiber), { b: "10", c: "20" })
      assert.deepStrictEqual(counts, { acquired: 3, released: 3 })
    })
  )

  it.effect("keeps the order of the skills, whichever is first", () =>
    Effect.gen(function* () {
      const { skill } = counting()
      const skills = { a: skill("a", Effect.as(Effect.sleep(2), "a")), b: skill("b", Effect.as(Effect.sleep(1), "b")) }
      const fiber = yield* Effect.fork(SkillRuns.make()(ParallelSkills.quorum("p", { ...about, skills, count: 2 }), {}))
      yield* TestClock.adjust(2)
      assert.deepStrictEqual(Object.keys(yield* Fiber.join(fiber)), ["a", "b"])
    })
  )

  it.effect("shows a finalizer that dies while its skill is stopped", () =>
    Effect.gen(function* () {
      const stuck = Skill.make("stuck", {
        description: "d",
        handler: () => Effect.onInterrupt(Effect.never, () => Effect.die("bug"))
      })
      const quick = Skill.make("quick", {
        description: "d",
        handler: () => Effect.zipRight(Effect.yieldNow(), Effect.succeed(1))
      })
      const exit = yield* Effect.exit(
        SkillRuns.make()(ParallelSkills.quorum("p", { ...about, skills: { stuck, quick }, count: 1 }), {})
      )
      assert.deepStrictEqual(exit, Exit.die("bug"))
    })
  )

  it("returns the text of a model", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(
        FastCheck.uniqueArray(FastCheck.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 }),
        FastCheck.infiniteStream(FastCheck.boolean()),
        FastCheck.nat(),
        async (times, outcomes, seed) => {
          const { counts, skill } = counting()
          const plan = times.map((time, index) => ({
            time,
            key: `s${index}`,
            succeeds: outcomes.next().value as boolean
          }))
          const count = 1 + (seed % plan.length)
          const skills = Object.fromEntries(
            plan.map(({ key, succeeds, time }) => [
              key,
              skill(key, Effect.zipRight(Effect.sleep(time), succeeds ? Effect.succeed(key) : Effect.fail(key)))
            ])
          )
          const parallel = ParallelSkills.quorum("p", { ...about, skills, count })
          const result = await Effect.runPromise(
            Effect.gen(function* () {
              const fiber = yield* Effect.fork(Effect.either(SkillRuns.make()(parallel, {})))
              yield* TestClock.adjust(100)
              return yield* Fiber.join(fiber)
            }).pipe(Effect.provide(TestContext.TestContext))
          )
          const inTime = plan.toSorted((a, b) => a.time - b.time)
          const won = inTime.filter(({ succeeds }) => succeeds).slice(0, count)
          const lost = inTime.filter(({ succeeds }) => !succeeds)[plan.length - count]
          assert.deepStrictEqual(
            result,
            won.length === count
              ? Either.right(Object.fromEntries(won.map(({ key }) => [key, key])))
              : Either.left(lost?.key as string)
          )
          assert.deepStrictEqual(counts, { acquired: plan.length, released: plan.length })
        }
      ),
      { numRuns: 60 }
    ))
})

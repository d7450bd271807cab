import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as SkillCombinators from "../../../src/skill/compose/SkillCombinators.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import {
  SkillConfirmationDeniedError,
  SkillExecutionError,
  SkillNotFoundError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillValidationError
} from "../../../src/skill/definition/SkillError.js"
import * as SkillRuns from "../../support/SkillRuns.js"

const number = Schema.Struct({ n: Schema.Number })

const double = Skill.make("double", {
  description: "Doubles",
  parameters: number.fields,
  returns: Schema.Number,
  permissions: ["x"],
  category: "math",
  handler: ({ n }) => Effect.succeed(2 * n)
})

/** Fails so many times first; counts what it is asked. */
const flaky = (failures: number, error: unknown = "no") => {
  const state = { calls: 0 }
  const skill = Skill.make("flaky", {
    description: "d",
    parameters: number.fields,
    handler: ({ n }) => Effect.suspend(() => (++state.calls <= failures ? Effect.fail(error) : Effect.succeed(n)))
  })
  return { state, skill }
}

const run = SkillRuns.make()

describe("every combinator", () => {
  it("keeps description, category, parameters and permissions, and has its own name", () => {
    const made = [
      SkillCombinators.retry(double),
      SkillCombinators.withTimeout(double, 1),
      SkillCombinators.map(double, String),
      SkillCombinators.fallback(double, double),
      SkillCombinators.race(double, double),
      SkillCombinators.loopUntil(double, { until: () => true, next: (n) => ({ n }) })
    ]
    for (const { definition, erased, problem } of made) {
      assert.isUndefined(problem)
      assert.strictEqual(definition.description, "Doubles")
      assert.strictEqual(definition.category, "math")
      assert.deepStrictEqual(definition.permissions, ["x"])
      assert.deepStrictEqual(definition.parametersSchema, double.definition.parametersSchema)
      assert.match(definition.name, /^double_[a-z_]+$/)
      assert.strictEqual(erased.uses?.[0], double)
    }
    assert.strictEqual(new Set(made.map(({ definition }) => definition.name)).size, made.length)
    assert.strictEqual(Skill.annotate(SkillCombinators.retry(double), { name: "twice" }).definition.name, "twice")
  })
})

describe("SkillCombinators.retry", () => {
  it.effect("retries the given number of times", () =>
    Effect.gen(function* () {
      const twice = flaky(2)
      assert.strictEqual(yield* run(SkillCombinators.retry(twice.skill, { times: 2 }), { n: 1 }), 1)
      assert.strictEqual(twice.state.calls, 3)
      const thrice = flaky(3)
      assert.strictEqual(yield* Effect.flip(run(SkillCombinators.retry(thrice.skill, { times: 2 }), { n: 1 })), "no")
      assert.strictEqual(thrice.state.calls, 3)
      const always = flaky(Number.POSITIVE_INFINITY)
      yield* Effect.flip(run(SkillCombinators.retry(always.skill), { n: 1 }))
      assert.strictEqual(always.state.calls, 4)
    })
  )

  it.effect("waits as its schedule says", () =>
    Effect.gen(function* () {
      const { skill, state } = flaky(2)
      const fiber = yield* Effect.fork(
        run(SkillCombinators.retry(skill, { schedule: Schedule.exponential("1 second") }), { n: 1 })
      )
      yield* TestClock.adjust("1 second")
      assert.strictEqual(state.calls, 2)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), 1)
    })
  )

  it.effect("passes the original parameters each time", () =>
    Effect.gen(function* () {
      const lengths: Array<number> = []
      const spoiling = Skill.make("spoiling", {
        description: "d",
        parameters: { list: Schema.mutable(Schema.Array(Schema.Number)) },
        handler: ({ list }) =>
          Effect.zipRight(
            Effect.sync(() => lengths.push(list.push(1))),
            Effect.fail("no")
          )
      })
      yield* Effect.flip(run(SkillCombinators.retry(spoiling, { times: 2 }), { list: [] }))
      assert.deepStrictEqual(lengths, [1, 1, 1])
    })
  )

  it.effect("retries only the chosen failures", () =>
    Effect.gen(function* () {
      const { skill, state } = flaky(3, "fatal")
      const picky = SkillCombinators.retry(skill, { while: (error) => error !== "fatal" })
      assert.strictEqual(yield* Effect.flip(run(picky, { n: 1 })), "fatal")
      assert.strictEqual(state.calls, 1)
    })
  )

  it.effect("does not retry permanent failures", () =>
    Effect.gen(function* () {
      const skillName = "x"
      for (const error of [
        new SkillNotFoundError({ message: "m", skillName }),
        new SkillValidationError({ message: "m", skillName, errors: [] }),
        new SkillPermissionDeniedError({ message: "m", skillName, required: [] }),
        new SkillConfirmationDeniedError({ message: "m", skillName })
      ]) {
        const { skill, state } = flaky(3, error)
        assert.strictEqual(yield* Effect.flip(run(SkillCombinators.retry(skill), { n: 1 })), error)
        assert.strictEqual(state.calls, 1)
        const stubborn = flaky(1, error)
        assert.strictEqual(yield* run(SkillCombinators.retry(stubborn.skill, { while: () => true }), { n: 1 }), 1)
      }
    })
  )

  it.effect("retries after a timeout only where that is safe", () =>
    Effect.gen(function* () {
      const late = new SkillTimeoutError({ message: "m", skillName: "x", timeoutSeconds: 1 })
      const { skill, state } = flaky(1, late)
      assert.strictEqual(yield* Effect.flip(run(SkillCombinators.retry(skill), { n: 1 })), late)
      assert.strictEqual(state.calls, 1)
      const harmless = Skill.annotate(flaky(1, late).skill, { idempotent: true })
      assert.strictEqual(yield* run(SkillCombinators.retry(harmless), { n: 1 }), 1)
      const wrapped = Skill.annotate(flaky(1, late).skill, { idempotent: true }).pipe(
        SkillCombinators.withTimeout(1),
        SkillCombinators.map((n) => n)
      )
      assert.strictEqual(yield* run(SkillCombinators.retry(wrapped), { n: 1 }), 1)
    })
  )

  it("equals the skill without retries, and never does worse with more", () =>
    FastCheck.assert(
      FastCheck.property(FastCheck.nat(5), FastCheck.nat(5), (failures, times) => {
        const of = (times: number) =>
          Effect.runSync(Effect.either(run(SkillCombinators.retry(flaky(failures).skill, { times }), { n: 1 })))
        assert.deepStrictEqual(of(0), Effect.runSync(Effect.either(run(flaky(failures).skill, { n: 1 }))))
        assert.strictEqual(Either.isRight(of(times)), times >= failures)
      })
    ))
})

describe("SkillCombinators.withTimeout", () => {
  it("limits the whole execution in the executor", () => {
    const limited = double.pipe(SkillCombinators.withTimeout("5 seconds"))
    assert.strictEqual(limited.definition.timeoutSeconds, 5)
    assert.strictEqual(limited.definition.maxRetries, 0)
    assert.isDefined(SkillCombinators.withTimeout(double, 0).problem)
  })
})

describe("SkillCombinators.map and mapParams", () => {
  it.effect("change result and parameters, with their schemas", () =>
    Effect.gen(function* () {
      const day = SkillCombinators.map(double, (n) => new Date(n), Schema.Date)
      assert.deepStrictEqual(yield* run(day, { n: 1 }), new Date(2))
      assert.strictEqual(yield* SkillRuns.call(day, { n: 1 }), "1970-01-01T00:00:00.002Z")
      const text = SkillCombinators.mapParams(double, Schema.Struct({ text: Schema.NumberFromString }), ({ text }) => ({
        n: text
      }))
      assert.strictEqual(yield* run(text, { text: 2 }), 4)
      assert.strictEqual(yield* SkillRuns.call(text, { text: "2" }), 4)
      assert.instanceOf(yield* Effect.flip(SkillRuns.call(text, { text: "x" })), SkillValidationError)
      assert.instanceOf(
        yield* Effect.flip(run(SkillCombinators.map(double, String, Schema.NumberFromString as any), { n: 1 })),
        SkillValidationError
      )
    })
  )

  it("obey the functor laws", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer(),
        FastCheck.func(FastCheck.nat()),
        FastCheck.func(FastCheck.nat()),
        (n, f, g) => {
          const of = (skill: Skill.Skill<{ readonly n: number }, unknown, unknown>) => Effect.runSync(run(skill, { n }))
          const twice = double.pipe(
            SkillCombinators.map((x) => f(x)),
            SkillCombinators.map((x) => g(x))
          )
          assert.strictEqual(of(SkillCombinators.map(double, (x) => x)), of(double))
          assert.strictEqual(of(twice), of(SkillCombinators.map(double, (x) => g(f(x)))))
          const params = (h: (n: number) => number) =>
            SkillCombinators.mapParams(number, ({ n }: { readonly n: number }) => ({ n: h(n) }))
          assert.strictEqual(of(params((x) => x)(double)), of(double))
          // The last mapping is the first to see the parameters.
          assert.strictEqual(of(params(f)(params(g)(double))), of(params((x) => g(f(x)))(double)))
        }
      )
    ))
})

describe("SkillCombinators.fallback", () => {
  const outcome = FastCheck.array(FastCheck.boolean(), { minLength: 1, maxLength: 5 })
  const skillsOf = (outcomes: ReadonlyArray<boolean>) => {
    const asked: Array<number> = []
    const skills = outcomes.map((succeeds, index) =>
      Skill.make(`s${index}`, {
        description: "d",
        handler: (): Effect.Effect<number, number> => {
          asked.push(index)
          return succeeds ? Effect.succeed(index) : Effect.fail(index)
        }
      })
    )
    return { asked, skills: skills as unknown as [(typeof skills)[number]] }
  }

  it("returns the first success, calls none after it, and fails with the last", () =>
    FastCheck.assert(
      FastCheck.property(outcome, (outcomes) => {
        const { asked, skills } = skillsOf(outcomes)
        const first = outcomes.indexOf(true)
        assert.deepStrictEqual(
          Effect.runSync(Effect.either(run(SkillCombinators.fallback(...skills), {}))),
          first < 0 ? Either.left(outcomes.length - 1) : Either.right(first)
        )
        assert.lengthOf(asked, first < 0 ? outcomes.length : first + 1)
      })
    ))

  it("is associative", () =>
    FastCheck.assert(
      FastCheck.property(outcome, outcome, outcome, (x, y, z) => {
        const { skills } = skillsOf([...x, ...y, ...z])
        const [a, b, c] = [
          SkillCombinators.fallback(...(skills.slice(0, x.length) as typeof skills)),
          SkillCombinators.fallback(...(skills.slice(x.length, x.length + y.length) as typeof skills)),
          SkillCombinators.fallback(...(skills.slice(x.length + y.length) as typeof skills))
        ]
        const of = (skill: Skill.Skill<{}, number, unknown>) => Effect.runSync(Effect.either(run(skill, {})))
        const flat = of(SkillCombinators.fallback(...skills))
        assert.deepStrictEqual(of(SkillCombinators.fallback(SkillCombinators.fallback(a, b), c)), flat)
        assert.deepStrictEqual(of(SkillCombinators.fallback(a, SkillCombinators.fallback(b, c))), flat)
      })
    ))

  it.effect("replaces a missing skill, but not a defect", () =>
    Effect.gen(function* () {
      const safe = SkillCombinators.fallback(Skill.ref("gone"), double)
      assert.strictEqual(yield* run(safe, { n: 1 }), 2)
      const dying = Skill.make("dying", { description: "d", handler: () => Effect.die("bug") })
      const exit = yield* Effect.exit(run(SkillCombinators.fallback(dying, double), { n: 1 }))
      assert.deepStrictEqual(exit, Exit.die("bug"))
    })
  )

  it.effect("gives each skill unchanged parameters", () =>
    Effect.gen(function* () {
      const list = Schema.mutable(Schema.Array(Schema.Number))
      const spoiling = Skill.make("spoiling", {
        description: "d",
        parameters: { list },
        handler: ({ list }) =>
          Effect.zipRight(
            Effect.sync(() => list.push(1)),
            Effect.fail("no")
          )
      })
      const length = Skill.make("length", {
        description: "d",
        parameters: { list },
        handler: ({ list }) => Effect.succeed(list.length)
      })
      const safe = SkillCombinators.fallback(SkillCombinators.retry(spoiling), spoiling, length)
      assert.strictEqual(yield* run(safe, { list: [] }), 0)
    })
  )
})

describe("SkillCombinators.race", () => {
  it.effect("returns the first success and interrupts the others", () =>
    Effect.gen(function* () {
      const counts = { acquired: 0, released: 0 }
      const late = (name: string, millis: number, end: Effect.Effect<string, string>) =>
        Skill.make(name, {
          description: "d",
          handler: () =>
            Effect.acquireUseRelease(
              Effect.sync(() => void counts.acquired++),
              () => Effect.zipRight(Effect.sleep(millis), end),
              () => Effect.sync(() => void counts.released++)
            )
        })
      const raced = SkillCombinators.race(
        late("a", 30, Effect.succeed("a")),
        late("b", 10, Effect.fail("b")),
        late("c", 20, Effect.succeed("c"))
      )
      const fiber = yield* Effect.fork(run(raced, {}))
      yield* TestClock.adjust(20)
      assert.strictEqual(yield* Fiber.join(fiber), "c")
      assert.deepStrictEqual(counts, { acquired: 3, released: 3 })
      const lost = yield* Effect.fork(
        run(SkillCombinators.race(late("a", 30, Effect.fail("a")), late("b", 10, Effect.fail("b"))), {})
      )
      yield* TestClock.adjust(30)
      assert.deepStrictEqual(yield* Fiber.await(lost), Exit.fail("a"))
      assert.strictEqual(yield* run(SkillCombinators.race(double), { n: 1 }), 2)
    })
  )
})

describe("SkillCombinators.loopUntil", () => {
  const plus = Skill.make("plus", {
    description: "d",
    parameters: number.fields,
    handler: ({ n }) => Effect.succeed({ n: n + 1 })
  })

  it("returns the result of the loop, or fails after its rounds", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.nat(20),
        FastCheck.nat(20),
        FastCheck.integer({ min: 1, max: 20 }),
        (from, to, maxRounds) => {
          const rounds: Array<number> = []
          const loop = SkillCombinators.loopUntil(plus, {
            until: ({ n }) => n >= to,
            next: (result, round) => {
              rounds.push(round)
              return result
            },
            maxRounds
          })
          const result = Effect.runSync(Effect.either(run(loop, { n: from })))
          const needed = Math.max(1, to - from)
          if (needed <= maxRounds) assert.deepStrictEqual(result, Either.right({ n: from + needed }))
          else assert.instanceOf(Either.isLeft(result) ? result.left : undefined, SkillExecutionError)
          assert.deepStrictEqual(
            rounds,
            Array.from({ length: Math.min(needed, maxRounds) - 1 }, (_, index) => index + 1)
          )
        }
      )
    ))

  it.effect("runs ten rounds by default, and accepts a condition that is an Effect and may fail", () =>
    Effect.gen(function* () {
      const never = SkillCombinators.loopUntil(plus, { until: () => Effect.succeed(false), next: (result) => result })
      const error = yield* Effect.flip(run(never, { n: 0 }))
      assert.instanceOf(error, SkillExecutionError)
      assert.include(error.message, "10 rounds")
      const failing = SkillCombinators.loopUntil(plus, { until: () => Effect.fail("no"), next: (result) => result })
      assert.strictEqual(yield* Effect.flip(run(failing, { n: 0 })), "no")
      const none = SkillCombinators.loopUntil(plus, { until: () => true, next: (result) => result, maxRounds: 0 })
      assert.include(none.problem?.errors[0], "maxRounds")
    })
  )
})

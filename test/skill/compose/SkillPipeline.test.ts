import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as SkillPipeline from "../../../src/skill/compose/SkillPipeline.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillExecutionError, SkillValidationError } from "../../../src/skill/definition/SkillError.js"
import * as SkillRuns from "../../support/SkillRuns.js"

const about = { description: "d" }

const language = Skill.make("language", {
  description: "d",
  parameters: { text: Schema.String },
  returns: Schema.Struct({ language: Schema.String }),
  permissions: ["read"],
  handler: ({ text }) => Effect.succeed({ language: text.startsWith("H") ? "en" : "de" })
})
const greet = Skill.make("greet", {
  description: "d",
  parameters: { to: Schema.String, language: Schema.String },
  returns: Schema.String,
  handler: ({ language, to }) => Effect.succeed(`${language === "en" ? "Hello" : "Hallo"} ${to}`)
})
const day = Skill.make("day", {
  description: "d",
  parameters: { at: Schema.Date },
  returns: Schema.Struct({ at: Schema.Date }),
  handler: ({ at }) => Effect.succeed({ at: new Date(at.getTime() + 1) })
})

const start = SkillPipeline.make("pipeline", {
  ...about,
  parameters: Schema.Struct({ text: Schema.String, user: Schema.String })
})
const pipeline = start.pipe(
  SkillPipeline.stage(language),
  SkillPipeline.stage(greet, { as: "greeting", input: ({ language, user }) => ({ to: user, language }) })
)

describe("SkillPipeline", () => {
  it.effect("merges maps, stores results under their keys, and returns the last context", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* SkillRuns.make()(pipeline, { text: "Hi", user: "Ada" }), {
        text: "Hi",
        user: "Ada",
        language: "en",
        greeting: "Hello Ada"
      })
    })
  )

  it.effect("is the identity without stages", () =>
    Effect.gen(function* () {
      const context = { text: "a", user: "b" }
      assert.deepStrictEqual(yield* SkillRuns.make()(start, context), context)
    })
  )

  it.effect("stores a value without a key under output, and lets a later key win", () =>
    Effect.gen(function* () {
      const plain = SkillPipeline.make("p", {
        ...about,
        parameters: Schema.Struct({ to: Schema.String, language: Schema.String })
      }).pipe(
        SkillPipeline.stage(greet),
        SkillPipeline.stage(language, { as: "language", input: ({ output }) => ({ text: output }) })
      )
      assert.deepStrictEqual(yield* SkillRuns.make()(plain, { to: "Ada", language: "en" }), {
        to: "Ada",
        output: "Hello Ada",
        language: { language: "en" }
      })
    })
  )

  it.effect("stops at the first failure", () =>
    Effect.gen(function* () {
      let reached = 0
      const failing = Skill.make("failing", { description: "d", handler: () => Effect.fail("no" as const) })
      const last = Skill.make("last", { description: "d", handler: () => Effect.sync(() => void reached++) })
      const error = yield* Effect.flip(
        SkillRuns.make()(start.pipe(SkillPipeline.stage(failing), SkillPipeline.stage(last)), { text: "", user: "" })
      )
      assert.strictEqual(error, "no")
      assert.strictEqual(reached, 0)
    })
  )

  it.effect("fails when an input throws", () =>
    Effect.gen(function* () {
      const throwing = start.pipe(
        SkillPipeline.stage(language, {
          input: () => {
            throw new Error("bug")
          }
        })
      )
      const error = yield* Effect.flip(SkillRuns.make()(throwing, { text: "", user: "" }))
      assert.instanceOf(error, SkillExecutionError)
      assert.include(error.message, "language")
    })
  )

  it.effect("is a skill: permissions of its stages, parameters checked, nests", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(pipeline.definition.permissions, ["read"])
      assert.deepStrictEqual(pipeline.erased.uses, [language, greet])
      assert.instanceOf(yield* Effect.flip(SkillRuns.call(pipeline, { text: 1 })), SkillValidationError)
      const outer = SkillPipeline.make("outer", {
        ...about,
        parameters: Schema.Struct({ text: Schema.String })
      }).pipe(SkillPipeline.stage(pipeline, { as: "inner", input: ({ text }) => ({ text, user: "Bob" }) }))
      assert.strictEqual((yield* SkillRuns.make()(outer, { text: "x" })).inner.greeting, "Hallo Bob")
    })
  )

  it.effect("shows the context as JSON to skills known by name, which may return anything", () =>
    Effect.gen(function* () {
      const dated = SkillPipeline.make("dated", { ...about, parameters: Schema.Struct({ at: Schema.Date }) }).pipe(
        SkillPipeline.stage(day),
        SkillPipeline.stage(Skill.ref("day")),
        SkillPipeline.stage(day, { as: "last" })
      )
      const result = yield* SkillRuns.make(day)(dated, { at: new Date(0) })
      assert.deepStrictEqual(result, { at: "1970-01-01T00:00:00.002Z", last: { at: new Date(3) } })
      const named = SkillPipeline.make("named", about).pipe(
        SkillPipeline.stage(Skill.ref("language")),
        SkillPipeline.stage(Skill.ref("greet"), { as: "said" })
      )
      assert.deepStrictEqual(yield* SkillRuns.call(named, { text: "Hi", to: "Ada" }, language, greet), {
        text: "Hi",
        to: "Ada",
        language: "en",
        said: "Hello Ada"
      })
      const unknown = SkillPipeline.make("unknown", about).pipe(SkillPipeline.stage(language))
      assert.instanceOf(yield* Effect.flip(SkillRuns.make()(unknown, { text: 1 })), SkillValidationError)
    })
  )

  it.effect("validates the last context by a schema, which gives it its JSON form", () =>
    Effect.gen(function* () {
      const dated = SkillPipeline.make("dated", { ...about, parameters: Schema.Struct({ at: Schema.Date }) }).pipe(
        SkillPipeline.stage(day),
        SkillPipeline.returns(Schema.Struct({ at: Schema.Date }))
      )
      assert.deepStrictEqual(yield* SkillRuns.make()(dated, { at: new Date(0) }), { at: new Date(1) })
      assert.deepStrictEqual(yield* SkillRuns.call(dated, { at: "1970-01-01T00:00:00.000Z" }), {
        at: "1970-01-01T00:00:00.001Z"
      })
      assert.deepStrictEqual(dated.definition.returnsSchema["required"], ["at"])
    })
  )

  it.effect("treats `__proto__` as a key", () =>
    Effect.gen(function* () {
      const raw = Skill.fromJsonSchema("raw", {
        description: "d",
        handler: () => Effect.sync((): unknown => JSON.parse(`{"__proto__":{"admin":true}}`))
      })
      const merged = yield* SkillRuns.make()(SkillPipeline.make("p", about).pipe(SkillPipeline.stage(raw)), {})
      const stored = yield* SkillRuns.make()(
        SkillPipeline.make("p", about).pipe(SkillPipeline.stage(raw, { as: "__proto__" })),
        {}
      )
      for (const context of [merged, stored]) {
        assert.deepStrictEqual(Object.keys(context), ["__proto__"])
        assert.strictEqual(Object.getPrototypeOf(context), Object.prototype)
        assert.isUndefined((context as { readonly admin?: unknown }).admin)
      }
    })
  )

  it("never mutates its input or a stage's result, whatever stages do to their parameters", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.dictionary(FastCheck.constantFrom("a", "b", "c"), FastCheck.jsonValue()),
        FastCheck.array(FastCheck.option(FastCheck.constantFrom("a", "b", "x"), { nil: undefined }), { maxLength: 4 }),
        FastCheck.constantFrom("whole", "input", "reference"),
        (input, keys, form) => {
          const given: Array<{ readonly value: unknown; readonly was: string }> = []
          const spoil = (value: unknown): void => {
            if (typeof value !== "object" || value === null) return
            Object.values(value).forEach(spoil)
            if (Array.isArray(value)) value.push("spoiled")
            else Object.assign(value, { spoiled: true })
          }
          const stage = Skill.make("stage", {
            description: "d",
            parameters: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
            handler: (params) =>
              Effect.sync(() => {
                const value = JSON.parse(JSON.stringify({ got: params, list: [[1]] }))
                given.push({ value, was: JSON.stringify(value) })
                spoil(params)
                return value as Record<string, unknown>
              })
          })
          const context: Readonly<Record<string, unknown>> = JSON.parse(JSON.stringify(input))
          const was = JSON.stringify(context)
          const all = keys.reduce(
            (pipeline, as) => {
              const staged =
                form === "input"
                  ? SkillPipeline.stage(pipeline, stage, { as, input: (context) => context })
                  : SkillPipeline.stage(pipeline, form === "whole" ? stage : Skill.ref("stage"), { as })
              return staged as typeof pipeline
            },
            SkillPipeline.make("p", about) as SkillPipeline.Pipeline<any, Readonly<Record<string, unknown>>, any>
          )
          const last = Effect.runSync(SkillRuns.make(stage)(all, context))
          assert.strictEqual(JSON.stringify(context), was)
          for (const { value, was } of given) assert.strictEqual(JSON.stringify(value), was)
          assert.notInclude(JSON.stringify(last), "spoiled")
        }
      ),
      { numRuns: 50 }
    ))

  it("gives the same result for any grouping of stages", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.constantFrom("a", "b", "c"), { maxLength: 5 }),
        FastCheck.nat(5),
        (keys, cut) => {
          const count = Skill.make("count", {
            description: "d",
            parameters: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
            handler: (params) => Effect.succeed(Object.keys(params).toSorted().join(""))
          })
          type Open = SkillPipeline.Pipeline<Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>, any>
          const of = (keys: ReadonlyArray<string>): Open =>
            keys.reduce(
              (pipeline: Open, as) => SkillPipeline.stage(pipeline, count, { as }) as Open,
              SkillPipeline.make("p", about)
            )
          const flat = of(keys)
          const grouped = SkillPipeline.make("g", about).pipe(
            SkillPipeline.stage(of(keys.slice(0, cut))),
            SkillPipeline.stage(of(keys.slice(cut)))
          )
          const run = (skill: Open) => Effect.runSync(SkillRuns.make()(skill, { x: 1 }))
          assert.deepStrictEqual(run(grouped as Open), run(flat))
        }
      )
    ))
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as SkillChain from "../../../src/skill/compose/SkillChain.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillNotFoundError, SkillValidationError } from "../../../src/skill/definition/SkillError.js"
import * as SkillRuns from "../../support/SkillRuns.js"

const about = { description: "d" }

const search = Skill.make("search", {
  description: "d",
  parameters: { query: Schema.String },
  returns: Schema.Struct({ hits: Schema.Array(Schema.String), query: Schema.String }),
  permissions: ["web"],
  handler: ({ query }) => Effect.succeed({ hits: [`${query} 1`, `${query} 2`], query })
})
const join = Skill.make("join", {
  description: "d",
  parameters: { texts: Schema.Array(Schema.String) },
  returns: Schema.String,
  permissions: ["text"],
  handler: ({ texts }) => Effect.succeed(texts.join("+"))
})
const shout = Skill.make("shout", {
  description: "d",
  parameters: { output: Schema.String },
  returns: Schema.Struct({ text: Schema.String }),
  handler: ({ output }) => Effect.succeed({ text: output.toUpperCase() })
})
const failing = Skill.make("failing", {
  description: "d",
  parameters: { output: Schema.String },
  handler: () => Effect.fail("no" as const)
})

const chain = SkillChain.make("chain", about, search).pipe(
  SkillChain.andThen(join, { rename: { hits: "texts" } }),
  SkillChain.andThen(shout)
)

/** Skills over maps of three keys, by small programs: for laws. */
type Op = readonly ["drop" | "add" | "text" | "fail", string]
const op = FastCheck.tuple(
  FastCheck.constantFrom("drop" as const, "add" as const, "text" as const, "fail" as const),
  FastCheck.constantFrom("a", "b", "__proto__")
)
const rename = FastCheck.dictionary(
  FastCheck.constantFrom("a", "b", "output", "__proto__"),
  FastCheck.constantFrom("a", "b", "c", "__proto__")
)
const skillOf = ([kind, key]: Op, index: number): Skill.Any =>
  Skill.fromJsonSchema(`s${index}`, {
    description: "d",
    parameters: { type: "object" },
    handler: (params): Effect.Effect<unknown, string> => {
      switch (kind) {
        case "drop":
          return Effect.succeed(Object.fromEntries(Object.entries(params).filter(([name]) => name !== key)))
        case "add":
          return Effect.succeed(Object.fromEntries([...Object.entries(params), [key, `${index}`]]))
        case "text":
          return Effect.succeed(`${index} of ${JSON.stringify(params)}`)
        case "fail":
          return Object.hasOwn(params, key) ? Effect.fail(`${index}`) : Effect.succeed(params)
      }
    }
  })

describe("SkillChain", () => {
  it.effect("passes each result to the next skill under its new names", () =>
    Effect.gen(function* () {
      const run = SkillRuns.make()
      assert.deepStrictEqual(yield* run(chain, { query: "a" }), { text: "A 1+A 2" })
      assert.deepStrictEqual(yield* run(SkillChain.make("c", about, join, shout), { texts: ["x"] }), { text: "X" })
    })
  )

  it.effect("is a skill: permissions of all, parameters of the first, result of the last, and nests", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(chain.definition.permissions, ["web", "text"])
      assert.deepStrictEqual(chain.definition.parametersSchema, search.definition.parametersSchema)
      assert.deepStrictEqual(chain.definition.returnsSchema, shout.definition.returnsSchema)
      assert.deepStrictEqual(chain.erased.uses, [search, join, shout])
      assert.isUndefined(chain.problem)
      const outer = SkillChain.make("outer", about, chain).pipe(
        SkillChain.andThen(search, { rename: { text: "query" } })
      )
      const run = SkillRuns.make()
      assert.deepStrictEqual((yield* run(outer, { query: "a" })).query, "A 1+A 2")
    })
  )

  it.effect("stops at the first failure", () =>
    Effect.gen(function* () {
      let reached = 0
      const next = Skill.make("next", {
        description: "d",
        handler: () => Effect.sync(() => void reached++)
      })
      const error = yield* Effect.flip(
        SkillRuns.make()(SkillChain.make("c", about, join, failing, next), { texts: [] })
      )
      assert.strictEqual(error, "no")
      assert.strictEqual(reached, 0)
    })
  )

  it.effect("passes JSON to skills known by name, which check it themselves", () =>
    Effect.gen(function* () {
      const day = Skill.make("day", {
        description: "d",
        parameters: { at: Schema.Date },
        returns: Schema.Struct({ next: Schema.Date }),
        handler: ({ at }) => Effect.succeed({ next: new Date(at.getTime() + 86_400_000) })
      })
      const named = SkillChain.fromList("named", about, [{ skill: "day" }, { skill: "day", rename: { next: "at" } }])
      const run = SkillRuns.make(day)
      assert.deepStrictEqual(yield* run(named, { at: "1970-01-01T00:00:00.000Z" }), {
        next: "1970-01-03T00:00:00.000Z"
      })
      // From the typed to the named and back.
      const mixed = SkillChain.make("mixed", about, day).pipe(
        SkillChain.andThen(Skill.ref("day"), { rename: { next: "at" } }),
        SkillChain.andThen(day, { rename: { next: "at" } })
      )
      assert.deepStrictEqual(yield* run(mixed, { at: new Date(0) }), { next: new Date(3 * 86_400_000) })
      const error = yield* Effect.flip(run(SkillChain.fromList("bad", about, ["day", "day"]), { at: "1970-01-01" }))
      assert.instanceOf(error, SkillValidationError)
      const unknown = yield* Effect.flip(run(SkillChain.fromList("bad", about, ["nobody"]), {}))
      assert.instanceOf(unknown, SkillNotFoundError)
    })
  )

  it.effect("decodes the result of a reference by the schema of the next skill", () =>
    Effect.gen(function* () {
      const number = Skill.make("number", {
        description: "d",
        returns: Schema.Number,
        handler: () => Effect.succeed(1)
      })
      const error = yield* Effect.flip(
        SkillRuns.make(number)(SkillChain.make("c", about, Skill.ref("number"), shout), {})
      )
      assert.instanceOf(error, SkillValidationError)
      assert.strictEqual((error as SkillValidationError).skillName, "shout")
    })
  )

  it.effect("treats the result of a reference as JSON, even when it looks typed", () =>
    Effect.gen(function* () {
      const text = Schema.Struct({ text: Schema.StringFromBase64 })
      const same = Skill.make("same", {
        description: "d",
        parameters: text.fields,
        returns: text,
        handler: Effect.succeed
      })
      const run = SkillRuns.make(same)
      const chain = SkillChain.make("c", about, Skill.ref("same"), same)
      assert.deepStrictEqual(yield* run(chain, { text: "aGk=" }), { text: "hi" })
      assert.deepStrictEqual(yield* run(SkillChain.make("c", about, same, same), { text: "aGk=" }), { text: "aGk=" })
    })
  )

  it.effect("takes and returns JSON by name", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* SkillRuns.call(chain, { query: "a" }), { text: "A 1+A 2" })
      assert.instanceOf(yield* Effect.flip(SkillRuns.call(chain, { query: 1 })), SkillValidationError)
    })
  )

  it("is unusable with an unusable skill", () => {
    const broken = Skill.make("", { description: "d", handler: () => Effect.void })
    assert.strictEqual(SkillChain.make("c", about, broken).problem, broken.problem)
  })

  it("is associative", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.tuple(op, op, op),
        FastCheck.tuple(rename, rename),
        FastCheck.dictionary(FastCheck.constantFrom("a", "b", "c", "__proto__"), FastCheck.string()),
        (ops, [second, third], params) => {
          const [a, b, c] = ops.map(skillOf) as [any, any, any]
          const one = SkillChain.make(
            "l",
            about,
            SkillChain.andThen(SkillChain.make("ab", about, a), b, { rename: second })
          )
          const left = SkillChain.andThen(one, c, { rename: third })
          const bc = SkillChain.andThen(SkillChain.make("bc", about, b), c, { rename: third })
          const right = SkillChain.andThen(SkillChain.make("r", about, a), bc, { rename: second })
          const flat = SkillChain.make("f", about, a).pipe(
            SkillChain.andThen(b, { rename: second }),
            SkillChain.andThen(c, { rename: third })
          )
          const of = (skill: Skill.Any) =>
            Effect.runSync(Effect.either(SkillRuns.make()(skill as Skill.Skill<unknown, unknown, unknown>, params)))
          assert.deepStrictEqual(of(left), of(flat))
          assert.deepStrictEqual(of(right), of(flat))
          assert.deepStrictEqual(left.definition.parametersSchema, right.definition.parametersSchema)
        }
      )
    ))

  it("equals its only skill, and ignores an identity skill", () =>
    FastCheck.assert(
      FastCheck.property(
        op,
        FastCheck.dictionary(FastCheck.constantFrom("a", "b"), FastCheck.string()),
        (one, params) => {
          const skill = skillOf(one, 0) as Skill.Skill<unknown, unknown, unknown>
          const identity = Skill.fromJsonSchema("identity", {
            description: "d",
            parameters: { type: "object" },
            handler: Effect.succeed
          })
          const of = (chain: Skill.Any) =>
            Effect.runSync(Effect.either(SkillRuns.make()(chain as Skill.Skill<unknown, unknown, unknown>, params)))
          assert.deepStrictEqual(of(SkillChain.make("c", about, skill)), of(skill))
          assert.deepStrictEqual(of(SkillChain.make("c", about, identity as any, skill)), of(skill))
          const after = of(SkillChain.make("c", about, skill, identity as any))
          const alone = Either.map(of(skill), (result) => (typeof result === "string" ? { output: result } : result))
          assert.deepStrictEqual(after, alone)
        }
      )
    ))

  it.effect("does not overflow the stack for a long chain", () =>
    Effect.gen(function* () {
      const plus = Skill.make("plus", {
        description: "d",
        parameters: { output: Schema.Number },
        handler: ({ output }) => Effect.succeed(output + 1)
      })
      const long = SkillChain.make("long", about, plus, ...(new Array(2_000).fill(plus) as []))
      assert.strictEqual(
        yield* SkillRuns.make()(long as Skill.Skill<{ readonly output: number }, unknown, unknown>, { output: 0 }),
        2_001
      )
    })
  )
})

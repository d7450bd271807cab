import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { expectTypeOf, test } from "vitest"
import * as SkillChain from "../../../src/skill/compose/SkillChain.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type { SkillError } from "../../../src/skill/definition/SkillError.js"

class Web extends Context.Tag("Web")<Web, { readonly get: Effect.Effect<ReadonlyArray<string>, Down> }>() {}
class Down extends Data.TaggedError("Down")<{}> {}
class Empty extends Data.TaggedError("Empty")<{}> {}

const about = { description: "d" }
const search = Skill.make("search", {
  description: "d",
  parameters: { query: Schema.String },
  handler: () =>
    Effect.map(
      Effect.flatMap(Web, (web) => web.get),
      (hits) => ({ hits, total: 1 })
    )
})
const summarize = Skill.make("summarize", {
  description: "d",
  parameters: { texts: Schema.Array(Schema.String) },
  handler: () => Effect.as(new Empty(), "")
})
const shout = Skill.make("shout", {
  description: "d",
  parameters: { output: Schema.String, loud: Schema.optional(Schema.Boolean) },
  handler: ({ output }) => Effect.succeed({ texts: [output] })
})
const raw = Skill.fromJsonSchema("raw", { description: "d", handler: () => Effect.succeed(1 as unknown) })
const ref = Skill.ref("ref")

test("has the parameters of the first, the result of the last, and the failures and requirements of all", () => {
  expectTypeOf(SkillChain.make("c", about, summarize, shout, summarize, shout)).toEqualTypeOf<
    SkillChain.Chain<{ readonly texts: ReadonlyArray<string> }, { texts: Array<string> }, Empty | SkillError, never>
  >()
  expectTypeOf(
    SkillChain.make("c", about, search).pipe(SkillChain.andThen(summarize, { rename: { hits: "texts" } }))
  ).toEqualTypeOf<SkillChain.Chain<{ readonly query: string }, string, Down | Empty | SkillError, Web>>()
  expectTypeOf(
    SkillChain.andThen(SkillChain.make("c", about, search), summarize, { rename: { hits: "texts" } })
  ).toEqualTypeOf<SkillChain.Chain<{ readonly query: string }, string, Down | Empty | SkillError, Web>>()
})

test("is a skill", () => {
  const chain = SkillChain.make("c", about, SkillChain.make("d", about, summarize, shout), summarize)
  expectTypeOf(chain).toMatchTypeOf<
    Skill.Skill<{ readonly texts: ReadonlyArray<string> }, string, Empty | SkillError>
  >()
  expectTypeOf<Skill.ParamsOf<typeof chain>>().toEqualTypeOf<{ readonly texts: ReadonlyArray<string> }>()
})

test("rejects steps that do not fit", () => {
  // @ts-expect-error `query`, not `texts`
  SkillChain.make("c", about, shout, search)
  // @ts-expect-error the second to the third
  SkillChain.make("c", about, summarize, shout, shout)
  // @ts-expect-error the names differ
  SkillChain.make("c", about, search).pipe(SkillChain.andThen(summarize))
  // @ts-expect-error `total` is a number
  SkillChain.make("c", about, search).pipe(SkillChain.andThen(summarize, { rename: { total: "texts" } }))
  // @ts-expect-error there is no `hit`
  SkillChain.make("c", about, search).pipe(SkillChain.andThen(summarize, { rename: { hit: "texts", hits: "texts" } }))
  // @ts-expect-error there is no parameter `text`
  SkillChain.make("c", about, search).pipe(SkillChain.andThen(summarize, { rename: { hits: "text" } }))
  // @ts-expect-error data-first
  SkillChain.andThen(SkillChain.make("c", about, search), summarize, { rename: { total: "texts" } })
  // @ts-expect-error the renamed key is gone
  SkillChain.make("c", about, summarize).pipe(SkillChain.andThen(shout, { rename: { output: "loud" } }))
  // @ts-expect-error no skill at all
  SkillChain.make("c", about)
  // @ts-expect-error no step at all
  SkillChain.fromList("c", about, [])
})

test("names a value that is not a map `output`, which can be renamed", () => {
  const say = Skill.make("say", {
    description: "d",
    parameters: { text: Schema.String },
    handler: () => Effect.succeed(new Date())
  })
  const when = Skill.make("when", {
    description: "d",
    parameters: { output: Schema.Date },
    handler: () => Effect.succeed([1])
  })
  const sum = Skill.make("sum", {
    description: "d",
    parameters: { output: Schema.Array(Schema.Number) },
    handler: () => Effect.succeed(1)
  })
  expectTypeOf(
    SkillChain.make("c", about, summarize).pipe(
      SkillChain.andThen(say, { rename: { output: "text" } }),
      SkillChain.andThen(when),
      SkillChain.andThen(sum)
    )
  ).toEqualTypeOf<SkillChain.Chain<{ readonly texts: ReadonlyArray<string> }, number, Empty | SkillError, never>>()
})

test("accepts anything for references and raw skills", () => {
  expectTypeOf(SkillChain.make("c", about, ref, search, ref, summarize)).toEqualTypeOf<
    SkillChain.Chain<unknown, string, Down | Empty | SkillError, Web>
  >()
  expectTypeOf(
    SkillChain.make("c", about, ref).pipe(
      SkillChain.andThen(raw, { rename: { a: "b" } }),
      SkillChain.andThen(summarize, { rename: { a: "b" } })
    )
  ).toEqualTypeOf<SkillChain.Chain<unknown, string, Empty | SkillError, never>>()
  expectTypeOf(SkillChain.make("c", about, search, raw)).toEqualTypeOf<
    SkillChain.Chain<{ readonly query: string }, unknown, Down | SkillError, Web>
  >()
  expectTypeOf(SkillChain.fromList("c", about, ["a", { skill: "b", rename: { x: "y" } }])).toEqualTypeOf<
    SkillChain.Chain<unknown, unknown, SkillError, never>
  >()
})

test("rejects an optional key as a required parameter", () => {
  const maybe = Skill.make("maybe", {
    description: "d",
    handler: () => Effect.succeed<{ readonly output?: string }>({})
  })
  // @ts-expect-error it may be absent
  SkillChain.make("c", about, maybe, shout)
})

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { expectTypeOf, test } from "vitest"
import type * as ModelRouter from "../../../src/llm/ModelRouter.js"
import * as ConditionalSkill from "../../../src/skill/compose/ConditionalSkill.js"
import * as ParallelSkills from "../../../src/skill/compose/ParallelSkills.js"
import * as SkillCombinators from "../../../src/skill/compose/SkillCombinators.js"
import * as SkillModelRouter from "../../../src/skill/compose/SkillModelRouter.js"
import * as SkillPipeline from "../../../src/skill/compose/SkillPipeline.js"
import * as SkillRouter from "../../../src/skill/compose/SkillRouter.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type { SkillError } from "../../../src/skill/definition/SkillError.js"

class Web extends Context.Tag("Web")<Web, { readonly get: Effect.Effect<ReadonlyArray<string>, Down> }>() {}
class Flags extends Context.Tag("Flags")<Flags, { readonly on: Effect.Effect<boolean, NoFlag> }>() {}
class Down extends Data.TaggedError("Down")<{}> {}
class Empty extends Data.TaggedError("Empty")<{}> {}
class NoFlag extends Data.TaggedError("NoFlag")<{}> {}

interface Text {
  readonly text: string
}
interface Sized {
  readonly size: number
}

const about = { description: "d" }
const words = Skill.make("words", {
  description: "d",
  parameters: { text: Schema.String },
  handler: ({ text }): Effect.Effect<number, Empty> => (text === "" ? new Empty() : Effect.succeed(1))
})
const search = Skill.make("search", {
  description: "d",
  parameters: { text: Schema.String, limit: Schema.Number },
  handler: () =>
    Effect.map(
      Effect.flatMap(Web, (web) => web.get),
      (hits) => ({ hits })
    )
})
const ref = Skill.ref("ref")
const textSchema = Schema.Struct({ text: Schema.String, limit: Schema.Number })

test("combines the parameters of parallel skills and returns results under their keys", () => {
  const all = ParallelSkills.all("p", { ...about, skills: { words, search, ref } })
  expectTypeOf<Skill.ResultOf<typeof all>>().toEqualTypeOf<{
    readonly words: number
    readonly search: { hits: ReadonlyArray<string> }
    readonly ref: unknown
  }>()
  expectTypeOf<Skill.ErrorOf<typeof all>>().toEqualTypeOf<Empty | Down | SkillError>()
  expectTypeOf<Skill.ServicesOf<typeof all>>().toEqualTypeOf<Web>()
  expectTypeOf<{ readonly text: string; readonly limit: number }>().toMatchTypeOf<Skill.ParamsOf<typeof all>>()
  expectTypeOf<{ readonly text: string }>().not.toMatchTypeOf<Skill.ParamsOf<typeof all>>()
})

test("returns results of a list under names known only at run time", () => {
  const all = ParallelSkills.all("p", { ...about, skills: [words, search] })
  expectTypeOf<Skill.ResultOf<typeof all>>().toEqualTypeOf<{
    readonly [name: string]: number | { hits: ReadonlyArray<string> }
  }>()
  expectTypeOf<Skill.ErrorOf<typeof all>>().toEqualTypeOf<Empty | Down | SkillError>()
})

test("never fails with collect, and types results and failures", () => {
  const collected = ParallelSkills.collect("p", { ...about, skills: { words, search } })
  expectTypeOf<Skill.ErrorOf<typeof collected>>().toEqualTypeOf<never>()
  type Result = Skill.ResultOf<typeof collected>
  expectTypeOf<Result["outputs"]["words"]>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Result["errors"]["words"]>().toEqualTypeOf<Empty | SkillError | undefined>()
  expectTypeOf<Result["errors"]["search"]>().toEqualTypeOf<Down | SkillError | undefined>()
})

test("makes each result of a quorum optional", () => {
  const some = ParallelSkills.quorum("p", { ...about, skills: { words, search }, count: 1 })
  expectTypeOf<Skill.ResultOf<typeof some>["words"]>().toEqualTypeOf<number | undefined>()
  expectTypeOf<Skill.ErrorOf<typeof some>>().toEqualTypeOf<Empty | Down | SkillError>()
  // @ts-expect-error how many?
  ParallelSkills.quorum("p", { ...about, skills: { words, search } })
})

test("passes the parameters to the confirmation of parallel skills", () => {
  ParallelSkills.all("p", {
    ...about,
    skills: { words },
    requiresConfirmation: (params) => {
      expectTypeOf(params).toEqualTypeOf<{ readonly text: string }>()
      return params.text === ""
    }
  })
})

test("extends the context of a pipeline", () => {
  const pipeline = SkillPipeline.make("p", { ...about, parameters: textSchema }).pipe(
    SkillPipeline.stage(words, { as: "count" }),
    SkillPipeline.stage(search, {
      input: (context) => {
        expectTypeOf(context).toEqualTypeOf<{
          readonly text: string
          readonly limit: number
          readonly count: number
        }>()
        return { text: context.text, limit: context.count }
      }
    }),
    SkillPipeline.stage(ref, { as: "more" })
  )
  expectTypeOf<Skill.ParamsOf<typeof pipeline>>().toEqualTypeOf<{ readonly text: string; readonly limit: number }>()
  expectTypeOf<Skill.ResultOf<typeof pipeline>>().toEqualTypeOf<{
    readonly text: string
    readonly limit: number
    readonly count: number
    readonly hits: ReadonlyArray<string>
    readonly more: unknown
  }>()
  expectTypeOf<Skill.ErrorOf<typeof pipeline>>().toEqualTypeOf<Empty | Down | SkillError>()
  expectTypeOf<Skill.ServicesOf<typeof pipeline>>().toEqualTypeOf<Web>()
  expectTypeOf(SkillPipeline.stage(SkillPipeline.make("p", { ...about, parameters: textSchema }), words)).toMatchTypeOf<
    Skill.Skill<
      { readonly text: string; readonly limit: number },
      { readonly output: number; readonly text: string },
      unknown
    >
  >()
})

test("rejects what the context lacks", () => {
  const start = SkillPipeline.make("p", { ...about, parameters: Schema.Struct({ text: Schema.String }) })
  // @ts-expect-error there is no limit
  start.pipe(SkillPipeline.stage(search))
  // @ts-expect-error a text is no limit
  start.pipe(SkillPipeline.stage(search, { input: ({ text }) => ({ text, limit: text }) }))
  // @ts-expect-error there is no such key
  start.pipe(SkillPipeline.stage(words, { input: ({ tex }) => ({ text: tex }) }))
  // @ts-expect-error the text is a number from then on
  start.pipe(SkillPipeline.stage(words, { as: "text" }), SkillPipeline.stage(words))
  // @ts-expect-error a schema of another context
  start.pipe(SkillPipeline.stage(words, { as: "n" }), SkillPipeline.returns(Schema.Struct({ n: Schema.String })))
  start.pipe(
    SkillPipeline.stage(words, { as: "n" }),
    SkillPipeline.returns(Schema.Struct({ text: Schema.String, n: Schema.Number }))
  )
})

test("makes the context unknown when an unknown result is merged", () => {
  const pipeline = SkillPipeline.make("p", { ...about, parameters: textSchema }).pipe(SkillPipeline.stage(ref))
  expectTypeOf<Skill.ResultOf<typeof pipeline>>().toEqualTypeOf<Readonly<Record<string, unknown>>>()
  pipeline.pipe(SkillPipeline.stage(search), SkillPipeline.stage(words, { as: "x" }))
})

test("keeps the previous type for an optional key that may be merged", () => {
  const maybe = Skill.make("maybe", { description: "d", handler: () => Effect.succeed<{ readonly text?: number }>({}) })
  const pipeline = SkillPipeline.make("p", { ...about, parameters: textSchema }).pipe(SkillPipeline.stage(maybe))
  expectTypeOf<Skill.ResultOf<typeof pipeline>["text"]>().toEqualTypeOf<string | number>()
})

test("passes its parameters to a router, which is the sum of its routes", () => {
  const router = SkillRouter.make("r", { ...about, parameters: textSchema }).pipe(
    SkillRouter.route(({ limit }) => limit > 1, words),
    SkillRouter.route(() => Effect.flatMap(Flags, (flags) => flags.on), search),
    SkillRouter.route(({ text }) => text === "", ref)
  )
  expectTypeOf<Skill.ParamsOf<typeof router>>().toEqualTypeOf<{ readonly text: string; readonly limit: number }>()
  expectTypeOf<Skill.ErrorOf<typeof router>>().toEqualTypeOf<Empty | Down | SkillError>()
  expectTypeOf<Skill.ServicesOf<typeof router>>().toEqualTypeOf<Web | Flags>()
  const two = SkillRouter.make("r", { ...about, parameters: textSchema }).pipe(
    SkillRouter.route(({ limit }) => limit > 1, words),
    SkillRouter.orElse(search)
  )
  expectTypeOf<Skill.ResultOf<typeof two>>().toEqualTypeOf<number | { hits: ReadonlyArray<string> }>()
})

test("narrows the input of a route's skill by a guard", () => {
  const either = Schema.Union(
    Schema.Struct({ kind: Schema.Literal("text"), text: Schema.String }),
    Schema.Struct({ kind: Schema.Literal("size"), size: Schema.Number })
  )
  type Either = typeof either.Type
  const isText = (params: Either): params is Extract<Either, Text> => params.kind === "text"
  const router = SkillRouter.make("r", { ...about, parameters: either })
  router.pipe(SkillRouter.route(isText, words))
  router.pipe(SkillRouter.route((params) => params.kind === "text", words))
  SkillRouter.route(router, isText, words)
  // @ts-expect-error a size is no text
  router.pipe(SkillRouter.route((params: Either): params is Extract<Either, Sized> => params.kind === "size", words))
  // @ts-expect-error a boolean narrows nothing
  router.pipe(SkillRouter.route((params: Either): boolean => params.kind === "text", words))
  // @ts-expect-error nor does an else
  router.pipe(SkillRouter.orElse(words))
  const sizes = Skill.make("sizes", {
    description: "d",
    parameters: { size: Schema.Number },
    handler: () => Effect.succeed("size")
  })
  expectTypeOf(
    ConditionalSkill.make("c", { ...about, parameters: either, condition: isText, ifTrue: words, ifFalse: sizes })
  ).toEqualTypeOf<Skill.Skill<Either, number | string, Empty | SkillError>>()
  // @ts-expect-error the wrong way round
  ConditionalSkill.make("c", { ...about, parameters: either, condition: isText, ifTrue: sizes, ifFalse: words })
})

test("accepts any map in a router without parameters", () => {
  const router = SkillRouter.make("r", about).pipe(SkillRouter.route((params) => params["x"] === 1, ref))
  expectTypeOf<Skill.ParamsOf<typeof router>>().toEqualTypeOf<Readonly<Record<string, unknown>>>()
})

test("combines the parameters of a conditional skill, whose result is an Option without the second", () => {
  const both = ConditionalSkill.make("c", {
    ...about,
    condition: ({ limit, text }) => text.length > limit,
    ifTrue: words,
    ifFalse: search
  })
  expectTypeOf<Skill.ResultOf<typeof both>>().toEqualTypeOf<number | { hits: ReadonlyArray<string> }>()
  expectTypeOf<Skill.ErrorOf<typeof both>>().toEqualTypeOf<Empty | Down | SkillError>()
  expectTypeOf(
    ConditionalSkill.make("c", {
      ...about,
      condition: ({ text }) => (text === "" ? Effect.flatMap(Flags, (flags) => flags.on) : Effect.succeed(true)),
      ifTrue: words
    })
  ).toEqualTypeOf<Skill.Skill<{ readonly text: string }, Option.Option<number>, Empty | NoFlag | SkillError, Flags>>()
})

test("combinators", () => {
  type Params = { readonly text: string }
  expectTypeOf(words.pipe(SkillCombinators.retry())).toEqualTypeOf<Skill.Skill<Params, number, Empty | SkillError>>()
  expectTypeOf(
    words.pipe(
      SkillCombinators.retry({
        while: (error) => {
          expectTypeOf(error).toEqualTypeOf<Empty | SkillError>()
          return error._tag === "Empty"
        }
      })
    )
  ).toEqualTypeOf<Skill.Skill<Params, number, Empty | SkillError>>()
  expectTypeOf(
    SkillCombinators.retry(words, {
      schedule: Schedule.recurWhileEffect(() => Effect.map(Flags, () => true))
    })
  ).toEqualTypeOf<Skill.Skill<Params, number, Empty | SkillError, Flags>>()
  expectTypeOf(words.pipe(SkillCombinators.withTimeout("1 second"))).toEqualTypeOf<
    Skill.Skill<Params, number, Empty | SkillError>
  >()
  expectTypeOf(words.pipe(SkillCombinators.map((count) => count > 1))).toEqualTypeOf<
    Skill.Skill<Params, boolean, Empty | SkillError>
  >()
  expectTypeOf(SkillCombinators.map(words, String, Schema.String)).toEqualTypeOf<
    Skill.Skill<Params, string, Empty | SkillError>
  >()
  // @ts-expect-error a number is no string
  SkillCombinators.map(words, (count) => count, Schema.String)
  expectTypeOf(
    words.pipe(SkillCombinators.mapParams(Schema.Struct({ title: Schema.String }), ({ title }) => ({ text: title })))
  ).toEqualTypeOf<Skill.Skill<{ readonly title: string }, number, Empty | SkillError>>()
  // @ts-expect-error `text`, not `title`
  SkillCombinators.mapParams(words, Schema.Struct({ title: Schema.String }), ({ title }) => ({ title }))
})

test("keeps the failures of the last alternative", () => {
  const safe = SkillCombinators.fallback(search, words)
  expectTypeOf<Skill.ErrorOf<typeof safe>>().toEqualTypeOf<Empty | SkillError>()
  expectTypeOf<Skill.ResultOf<typeof safe>>().toEqualTypeOf<number | { hits: ReadonlyArray<string> }>()
  expectTypeOf<Skill.ServicesOf<typeof safe>>().toEqualTypeOf<Web>()
  const raced = SkillCombinators.race(search, words)
  expectTypeOf<Skill.ErrorOf<typeof raced>>().toEqualTypeOf<Empty | Down | SkillError>()
  // @ts-expect-error nobody
  SkillCombinators.race()
})

test("makes parameters of results in a loop", () => {
  const grow = Skill.make("grow", {
    description: "d",
    parameters: { size: Schema.Number },
    handler: ({ size }) => Effect.succeed({ grown: size + 1 })
  })
  expectTypeOf(
    grow.pipe(
      SkillCombinators.loopUntil({
        until: ({ grown }) => grown > 3,
        next: ({ grown }, round) => ({ size: grown + round })
      })
    )
  ).toEqualTypeOf<Skill.Skill<{ readonly size: number }, { grown: number }, SkillError>>()
  expectTypeOf(
    SkillCombinators.loopUntil(grow, {
      until: () => Effect.flatMap(Flags, (flags) => flags.on),
      next: ({ grown }) => ({ size: grown })
    })
  ).toEqualTypeOf<Skill.Skill<{ readonly size: number }, { grown: number }, NoFlag | SkillError, Flags>>()
  // @ts-expect-error `size`
  SkillCombinators.loopUntil(grow, { until: () => true, next: ({ grown }) => ({ grown }) })
})

test("requires a model in a router by a model, which is the sum of its routes", () => {
  const router = SkillModelRouter.make("r", {
    ...about,
    routes: { words, found: { skill: search, description: "d" } },
    input: ({ limit, text }) => text.slice(0, limit)
  })
  expectTypeOf<Skill.ResultOf<typeof router>>().toEqualTypeOf<number | { hits: ReadonlyArray<string> }>()
  expectTypeOf<Skill.ErrorOf<typeof router>>().toEqualTypeOf<Empty | Down | SkillError>()
  expectTypeOf<Skill.ServicesOf<typeof router>>().toEqualTypeOf<Web | ModelRouter.ModelRouter>()
  expectTypeOf<{ readonly text: string; readonly limit: number }>().toMatchTypeOf<Skill.ParamsOf<typeof router>>()
  const safe = SkillModelRouter.make("r", { ...about, parameters: textSchema, routes: { words }, fallback: ref })
  expectTypeOf<Skill.ParamsOf<typeof safe>>().toEqualTypeOf<{ readonly text: string; readonly limit: number }>()
  expectTypeOf<Skill.ResultOf<typeof safe>>().toEqualTypeOf<unknown>()
  const texts = Schema.Struct({ text: Schema.String })
  // @ts-expect-error there is no limit
  SkillModelRouter.make("r", { ...about, parameters: texts, routes: { words, search } })
  // @ts-expect-error nor for the fallback
  SkillModelRouter.make("r", { ...about, parameters: texts, routes: { words }, fallback: search })
})

import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as SkillRouter from "../../../src/skill/compose/SkillRouter.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import { SkillRoutingError, SkillValidationError } from "../../../src/skill/definition/SkillError.js"
import * as SkillRuns from "../../support/SkillRuns.js"

const about = { description: "d", parameters: Schema.Struct({ text: Schema.String }) }

const named = (name: string, permissions: ReadonlyArray<string> = []) =>
  Skill.make(name, {
    description: "d",
    parameters: { text: Schema.String },
    returns: Schema.String,
    permissions,
    handler: ({ text }) => Effect.succeed(`${name}: ${text}`)
  })

const a = named("a", ["x"])
const b = named("b", ["x", "y"])
const c = named("c")

class Flag extends Context.Tag("Flag")<Flag, boolean>() {}

/** What the log says meanwhile. */
const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    const logger = Logger.make(({ annotations, logLevel, message }) => {
      lines.push(JSON.stringify([logLevel.label, message, Object.fromEntries(HashMap.toEntries(annotations))]))
    })
    return Effect.map(Effect.provide(effect, Logger.replace(Logger.defaultLogger, logger)), (result) => ({
      result,
      lines
    }))
  })

describe("SkillRouter", () => {
  const router = SkillRouter.make("router", about).pipe(
    SkillRouter.route(({ text }) => text.includes("a"), a),
    SkillRouter.route(({ text }) => text.includes("b"), b)
  )

  it.effect("executes the first route whose condition holds", () =>
    Effect.gen(function* () {
      const run = SkillRuns.make()
      assert.strictEqual(yield* run(router, { text: "ba" }), "a: ba")
      assert.strictEqual(yield* run(router, { text: "b" }), "b: b")
    })
  )

  it.effect("fails when no route fits and there is no fallback", () =>
    Effect.gen(function* () {
      const run = SkillRuns.make()
      assert.instanceOf(yield* Effect.flip(run(router, { text: "" })), SkillRoutingError)
      assert.instanceOf(yield* Effect.flip(run(SkillRouter.make("r", about), { text: "" })), SkillRoutingError)
      assert.strictEqual(yield* run(SkillRouter.orElse(router, c), { text: "" }), "c: ")
      assert.strictEqual(yield* run(SkillRouter.make("r", about).pipe(SkillRouter.orElse(c)), { text: "" }), "c: ")
    })
  )

  it.effect("skips a route whose condition throws, fails or dies, and logs it without parameters", () =>
    Effect.gen(function* () {
      const conditions: ReadonlyArray<Parameters<typeof SkillRouter.route>[1]> = []
      assert.isEmpty(conditions)
      const throwing = SkillRouter.make("router", about).pipe(
        SkillRouter.route(({ text }) => {
          throw new Error(text)
        }, a),
        SkillRouter.route(({ text }) => Effect.fail({ _tag: "Down", text }), a),
        SkillRouter.route(({ text }) => Effect.die(text), b),
        SkillRouter.route(() => true, c)
      )
      const { lines, result } = yield* logged(SkillRuns.make()(throwing, { text: "sk-secret" }))
      assert.strictEqual(result, "c: sk-secret")
      assert.lengthOf(lines, 3)
      for (const line of lines) assert.notInclude(line, "sk-secret")
      for (const line of lines) assert.include(line, "WARN")
      assert.include(lines[1] as string, "Down")
      assert.include(lines[2] as string, `"route":"b"`)
    })
  )

  it.effect("accepts a condition that is an Effect with requirements", () =>
    Effect.gen(function* () {
      const flagged = SkillRouter.make("router", about).pipe(
        SkillRouter.route(() => Flag, a),
        SkillRouter.orElse(c)
      )
      const run = (flag: boolean) => Effect.provideService(SkillRuns.make()(flagged, { text: "" }), Flag, flag)
      assert.strictEqual(yield* run(true), "a: ")
      assert.strictEqual(yield* run(false), "c: ")
    })
  )

  it.effect("passes on the interruption of a condition", () =>
    Effect.gen(function* () {
      const interrupted = SkillRouter.make("router", about).pipe(
        SkillRouter.route(() => Effect.interrupt, a),
        SkillRouter.orElse(c)
      )
      assert.isTrue(Exit.isInterrupted(yield* Effect.exit(SkillRuns.make()(interrupted, { text: "" }))))
    })
  )

  it.effect("fails with the chosen skill and tries no other route", () =>
    Effect.gen(function* () {
      const failing = Skill.make("failing", { description: "d", handler: () => Effect.fail("no" as const) })
      const chosen = SkillRouter.make("router", about).pipe(
        SkillRouter.route(() => true, failing),
        SkillRouter.route(() => true, a),
        SkillRouter.orElse(c)
      )
      assert.strictEqual(yield* Effect.flip(SkillRuns.make()(chosen, { text: "" })), "no")
    })
  )

  it.effect("is a skill: permissions of all, parameters checked, references as in JSON", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(router.definition.permissions, ["x", "y"])
      assert.deepStrictEqual(router.erased.uses, [a, b])
      assert.deepStrictEqual(router.definition.returnsSchema, a.definition.returnsSchema)
      assert.instanceOf(yield* Effect.flip(SkillRuns.call(router, { text: 1 })), SkillValidationError)
      const dated = SkillRouter.make("dated", {
        description: "d",
        parameters: Schema.Struct({ at: Schema.Date })
      }).pipe(SkillRouter.route(({ at }) => at.getTime() === 0, Skill.ref("echo")))
      const echo = Skill.fromJsonSchema("echo", {
        description: "d",
        parameters: { type: "object", properties: { at: { type: "string" } } },
        handler: Effect.succeed
      })
      assert.deepStrictEqual(yield* SkillRuns.make(echo)(dated, { at: new Date(0) }), {
        at: "1970-01-01T00:00:00.000Z"
      })
    })
  )

  it.effect("shows a result by the first schema that fits", () =>
    Effect.gen(function* () {
      const date = Skill.make("date", {
        description: "d",
        returns: Schema.Struct({ at: Schema.Date }),
        handler: () => Effect.succeed({ at: new Date(0) })
      })
      const both = SkillRouter.make("both", about).pipe(
        SkillRouter.route(({ text }) => text === "a", a),
        SkillRouter.route(() => true, date)
      )
      assert.lengthOf(both.definition.returnsSchema["anyOf"] as ReadonlyArray<unknown>, 2)
      assert.strictEqual(yield* SkillRuns.call(both, { text: "a" }), "a: a")
      assert.deepStrictEqual(yield* SkillRuns.call(both, { text: "b" }), { at: "1970-01-01T00:00:00.000Z" })
      assert.deepStrictEqual(yield* both.erased.decodeResult({ at: "1970-01-01T00:00:00.000Z" }), { at: new Date(0) })
    })
  )

  it("picks exactly the first matching route and evaluates no condition after it", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(
          FastCheck.constantFrom("yes" as const, "no" as const, "throws" as const, "fails" as const, "later" as const),
          { maxLength: 8 }
        ),
        FastCheck.boolean(),
        (kinds, hasFallback) => {
          const asked: Array<number> = []
          const conditions = {
            yes: () => true,
            no: () => false,
            throws: (): boolean => {
              throw new Error("bug")
            },
            fails: () => Effect.fail("no"),
            later: () => Effect.succeed(true)
          }
          const open = kinds.reduce(
            (router, kind, index) =>
              SkillRouter.route(
                router,
                (): boolean | Effect.Effect<boolean, string> => {
                  asked.push(index)
                  return conditions[kind]()
                },
                named(`s${index}`)
              ),
            SkillRouter.make("router", about) as SkillRouter.Router<{ readonly text: string }, string, any>
          )
          const router = hasFallback ? SkillRouter.orElse(open, c) : open
          const exit = Effect.runSyncExit(
            Effect.either(
              SkillRuns.make()(router as Skill.Skill<{ readonly text: string }, unknown, unknown>, { text: "" })
            ).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
          )
          assert.isTrue(Exit.isSuccess(exit))
          const first = kinds.findIndex((kind) => kind === "yes" || kind === "later")
          const result = Exit.isSuccess(exit) ? exit.value : undefined
          if (first >= 0) assert.deepStrictEqual(result, Effect.runSync(Effect.either(Effect.succeed(`s${first}: `))))
          else assert.strictEqual(result?._tag, hasFallback ? "Right" : "Left")
          assert.deepStrictEqual(asked, Array.from(kinds.slice(0, first < 0 ? kinds.length : first + 1).keys()))
        }
      ),
      { numRuns: 60 }
    ))
})

import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import type * as Tracer from "effect/Tracer"
import * as ConditionalSkill from "../../../src/skill/compose/ConditionalSkill.js"
import * as ParallelSkills from "../../../src/skill/compose/ParallelSkills.js"
import * as SkillChain from "../../../src/skill/compose/SkillChain.js"
import * as SkillCombinators from "../../../src/skill/compose/SkillCombinators.js"
import * as SkillPipeline from "../../../src/skill/compose/SkillPipeline.js"
import * as SkillRouter from "../../../src/skill/compose/SkillRouter.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type * as SkillDefinition from "../../../src/skill/definition/SkillDefinition.js"
import {
  SkillConfirmationDeniedError,
  SkillExecutionError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillValidationError
} from "../../../src/skill/definition/SkillError.js"
import * as SkillResultCache from "../../../src/skill/execute/SkillResultCache.js"
import * as SkillResultMemory from "../../../src/skill/execute/SkillResultMemory.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as SkillRig from "./SkillRig.js"

const about = { description: "d" }
const at = new Date(0)

/** Of days, so that typed and JSON form differ. */
const counted = (name: string, traits?: SkillDefinition.Traits & SkillDefinition.Confirmation<unknown>) => {
  const state = { calls: 0 }
  const skill = Skill.make(name, {
    description: "d",
    parameters: { at: Schema.Date },
    returns: Schema.Struct({ at: Schema.Date }),
    ...traits,
    handler: ({ at }) =>
      Effect.sync(() => {
        state.calls++
        return { at: new Date(at.getTime() + 1) }
      })
  })
  return { skill, state }
}

/** Every composition of one skill and one known by its name. */
const compositions = (skill: Skill.Skill<{ readonly at: Date }, { readonly at: Date }>) => {
  const parameters = Schema.Struct({ at: Schema.Date })
  const ref = Skill.ref(skill.definition.name)
  return [
    SkillChain.make("chain", about, skill, ref),
    SkillPipeline.make("pipeline", { ...about, parameters }).pipe(SkillPipeline.stage(skill), SkillPipeline.stage(ref)),
    ParallelSkills.all("all", { ...about, skills: { skill, ref } }),
    ParallelSkills.collect("collect", { ...about, skills: { skill, ref } }),
    ParallelSkills.quorum("quorum", { ...about, skills: { skill, ref }, count: 2 }),
    SkillRouter.make("router", { ...about, parameters }).pipe(
      SkillRouter.route(() => false, ref),
      SkillRouter.orElse(skill)
    ),
    ConditionalSkill.make("conditional", { ...about, condition: () => true, ifTrue: skill, ifFalse: ref }),
    SkillCombinators.fallback(skill, ref),
    SkillCombinators.race(skill, ref),
    SkillCombinators.retry(skill),
    SkillCombinators.withTimeout(skill, 1000),
    SkillCombinators.map(skill, ({ at }) => at, Schema.Date),
    SkillCombinators.loopUntil(skill, { until: () => true, next: (result) => result })
  ] as ReadonlyArray<Skill.Skill<{ readonly at: Date }, unknown, unknown>>
}

describe("compositions under an executor", () => {
  it.effect("give the same result typed and by name, the latter as JSON", () =>
    Effect.gen(function* () {
      const { skill } = counted("day")
      for (const composite of compositions(skill)) {
        const { executor } = yield* SkillRig.make([skill, composite])
        const { name } = composite.definition
        const typed = yield* executor.run(composite, { at })
        const named = yield* executor.execute({ name, params: { at: at.toISOString() } })
        assert.strictEqual(JSON.stringify(typed.output), JSON.stringify(named.output), name)
        const wrong = yield* Effect.flip(executor.execute({ name, params: { at: 1 } }))
        assert.instanceOf(wrong, SkillValidationError, name)
      }
    })
  )

  it.effect("refuse a caller without a permission of an inner skill before executing anything", () =>
    Effect.gen(function* () {
      const { skill, state } = counted("day", { permissions: ["calendar"] })
      for (const composite of compositions(skill)) {
        const { executor } = yield* SkillRig.make([skill], { missing: ({ required }) => Effect.succeed(required) })
        const error = yield* Effect.flip(executor.run(composite, { at }, { userId: SkillRig.ann }))
        assert.instanceOf(error, SkillPermissionDeniedError)
        assert.strictEqual((error as SkillPermissionDeniedError).skillName, composite.definition.name)
      }
      assert.strictEqual(state.calls, 0)
    })
  )

  it.effect("enforce permissions and confirmation of a skill known only by name", () =>
    Effect.gen(function* () {
      const { skill, state } = counted("day", { permissions: ["calendar"], requiresConfirmation: true })
      const chain = SkillChain.fromList("chain", about, ["day"])
      const refused = yield* SkillRig.make([skill], { missing: ({ required }) => Effect.succeed(required) })
      const error = yield* Effect.flip(refused.executor.run(chain, { at: at.toISOString() }, { userId: SkillRig.ann }))
      assert.instanceOf(error, SkillPermissionDeniedError)
      assert.strictEqual((error as SkillPermissionDeniedError).skillName, "day")
      const denied = yield* SkillRig.make([skill], { decide: () => Effect.succeed(ApprovalGate.deny()) })
      const unconfirmed = yield* Effect.flip(
        denied.executor.run(chain, { at: at.toISOString() }, { userId: SkillRig.ann })
      )
      assert.instanceOf(unconfirmed, SkillConfirmationDeniedError)
      assert.deepStrictEqual(
        denied.asked.map(({ tool }) => tool),
        ["day"]
      )
      assert.strictEqual(state.calls, 0)
    })
  )

  it.effect("use the cache of an inner skill", () =>
    Effect.gen(function* () {
      const { skill, state } = counted("day", { cacheable: true })
      const cache = yield* Effect.provide(SkillResultCache.SkillResultCache, SkillResultMemory.layer())
      const { executor } = yield* SkillRig.make([skill], { cache })
      const chain = SkillChain.make("chain", about, skill)
      const first = yield* executor.run(chain, { at })
      assert.deepStrictEqual((yield* executor.run(chain, { at })).output, first.output)
      assert.strictEqual(state.calls, 1)
    })
  )

  it.effect("apply a timeout to the whole and stop the inner skills", () =>
    Effect.gen(function* () {
      let released = 0
      const hanging = Skill.make("hanging", {
        description: "d",
        timeout: "1 hour",
        handler: () =>
          Effect.ensuring(
            Effect.never,
            Effect.sync(() => void released++)
          )
      })
      const { executor } = yield* SkillRig.make([])
      const limited = ParallelSkills.collect("p", { ...about, skills: { a: hanging, b: hanging } }).pipe(
        SkillCombinators.withTimeout("5 seconds")
      )
      const fiber = yield* Effect.fork(Effect.flip(executor.run(limited, {})))
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(fiber)
      assert.instanceOf(error, SkillTimeoutError)
      assert.strictEqual((error as SkillTimeoutError).skillName, "p_timeout")
      assert.strictEqual(released, 2)
    })
  )

  it.effect("treat a crashed skill as failed, so that another one can replace it", () =>
    Effect.gen(function* () {
      const crashing = Skill.make("crashing", { description: "d", handler: () => Effect.die("bug") })
      const { executor } = yield* SkillRig.make([])
      const { skill } = counted("day")
      const safe = SkillCombinators.fallback(crashing, skill)
      assert.deepStrictEqual((yield* executor.run(safe, { at })).output, { at: new Date(1) })
      const { errors } = (yield* executor.run(ParallelSkills.collect("p", { ...about, skills: { crashing, skill } }), {
        at
      })).output
      assert.instanceOf(errors.crashing, SkillExecutionError)
    })
  )

  it.effect("keep the types of inner failures, and have the executor's by name", () =>
    Effect.gen(function* () {
      const failing = Skill.make("failing", { description: "d", handler: () => Effect.fail("no" as const) })
      const outer = SkillChain.make("outer", about, SkillChain.make("inner", about, failing))
      const { executor } = yield* SkillRig.make([outer as Skill.Skill<{}, never, unknown>])
      const error: "no" | Either.Either<never, never> | object = yield* Effect.flip(executor.run(outer, {}))
      assert.strictEqual(error, "no")
      assert.instanceOf(yield* Effect.flip(executor.execute({ name: "outer", params: {} })), SkillExecutionError)
    })
  )

  it.effect("queue skills above the concurrency limit, and nesting does not deadlock", () =>
    Effect.gen(function* () {
      let running = 0
      let most = 0
      const busy = Skill.make("busy", {
        description: "d",
        handler: () =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              most = Math.max(most, ++running)
            }),
            () => Effect.sleep("1 second"),
            () => Effect.sync(() => void running--)
          )
      })
      const { executor } = yield* SkillRig.make([], { maxConcurrent: 2 })
      const three = ParallelSkills.all("three", { ...about, skills: { a: busy, b: busy, c: busy } })
      const nested = ParallelSkills.all("nested", {
        ...about,
        skills: { x: three, y: SkillChain.make("chain", about, three) }
      })
      const fiber = yield* Effect.fork(executor.run(nested, {}))
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
      assert.strictEqual(most, 2)
    })
  )

  it.effect("give every inner execution a span below that of its parent", () =>
    Effect.gen(function* () {
      const { executor } = yield* SkillRig.make([])
      const spans: Array<readonly [name: unknown, parent: unknown]> = []
      const nameOf = (span: Tracer.AnySpan) => (span._tag === "Span" ? span.attributes.get("skill.name") : undefined)
      const seen = Skill.make("seen", {
        description: "d",
        handler: () =>
          Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
            for (let at: Tracer.AnySpan = span; at._tag === "Span" && Option.isSome(at.parent); at = at.parent.value) {
              spans.push([nameOf(at), nameOf(at.parent.value)])
            }
          })
      })
      const chain = SkillChain.make("chain", about, ParallelSkills.all("parallel", { ...about, skills: [seen] }))
      yield* executor.run(chain, {}).pipe(Effect.withSpan("outside"))
      assert.deepStrictEqual(spans.slice(0, 2), [
        ["seen", "parallel"],
        ["parallel", "chain"]
      ])
    })
  )

  it.effect("leave nothing running when interrupted", () =>
    Effect.gen(function* () {
      const counts = { acquired: 0, released: 0 }
      const holding = Skill.make("holding", {
        description: "d",
        handler: () =>
          Effect.acquireUseRelease(
            Effect.sync(() => void counts.acquired++),
            () => Effect.never,
            () => Effect.sync(() => void counts.released++)
          )
      })
      const { executor } = yield* SkillRig.make([])
      const race = SkillCombinators.race(holding, SkillCombinators.retry(holding))
      const fiber = yield* Effect.fork(
        executor.run(ParallelSkills.quorum("q", { ...about, skills: { race, holding }, count: 1 }), {})
      )
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      assert.deepStrictEqual(counts, { acquired: 3, released: 3 })
    })
  )
})

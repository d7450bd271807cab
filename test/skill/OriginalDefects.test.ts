/** What the original got wrong, each once. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import { SkillExecutedHook, SkillExecutionFailedHook } from "../../src/skill/definition/SkillHooks.js"
import * as SkillResultBackend from "../../src/skill/execute/SkillResultBackend.js"
import type * as SkillResultCache from "../../src/skill/execute/SkillResultCache.js"
import * as SkillResultMemory from "../../src/skill/execute/SkillResultMemory.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import { ann, make } from "./definition/SkillRig.js"

describe("defects of the original executor", () => {
  it.effect("applies the executor's timeout, retries and concurrency to skills without their own", () =>
    Effect.gen(function* () {
      const seen = { now: 0, most: 0, attempts: 0 }
      const hanging = Skill.make("hanging", {
        description: "d",
        handler: () =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              seen.most = Math.max(seen.most, ++seen.now)
            }),
            () => Effect.never,
            () => Effect.sync(() => void seen.now--)
          )
      })
      const losing = Skill.make("losing", {
        description: "d",
        handler: () =>
          Effect.suspend(() => {
            seen.attempts++
            return Effect.fail({ code: "ECONNRESET" })
          })
      })
      const { executor } = yield* make([hanging, losing], { timeout: "2 seconds", maxRetries: 1, maxConcurrent: 3 })
      const fibers = yield* Effect.forEach([1, 2, 3, 4, 5], () =>
        Effect.fork(Effect.flip(executor.execute({ name: "hanging", params: {} })))
      )
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(fibers[0]!))._tag, "SkillTimeoutError")
      yield* TestClock.adjust("2 seconds")
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(seen.most, 3)
      const lost = yield* Effect.fork(Effect.flip(executor.execute({ name: "losing", params: {} })))
      yield* TestClock.adjust("1 second")
      assert.include((yield* Fiber.join(lost)).message, "failed after 2 attempts")
      assert.strictEqual(seen.attempts, 2)
    })
  )

  it.effect("does not retry a timeout, whatever the number of retries", () =>
    Effect.gen(function* () {
      let begun = 0
      const skill = Skill.make("slow", {
        description: "d",
        timeout: "1 second",
        maxRetries: 5,
        handler: () =>
          Effect.suspend(() => {
            begun++
            return Effect.never
          })
      })
      const { executor } = yield* make([skill])
      const fiber = yield* Effect.fork(Effect.flip(executor.execute({ name: "slow", params: {} })))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "SkillTimeoutError")
      assert.strictEqual(begun, 1)
    })
  )

  it.effect("requires permissions without a user", () =>
    Effect.gen(function* () {
      const skill = Skill.make("closed", { description: "d", permissions: ["p"], handler: () => Effect.succeed(1) })
      const { executor } = yield* make([skill])
      assert.strictEqual(
        (yield* Effect.flip(executor.execute({ name: "closed", params: {} })))._tag,
        "SkillPermissionDeniedError"
      )
      assert.strictEqual((yield* executor.execute({ name: "closed", params: {}, userId: ann })).output, 1)
    })
  )

  it.effect("asks for a required confirmation and checks a promised result", () =>
    Effect.gen(function* () {
      const asking = Skill.make("asking", {
        description: "d",
        requiresConfirmation: true,
        handler: () => Effect.succeed(1)
      })
      const lying = Skill.make("lying", {
        description: "d",
        returns: Schema.Number,
        handler: () => Effect.succeed("one" as unknown as number)
      })
      const { executor } = yield* make([asking, lying], { decide: () => Effect.succeed(ApprovalGate.deny()) })
      assert.strictEqual(
        (yield* Effect.flip(executor.execute({ name: "asking", params: {} })))._tag,
        "SkillConfirmationDeniedError"
      )
      assert.strictEqual(
        (yield* Effect.flip(executor.execute({ name: "lying", params: {} })))._tag,
        "SkillValidationError"
      )
    })
  )

  it.effect("calls the hooks", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const hooks = yield* Hooks.make
        const called: Array<string> = []
        yield* hooks.on(SkillExecutedHook, ({ skillName }) => Effect.sync(() => called.push(`+${skillName}`)))
        yield* hooks.on(SkillExecutionFailedHook, ({ skillName }) => Effect.sync(() => called.push(`-${skillName}`)))
        const skills = [
          Skill.make("good", { description: "d", handler: () => Effect.succeed(1) }),
          Skill.make("bad", { description: "d", handler: () => Effect.fail("no") })
        ]
        const { executor } = yield* make(skills, { hooks })
        yield* executor.execute({ name: "good", params: {} })
        yield* Effect.flip(executor.execute({ name: "bad", params: {} }))
        assert.deepStrictEqual(called, ["+good", "-bad"])
      })
    )
  )
})

describe("defects of the original result cache", () => {
  const definition = Skill.make("skill", { description: "d", handler: () => Effect.void }).definition
  const keep = (cache: SkillResultCache.Service, params: unknown, output: unknown) => {
    const slot = cache.slot({ definition, params })!
    return Effect.flatMap(cache.get(slot), (found) => cache.set(slot, output, found))
  }
  const has = (cache: SkillResultCache.Service, params: unknown) =>
    Effect.map(cache.get(cache.slot({ definition, params })!), ({ output }) => Option.isSome(output))

  it.effect("bounds results in the process by time and number", () =>
    Effect.gen(function* () {
      const cache = yield* SkillResultMemory.make({ capacity: 10 })
      for (let index = 0; index < 100; index++) yield* keep(cache, { index }, index)
      assert.isFalse(yield* has(cache, { index: 0 }))
      assert.isTrue(yield* has(cache, { index: 99 }))
      yield* TestClock.adjust("1 hour")
      assert.isFalse(yield* has(cache, { index: 99 }))
    })
  )

  it.effect("invalidates results in the backend, for every process", () =>
    Effect.gen(function* () {
      const backend = yield* CacheBackend.makeMemory()
      const [here, there] = [SkillResultBackend.make(backend), SkillResultBackend.make(backend)]
      for (const forget of [here.invalidate("skill", { a: 1 }), here.invalidateSkill("skill"), here.clear]) {
        yield* keep(there, { a: 1 }, 1)
        assert.isTrue(yield* has(there, { a: 1 }))
        yield* forget
        assert.isFalse(yield* has(there, { a: 1 }))
      }
    })
  )
})

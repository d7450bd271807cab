import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Parallel from "../../../src/internal/fiber/Parallel.js"
import * as CompositeSkill from "../../../src/skill/definition/CompositeSkill.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type * as SkillCall from "../../../src/skill/definition/SkillCall.js"
import type * as SkillDefinition from "../../../src/skill/definition/SkillDefinition.js"
import * as SkillExecutor from "../../../src/skill/execute/SkillExecutor.js"
import { Flights } from "../../../src/skill/execute/SkillFlight.js"
import { Frame } from "../../../src/skill/execute/SkillFrame.js"
import * as SkillResultMemory from "../../../src/skill/execute/SkillResultMemory.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as YieldingScheduler from "../../support/YieldingScheduler.js"
import { ann, bob, make, makeReached, session } from "../definition/SkillRig.js"

/** A skill that runs for a second, and says how often. */
const counted = (traits: SkillDefinition.Traits = {}) => {
  const seen = { begun: 0, interrupted: 0 }
  const skill = Skill.make("counted", {
    description: "d",
    cacheable: true,
    ...traits,
    parameters: { n: Schema.NumberFromString },
    returns: Schema.Struct({ n: Schema.NumberFromString }),
    handler: ({ n }) =>
      Effect.suspend(() => {
        seen.begun++
        return n < 0
          ? Effect.delay(Effect.fail("negative"), "1 second")
          : Effect.delay(Effect.succeed({ n }), "1 second")
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => seen.interrupted++)))
  })
  return { seen, skill }
}

const indices = (count: number) => Array.from({ length: count }, (_, index) => index)

describe("results that are shared", () => {
  it.effect("come from one of several equal executions, and all others are marked cached", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted()
      const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
      const fibers = yield* Effect.forEach(indices(200), (index) =>
        Effect.fork(executor.execute({ name: "counted", params: { n: index % 2 === 0 ? "1" : "2" } }))
      )
      yield* TestClock.adjust("1 second")
      const results = yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(seen.begun, 2)
      assert.strictEqual(results.filter(({ cached }) => cached).length, 198)
      for (const [index, { attempt, cached, durationMs, output }] of results.entries()) {
        assert.deepStrictEqual(output, { n: index % 2 === 0 ? "1" : "2" })
        assert.deepStrictEqual([attempt, durationMs], cached ? [0, 0] : [1, 1000])
      }
    })
  )

  it.effect("serve typed executions and those by name, each in its form, fresh and cached", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted()
      const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
      const byName = yield* Effect.fork(executor.execute({ name: "counted", params: { n: "1" } }))
      const typed = yield* Effect.fork(executor.run(skill, { n: 1 }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* Fiber.join(byName)).output, { n: "1" })
      assert.deepStrictEqual((yield* Fiber.join(typed)).output, { n: 1 })
      assert.deepStrictEqual((yield* executor.run(skill, { n: 1 })).output, { n: 1 })
      assert.strictEqual(seen.begun, 1)
    })
  )

  it.effect("fail all waiters with a failure, in their form, which is not cached", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted()
      const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
      const byName = yield* Effect.forEach(indices(3), () =>
        Effect.fork(Effect.flip(executor.execute({ name: "counted", params: { n: "-1" } })))
      )
      const typed = yield* Effect.fork(Effect.flip(executor.run(skill, { n: -1 })))
      yield* TestClock.adjust("1 second")
      const errors = yield* Effect.forEach(byName, Fiber.join)
      assert.strictEqual(new Set(errors.map(({ message }) => message)).size, 1)
      assert.strictEqual(errors[0]?._tag, "SkillExecutionError")
      assert.strictEqual(yield* Fiber.join(typed), "negative")
      assert.strictEqual(seen.begun, 1)
      const again = yield* Effect.fork(Effect.flip(executor.run(skill, { n: -1 })))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(again)
      assert.strictEqual(seen.begun, 2)
    })
  )

  it.effect("pass the execution to another waiter when the first is interrupted, and end with the last", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted()
      const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
      const fork = Effect.fork(executor.execute({ name: "counted", params: { n: "1" } }))
      const [first, second, third] = [yield* fork, yield* fork, yield* fork]
      yield* TestClock.adjust("500 millis")
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(seen, { begun: 2, interrupted: 1 })
      yield* TestClock.adjust("500 millis")
      assert.isFalse((yield* Fiber.join(second)).cached)
      assert.isTrue((yield* Fiber.join(third)).cached)
      const others = yield* Effect.forEach(indices(5), () =>
        Effect.fork(executor.execute({ name: "counted", params: { n: "2" } }))
      )
      yield* TestClock.adjust("500 millis")
      yield* Fiber.interruptAll(others)
      assert.strictEqual(seen.interrupted, seen.begun - 1)
    })
  )

  it.effect("end for all once when a skill interrupts itself", () =>
    Effect.gen(function* () {
      let begun = 0
      const skill = Skill.make("ends", {
        description: "d",
        cacheable: true,
        handler: () =>
          Effect.suspend(() => {
            begun++
            return Effect.zipRight(Effect.sleep("1 second"), Effect.interrupt)
          })
      })
      const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
      const fibers = yield* Effect.forEach(indices(3), () =>
        Effect.fork(executor.execute({ name: "ends", params: {} }))
      )
      yield* TestClock.adjust("1 second")
      for (const fiber of fibers) {
        const exit = yield* Fiber.await(fiber)
        assert(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      }
      assert.strictEqual(begun, 1)
    })
  )

  it.effect("are not shared without a cache", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted()
      const { executor } = yield* make([skill])
      const fibers = yield* Effect.forEach(indices(3), () => Effect.fork(executor.run(skill, { n: 1 })))
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(seen.begun, 3)
    })
  )

  it.effect("expire by the executor's time before the cache's", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted({ timeout: Number.POSITIVE_INFINITY })
      const cache = yield* SkillResultMemory.make()
      const { executor } = yield* make([skill], { cache, cacheTtl: "10 seconds" })
      const once = Effect.flatMap(Effect.fork(executor.run(skill, { n: 1 })), (fiber) =>
        Effect.zipRight(TestClock.adjust("1 second"), Fiber.join(fiber))
      )
      yield* once
      yield* TestClock.adjust("8 seconds")
      assert.isTrue((yield* once).cached)
      yield* TestClock.adjust("1 second")
      assert.isFalse((yield* once).cached)
      assert.strictEqual(seen.begun, 2)
    })
  )

  it.effect("are missed when a cached one no longer has the form", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted()
      const cache = yield* SkillResultMemory.make()
      const slot = cache.slot({ definition: skill.definition, params: { n: "1" } })!
      yield* Effect.flatMap(cache.get(slot), (found) => cache.set(slot, { n: "no" }, found))
      const { executor } = yield* make([skill], { cache })
      const fiber = yield* Effect.fork(executor.run(skill, { n: 1 }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* Fiber.join(fiber)).output, { n: 1 })
      assert.strictEqual(seen.begun, 1)
    })
  )
})

describe("owners of results", () => {
  const who = (traits: SkillDefinition.Traits = {}, look: "userId" | "sessionId" = "userId") =>
    Skill.make("who", {
      description: "d",
      cacheable: true,
      shared: true,
      ...traits,
      handler: (_, call) =>
        Effect.delay(
          Effect.suspend(() => Effect.succeed(call[look] ?? "nobody")),
          "1 second"
        )
    })

  const both = (skill: Skill.Any, first: SkillCall.SkillContext, second: SkillCall.SkillContext, apart: boolean) =>
    Effect.gen(function* () {
      const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
      const name = skill.definition.name
      const one = yield* Effect.fork(executor.execute({ name, params: {}, ...first }))
      if (apart) yield* TestClock.adjust("5 seconds")
      const two = yield* Effect.fork(executor.execute({ name, params: {}, ...second }))
      yield* TestClock.adjust("5 seconds")
      const results = [yield* Fiber.join(one), yield* Fiber.join(two)]
      return results.map(({ cached, output }) => [output, cached])
    })

  for (const apart of [false, true]) {
    const when = apart ? "one after another" : "at the same time"

    it.effect(`are each user, and nobody, separately ${when}`, () =>
      Effect.gen(function* () {
        const skill = Skill.make("secret", {
          description: "d",
          cacheable: true,
          // What it depends on is nothing that the library sees.
          handler: () => Effect.delay(Effect.succeed(1), "1 second")
        })
        for (const other of [bob, undefined]) {
          assert.deepStrictEqual(yield* both(skill, { userId: ann }, { userId: other }, apart), [
            [1, false],
            [1, false]
          ])
        }
        for (const user of [ann, undefined]) {
          assert.deepStrictEqual(yield* both(skill, { userId: user }, { userId: user }, apart), [
            [1, false],
            [1, true]
          ])
        }
      })
    )

    it.effect(`are the run's user when an execution inside names nobody, ${when}`, () =>
      Effect.gen(function* () {
        const skill = Skill.make("mine", {
          description: "d",
          cacheable: true,
          handler: () =>
            Effect.delay(
              Effect.map(ApprovalGate.Requester, ({ userId }) => userId ?? "nobody"),
              "1 second"
            )
        })
        const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
        const outputs: Array<unknown> = []
        for (const requester of [{ userId: ann }, { userId: bob }, {}, { userId: ann }]) {
          const fiber = yield* Effect.fork(
            Effect.provideService(executor.execute({ name: "mine", params: {} }), ApprovalGate.Requester, requester)
          )
          if (apart) yield* TestClock.adjust("5 seconds")
          outputs.push(fiber)
        }
        yield* TestClock.adjust("5 seconds")
        const results = yield* Effect.forEach(outputs as Array<Fiber.Fiber<{ output?: unknown }>>, Fiber.join)
        assert.deepStrictEqual(
          results.map(({ output }) => output),
          [ann, bob, "nobody", ann]
        )
      })
    )

    it.effect(`are each user with permissions, ${when}`, () =>
      Effect.gen(function* () {
        const skill = who({ permissions: ["p"], shared: false })
        assert.deepStrictEqual(yield* both(skill, { userId: ann }, { userId: bob }, apart), [
          [ann, false],
          [bob, false]
        ])
        assert.deepStrictEqual(yield* both(skill, { userId: ann }, { userId: ann }, apart), [
          [ann, false],
          [ann, true]
        ])
      })
    )

    it.effect(`are separate when a handler reads the user or the session, ${when}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* both(who(), { userId: ann }, { userId: bob }, apart), [
          [ann, false],
          [bob, false]
        ])
        const other = "session-2" as typeof session
        const bySession = who({ permissions: ["p"], shared: false }, "sessionId")
        assert.deepStrictEqual(
          yield* both(bySession, { userId: ann, sessionId: session }, { userId: ann, sessionId: other }, apart),
          [
            [session, false],
            [other, false]
          ]
        )
      })
    )

    it.effect(`are common for a shared skill whose handler reads neither, ${when}`, () =>
      Effect.gen(function* () {
        const skill = Skill.make("same", {
          description: "d",
          cacheable: true,
          shared: true,
          handler: () => Effect.delay(Effect.succeed(1), "1 second")
        })
        assert.deepStrictEqual(yield* both(skill, { userId: ann }, { userId: bob, sessionId: session }, apart), [
          [1, false],
          [1, true]
        ])
      })
    )

    it.effect(`keep a failure that depends on the user to that user, ${when}`, () =>
      Effect.gen(function* () {
        const skill = Skill.make("no", {
          description: "d",
          cacheable: true,
          shared: true,
          handler: (_, call) =>
            Effect.delay(
              Effect.suspend(() => Effect.fail(`${call.userId}`)),
              "1 second"
            )
        })
        const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make() })
        const one = yield* Effect.fork(Effect.flip(executor.run(skill, {}, { userId: ann })))
        if (apart) yield* TestClock.adjust("5 seconds")
        const two = yield* Effect.fork(Effect.flip(executor.run(skill, {}, { userId: bob })))
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual([yield* Fiber.join(one), yield* Fiber.join(two)], [ann, bob])
      })
    )
  }

  it.effect("get no cached result without the permissions that are needed inside", () =>
    Effect.gen(function* () {
      const inner = Skill.make("inner", {
        description: "d",
        permissions: ["p"],
        handler: () => Effect.succeed("secret")
      })
      const outer = CompositeSkill.make("outer", {
        description: "d",
        uses: [Skill.ref("inner")],
        cacheable: true,
        shared: true,
        parameters: Schema.Struct({}),
        handler: (_, run) => run(Skill.ref("inner"), {})
      })
      const { executor } = yield* make([inner, outer], {
        cache: yield* SkillResultMemory.make(),
        missing: ({ userId }) => Effect.succeed(userId === ann ? [] : ["p"])
      })
      assert.strictEqual((yield* executor.execute({ name: "outer", params: {}, userId: ann })).output, "secret")
      const error = yield* Effect.flip(executor.execute({ name: "outer", params: {}, userId: bob }))
      assert.strictEqual(error._tag, "SkillPermissionDeniedError")
    })
  )
})

describe("shared executions inside others", () => {
  const leaf = () => counted().skill
  const reaching = (name: string, inner: string, traits: SkillDefinition.Traits = {}) =>
    Skill.make(name, {
      description: "d",
      ...traits,
      parameters: { n: Schema.NumberFromString },
      handler: ({ n }) =>
        Effect.zipRight(
          Effect.sleep("100 millis"),
          Effect.flatMap(SkillExecutor.SkillExecutor, (executor) =>
            Effect.map(executor.execute({ name: inner, params: { n: String(n) } }), ({ output }) => output)
          )
        )
    })

  it.effect("do not wait for a waiter while they hold a place", () =>
    Effect.gen(function* () {
      const { executor } = yield* makeReached([leaf(), reaching("outer", "counted")], {
        cache: yield* SkillResultMemory.make(),
        maxConcurrent: 1
      })
      const outer = yield* Effect.fork(executor.execute({ name: "outer", params: { n: "1" } }))
      yield* TestClock.adjust(1)
      // Waits for the place that `outer` holds, which is about to ask for the same.
      const inner = yield* Effect.fork(executor.execute({ name: "counted", params: { n: "1" } }))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual((yield* Fiber.join(outer)).output, { n: "1" })
      assert.deepStrictEqual((yield* Fiber.join(inner)).output, { n: "1" })
    })
  )

  it.effect("fail when a cacheable skill executes itself with the same parameters", () =>
    Effect.gen(function* () {
      const self = reaching("self", "self", { cacheable: true, timeout: "1 hour" })
      const { executor } = yield* makeReached([self], { cache: yield* SkillResultMemory.make() })
      const fiber = yield* Effect.fork(Effect.flip(executor.execute({ name: "self", params: { n: "1" } })))
      for (let i = 0; i < 40; i++) yield* TestClock.adjust("100 millis")
      assert.include((yield* Fiber.join(fiber)).message, "levels deep")
    })
  )

  it.effect("do not deadlock when two execute each other", () =>
    Effect.gen(function* () {
      const a = reaching("a", "b", { cacheable: true, timeout: "1 hour" })
      const b = reaching("b", "a", { cacheable: true, timeout: "1 hour" })
      const { executor } = yield* makeReached([a, b], { cache: yield* SkillResultMemory.make() })
      const fibers = yield* Effect.forEach(["a", "b"], (name) =>
        Effect.fork(Effect.flip(executor.execute({ name, params: { n: "1" } })))
      )
      for (let i = 0; i < 80; i++) yield* TestClock.adjust("100 millis")
      for (const fiber of fibers) assert.include((yield* Fiber.join(fiber)).message, "levels deep")
    })
  )

  it.effect("are one for equal ones in a composite", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted()
      const many = CompositeSkill.make("many", {
        description: "d",
        uses: [skill],
        cacheable: true,
        parameters: Schema.Struct({ n: Schema.Number }),
        handler: (params, run) => Parallel.forEach(indices(5), () => run(skill, params), 5)
      })
      const { executor } = yield* make([], { cache: yield* SkillResultMemory.make() })
      const fiber = yield* Effect.fork(executor.run(many, { n: 1 }))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).output.length, 5)
      assert.strictEqual(seen.begun, 1)
    })
  )
})

describe("interruption at any point", () => {
  const definition = Skill.make("x", { description: "d", handler: () => Effect.void }).definition
  const frame = () => new Frame(undefined, definition, {})

  /** Three share one flight; one of them is interrupted at one yield after another. */
  const race = (victim: number, at: number) =>
    Effect.promise(async () => {
      const flights = new Flights<number, string>()
      let running = 0
      let begun = 0
      const work = {
        effect: Effect.acquireUseRelease(
          Effect.sync(() => {
            running++
            begun++
          }),
          () => Effect.as(Effect.zipRight(Effect.yieldNow(), Effect.yieldNow()), 7),
          () => Effect.sync(() => void running--)
        ),
        join: (exit: Exit.Exit<number, string>) => exit
      }
      const fibers: Array<Fiber.RuntimeFiber<number, string>> = []
      let interrupted = false
      const scheduler = YieldingScheduler.make((count) => {
        if (count !== at || fibers[victim] === undefined) return
        interrupted = true
        fibers[victim].unsafeInterruptAsFork(fibers[victim].id())
      })
      for (const _ of indices(3)) {
        fibers.push(
          Effect.runFork(
            Effect.suspend(() => flights.share("key", frame(), work)),
            { scheduler }
          )
        )
      }
      const exits = await Effect.runPromise(Effect.forEach(fibers, Fiber.await))
      return { begun, count: scheduler.count(), exits, interrupted, left: flights.size, running }
    })

  it.effect("lands a flight for its waiters, leaves nothing, and executes no more than needed", () =>
    Effect.gen(function* () {
      let seen = 0
      for (const victim of [0, 1, 2]) {
        for (let at = 1; ; at++) {
          const { begun, count, exits, interrupted, left, running } = yield* race(victim, at)
          assert.deepStrictEqual([left, running], [0, 0])
          for (const [index, exit] of exits.entries()) {
            if (index !== victim) assert.deepStrictEqual(exit, Exit.succeed(7), `${victim} at ${at}`)
          }
          assert.isAtMost(begun, 2)
          if (Exit.isFailure(exits[victim]!)) seen++
          if (at > count || !interrupted) break
        }
      }
      assert.isAbove(seen, 20)
    })
  )

  it.effect("returns the place and the flight of an execution", () =>
    Effect.gen(function* () {
      let cut = 0
      for (let at = 1; ; at++) {
        const skill = Skill.make("one", {
          description: "d",
          cacheable: true,
          maxConcurrent: 1,
          handler: () => Effect.as(Effect.yieldNow(), 7)
        })
        const { executor } = yield* make([skill], { cache: yield* SkillResultMemory.make(), maxConcurrent: 1 })
        const outcome = yield* Effect.promise(async () => {
          let victim: Fiber.RuntimeFiber<unknown, unknown> | undefined
          let isCut = false
          const scheduler = YieldingScheduler.make((count) => {
            if (count !== at || victim === undefined) return
            isCut = true
            victim.unsafeInterruptAsFork(victim.id())
          })
          const execute = executor.execute({ name: "one", params: {} })
          victim = Effect.runFork(execute, { scheduler })
          const other = Effect.runFork(execute, { scheduler })
          const exits = await Effect.runPromise(Effect.forEach([victim, other], Fiber.await))
          return { exits, isCut, count: scheduler.count() }
        })
        const [victim, other] = outcome.exits
        assert(Exit.isSuccess(other!), `at ${at}`)
        if (Exit.isFailure(victim!)) cut++
        // A place that was lost would keep this one for ever.
        assert.strictEqual((yield* executor.run(skill, {})).output, 7)
        const fresh = Skill.annotate(skill, { cacheable: false })
        assert.strictEqual((yield* executor.run(fresh, {})).output, 7)
        if (!outcome.isCut) break
      }
      assert.isAbove(cut, 20)
    })
  )

  it.effect("removes a waiter for a place at once, among others", () =>
    Effect.gen(function* () {
      const latch = yield* Deferred.make<void>()
      const skill = Skill.make("held", { description: "d", handler: () => Deferred.await(latch) })
      const { executor } = yield* make([skill], { maxConcurrent: 1 })
      const fibers = yield* Effect.forEach(indices(10), () =>
        Effect.fork(executor.execute({ name: "held", params: {} }))
      )
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(fibers[5]!)
      yield* Deferred.succeed(latch, undefined)
      for (const [index, fiber] of fibers.entries()) {
        assert.strictEqual(Exit.isSuccess(yield* Fiber.await(fiber)), index !== 5)
      }
    })
  )
})

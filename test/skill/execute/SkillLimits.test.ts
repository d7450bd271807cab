import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Parallel from "../../../src/internal/fiber/Parallel.js"
import * as CompositeSkill from "../../../src/skill/definition/CompositeSkill.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as SkillExecutor from "../../../src/skill/execute/SkillExecutor.js"
import { Limits, type Place } from "../../../src/skill/execute/SkillLimits.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import { make, makeReached } from "../definition/SkillRig.js"

const definitionOf = (name: string, maxConcurrent: number | undefined) =>
  Skill.make(name, { description: "d", maxConcurrent, handler: () => Effect.void }).definition

/** A skill that runs for a second, and counts itself. */
const counted = (name: string, maxConcurrent?: number) => {
  const seen = { now: 0, most: 0, order: [] as Array<number> }
  const skill = Skill.make(name, {
    description: "d",
    maxConcurrent,
    parameters: { index: Schema.Number },
    handler: ({ index }) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          seen.order.push(index)
          seen.now++
          seen.most = Math.max(seen.most, seen.now)
        }),
        () => Effect.as(Effect.sleep("1 second"), index),
        () => Effect.sync(() => void seen.now--)
      )
  })
  return { seen, skill }
}

const indices = (count: number) => Array.from({ length: count }, (_, index) => index)
const seconds = (count: number) => Effect.forEach(indices(count), () => TestClock.adjust("1 second"), { discard: true })

describe("places of executions", () => {
  it.effect("never exceed the limits, in total and per skill, among 300 fibers", () =>
    Effect.gen(function* () {
      const free = counted("free")
      const three = counted("three", 3)
      let most = 0
      const { executor } = yield* make([free.skill, three.skill], { maxConcurrent: 7 })
      const fibers = yield* Effect.forEach(indices(300), (index) =>
        Effect.fork(executor.execute({ name: index % 2 === 0 ? "free" : "three", params: { index } }))
      )
      for (let second = 0; second < 52; second++) {
        yield* TestClock.adjust("1 second")
        most = Math.max(most, free.seen.now + three.seen.now)
      }
      for (const fiber of fibers) assert(Exit.isSuccess(yield* Fiber.await(fiber)))
      assert.strictEqual(most, 7)
      assert.strictEqual(three.seen.most, 3)
      assert.deepStrictEqual([free.seen.now, three.seen.now], [0, 0])
      // Each in the order in which they came.
      for (const { order } of [free.seen, three.seen])
        assert.deepStrictEqual(
          order,
          order.toSorted((a, b) => a - b)
        )
    })
  )

  it.effect("are ten by default", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("counted")
      const { executor } = yield* make([skill])
      const fibers = yield* Effect.forEach(indices(25), (index) =>
        Effect.fork(executor.execute({ name: "counted", params: { index } }))
      )
      yield* seconds(3)
      yield* Effect.forEach(fibers, Fiber.join)
      assert.strictEqual(seen.most, 10)
    })
  )

  it.effect("are neither given nor taken by an interrupted waiter", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("counted")
      const { executor } = yield* make([skill], { maxConcurrent: 5 })
      const fibers = yield* Effect.forEach(indices(300), (index) =>
        Effect.fork(executor.execute({ name: "counted", params: { index } }))
      )
      yield* TestClock.adjust(500)
      // Some that run, many that wait.
      for (const [index, fiber] of fibers.entries()) if (index % 3 !== 0) yield* Fiber.interruptFork(fiber)
      yield* seconds(25)
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 100)
      assert.strictEqual(seen.most, 5)
      assert.strictEqual(seen.now, 0)
    })
  )

  it.effect("are returned when an interrupted execution ends", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("counted")
      const { executor } = yield* make([skill], { maxConcurrent: 1 })
      const first = yield* Effect.fork(executor.execute({ name: "counted", params: { index: 0 } }))
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(first)
      assert.strictEqual(seen.now, 0)
      const second = yield* Effect.fork(executor.execute({ name: "counted", params: { index: 1 } }))
      yield* TestClock.adjust(1)
      assert.strictEqual(seen.now, 1)
      yield* Fiber.interrupt(second)
    })
  )

  it.effect("are not held between attempts", () =>
    Effect.gen(function* () {
      const failing = Skill.make("failing", { description: "d", maxRetries: 5, handler: () => Effect.fail("no") })
      const other = Skill.make("other", { description: "d", handler: () => Effect.succeed("done") })
      const { executor } = yield* make([failing, other], { maxConcurrent: 1 })
      const fiber = yield* Effect.fork(executor.execute({ name: "failing", params: {} }))
      yield* TestClock.adjust(500)
      assert.strictEqual((yield* executor.execute({ name: "other", params: {} })).output, "done")
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("do not count against the timeout of an attempt while waiting", () =>
    Effect.gen(function* () {
      const { skill } = counted("counted")
      const { executor } = yield* make([skill], { maxConcurrent: 1, timeout: "2 seconds" })
      const fibers = yield* Effect.forEach(indices(4), (index) =>
        Effect.fork(executor.execute({ name: "counted", params: { index } }))
      )
      yield* seconds(5)
      for (const fiber of fibers) assert(Exit.isSuccess(yield* Fiber.await(fiber)))
    })
  )

  it("stay within every limit for a random history, and leave nothing", () => {
    const kinds = { a: 1, b: 2, c: undefined } as const
    const step = FastCheck.record({
      kind: FastCheck.constantFrom("a", "b", "c"),
      leave: FastCheck.nat(30),
      inside: FastCheck.boolean()
    })
    const outside = { within: undefined, holder: undefined, limited: true, isLeaf: true }
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 4 }),
        FastCheck.array(step, { maxLength: 60 }),
        (max, history) => {
          let waiting = 0
          const limits = new Limits(max, (change) => {
            waiting += change
          })
          const live: Array<Place> = []
          const mostOf = (name: string) => kinds[name as "a"] ?? Number.POSITIVE_INFINITY
          const check = () => {
            const held = live.filter((place) => place.state === "held")
            const counted = held.filter((place) => place.within === undefined)
            assert.isAtMost(counted.length, max)
            for (const name of ["a", "b"]) {
              assert.isAtMost(held.filter((place) => place.name === name).length, mostOf(name))
            }
            for (const place of held) assert.isAtMost(held.filter((other) => other.within === place).length, 1)
            assert.strictEqual(waiting, live.filter((place) => place.state === "waiting").length)
            // Whoever could begin has begun.
            for (const place of live) {
              if (place.state !== "waiting") continue
              const isFull = held.filter((other) => other.name === place.name).length >= mostOf(place.name)
              const isCrowded =
                place.within === undefined
                  ? counted.length >= max
                  : live.some((other) => other !== place && other.within === place.within)
              assert.isTrue(isFull || isCrowded)
            }
          }
          for (const { inside, kind, leave } of history) {
            const parents = live.filter((place) => place.state === "held" && place.within === undefined)
            const within = inside ? parents[leave % Math.max(1, parents.length)] : undefined
            live.push(limits.enter(definitionOf(kind, kinds[kind as "a"]), { ...outside, within }))
            check()
            const gone = live[leave]
            if (gone !== undefined && !live.some((place) => place.within === gone)) {
              live.splice(leave, 1)
              limits.leave(gone)
            }
            check()
          }
          for (const place of live) if (place.within !== undefined) limits.leave(place)
          for (const place of live) if (place.within === undefined) limits.leave(place)
          assert.strictEqual(waiting, 0)
          const all = indices(max).map(() => limits.enter(definitionOf("c", undefined), outside))
          assert.isTrue(all.every((place) => place.state === "held"))
          assert.strictEqual(limits.enter(definitionOf("a", 1), outside).state, "waiting")
        }
      ),
      { numRuns: 300 }
    )
  })
})

/** Executes others by the tag, as any code does that has the executor. */
const reaching = (name: string, inner: string, times = 1) =>
  Skill.make(name, {
    description: "d",
    parameters: { index: Schema.Number },
    handler: ({ index }) =>
      Effect.flatMap(SkillExecutor.SkillExecutor, (executor) =>
        Parallel.forEach(
          indices(times),
          () => Effect.map(executor.execute({ name: inner, params: { index } }), ({ output }) => output),
          times
        )
      )
  })

describe("executions inside others", () => {
  it.effect("run in the place of the outer skill, one at a time", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("leaf")
      const skills = [skill, reaching("outer", "middle"), reaching("middle", "leaf", 3)]
      const { executor } = yield* makeReached(skills, { maxConcurrent: 1 })
      const fiber = yield* Effect.fork(executor.execute({ name: "outer", params: { index: 7 } }))
      yield* seconds(3)
      assert.deepStrictEqual((yield* Fiber.join(fiber)).output, [[7, 7, 7]])
      assert.strictEqual(seen.most, 1)
    })
  )

  it.effect("never exceed the places or deadlock for several such skills", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("leaf", 2)
      const skills = [skill, reaching("outer", "middle", 2), reaching("middle", "leaf", 2)]
      const { executor } = yield* makeReached(skills, { maxConcurrent: 3 })
      const fibers = yield* Effect.forEach(indices(30), (index) =>
        Effect.fork(executor.execute({ name: index % 2 === 0 ? "outer" : "leaf", params: { index } }))
      )
      yield* seconds(60)
      for (const fiber of fibers) assert(Exit.isSuccess(yield* Fiber.await(fiber)))
      assert.strictEqual(seen.most, 2)
    })
  )

  it.effect("stop with the outer one, whose place is free again", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("leaf")
      const { executor } = yield* makeReached([skill, reaching("outer", "leaf", 5)], { maxConcurrent: 1 })
      const fiber = yield* Effect.fork(executor.execute({ name: "outer", params: { index: 0 } }))
      yield* TestClock.adjust(1500)
      assert.deepStrictEqual([seen.now, seen.order.length], [1, 2])
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([seen.now, seen.order.length], [0, 2])
      const next = yield* Effect.fork(executor.execute({ name: "leaf", params: { index: 9 } }))
      yield* seconds(1)
      assert.strictEqual((yield* Fiber.join(next)).output, 9)
    })
  )

  it.effect("fail at a bounded depth when a skill executes itself endlessly, with or without a limit", () =>
    Effect.gen(function* () {
      for (const maxConcurrent of [undefined, 1]) {
        const self = Skill.annotate(reaching("self", "self"), { maxConcurrent })
        const { executor } = yield* makeReached([self], { maxConcurrent: 1 })
        const error = yield* Effect.flip(executor.execute({ name: "self", params: { index: 0 } }))
        assert.strictEqual(error._tag, "SkillExecutionError")
        assert.include(error.message, "33 levels deep")
      }
    })
  )

  it.effect("take places for the parts of a composite, not for itself, also inside another skill", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("leaf")
      const parameters = Schema.Struct({ index: Schema.Number })
      const both = CompositeSkill.make("both", {
        description: "d",
        uses: [skill],
        parameters,
        handler: (_, run) => Parallel.forEach([1, 2, 3], (index) => run(skill, { index }), 3)
      })
      const twice = CompositeSkill.make("twice", {
        description: "d",
        uses: [both],
        parameters,
        handler: (params, run) => Parallel.forEach([1, 2], () => run(both, params), 2)
      })
      const { executor } = yield* makeReached([skill, both, twice, reaching("outer", "twice")], { maxConcurrent: 1 })
      for (const name of ["twice", "outer"]) {
        const fiber = yield* Effect.fork(executor.execute({ name, params: { index: 1 } }))
        yield* seconds(6)
        assert(Exit.isSuccess(yield* Fiber.await(fiber)))
      }
      assert.strictEqual(seen.order.length, 12)
      assert.strictEqual(seen.most, 1)
    })
  )

  it.effect("respect the limit of a composite", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("leaf")
      const two = CompositeSkill.make("two", {
        description: "d",
        uses: [skill],
        maxConcurrent: 2,
        parameters: Schema.Struct({ index: Schema.Number }),
        handler: (params, run) => run(skill, params)
      })
      const { executor } = yield* make([two])
      const fibers = yield* Effect.forEach(indices(5), (index) => Effect.fork(executor.run(two, { index })))
      yield* seconds(3)
      for (const fiber of fibers) assert(Exit.isSuccess(yield* Fiber.await(fiber)))
      assert.strictEqual(seen.most, 2)
    })
  )

  it.effect("count against the skill's timeout, except while somebody is asked", () =>
    Effect.gen(function* () {
      const { skill } = counted("leaf")
      const asking = Skill.annotate(skill, { name: "asking", requiresConfirmation: true })
      const parameters = Schema.Struct({ index: Schema.Number })
      const slow = CompositeSkill.make("slow", {
        description: "d",
        uses: [skill],
        timeout: "2500 millis",
        parameters,
        handler: (params, run) => Effect.forEach(indices(3), () => run(skill, params))
      })
      const patient = CompositeSkill.make("patient", {
        description: "d",
        uses: [asking],
        timeout: "2500 millis",
        parameters,
        handler: (params, run) => run(asking, params)
      })
      const { executor } = yield* makeReached(
        [asking, Skill.annotate(reaching("outer", "asking"), { timeout: "2 seconds" })],
        {
          decide: () => Effect.as(Effect.sleep("1 minute"), ApprovalGate.approve())
        }
      )
      const first = yield* Effect.fork(Effect.flip(executor.run(slow, { index: 0 })))
      yield* seconds(3)
      assert.strictEqual(((yield* Fiber.join(first)) as { readonly _tag?: string })._tag, "SkillTimeoutError")
      const second = yield* Effect.fork(executor.run(patient, { index: 4 }))
      yield* TestClock.adjust("59 seconds")
      yield* TestClock.adjust("1 second")
      yield* seconds(1)
      assert.strictEqual((yield* Fiber.join(second)).output, 4)
      const third = yield* Effect.fork(executor.execute({ name: "outer", params: { index: 5 } }))
      yield* TestClock.adjust("1 minute")
      yield* seconds(1)
      assert.deepStrictEqual((yield* Fiber.join(third)).output, [5])
    })
  )

  it.effect("do not deadlock when two skills with one place execute each other", () =>
    Effect.gen(function* () {
      const parameters = Schema.Struct({ deep: Schema.Boolean })
      const pair = (name: string, other: string) =>
        CompositeSkill.make(name, {
          description: "d",
          uses: [Skill.ref(other)],
          maxConcurrent: 1,
          parameters,
          handler: ({ deep }, run) =>
            deep
              ? Effect.zipRight(Effect.sleep("1 second"), run(Skill.ref(other), { deep: false }))
              : Effect.succeed(name)
        })
      const { executor } = yield* make([pair("a", "b"), pair("b", "a")])
      const a = yield* Effect.fork(Effect.either(executor.execute({ name: "a", params: { deep: true } })))
      const b = yield* Effect.fork(Effect.either(executor.execute({ name: "b", params: { deep: true } })))
      yield* seconds(2)
      const results = [yield* Fiber.join(a), yield* Fiber.join(b)]
      // One had to give way, so that the other could go on.
      assert.deepStrictEqual(results.map(Either.isRight).toSorted(), [false, true])
      const refused = results.find(Either.isLeft)
      assert.include(refused?.left.message, "it would wait for executions that wait for it")
      // Whoever waits for somebody who gets on is not refused.
      const c = yield* Effect.fork(executor.execute({ name: "a", params: { deep: true } }))
      yield* TestClock.adjust("500 millis")
      const d = yield* Effect.fork(executor.execute({ name: "a", params: { deep: true } }))
      yield* seconds(3)
      assert.deepStrictEqual([(yield* Fiber.join(c)).output, (yield* Fiber.join(d)).output], ["b", "b"])
    })
  )

  it.effect("do not deadlock between a limited composite and a skill that executes it", () =>
    Effect.gen(function* () {
      const { skill } = counted("leaf")
      const one = CompositeSkill.make("one", {
        description: "d",
        uses: [skill],
        maxConcurrent: 1,
        parameters: Schema.Struct({ index: Schema.Number }),
        handler: (params, run) => Effect.zipRight(Effect.sleep("1 second"), run(skill, params))
      })
      const outer = Skill.make("outer", {
        description: "d",
        timeout: "1 hour",
        parameters: { index: Schema.Number },
        handler: (params) =>
          Effect.zipRight(
            Effect.sleep("500 millis"),
            Effect.flatMap(SkillExecutor.SkillExecutor, (executor) => executor.execute({ name: "one", params }))
          )
      })
      const { executor } = yield* makeReached([skill, one, outer], { maxConcurrent: 1 })
      // Holds what `outer` will need, and will need what `outer` holds.
      const first = yield* Effect.fork(Effect.either(executor.execute({ name: "one", params: { index: 1 } })))
      const second = yield* Effect.fork(Effect.either(executor.execute({ name: "outer", params: { index: 2 } })))
      yield* seconds(6)
      const results = [yield* Fiber.join(first), yield* Fiber.join(second)]
      assert.deepStrictEqual(results.map(Either.isRight), [false, true])
    })
  )

  it.effect("keep their place until they end when they run in the background of an attempt", () =>
    Effect.gen(function* () {
      const { seen, skill } = counted("leaf")
      const sly = Skill.make("sly", {
        description: "d",
        handler: () =>
          Effect.flatMap(SkillExecutor.SkillExecutor, (executor) =>
            Effect.as(Effect.forkDaemon(executor.execute({ name: "leaf", params: { index: 0 } })), "left")
          ).pipe(Effect.tap(() => Effect.sleep("100 millis")))
      })
      const { executor } = yield* makeReached([skill, sly], { maxConcurrent: 1 })
      const first = yield* Effect.fork(executor.execute({ name: "sly", params: {} }))
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.join(first)).output, "left")
      assert.strictEqual(seen.now, 1)
      const second = yield* Effect.fork(executor.execute({ name: "leaf", params: { index: 1 } }))
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(seen.order, [0])
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(seen.order, [0, 1])
      yield* seconds(1)
      yield* Fiber.join(second)
      assert.strictEqual(seen.most, 1)
    })
  )

  it.effect("check permissions, parameters and confirmation again", () =>
    Effect.gen(function* () {
      const inner = Skill.make("inner", {
        description: "d",
        parameters: { n: Schema.Number },
        permissions: ["p"],
        requiresConfirmation: true,
        handler: ({ n }) => Effect.succeed(n)
      })
      const outer = CompositeSkill.make("outer", {
        description: "d",
        uses: [Skill.ref("inner")],
        parameters: Schema.Struct({ n: Schema.Unknown }),
        handler: (params, run) => run(Skill.ref("inner"), params)
      })
      const { asked, checked, executor } = yield* make([inner, outer])
      const error = yield* Effect.flip(executor.run(outer, { n: 1 }))
      assert.strictEqual(error._tag, "SkillPermissionDeniedError")
      const userId = "ann" as never
      assert.strictEqual((yield* Effect.flip(executor.run(outer, { n: "x" }, { userId })))._tag, "SkillValidationError")
      assert.strictEqual((yield* executor.run(outer, { n: 1 }, { userId, confirmed: true })).output, 1)
      assert.deepStrictEqual([checked.length, asked.length], [2, 1])
    })
  )
})

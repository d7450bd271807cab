import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as SkillChain from "../../../src/skill/compose/SkillChain.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as SkillRig from "./SkillRig.js"

const slow = Skill.make("slow", {
  description: "Takes a minute",
  timeout: "2 minutes",
  handler: () => Effect.delay(Effect.succeed({}), "1 minute")
})

const chain = (timeout?: "90 seconds") =>
  SkillChain.make("twice", { description: "Takes two minutes", timeout }, slow, slow)

describe("the timeout of a composite", () => {
  it.effect("is that of its parts, unless it has its own", () =>
    Effect.gen(function* () {
      const { executor } = yield* SkillRig.make([], { timeout: "30 seconds" })
      const run = (skill: ReturnType<typeof chain>) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(Effect.either(executor.run(skill, {})))
          yield* TestClock.adjust("5 minutes")
          return yield* Fiber.join(fiber)
        })
      const free = yield* run(chain())
      assert.strictEqual(free._tag === "Right" ? free.right.durationMs : free.left._tag, 120_000)
      const bound = yield* run(chain("90 seconds"))
      assert.strictEqual(bound._tag === "Left" ? bound.left._tag : "done", "SkillTimeoutError")
    })
  )
})

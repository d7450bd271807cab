import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import type * as SkillDefinition from "../../../src/skill/definition/SkillDefinition.js"
import { PermissionCheckerError } from "../../../src/skill/execute/PermissionChecker.js"
import * as SkillResultBackend from "../../../src/skill/execute/SkillResultBackend.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import { ann, bob, make, session } from "./SkillRig.js"

const memory = Effect.map(CacheBackend.makeMemory(), (backend) => SkillResultBackend.make(backend))

const numberThat = (decoded: () => void) =>
  Schema.transform(Schema.Number, Schema.Number, {
    decode: (n) => {
      decoded()
      return n
    },
    encode: (n) => n
  })

/** Says when its parameters are decoded, and when it is executed. */
const traced = (
  trace: Array<string>,
  traits: SkillDefinition.Traits & SkillDefinition.Confirmation<{ readonly n: number }> = {}
) => {
  const parameters = { n: numberThat(() => trace.push("decode")) }
  const skill = Skill.make("traced", {
    description: "d",
    parameters,
    handler: ({ n }, { attempt }) =>
      Effect.suspend(() => {
        trace.push(`attempt ${attempt}`)
        return n === 0 ? Effect.fail("zero") : Effect.succeed(n)
      })
  })
  return Skill.annotate(skill, traits)
}

const guarded: SkillDefinition.Traits = { permissions: ["read", "write"] }

describe("the steps of an execution", () => {
  it.effect("run in order: find, permit, validate, look up, execute, store", () =>
    Effect.gen(function* () {
      const trace: Array<string> = []
      const rig = yield* make([traced(trace, { ...guarded, cacheable: true })], { cache: yield* memory, trace })
      const execute = rig.executor.execute({ name: "traced", params: { n: 1 }, userId: ann })
      yield* execute
      assert.deepStrictEqual(trace.splice(0), [
        "get traced",
        "permissions",
        "decode",
        "cache miss",
        "attempt 1",
        "cache set"
      ])
      const again = yield* execute
      assert.deepStrictEqual(trace.splice(0), ["get traced", "permissions", "decode", "cache hit"])
      assert.deepStrictEqual([again.cached, again.attempt, again.durationMs, again.output], [true, 0, 0, 1])
    })
  )

  it.effect("confirm after validation and before the cache, each time", () =>
    Effect.gen(function* () {
      const trace: Array<string> = []
      const skill = traced(trace, { cacheable: true, requiresConfirmation: true })
      const rig = yield* make([skill], { cache: yield* memory, trace })
      const execute = rig.executor.execute({ name: "traced", params: { n: 1 } })
      yield* execute
      assert.deepStrictEqual(trace.splice(0), [
        "get traced",
        "decode",
        "confirm",
        "cache miss",
        "attempt 1",
        "cache set"
      ])
      assert.isTrue((yield* execute).cached)
      assert.deepStrictEqual(trace.splice(0), ["get traced", "decode", "confirm", "cache hit"])
    })
  )

  it.effect("stop at the step that refuses", () =>
    Effect.gen(function* () {
      const trace: Array<string> = []
      const skill = traced(trace, { ...guarded, cacheable: true, requiresConfirmation: true })
      const rig = yield* make([skill], {
        cache: yield* memory,
        trace,
        missing: ({ userId }) => Effect.succeed(userId === ann ? [] : ["write"]),
        decide: () => Effect.succeed(ApprovalGate.deny({ reason: "no" }))
      })
      const refused = (request: object) =>
        Effect.map(
          Effect.flip(rig.executor.execute({ name: "traced", params: { n: "no" }, ...request })),
          (error): ReadonlyArray<string | undefined> => [error._tag, trace.splice(0).at(-1)]
        )
      assert.deepStrictEqual(yield* refused({ name: "other" }), ["SkillNotFoundError", "get other"])
      assert.deepStrictEqual(yield* refused({}), ["SkillPermissionDeniedError", "get traced"])
      assert.deepStrictEqual(yield* refused({ userId: bob }), ["SkillPermissionDeniedError", "permissions"])
      assert.deepStrictEqual(yield* refused({ userId: ann }), ["SkillValidationError", "permissions"])
      assert.deepStrictEqual(yield* refused({ userId: ann, params: { n: 1 } }), [
        "SkillConfirmationDeniedError",
        "confirm"
      ])
    })
  )
})

describe("permissions of skills", () => {
  it.effect("are checked for the user, the session and all that is needed", () =>
    Effect.gen(function* () {
      const { checked, executor } = yield* make([traced([], guarded)])
      yield* executor.execute({ name: "traced", params: { n: 1 }, userId: ann, sessionId: session })
      assert.deepStrictEqual(checked, [
        { userId: ann, sessionId: session, skillName: "traced", required: ["read", "write"] }
      ])
    })
  )

  it.effect("are denied without a user, without calling the checker", () =>
    Effect.gen(function* () {
      const { checked, executor } = yield* make([traced([], guarded)])
      for (const userId of [undefined, "" as typeof ann]) {
        const error = yield* Effect.flip(executor.execute({ name: "traced", params: { n: 1 }, userId }))
        assert(error._tag === "SkillPermissionDeniedError")
        assert.deepStrictEqual(error.required, ["read", "write"])
      }
      assert.deepStrictEqual(checked, [])
    })
  )

  it.effect("name the missing ones", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([traced([], guarded)], { missing: () => Effect.succeed(["write"]) })
      const error = yield* Effect.flip(executor.execute({ name: "traced", params: { n: 1 }, userId: ann }))
      assert.strictEqual(error.message, `The user may not execute the skill "traced": missing permissions: write`)
    })
  )

  it.effect("are denied with the cause when a checker fails, dies or throws", () =>
    Effect.gen(function* () {
      const down = new PermissionCheckerError({ message: "down" })
      for (const [missing, cause] of [
        [() => Effect.fail(down), "down"],
        [() => Effect.die("bug"), "bug"],
        [
          () => {
            throw "thrown"
          },
          "thrown"
        ]
      ] as const) {
        const { executor } = yield* make([traced([], guarded)], { missing })
        const error = yield* Effect.flip(executor.execute({ name: "traced", params: { n: 1 }, userId: ann }))
        assert.strictEqual(error._tag, "SkillPermissionDeniedError")
        const { cause: kept } = error
        assert.strictEqual(kept instanceof PermissionCheckerError ? kept.message : kept, cause)
      }
    })
  )

  it.effect("are not checked when they are not enforced, with or without a user", () =>
    Effect.gen(function* () {
      const { checked, executor } = yield* make([traced([], guarded)], { enforced: false })
      yield* executor.execute({ name: "traced", params: { n: 1 } })
      yield* executor.execute({ name: "traced", params: { n: 1 }, userId: ann })
      assert.deepStrictEqual(checked, [])
    })
  )

  it.effect("apply to typed executions too", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([])
      const error = yield* Effect.flip(executor.run(traced([], guarded), { n: 1 }))
      assert.strictEqual((error as { readonly _tag?: string })._tag, "SkillPermissionDeniedError")
    })
  )
})

describe("confirmation of skills", () => {
  const confirmed = (trace: Array<string> = []) => traced(trace, { requiresConfirmation: true, timeout: "1 second" })

  it.effect("shows the execution and its user, under an id", () =>
    Effect.gen(function* () {
      const { asked, executor } = yield* make([confirmed()])
      yield* executor.execute({ name: "traced", params: { n: 1, extra: 2 }, userId: ann, sessionId: session, id: "x" })
      const id = asked[0]?.id ?? ""
      assert.isAbove(id.length, 10)
      assert.deepStrictEqual(asked as ReadonlyArray<unknown>, [
        {
          id,
          runId: id,
          userId: ann,
          sessionId: session,
          agent: "",
          toolCallId: "x",
          tool: "traced",
          params: { n: 1 }
        }
      ])
    })
  )

  it.effect("names the requester of the run when the execution names nobody", () =>
    Effect.gen(function* () {
      const { asked, executor } = yield* make([confirmed()])
      yield* executor
        .execute({ name: "traced", params: { n: 1 } })
        .pipe(Effect.provideService(ApprovalGate.Requester, { userId: ann, sessionId: session }))
      assert.deepStrictEqual([asked[0]?.userId, asked[0]?.sessionId], [ann, session])
    })
  )

  it.effect("executes nothing after a denial, which has a reason", () =>
    Effect.gen(function* () {
      const trace: Array<string> = []
      const { executor } = yield* make([confirmed(trace)], {
        decide: () => Effect.succeed(ApprovalGate.deny({ reason: "too dear" }))
      })
      const error = yield* Effect.flip(executor.execute({ name: "traced", params: { n: 1 } }))
      assert.strictEqual(error._tag, "SkillConfirmationDeniedError")
      assert.strictEqual(error.message, `The skill "traced" was not approved: too dear`)
      assert.deepStrictEqual(trace, ["decode"])
    })
  )

  it.effect("allows nothing when the gate fails", () =>
    Effect.gen(function* () {
      const { executor } = yield* make([confirmed()], { decide: () => Effect.die("bug") })
      const error = yield* Effect.flip(executor.execute({ name: "traced", params: { n: 1 } }))
      assert.strictEqual(error._tag, "SkillConfirmationDeniedError")
      assert.strictEqual(error.cause, "bug")
    })
  )

  it.effect("validates and uses changed parameters", () =>
    Effect.gen(function* () {
      let params: unknown = { n: 7 }
      const { executor } = yield* make([confirmed()], {
        decide: () => Effect.succeed(ApprovalGate.approve({ params }))
      })
      assert.strictEqual((yield* executor.execute({ name: "traced", params: { n: 1 } })).output, 7)
      assert.strictEqual((yield* executor.run(confirmed(), { n: 1 })).output, 7)
      params = { n: "no" }
      const error = yield* Effect.flip(executor.execute({ name: "traced", params: { n: 1 } }))
      assert.strictEqual(error._tag, "SkillValidationError")
    })
  )

  it.effect("is skipped when it was given already, or the parameters need none", () =>
    Effect.gen(function* () {
      const skill = traced([], { requiresConfirmation: ({ n }) => n > 100 })
      const { asked, executor } = yield* make([skill])
      yield* executor.execute({ name: "traced", params: { n: 1 } })
      yield* executor.execute({ name: "traced", params: { n: 101 }, confirmed: true })
      yield* executor.run(skill, { n: 101 }, { confirmed: true })
      assert.strictEqual(asked.length, 0)
      yield* executor.execute({ name: "traced", params: { n: 101 } })
      assert.strictEqual(asked.length, 1)
    })
  )

  it.effect("uses neither time nor concurrency while it waits", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<ApprovalGate.ApprovalDecision>()
      const other = Skill.make("other", { description: "d", handler: () => Effect.succeed("done") })
      const { executor } = yield* make([confirmed(), other], { maxConcurrent: 1, decide: () => Deferred.await(answer) })
      const fiber = yield* Effect.fork(executor.execute({ name: "traced", params: { n: 1 } }))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* executor.execute({ name: "other", params: {} })).output, "done")
      yield* Deferred.succeed(answer, ApprovalGate.approve())
      const result = yield* Fiber.join(fiber)
      assert.deepStrictEqual([result.output, result.durationMs], [1, 0])
    })
  )

  it.effect("is withdrawn by an interruption", () =>
    Effect.gen(function* () {
      let withdrawn = 0
      const { executor } = yield* make([confirmed()], {
        decide: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => withdrawn++))
      })
      const fiber = yield* Effect.fork(executor.execute({ name: "traced", params: { n: 1 } }))
      yield* TestClock.adjust(1)
      const exit = yield* Fiber.interrupt(fiber)
      assert(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      assert.strictEqual(withdrawn, 1)
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { RunId, SessionId, UserId } from "../../src/domain/Ids.js"
import * as Run from "../../src/observability/Run.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import { ToolTimeoutError } from "../../src/tool/definition/ToolError.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import type * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"
import { call, layer, make, run } from "./RecordedRun.js"

class Lost extends Data.TaggedError("Lost")<{ readonly code: string }> {}
class NoRow extends Data.TaggedError("NoRow")<{ readonly message: string; readonly hint?: string }> {}
const lost = new Lost({ code: "ECONNRESET" })

const describing = { description: "d" }
const echo = Tool.make("echo", {
  description: "d",
  parameters: { text: Schema.String, times: Schema.optional(Schema.Number) },
  handler: (params) => Effect.succeed(params)
})

/** Advances the clock until the fiber is done. */
const settle = <A, E>(fiber: Fiber.RuntimeFiber<A, E>, by: Duration.DurationInput) =>
  Effect.zipRight(TestClock.adjust(by), Fiber.join(fiber))

describe("arguments", () => {
  const params = (given: unknown) => Effect.map(run(echo, call("echo", given)), (outcome) => outcome.result)

  it.effect("decodes valid arguments for the handler", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* params({ text: "a", times: 2 }), { text: "a", times: 2 })
      assert.deepStrictEqual(yield* params({ text: "a", unknown: 1 }), { text: "a" })
      assert.deepStrictEqual(yield* params('{text: "a",}'), { text: "a" })
      assert.deepStrictEqual(yield* params("just text"), { text: "just text" })
      assert.deepStrictEqual(yield* params(5), { text: "5" })
      assert.deepStrictEqual(yield* params('{"text": "a", "__proto__": {"times": 3}}'), { text: "a" })
    })
  )

  it.effect("treats null for an optional parameter as missing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* params({ text: "a", times: null }), { text: "a" })
    })
  )

  it.effect("keeps null where the schema accepts it", () =>
    Effect.gen(function* () {
      const nullable = Tool.make("n", {
        ...describing,
        parameters: { a: Schema.optional(Schema.NullOr(Schema.String)) },
        handler: Effect.succeed
      })
      assert.deepStrictEqual((yield* run(nullable, call("n", { a: null }))).result, { a: null })
    })
  )

  it.effect("reports invalid arguments by field, without running the handler", () =>
    Effect.gen(function* () {
      const calls = yield* Ref.make(0)
      const counted = Tool.make("counted", {
        ...describing,
        parameters: { to: Schema.String, n: Schema.Number },
        handler: () => Ref.update(calls, (n) => n + 1)
      })
      for (const given of [{}, undefined, [], { to: 5, n: "x" }, '{"to": [']) {
        const outcome = yield* run(counted, call("counted", given))
        assert.strictEqual(outcome.error?.tag, "ToolValidationError")
        assert.strictEqual(outcome.error?.code, "LEX_ERR_AGT_011")
        assert.isTrue(outcome.isFailure)
        assert.strictEqual(outcome.attempts, 0)
        assert.include(outcome.observation, "Correct the arguments")
      }
      const missing = yield* run(counted, call("counted", {}))
      assert.include(missing.observation, "to: is missing")
      assert.include(missing.observation, "n: is missing")
      const wrong = yield* run(counted, call("counted", { to: 5, n: 1 }))
      assert.include(wrong.observation, "to: Expected string, actual 5")
      assert.strictEqual(yield* Ref.get(calls), 0)
    })
  )

  it.effect("keeps the observation of a huge invalid argument small", () =>
    Effect.gen(function* () {
      const outcome = yield* run(echo, call("echo", { text: Array.from({ length: 5000 }, () => "x".repeat(50)) }))
      assert.isBelow(outcome.observation.length, 3000)
    })
  )

  it.effect("supports asynchronous schemas", () =>
    Effect.gen(function* () {
      const Slow = Schema.transformOrFail(Schema.String, Schema.String, {
        strict: true,
        decode: (text) => Effect.as(Effect.yieldNow(), text.toUpperCase()),
        encode: (text) => Effect.as(Effect.yieldNow(), text.toLowerCase())
      })
      const slow = Tool.make("slow", {
        ...describing,
        parameters: { a: Slow },
        success: Slow,
        handler: ({ a }) => Effect.succeed(`${a}!`)
      })
      assert.strictEqual((yield* run(slow, call("slow", { a: "x" }))).result, "x!")
      assert.strictEqual((yield* run(slow, call("slow", { a: 1 }))).error?.tag, "ToolValidationError")
    })
  )
})

describe("unknown tools", () => {
  it.effect("lists the known names and the nearest one", () =>
    Effect.gen(function* () {
      const set = ToolSet.make(echo, Tool.make("fs.read", { ...describing, handler: () => Effect.void }))
      const outcome = yield* run(set, call("Echo!", {}))
      assert.strictEqual(outcome.error?.tag, "ToolNotFoundError")
      assert.strictEqual(
        outcome.observation,
        'Error: There is no tool named "Echo!". Did you mean "echo"? Available tools: echo, fs_read'
      )
      const none = yield* run(ToolSet.empty, call("x".repeat(10_000)))
      assert.include(none.observation, "No tools are available")
      assert.isBelow(none.observation.length, 300)
      assert.strictEqual(none.name.length, 128)
    })
  )

  it.effect("does not list tools hidden from the module", () =>
    Effect.gen(function* () {
      const set = ToolSet.make(echo, Tool.make("secret", { ...describing, owner: "vault", handler: () => Effect.void }))
      const outcome = yield* run(set, call("secrets"), { graph: { isVisible: () => Effect.succeed(false) } })
      assert.notInclude(outcome.observation, '"secret"')
      assert.include(outcome.observation, "Available tools: echo")
    })
  )
})

describe("failures", () => {
  const failing = <F>(error: F, name = "t") => Tool.make(name, { ...describing, handler: () => Effect.fail(error) })

  it.effect("makes a failure an observation with its message and hint", () =>
    Effect.gen(function* () {
      const plain = yield* run(failing(new NoRow({ message: "no such order" })), call("t"))
      assert.strictEqual(plain.observation, 'Error: "t" failed: no such order')
      assert.strictEqual(plain.error?.tag, "ToolExecutionError")
      assert.strictEqual(plain.error?.code, "LEX_ERR_AGT_007")
      const hinted = yield* run(failing(new NoRow({ message: "no such order", hint: "Ask for the number" })), call("t"))
      assert.strictEqual(hinted.observation, 'Error: "t" failed: no such order. Ask for the number')
      assert.strictEqual(hinted.error?.hint, "Ask for the number")
    })
  )

  it.effect("describes a failure without a message", () =>
    Effect.gen(function* () {
      const text = (tool: Tool.Tool<{}, unknown, never, never, unknown>) =>
        Effect.map(run(tool, call("t")), (outcome) => outcome.observation.replace('Error: "t" failed: ', ""))
      assert.strictEqual(yield* text(failing("busy")), "busy")
      assert.strictEqual(yield* text(failing(new Lost({ code: "x" }))), "Lost")
      assert.strictEqual(yield* text(failing({ left: 2 })), '{"left":2}')
      assert.strictEqual(yield* text(failing(Object.create(null))), "{}")
      assert.strictEqual(yield* text(failing(null)), "null")
      assert.strictEqual(yield* text(failing(new TypeError())), "TypeError")
      const encoded = Tool.make("t", {
        ...describing,
        failure: Schema.Struct({ at: Schema.Date }),
        handler: () => Effect.fail({ at: new Date(0) })
      })
      assert.strictEqual(yield* text(encoded), '{"at":"1970-01-01T00:00:00.000Z"}')
    })
  )

  it.effect("removes keys in the text of a failure for the model and the events", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const key = "sk-abcdefgh12345678"
      const error = new NoRow({ message: `GET https://x.example/?key=${key} with Bearer ${key}`, hint: `use ${key}` })
      yield* run(failing(error), call("t"), { recorded })
      const fatal = Tool.make("t", { ...describing, fatal: true, handler: () => Effect.fail(error) })
      yield* Effect.exit(run(fatal, call("t"), { recorded }))
      assert.notInclude(JSON.stringify(recorded.events), key)
      assert.include(JSON.stringify(recorded.events), "[REDACTED]")
    })
  )

  it.effect("ends the run on a fatal failure, carried with the tool's name and its encoded form", () =>
    Effect.gen(function* () {
      const tool = Tool.make("db", {
        ...describing,
        failure: Schema.Struct({ _tag: Schema.Literal("Down"), at: Schema.Date }),
        handler: () => Effect.fail({ _tag: "Down" as const, at: new Date(0) })
      }).pipe(Tool.failOn("Down"))
      const fatality = yield* Effect.flip(run(tool, call("db")))
      assert.instanceOf(fatality, ToolRunner.Fatality)
      assert.deepStrictEqual(fatality.error, { _tag: "Down", at: new Date(0) })
      assert.strictEqual(fatality.toolName, "db")
      assert.deepStrictEqual(fatality.encoded, { _tag: "Down", at: "1970-01-01T00:00:00.000Z" })
    })
  )

  it.effect("keeps a defect, also beside a failure and when a handler throws or returns no effect", () =>
    Effect.gen(function* () {
      const bug = new Error("bug")
      const both = Effect.failCause(Cause.parallel(Cause.fail(new NoRow({ message: "m" })), Cause.die(bug)))
      const throwing = () => {
        throw bug
      }
      for (const handler of [() => Effect.die(bug), () => both, throwing]) {
        for (const timeout of [Duration.seconds(1), Duration.infinity]) {
          const exit = yield* Effect.exit(run(Tool.make("t", { ...describing, timeout, handler }), call("t")))
          if (Exit.isSuccess(exit)) return assert.fail("it succeeded")
          const defects = Array.from(Cause.defects(exit.cause))
          assert.deepStrictEqual(
            defects.map((defect) => (defect as Error).message),
            ["bug"]
          )
          assert.strictEqual(Array.from(Cause.failures(exit.cause)).length, 0)
        }
      }
      const none = Tool.make("t", { ...describing, handler: () => undefined as unknown as Effect.Effect<number> })
      const exit = yield* Effect.exit(run(none, call("t")))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
    })
  )

  it.effect("makes a handler that interrupts itself a failed call, and the run continues", () =>
    Effect.gen(function* () {
      for (const timeout of [Duration.seconds(1), Duration.infinity]) {
        const outcome = yield* run(
          Tool.make("t", { ...describing, timeout, handler: () => Effect.interrupt }),
          call("t")
        )
        assert.strictEqual(outcome.observation, 'Error: "t" was interrupted')
      }
    })
  )
})

describe("results", () => {
  const giving = (value: unknown) =>
    run(Tool.make("t", { ...describing, handler: () => Effect.succeed(value) }), call("t"))

  it.effect("reads nothing as ok, keeps a text, and encodes a value as JSON", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* giving(undefined), { result: "ok", observation: "ok", isFailure: false, attempts: 1 })
      assert.deepInclude(yield* giving("x"), { result: "x", observation: "x" })
      assert.deepInclude(yield* giving({ a: 1 }), { result: { a: 1 }, observation: '{"a":1}' })
    })
  )

  it.effect("encodes results through the success schema, and fails the call on a mismatch", () =>
    Effect.gen(function* () {
      const dated = (value: Date) =>
        run(
          Tool.make("t", {
            ...describing,
            success: Schema.Struct({ at: Schema.Date }),
            handler: () => Effect.succeed({ at: value })
          }),
          call("t")
        )
      assert.deepStrictEqual((yield* dated(new Date(0))).result, { at: "1970-01-01T00:00:00.000Z" })
      const wrong = yield* dated("now" as unknown as Date)
      assert.isTrue(wrong.isFailure)
      assert.include(wrong.observation, "does not fit its schema")
    })
  )

  it.effect("makes big integers and cycles readable, and fails the call without a JSON form", () =>
    Effect.gen(function* () {
      const circle: { n: bigint; self?: unknown } = { n: 1n }
      circle.self = circle
      assert.deepStrictEqual((yield* giving(circle)).result, { n: "1", self: "[Circular]" })
      const none = yield* giving(() => 1)
      assert.isTrue(none.isFailure)
      assert.include(none.observation, "no JSON form")
    })
  )

  it.effect("encodes every outcome", () =>
    Effect.gen(function* () {
      for (const value of [undefined, 1n, new Map(), new Date(0), { a: undefined }]) {
        const outcome = yield* giving(value)
        const encoded = JSON.parse(JSON.stringify(yield* Schema.encode(ToolRunner.Outcome)(outcome)))
        assert.deepStrictEqual(yield* Schema.decode(ToolRunner.Outcome)(encoded), outcome)
      }
    })
  )

  it.effect("truncates long results at 10,000 characters, or as the options say", () =>
    Effect.gen(function* () {
      const long = Tool.make("t", { ...describing, handler: () => Effect.succeed("x".repeat(10_001)) })
      const cut = yield* run(long, call("t"))
      assert.isTrue(cut.truncated)
      assert.strictEqual(cut.result, cut.observation)
      assert.include(cut.observation, "[TRUNCATED: 1 of 10001 characters left out]")
      assert.isFalse((yield* run(long, call("t"), { runner: { maxResultChars: 20_000 } })).truncated)
      const both = yield* run(long, call("t"), { runner: { maxResultChars: 20_000 }, options: { maxResultChars: 10 } })
      assert.include(both.observation, "9991 of 10001")
      const failed = yield* run(
        Tool.make("t", { ...describing, handler: () => Effect.fail("x".repeat(500)) }),
        call("t"),
        { options: { maxResultChars: 100 } }
      )
      assert.isTrue(failed.truncated && failed.isFailure)
    })
  )
})

describe("timeouts", () => {
  const hanging = (annotations: Tool.Annotations = {}, events?: Array<string>) =>
    Tool.make("slow", {
      ...describing,
      ...annotations,
      handler: (_, info) =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => events?.push(`released ${info.attempt}`)))
    })

  it.effect("interrupt a call after 30 s, run its finalizers, and inform the model", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const fiber = yield* Effect.fork(run(hanging({}, events), call("slow")))
      yield* TestClock.adjust("29999 millis")
      assert.deepStrictEqual(events, [])
      const outcome = yield* settle(fiber, "1 millis")
      assert.deepStrictEqual(events, ["released 1"])
      assert.strictEqual(outcome.error?.tag, "ToolTimeoutError")
      assert.strictEqual(outcome.error?.code, "LEX_ERR_AGT_100")
      assert.strictEqual(outcome.observation, 'Error: "slow" did not end within 30000 ms and was stopped')
      assert.strictEqual(outcome.attempts, 1)
    })
  )

  it.effect("prefer the tool's timeout to the call's, and that to the runner's", () =>
    Effect.gen(function* () {
      const within = (annotations: Tool.Annotations, options: ToolRunner.RunOptions, by: string) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(
            run(hanging(annotations), call("slow"), { options, runner: { timeout: "3 seconds" } })
          )
          const outcome = yield* settle(fiber, "5 seconds")
          assert.include(outcome.observation, by)
        })
      yield* within({ timeout: "1 second" }, { timeout: "2 seconds" }, "1000 ms")
      yield* within({}, { timeout: "2 seconds" }, "2000 ms")
      yield* within({}, {}, "3000 ms")
    })
  )

  it.effect("support an infinite duration", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(run(hanging({ timeout: "Infinity" as never }), call("slow")).pipe(Effect.exit))
      yield* Fiber.interrupt(fiber)
      const endless = Tool.make("t", {
        ...describing,
        timeout: Duration.infinity,
        handler: () => Effect.sleep("10 days")
      })
      const waiting = yield* Effect.fork(run(endless, call("t")))
      assert.strictEqual((yield* settle(waiting, "10 days")).result, "ok")
    })
  )

  it.effect("are retried only if the tool is idempotent", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const fiber = yield* Effect.fork(run(hanging({ timeout: "1 second", idempotent: true }, events), call("slow")))
      // 1 s, wait 1 s, 1 s, wait 2 s, 1 s
      yield* TestClock.adjust("5999 millis")
      assert.deepStrictEqual(events, ["released 1", "released 2"])
      const outcome = yield* settle(fiber, "1 millis")
      assert.strictEqual(outcome.attempts, 3)
      assert.strictEqual(outcome.error?.tag, "ToolTimeoutError")
    })
  )

  it.effect("treat a handler's own ToolTimeoutError like any failure", () =>
    Effect.gen(function* () {
      const inner = new ToolTimeoutError({ toolName: "inner", timeoutMs: 5, message: "inner took too long" })
      const handler = () => Effect.fail(inner)
      const outcome = yield* run(Tool.make("t", { ...describing, idempotent: true, handler }), call("t"))
      assert.strictEqual(outcome.error?.tag, "ToolExecutionError")
      assert.strictEqual(outcome.attempts, 1)
      const fatal = yield* Effect.flip(run(Tool.make("t", { ...describing, fatal: true, handler }), call("t")))
      assert.strictEqual((fatal.error as ToolTimeoutError).toolName, "inner")
    })
  )
})

describe("retries", () => {
  /** Fails so often, then answers with the moments it was called at. */
  const flaky = (
    failures: number,
    error: unknown,
    annotations: Tool.Annotations & { readonly retryable?: (error: unknown) => boolean } = {}
  ) => {
    const at: Array<number> = []
    return Tool.make("flaky", {
      ...describing,
      ...annotations,
      handler: (_, info) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          assert.strictEqual(info.id, "c1")
          assert.strictEqual(info.attempt, at.length + 1)
          at.push(now)
          return at.length <= failures ? Effect.fail(error) : Effect.succeed(at)
        })
    })
  }
  const outcomeOf = (tool: Tool.Tool<{}, unknown, never, never, unknown>, options?: Parameters<typeof run>[2]) =>
    Effect.flatMap(Effect.fork(run(tool, call("flaky"), options)), (fiber) => settle(fiber, "10 minutes"))

  it.effect("repeat connection failures after 1 s, then 2 s, and count the attempts", () =>
    Effect.gen(function* () {
      const outcome = yield* outcomeOf(flaky(2, lost))
      assert.deepStrictEqual(outcome.result, [0, 1000, 3000])
      assert.strictEqual(outcome.attempts, 3)
    })
  )

  it.effect("fail after three attempts", () =>
    Effect.gen(function* () {
      const outcome = yield* outcomeOf(flaky(9, lost))
      assert.strictEqual(outcome.error?.tag, "ToolExecutionError")
      assert.strictEqual(outcome.attempts, 3)
    })
  )

  it.effect("read maxAttempts as all attempts, retries as those after the first, and prefer the tool's setting", () =>
    Effect.gen(function* () {
      const attempts = (annotations: Tool.Annotations, options: ToolRunner.RunOptions, maxAttempts?: number) =>
        Effect.map(
          outcomeOf(flaky(99, lost, annotations), { options, runner: { maxAttempts } }),
          (outcome) => outcome.attempts
        )
      assert.strictEqual(yield* attempts({}, { maxAttempts: 2 }), 2)
      assert.strictEqual(yield* attempts({}, {}, 5), 5)
      assert.strictEqual(yield* attempts({}, { maxAttempts: 1 }, 5), 1)
      assert.strictEqual(yield* attempts({ retries: 3 }, { maxAttempts: 1 }), 4)
      assert.strictEqual(yield* attempts({ retries: 0 }, { maxAttempts: 7 }), 1)
      for (const odd of [0, -1, Number.NaN]) assert.strictEqual(yield* attempts({}, { maxAttempts: odd }), 1)
    })
  )

  it.effect("wait at most half a minute", () =>
    Effect.gen(function* () {
      const outcome = yield* outcomeOf(flaky(7, lost, { retries: 7 }))
      const at = outcome.result as ReadonlyArray<number>
      const waits = at.slice(1).map((time, index) => (time - (at[index] as number)) / 1000)
      assert.deepStrictEqual(waits, [1, 2, 4, 8, 16, 30, 30])
    })
  )

  it.effect("do not repeat other failures unless the tool calls them transient", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* outcomeOf(flaky(1, new NoRow({ message: "m" })))).attempts, 1)
      const retryable = (error: unknown) => error === "busy"
      assert.deepStrictEqual(
        (yield* outcomeOf(flaky(1, "busy", { retryable }))).result,
        [0, 1000].map((n) => n + 600_000)
      )
      assert.strictEqual((yield* outcomeOf(flaky(1, lost, { retryable }))).attempts, 1)
    })
  )

  it.effect("repeat a transient fatal failure before it ends the run", () =>
    Effect.gen(function* () {
      const count = yield* Ref.make(0)
      const tool = Tool.make("db", {
        ...describing,
        fatal: true,
        handler: () =>
          Effect.zipRight(
            Ref.update(count, (n) => n + 1),
            Effect.fail(lost)
          )
      })
      const fiber = yield* Effect.fork(Effect.flip(run(tool, call("db"))))
      assert.strictEqual(((yield* settle(fiber, "1 minute")).error as Lost).code, lost.code)
      assert.strictEqual(yield* Ref.get(count), 3)
    })
  )

  it.effect("end with an interruption during the wait", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(run(flaky(9, lost), call("flaky")))
      yield* TestClock.adjust("500 millis")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
    })
  )
})

describe("approval", () => {
  const careful = (
    ran: Array<unknown>,
    requiresApproval: boolean | ((params: { readonly n: number; readonly unit: string }) => boolean) = true
  ) =>
    Tool.make("rm", {
      ...describing,
      parameters: Schema.Struct({
        n: Schema.NumberFromString,
        unit: Schema.optionalWith(Schema.String, { default: () => "files" })
      }),
      requiresApproval,
      handler: (params) => Effect.sync(() => void ran.push(params))
    })

  it.effect("denies without an approver, and informs the model", () =>
    Effect.gen(function* () {
      const ran: Array<unknown> = []
      const outcome = yield* run(careful(ran), call("rm", { n: "1" }), { gate: ApprovalGate.layerDeny })
      assert.strictEqual(outcome.error?.tag, "ToolApprovalDeniedError")
      assert.include(outcome.observation, "there is no approver")
      assert.include(outcome.observation, "find another way")
      assert.deepStrictEqual([ran, outcome.attempts], [[], 0])
    })
  )

  it.effect("runs an approved call unchanged", () =>
    Effect.gen(function* () {
      const ran: Array<unknown> = []
      const outcome = yield* run(careful(ran), call("rm", { n: "1" }), { gate: ApprovalGate.layerAutoApprove })
      assert.deepStrictEqual([ran, outcome.approved], [[{ n: 1, unit: "files" }], true])
    })
  )

  it.effect("can depend on the arguments", () =>
    Effect.gen(function* () {
      const ran: Array<unknown> = []
      const tool = careful(ran, ({ n }) => n > 10)
      const unasked = yield* run(tool, call("rm", { n: "10" }))
      assert.deepStrictEqual([unasked.isFailure, unasked.approved], [false, undefined])
      assert.isTrue((yield* run(tool, call("rm", { n: "11" }))).isFailure)
    })
  )

  it.effect("is required when the predicate throws", () =>
    Effect.gen(function* () {
      const ran: Array<unknown> = []
      const throws = () => {
        throw new Error("no idea")
      }
      for (const tool of [careful(ran, throws), Tool.withApproval(careful(ran, false), throws)]) {
        const outcome = yield* run(tool, call("rm", { n: "1" }))
        assert.strictEqual(outcome.error?.tag, "ToolApprovalDeniedError")
      }
      assert.deepStrictEqual(ran, [])
    })
  )

  it.effect("names the top run and the requester", () =>
    Effect.gen(function* () {
      const asked: Array<ApprovalGate.ApprovalRequest> = []
      const gate = ApprovalGate.layer((request) =>
        Effect.sync(() => {
          asked.push(request)
          return ApprovalGate.approve()
        })
      )
      const recorded = yield* make()
      const child = { ...recorded, run: recorded.run.child(RunId.make("run-2"), "helper") }
      const requester = { userId: UserId.make("u1"), sessionId: SessionId.make("s1") }
      yield* run(careful([]), call("rm", { n: "1" }), { gate, recorded })
      yield* run(careful([]), call("rm", { n: "1" }), { gate, recorded: child }).pipe(
        Effect.provideService(ApprovalGate.Requester, requester)
      )
      assert.notProperty(asked[0], "userId")
      assert.notProperty(asked[0], "sessionId")
      assert.deepInclude(asked[1] as object, { runId: "run-2", rootRunId: "run-1", agent: "helper", ...requester })
    })
  )

  it.effect("shows what will run, not what the model wrote", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const asked: Array<ApprovalGate.ApprovalRequest> = []
      const gate = ApprovalGate.layer((request) =>
        Effect.sync(() => {
          asked.push(request)
          return ApprovalGate.approve()
        })
      )
      yield* run(careful([]), call("rm", "{n: '3', hidden: true,}", "c7"), { gate, recorded })
      assert.deepStrictEqual(asked[0]?.params, { n: "3", unit: "files" })
      assert.deepInclude(asked[0] as object, { runId: "run-1", agent: "tester", toolCallId: "c7", tool: "rm" })
      assert.deepInclude(recorded.of("ApprovalRequested")[0] as object, {
        id: asked[0]?.id,
        toolCallId: "c7",
        name: "rm",
        params: asked[0]?.params
      })
      assert.deepInclude(recorded.of("ApprovalResolved")[0] as object, {
        id: asked[0]?.id,
        toolCallId: "c7",
        approved: true
      })
      assert.deepStrictEqual(
        recorded.events.map((event) => event._tag),
        ["ToolCall", "ApprovalRequested", "ApprovalResolved", "ToolResult"]
      )
    })
  )

  it.effect("checks edited parameters like any others, and runs with them", () =>
    Effect.gen(function* () {
      const ran: Array<unknown> = []
      const edit = (params: unknown) => ApprovalGate.layer(() => Effect.succeed(ApprovalGate.approve({ params })))
      yield* run(careful(ran), call("rm", { n: "100" }), { gate: edit({ n: "2" }) })
      assert.deepStrictEqual(ran, [{ n: 2, unit: "files" }])
      const wrong = yield* run(careful(ran), call("rm", { n: "100" }), { gate: edit({ n: "many" }) })
      assert.strictEqual(wrong.error?.tag, "ToolValidationError")
      assert.strictEqual(ran.length, 1)
    })
  )

  it.effect("is requested while the reader of the event is slow, and the call waits for both", () =>
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const read = yield* Deferred.make<void>()
      const asked = yield* Ref.make(0)
      const ran: Array<unknown> = []
      const gate = ApprovalGate.layer(() =>
        Effect.as(
          Ref.update(asked, (n) => n + 1),
          ApprovalGate.approve()
        )
      )
      let last = ""
      const slow = Run.make({
        runId: RunId.make("run-1"),
        agent: "tester",
        clock,
        sink: {
          push: ({ _tag }) => {
            last = _tag
          },
          settle: () => (last === "ApprovalRequested" ? Deferred.await(read) : undefined),
          live: true
        }
      })
      const recorded = { run: slow, events: [], of: () => [] }
      const start = Effect.fork(run(careful(ran), call("rm", { n: "1" }), { gate, recorded }))
      const interrupted = yield* start
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Ref.get(asked), 1)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(interrupted)))
      const fiber = yield* start
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* Ref.get(asked), 2)
      assert.deepStrictEqual(ran, [])
      yield* Deferred.succeed(read, undefined)
      assert.isFalse((yield* Fiber.join(fiber)).isFailure)
      assert.strictEqual(ran.length, 1)
    })
  )

  it.effect("passes the reason of a denial to the model and the events", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const gate = ApprovalGate.layer(() => Effect.succeed(ApprovalGate.deny({ reason: "not on Friday" })))
      const outcome = yield* run(careful([]), call("rm", { n: "1" }), { gate, recorded })
      assert.include(outcome.observation, '"rm" was not allowed: not on Friday')
      assert.deepInclude(recorded.of("ApprovalResolved")[0] as object, { approved: false, reason: "not on Friday" })
    })
  )

  it.effect("does not count toward the timeout or the tool's time", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const gate = ApprovalGate.layer(() => Effect.as(Effect.sleep("3 days"), ApprovalGate.approve()))
      const tool = Tool.make("t", {
        ...describing,
        timeout: "2 seconds",
        requiresApproval: true,
        handler: () => Effect.as(Effect.sleep("1 second"), "done")
      })
      const fiber = yield* Effect.fork(run(tool, call("t"), { gate, recorded }))
      yield* TestClock.adjust("3 days")
      assert.strictEqual((yield* settle(fiber, "1 second")).result, "done")
      assert.strictEqual(recorded.of("ToolResult")[0]?.durationMs, 1000)
    })
  )

  it.effect("is withdrawn on interruption", () =>
    Effect.gen(function* () {
      const withdrawn = yield* Ref.make(false)
      const gate = ApprovalGate.layer(() => Effect.onInterrupt(Effect.never, () => Ref.set(withdrawn, true)))
      const recorded = yield* make()
      const fiber = yield* Effect.fork(run(careful([]), call("rm", { n: "1" }), { gate, recorded }))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.isTrue(yield* Ref.get(withdrawn))
      assert.deepInclude(recorded.of("ToolResult")[0] as object, { isFailure: true, attempts: 0 })
    })
  )
})

describe("visibility", () => {
  const owned = Tool.make("charge", { ...describing, owner: "billing", handler: () => Effect.succeed("charged") })
  const as = (module: string) => Effect.provideService(ToolRunner.CallerModule, module)
  const onlySame: ModuleGraph.Service = { isVisible: ({ caller, owner }) => Effect.succeed(caller === owner) }

  it.effect("runs a tool of a module for those who may see it", () =>
    Effect.gen(function* () {
      const outcome = (module: string) => run(owned, call("charge"), { graph: onlySame }).pipe(as(module))
      assert.strictEqual((yield* outcome("billing")).result, "charged")
      const denied = yield* outcome("support")
      assert.strictEqual(denied.error?.tag, "ToolAccessDeniedError")
      assert.strictEqual(denied.error?.code, "LEX_ERR_AGT_008")
      assert.isTrue((yield* run(owned, call("charge"), { graph: onlySame })).isFailure)
    })
  )

  it.effect("denies when a lookup fails or does not answer", () =>
    Effect.gen(function* () {
      for (const answer of [Effect.fail("down"), Effect.succeed(undefined as never), Effect.succeed("yes" as never)]) {
        const outcome = yield* run(owned, call("charge"), { graph: { isVisible: () => answer } })
        assert.strictEqual(outcome.error?.tag, "ToolAccessDeniedError")
      }
    })
  )

  it.effect("makes tools without a module visible to all, without a lookup", () =>
    Effect.gen(function* () {
      const graph = { isVisible: () => Effect.die("asked") }
      assert.isFalse((yield* run(echo, call("echo", { text: "a" }), { graph })).isFailure)
    })
  )

  it.effect("neither decodes a denied call nor requests approval for it", () =>
    Effect.gen(function* () {
      const recorded = yield* make()
      const tool = Tool.make("t", {
        ...describing,
        parameters: { a: Schema.String },
        owner: "x",
        requiresApproval: true,
        handler: () => Effect.void
      })
      const outcome = yield* run(tool, call("t", 5), { graph: onlySame, recorded })
      assert.strictEqual(outcome.error?.tag, "ToolAccessDeniedError")
      assert.strictEqual(recorded.of("ApprovalRequested").length, 0)
    })
  )

  it.effect("hides tools from the visible set, and still denies calls of them", () =>
    Effect.gen(function* () {
      const runner = yield* ToolRunner.ToolRunner
      const bound = yield* ToolSet.bind(ToolSet.make(owned, echo))
      const seen = yield* runner.visible(bound)
      assert.deepStrictEqual(
        [seen.tools.map((tool) => tool.name), seen.definitions.map((definition) => definition.name)],
        [["echo"], ["echo"]]
      )
      assert.strictEqual((yield* runner.run(seen, call("charge"))).error?.tag, "ToolAccessDeniedError")
      const all = yield* runner.visible(bound).pipe(as("billing"))
      assert.strictEqual(all, bound)
      const free = yield* ToolSet.bind(ToolSet.make(echo))
      assert.strictEqual(yield* runner.visible(free), free)
    }).pipe(Effect.provide(layer({ graph: onlySame })))
  )

  it.effect("asks the graph once per module of a set, and a failed lookup hides only that module", () => {
    const asked: Array<string | undefined> = []
    const graph: ModuleGraph.Service = {
      isVisible: ({ owner }) => {
        asked.push(owner)
        return owner === "broken" ? Effect.fail("down") : Effect.succeed(true)
      }
    }
    const named = (name: string, owner: string) => Tool.make(name, { ...describing, owner, handler: () => Effect.void })
    return Effect.gen(function* () {
      const runner = yield* ToolRunner.ToolRunner
      const bound = yield* ToolSet.bind(
        ToolSet.make(named("a", "fine"), named("b", "broken"), named("c", "fine"), named("d", "broken"), echo)
      )
      const seen = yield* runner.visible(bound)
      assert.deepStrictEqual(
        seen.definitions.map((definition) => definition.name),
        ["a", "c", "echo"]
      )
      assert.deepStrictEqual(asked.sort(), ["broken", "fine"])
    }).pipe(Effect.provide(layer({ graph })))
  })
})

describe("interceptors", () => {
  const through = (...interceptors: ReadonlyArray<ToolRunner.ToolInterceptor>) =>
    Effect.provideService(ToolRunner.ToolInterceptors, interceptors)

  it.effect("run with the first outermost, and each sees the next one's result", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const note =
        (name: string): ToolRunner.ToolInterceptor =>
        (toolCall, next) => {
          order.push(`${name} in ${JSON.stringify(toolCall.params)}`)
          return Effect.map(next({ ...toolCall, params: { text: `${name}>` } }), (outcome) => {
            order.push(`${name} out ${outcome.observation}`)
            return { ...outcome, observation: `${name}<` }
          })
        }
      const outcome = yield* run(echo, call("echo", { text: "a" })).pipe(through(note("one"), note("two")))
      assert.deepStrictEqual(order, [
        'one in {"text":"a"}',
        'two in {"text":"one>"}',
        'two out {"text":"two>"}',
        "one out two<"
      ])
      assert.strictEqual(outcome.observation, "one<")
    })
  )

  it.effect("may answer themselves, fail the run, or call again", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const tool = Tool.make("t", { ...describing, handler: () => Effect.sync(() => ran.push("ran")) })
      const other = yield* run(echo, call("echo", { text: "x" }))
      const answered = yield* run(tool, call("t", {}, "c9")).pipe(through(() => Effect.succeed(other)))
      assert.strictEqual(answered.id, "c9")
      assert.deepStrictEqual(ran, [])
      const failed = run(tool, call("t")).pipe(
        through(() => new ToolRunner.Fatality({ error: "no", toolName: "" }) as never)
      )
      assert.isTrue(Exit.isFailure(yield* Effect.exit(failed)))
      yield* run(tool, call("t")).pipe(through((toolCall, next) => Effect.zipRight(next(toolCall), next(toolCall))))
      assert.strictEqual(ran.length, 2)
    })
  )
})

describe("layer", () => {
  it.effect("one runner serves concurrent calls", () =>
    Effect.gen(function* () {
      const runner = yield* ToolRunner.ToolRunner
      const waiting = Tool.make("t", {
        ...describing,
        parameters: { s: Schema.Number },
        handler: ({ s }) => Effect.as(Effect.sleep(s * 1000), s)
      })
      const bound = yield* ToolSet.bind(ToolSet.make(waiting))
      const fiber = yield* Effect.fork(
        Effect.forEach([3, 1, 2], (s) => runner.run(bound, call("t", { s }, `c${s}`)), { concurrency: "unbounded" })
      )
      const outcomes = yield* settle(fiber, "3 seconds")
      assert.deepStrictEqual(
        outcomes.map((outcome) => [outcome.id, outcome.result]),
        [
          ["c3", 3],
          ["c1", 1],
          ["c2", 2]
        ]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("runs tools of a JSON Schema like others", () =>
    Effect.gen(function* () {
      const made = Either.getOrThrow(
        Tool.fromJsonSchema("raw", {
          ...describing,
          parameters: { properties: { n: { type: "int" }, note: { type: "string" } }, required: ["n"] },
          handler: Effect.succeed
        })
      )
      assert.deepStrictEqual((yield* run(made, call("raw", { n: 1, note: null }))).result, { n: 1 })
      assert.include((yield* run(made, call("raw", { n: "x" }))).observation, "n: must be integer")
    })
  )

  it.effect("takes collaborators from the layer", () =>
    Effect.gen(function* () {
      const runner = yield* ToolRunner.ToolRunner
      assert.isFunction(runner.run)
    }).pipe(Effect.provide(Layer.provide(DefaultToolRunner.layer(), Layer.merge(ApprovalGate.layerDeny, layer()))))
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as CodeExecutionSkill from "../../../src/builtin/process/CodeExecutionSkill.js"
import { call } from "../../support/Skills.js"

const run = (code: string, params: Readonly<Record<string, unknown>> = {}, options: CodeExecutionSkill.Options = {}) =>
  call(CodeExecutionSkill.make(options), { code, ...params })

const failed = (
  code: string,
  options: CodeExecutionSkill.Options = {},
  params: Readonly<Record<string, unknown>> = {}
) =>
  Effect.flatMap(Effect.flip(run(code, params, options)), (error) =>
    error._tag === "CodeExecutionError" ? Effect.succeed(error) : Effect.die(error)
  )

describe("CodeExecutionSkill", () => {
  it.live("returns the output of the code and the value of its last expression", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* run(`console.log("a", { b: [1, undefined] }, 2n); [1, 2, 3].map((n) => n * input.by)`, {
          input: { by: 7 }
        }),
        {
          stdout: 'a {"b":[1,null]} 2\n',
          result: [7, 14, 21],
          language: "javascript"
        }
      )
      assert.strictEqual((yield* run("undefined")).result, null)
      assert.strictEqual((yield* run("(() => {})")).result, null)
      assert.strictEqual((yield* run("Promise.resolve(1).then((n) => Promise.resolve(n + 1))")).result, 2)
      assert.strictEqual((yield* run("(async () => { await null; return 'x' })()")).result, "x")
    })
  )

  it.live("fails with the exception of the code, its line and the output so far", () =>
    Effect.gen(function* () {
      const thrown = yield* failed("console.log('before')\nnull.x")
      assert.strictEqual(thrown.reason, "Threw")
      assert.strictEqual(thrown.stdout, "before\n")
      assert.match(thrown.message, /TypeError: .*\(line 2\)/)
      assert.match((yield* failed("let let = 1")).message, /SyntaxError/)
      assert.match((yield* failed("throw 'a text'")).message, /a text/)
      assert.strictEqual((yield* failed("throw null")).message, "null")
      assert.match((yield* failed("Promise.reject(new Error('late'))")).message, /Error: late/)
      assert.match((yield* failed("new Promise(() => {})")).message, /never happens/)
      assert.match((yield* failed("const a = {}; a.a = a; a")).message, /circular/)
    })
  )

  it.live("exposes nothing of the machine", () =>
    Effect.gen(function* () {
      const names = [
        "process",
        "require",
        "fetch",
        "setTimeout",
        "module",
        "Buffer",
        "Deno",
        "WebAssembly",
        "std",
        "os",
        "__print",
        "__input"
      ]
      const { result } = yield* run(`${JSON.stringify(names)}.filter((name) => name in globalThis)`)
      assert.deepStrictEqual(result, [])
      assert.strictEqual((yield* failed("import('node:fs')")).reason, "Threw")
      assert.strictEqual((yield* run("this.constructor.constructor('return typeof process')()")).result, "undefined")
      assert.strictEqual((yield* run("console.log.constructor('return typeof require')()")).result, "undefined")
    })
  )

  it.live("shares nothing between executions or with the program", () =>
    Effect.gen(function* () {
      yield* run("Object.prototype.polluted = 1; globalThis.left = 1; Array.prototype.map = null")
      assert.strictEqual(
        (yield* run("typeof left + typeof ({}).polluted + typeof [].map")).result,
        "undefinedundefinedfunction"
      )
      const { result } = yield* run(`JSON.parse('{"__proto__": {"polluted": true}, "a": 1}')`)
      assert.strictEqual(({} as Record<string, unknown>)["polluted"], undefined)
      assert.strictEqual((result as Record<string, unknown>)["polluted"], undefined)
      const overwritten = yield* run("JSON.stringify = () => 'forged'; Object.prototype.toJSON = undefined; ({ a: 1 })")
      assert.deepStrictEqual(overwritten.result, { a: 1 })
    })
  )

  it.live(
    "stops an endless loop while the program continues",
    () =>
      Effect.gen(function* () {
        for (const code of [
          "for (;;);",
          "const f = () => Promise.resolve().then(f); f()",
          "'a'.repeat(1e6).match(/(a+)+b/)",
          "while (true) try { for (;;); } catch {}"
        ]) {
          let beats = 0
          const beating = yield* Effect.fork(
            Effect.forever(
              Effect.delay(
                Effect.sync(() => beats++),
                "20 millis"
              )
            )
          )
          const error = yield* failed(`console.log(1); ${code}`, { timeout: "500 millis" })
          yield* Fiber.interrupt(beating)
          assert.strictEqual(error.reason, "Timeout", code)
          assert.isAbove(beats, 0)
        }
        const sooner = yield* failed("for (;;);", { timeout: "1 minute" }, { timeout: 0.2 })
        assert.strictEqual(sooner.reason, "Timeout")
      }),
    300_000
  )

  it.live(
    "bounds memory, stack and output",
    () =>
      Effect.gen(function* () {
        for (const code of [
          "const all = []; for (;;) all.push(new Array(1000).fill(1))",
          "const all = []; for (;;) all.push('x'.repeat(10000) + all.length)",
          "const all = []; for (let i = 0; ; i++) all.push({ i })",
          "new ArrayBuffer(1e9)"
        ]) {
          assert.strictEqual((yield* failed(code, { maxMemoryBytes: 8 * 1024 * 1024 })).reason, "MemoryLimit", code)
        }
        assert.strictEqual((yield* failed("'x'.repeat(2 ** 29)")).reason, "MemoryLimit")
        assert.match((yield* failed("const f = () => f() + 1; f()")).message, /stack|InternalError/)
        const printed = yield* failed("for (;;) console.log('x'.repeat(100))", { maxOutputChars: 1000 })
        assert.strictEqual(printed.reason, "OutputLimit")
        assert.strictEqual(printed.stdout.length, 1000)
        assert.strictEqual((yield* failed("'x'.repeat(2000)", { maxOutputChars: 1000 })).reason, "OutputLimit")
      }),
    300_000
  )

  it.live(
    "ends the thread of an interrupted execution before it ends",
    () =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(run("for (;;);", {}, { timeout: "1 minute" }))
        yield* Effect.sleep("300 millis")
        yield* Fiber.interrupt(fiber)
      }),
    300_000
  )

  it.effect("validates parameters", () =>
    Effect.gen(function* () {
      for (const params of [{}, { code: "" }, { code: "1", language: "ruby" }, { code: "1", timeout: -1 }]) {
        assert.isTrue(Either.isLeft(yield* Effect.either(call(CodeExecutionSkill.skill, params))))
      }
      assert.deepStrictEqual(CodeExecutionSkill.skill.definition.permissions, ["code.execute"])
      assert.strictEqual(CodeExecutionSkill.make({ maxConcurrent: 2 }).definition.maxConcurrent, 2)
    })
  )
})

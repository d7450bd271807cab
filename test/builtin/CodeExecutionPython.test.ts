import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CodeExecutionSkill from "../../src/builtin/process/CodeExecutionSkill.js"
import { call, Misfit } from "../support/Skills.js"

/** Not a stand-in that looks for its versions in the home of the user, which processes do not get. */
const interpreter = (() => {
  try {
    return execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { stdio: "pipe" }).toString().trim()
  } catch {
    console.log("skipped the execution of Python: there is no python3")
    return undefined
  }
})()

type Options = NonNullable<Parameters<typeof CodeExecutionSkill.withPython>[0]>

const skillOf = ({ python, ...options }: Options) =>
  CodeExecutionSkill.withPython({ timeout: "30 seconds", ...options, python: { interpreter, ...python } })

const usual = skillOf({})

const run = (code: string, params: Readonly<Record<string, unknown>> = {}, options?: Options) =>
  call(options === undefined ? usual : skillOf(options), { code, ...params }).pipe(Effect.provide(NodeContext.layer))

const failed = (code: string, options?: Options, params?: Readonly<Record<string, unknown>>) =>
  Effect.flatMap(Effect.flip(run(code, params, options)), (error) =>
    error._tag === "CodeExecutionError" ? Effect.succeed(error) : Effect.die(error)
  )

describe.skipIf(interpreter === undefined)("CodeExecutionSkill with Python", () => {
  it.live("returns the output of the code and the value of its last expression", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* run("print('ä', end='')\n[n * input['by'] for n in (1, 2)]", { input: { by: 7 } }),
        {
          stdout: "ä",
          result: [7, 14],
          language: "python"
        }
      )
      assert.deepStrictEqual(yield* run("x = 1"), { stdout: "", result: null, language: "python" })
      assert.deepStrictEqual(
        (yield* run("(None, True, 1.5, {1: {'a'}}, 2**53, float('nan'), len, '\\ud800')")).result,
        [null, true, 1.5, { 1: ["a"] }, "9007199254740992", "nan", "<built-in function len>", "\ud800"]
      )
      // Its own module, as a program has it.
      const data = "from dataclasses import dataclass\n@dataclass\nclass P:\n  x: int\nprint(__name__)\nP(1)"
      assert.deepStrictEqual(yield* run(data), { stdout: "__main__\n", result: "P(x=1)", language: "python" })
    })
  )

  it.live("fails with the exception of the code, its line and the output so far", () =>
    Effect.gen(function* () {
      const raised = yield* failed("print('before')\ndef f():\n  1 / 0\nf()")
      assert.deepStrictEqual(
        [raised.reason, raised.stdout, raised.message, raised.language],
        ["Threw", "before\n", "ZeroDivisionError: division by zero (line 3)", "python"]
      )
      assert.match((yield* failed("x = = 1")).message, /^SyntaxError: .*\(line 1\)$/)
      assert.match((yield* failed("a = []; a.append(a); a")).message, /^RecursionError/)
      assert.match(
        (yield* failed("class E(Exception):\n  def __str__(self): 1/0\nraise E()")).message,
        /^E \(line 3\)$/
      )
      assert.isAtMost((yield* failed("raise Exception('x' * 1000000)")).message.length, 2000)
    })
  )

  it.live("distinguishes code that ends its process or prints an end marker", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run("import sys\nprint(1)\nsys.exit()"), {
        stdout: "1\n",
        result: null,
        language: "python"
      })
      assert.match((yield* failed("raise SystemExit(3)")).message, /^SystemExit: 3/)
      const left = yield* failed("import os\nprint(1)\nos._exit(4)")
      assert.deepStrictEqual([left.reason, left.stdout], ["Threw", "1\n"])
      assert.match(left.message, /exit code 4/)
      const fake = `end abc {"_tag":"Returned","result":"1"}`
      assert.deepStrictEqual(yield* run(`print(${JSON.stringify(fake)})\n2`), {
        stdout: `${fake}\n`,
        result: 2,
        language: "python"
      })
      const forged =
        'import sys\nmark = sys._getframe(2).f_locals[\'request\'][\'mark\']\nprint(mark + \'{"_tag":"Exceeded","limit":"all"}\')\n2'
      assert.strictEqual((yield* failed(forged)).reason, "Threw")
      const later = "import atexit\natexit.register(lambda: print('later'))\n3"
      assert.deepStrictEqual(yield* run(later), { stdout: "later\n", result: 3, language: "python" })
    })
  )

  it.live("fails for input and results that are too deep", () =>
    Effect.gen(function* () {
      const deep = (levels: number) => {
        let value: unknown = []
        for (let i = 0; i < levels; i++) value = [value]
        return value
      }
      assert.strictEqual((yield* run("input[0][0]", { input: deep(100) })).stdout, "")
      assert.match((yield* failed("input", undefined, { input: deep(3000) })).message, /^RecursionError/)
      assert.match((yield* failed("1", undefined, { input: deep(200_000) })).message, /JSON/)
      assert.match((yield* failed("a = []\nfor _ in range(9999): a = [a]\na")).message, /^RecursionError/)
    })
  )

  it.live("passes neither environment nor standard input, and removes its folder", () =>
    Effect.gen(function* () {
      const code = "import os, sys\n[sorted(os.environ), sys.stdin.read(), os.getcwd(), sys.flags.isolated]"
      const [names, rest, folder, isolated] = (yield* run(code)).result
      assert.includeMembers(["HOME", "LANG", "LC_CTYPE", "PATH", "PWD", "SHLVL", "TMPDIR", "_"], names)
      assert.deepStrictEqual([rest, isolated], ["", 1])
      assert.isFalse(Fs.existsSync(folder))
    })
  )

  it.live("stops code beyond a limit", () =>
    Effect.gen(function* () {
      const late = yield* failed("print('soon')\nwhile True: pass", { timeout: "1 minute" }, { timeout: 1 })
      assert.deepStrictEqual([late.reason, late.stdout], ["Timeout", "soon\n"])
      assert.strictEqual((yield* failed("while True: pass", { timeout: "500 millis" })).reason, "Timeout")
      assert.strictEqual((yield* failed("x = bytearray(16 * 1024 ** 3)")).reason, "MemoryLimit")
      const grown = "import time\nx = b'x' * 90_000_000\ntime.sleep(20)"
      assert.strictEqual((yield* failed(grown, { python: { maxMemoryBytes: 64 * 1024 ** 2 } })).reason, "MemoryLimit")
      assert.strictEqual(
        (yield* failed("while True: print('x' * 1000)", { maxOutputChars: 1000 })).reason,
        "OutputLimit"
      )
      const printed = yield* failed("print('x' * 1001)", { maxOutputChars: 1000 })
      assert.deepStrictEqual([printed.reason, printed.stdout], ["OutputLimit", "x".repeat(1000)])
      assert.strictEqual((yield* failed("'x' * 1000", { maxOutputChars: 1000 })).reason, "OutputLimit")
      assert.strictEqual((yield* run("'\\x00' * 998", {}, { maxOutputChars: 6000 })).result.length, 998)
      const many = "import subprocess, time\n[subprocess.Popen(['sleep', '20']) for _ in range(4)]\ntime.sleep(20)"
      assert.strictEqual((yield* failed(many, { python: { maxProcesses: 3 } })).reason, "ProcessLimit")
    })
  )

  it.live("keeps JavaScript in its sandbox and rejects other languages", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run("console.log(typeof process); 1 + 1", { language: "javascript" }), {
        stdout: "undefined\n",
        result: 2,
        language: "javascript"
      })
      assert.instanceOf(yield* Effect.flip(run("1", { language: "ruby" })), Misfit)
    })
  )
})

describe("CodeExecutionSkill without an interpreter", () => {
  it.live("says that it is missing", () =>
    Effect.gen(function* () {
      const error = yield* failed("1", { python: { interpreter: "no-such-python" } })
      assert.deepStrictEqual([error.reason, error.language], ["Unavailable", "python"])
      assert.match(error.message, /no-such-python/)
    })
  )
})

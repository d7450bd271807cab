import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as ChildScripts from "../../../src/builtin/process/ChildScripts.js"
import * as ScriptRunner from "../../../src/skill/folder/ScriptRunner.js"
import { eventually, fresh, running } from "../../support/Processes.js"

type Files = Readonly<Record<string, string>>

interface Call {
  readonly files: Files
  readonly script?: string
  readonly params?: unknown
  readonly timeout?: number
  readonly options?: ChildScripts.Options
  /** Before the script runs. */
  readonly prepare?: (directory: string) => void
}

/** A skill's folder with these files, gone afterwards. */
const withFolder = <A, E, R>(files: Files, use: (directory: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const directory = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "child-scripts-")))
      for (const [name, text] of Object.entries(files)) {
        Fs.mkdirSync(Path.dirname(Path.join(directory, name)), { recursive: true })
        Fs.writeFileSync(Path.join(directory, name), text)
      }
      return directory
    }),
    use,
    (directory) => Effect.sync(() => Fs.rmSync(directory, { recursive: true, force: true }))
  )

const run = (call: Call) =>
  withFolder(call.files, (directory) => {
    call.prepare?.(directory)
    return Effect.flatMap(ScriptRunner.ScriptRunner, (runner) =>
      runner.run({
        skillName: "probe",
        directory,
        script: call.script ?? Object.keys(call.files)[0]!,
        params: call.params ?? {},
        timeout: call.timeout
      })
    ).pipe(Effect.provide(Layer.provideMerge(ChildScripts.layer(call.options), NodeContext.layer)))
  })

const sh = (text: string, call?: Omit<Call, "files">) => run({ files: { "scripts/main.sh": text }, ...call })
const js = (text: string, call?: Omit<Call, "files">) => run({ files: { "scripts/main.js": text }, ...call })

/** The interpreter behind whatever `python3` names here. */
const python = ((): string | undefined => {
  try {
    return execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { stdio: "pipe" }).toString().trim()
  } catch {
    console.log("skipped scripts in Python: there is no python3")
    return undefined
  }
})()

describe("ChildScripts", () => {
  it.live("passes parameters as JSON and reads the output as JSON", () =>
    Effect.gen(function* () {
      const text =
        "const p = JSON.parse(require('fs').readFileSync(0)); console.log(JSON.stringify({ sum: p.a + p.b }))"
      const result = yield* js(text, { params: { a: 1, b: 2 } })
      assert.deepStrictEqual(result.output, { sum: 3 })
      assert.strictEqual(result.stdout, '{"sum":3}\n')
      assert.isAbove(result.durationMs, 0)
    })
  )

  it.live.skipIf(python === undefined)("runs Python scripts", () =>
    Effect.gen(function* () {
      const files = { "scripts/main.py": "import json, sys\nprint(json.dumps(json.load(sys.stdin)['text'][::-1]))" }
      const options = { interpreters: { py: python } }
      assert.strictEqual((yield* run({ files, options, params: { text: "äb" } })).output, "bä")
    })
  )

  it.live.skipIf(python === undefined)("reports the memory limit when Python runs out of memory", () =>
    Effect.gen(function* () {
      const files = { "scripts/main.py": "x = bytearray(16 * 1024 ** 3)\nprint(1)" }
      const error = yield* Effect.flip(run({ files, options: { interpreters: { py: python } } }))
      assert.deepStrictEqual([error.reason, error.exitCode], ["MemoryLimit", 1])
    })
  )

  it.live("keeps output that is not JSON, or too deep, as text", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* sh("echo plain words")).output, "plain words\n")
      assert.strictEqual((yield* sh("printf ''")).output, "")
      assert.strictEqual((yield* sh("echo 42")).output, 42)
      const deep = yield* sh("head -c 500000 /dev/zero | tr '\\0' '['; head -c 500000 /dev/zero | tr '\\0' ']'")
      assert.strictEqual(deep.output, deep.stdout)
      assert.strictEqual(deep.stdout.length, 1_000_000)
    })
  )

  it.live("keeps keys of the output away from prototypes", () =>
    Effect.gen(function* () {
      const { output } = yield* sh(`echo '{"__proto__":{"polluted":true},"a":1}'`)
      assert.deepStrictEqual(output, { a: 1 })
      assert.isUndefined((Object.assign({}, output) as { polluted?: unknown }).polluted)
      assert.isUndefined(({} as { polluted?: unknown }).polluted)
    })
  )

  it.live("sets the name of the skill and the given variables, and nothing else of this process", () =>
    Effect.gen(function* () {
      assert.isString(process.env.LEXIGRAM_TEST_SECRET)
      const { stderr, stdout } = yield* sh('env; pwd; echo "$TOKEN" >&2', {
        options: { env: { TOKEN: Redacted.make("horse-battery-staple"), LEVEL: "7" } }
      })
      const [folder] = stdout.trim().split("\n").slice(-1) as [string]
      assert.match(folder, /child-scripts-/)
      for (const line of [
        "LEX_SKILL_NAME=probe",
        `LEX_SKILL_DIR=${folder}`,
        "LEX_SCRIPT_NAME=scripts/main.sh",
        "LEVEL=7"
      ]) {
        assert.include(stdout.split("\n"), line)
      }
      assert.notInclude(stdout, "c0ffee")
      assert.match(stdout, /^HOME=.*lexigram-/m)
      assert.strictEqual(stderr, "[REDACTED]\n")
    })
  )

  it.live("fails for a non-zero exit code with the end of standard error", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(sh("echo no such thing, token=abcdef1234567890 >&2; exit 4"))
      assert.deepStrictEqual([error.reason, error.exitCode, error.signal], ["Failed", 4, undefined])
      assert.match(error.stderr ?? "", /^no such thing/)
      assert.strictEqual(error.message, "Script scripts/main.sh: exit code 4")
      const killed = yield* Effect.flip(sh("kill -TERM $$"))
      assert.deepStrictEqual([killed.reason, killed.exitCode, killed.signal], ["Failed", 143, "SIGTERM"])
    })
  )

  it.live("runs only files in the folder", () =>
    Effect.gen(function* () {
      const files = { "scripts/main.sh": "echo ran", "outside.txt": "" }
      const reasonOf = (script: string, prepare?: (directory: string) => void) =>
        Effect.map(
          Effect.flip(run({ files, script, ...(prepare === undefined ? {} : { prepare }) })),
          (error) => error.reason
        )
      assert.strictEqual(yield* reasonOf("../../bin/x.sh"), "NotAllowed")
      assert.strictEqual(yield* reasonOf("scripts/../scripts/main.sh"), "NotAllowed")
      assert.strictEqual(yield* reasonOf("/etc/profile.d/x.sh"), "NotAllowed")
      assert.strictEqual(yield* reasonOf("scripts/main.sh\0.sh"), "NotAllowed")
      assert.strictEqual(yield* reasonOf("scripts/none.sh"), "NotFound")
      assert.strictEqual(yield* reasonOf("scripts/main.rb"), "NotAllowed")
      assert.strictEqual(yield* reasonOf("scripts/.sh"), "NotAllowed")
      const link = (target: string, name: string) => (directory: string) =>
        Fs.symlinkSync(target, Path.join(directory, "scripts", name))
      const elsewhere = Fs.mkdtempSync(Path.join(Os.tmpdir(), "elsewhere-"))
      Fs.writeFileSync(Path.join(elsewhere, "x.sh"), "echo ran")
      assert.strictEqual(yield* reasonOf("scripts/out.sh", link(Path.join(elsewhere, "x.sh"), "out.sh")), "NotAllowed")
      assert.strictEqual(yield* reasonOf("scripts/folder/x.sh", link(elsewhere, "folder")), "NotAllowed")
      assert.strictEqual(yield* reasonOf("scripts/as.sh", link("../outside.txt", "as.sh")), "NotAllowed")
      assert.strictEqual(
        yield* reasonOf("scripts/dir.sh", (directory) => Fs.mkdirSync(Path.join(directory, "scripts/dir.sh"))),
        "NotAllowed"
      )
      const inside = yield* run({ files, script: "scripts/in.sh", prepare: link("main.sh", "in.sh") })
      assert.strictEqual(inside.stdout, "ran\n")
      Fs.rmSync(elsewhere, { recursive: true })
    })
  )

  it.live("takes allowed types and sizes from options", () =>
    Effect.gen(function* () {
      const type = yield* Effect.flip(sh("echo", { options: { allowedTypes: ["js"] } }))
      assert.deepStrictEqual(
        [type.reason, type.message],
        ["NotAllowed", "Script scripts/main.sh: only js scripts are allowed"]
      )
      const size = yield* Effect.flip(sh(`: ${"x".repeat(100)}`, { options: { maxScriptBytes: 50 } }))
      assert.strictEqual(size.reason, "TooLarge")
      assert.strictEqual((yield* Effect.flip(sh(`: ${"x".repeat(1024 ** 2)}`))).reason, "TooLarge")
    })
  )

  it.live("prefers the timeout of a request to that of the layer", () =>
    Effect.gen(function* () {
      const sleep = fresh()
      const script = `(setsid ${sleep} &); ${sleep}`
      assert.strictEqual((yield* Effect.flip(sh(script, { options: { timeout: 300 } }))).reason, "Timeout")
      const error = yield* Effect.flip(sh(script, { timeout: 300, options: { timeout: 60_000 } }))
      assert.match(error.message, /300ms/)
      assert.deepStrictEqual(running(sleep), [])
    })
  )

  it.live("takes limits on output, errors, memory and processes from options", () =>
    Effect.gen(function* () {
      const reasonOf = (script: string, options: ChildScripts.Options) =>
        Effect.map(Effect.flip(sh(script, { options })), (error) => error.reason)
      assert.strictEqual(yield* reasonOf("echo hello", { maxOutputBytes: 5 }), "OutputLimit")
      assert.strictEqual((yield* sh("echo hello >&2; echo you >&2", { options: { maxErrorBytes: 8 } })).stderr, "you\n")
      const hog = "head -c 90000000 /dev/zero | tail -c 60000000 | sleep 30"
      assert.strictEqual(yield* reasonOf(hog, { maxMemoryBytes: 30_000_000 }), "MemoryLimit")
      const many = "for i in $(seq 30); do sleep 20 & done; wait"
      assert.strictEqual(yield* reasonOf(many, { maxProcesses: 10 }), "ProcessLimit")
    })
  )

  it.live("reports the memory limit when JavaScript fills its heap", () =>
    Effect.gen(function* () {
      const text = "const a = []; for (let i = 0; ; i++) a.push({ i, text: 'x' + i })"
      const error = yield* Effect.flip(js(text, { options: { maxMemoryBytes: 100_000_000 } }))
      assert.strictEqual(error.reason, "MemoryLimit")
      const heap = "console.log(require('v8').getHeapStatistics().heap_size_limit < 300e6)"
      assert.isTrue((yield* js(heap)).output)
    })
  )

  it.live("takes interpreters from options, and reports a missing one", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(sh("echo", { options: { interpreters: { sh: "/no/such/shell" } } }))
      assert.strictEqual(error.reason, "Unavailable")
      assert.strictEqual(error.hint, "Install it, or give its absolute path as interpreters.sh")
      const other = yield* js("not JavaScript", { options: { interpreters: { js: "/bin/cat" } } })
      assert.strictEqual(other.stdout, "not JavaScript")
    })
  )

  it.live("limits concurrent scripts", () =>
    withFolder(
      {
        "a.sh": 'mkdir "$LEX_SKILL_DIR/busy" || exit 9; sleep 0.05; rmdir "$LEX_SKILL_DIR/busy"',
        "b.sh": 'mkdir "$LEX_SKILL_DIR/busy" || exit 9; sleep 20'
      },
      (directory) =>
        Effect.gen(function* () {
          const runner = yield* ChildScripts.make({ concurrency: 1 })
          const request = { skillName: "probe", directory, script: "a.sh", params: {} }
          yield* Effect.forEach([1, 2, 3, 4], () => runner.run(request), { concurrency: "unbounded" })
          const free = yield* ChildScripts.make({ concurrency: 4 })
          const together = { ...request, script: "b.sh" }
          const error = yield* Effect.flip(
            Effect.forEach([1, 2, 3, 4], () => free.run(together), { concurrency: "unbounded" })
          )
          assert.strictEqual(error.exitCode, 9)
        })
    ).pipe(Effect.provide(NodeContext.layer))
  )

  it.live("keeps 20 concurrent scripts apart", () =>
    withFolder({ "a.sh": "cat" }, (directory) =>
      Effect.gen(function* () {
        const runner = yield* ChildScripts.make({ concurrency: 20 })
        const all = Array.from({ length: 20 }, (_, i) => i)
        const results = yield* Effect.forEach(
          all,
          (params) => runner.run({ skillName: "probe", directory, script: "a.sh", params }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          results.map((result) => result.output),
          all
        )
      })
    ).pipe(Effect.provide(NodeContext.layer))
  )

  it.live("kills the script and all it has started on interruption", () =>
    Effect.gen(function* () {
      const sleep = fresh()
      const fiber = yield* Effect.fork(sh(`(setsid ${sleep} &); ${sleep}`, { options: { isolation: "scan" } }))
      yield* eventually(() => running(sleep).length === 2)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(running(sleep), [])
    })
  )

  it.live("rejects parameters that are not JSON, which a script need not read", () =>
    Effect.gen(function* () {
      const loop: { self?: unknown } = {}
      loop.self = loop
      assert.strictEqual((yield* Effect.flip(sh("echo", { params: loop }))).reason, "Failed")
      assert.strictEqual((yield* sh("echo deaf", { params: "x".repeat(5_000_000) })).stdout, "deaf\n")
    })
  )
})

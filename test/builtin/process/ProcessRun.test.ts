import { spawn } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as ProcessRequest from "../../../src/builtin/process/ProcessRequest.js"
import * as ProcessRun from "../../../src/builtin/process/ProcessRun.js"
import * as ProcessTable from "../../../src/builtin/process/ProcessTable.js"
import { eventually, fresh, running } from "../../support/Processes.js"
import * as Programs from "../../support/Programs.js"
import type * as ProcessRunHandles from "../../support/programs/ProcessRunHandles.js"

const make = (options: ProcessRun.Options) =>
  Effect.runPromise(Effect.provide(ProcessRun.make(options), NodeContext.layer))

const modes: Array<readonly [name: string, service: ProcessRun.Service]> = []
for (const [name, options] of [
  ["in a namespace", { isolation: "namespace" }],
  ["by scanning /proc", { isolation: "scan" }]
] as const) {
  const service = await make(options)
  if (service.isolation === undefined) console.log(`skipped ${name}: the system does not allow it`)
  else modes.push([name, service])
}

const node = process.execPath

describe.each(modes)("ProcessRun %s", (_, service) => {
  const sh = (script: string, options?: Omit<ProcessRequest.Request, "command" | "args">) =>
    service.run({ command: "sh", args: ["-c", script], ...options })

  it.live("returns output, the end of standard error and the exit code", () =>
    Effect.gen(function* () {
      const result = yield* sh("cat; echo trouble >&2; exit 3", { stdin: "hällo" })
      assert.deepStrictEqual(
        { ...result, durationMs: 0 },
        {
          stdout: "hällo",
          stderr: "trouble\n",
          exitCode: 3,
          signal: undefined,
          durationMs: 0
        }
      )
    })
  )

  it.live("gives a clean environment, and a home folder that is removed afterwards", () =>
    Effect.gen(function* () {
      // Every test process has it: see vitest.config.ts.
      assert.isString(process.env.LEXIGRAM_TEST_SECRET)
      const script = 'env; echo "$HOME" >&2; cd "$HOME"; mkdir -p a/b; touch a/b/c; chmod 000 a'
      const result = yield* sh(script, { env: { GIVEN: "yes" } })
      const names = result.stdout
        .trim()
        .split("\n")
        .map((line) => line.slice(0, line.indexOf("=")))
      // The shell makes the last three.
      const allowed = ["PATH", "HOME", "TMPDIR", "LANG", "GIVEN", "PWD", "OLDPWD", "SHLVL", "_"]
      assert.deepStrictEqual(
        names.filter((name) => !allowed.includes(name)),
        []
      )
      assert.include(result.stdout, "GIVEN=yes")
      assert.notInclude(result.stdout, "c0ffee")
      assert.isFalse(Fs.existsSync(result.stderr.trim()))
    })
  )

  it.live("gives the command the whole input or none of it", () =>
    Effect.gen(function* () {
      const stdin = "é".repeat(1_000_000)
      assert.strictEqual((yield* sh("wc -c", { stdin })).stdout.trim(), "2000000")
      assert.strictEqual((yield* sh("exit 0", { stdin })).exitCode, 0)
      assert.strictEqual((yield* sh("exec 0<&-; sleep 0.1; echo deaf", { stdin })).stdout, "deaf\n")
    })
  )

  it.live("keeps characters whole across chunks, and replaces invalid bytes", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* sh("printf '\\303'; sleep 0.1; printf '\\251'")).stdout, "é")
      assert.strictEqual((yield* sh("printf 'a\\377\\000b'")).stdout, "a\ufffd\u0000b")
    })
  )

  it.live("reports a signal as shells do", () =>
    Effect.gen(function* () {
      const result = yield* sh("kill -9 $$")
      assert.deepStrictEqual([result.exitCode, result.signal, result.stderr], [137, "SIGKILL", ""])
    })
  )

  it.live("ends 50 detached grandchildren that ignore SIGTERM within 1 s of the timeout", () =>
    Effect.gen(function* () {
      const sleep = fresh()
      const error = yield* Effect.flip(
        sh(`trap '' TERM HUP INT; for i in $(seq 50); do (env -i setsid ${sleep} &); done; echo up >&2; ${sleep}`, {
          limits: { timeout: "2 seconds", maxProcesses: 200 }
        })
      )
      assert.strictEqual(error.reason, "Timeout")
      assert.include(error.stderr ?? "", "up")
      yield* eventually(() => running(sleep).length === 0)
    })
  )

  it.live("ends an interruption when all processes are gone", () =>
    Effect.gen(function* () {
      const sleep = fresh()
      const fiber = yield* Effect.fork(sh(`for i in $(seq 5); do (setsid ${sleep} &); done; ${sleep}`))
      yield* eventually(() => running(sleep).length >= 6)
      const folder = Fs.readlinkSync(`/proc/${running(sleep)[0]}/cwd`)
      assert.isTrue(Fs.existsSync(folder))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(running(sleep), [])
      assert.isFalse(Fs.existsSync(folder))
    })
  )

  it.effect("does not wait for a test clock on interruption", () =>
    Effect.gen(function* () {
      const sleep = fresh()
      const fiber = yield* Effect.fork(sh(sleep))
      yield* eventually(() => running(sleep).length >= 1)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(running(sleep), [])
    })
  )

  it.live("ends what a command leaves running, and no other process", () =>
    Effect.gen(function* () {
      const [left, other] = [fresh(), fresh()]
      const bystander = spawn("sleep", other.split(" ").slice(1), { detached: true, stdio: "ignore" })
      const result = yield* sh(`(setsid ${left} &); ${left} & echo done`)
      assert.strictEqual(result.stdout, "done\n")
      assert.deepStrictEqual(running(left), [])
      assert.strictEqual(running(other).length, 1)
      bystander.kill("SIGKILL")
    })
  )

  it.live("neither reads nor stores 100 MB of output", () =>
    Effect.gen(function* () {
      const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "written-"))
      const megabytes = Path.join(folder, "megabytes")
      const script = `i=0; while [ $i -lt 100 ]; do head -c 1000000 /dev/zero; i=$((i + 1)); echo $i > ${megabytes}; done; sleep 100`
      const error = yield* Effect.flip(sh(script))
      assert.strictEqual(error.reason, "OutputLimit")
      const written = Fs.existsSync(megabytes) ? Number(Fs.readFileSync(megabytes, "utf8")) : 0
      Fs.rmSync(folder, { recursive: true })
      assert.isBelow(written, 24)
    })
  )

  it.live("returns output up to the limit, and not one byte more", () =>
    Effect.gen(function* () {
      const limits = { maxOutputBytes: 1_000 }
      assert.strictEqual((yield* sh("head -c 1000 /dev/zero", { limits })).stdout.length, 1_000)
      assert.strictEqual((yield* Effect.flip(sh("head -c 1001 /dev/zero", { limits }))).reason, "OutputLimit")
    })
  )

  it.live("keeps the last whole lines of standard error, with secrets redacted", () =>
    Effect.gen(function* () {
      const result = yield* sh("yes line | head -n 200000 >&2; echo $TOKEN api_key=abcdefgh12345678 >&2", {
        env: { TOKEN: Redacted.make("correct-horse-battery") },
        limits: { maxErrorBytes: 1_000 }
      })
      assert.isAtMost(result.stderr.length, 1_000)
      assert.isTrue(result.stderr.startsWith("line\n"))
      assert.isTrue(result.stderr.endsWith("\n[REDACTED] api_key=[REDACTED]\n"))
    })
  )

  it.live("bounds the memory of all processes together", () =>
    Effect.gen(function* () {
      const hog = "head -c 100000000 /dev/zero | tail -c 60000000 | (sleep 30; cat >/dev/null)"
      const limits = { maxMemoryBytes: 100_000_000, timeout: 20_000 }
      assert.strictEqual((yield* Effect.flip(sh(`${hog} & ${hog} & wait`, { limits }))).reason, "MemoryLimit")
      const one = { ...limits, maxMemoryBytes: 100_000_000, timeout: 1_000 }
      assert.strictEqual((yield* Effect.flip(sh(hog, { limits: one }))).reason, "Timeout")
    })
  )

  it.live("counts memory shared since a fork once", () =>
    Effect.gen(function* () {
      // A variable of 30 MB in each of five processes, which none of them changes.
      const script = "x=$(head -c 30000000 /dev/zero | tr '\\0' x); for i in 1 2 3 4; do (sleep 1; :) & done; wait"
      const result = yield* sh(script, { limits: { maxMemoryBytes: 120_000_000 } })
      assert.strictEqual(result.exitCode, 0)
    })
  )

  it.live("bounds the address space of a process where a limit is given", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* sh("ulimit -v", { limits: { maxAddressBytes: 1024 ** 3 } })).stdout, "1048576\n")
      assert.strictEqual((yield* sh("ulimit -v")).stdout, "unlimited\n")
    })
  )

  it.live("stops a fork bomb", () =>
    Effect.gen(function* () {
      const sleep = fresh()
      // Ends by itself: 255 processes at most.
      const script = `grow() { if [ $1 -gt 0 ]; then grow $(($1 - 1)) & grow $(($1 - 1)) & wait; else ${sleep}; fi; }; grow 7`
      assert.strictEqual((yield* Effect.flip(sh(script, { limits: { maxProcesses: 20 } }))).reason, "ProcessLimit")
      assert.deepStrictEqual(running(sleep), [])
      assert.strictEqual((yield* sh("sleep 0.3 & sleep 0.3 & wait", { limits: { maxProcesses: 3 } })).exitCode, 0)
    })
  )

  it.live("keeps 20 concurrent commands apart", () =>
    Effect.gen(function* () {
      const all = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, i) => i),
        (i) => sh(`cat; (setsid ${fresh()} &)`, { stdin: String(i) }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        all.map((result) => result.stdout),
        all.map((_, i) => String(i))
      )
    })
  )

  it.scopedLive("leaves neither zombies nor handles", () =>
    Effect.gen(function* () {
      const program = yield* Programs.start("ProcessRunHandles", { isolation: service.isolation })
      const said: ProcessRunHandles.Said = yield* program.hear
      assert.isAtMost(said.after, said.before)
      assert.strictEqual(said.zombies, 0)
      assert.deepStrictEqual(yield* program.ended, { code: 0, signal: null })
    })
  )

  it.live("lets a heap of V8 grow to its own limit", () =>
    Effect.gen(function* () {
      const script = "const all = []; for (;;) all.push(Buffer.alloc(5e6, 1))"
      const limits = { maxMemoryBytes: 150_000_000 }
      const error = yield* Effect.flip(service.run({ command: node, args: ["-e", script], limits }))
      assert.strictEqual(error.reason, "MemoryLimit")
    })
  )
})

describe("ProcessRun", () => {
  it.live("hides the environment of outside processes in a namespace", () =>
    Effect.gen(function* () {
      const namespace = modes.find(([name]) => name === "in a namespace")?.[1]
      if (namespace === undefined) return
      const secret = spawn("sleep", ["20"], { stdio: "ignore" })
      const result = yield* namespace.run({ command: "sh", args: ["-c", "cat /proc/[0-9]*/environ"] })
      secret.kill("SIGKILL")
      assert.include(result.stdout, "LANG=C.UTF-8")
      assert.notInclude(result.stdout, "c0ffee")
    })
  )

  it.live("kills the group and all seen processes with ps alone", () =>
    Effect.gen(function* () {
      const service = yield* ProcessRun.make({ isolation: "scan", source: "ps" })
      const sleep = fresh()
      const request = { command: "sh", args: ["-c", `setsid ${sleep} & ${sleep} & ${sleep}`] }
      const error = yield* Effect.flip(service.run({ ...request, limits: { timeout: "1 second" } }))
      assert.strictEqual(error.reason, "Timeout")
      assert.deepStrictEqual(running(sleep), [])
      const many = { command: "sh", args: ["-c", `for i in $(seq 10); do ${sleep} & done; wait`] }
      const limited = yield* Effect.flip(service.run({ ...many, limits: { maxProcesses: 5 } }))
      assert.strictEqual(limited.reason, "ProcessLimit")
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.live("reports a command that cannot be started", () =>
    Effect.gen(function* () {
      const service = yield* ProcessRun.make({ isolation: "scan" })
      const missing = yield* Effect.flip(service.run({ command: "no-such-program" }))
      assert.deepStrictEqual([missing.reason, missing.hint], ["Unavailable", "Install it, or give its absolute path"])
      const folder = yield* Effect.flip(service.run({ command: "sh", cwd: "/no/such/folder" }))
      assert.strictEqual(folder.reason, "Unavailable")
      const nul = yield* Effect.flip(service.run({ command: "sh", args: ["a\0b"] }))
      assert.match(nul.message, /NUL/)
      const large = yield* Effect.flip(service.run({ command: "sh", args: ["x".repeat(200_000)] }))
      assert.match(large.message, /200\d{3} bytes/)
      const windows = yield* ProcessRun.make({ platform: "win32" })
      assert.match((yield* Effect.flip(windows.run({ command: "sh" }))).message, /Windows/)
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.live("uses no namespace where there is none, and runs nothing that needs one", () =>
    Effect.gen(function* () {
      const auto = yield* ProcessRun.make({ platform: "darwin" })
      assert.strictEqual(auto.isolation, "scan")
      assert.strictEqual((yield* auto.run({ command: "sh", args: ["-c", "echo ran"] })).stdout, "ran\n")
      const strict = yield* ProcessRun.make({ platform: "darwin", isolation: "namespace" })
      const error = yield* Effect.flip(strict.run({ command: "sh" }))
      assert.deepStrictEqual(
        [error.reason, error.message],
        ["Unavailable", "Process namespaces are not available here"]
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.live("finds a program in PATH and adds its folder to the path of the command", () =>
    Effect.gen(function* () {
      const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "programs-"))
      const name = `tool-${process.pid}`
      Fs.writeFileSync(Path.join(folder, name), '#!/bin/sh\necho "$PATH"\n', { mode: 0o755 })
      Fs.writeFileSync(Path.join(folder, `${name}-text`), "", { mode: 0o644 })
      const service = yield* ProcessRun.make()
      const withPath = Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["PATH", folder]])))
      const result = yield* withPath(service.run({ command: name }))
      assert.isTrue(result.stdout.startsWith(`${folder}:`))
      assert.isUndefined(yield* withPath(service.find(`${name}-text`)))
      assert.isUndefined(yield* service.find(name))
      Fs.rmSync(folder, { recursive: true })
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.live("sends no signal to a reused process id", () =>
    Effect.gen(function* () {
      const table = yield* ProcessTable.make({ source: "proc" })
      const child = spawn("sleep", ["20"], { detached: true, stdio: "ignore" })
      const entry = (yield* table.find(child.pid!))!
      table.signal({ ...entry, start: "1" }, "SIGKILL")
      table.killGroup({ ...entry, start: "1" })
      assert.isUndefined(yield* Effect.promise(() => Promise.resolve(child.signalCode ?? undefined)))
      assert.isFalse((yield* table.find(child.pid!))!.isZombie)
      table.signal(entry, "SIGKILL")
      yield* eventually(() => child.signalCode === "SIGKILL")
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it("parses one process per line of ps", () => {
    const text =
      "    1     0     1  1234 Ss   Mon Jan  1 00:00:00 2024\n   77     1    77     0 Z+   Mon Jan  1 00:00:01 2024\nno\n"
    assert.deepStrictEqual(
      [...ProcessTable.fromPs(text).values()],
      [
        { pid: 1, parent: 0, group: 1, residentBytes: 1263616, isZombie: false, start: "Mon Jan  1 00:00:00 2024" },
        { pid: 77, parent: 1, group: 77, residentBytes: 0, isZombie: true, start: "Mon Jan  1 00:00:01 2024" }
      ]
    )
  })
})

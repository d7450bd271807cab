import { execFile } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Esbuild from "esbuild"
import * as RedisClient from "../../src/persistence/RedisClient.js"
import * as RedisMemoryStore from "../../src/persistence/RedisMemoryStore.js"
import * as RedisRateLimitStore from "../../src/persistence/RedisRateLimitStore.js"
import * as RedisSessionStore from "../../src/persistence/RedisSessionStore.js"
import { isKept, ref, session, some, wayTo } from "../../src/testing/SessionStoreCase.js"
import * as RedisTests from "../support/RedisTests.js"
import * as RedisWriters from "../support/RedisWriters.js"
import * as TestServers from "../support/TestServers.js"

const available = await TestServers.redis()
const names = ["a", "b", "c", "d"]

/** As one file, so that four of them start in a moment. */
const program: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "redis-writers-"))),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
).pipe(
  Effect.tap((folder) =>
    Effect.promise(() =>
      Esbuild.build({
        entryPoints: [fileURLToPath(new URL("../support/RedisWritersProgram.ts", import.meta.url))],
        outfile: Path.join(folder, "program.cjs"),
        bundle: true,
        platform: "node",
        format: "cjs",
        target: "node20",
        logLevel: "error"
      })
    )
  ),
  Effect.map((folder) => Path.join(folder, "program.cjs"))
)

const started = (...args: ReadonlyArray<string>): Effect.Effect<{ readonly allowed: number; readonly found: number }> =>
  Effect.async((resume) => {
    const child = execFile(process.execPath, args, (error, out, err) =>
      resume(error === null ? Effect.sync(() => JSON.parse(out)) : Effect.dieMessage(err))
    )
    return Effect.sync(() => void child.kill("SIGKILL"))
  })

TestServers.suite("redis", available, (server) => {
  it.scopedLive(
    "four processes share limits, a session and the memory of one owner: nothing is passed, lost or doubled",
    () =>
      Effect.gen(function* () {
        const prefix = `processes ${process.pid}`
        const client = yield* RedisClient.make({ url: RedisTests.urlOf(server) })
        const redis = Effect.provideService(RedisClient.RedisClient, client)
        const sessions = yield* redis(RedisSessionStore.make({ prefix }))
        const memory = yield* redis(RedisMemoryStore.make({ prefix }))
        const rates = yield* redis(RedisRateLimitStore.make({ prefix }))
        yield* sessions.create({ session: session(RedisWriters.sessionId) })

        const file = yield* program
        const done = yield* Effect.forEach(names, (name) => started(file, server.url, prefix, name), { concurrency: 4 })

        const sum = done.reduce((total, { allowed }) => total + allowed, 0)
        assert.strictEqual(sum, 500)
        assert.strictEqual(yield* rates.peek({ key: "k", windowMs: RedisWriters.windowMs }), 500)

        const kept = some(yield* sessions.load(RedisWriters.sessionId), "the session")
        yield* isKept(sessions, kept)
        assert.strictEqual(kept.depth, 200)
        const turns = yield* wayTo(sessions, kept.head ?? ref("none", "none"))
        const expected = names.flatMap((name) => Array.from({ length: 50 }, (_, n) => `${name}-${n}`))
        assert.deepStrictEqual([...turns].sort(), expected.sort())

        assert.deepStrictEqual(
          done.map(({ found }) => found),
          [50, 50, 50, 50]
        )
        const entries = yield* memory.count(RedisWriters.owner, {})
        assert.strictEqual(entries, 200)
      }),
    90_000
  )
})

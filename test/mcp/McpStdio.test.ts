import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as McpClientSdk from "../../src/mcp/McpClientSdk.js"
import type { McpError, Service } from "../../src/skill/mcp/McpClient.js"
import * as McpServers from "../support/McpServers.js"

const make = (options: Partial<McpClientSdk.StdioOptions> = {}, ...args: ReadonlyArray<string>) =>
  McpClientSdk.makeStdio({ name: "one", ...McpServers.stdio(McpServers.program, ...args), ...options })

const environment = (client: Service): Effect.Effect<Record<string, string>, McpError> =>
  Effect.map(client.callTool("environment"), ({ structuredContent }) => structuredContent?.["env"] as never)

const pidOf = (client: Service): Effect.Effect<number, McpError> =>
  Effect.map(client.callTool("pid"), ({ structuredContent }) => Number(structuredContent?.["pid"]))

const childOf = (client: Service, stubborn: boolean): Effect.Effect<number, McpError> =>
  Effect.map(client.callTool("child", { stubborn }), ({ content: [block] }) =>
    block?.type === "text" ? Number(block.text) : Number.NaN
  )

/** A call that has begun, and will not end by itself. */
const hanging = (client: Service) =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const onProgress = () => Effect.asVoid(Deferred.succeed(begun, undefined))
    const call = yield* Effect.fork(Effect.flip(client.callTool("hang", {}, { onProgress })))
    yield* Deferred.await(begun)
    return call
  })

const gone = (pid: number): Effect.Effect<void> => McpServers.eventually(() => !McpServers.isThere(pid))

describe("McpClientSdk over stdio", () => {
  it.scopedLive("fails the call at once when the server is killed, and the next call starts a new one", () =>
    Effect.gen(function* () {
      const client = yield* make()
      const pid = yield* pidOf(client)
      const calls = [yield* hanging(client), yield* hanging(client)]
      process.kill(pid, "SIGKILL")
      for (const call of calls) {
        const error = yield* Fiber.join(call)
        assert.strictEqual(error.reason, "Closed")
        assert.strictEqual(error.signal, "SIGKILL")
        assert.strictEqual(error.toolName, "hang")
      }
      yield* gone(pid)
      const next = yield* pidOf(client)
      assert.notStrictEqual(next, pid)
    })
  )

  it.scopedLive("reports the exit code and the end of standard error after a crash, without secrets", () =>
    Effect.gen(function* () {
      const client = yield* make({ env: { SECRET: Redacted.make("correct horse battery") } })
      const stderr = "\u001b[31mout of luck\u202e, correct horse battery, Bearer abcdefgh"
      const error = yield* Effect.flip(client.callTool("crash", { code: 3, stderr }))
      assert.strictEqual(error.reason, "Closed")
      assert.strictEqual(error.exitCode, 3)
      assert.include(error.stderr, "out of luck")
      const all = `${error.message} ${JSON.stringify(error)}`
      for (const hidden of ["correct horse", "abcdefgh", "\u001b", "\u202e"]) assert.notInclude(all, hidden)
    })
  )

  it.scopedLive("fails to connect when the server ends before it introduces itself, and says why", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(make({ env: { SECRET: Redacted.make("correct horse battery") } }, "dead"))
      assert.strictEqual(error.reason, "Connection")
      assert.strictEqual(error.exitCode, 7)
      assert.include(error.stderr, "no license")
      assert.notInclude(JSON.stringify(error), "correct horse")
    })
  )

  it.scopedLive("gives up a silent server", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(make({ connectTimeout: "300 millis", grace: "50 millis" }, "mute"))
      assert.strictEqual(error.reason, "Timeout")
    })
  )

  it.scopedLive("fails to connect for an unknown command", () =>
    Effect.gen(function* () {
      for (const options of [
        { command: "/nonexistent/server", args: [] },
        { cwd: "/nonexistent" },
        { command: "a\0b", args: [] }
      ]) {
        const error = yield* Effect.flip(make(options))
        assert.strictEqual(error.reason, "Connection")
      }
    })
  )

  it.scopedLive("passes the given environment, and of this process only the paths", () =>
    Effect.gen(function* () {
      assert.isString(process.env["LEXIGRAM_TEST_SECRET"])
      const client = yield* make({ env: { GIVEN: "yes", TOKEN: Redacted.make("a-token") }, cwd: "/" })
      const { structuredContent } = yield* client.callTool("environment")
      assert.strictEqual(structuredContent?.["cwd"], "/")
      const env = yield* environment(client)
      assert.strictEqual(env["GIVEN"], "yes")
      assert.strictEqual(env["TOKEN"], "a-token")
      assert.strictEqual(env["PATH"], process.env["PATH"])
      assert.notProperty(env, "LEXIGRAM_TEST_SECRET")
    })
  )

  it.scopedLive("skips lines that are not messages", () => Effect.flatMap(make({}, "noisy"), ({ ping }) => ping))

  it.live("ends the server and all that it started when the scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(make({ grace: "200 millis" }), scope)
      const pids = [yield* pidOf(client), yield* childOf(client, false), yield* childOf(client, true)]
      for (const pid of pids) assert.isTrue(McpServers.isThere(pid))
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(McpServers.isThere(pids[0] as number))
      for (const pid of pids) yield* gone(pid)
    })
  )

  it.live("kills a server that does not end on request", () =>
    Effect.gen(function* () {
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const client = yield* make({ grace: "100 millis" })
          yield* client.callTool("stubborn")
          return yield* pidOf(client)
        })
      )
      assert.isFalse(McpServers.isThere(pid))
    })
  )

  it.scopedLive("ends a server that leaves a process holding its output", () =>
    Effect.gen(function* () {
      const client = yield* make({ grace: "100 millis" })
      const child = yield* childOf(client, true)
      const call = yield* hanging(client)
      process.kill(yield* pidOf(client), "SIGKILL")
      assert.strictEqual((yield* Fiber.join(call)).reason, "Closed")
      yield* gone(child)
    })
  )

  it.live("fails running and later calls when the client is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(make(), scope)
      const call = yield* hanging(client)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(call)).reason, "Closed")
      assert.strictEqual((yield* Effect.flip(client.ping)).reason, "Closed")
    })
  )

  it.scopedLive("ends the connection for a message that is too large, not this process", () =>
    Effect.gen(function* () {
      const client = yield* make({ maxMessageBytes: 100_000 })
      assert.strictEqual((yield* client.callTool("large", { size: 90_000 })).isError, false)
      const error = yield* Effect.flip(client.callTool("large", { size: 20_000_000 }))
      assert.strictEqual(error.reason, "TooLarge")
      yield* client.ping
    })
  )

  it.scopedLive("rejects arguments without a JSON form", () =>
    Effect.gen(function* () {
      const client = yield* make()
      const circular: Record<string, unknown> = {}
      circular["self"] = circular
      assert.strictEqual((yield* Effect.flip(client.callTool("echo", circular))).reason, "Protocol")
      assert.strictEqual((yield* Effect.flip(client.callTool("echo", { n: 1n }))).reason, "Protocol")
      yield* client.ping
    })
  )

  it.scopedLive("fails for an endless list", () =>
    Effect.gen(function* () {
      const client = yield* make({ env: { ENDLESS: "1" } })
      assert.strictEqual((yield* Effect.flip(client.listTools)).reason, "InvalidResponse")
    })
  )

  it.scopedLive("returns empty or unsupported for what the server does not offer", () =>
    Effect.gen(function* () {
      const client = yield* make({ env: { ONLY_TOOLS: "1" } })
      assert.deepStrictEqual((yield* client.info).capabilities, { tools: true, resources: false, prompts: false })
      assert.deepStrictEqual(yield* client.listResources, [])
      assert.deepStrictEqual(yield* client.listResourceTemplates, [])
      assert.deepStrictEqual(yield* client.listPrompts, [])
      assert.strictEqual((yield* Effect.flip(client.readResource("test://text"))).reason, "Unsupported")
    })
  )

  it.scopedLive("tells the server the roots", () =>
    Effect.gen(function* () {
      const client = yield* make({ roots: [{ uri: "file:///srv", name: "files" }, { uri: "file:///tmp" }] })
      const { structuredContent } = yield* client.callTool("roots")
      assert.deepStrictEqual(structuredContent, {
        roots: [{ uri: "file:///srv", name: "files" }, { uri: "file:///tmp" }]
      })
    })
  )

  it.scopedLive("applies the limits of the client to a request without its own", () =>
    Effect.gen(function* () {
      const client = yield* make({ timeout: "300 millis" })
      assert.strictEqual((yield* Effect.flip(client.callTool("hang"))).reason, "Timeout")
      const limited = yield* make({ maxTotal: "500 millis" })
      const onProgress = () => Effect.void
      const error = yield* Effect.flip(limited.callTool("beats", { every: 10 }, { onProgress }))
      assert.strictEqual(error.reason, "Timeout")
    })
  )

  describe("reconnection", () => {
    const crash = (client: Service) => Effect.flip(client.callTool("crash", { code: 1 }))

    it.scopedLive("fails after too many restarts, until time has passed", () =>
      Effect.gen(function* () {
        const client = yield* make({ reconnect: { maxRestarts: 1, window: "2 seconds" } })
        assert.strictEqual((yield* crash(client)).reason, "Closed")
        assert.strictEqual((yield* crash(client)).reason, "Closed")
        assert.strictEqual((yield* crash(client)).reason, "RestartLimit")
        assert.strictEqual((yield* Effect.flip(client.listTools)).reason, "RestartLimit")
        yield* Effect.retry(client.ping, Schedule.spaced("100 millis").pipe(Schedule.intersect(Schedule.recurs(50))))
      })
    )

    it.scopedLive("stays disconnected when it must not reconnect", () =>
      Effect.gen(function* () {
        const client = yield* make({ reconnect: false })
        yield* crash(client)
        assert.strictEqual((yield* Effect.flip(client.ping)).reason, "Closed")
      })
    )

    it.scopedLive("reconnects in the background for its followers", () =>
      Effect.gen(function* () {
        const client = yield* make({ reconnect: { background: true } })
        const before = yield* pidOf(client)
        const begun = yield* Deferred.make<void>()
        const changes = yield* client.changes.pipe(
          Stream.tap(() => Deferred.succeed(begun, undefined)),
          Stream.take(3),
          Stream.runCollect,
          Effect.fork
        )
        yield* Deferred.await(begun)
        yield* crash(client)
        const seen = Array.from(yield* Fiber.join(changes), ({ _tag }) => _tag)
        assert.deepStrictEqual(seen, ["Connected", "Disconnected", "Connected"])
        assert.notStrictEqual(yield* pidOf(client), before)
      })
    )

    it.scopedLive("follows the schedule of attempts", () =>
      Effect.gen(function* () {
        let attempts = 0
        const schedule = Schedule.recurs(2).pipe(Schedule.tapInput(() => Effect.sync(() => void attempts++)))
        const flag = Path.join(yield* McpServers.temporary, "dead")
        const client = yield* make({ reconnect: { schedule }, env: { DEAD_IF: flag } })
        yield* client.callTool("touch", { file: flag })
        yield* crash(client)
        const error = yield* Effect.flip(client.ping)
        assert.strictEqual(error.reason, "Connection")
        assert.strictEqual(error.exitCode, 7)
        assert.strictEqual(attempts, 3)
      })
    )

    it.scopedLive("keeps connecting for others when one waiter leaves", () =>
      Effect.gen(function* () {
        const client = yield* make()
        yield* crash(client)
        const first = yield* Effect.fork(client.ping)
        const second = yield* Effect.fork(client.ping)
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(first)
        yield* Fiber.join(second)
      })
    )
  })
})

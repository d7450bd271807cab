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
  it.scopedLive("a server that is killed in mid-call fails the call at once, and the next call has a new one", () =>
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

  it.scopedLive("a crash says its exit code and the end of the standard error, without secrets", () =>
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

  it.scopedLive("a server that ends before it has introduced itself is no connection, and says why", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(make({ env: { SECRET: Redacted.make("correct horse battery") } }, "dead"))
      assert.strictEqual(error.reason, "Connection")
      assert.strictEqual(error.exitCode, 7)
      assert.include(error.stderr, "no license")
      assert.notInclude(JSON.stringify(error), "correct horse")
    })
  )

  it.scopedLive("a server that says nothing is given up", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(make({ connectTimeout: "300 millis", grace: "50 millis" }, "mute"))
      assert.strictEqual(error.reason, "Timeout")
    })
  )

  it.scopedLive("a command that is not there is no connection", () =>
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

  it.scopedLive("the server sees the environment that it is given, and of this process only where things are", () =>
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

  it.scopedLive("lines that are no messages are passed over", () =>
    Effect.flatMap(make({}, "noisy"), ({ ping }) => ping)
  )

  it.live("when the scope closes, the server and all that it started are gone", () =>
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

  it.live("a server that does not end when it is asked to is made to", () =>
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

  it.scopedLive("a server that leaves a process behind that holds its output is lost all the same", () =>
    Effect.gen(function* () {
      const client = yield* make({ grace: "100 millis" })
      const child = yield* childOf(client, true)
      const call = yield* hanging(client)
      process.kill(yield* pidOf(client), "SIGKILL")
      assert.strictEqual((yield* Fiber.join(call)).reason, "Closed")
      yield* gone(child)
    })
  )

  it.live("calls in flight fail when the client is closed, and so do later ones", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(make(), scope)
      const call = yield* hanging(client)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(call)).reason, "Closed")
      assert.strictEqual((yield* Effect.flip(client.ping)).reason, "Closed")
    })
  )

  it.scopedLive("a message that is too large ends the connection, and not this process", () =>
    Effect.gen(function* () {
      const client = yield* make({ maxMessageBytes: 100_000 })
      assert.strictEqual((yield* client.callTool("large", { size: 90_000 })).isError, false)
      const error = yield* Effect.flip(client.callTool("large", { size: 20_000_000 }))
      assert.strictEqual(error.reason, "TooLarge")
      yield* client.ping
    })
  )

  it.scopedLive("arguments without a form in JSON are an error", () =>
    Effect.gen(function* () {
      const client = yield* make()
      const circular: Record<string, unknown> = {}
      circular["self"] = circular
      assert.strictEqual((yield* Effect.flip(client.callTool("echo", circular))).reason, "Protocol")
      assert.strictEqual((yield* Effect.flip(client.callTool("echo", { n: 1n }))).reason, "Protocol")
      yield* client.ping
    })
  )

  it.scopedLive("a list without end is an error", () =>
    Effect.gen(function* () {
      const client = yield* make({ env: { ENDLESS: "1" } })
      assert.strictEqual((yield* Effect.flip(client.listTools)).reason, "InvalidResponse")
    })
  )

  it.scopedLive("what a server does not offer is empty, or unsupported", () =>
    Effect.gen(function* () {
      const client = yield* make({ env: { ONLY_TOOLS: "1" } })
      assert.deepStrictEqual((yield* client.info).capabilities, { tools: true, resources: false, prompts: false })
      assert.deepStrictEqual(yield* client.listResources, [])
      assert.deepStrictEqual(yield* client.listResourceTemplates, [])
      assert.deepStrictEqual(yield* client.listPrompts, [])
      assert.strictEqual((yield* Effect.flip(client.readResource("test://text"))).reason, "Unsupported")
    })
  )

  it.scopedLive("the server is told the roots", () =>
    Effect.gen(function* () {
      const client = yield* make({ roots: [{ uri: "file:///srv", name: "files" }, { uri: "file:///tmp" }] })
      const { structuredContent } = yield* client.callTool("roots")
      assert.deepStrictEqual(structuredContent, {
        roots: [{ uri: "file:///srv", name: "files" }, { uri: "file:///tmp" }]
      })
    })
  )

  it.scopedLive("a request without limits of its own has those of the client", () =>
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

    it.scopedLive("too many restarts are an error, until time has passed", () =>
      Effect.gen(function* () {
        const client = yield* make({ reconnect: { maxRestarts: 1, window: "2 seconds" } })
        assert.strictEqual((yield* crash(client)).reason, "Closed")
        assert.strictEqual((yield* crash(client)).reason, "Closed")
        assert.strictEqual((yield* crash(client)).reason, "RestartLimit")
        assert.strictEqual((yield* Effect.flip(client.listTools)).reason, "RestartLimit")
        yield* Effect.retry(client.ping, Schedule.spaced("100 millis").pipe(Schedule.intersect(Schedule.recurs(50))))
      })
    )

    it.scopedLive("a connection that must not come back stays lost", () =>
      Effect.gen(function* () {
        const client = yield* make({ reconnect: false })
        yield* crash(client)
        assert.strictEqual((yield* Effect.flip(client.ping)).reason, "Closed")
      })
    )

    it.scopedLive("in the background, followers see the connection come back", () =>
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

    it.scopedLive("attempts follow the schedule", () =>
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

    it.scopedLive("who waits for a connection may leave; it is made for the others", () =>
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

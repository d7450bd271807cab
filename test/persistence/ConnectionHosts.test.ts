/** Errors of connections say where the server is, and nothing of who was to be let in. Nothing listens at port 1. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as HttpExchange from "../../src/builtin/web/HttpExchange.js"
import * as McpClientSdk from "../../src/mcp/McpClientSdk.js"
import { atServers, DatabaseError } from "../../src/persistence/engine/PersistenceError.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as RedisClient from "../../src/persistence/redis/RedisClient.js"

const at = "127.0.0.1:1"

const named = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.include(error.message, at)
    for (const text of [Cause.pretty(Cause.fail(error)), JSON.stringify(error)]) {
      for (const secret of ["hunter2", "somebody", "token", "secret-path"]) assert.notInclude(text, secret)
    }
  })

describe("errors of connections name the host", () => {
  it.scopedLive("of Redis", () =>
    named(RedisClient.make({ url: Redacted.make(`redis://somebody:hunter2@${at}/0`), connectTimeout: "2 seconds" }))
  )

  it.scopedLive("of Postgres", () =>
    Effect.forEach(
      [
        { url: Redacted.make(`postgres://somebody:hunter2@${at}/token`) },
        { host: "127.0.0.1", port: 1, username: "somebody", password: Redacted.make("hunter2"), database: "token" }
      ],
      (options) => named(Layer.build(PostgresClient.layer(options)))
    )
  )

  it.scopedLive("of MCP over HTTP", () =>
    named(
      McpClientSdk.makeHttp({
        name: "far",
        url: `http://${at}/secret-path?key=hunter2`,
        headers: { authorization: Redacted.make("Bearer token") }
      })
    )
  )

  it.live("of requests", () =>
    Effect.map(
      Effect.flip(
        HttpExchange.run({
          url: new URL(`http://${at}/secret-path?key=hunter2`),
          method: "GET",
          headers: {},
          body: undefined,
          addresses: ["127.0.0.1"],
          maxBytes: 1000,
          maxCompressedBytes: 1000,
          truncate: false
        })
      ),
      ({ message, reason }) => {
        assert.strictEqual(reason, "Unreachable")
        assert.include(message, at)
        assert.notInclude(message, "hunter2")
      }
    )
  )

  it("only of connections, and never a value that is not a host", () => {
    const of = (reason: DatabaseError["reason"], host: string) =>
      atServers(new DatabaseError({ backend: "redis", reason, message: "no", hint: "do" }), [{ host, port: 1 }])
    assert.deepInclude({ ...of("unreachable", "::1") }, { reason: "unreachable", hint: "do" })
    assert.include(of("refused", "db.local").message, "db.local:1")
    assert.notInclude(of("busy", "db.local").message, "db.local")
    assert.notInclude(of("unreachable", "redis://somebody:hunter2@db").message, "hunter2")
  })
})

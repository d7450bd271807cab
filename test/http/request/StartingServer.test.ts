import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { StartingServer } from "effect-lexigram/http"

it.scopedLive("requests are answered before an application listens, while it does, and after it", () =>
  Effect.gen(function* () {
    const server = yield* NodeHttpServer.make(() => StartingServer.make(createServer()), {
      port: 0,
      host: "127.0.0.1"
    })
    const url = `http://127.0.0.1:${server.address._tag === "TcpAddress" ? server.address.port : ""}/`
    const ask = Effect.promise(() => fetch(url, { method: "POST", body: "x".repeat(100_000) }))
    const refused = Effect.gen(function* () {
      const response = yield* ask
      assert.strictEqual(response.status, 503)
      assert.strictEqual(response.headers.get("retry-after"), "1")
      assert.strictEqual(response.headers.get("content-type"), "application/problem+json")
      assert.include(yield* Effect.promise(() => response.json()), { status: 503 })
    })
    yield* refused
    const application = yield* Scope.make()
    yield* Scope.extend(
      Effect.provideService(
        HttpServer.serveEffect(Effect.succeed(HttpServerResponse.text("here"))),
        HttpServer.HttpServer,
        server
      ),
      application
    )
    const answered = yield* ask
    assert.strictEqual(answered.status, 200)
    assert.strictEqual(yield* Effect.promise(() => answered.text()), "here")
    yield* Scope.close(application, Exit.void)
    yield* refused
  })
)

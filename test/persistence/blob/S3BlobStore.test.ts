import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as BlobStore from "../../../src/content/BlobStore.js"
import * as S3BlobStore from "../../../src/persistence/blob/S3BlobStore.js"
import * as BlobStoreSuite from "../../content/suites/BlobStoreSuite.js"
import * as S3Server from "../../support/S3Server.js"

class Server extends Context.Tag("test/S3Server")<Server, Effect.Effect.Success<typeof S3Server.make>>() {}

const open = (secret: string) =>
  Effect.flatMap(Server, ({ url }) =>
    S3BlobStore.make({
      bucket: "bucket",
      region: "eu-west-1",
      endpoint: url,
      prefix: "blobs/",
      accessKeyId: Redacted.make(S3Server.accessKeyId),
      secretAccessKey: Redacted.make(secret)
    })
  ).pipe(Effect.provide(FetchHttpClient.layer))

const server = Layer.scoped(Server, S3Server.make)

BlobStoreSuite.suite<Server>("s3", {
  layer: Layer.provideMerge(Layer.effect(BlobStore.BlobStore, open(S3Server.secretAccessKey)), server),
  second: open(S3Server.secretAccessKey),
  stored: Effect.map(Server, ({ objects }) =>
    Array.from(objects.values(), ({ body }) => body.toString("latin1")).join("\n")
  ),
  corrupt: Effect.map(Server, ({ objects }) => {
    for (const [key, { type }] of objects) objects.set(key, { type, body: Buffer.from("something else") })
  })
})

describe("S3BlobStore", () => {
  it.effect("does not take a copy for done that the server refused late, or whose source is gone", () =>
    Effect.gen(function* () {
      const { copies, objects } = yield* Server
      const store = yield* open(S3Server.secretAccessKey)
      const put = { owner: "ann", scope: "one", bytes: new Uint8Array([1, 2, 3]), mediaType: "image/png" }
      const { hash } = yield* store.put(put)
      copies.refuse = true
      const refused = yield* Effect.flip(store.copy({ owner: "ann", from: "one", to: "two" }))
      assert.include(refused, { _tag: "BlobStoreError", reason: "storage" })
      assert.include(refused.message, "InternalError")
      copies.refuse = false
      copies.lose = true
      const lost = yield* Effect.flip(store.copy({ owner: "ann", from: "one", to: "two" }))
      assert.include(lost, { _tag: "BlobNotFoundError", hash })
      copies.lose = false
      assert.strictEqual(yield* store.copy({ owner: "ann", from: "one", to: "two" }), 1)
      assert.deepStrictEqual(yield* store.get({ owner: "ann", scope: "two", hash }), put.bytes)
      assert.strictEqual(objects.size, 4)
    }).pipe(Effect.provide(server))
  )

  it.effect("refuses options that name no bucket of a server", () =>
    Effect.gen(function* () {
      const valid = {
        bucket: "bucket",
        region: "eu-west-1",
        accessKeyId: Redacted.make("id"),
        secretAccessKey: Redacted.make("secret")
      }
      const wrong = [
        { bucket: "a/b" },
        { bucket: "A" },
        { region: "eu west" },
        { prefix: "../" },
        { endpoint: "ftp://example.com" },
        { endpoint: "https://user:password@example.com" },
        { endpoint: "https://example.com/%ff" },
        { endpoint: "https://example.com/?a=1" },
        { endpoint: "example" }
      ]
      for (const options of wrong) {
        const error = yield* Effect.flip(S3BlobStore.make({ ...valid, ...options }))
        assert.strictEqual(error.reason, "input", JSON.stringify(options))
      }
      yield* S3BlobStore.make(valid)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.effect("reports the code and the request of a refusal and no secret", () =>
    Effect.gen(function* () {
      const store = yield* open("a wrong secret")
      const error = yield* Effect.flip(store.removeOwner({ owner: "ann" }))
      assert.strictEqual(error.reason, "refused")
      assert.include(error.message, "SignatureDoesNotMatch, request REQ1")
      assert.notInclude(JSON.stringify(error), "wrong secret")
    }).pipe(Effect.provide(server))
  )
})

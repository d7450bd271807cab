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

import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BlobStore from "../../../src/content/BlobStore.js"
import * as SqlBlobStore from "../../../src/persistence/blob/SqlBlobStore.js"
import * as BlobStoreSuite from "../../content/suites/BlobStoreSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"

/** All stored bytes as one text. */
const stored = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly data: Uint8Array }>`SELECT data FROM lex_blobs`, (rows) =>
    rows.map(({ data }) => Buffer.from(data).toString("latin1")).join("\n")
  )
)

const corrupt = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE lex_blobs SET data = ${Buffer.from("something else")}`
)

SqlBackends.suite("SqlBlobStore", (backend) => {
  BlobStoreSuite.suite<SqlClient.SqlClient>(backend.dialect, {
    layer: Layer.provideMerge(SqlBlobStore.layer(), backend.layer),
    second: Effect.map(Layer.build(Layer.provide(SqlBlobStore.layer(), backend.other)), (context) =>
      Context.get(context, BlobStore.BlobStore)
    ),
    stored,
    corrupt
  })

  it.effect("bounds one blob by maxBytes", () =>
    Effect.gen(function* () {
      const store = yield* SqlBlobStore.make({ maxBytes: 3 })
      const blob = { owner: "ann", scope: "s1", bytes: new Uint8Array(4), mediaType: "text/plain" }
      assert.strictEqual((yield* Effect.flip(store.put(blob))).reason, "too-large")
    }).pipe(Effect.provide(backend.layer))
  )
})

import * as Fs from "node:fs"
import * as Os from "node:os"
import * as NodePath from "node:path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BlobStore from "../../../src/content/BlobStore.js"
import * as FileBlobStore from "../../../src/persistence/blob/FileBlobStore.js"
import * as BlobStoreSuite from "../../content/suites/BlobStoreSuite.js"

class Root extends Context.Tag("test/Root")<Root, string>() {}

const temporary = Layer.scoped(
  Root,
  Effect.acquireRelease(
    Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(NodePath.join(Os.tmpdir(), "lexigram-blobs-")))),
    (root) => Effect.sync(() => Fs.rmSync(root, { recursive: true, force: true }))
  )
)

const open = Effect.flatMap(Root, (root) => FileBlobStore.make({ root })).pipe(Effect.provide(NodeContext.layer))

const layer = Layer.provideMerge(Layer.effect(BlobStore.BlobStore, open), temporary)

const filesBelow = (root: string): ReadonlyArray<string> =>
  Fs.readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => NodePath.join(entry.parentPath, entry.name))

const blobsBelow = (root: string) => filesBelow(root).filter((file) => /[0-9a-f]{64}$/.test(file))

BlobStoreSuite.suite<Root>("files", {
  layer,
  second: open,
  stored: Effect.map(Root, (root) =>
    filesBelow(root)
      .map((file) => Fs.readFileSync(file, "latin1"))
      .join("\n")
  ),
  corrupt: Effect.map(Root, (root) => {
    for (const file of blobsBelow(root)) Fs.appendFileSync(file, "x")
  })
})

const put = (scope: string, text: string) =>
  Effect.flatMap(BlobStore.BlobStore, (store) =>
    store.put({ owner: "ann", scope, bytes: new TextEncoder().encode(text), mediaType: "text/plain" })
  )

describe("FileBlobStore", () => {
  it.effect("follows no symbolic link out of the root", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const root = yield* Root
      const { hash } = yield* put("s1", "inside")
      const file = blobsBelow(root)[0]!
      const scope = NodePath.dirname(file)
      const outside = Fs.mkdtempSync(NodePath.join(Os.tmpdir(), "lexigram-outside-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => Fs.rmSync(outside, { recursive: true, force: true })))
      Fs.copyFileSync(file, NodePath.join(outside, NodePath.basename(file)))

      Fs.rmSync(file)
      Fs.symlinkSync(NodePath.join(outside, NodePath.basename(file)), file)
      const read = yield* Effect.flip(store.get({ owner: "ann", scope: "s1", hash }))
      assert.strictEqual(read._tag === "BlobStoreError" ? read.reason : undefined, "refused")

      Fs.rmSync(scope, { recursive: true })
      Fs.symlinkSync(outside, scope)
      assert.strictEqual((yield* Effect.flip(put("s1", "other"))).reason, "refused")
      assert.strictEqual((yield* Effect.flip(store.removeScope({ owner: "ann", scope: "s1" }))).reason, "refused")
      yield* store.removeOwner({ owner: "ann" }).pipe(Effect.ignore)
      assert.deepStrictEqual(Fs.readdirSync(outside), [NodePath.basename(file)])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("finishes a removal that was cut off and ignores files of others", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const root = yield* Root
      yield* put("s1", "half removed")
      yield* put("s2", "kept")
      const scope = NodePath.dirname(blobsBelow(root).find((file) => Fs.readFileSync(file, "utf8").includes("half"))!)
      Fs.renameSync(scope, `${scope}.removed-1`)
      Fs.writeFileSync(NodePath.join(root, "notes.txt"), "of somebody else")
      yield* store.removeScope({ owner: "ann", scope: "s1" })
      const left = filesBelow(root).map((file) => Fs.readFileSync(file, "utf8"))
      assert.notInclude(left.join("\n"), "half removed")
      assert.include(left.join("\n"), "kept")
      yield* store.removeOwner({ owner: "ann" })
      assert.deepStrictEqual(Fs.readdirSync(root), ["notes.txt"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("fails where the root cannot be a folder", () =>
    Effect.gen(function* () {
      const file = NodePath.join(yield* Root, "file")
      Fs.writeFileSync(file, "")
      const error = yield* Effect.flip(FileBlobStore.make({ root: NodePath.join(file, "below") }))
      assert.strictEqual(error.store, "files")
    }).pipe(Effect.provide(Layer.merge(temporary, NodeContext.layer)))
  )
})

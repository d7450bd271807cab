/** The contract of `BlobStore`, for every backend. */
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as BlobRef from "../../../src/content/BlobRef.js"
import * as BlobStore from "../../../src/content/BlobStore.js"
import { BlobNotFoundError, BlobStoreError } from "../../../src/content/ContentError.js"

/** A backend with a view of its storage. */
export interface Subject<R> {
  /** A store on storage that is empty when the layer is built. */
  readonly layer: Layer.Layer<BlobStore.BlobStore | R, unknown>
  /** Another store on the same storage; absent if there can be none. */
  readonly second?: Effect.Effect<BlobStore.Service, unknown, R | Scope.Scope> | undefined
  /** All stored bytes as one text of one character a byte, temporary ones included; absent if they cannot be seen. */
  readonly stored?: Effect.Effect<string, unknown, R> | undefined
  /** Changes one byte of every stored blob. */
  readonly corrupt?: Effect.Effect<unknown, unknown, R> | undefined
}

const encoder = new TextEncoder()
const bytesOf = (text: string): Uint8Array => encoder.encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const secret = "the bytes of one owner"

const put = (owner: string, scope: string, text: string) =>
  Effect.flatMap(BlobStore.BlobStore, (store) =>
    store.put({ owner, scope, bytes: bytesOf(text), mediaType: "text/plain" })
  )

const listed = (of: { readonly owner: string; readonly scope?: string | undefined }) =>
  Effect.flatMap(BlobStore.BlobStore, (store) =>
    Effect.map(Stream.runCollect(store.list(of)), (found) =>
      Chunk.toReadonlyArray(found)
        .map(({ ref, scope }) => `${scope} ${ref.hash} ${ref.size} ${ref.mediaType}`)
        .sort()
    )
  )

const missing = (owner: string, scope: string, hash: string) =>
  Effect.gen(function* () {
    const store = yield* BlobStore.BlobStore
    assert.instanceOf(yield* Effect.flip(store.get({ owner, scope, hash })), BlobNotFoundError)
  })

const rejected = ["", "a\u0000b", "line\nbreak", "x".repeat(257), "x".repeat(10_000)]
const strange = ["..", "../../etc/passwd", "/", "a/b", "\\", "%", "%2e%2e", "é", "\ud83d\ude00", "\ud800", "'; --", "."]

const keeping = <R>(run: Run<R>): void => {
  run("returns the bytes of a reference", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const ref = yield* put("ann", "s1", secret)
      assert.deepStrictEqual(ref, { hash: BlobRef.hashOf(bytesOf(secret)), size: 22, mediaType: "text/plain" })
      assert.strictEqual(textOf(yield* store.get({ owner: "ann", scope: "s1", hash: ref.hash })), secret)
    })
  )

  run("stores the same bytes once", () =>
    Effect.gen(function* () {
      const first = yield* put("ann", "s1", secret)
      assert.deepStrictEqual(yield* put("ann", "s1", secret), first)
      assert.deepStrictEqual(yield* listed({ owner: "ann" }), [`s1 ${first.hash} 22 text/plain`])
    })
  )

  run("stores the same bytes once when many writers race", () =>
    Effect.gen(function* () {
      const refs = yield* Effect.all(
        Array.from({ length: 8 }, () => put("ann", "s1", secret)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(refs.map(({ hash }) => hash)).size, 1)
      assert.lengthOf(yield* listed({ owner: "ann" }), 1)
    })
  )

  run("keeps an empty blob and one of 8 MB", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const large = new Uint8Array(8_000_000).map((_, i) => (i * 31 + (i >> 8)) & 0xff)
      for (const bytes of [new Uint8Array(0), large]) {
        const ref = yield* store.put({ owner: "ann", scope: "s1", bytes, mediaType: "application/octet-stream" })
        assert.strictEqual(ref.size, bytes.length)
        const read = yield* store.get({ owner: "ann", scope: "s1", hash: ref.hash })
        assert.isTrue(Buffer.from(read).equals(bytes))
      }
    })
  )

  run("does not give out its own memory", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const bytes = bytesOf(secret)
      const { hash } = yield* store.put({ owner: "ann", scope: "s1", bytes, mediaType: "text/plain" })
      bytes.fill(0)
      ;(yield* store.get({ owner: "ann", scope: "s1", hash })).fill(0)
      assert.strictEqual(textOf(yield* store.get({ owner: "ann", scope: "s1", hash })), secret)
    })
  )

  run("lists more blobs than a page has", () =>
    Effect.gen(function* () {
      const texts = Array.from({ length: 230 }, (_, i) => `text ${i}`)
      yield* Effect.forEach(texts, (text, i) => put("ann", i % 2 === 0 ? "s1" : "s2", text), { concurrency: 8 })
      const all = yield* listed({ owner: "ann" })
      assert.strictEqual(new Set(all).size, 230)
      assert.lengthOf(all, 230)
      const one = yield* listed({ owner: "ann", scope: "s2" })
      assert.lengthOf(one, 115)
      assert.isTrue(one.every((line) => line.startsWith("s2 ")))
    })
  )
}

const isolation = <R>(run: Run<R>): void => {
  run("separates owners and scopes", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const { hash } = yield* put("ann", "s1", secret)
      yield* missing("bob", "s1", hash)
      yield* missing("ann", "s2", hash)
      assert.deepStrictEqual(yield* listed({ owner: "bob" }), [])
      assert.deepStrictEqual(yield* listed({ owner: "ann", scope: "s2" }), [])
      assert.strictEqual(yield* store.removeOwner({ owner: "bob" }), 0)
      assert.strictEqual(yield* store.removeScope({ owner: "ann", scope: "s2" }), 0)
      assert.lengthOf(yield* listed({ owner: "ann" }), 1)
    })
  )

  run("rejects ids that are empty, too long or have control characters, and takes no missing owner for all", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const { hash } = yield* put("ann", "s1", secret)
      for (const id of [...rejected, undefined as unknown as string, null as unknown as string]) {
        const failures = [
          yield* Effect.flip(put(id, "s1", "x")),
          yield* Effect.flip(put("ann", id, "x")),
          yield* Effect.flip(store.get({ owner: id, scope: "s1", hash })),
          yield* Effect.flip(store.get({ owner: "ann", scope: id, hash })),
          yield* Effect.flip(store.copy({ owner: id, from: "s1", to: "s2" })),
          yield* Effect.flip(store.copy({ owner: "ann", from: id, to: "s2" })),
          yield* Effect.flip(store.copy({ owner: "ann", from: "s1", to: id })),
          yield* Effect.flip(listed({ owner: id })),
          yield* Effect.flip(store.removeOwner({ owner: id })),
          yield* Effect.flip(store.removeScope({ owner: id, scope: "s1" })),
          yield* Effect.flip(store.removeScope({ owner: "ann", scope: id }))
        ]
        for (const failure of failures) {
          assert.instanceOf(failure, BlobStoreError)
          assert.strictEqual(failure._tag === "BlobStoreError" ? failure.reason : undefined, "input")
        }
      }
      assert.lengthOf(yield* listed({ owner: "ann" }), 1)
    })
  )

  run("rejects malformed hashes and media types", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      for (const hash of ["", "sha256:", "../../x", `sha256:${"A".repeat(64)}`, `md5:${"a".repeat(64)}`]) {
        const failure = yield* Effect.flip(store.get({ owner: "ann", scope: "s1", hash }))
        assert.strictEqual(failure._tag === "BlobStoreError" ? failure.reason : undefined, "input")
      }
      const blob = { owner: "ann", scope: "s1", bytes: bytesOf("x"), mediaType: "text/plain\r\nx: y" }
      assert.strictEqual((yield* Effect.flip(store.put(blob))).reason, "input")
    })
  )

  run("keeps apart ids that look like paths, patterns or statements", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      for (const id of strange) {
        const owned = yield* put(id, "s1", `of owner ${id}`)
        const scoped = yield* put("ann", id, `of scope ${id}`)
        assert.strictEqual(
          (yield* store.get({ owner: id, scope: "s1", hash: owned.hash })).length,
          bytesOf(`of owner ${id}`).length
        )
        assert.deepStrictEqual(yield* listed({ owner: "ann", scope: id }), [
          `${id} ${scoped.hash} ${scoped.size} text/plain`
        ])
      }
      assert.lengthOf(yield* listed({ owner: "ann" }), strange.length)
      for (const id of strange) {
        assert.strictEqual(yield* store.removeOwner({ owner: id }), 1)
        assert.strictEqual(yield* store.removeScope({ owner: "ann", scope: id }), 1)
      }
      assert.deepStrictEqual(yield* listed({ owner: "ann" }), [])
    })
  )
}

const copying = <R>(run: Run<R>): void => {
  run("copies all blobs or the given ones to another scope", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const a = yield* put("ann", "s1", "a")
      const b = yield* put("ann", "s1", "b")
      assert.strictEqual(yield* store.copy({ owner: "ann", from: "s1", to: "s2", hashes: [a.hash, a.hash] }), 1)
      yield* missing("ann", "s2", b.hash)
      assert.strictEqual(yield* store.copy({ owner: "ann", from: "s1", to: "s3" }), 2)
      assert.strictEqual(yield* store.copy({ owner: "ann", from: "s1", to: "s3" }), 2)
      assert.strictEqual(yield* store.copy({ owner: "ann", from: "s1", to: "s4", hashes: [] }), 0)
      assert.lengthOf(yield* listed({ owner: "ann" }), 5)
      yield* store.removeScope({ owner: "ann", scope: "s1" })
      assert.strictEqual(textOf(yield* store.get({ owner: "ann", scope: "s3", hash: b.hash })), "b")
    })
  )

  run("copies nothing when a hash is missing", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const a = yield* put("ann", "s1", "a")
      const hashes = [a.hash, BlobRef.hashOf(bytesOf("b"))]
      assert.instanceOf(
        yield* Effect.flip(store.copy({ owner: "ann", from: "s1", to: "s2", hashes })),
        BlobNotFoundError
      )
      assert.instanceOf(
        yield* Effect.flip(store.copy({ owner: "bob", from: "s1", to: "s2", hashes: [a.hash] })),
        BlobNotFoundError
      )
      assert.lengthOf(yield* listed({ owner: "ann" }), 1)
    })
  )
}

const removing = <R>(run: Run<R>, subject: Subject<R>): void => {
  run("removes a scope and an owner with all bytes", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const { hash } = yield* put("ann", "s1", `${secret} 1`)
      yield* put("ann", "s2", `${secret} 2`)
      yield* put("ann", "s3", `${secret} 3`)
      yield* put("bob", "s1", `${secret} 4`)
      assert.strictEqual(yield* store.removeScope({ owner: "ann", scope: "s1" }), 1)
      yield* missing("ann", "s1", hash)
      if (subject.stored !== undefined) assert.notInclude(yield* subject.stored, `${secret} 1`)
      assert.strictEqual(yield* store.removeOwner({ owner: "ann" }), 2)
      assert.strictEqual(yield* store.removeOwner({ owner: "ann" }), 0)
      assert.deepStrictEqual(yield* listed({ owner: "ann" }), [])
      assert.lengthOf(yield* listed({ owner: "bob" }), 1)
      if (subject.stored !== undefined) {
        const left = yield* subject.stored
        assert.include(left, `${secret} 4`)
        assert.notInclude(left, `${secret} 2`)
        assert.notInclude(left, `${secret} 3`)
      }
      yield* put("ann", "s1", `${secret} 1`)
      assert.lengthOf(yield* listed({ owner: "ann" }), 1)
    })
  )

  run("leaves a blob whole or absent when a put is interrupted", () =>
    Effect.gen(function* () {
      const store = yield* BlobStore.BlobStore
      const bytes = new Uint8Array(300_000).fill(7)
      const blob = { owner: "ann", scope: "s1", bytes, mediaType: "application/octet-stream" }
      for (let turns = 0; turns < 12; turns++) {
        const fiber = yield* Effect.fork(store.put(blob))
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        const read = yield* Effect.either(store.get({ owner: "ann", scope: "s1", hash: BlobRef.hashOf(bytes) }))
        if (read._tag === "Right") assert.lengthOf(read.right, 300_000)
        else assert.instanceOf(read.left, BlobNotFoundError)
        yield* store.removeOwner({ owner: "ann" })
        if (subject.stored !== undefined) assert.notInclude(yield* subject.stored, "\u0007".repeat(16))
      }
    })
  )

  if (subject.corrupt !== undefined) {
    const corrupt = subject.corrupt
    run("reports stored bytes that are not those of the hash", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore.BlobStore
        const { hash } = yield* put("ann", "s1", secret)
        yield* corrupt
        const failure = yield* Effect.flip(store.get({ owner: "ann", scope: "s1", hash }))
        assert.strictEqual(failure._tag === "BlobStoreError" ? failure.reason : undefined, "corrupt")
        assert.notInclude(JSON.stringify(failure), "bytes of one owner")
      })
    )
  }

  if (subject.second !== undefined) {
    const second = subject.second
    run("shares its storage with another store", () =>
      Effect.gen(function* () {
        const store = yield* BlobStore.BlobStore
        const other = yield* second
        const refs = yield* Effect.all(
          Array.from({ length: 20 }, (_, i) =>
            (i % 2 === 0 ? store : other).put({
              owner: "ann",
              scope: "s1",
              bytes: bytesOf(`text ${i % 7}`),
              mediaType: "text/plain"
            })
          ),
          { concurrency: "unbounded" }
        )
        for (const { hash } of refs) yield* other.get({ owner: "ann", scope: "s1", hash })
        assert.lengthOf(yield* listed({ owner: "ann" }), 7)
        assert.strictEqual(yield* other.removeOwner({ owner: "ann" }), 7)
        assert.deepStrictEqual(yield* listed({ owner: "ann" }), [])
      })
    )
  }
}

type Run<R> = (name: string, test: () => Effect.Effect<void, unknown, BlobStore.BlobStore | R | Scope.Scope>) => void

/** Registers the cases for a backend. */
export const suite = <R>(name: string, subject: Subject<R>): void => {
  const run: Run<R> = (title, test) => {
    it.effect(title, () => Effect.scoped(Effect.provide(test(), subject.layer)))
  }
  describe(`BlobStore: ${name}`, () => {
    keeping(run)
    isolation(run)
    copying(run)
    removing(run, subject)
  })
}

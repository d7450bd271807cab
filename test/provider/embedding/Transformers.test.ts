import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as CrossEncoder from "../../../src/llm/embedding/CrossEncoder.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as TransformersCrossEncoder from "../../../src/provider/embedding/TransformersCrossEncoder.js"
import * as TransformersEmbedder from "../../../src/provider/embedding/TransformersEmbedder.js"
import * as Tiny from "../../support/TinyTransformer.js"

const close = (actual: ArrayLike<number>, expected: ReadonlyArray<number>) => {
  assert.strictEqual(actual.length, expected.length)
  for (const [at, value] of expected.entries()) assert.closeTo(actual[at] ?? Number.NaN, value, 1e-6)
}

const loading = () => {
  const watched = Tiny.watched()
  return { ...watched, load: () => Promise.resolve(watched.module) }
}

const named = (calls: ReadonlyArray<readonly [string, unknown]>, name: string) =>
  calls.filter(([one]) => one === name).map(([, given]) => given)

describe("TransformersEmbedder", () => {
  it.scoped("embeds texts in order, in batches, with one model", () =>
    Effect.gen(function* () {
      const { calls, load } = loading()
      const embedder = yield* TransformersEmbedder.make(load, { model: "tiny", maxBatchSize: 3 })
      assert.strictEqual(embedder.model, "tiny")
      assert.strictEqual(embedder.dimensions, 2)
      const vectors = yield* embedder.embedMany(Tiny.texts)
      for (const [at, text] of Tiny.texts.entries()) close(vectors[at] ?? [], Tiny.vectorOf(text))
      close(yield* embedder.embed("dog"), [1, 0])
      assert.deepStrictEqual(
        named(calls, "embed").map((call: any) => call.given.length),
        [3, 1, 1]
      )
      assert.strictEqual(named(calls, "feature-extraction").length, 1)
      assert.deepStrictEqual(yield* embedder.embedMany([]), [])
      assert.strictEqual(named(calls, "embed").length, 3)
    })
  )

  it.scoped("gives the package the options that it is given, and no others", () =>
    Effect.gen(function* () {
      const { calls, load } = loading()
      yield* TransformersEmbedder.make(load, { model: "plain" })
      const embedder = yield* TransformersEmbedder.make(load, {
        model: "full",
        revision: "abc",
        dtype: "q8",
        device: "cpu",
        cacheDir: "/models",
        localFilesOnly: true,
        pooling: "cls",
        maxCharacters: 3
      })
      assert.deepStrictEqual(named(calls, "feature-extraction"), [
        { name: "plain" },
        { name: "full", revision: "abc", dtype: "q8", device: "cpu", cache_dir: "/models", local_files_only: true }
      ])
      yield* embedder.embed("dog barks")
      assert.deepStrictEqual(named(calls, "embed"), [{ given: ["dog"], how: { pooling: "cls", normalize: true } }])
    })
  )

  it.effect("releases the model with its scope, and runs one call at a time", () =>
    Effect.gen(function* () {
      const { calls, load, most } = loading()
      const scope = yield* Scope.make()
      const embedder = yield* Scope.extend(TransformersEmbedder.make(load, { model: "tiny" }), scope)
      yield* Effect.forEach(Tiny.texts, (text) => embedder.embed(text), { concurrency: "unbounded" })
      assert.strictEqual(most(), 1)
      assert.strictEqual(named(calls, "dispose feature-extraction").length, 0)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(named(calls, "dispose feature-extraction").length, 1)
    })
  )

  it.scoped("takes the dimensions that it is given, and asks for them where the model does not tell", () =>
    Effect.gen(function* () {
      const { load } = loading()
      const error = yield* Effect.flip(TransformersEmbedder.make(load, { model: "sizeless" }))
      assert.match(error.message, /sizeless does not tell the length/)
      const embedder = yield* TransformersEmbedder.make(load, { model: "sizeless", dimensions: 2 })
      close(yield* embedder.embed("dog"), [1, 0])
      const wrong = yield* TransformersEmbedder.make(load, { model: "tiny", dimensions: 3 })
      assert.strictEqual((yield* Effect.flip(wrong.embed("dog")))._tag, "EmbeddingError")
    })
  )

  it.scoped("fails with what to do: no package, no model, a model that breaks", () =>
    Effect.gen(function* () {
      const { load } = loading()
      const absent = () => Promise.reject(new Error("Cannot find package"))
      const noPackage = yield* Effect.flip(TransformersEmbedder.make(absent, { model: "tiny" }))
      assert.match(noPackage.message, /could not be loaded: Cannot find package/)
      assert.match(noPackage.hint ?? "", /Install @huggingface\/transformers/)
      const noModel = yield* Effect.flip(TransformersEmbedder.make(load, { model: "missing" }))
      assert.match(noModel.message, /The model missing could not be loaded/)
      const embedder = yield* TransformersEmbedder.make(load, { model: "tiny" })
      const broken = yield* Effect.flip(embedder.embed("broken"))
      assert.match(broken.message, /The model tiny failed: out of memory/)
      close(yield* embedder.embed("dog"), [1, 0])
    })
  )

  it.effect("is the embedder of a program", () => {
    const { load } = loading()
    return Effect.gen(function* () {
      close(yield* (yield* Embedder.Embedder).embed("violin"), [0, 1])
    }).pipe(Effect.provide(TransformersEmbedder.layer(load, { model: "tiny" })))
  })
})

describe("TransformersCrossEncoder", () => {
  it.scoped("scores pairs in order, in batches, and releases the model", () =>
    Effect.gen(function* () {
      const { calls, load } = loading()
      const scope = yield* Scope.make()
      const encoder = yield* Scope.extend(
        TransformersCrossEncoder.make(load, { model: "tiny", maxBatchSize: 3, dtype: "q8" }),
        scope
      )
      assert.strictEqual(encoder.model, "tiny")
      const scores = yield* encoder.score("dog plays", Tiny.texts)
      close(
        scores,
        Tiny.texts.map((text) => Tiny.scoreOf("dog plays", text))
      )
      assert.deepStrictEqual(yield* encoder.score("dog", []), [])
      assert.deepStrictEqual(
        named(calls, "score").map((pairs: any) => pairs.length),
        [3, 1]
      )
      assert.deepStrictEqual(named(calls, "classifier"), [{ name: "tiny", dtype: "q8" }])
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(named(calls, "dispose classifier").length, 1)
    })
  )

  it.scoped("fails where the model gives no score for each text", () =>
    Effect.gen(function* () {
      const { load } = loading()
      const encoder = yield* TransformersCrossEncoder.make(load, { model: "scoreless" })
      const error = yield* Effect.flip(encoder.score("dog", ["cat"]))
      assert.match(error.hint ?? "", /cross-encoder/)
    })
  )

  it.effect("is the cross-encoder of a program", () => {
    const { load } = loading()
    return Effect.gen(function* () {
      close(yield* (yield* CrossEncoder.CrossEncoder).score("dog", ["cat"]), [1.5])
    }).pipe(Effect.provide(TransformersCrossEncoder.layer(load, { model: "tiny" })))
  })
})

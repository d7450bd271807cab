import { inspect } from "node:util"
import * as AiError from "@effect/ai/AiError"
import * as EmbeddingModel from "@effect/ai/EmbeddingModel"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as EmbeddingModelClient from "../../../src/provider/embedding/EmbeddingModelClient.js"

type Rows = Parameters<typeof EmbeddingModel.make>[0]["embedMany"]

const start = (embedMany: Rows, options: Partial<EmbeddingModelClient.Options> = {}) =>
  EmbeddingModelClient.make({ model: "m", dimensions: 2, ...options }).pipe(
    Effect.provideServiceEffect(EmbeddingModel.EmbeddingModel, EmbeddingModel.make({ embedMany }))
  )

const row = (index: number, ...embeddings: Array<number>) => ({ index, embeddings })

describe("make", () => {
  it.effect("returns the vectors of the model with norm 1, in order", () =>
    Effect.gen(function* () {
      const asked: Array<ReadonlyArray<string>> = []
      const embedder = yield* start(
        (texts) =>
          Effect.sync(() => {
            asked.push(texts)
            return texts.map((_, index) => row(index, index, 2)).reverse()
          }),
        { maxBatchSize: 2 }
      )
      assert.deepInclude(embedder, { model: "m", dimensions: 2 })
      const [one, two, three] = yield* embedder.embedMany(["a", "b", "c"])
      assert.deepStrictEqual([one, three], [Float32Array.of(0, 1), Float32Array.of(0, 1)])
      assert.closeTo(two![0]!, 1 / Math.sqrt(5), 1e-6)
      assert.deepStrictEqual(asked, [["a", "b"], ["c"]])
    })
  )

  it.effect("fails for too few, missing or unmatched rows, without an interruption or a defect", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<ReadonlyArray<EmbeddingModel.Result>> = [
        [],
        [row(0, 1, 0)],
        [row(0, 1, 0), row(0, 1, 0)],
        [row(7, 1, 0), row(8, 1, 0)],
        [row(-1, 1, 0)]
      ]
      for (const answer of answers) {
        const embedder = yield* start(() => Effect.succeed([...answer]))
        const error = yield* Effect.flip(embedder.embedMany(["a", "b"]))
        assert.instanceOf(error, Embedder.EmbeddingError)
        assert.include(error.message, "fewer vectors than texts (2)")
      }
      const broken = yield* start(() => Effect.succeed(null as never))
      assert.instanceOf(yield* Effect.flip(broken.embed("a")), Embedder.EmbeddingError)
    })
  )

  it.effect("fails for vectors of another length and invalid numbers", () =>
    Effect.gen(function* () {
      const long = yield* start(() => Effect.succeed([row(0, 1, 2, 3)]))
      assert.include((yield* Effect.flip(long.embed("a"))).message, "length 3 instead of 2")
      const odd = yield* start(() => Effect.succeed([row(0, 1, Number.NaN)]))
      assert.include((yield* Effect.flip(odd.embed("a"))).message, "a number that is not finite")
    })
  )

  it.effect("ends at once when interrupted, and with a single text the model does too", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      let interrupted = 0
      const embedder = yield* start((texts) =>
        Effect.suspend(() => {
          asked.push(texts.length)
          return Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
        })
      )
      for (const texts of [["a"], ["a", "b"]]) {
        const fiber = yield* Effect.fork(embedder.embedMany(texts))
        for (let i = 0; i < 50; i++) yield* Effect.yieldNow()
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      }
      assert.deepStrictEqual([asked, interrupted], [[1, 2], 1])
    })
  )

  it.effect("fails without the request and its headers, and says whether a retry helps", () =>
    Effect.gen(function* () {
      const secret = "sk-the-key-0123456789"
      const request = {
        method: "POST",
        url: "http://127.0.0.1/embeddings",
        urlParams: [],
        hash: Option.none<string>(),
        headers: { authorization: `Bearer ${secret}` }
      } as const
      const failure = new AiError.HttpResponseError({
        module: "M",
        method: "m",
        reason: "StatusCode",
        request: request as never,
        response: { status: 429, headers: { "retry-after": "3", "set-cookie": secret } },
        body: JSON.stringify({ error: { message: `slow down, ${secret}` } })
      })
      const embedder = yield* start(() => Effect.fail(failure), { provider: "acme", redact: [Redacted.make(secret)] })
      const error = yield* Effect.flip(embedder.embed("a"))
      assert.deepInclude({ ...error }, { isRetryable: true, retryAfterMs: 3000 })
      assert.include(error.message, "acme: slow down")
      const shown = [JSON.stringify(error), Cause.pretty(Cause.fail(error), { renderErrorCause: true })]
      for (const text of [...shown, inspect(error, { depth: 20 })]) assert.notInclude(text, secret)
    })
  )

  it.effect("provides a layer from the model", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Embedder.embed("a"), Float32Array.of(1, 0))
    }).pipe(
      Effect.provide(
        Layer.provide(
          EmbeddingModelClient.layer({ model: "m", dimensions: 2 }),
          Layer.effect(
            EmbeddingModel.EmbeddingModel,
            EmbeddingModel.make({ embedMany: () => Effect.succeed([row(0, 2, 0)]) })
          )
        )
      )
    )
  )
})

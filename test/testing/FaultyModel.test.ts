import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as PartAssembler from "../../src/llm/model/PartAssembler.js"
import * as FaultyModel from "../../src/testing/FaultyModel.js"
import * as TestModel from "../../src/testing/TestModel.js"

const turn: TestModel.Turn = {
  reasoning: "I look at the clock first.",
  text: "It will be noon in a moment, sir.",
  calls: [{ name: "clock", params: { zone: "Oslo" } }]
}

const request: LlmClient.LlmRequest = { messages: [{ role: "user", content: "What time is it?" }] }

const collect = (client: LlmClient.Service) =>
  Effect.suspend(() => {
    const parts: Array<LlmClient.LlmPart> = []
    const onParts: LlmClient.OnParts = (some) => Effect.sync(() => void parts.push(...some))
    return Effect.map(Effect.either(client.complete(request, { onParts })), (answer) => ({ answer, parts }))
  })

const faulty = (options: FaultyModel.Options) =>
  FaultyModel.make(
    TestModel.make(() => turn),
    options
  )

const faultsOf = (client: ReturnType<typeof faulty>) =>
  Effect.map(client.observer.injected, (all) => new Set(all.map(({ fault }) => fault)))

const asked = (client: LlmClient.Service, times: number) =>
  Effect.forEach(Array.from({ length: times }), () => collect(client))

describe("FaultyModel", () => {
  it.effect("leaves answers alone without faults, but for how deltas are cut", () =>
    Effect.gen(function* () {
      const client = faulty({ seed: 1 })
      const plain = yield* TestModel.make(() => turn).complete(request)
      const { answer, parts } = yield* collect(client)
      const { provider: _, ...response } = Either.getOrThrow(answer)
      const { provider: __, ...expected } = plain
      assert.deepStrictEqual(response, expected)
      assert.isAbove(parts.filter(({ type }) => type === "text-delta").length, 1)
      assert.deepStrictEqual(yield* client.observer.injected, [])
    })
  )

  it.effect("does each fault where it is certain, and tells of it", () =>
    Effect.gen(function* () {
      for (const fault of ["fail", "truncate", "repeat", "reorder", "corrupt"] as const) {
        const client = faulty({ seed: 3, [fault]: 1 })
        const all = yield* asked(client, 40)
        assert.deepStrictEqual(yield* faultsOf(client), new Set([fault]))
        const failed = all.flatMap(({ answer }) => (Either.isLeft(answer) ? [answer.left._tag] : []))
        if (fault === "fail") assert.isAbove(new Set(failed).size, 5)
        else if (fault === "truncate") {
          assert.deepStrictEqual(new Set(failed), new Set(["LlmConnectionError"]))
          const cut = all.flatMap(({ answer }) => (Either.isRight(answer) ? [answer.right.finishReason] : []))
          assert.deepStrictEqual(new Set(cut), new Set(["length"]))
        } else assert.lengthOf(failed, 0)
      }
      const repeated = yield* collect(faulty({ seed: 3, repeat: 1 }))
      assert.strictEqual(LlmClient.toolCalls(Either.getOrThrow(repeated.answer)).length, 2)
      const damaged = yield* asked(faulty({ seed: 3, corrupt: 1 }), 40)
      const calls = damaged.flatMap(({ answer }) => LlmClient.toolCalls(Either.getOrThrow(answer)))
      assert.isTrue(calls.some(({ name }) => name !== "clock"))
      assert.isTrue(calls.some(({ params }) => typeof params === "string"))
    })
  )

  it.effect("gives parts that make the response, whatever is wrong with them", () =>
    Effect.gen(function* () {
      for (let seed = 0; seed < 300; seed++) {
        const client = faulty({ seed, truncate: 0.3, repeat: 0.3, reorder: 0.3, corrupt: 0.3 })
        const { answer, parts } = yield* collect(client)
        if (Either.isLeft(answer)) continue
        const assembler = PartAssembler.make({ provider: "test", model: "test-model" })
        for (const part of parts) assembler.push(part)
        assert.deepStrictEqual(assembler.response(), answer.right, `seed ${seed}`)
      }
    })
  )

  it.effect("does the same by the same seed, and other things by another", () =>
    Effect.gen(function* () {
      const run = (seed: number) =>
        Effect.gen(function* () {
          const client = faulty({ seed, fail: 0.2, truncate: 0.2, repeat: 0.2, reorder: 0.2, corrupt: 0.2 })
          const all = yield* asked(client, 20)
          return JSON.stringify([all.map(({ parts }) => parts), yield* client.observer.injected])
        })
      const texts = yield* Effect.forEach([5, 5, 6, -1, 2 ** 40], run)
      assert.strictEqual(texts[0], texts[1])
      assert.strictEqual(new Set(texts).size, 4)
    })
  )

  it.effect("delays in virtual time, at most as long as it may, and hangs until it is interrupted", () =>
    Effect.gen(function* () {
      const slow = yield* Effect.fork(faulty({ seed: 1, delay: 1, maxDelay: "2 seconds" }).complete(request))
      yield* TestClock.adjust("1 millis")
      assert.isNull(yield* Fiber.poll(slow).pipe(Effect.map((exit) => (exit._tag === "None" ? null : exit))))
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* Fiber.join(slow)).finishReason, "tool-calls")
      const client = faulty({ seed: 1, hang: 1 })
      const hung = yield* Effect.fork(client.complete(request))
      yield* TestClock.adjust("365 days")
      assert.deepStrictEqual(yield* faultsOf(client), new Set(["hang"]))
      assert.isTrue(Exit.isFailure(yield* Fiber.interrupt(hung)))
    })
  )

  it.effect("is a layer over the model in context, and refuses chances that are none", () =>
    Effect.gen(function* () {
      const model = FaultyModel.layer({ seed: 1, fail: 1 }).pipe(Layer.provide(TestModel.layer(() => "Yes.")))
      yield* Effect.gen(function* () {
        assert.isTrue(Either.isLeft(yield* Effect.either(LlmGateway.complete(request))))
        const { injected } = yield* FaultyModel.FaultyModel
        assert.deepStrictEqual(yield* injected, [{ call: 1, fault: "fail" }])
      }).pipe(Effect.provide(model))
      for (const chance of [-0.1, 1.1, Number.NaN]) {
        assert.throws(() => faulty({ seed: 1, corrupt: chance }), /corrupt is .*, not from 0 to 1/)
      }
    })
  )
})

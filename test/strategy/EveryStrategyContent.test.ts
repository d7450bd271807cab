/** Files of a request reach the model in every strategy. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Content from "../../src/content/Content.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { cases, succeed } from "./EveryStrategy.js"

const files = [Effect.runSync(Content.image("https://example.com/map.png"))]

const filesOf = ({ messages }: LlmClient.LlmRequest): number =>
  messages.flatMap(({ content }) => (typeof content === "string" ? [] : content)).filter(({ type }) => type === "file")
    .length

describe("files of a request", () => {
  for (const given of cases) {
    it.effect(`are in every model call of its own, and change nothing else: ${given.name}`, () =>
      Effect.gen(function* () {
        const plain = yield* succeed(given)
        const { answer, events, requests } = yield* succeed(given, { files })
        assert.strictEqual(answer, plain.answer)
        assert.strictEqual(requests.length, plain.requests.length)
        // Agents that a supervisor asks have requests of their own.
        const own = events.filter((event) => event._tag === "UsageReported" && event.agent === "sample").length
        assert.deepStrictEqual(
          requests.map(filesOf).filter((count) => count > 0),
          Array.from({ length: own }, () => 1)
        )
      })
    )
  }
})

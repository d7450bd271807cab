import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import * as PublicView from "../../../src/domain/PublicView.js"
import { type AgUiEvent, encode } from "../../../src/http/agui/AgUiEvent.js"
import { AgUiStream } from "../../../src/http/agui/AgUiStream.js"
import * as EveryStrategy from "../../strategy/EveryStrategy.js"
import * as AgUiClients from "../../support/AgUiClients.js"

const question = { id: "i", reason: "input_required" as const, responseSchema: {} }

/** The events of a stream that reads so many events of a run, and then pauses if the run goes on. */
const streamOf = (events: ReadonlyArray<AgentEvent>, length: number): ReadonlyArray<AgUiEvent> => {
  const runId = events[0]?.runId ?? ""
  const stream = new AgUiStream({ threadId: "thread", requestId: "request", runId, agent: "sample" })
  const shown = events.slice(0, length).flatMap((event) => {
    const shown = PublicView.fromEvent(event, { reasoning: true, toolResults: true })
    return shown === undefined ? [] : stream.push(shown)
  })
  const last = stream.hasEnded ? [] : stream.pause([question])
  return [...stream.start(), ...shown, ...last].map((event) => JSON.parse(encode(event)))
}

describe("AgUiStream with the runs of every strategy", () => {
  for (const given of EveryStrategy.cases) {
    it.effect(`is taken by the client, wherever it pauses: ${given.name}`, () =>
      Effect.gen(function* () {
        const { answer, events } = yield* EveryStrategy.succeed(given)
        const { messages } = yield* Effect.promise(() => AgUiClients.read(streamOf(events, events.length)))
        const said = messages.filter(({ role }) => role === "assistant").at(-1)
        assert.strictEqual(said?.content, answer)
        for (let length = 0; length < events.length; length += Math.ceil(events.length / 8)) {
          yield* Effect.promise(() => AgUiClients.read(streamOf(events, length)))
        }
      })
    )

    it.effect(`is taken by the client when the model refuses: ${given.name}`, () =>
      Effect.gen(function* () {
        const { events } = yield* EveryStrategy.watch(given, { model: () => EveryStrategy.refused })
        const shown = streamOf(events, events.length)
        assert.strictEqual(shown.at(-1)?.type, "RUN_ERROR")
        yield* Effect.promise(() => AgUiClients.read(shown))
      })
    )
  }
})

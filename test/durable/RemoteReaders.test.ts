import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { ann, call, say, start } from "./DurableProcesses.js"

const begin = Runs.start({ agent: "a", input: "go", runId: "run", ...ann })

/** Says words as it is told to, after a call of a tool. */
const speaking = (words: Queue.Dequeue<string>, begun: Deferred.Deferred<void>): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete: ({ messages }, options) =>
    messages.some(({ role }) => role === "tool")
      ? Effect.gen(function* () {
          const { onParts } = options ?? {}
          yield* Deferred.succeed(begun, undefined)
          let text = ""
          if (onParts !== undefined) yield* onParts([{ type: "text-start", id: "0" }])
          for (;;) {
            const word = yield* Queue.take(words)
            if (word === "") break
            text += word
            if (onParts !== undefined) yield* onParts([{ type: "text-delta", id: "0", delta: word }])
          }
          if (onParts !== undefined) {
            yield* onParts([
              { type: "text-end", id: "0" },
              { type: "finish", reason: "stop", usage: say("").usage }
            ])
          }
          return say(text)
        })
      : Effect.succeed(call(["note", {}]))
})

const noted = Tool.make("note", { description: "Notes", idempotent: true, handler: () => Effect.succeed("noted") })

/** What a reader has of the text. */
const shown = (events: Iterable<AgentEvent>): string => {
  let text = ""
  for (const event of events) {
    if (event._tag === "TextDelta") text += event.text
    else if (event._tag === "TextRetracted") text = ""
  }
  return text
}

SqlBackends.suite("a reader of a durable run in another process", (backend) => {
  /** A run that speaks in a process, and a second process that did not begin before: it would take the run. */
  const speaks = Effect.gen(function* () {
    const words = yield* Queue.unbounded<string>()
    const agents = [Agent.make("a", { tools: [noted] })]
    const begun = yield* Deferred.make<void>()
    const one = yield* start(backend.layer, { agents }, speaking(words, begun))
    yield* one.within(Effect.zipRight(begin, Deferred.await(begun)))
    const two = yield* start(backend.kept, { agents }, speaking(words, begun))
    return { one, two, words }
  })

  it.scopedLive("sees the text while it is written, and each event once", () =>
    Effect.gen(function* () {
      const { one, two, words } = yield* speaks
      const seen: Array<AgentEvent> = []
      const until = (text: string) =>
        Effect.repeat(
          Effect.zipRight(
            Effect.sleep("5 millis"),
            Effect.sync(() => shown(seen))
          ),
          {
            until: (has) => has === text
          }
        )
      const reading = yield* two
        .within(Stream.runForEach(Runs.events("run", ann), (event) => Effect.sync(() => void seen.push(event))))
        .pipe(Effect.fork)
      let text = ""
      for (const word of ["One ", "two ", "thr", "ee"]) {
        yield* Queue.offer(words, word)
        text += word
        // The model has not ended its answer: the text can only come as it is written.
        yield* until(text)
      }
      yield* Queue.offer(words, "")
      yield* Fiber.join(reading)
      assert.strictEqual(shown(seen), "One two three")
      assert.isFalse(seen.some(({ _tag }) => _tag === "TextRetracted"))
      const numbers = seen.map(({ seq }) => seq)
      assert.deepStrictEqual(
        numbers,
        [...new Set(numbers)].sort((a, b) => a - b)
      )
      const without = (events: Iterable<AgentEvent>) =>
        Array.from(events).flatMap(({ _tag, seq }) => (_tag === "TextDelta" ? [] : [[_tag, seq]]))
      const kept = yield* one.within(Stream.runCollect(Runs.events("run", ann)))
      assert.deepStrictEqual(without(seen), without(Chunk.toReadonlyArray(kept)))
      yield* one.end
      yield* two.end
    })
  )

  it.scopedLive("goes on after the number that it has, and a stranger sees nothing", () =>
    Effect.gen(function* () {
      const { one, two, words } = yield* speaks
      yield* Queue.offerAll(words, ["One ", "two "])
      const first = yield* two.within(
        Stream.runCollect(Stream.takeUntil(Runs.events("run", ann), ({ _tag }) => _tag === "TextDelta"))
      )
      const last = Chunk.unsafeLast(first)
      const isThere = yield* Deferred.make<void>()
      const rest = yield* two
        .within(
          Runs.events("run", { ...ann, from: last.seq + 1 }).pipe(
            Stream.tap(() => Deferred.succeed(isThere, undefined)),
            Stream.runCollect
          )
        )
        .pipe(Effect.fork)
      yield* Queue.offer(words, "three")
      yield* Deferred.await(isThere)
      yield* Queue.offer(words, "")
      const events = [...first, ...(yield* Fiber.join(rest))]
      assert.strictEqual(shown(events), "One two three")
      const stranger = yield* two.within(Effect.flip(Stream.runDrain(Runs.events("run", { userId: "bob" }))))
      assert.strictEqual(stranger.reason, "unknown-run")
      yield* one.end
      yield* two.end
    })
  )
})

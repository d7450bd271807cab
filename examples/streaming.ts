/**
 * A run as a stream of its events while they happen. Stopping the stream stops the run: the model call is interrupted.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent, type AgentEvent, AgentExecutor, Agents } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

const poet = Agent.make("poet", { system: "You write verse." })

const verse = ["Salt ", "on the ", "rail, ", "the harbour ", "sleeps; ", "a bell ", "keeps ", "count."]
const slowly = TestModel.layer([
  { text: verse, partDelay: "20 millis" },
  { text: verse, partDelay: "200 millis" }
])

const text = (event: AgentEvent.AgentEvent): string => (event._tag === "TextDelta" ? event.text : "")

const program = Effect.gen(function* () {
  // The whole stream: events are plain tagged objects.
  yield* AgentExecutor.stream(poet, "A verse about a harbour").pipe(
    Stream.runForEach((event) =>
      Effect.sync(() => {
        if (event._tag === "TextDelta") process.stdout.write(event.text)
        else console.log(`\n[${event.seq}] ${event._tag}`)
      })
    )
  )

  // Only the beginning: the rest of the verse is never generated.
  const opening = yield* AgentExecutor.stream(poet, "The same again").pipe(
    Stream.map(text),
    Stream.filter((piece) => piece !== ""),
    Stream.take(1),
    Stream.mkString
  )
  const observer = yield* TestModel.TestModel
  console.log("\ntaken:", opening, "- model calls still open:", yield* observer.active)
})

const layer = Layer.provideMerge(Agents.layer(), slowly)

await Effect.runPromise(Effect.provide(program, layer))

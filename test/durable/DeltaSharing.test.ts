import { assert, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as DeltaSharing from "../../src/durable/DeltaSharing.js"
import type * as DeltaFeed from "../../src/observability/log/DeltaFeed.js"
import * as RunLog from "../../src/observability/RunLog.js"

const runId = RunId.make("run")

const delta = (seq: number): AgentEvent => ({ _tag: "TextDelta", text: `${seq} `, runId, agent: "a", seq, at: seq })

const numbers = (events: ReadonlyArray<AgentEvent>) => events.map(({ seq }) => seq)

/** A feed in memory that somebody reads; `refuses` says how often it keeps nothing. */
const feedOf = (refuses = 0) => {
  let left = refuses
  const kept: Array<AgentEvent> = []
  const feed: DeltaFeed.Service = {
    wanted: (runIds) => Effect.succeed(runIds),
    put: (_, events) =>
      Effect.sync(() => {
        if (left-- > 0) return false
        kept.push(...events)
        return true
      }),
    clear: () =>
      Effect.sync(() => {
        kept.length = 0
      }),
    want: () => Effect.void,
    read: (_, from) => Effect.sync(() => kept.filter(({ seq }) => seq >= from))
  }
  return { feed, kept }
}

it.scoped("shows each event once, also after the database did not take some", () =>
  Effect.gen(function* () {
    const { feed, kept } = feedOf(2)
    const log = RunLog.makeMemory()
    const emitted = [delta(3), delta(4)]
    log.live?.add(runId, (_, from) => ({
      events: emitted.filter(({ seq }) => seq >= from),
      last: emitted.at(-1)?.seq ?? -1
    }))
    const live = new Map([["run", { interrupt: Effect.void }]])
    yield* DeltaSharing.share(feed, { live, log, poll: Duration.millis(200) })
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(numbers(kept), [3, 4])
    emitted.push(delta(5))
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(numbers(kept), [3, 4, 5])
    // All is written, and the text has ended.
    emitted.length = 0
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(kept, [])
  })
)

it.effect("does not go past what the log has while there is more of it", () =>
  Effect.gen(function* () {
    const { feed } = feedOf()
    yield* feed.put(runId, [delta(9)])
    const { read } = DeltaSharing.reader(feed, runId)
    const page = (limit: number) => read(0, limit, Effect.succeed([delta(0), delta(1)]))
    assert.deepStrictEqual(numbers(yield* page(2)), [0, 1])
    assert.deepStrictEqual(numbers(yield* page(3)), [0, 1, 9])
  })
)

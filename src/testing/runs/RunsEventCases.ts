/**
 * Cases: readers see each event of a run once, whenever they come, and leave without a trace.
 *
 * @since 0.1.0
 * @private
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { type AgentEvent, isTerminal } from "../../domain/AgentEvent.js"
import { equal, holds } from "../suite/SuiteAssert.js"
import { all, atWork, type Case, eventually, follow, inState, make, pieces, shown, start } from "./RunsCase.js"

const ann = { userId: "ann" }

const seqsOf = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<number> => events.map(({ seq }) => seq)

/**
 * Fails unless the numbers ascend and the last event, and no other, is terminal. The retraction before a text that
 * comes whole has no number of its own.
 */
const checkWhole = (events: ReadonlyArray<AgentEvent>, what: string): void => {
  const seqs = seqsOf(events.filter(({ _tag }) => _tag !== "TextRetracted"))
  holds(
    seqs.every((seq, i) => i === 0 || seq > (seqs[i - 1] as number)),
    `${what}: the numbers ascend`,
    seqs
  )
  equal(
    events.map(isTerminal),
    events.map((_, i) => i === events.length - 1),
    `${what}: the last event ends the run`
  )
}

/** Events that every reader must have: the log has no deltas. */
const kept = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.filter(({ _tag }) => !_tag.startsWith("Text")).map(({ _tag, seq }) => `${seq} ${_tag}`)

const deltas = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => (event._tag === "TextDelta" ? [event.text] : []))

const replaying: ReadonlyArray<Case> = [
  make("replays a run that ended, each event once", function* (stage) {
    const { runId } = yield* start(stage, "work")
    yield* stage.open
    yield* stage.runs.await(runId, ann)
    const events = yield* all(stage, runId)
    checkWhole(events, "the replay")
    equal([events[0]?._tag, events.at(-1)?._tag], ["Started", "Finished"], "the first and the last event")
    for (const tag of ["ToolCall", "ToolResult", "Message"]) {
      equal(events.filter(({ _tag }) => _tag === tag).length, 1, `events ${tag}`)
    }
    equal(shown(events), "worked", "the text")
    holds(
      events.every((event) => event.runId === runId),
      "all events are of the run"
    )
  }),
  make("gives a reader that comes back every later event once, wherever it broke off", function* (stage) {
    const { runId } = yield* start(stage, "work")
    yield* stage.open
    yield* stage.runs.await(runId, ann)
    const whole = yield* all(stage, runId)
    for (let cut = 1; cut < whole.length; cut++) {
      const before = whole.slice(0, cut)
      const after = yield* all(stage, runId, { from: (before.at(-1)?.seq ?? 0) + 1 })
      checkWhole([...before, ...after], `a break after ${cut} events`)
      equal(kept([...before, ...after]), kept(whole), `a break after ${cut} events`)
      equal(shown([...before, ...after]), "worked", `the text after a break after ${cut} events`)
    }
    equal(yield* all(stage, runId, { from: (whole.at(-1)?.seq ?? 0) + 1 }), [], "after the last event")
    for (const from of [-5, Number.NaN]) equal(yield* all(stage, runId, { from }), whole, `from ${from}`)
  })
]

const following: ReadonlyArray<Case> = [
  make("shows deltas as they come, and the end of the run", function* (stage) {
    const { runId } = yield* start(stage, "slow")
    const { events, fiber } = yield* follow(stage, runId)
    yield* eventually(
      Effect.sync(() => events.find(({ _tag }) => _tag === "StepStarted")),
      "the first step begins"
    )
    for (let i = 1; i <= pieces.length; i++) {
      yield* TestClock.adjust("1 hour")
      yield* eventually(
        Effect.sync(() => (deltas(events).length >= i ? true : undefined)),
        `the delta ${i} comes`
      )
      equal(deltas(events), pieces.slice(0, i), `the text after ${i} hours`)
      holds(!events.some(isTerminal), "the run goes on")
    }
    yield* TestClock.adjust("2 hours")
    yield* Fiber.join(fiber)
    checkWhole(events, "the events")
    equal(deltas(events), pieces, "the deltas")
  }),
  make("shows a reader that comes late the whole text, and several readers the same", function* (stage) {
    const { runId } = yield* start(stage, "slow")
    const first = yield* follow(stage, runId)
    const readers = [first]
    yield* eventually(
      Effect.sync(() => first.events.find(({ _tag }) => _tag === "StepStarted")),
      "the first step begins"
    )
    for (let i = 1; i < pieces.length; i++) {
      yield* TestClock.adjust("1 hour")
      yield* eventually(
        Effect.sync(() => (deltas(first.events).length >= i ? true : undefined)),
        `the delta ${i} comes`
      )
      const late = yield* follow(stage, runId)
      readers.push(late)
      yield* eventually(
        Effect.sync(() => (shown(late.events) === pieces.slice(0, i).join("") ? true : undefined)),
        `a reader that comes after delta ${i} has the text so far`
      )
    }
    yield* TestClock.adjust("3 hours")
    for (const { events, fiber } of readers) {
      yield* Fiber.join(fiber)
      checkWhole(events, "the events of a reader")
      equal(shown(events), pieces.join(""), "the text of a reader")
      equal(kept(events), kept(first.events), "the other events of a reader")
    }
  }),
  make("gives a reader that breaks off while the run goes on every later event once", function* (stage) {
    const { runId } = yield* start(stage, "slow")
    const seen: Array<AgentEvent> = []
    for (let next = 0; !seen.some(isTerminal); next = (seen.at(-1)?.seq ?? -1) + 1) {
      const reading = yield* Effect.fork(
        Stream.runCollect(Stream.take(stage.runs.events(runId, { ...ann, from: next }), 2))
      )
      yield* eventually(
        Effect.flatMap(Fiber.poll(reading), (exit) =>
          Option.isSome(exit) ? Effect.succeed(true) : Effect.as(TestClock.adjust("10 minutes"), undefined)
        ),
        `events from ${next} on come`
      )
      const one = Chunk.toReadonlyArray(yield* Fiber.join(reading))
      holds(
        one.length > 0 && seen.length < 100 && one.every(({ _tag, seq }) => seq >= next || _tag === "TextRetracted"),
        "the reader goes on where the one before broke off",
        one
      )
      seen.push(...one)
    }
    checkWhole(seen, "the events of all readers")
    equal(shown(seen), pieces.join(""), "the text")
    equal(kept(seen), kept(yield* all(stage, runId)), "the other events")
  }),
  make("lets readers leave without touching the run", function* (stage) {
    const { runId } = yield* start(stage, "work")
    yield* atWork(stage)
    for (let i = 0; i < 20; i++) {
      const { events, fiber } = yield* follow(stage, runId)
      yield* eventually(
        Effect.sync(() => events.find(({ _tag }) => _tag === "ToolCall")),
        "the reader has the call"
      )
      yield* Fiber.interrupt(fiber)
    }
    const stays = yield* follow(stage, runId)
    yield* stage.open
    yield* Fiber.join(stays.fiber)
    checkWhole(stays.events, "the events of a reader that stays")
    equal(shown(stays.events), "worked", "the text")
  }),
  make("has recorded the end of a run when a reader sees its last event", function* (stage) {
    for (const input of ["hello", "fail"]) {
      const { runId } = yield* start(stage, input)
      const states: Array<string> = []
      yield* Stream.runForEach(Stream.filter(stage.runs.events(runId, ann), isTerminal), () =>
        Effect.map(stage.runs.poll(runId, ann), (polled) => {
          states.push(Option.getOrThrow(polled).record.state)
        })
      )
      equal(states, [input === "fail" ? "failed" : "completed"], `the state at the end of ${input}`)
    }
  }),
  make("ends the events of a run that waits for a person only when it has ended", function* (stage) {
    const { runId } = yield* start(stage, "danger")
    const { events, fiber } = yield* follow(stage, runId)
    yield* inState(stage, runId, "waiting")
    yield* TestClock.adjust("7 days")
    const id = yield* eventually(
      Effect.map(stage.approvals.list(ann), ([first]) => first?.request.id),
      "a request waits"
    )
    equal(events.at(-1)?._tag, "ApprovalRequested", "the last event while the run waits")
    yield* stage.runs.answer(id, { _tag: "Approved" }, ann)
    yield* Fiber.join(fiber)
    checkWhole(events, "the events")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...replaying, ...following]

import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import type { RunId } from "../../src/domain/Ids.js"
import * as Durable from "../../src/durable/Durable.js"
import { WorkflowJournal } from "../../src/durable/engine/WorkflowJournal.js"
import { WorkflowStorageError } from "../../src/durable/engine/WorkflowStorageError.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as SqlSteering from "../../src/persistence/run/SqlSteering.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { ann, asked, call, say, start, untilAsleep } from "./DurableProcesses.js"

const texts = (messages: ReadonlyArray<LlmClient.Message>): ReadonlyArray<string> =>
  messages.flatMap(({ content, role }) =>
    role !== "user"
      ? []
      : typeof content === "string"
        ? [content]
        : content.flatMap((part) => ("text" in part ? part.text : []))
  )

/** Calls tools in turn, then says what users have said. `before` runs before each answer, with the number of results. */
const listening = (
  calls: ReadonlyArray<string>,
  before: (results: number) => Effect.Effect<unknown> = () => Effect.void
): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete: ({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").length
    const name = calls[results]
    return Effect.as(
      Effect.suspend(() => before(results)),
      name === undefined ? say(texts(messages).join(" | ")) : call([name, {}])
    )
  }
})

const begin = Runs.start({ agent: "a", input: "go", runId: "run", ...ann })

const steered = Effect.map(Stream.runCollect(Runs.events("run", ann)), (events) =>
  Chunk.toReadonlyArray(events).flatMap((event) => (event._tag === "Steered" ? [event.text] : []))
)

const noted = Tool.make("note", {
  description: "Notes",
  idempotent: true,
  polling: true,
  handler: () => Effect.succeed("noted")
})
const guarded = Tool.make("guarded", {
  description: "Waits for a person",
  requiresApproval: true,
  idempotent: true,
  handler: () => Effect.succeed("allowed")
})

SqlBackends.suite("a durable run that is steered", (backend) => {
  it.scopedLive("gets messages from other processes, each once and in order", () =>
    Effect.gen(function* () {
      const isAsked = yield* Deferred.make<void>()
      const goesOn = yield* Deferred.make<void>()
      const agents = [Agent.make("a", { tools: [noted] })]
      const model = listening(["note"], (results) =>
        results === 0 ? Effect.zipRight(Deferred.succeed(isAsked, undefined), Deferred.await(goesOn)) : Effect.void
      )
      const one = yield* start(backend.layer, { agents }, model)
      const two = yield* start(backend.kept, { agents }, model)
      yield* one.within(Effect.zipRight(begin, Deferred.await(isAsked)))
      for (const message of ["b", "c", "d\u0000é"]) yield* two.within(Runs.steer("run", message, ann))
      const stranger = yield* two.within(Effect.flip(Runs.steer("run", "x", { userId: "bob" })))
      assert.strictEqual(stranger.reason, "unknown-run")
      yield* Deferred.succeed(goesOn, undefined)
      assert.strictEqual((yield* two.within(Runs.await("run", ann))).message, "go | b | c | d\u0000é")
      assert.deepStrictEqual(yield* two.within(steered), ["b", "c", "d\u0000é"])
      const late = yield* two.within(Effect.flip(Runs.steer("run", "late", ann)))
      assert.strictEqual(late.reason, "not-running")
      yield* one.end
      yield* two.end
    })
  )

  it.scopedLive("gets what came while it slept, in the process in which it goes on", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("a", { tools: [guarded] })]
      const one = yield* start(backend.layer, { agents }, listening(["guarded"]))
      yield* one.within(Effect.zipRight(begin, untilAsleep("run")))
      yield* one.within(Runs.steer("run", "while it slept", ann))
      yield* one.end
      const two = yield* start(backend.kept, { agents }, listening(["guarded"]))
      const { message } = yield* two.within(
        Effect.gen(function* () {
          yield* Runs.steer("run", "after that", ann)
          yield* Runs.answer((yield* asked).id, { _tag: "Approved" }, ann)
          return yield* Runs.await("run", ann)
        })
      )
      assert.strictEqual(message, "go | while it slept | after that")
      yield* two.end
    })
  )

  for (const refused of ["activities", "result"] as const) {
    it.scopedLive(`takes what is recorded of its messages also where the journal gave no ${refused} at first`, () =>
      Effect.gen(function* () {
        const agents = [Agent.make("a", { tools: [guarded] })]
        const one = yield* start(backend.layer, { agents }, listening(["guarded"]))
        yield* one.within(Effect.zipRight(begin, Effect.zipRight(asked, untilAsleep("run"))))
        // For the second call of the model: the first one had none.
        yield* one.within(Runs.steer("run", "b", ann))
        yield* one.end
        let refusals = 0
        const refusing = Layer.map(Durable.layerSql({ lease: "1 minute", poll: "10 millis" }), (context) => {
          const journal = Context.get(context, WorkflowJournal)
          return Context.add(context, WorkflowJournal, {
            ...journal,
            [refused]: (...given: [string, never]) =>
              refusals++ === 0
                ? new WorkflowStorageError({ message: "away", operation: refused, reason: "unreachable" })
                : journal[refused](...given)
          })
        })
        const two = yield* start(backend.kept, { agents }, listening(["guarded"]), undefined, refusing)
        const { message } = yield* two.within(
          Effect.gen(function* () {
            yield* Runs.answer((yield* asked).id, { _tag: "Approved" }, ann)
            return yield* Runs.await("run", ann)
          })
        )
        assert.strictEqual(message, "go | b")
        assert.isAbove(refusals, 0)
        yield* two.end
      })
    )
  }

  it.scopedLive("gives a message again to a call of the model that was lost with its process", () =>
    Effect.gen(function* () {
      const isAsked = yield* Deferred.make<void>()
      const agents = [Agent.make("a", { tools: [noted, guarded] })]
      const first = listening(["guarded", "note"], (results) =>
        results === 1 ? Effect.zipRight(Deferred.succeed(isAsked, undefined), Effect.never) : Effect.void
      )
      const one = yield* start(backend.layer, { agents }, first)
      yield* one.within(
        Effect.gen(function* () {
          yield* begin
          const { id } = yield* asked
          yield* Runs.steer("run", "b", ann)
          yield* Runs.answer(id, { _tag: "Approved" }, ann)
          yield* Deferred.await(isAsked)
        })
      )
      yield* one.end
      const two = yield* start(backend.kept, { agents }, listening(["guarded", "note"]))
      // For the same call as before, if it comes in time, or for the next one.
      yield* two.within(Runs.steer("run", "c", ann))
      const { message } = yield* two.within(Runs.await("run", ann))
      assert.strictEqual(message, "go | b | c")
      assert.deepStrictEqual(yield* two.within(steered), ["b", "c"])
      yield* two.end
    })
  )

  it.scopedLive("goes on for a message that comes with its last answer", () =>
    Effect.gen(function* () {
      const isAsked = yield* Deferred.make<void>()
      const goesOn = yield* Deferred.make<void>()
      const agents = [Agent.make("a")]
      const model = listening([], () => Effect.zipRight(Deferred.succeed(isAsked, undefined), Deferred.await(goesOn)))
      const one = yield* start(backend.layer, { agents }, model)
      const two = yield* start(backend.kept, { agents }, model)
      yield* one.within(Effect.zipRight(begin, Deferred.await(isAsked)))
      yield* two.within(Runs.steer("run", "one more thing", ann))
      yield* Deferred.succeed(goesOn, undefined)
      assert.strictEqual((yield* two.within(Runs.await("run", ann))).message, "go | one more thing")
      yield* one.end
      yield* two.end
    })
  )

  it.scopedLive("refuses more messages than may wait", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("a", { tools: [guarded] })]
      const ports = Durable.layerSql({ lease: "1 minute", poll: "10 millis", steering: { maxMessages: 2 } })
      const one = yield* start(backend.layer, { agents }, listening(["guarded"]), undefined, ports)
      yield* one.within(Effect.zipRight(begin, untilAsleep("run")))
      const steer = Effect.either(Runs.steer("run", "more", ann))
      const sent = yield* one.within(Effect.all([steer, steer, steer]))
      assert.deepStrictEqual(
        sent.map((either) => (either._tag === "Left" ? either.left.reason : "sent")),
        ["sent", "sent", "full"]
      )
      yield* one.end
    })
  )

  it.scopedLive("records a call of the model and a tool with one commit each", () =>
    Effect.gen(function* () {
      const seen: Array<SqlBackends.Seen> = []
      const agents = [Agent.make("a", { tools: [noted] })]
      const calls = Array.from({ length: 8 }, () => "note")
      const client = Layer.provide(SqlBackends.watched(seen), backend.layer)
      const kept = new Set<string>()
      const ports = Layer.map(Durable.layerSql({ lease: "1 minute", poll: "10 millis" }), (context) => {
        const journal = Context.get(context, WorkflowJournal)
        return Context.add(context, WorkflowJournal, {
          ...journal,
          keepWith: (id, results) => {
            for (const { name } of results) kept.add(name)
            return journal.keepWith(id, results)
          }
        })
      })
      const one = yield* start(client, { agents }, listening(calls), undefined, ports)
      yield* one.within(Effect.zipRight(begin, Runs.await("run", ann)))
      const sql = yield* SqlClient.SqlClient
      const [recorded] = yield* sql<{ readonly steps: number }>`SELECT COUNT(*) AS steps FROM lex_workflow_activities`
      // Nine calls of the model and eight of a tool, and two at the begin and the end of the run.
      assert.strictEqual(Number(recorded?.steps) - kept.size, 9 + 8 + 2)
      // Nothing was recorded when the run began, so only a step after half a second looks, and the first one.
      const count = (statement: RegExp) => seen.filter(({ sql }) => statement.test(sql)).length
      assert.isAtMost(count(/LEFT JOIN lex_workflow_activities/), 5)
      assert.strictEqual(count(/^\s*SELECT body, data FROM lex_workflow_activities/), 0)
      yield* one.end
    }).pipe(Effect.provide(backend.kept))
  )
})

SqlBackends.suite("SqlSteering", (backend) => {
  it.scopedLive("loses no message to a run that closes meanwhile", () =>
    Effect.gen(function* () {
      const agents = [Agent.make("a", { tools: [guarded] })]
      const process = yield* start(backend.layer, { agents }, listening(["guarded"]))
      yield* process.within(Effect.zipRight(begin, untilAsleep("run")))
      const steering = yield* Effect.provide(SqlSteering.make(), backend.kept)
      const run = { runId: "run" as RunId, userId: "ann" as never, isDurable: true }
      const [sent, taken] = yield* steering.within(run, (inbox) => {
        const target = { runId: "run", userId: "ann" }
        const send = (index: number) =>
          Effect.match(Effect.zipRight(Effect.sleep(index % 7), steering.steer(target, `m${index}`)), {
            onFailure: ({ reason }) => reason,
            onSuccess: () => `m${index}`
          })
        const close = (taken: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
          Effect.flatMap(inbox.close, (closed) =>
            closed ? Effect.succeed(taken) : Effect.flatMap(inbox.take, (more) => close([...taken, ...more]))
          )
        return Effect.all(
          [
            Effect.forEach(
              Array.from({ length: 40 }, (_, index) => index),
              send,
              { concurrency: "unbounded" }
            ),
            Effect.flatMap(Effect.sleep(3), () => close([]))
          ],
          { concurrency: "unbounded" }
        )
      })
      const accepted = sent.filter((result) => result !== "not-running")
      assert.sameMembers([...new Set(taken)], accepted)
      yield* process.end
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SessionId } from "../../src/domain/Ids.js"
import * as GroupParticipant from "../../src/session/group/GroupParticipant.js"
import * as GroupSession from "../../src/session/group/GroupSession.js"
import * as RoundRobinTurnManager from "../../src/session/group/RoundRobinTurnManager.js"
import * as TopicTurnManager from "../../src/session/group/TopicTurnManager.js"
import * as TurnManager from "../../src/session/group/TurnManager.js"
import { kept, lines, opened, sessionId, sessions, speaker } from "../support/Groups.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

describe("defects of groups in the original", () => {
  it.effect("reports a result that is an error, which was skipped silently", () =>
    Effect.gen(function* () {
      yield* opened()
      const refusing = GroupParticipant.make("refusing", { respond: () => new Refused({ message: "not today" }) })
      const group = yield* GroupSession.make({ participants: [speaker("ann"), refusing], maxRounds: 2 })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.deepStrictEqual(outcome.participants[1]?.failures, [
        { round: 1, error: { tag: "Refused", message: "not today" } },
        { round: 2, error: { tag: "Refused", message: "not today" } }
      ])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("continues after an exception or an unknown name, which ended the run", () =>
    Effect.gen(function* () {
      yield* opened()
      const crashing = GroupParticipant.make("crashing", {
        respond: () => {
          throw new TypeError("undefined is not a function")
        }
      })
      const group = yield* GroupSession.make({
        participants: [crashing, speaker("ann")],
        turnManager: TurnManager.make("odd", {
          initial: () => 0,
          next: (index: number) =>
            Effect.succeed([TurnManager.speak(["zoe", "crashing", "ann"][index % 3] as string), index + 1] as const)
        }),
        maxRounds: 3
      })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.deepStrictEqual(lines(outcome.turns), ["user: hello"])
      assert.strictEqual(outcome.unknown, 1)
      assert.strictEqual(outcome.participants[0]?.failures[0]?.error.tag, "Defect")
      const fair = yield* GroupSession.make({ participants: [crashing, speaker("ann")], maxRounds: 1 })
      assert.strictEqual((yield* GroupSession.run(fair, sessionId, "hello")).answer, "ann 1")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("updates topics with the conversation, which was never passed to them", () =>
    Effect.gen(function* () {
      yield* opened()
      const group = yield* GroupSession.make({
        participants: [
          speaker("desk", () => "This is about a refund."),
          speaker("billing", () => "The refund needs a signature of legal."),
          speaker("legal", () => "Signed.")
        ],
        turnManager: TopicTurnManager.make({ topics: { legal: "legal", refund: "billing" }, fallback: "desk" }),
        maxRounds: 1
      })
      const outcome = yield* GroupSession.run(group, sessionId, "I want my money back")
      assert.deepStrictEqual(
        lines(outcome.turns).map((line) => line.split(":")[0]),
        ["user", "desk", "billing", "legal"]
      )
    }).pipe(Effect.provide(sessions))
  )

  it.effect("starts each session with a fresh turn manager state, which all sessions shared", () =>
    Effect.gen(function* () {
      const turnManager = RoundRobinTurnManager.make()
      const participants = [speaker("ann"), speaker("bob"), speaker("cid")]
      for (const id of ["one", "two", "three"].map((name) => SessionId.make(name))) {
        yield* opened(id)
        const group = yield* GroupSession.make({ participants, turnManager, maxRounds: 1 })
        yield* GroupSession.run(group, id, "hello")
        assert.deepStrictEqual(
          lines(yield* kept(id)).map((line) => line.split(":")[0]),
          ["user", "ann", "bob", "cid"]
        )
      }
    }).pipe(Effect.provide(sessions))
  )

  it.effect("counts full cycles as rounds, which were single turns", () =>
    Effect.gen(function* () {
      yield* opened()
      const group = yield* GroupSession.make({ participants: [speaker("ann"), speaker("bob"), speaker("cid")] })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.strictEqual(outcome.reason, "max-rounds")
      assert.strictEqual(outcome.rounds, 10)
      assert.strictEqual(outcome.turns.length, 31)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("enforces the limit of agents, which was ignored", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        GroupSession.make({ participants: Array.from({ length: 11 }, (_, index) => speaker(`p${index}`)) })
      )
      assert.strictEqual(error.reason, "too-many-participants")
    })
  )
})

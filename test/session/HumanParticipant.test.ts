import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as GroupSession from "../../src/session/GroupSession.js"
import * as HumanParticipant from "../../src/session/HumanParticipant.js"
import * as SessionManager from "../../src/session/SessionManager.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import { lines, opened, sessionId, sessions, speaker } from "../support/Groups.js"

const tick = TestClock.adjust(0)

describe("HumanParticipant", () => {
  it.effect("an answer from outside is the human's turn", () =>
    Effect.gen(function* () {
      yield* opened()
      const inbox = yield* HumanParticipant.makeInbox
      const group = yield* GroupSession.make({
        participants: [speaker("ann"), HumanParticipant.make("editor", { ask: inbox.ask })],
        maxRounds: 2
      })
      const fiber = yield* Effect.fork(EventRecorder.record(GroupSession.stream(group, sessionId, "hello")))
      yield* TestClock.adjust("4 minutes")
      const [question] = yield* inbox.waiting
      assert.strictEqual(question?.participant, "editor")
      assert.strictEqual(question?.sessionId, sessionId)
      assert.strictEqual(question?.invitation.message.content, "ann 1")
      assert.isTrue(yield* inbox.answer({ sessionId }, "shorter, please"))
      assert.deepStrictEqual(yield* inbox.waiting, [])
      assert.isFalse(yield* inbox.answer({ sessionId }, "too fast"))
      yield* TestClock.adjust("4 minutes")
      assert.isTrue(yield* inbox.pass({ sessionId }))
      const { events } = yield* Fiber.join(fiber)
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const human = events.filter((event) => event.agent === "editor")
      assert.deepStrictEqual(
        human.map((event) => (event._tag === "Started" ? event.strategy : event._tag)),
        ["human", "Message", "Finished", "human", "Finished"]
      )
      const manager = yield* SessionManager.SessionManager
      const turns = yield* manager.turns(sessionId, { last: 10 })
      assert.deepStrictEqual(lines(turns), ["user: hello", "ann: ann 1", "editor: shorter, please", "ann: ann 2"])
      assert.strictEqual(turns[2]?.metadata["role"], "human")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("who does not answer in time has said nothing, and that is no failure", () =>
    Effect.gen(function* () {
      yield* opened()
      const inbox = yield* HumanParticipant.makeInbox
      const group = yield* GroupSession.make({
        participants: [
          HumanParticipant.make("default", { ask: inbox.ask }),
          HumanParticipant.make("hasty", { ask: inbox.ask, timeout: "10 seconds" }),
          speaker("ann")
        ],
        maxRounds: 1
      })
      const fiber = yield* Effect.fork(GroupSession.run(group, sessionId, "hello"))
      yield* TestClock.adjust("299 seconds")
      assert.strictEqual((yield* inbox.waiting).length, 1)
      yield* TestClock.adjust("11 seconds")
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        outcome.participants.map(({ failed, silences }) => [silences, failed]),
        [
          [1, 0],
          [1, 0],
          [0, 0]
        ]
      )
      assert.strictEqual(outcome.answer, "ann 1")
      assert.deepStrictEqual(yield* inbox.waiting, [])
      assert.isFalse(yield* inbox.answer({ sessionId }, "too late"))
    }).pipe(Effect.provide(sessions))
  )

  it.effect("a function may get the answer; blank ones are silence, and its failures are the human's", () =>
    Effect.gen(function* () {
      yield* opened()
      const asking = (name: string, ask: HumanParticipant.Options<string>["ask"]) =>
        HumanParticipant.make(name, { ask, role: "editor", description: "Knows the house style" })
      const ann = asking("ann", ({ message }) => Effect.succeed(`I read: ${message.content}`))
      assert.strictEqual(ann.description, "Knows the house style")
      const group = yield* GroupSession.make({
        participants: [ann, asking("bob", () => Effect.succeed(" \n")), asking("cid", () => Effect.fail("offline"))],
        maxRounds: 1
      })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.strictEqual(outcome.answer, "I read: hello")
      assert.deepStrictEqual(
        outcome.participants.map(({ answers, failed, role, silences }) => [role, answers, silences, failed]),
        [
          ["editor", 1, 0, 0],
          ["editor", 0, 1, 0],
          ["editor", 0, 0, 1]
        ]
      )
    }).pipe(Effect.provide(sessions))
  )

  it.effect("answers reach the session, the user and the human they are for", () =>
    Effect.gen(function* () {
      const inbox = yield* HumanParticipant.makeInbox
      const manager = yield* SessionManager.SessionManager
      const [one, two] = [SessionId.make("one"), SessionId.make("two")]
      const [u1, u2] = [UserId.make("u1"), UserId.make("u2")]
      yield* manager.create({ id: one, userId: u1 })
      yield* manager.create({ id: two, userId: u2 })
      const group = yield* GroupSession.make({
        participants: [HumanParticipant.make("editor", { ask: inbox.ask })],
        maxRounds: 1
      })
      const first = yield* Effect.fork(GroupSession.run(group, one, "hello", { userId: u1 }))
      const second = yield* Effect.fork(GroupSession.run(group, two, "hello", { userId: u2 }))
      yield* tick
      assert.strictEqual((yield* inbox.waiting).length, 2)
      assert.isFalse(yield* inbox.answer({ sessionId: one, userId: u2 }, "not mine"))
      assert.isFalse(yield* inbox.answer({ sessionId: SessionId.make("three") }, "nobody's"))
      assert.isFalse(yield* inbox.answer({ sessionId: two, participant: "writer" }, "another's"))
      assert.isTrue(yield* inbox.answer({ sessionId: two, userId: u2, participant: "editor" }, "for two"))
      assert.isTrue(yield* inbox.answer({ sessionId: one, userId: u1 }, "for one"))
      assert.strictEqual((yield* Fiber.join(first)).answer, "for one")
      assert.strictEqual((yield* Fiber.join(second)).answer, "for two")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("a question goes away with the group that asked it", () =>
    Effect.gen(function* () {
      yield* opened()
      const inbox = yield* HumanParticipant.makeInbox
      const group = yield* GroupSession.make({ participants: [HumanParticipant.make("editor", { ask: inbox.ask })] })
      const fiber = yield* Effect.fork(GroupSession.run(group, sessionId, "hello"))
      yield* tick
      assert.strictEqual((yield* inbox.waiting).length, 1)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* inbox.waiting, [])
      assert.isFalse(yield* inbox.answer({ sessionId }, "hello?"))
    }).pipe(Effect.provide(sessions))
  )
})

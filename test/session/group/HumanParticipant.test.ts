import { assert, describe, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import { SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as Run from "../../../src/observability/Run.js"
import * as GroupParticipant from "../../../src/session/group/GroupParticipant.js"
import * as GroupSession from "../../../src/session/group/GroupSession.js"
import * as GroupTermination from "../../../src/session/group/GroupTermination.js"
import * as HumanParticipant from "../../../src/session/group/HumanParticipant.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import { lines, opened, sessionId, sessions, speaker } from "../../support/Groups.js"

const tick = TestClock.adjust(0)

describe("HumanParticipant", () => {
  it.effect("takes an answer from outside as the human's turn", () =>
    Effect.gen(function* () {
      yield* opened()
      const inbox = yield* HumanParticipant.makeInbox
      const group = yield* GroupSession.make({
        participants: [speaker("ann"), HumanParticipant.make("editor", { ask: inbox.ask })],
        maxRounds: 2
      })
      const fiber = yield* Effect.fork(EventRecorder.record(GroupSession.stream(group, sessionId, "hello")))
      yield* TestClock.adjust("4 minutes")
      const [question] = yield* inbox.waiting()
      assert.strictEqual(question?.participant, "editor")
      assert.strictEqual(question?.sessionId, sessionId)
      assert.strictEqual(question?.invitation.message.content, "ann 1")
      assert.isTrue(yield* inbox.answer({ sessionId }, "shorter, please"))
      assert.deepStrictEqual(yield* inbox.waiting(), [])
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

  it.effect("lets only the user and the system answer a user's question", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const ada = { userId: UserId.make("ada") }
      yield* manager.create({ id: sessionId, ...ada })
      const inbox = yield* HumanParticipant.makeInbox
      const group = yield* GroupSession.make({
        participants: [HumanParticipant.make("editor", { ask: inbox.ask })],
        maxRounds: 2
      })
      const fiber = yield* Effect.fork(GroupSession.run(group, sessionId, "hello", ada))
      yield* tick
      assert.isFalse(yield* inbox.answer({ sessionId }, "not mine"))
      assert.isFalse(yield* inbox.pass({ sessionId, userId: UserId.make("eve") }))
      assert.isTrue(yield* inbox.answer({ sessionId, ...ada }, "hers"))
      yield* tick
      assert.isTrue(yield* SystemAccess.grant(inbox.answer({ sessionId }, "the system's")))
      yield* Fiber.join(fiber)
      const turns = yield* manager.turns(sessionId, { last: 10, ...ada })
      assert.deepStrictEqual(lines(turns), ["user: hello", "editor: hers", "editor: the system's"])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("treats a missing answer as silence, not as a failure", () =>
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
      assert.strictEqual((yield* inbox.waiting()).length, 1)
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
      assert.deepStrictEqual(yield* inbox.waiting(), [])
      assert.isFalse(yield* inbox.answer({ sessionId }, "too late"))
    }).pipe(Effect.provide(sessions))
  )

  it.effect("accepts a function, treats blank answers as silence, and passes on its failures", () =>
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

  it.effect("delivers answers to their session, user and human", () =>
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
      const seen = (userId?: UserId) =>
        Effect.map(inbox.waiting({ userId }), (questions) => questions.map((question) => question.sessionId))
      assert.deepStrictEqual(yield* seen(u1), [one])
      assert.deepStrictEqual(yield* seen(u2), [two])
      assert.deepStrictEqual(yield* seen(), [])
      assert.deepStrictEqual(yield* inbox.waiting(), [])
      assert.deepStrictEqual(yield* SystemAccess.grant(seen()), [one, two])
      assert.deepStrictEqual(yield* SystemAccess.grant(seen(UserId.make("u3"))), [])
      assert.isFalse(yield* inbox.answer({ sessionId: one, userId: u2 }, "not mine"))
      assert.isFalse(yield* inbox.answer({ sessionId: SessionId.make("three") }, "nobody's"))
      assert.isFalse(yield* inbox.answer({ sessionId: two, participant: "writer" }, "another's"))
      assert.isTrue(yield* inbox.answer({ sessionId: two, userId: u2, participant: "editor" }, "for two"))
      assert.isTrue(yield* inbox.answer({ sessionId: one, userId: u1 }, "for one"))
      assert.strictEqual((yield* Fiber.join(first)).answer, "for one")
      assert.strictEqual((yield* Fiber.join(second)).answer, "for two")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("removes a question when its group ends", () =>
    Effect.gen(function* () {
      yield* opened()
      const inbox = yield* HumanParticipant.makeInbox
      const group = yield* GroupSession.make({ participants: [HumanParticipant.make("editor", { ask: inbox.ask })] })
      const fiber = yield* Effect.fork(GroupSession.run(group, sessionId, "hello"))
      yield* tick
      assert.strictEqual((yield* inbox.waiting()).length, 1)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* inbox.waiting(), [])
      assert.isFalse(yield* inbox.answer({ sessionId }, "hello?"))
    }).pipe(Effect.provide(sessions))
  )

  it.effect("excludes the wait for the human from the group's time", () =>
    Effect.gen(function* () {
      yield* opened()
      const inbox = yield* HumanParticipant.makeInbox
      const group = yield* GroupSession.make({
        participants: [
          HumanParticipant.make("editor", { ask: inbox.ask, timeout: "1 hour" }),
          // A human behind a participant of its own kind.
          GroupParticipant.make("chair", {
            timeout: "10 seconds",
            respond: (invitation) =>
              Effect.map(inbox.ask(invitation), (text) =>
                text === undefined ? GroupParticipant.silence : GroupParticipant.answer(text)
              )
          })
        ],
        timeout: "20 seconds",
        termination: GroupTermination.or(GroupTermination.timeout("5 seconds"), GroupTermination.maxTurns(4))
      })
      const fiber = yield* Effect.fork(GroupSession.run(group, sessionId, "hello"))
      for (const text of ["one", "two", "three", "four"]) {
        yield* TestClock.adjust("50 minutes")
        assert.isTrue(yield* inbox.answer({ sessionId }, text))
        yield* TestClock.adjust("1 second")
      }
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual([outcome.reason, outcome.answer], ["condition", "four"])
      assert.strictEqual(outcome.condition, "max_turns(4)")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("counts an absent reader for no participant, and ends the group", () =>
    Effect.gen(function* () {
      yield* opened()
      const chatty = GroupParticipant.make("chatty", {
        timeout: "10 seconds",
        respond: () =>
          Effect.gen(function* () {
            const run = yield* Run.Run
            for (let i = 0; i < 200; i++)
              yield* Effect.zipRight(Effect.sleep(1), run.emit({ _tag: "TextDelta", text: "x" }))
            return GroupParticipant.answer("done")
          })
      })
      const group = yield* GroupSession.make({ participants: [chatty], maxRounds: 1, timeout: "20 seconds" })
      const read = (pause: Duration.DurationInput) =>
        Effect.gen(function* () {
          const seen: Array<AgentEvent> = []
          const fiber = yield* Effect.fork(
            Effect.either(
              Stream.runForEach(GroupSession.stream(group, sessionId, "hello"), (event) => {
                seen.push(event)
                return Effect.sleep(pause)
              })
            )
          )
          yield* TestClock.adjust("1 day")
          const result = yield* Fiber.join(fiber)
          return [Either.isLeft(result) ? result.left._tag : "ended", seen.at(-1)] as const
        })
      const [ended, last] = yield* read("2 seconds")
      assert.deepStrictEqual([ended, last?._tag], ["ended", "Finished"])
      const [failed, error] = yield* read("6 minutes")
      assert.strictEqual(failed, "ReaderTimeoutError")
      assert.isTrue(error?._tag === "Error" && error.error.tag === "ReaderTimeoutError" && !error.interrupted)
    }).pipe(Effect.provide(sessions))
  )
})

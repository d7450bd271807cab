import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { expectTypeOf } from "vitest"
import * as AgentResponse from "../../../src/domain/AgentResponse.js"
import { RunId, SessionId, TurnId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as DefaultModelRouter from "../../../src/llm/DefaultModelRouter.js"
import * as Run from "../../../src/observability/Run.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as Step from "../../../src/observability/Step.js"
import * as GroupOutcome from "../../../src/session/group/GroupOutcome.js"
import * as GroupParticipant from "../../../src/session/group/GroupParticipant.js"
import * as GroupSession from "../../../src/session/group/GroupSession.js"
import * as GroupTermination from "../../../src/session/group/GroupTermination.js"
import * as PriorityTurnManager from "../../../src/session/group/PriorityTurnManager.js"
import * as RoundRobinTurnManager from "../../../src/session/group/RoundRobinTurnManager.js"
import * as TurnManager from "../../../src/session/group/TurnManager.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionConfig from "../../../src/session/SessionConfig.js"
import { NewTurn } from "../../../src/session/turn/Session.js"
import { SessionStorageError } from "../../../src/session/turn/SessionError.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import { kept, lines, opened, sessionId, sessions, speaker } from "../../support/Groups.js"
import * as SteppedClock from "../../support/SteppedClock.js"

class Tired extends Schema.TaggedError<Tired>()("Tired", { message: Schema.String }) {}
class Clerk extends Effect.Tag("Clerk")<Clerk, { readonly word: string }>() {}

const failing = (name: string, failure: Effect.Effect<never, Tired> = new Tired({ message: "no more" })) =>
  GroupParticipant.make(name, { respond: () => failure })

const never = (name: string, onEnd: Effect.Effect<void> = Effect.void) =>
  GroupParticipant.make(name, { respond: () => Effect.onInterrupt(Effect.never, () => onEnd) })

const of = (outcome: GroupOutcome.GroupOutcome, name: string) => {
  const found = outcome.participants.find((participant) => participant.name === name)
  assert.isDefined(found)
  return found as GroupOutcome.ParticipantOutcome
}

describe("GroupSession.make", () => {
  const reasonOf = (options: Partial<GroupSession.Options<ReadonlyArray<GroupParticipant.GroupParticipant>>>) =>
    Effect.map(Effect.flip(GroupSession.make({ participants: [speaker("ann")], ...options })), (error) => {
      assert.strictEqual(error._tag, "GroupConfigurationError")
      assert.strictEqual(error.code, "LEX_ERR_SES_104")
      assert.isNotEmpty(error.hint ?? "")
      return error.reason
    })

  it.effect("rejects invalid groups before anything runs, with a hint", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 11 }, (_, index) => speaker(`p${index}`))
      assert.strictEqual(yield* reasonOf({ participants: [] }), "no-participants")
      assert.strictEqual(yield* reasonOf({ participants: many }), "too-many-participants")
      assert.strictEqual(
        yield* reasonOf({ participants: [speaker("a"), speaker("b")], maxAgentsPerGroup: 1 }),
        "too-many-participants"
      )
      assert.strictEqual(yield* reasonOf({ participants: [speaker("a"), speaker("a")] }), "duplicate-participant")
      for (const name of ["", " ", "user", "assistant", "system", "tool"]) {
        assert.strictEqual(yield* reasonOf({ participants: [speaker(name)] }), "invalid-name")
      }
      const turnManager = PriorityTurnManager.make({ priorities: { zoe: 1 } })
      assert.strictEqual(yield* reasonOf({ turnManager }), "turn-manager")
      assert.isTrue(
        Exit.isSuccess(yield* Effect.exit(GroupSession.make({ participants: many, maxAgentsPerGroup: 11 })))
      )
    })
  )

  it("has the requirements of participants and turn manager, and the failures of the latter", () => {
    const needy = GroupParticipant.make("needy", { respond: () => Effect.map(Clerk, ({ word }) => word) })
    const odd = TurnManager.make("odd", { initial: () => 0, next: () => Effect.fail(new Tired({ message: "" })) })
    const group = GroupSession.make({ participants: [needy, failing("failing")], turnManager: odd })
    expectTypeOf(group).toEqualTypeOf<
      import("effect/Either").Either<
        GroupSession.GroupSession<Tired, Clerk>,
        import("../../../src/session/group/GroupError.js").GroupConfigurationError
      >
    >()
  })
})

describe("GroupSession.fromConfig", () => {
  const config = { ...SessionConfig.defaults, maxAgentsPerGroup: 2 }
  const [ann, bob, cid] = [speaker("ann"), speaker("bob"), speaker("cid")]

  it.effect("takes the limit of the configuration unless the group sets one", () =>
    Effect.gen(function* () {
      const participants = [ann, bob, cid]
      const error = yield* Effect.flip(GroupSession.fromConfig(config, { participants }))
      assert.strictEqual(error.reason, "too-many-participants")
      const group = yield* GroupSession.fromConfig(config, { participants, maxAgentsPerGroup: 3 })
      assert.strictEqual(group.members.length, 3)
    })
  )

  it.effect("takes the turn manager of the configuration unless the group sets one", () =>
    Effect.gen(function* () {
      yield* opened()
      const first = (strategy: SessionConfig.TurnStrategy, turnManager?: TurnManager.Any<never, never>) =>
        Effect.gen(function* () {
          const group = yield* GroupSession.fromConfig(
            { ...config, defaultTurnStrategy: strategy },
            { participants: [ann, bob], priorities: { bob: 1 }, maxRounds: 1, turnManager }
          )
          return (yield* GroupSession.run(group, sessionId, "hello")).turns[1]?.metadata["agent"]
        })
      assert.strictEqual(yield* first("round_robin"), "ann")
      assert.strictEqual(yield* first("priority"), "bob")
      assert.strictEqual(yield* first("priority", RoundRobinTurnManager.make()), "ann")
      assert.strictEqual((yield* TestModel.requests).length, 0)
      assert.strictEqual(yield* first("llm_directed"), "bob")
      assert.strictEqual((yield* TestModel.requests).length, 2)
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          DefaultModelRouter.layerDefault,
          Layer.merge(
            sessions,
            TestModel.layer(() => '{"next": "bob"}')
          )
        )
      )
    )
  )
})

describe("GroupSession.run", () => {
  it.effect("lets everybody answer in turn and records author and round in each turn", () =>
    Effect.gen(function* () {
      yield* opened()
      const [ann, bob] = [speaker("ann"), speaker("bob", undefined, { role: "critic" })]
      const group = yield* GroupSession.make({ participants: [ann, bob], maxRounds: 2 })
      const outcome = yield* GroupSession.run(group, sessionId, "hello", { runId: "g", metadata: { a: 1 } })
      assert.strictEqual(outcome.reason, "max-rounds")
      assert.strictEqual(outcome.rounds, 2)
      assert.strictEqual(outcome.answer, "bob 2")
      const turns = yield* kept()
      assert.deepStrictEqual(lines(turns), ["user: hello", "ann: ann 1", "bob: bob 1", "ann: ann 2", "bob: bob 2"])
      assert.deepStrictEqual(outcome.turns, turns)
      assert.deepStrictEqual(
        turns.map(({ id }) => String(id)),
        ["g:user", "g:turn:1", "g:turn:2", "g:turn:3", "g:turn:4"]
      )
      assert.deepStrictEqual(
        turns.map(({ metadata }) => metadata),
        [
          { a: 1 },
          { agent: "ann", role: "participant", round: 1 },
          { agent: "bob", role: "critic", round: 1 },
          { agent: "ann", role: "participant", round: 2 },
          { agent: "bob", role: "critic", round: 2 }
        ]
      )
      assert.strictEqual(outcome.session?.depth, 5)
      const [, second] = ann.asked
      assert.deepStrictEqual(lines(second?.history ?? []), ["user: hello", "ann: ann 1"])
      assert.deepStrictEqual(lines(second === undefined ? [] : [second.message]), ["bob: bob 1"])
      assert.strictEqual(second?.round, 2)
      assert.deepStrictEqual(second?.self, { name: "ann", role: "participant", description: "" })
      // What it came to is data.
      const encoded = JSON.parse(JSON.stringify(Schema.encodeSync(GroupOutcome.GroupOutcome)(outcome)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(GroupOutcome.GroupOutcome)(encoded), outcome)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("continues in a session with turns and reads only the newest ones", () =>
    Effect.gen(function* () {
      yield* opened()
      const manager = yield* SessionManager.SessionManager
      for (let n = 1; n <= 30; n++) {
        yield* manager.addTurn(
          sessionId,
          NewTurn.make({ id: TurnId.make(`old-${n}`), role: "user", content: `old ${n}`, timestamp: n })
        )
      }
      const ann = speaker("ann")
      const group = yield* GroupSession.make({ participants: [ann, speaker("bob")], window: 3, maxRounds: 2 })
      yield* GroupSession.run(group, sessionId, "hello")
      const shown = ann.asked.map(({ history, message }) => lines([...history, message]))
      assert.deepStrictEqual(shown, [
        ["user: old 29", "user: old 30", "user: hello"],
        ["user: hello", "ann: ann 1", "bob: bob 1"]
      ])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("reads the session once per window, however many turns are written", () =>
    Effect.gen(function* () {
      yield* opened()
      const manager = yield* SessionManager.SessionManager
      const reads: Array<SessionManager.TurnsOptions> = []
      const counting: SessionManager.Service = {
        ...manager,
        turns: (id, options) =>
          Effect.zipRight(
            Effect.sync(() => reads.push(options)),
            manager.turns(id, options)
          )
      }
      const group = yield* GroupSession.make({ participants: [speaker("ann"), speaker("bob")], maxRounds: 50 })
      const outcome = yield* Effect.provideService(
        GroupSession.run(group, sessionId, "hello"),
        SessionManager.SessionManager,
        counting
      )
      assert.strictEqual(outcome.turns.length, 101)
      assert.deepStrictEqual(
        reads.map(({ last }) => last),
        [49]
      )
    }).pipe(Effect.provide(sessions))
  )

  it.effect("shows concurrent turns of others from the next answer on", () =>
    Effect.gen(function* () {
      yield* opened()
      const manager = yield* SessionManager.SessionManager
      const interjection = NewTurn.make({ id: TurnId.make("x"), role: "user", content: "wait!", timestamp: 1 })
      const ann = GroupParticipant.make("ann", {
        respond: () => Effect.as(Effect.orDie(manager.addTurn(sessionId, interjection)), "ann 1")
      })
      const bob = speaker("bob")
      const group = yield* GroupSession.make({ participants: [ann, bob], maxRounds: 1 })
      yield* GroupSession.run(group, sessionId, "hello")
      assert.deepStrictEqual(lines(bob.asked[0]?.history ?? []), ["user: hello", "user: wait!"])
      assert.deepStrictEqual(lines(yield* kept()), ["user: hello", "user: wait!", "ann: ann 1", "bob: bob 1"])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("writes nothing twice when a run is repeated under its id", () =>
    Effect.gen(function* () {
      yield* opened()
      const [ann, bob] = [speaker("ann"), speaker("bob")]
      const group = yield* GroupSession.make({ participants: [ann, bob], maxRounds: 2 })
      const first = yield* GroupSession.run(group, sessionId, "hello", { runId: "g" })
      const again = yield* GroupSession.run(group, sessionId, "hello", { runId: "g" })
      assert.deepStrictEqual(again.turns, first.turns)
      assert.strictEqual((yield* kept()).length, 5)
      // Nobody is shown what was said later.
      assert.deepStrictEqual(lines(ann.asked[2]?.history ?? []), [])
      assert.deepStrictEqual(lines(bob.asked[2]?.history ?? []), ["user: hello"])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("rejects an invalid id before writing anything", () =>
    Effect.gen(function* () {
      yield* opened()
      const group = yield* GroupSession.make({ participants: [speaker("ann")] })
      for (const runId of ["", "a\nb", "x".repeat(201)]) {
        const error = yield* Effect.flip(GroupSession.run(group, sessionId, "hello", { runId }))
        assert.strictEqual(error._tag, "GroupConfigurationError")
      }
      assert.deepStrictEqual(yield* kept(), [])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("keeps metadata of answers but sets the author itself", () =>
    Effect.gen(function* () {
      yield* opened()
      const forger = speaker("ann", () =>
        GroupParticipant.answer("hi", {
          metadata: { agent: "bob", role: "boss", round: 99, note: "kept" },
          visibleTo: ["bob"],
          toolCalls: [{ id: "c1", name: "look", params: {}, result: "nothing" }]
        })
      )
      const group = yield* GroupSession.make({ participants: [forger, speaker("bob", () => undefined)], maxRounds: 1 })
      const { turns } = yield* GroupSession.run(group, sessionId, "hello")
      assert.deepStrictEqual(turns[1]?.metadata, {
        note: "kept",
        visibleTo: ["bob", "ann"],
        agent: "ann",
        role: "participant",
        round: 1
      })
      assert.deepStrictEqual(turns[1]?.toolCalls, [{ id: "c1", name: "look", params: {}, result: "nothing" }])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("fails with the session's error for another user's session or one that takes no turns", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const ann = speaker("ann")
      const group = yield* GroupSession.make({ participants: [ann] })
      const mine = SessionId.make("mine")
      yield* manager.create({ id: mine, userId: UserId.make("u1") })
      const run = (id: SessionId, userId?: UserId) => Effect.flip(GroupSession.run(group, id, "hello", { userId }))
      assert.strictEqual((yield* run(SessionId.make("none")))._tag, "SessionNotFoundError")
      assert.strictEqual((yield* run(mine, UserId.make("u2")))._tag, "SessionNotFoundError")
      yield* manager.suspend(mine, { userId: UserId.make("u1") })
      assert.strictEqual((yield* run(mine, UserId.make("u1")))._tag, "SessionTransitionError")
      yield* manager.close(mine, { userId: UserId.make("u1") })
      assert.strictEqual((yield* run(mine, UserId.make("u1")))._tag, "SessionClosedError")
      assert.deepStrictEqual(ann.asked, [])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("lets only the system use a user's session without a user, and gives participants no access", () =>
    Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      const mine = SessionId.make("mine")
      const userId = UserId.make("u1")
      yield* manager.create({ id: mine, userId })
      const held: Array<boolean> = []
      const curious = GroupParticipant.make("curious", {
        respond: () =>
          Effect.map(SystemAccess.isGranted, (isGranted) => {
            held.push(isGranted)
            return "hm"
          })
      })
      const group = yield* GroupSession.make({ participants: [curious], maxRounds: 1 })
      const run = GroupSession.run(group, mine, "hello")
      assert.strictEqual((yield* Effect.flip(run))._tag, "SessionNotFoundError")
      yield* SystemAccess.grant(run)
      assert.deepStrictEqual(held, [false])
      assert.strictEqual((yield* manager.turns(mine, { last: 9, userId })).length, 2)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("ends with the error of a turn that cannot be written, and keeps the earlier ones", () =>
    Effect.gen(function* () {
      yield* opened()
      const manager = yield* SessionManager.SessionManager
      const full: SessionManager.Service = {
        ...manager,
        addTurn: (id, turn, options) =>
          turn.metadata["agent"] === "bob"
            ? Effect.fail(new SessionStorageError({ message: "the disk is full" }))
            : manager.addTurn(id, turn, options)
      }
      const group = yield* GroupSession.make({ participants: [speaker("ann"), speaker("bob")] })
      const { events, exit } = yield* EventRecorder.record(GroupSession.stream(group, sessionId, "hello")).pipe(
        Effect.provideService(SessionManager.SessionManager, full)
      )
      assert.strictEqual(Exit.isFailure(exit) && Cause.failureOption(exit.cause)._tag, "Some")
      const last = events.at(-1)
      assert.strictEqual(last?._tag === "Error" ? last.error.tag : undefined, "SessionStorageError")
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.deepStrictEqual(lines(yield* kept()), ["user: hello", "ann: ann 1"])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("omits only the session from the outcome when it disappears at the end", () =>
    Effect.gen(function* () {
      yield* opened()
      const manager = yield* SessionManager.SessionManager
      const group = yield* GroupSession.make({ participants: [speaker("ann")], maxRounds: 1 })
      const run = (get: SessionManager.Service["get"]) =>
        EventRecorder.record(GroupSession.stream(group, sessionId, "hello")).pipe(
          Effect.provideService(SessionManager.SessionManager, { ...manager, get })
        )
      const failing = yield* run(() => Effect.fail(new SessionStorageError({ message: "gone" })))
      const hanging = yield* Effect.fork(run(() => Effect.never))
      yield* TestClock.adjust("5 seconds")
      for (const { events, exit } of [failing, yield* Fiber.join(hanging)]) {
        assert.isTrue(Exit.isSuccess(exit))
        const outcome = AgentResponse.fromEvents(events).output as GroupOutcome.GroupOutcome
        assert.strictEqual(outcome.turns.length, 2)
        assert.isUndefined(outcome.session)
        assert.deepStrictEqual(
          events.flatMap((event) => (event._tag === "Degraded" ? [event.stage] : [])),
          ["session"]
        )
      }
    }).pipe(Effect.provide(sessions))
  )

  it.effect("works without a session store", () =>
    Effect.gen(function* () {
      const bob = speaker("bob")
      const group = yield* GroupSession.make({ participants: [speaker("ann"), bob], maxRounds: 2 })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.strictEqual(outcome.turns.length, 5)
      assert.deepStrictEqual(lines(bob.asked[1]?.history ?? []), ["user: hello", "ann: ann 1", "bob: bob 1"])
    }).pipe(Effect.provide(SessionManager.layerNoop))
  )
})

describe("the end of a group", () => {
  it.effect("comes when a condition holds, which the outcome names", () =>
    Effect.gen(function* () {
      yield* opened()
      const critic = speaker("critic", (_, index) => (index === 1 ? "APPROVED" : "not APPROVED yet"))
      const group = yield* GroupSession.make({
        participants: [speaker("writer"), critic],
        termination: GroupTermination.or(
          GroupTermination.maxTurns(50),
          GroupTermination.saidExactly("APPROVED", { by: "critic" })
        )
      })
      const outcome = yield* GroupSession.run(group, sessionId, "APPROVED")
      assert.strictEqual(outcome.reason, "condition")
      assert.strictEqual(outcome.condition, "said_exactly(APPROVED)")
      assert.strictEqual(outcome.rounds, 2)
      assert.strictEqual(outcome.turns.length, 5)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("comes when a predicate over the progress holds", () =>
    Effect.gen(function* () {
      yield* opened()
      const seen: Array<GroupOutcome.Progress> = []
      const group = yield* GroupSession.make({
        participants: [speaker("ann"), speaker("bob", () => undefined)],
        termination: GroupTermination.make("mine", (progress) => {
          seen.push(progress)
          return progress.participants.some(({ name, silences }) => name === "bob" && silences === 2)
        })
      })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.strictEqual(outcome.condition, "mine")
      assert.deepStrictEqual(
        seen.map(({ answers, isRoundOver, last, round }) => [round, isRoundOver, answers, last?.content]),
        [
          [1, false, 1, "ann 1"],
          [1, true, 1, "ann 1"],
          [2, false, 2, "ann 2"],
          [2, true, 2, "ann 2"]
        ]
      )
    }).pipe(Effect.provide(sessions))
  )

  it.effect("comes when everybody was asked and nobody answered", () =>
    Effect.gen(function* () {
      yield* opened()
      const ann = speaker("ann", (_, index) => (index === 0 ? "ann 1" : undefined))
      const bob = speaker("bob", () => "  \n")
      const group = yield* GroupSession.make({ participants: [ann, bob] })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.strictEqual(outcome.reason, "silence")
      assert.strictEqual(outcome.answer, "ann 1")
      assert.strictEqual(of(outcome, "ann").silences, 1)
      assert.strictEqual(of(outcome, "bob").silences, 1)
      assert.deepStrictEqual([ann.asked.length, bob.asked.length], [2, 1])
      assert.deepStrictEqual(lines(yield* kept()), ["user: hello", "ann: ann 1"])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("comes when the turn manager chooses nobody, or no known name", () =>
    Effect.gen(function* () {
      yield* opened()
      const silent = TurnManager.make("silent", {
        initial: () => 0,
        next: (state: number) => Effect.succeed([TurnManager.nobody, state] as const)
      })
      const participants = [speaker("ann"), speaker("bob")]
      const none = yield* GroupSession.make({ participants, turnManager: silent })
      const nobody = yield* GroupSession.run(none, sessionId, "hello")
      assert.strictEqual(nobody.reason, "nobody")
      assert.strictEqual(nobody.rounds, 0)
      assert.isUndefined(nobody.answer)
      const lost = TurnManager.make("lost", {
        initial: () => 0,
        next: (state: number) =>
          Effect.succeed([TurnManager.speak(state % 2 === 0 ? "zoe" : "Ann"), state + 1] as const)
      })
      const unknown = yield* GroupSession.make({ participants, turnManager: lost })
      const { events } = yield* EventRecorder.record(GroupSession.stream(unknown, sessionId, "hello"))
      const outcome = AgentResponse.fromEvents(events).output as GroupOutcome.GroupOutcome
      assert.strictEqual(outcome.unknown, 2)
      assert.strictEqual(outcome.reason, "failure")
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "Degraded" ? [event.error.tag] : [])),
        ["UnknownParticipant", "UnknownParticipant"]
      )
    }).pipe(Effect.provide(sessions))
  )

  it.effect("comes with the failure of its turn manager", () =>
    Effect.gen(function* () {
      yield* opened()
      const odd = TurnManager.make("odd", { initial: () => 0, next: () => Effect.fail(new Tired({ message: "no" })) })
      const group = yield* GroupSession.make({ participants: [speaker("ann")], turnManager: odd })
      assert.strictEqual((yield* Effect.flip(GroupSession.run(group, sessionId, "hello")))._tag, "Tired")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("skips a participant that can see nothing", () =>
    Effect.gen(function* () {
      yield* opened()
      const bob = speaker("bob")
      const group = yield* GroupSession.make({
        participants: [speaker("ann", () => GroupParticipant.answer("psst", { visibleTo: [] })), bob],
        maxRounds: 1
      })
      const outcome = yield* GroupSession.run(group, sessionId, "for ann", { hiddenFrom: ["bob"] })
      assert.deepStrictEqual(bob.asked, [])
      assert.strictEqual(of(outcome, "bob").silences, 1)
    }).pipe(Effect.provide(sessions))
  )
})

describe("participants that fail or hang", () => {
  it.effect("are skipped and recorded, and excluded in the end", () =>
    Effect.gen(function* () {
      yield* opened()
      const broken = GroupParticipant.make("broken", { respond: () => Effect.dieMessage("secret: sk-12345") })
      const group = yield* GroupSession.make({
        participants: [speaker("ann"), failing("bob"), broken],
        maxRounds: 5,
        maxFailures: 2
      })
      const { events, exit } = yield* EventRecorder.record(GroupSession.stream(group, sessionId, "hello"))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const outcome = AgentResponse.fromEvents(events).output as GroupOutcome.GroupOutcome
      assert.strictEqual(outcome.reason, "max-rounds")
      assert.deepStrictEqual(of(outcome, "bob"), {
        name: "bob",
        role: "participant",
        answers: 0,
        silences: 0,
        failed: 2,
        failures: [
          { round: 1, error: { tag: "Tired", message: "no more" } },
          { round: 2, error: { tag: "Tired", message: "no more" } }
        ],
        excluded: true,
        usage: {}
      })
      assert.deepStrictEqual(
        of(outcome, "broken").failures.map(({ error }) => error.tag),
        ["Defect", "Defect"]
      )
      assert.strictEqual(of(outcome, "ann").answers, 5)
      assert.notInclude(JSON.stringify(events), "sk-12345")
      assert.strictEqual(events.filter((e) => e._tag === "Degraded" && e.error.tag === "ParticipantExcluded").length, 2)
      const { members } = group
      assert.strictEqual(members.length, 3)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("are excluded only after failures in a row", () =>
    Effect.gen(function* () {
      yield* opened()
      let asked = 0
      const moody = GroupParticipant.make("moody", {
        respond: () => (asked++ % 3 === 2 ? Effect.succeed(undefined) : new Tired({ message: `${asked}` }))
      })
      const group = yield* GroupSession.make({ participants: [speaker("ann"), moody], maxRounds: 40 })
      const moodyOutcome = of(yield* GroupSession.run(group, sessionId, "hello"), "moody")
      assert.isFalse(moodyOutcome.excluded)
      assert.strictEqual(moodyOutcome.failed, 27)
      assert.strictEqual(moodyOutcome.failures.length, 20)
      assert.strictEqual(moodyOutcome.failures.at(-1)?.round, 40)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("fail without ending the group when they interrupt themselves", () =>
    Effect.gen(function* () {
      yield* opened()
      const quitter = GroupParticipant.make("quitter", { respond: () => Effect.interrupt })
      const group = yield* GroupSession.make({ participants: [quitter, speaker("ann")], maxRounds: 1 })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.strictEqual(of(outcome, "quitter").failures[0]?.error.tag, "InterruptedError")
      assert.strictEqual(outcome.answer, "ann 1")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("end the group when all are excluded or all fail", () =>
    Effect.gen(function* () {
      yield* opened()
      const once = yield* GroupSession.make({ participants: [failing("ann")], maxFailures: 1 })
      assert.strictEqual((yield* GroupSession.run(once, sessionId, "hello")).reason, "excluded")
      const all = yield* GroupSession.make({ participants: [failing("ann"), failing("bob")] })
      assert.strictEqual((yield* GroupSession.run(all, sessionId, "hello")).reason, "failure")
      const some = yield* GroupSession.make({ participants: [failing("ann"), speaker("bob", () => undefined)] })
      assert.strictEqual((yield* GroupSession.run(some, sessionId, "hello")).reason, "silence")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("are interrupted after a minute or their own timeout, and others continue", () =>
    Effect.gen(function* () {
      yield* opened()
      const ended: Array<string> = []
      const slow = (name: string) =>
        never(
          name,
          Effect.sync(() => ended.push(name))
        )
      const group = yield* GroupSession.make({
        participants: [slow("default"), { ...slow("own"), timeout: "5 seconds" }, speaker("ann")],
        maxRounds: 1
      })
      const fiber = yield* Effect.fork(GroupSession.run(group, sessionId, "hello"))
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(ended, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ended, ["default"])
      yield* TestClock.adjust("5 seconds")
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual(ended, ["default", "own"])
      assert.strictEqual(outcome.durationMs, 65_000)
      const [failure] = of(outcome, "own").failures
      assert.strictEqual(failure?.error.tag, "ParticipantTimeoutError")
      assert.strictEqual(failure?.error.code, "LEX_ERR_SES_105")
      assert.strictEqual(outcome.answer, "ann 1")
    }).pipe(Effect.provide(sessions))
  )

  it.effect("are interrupted by the group timeout, which keeps the turns", () =>
    Effect.gen(function* () {
      yield* opened()
      const ended: Array<string> = []
      const group = yield* GroupSession.make({
        participants: [
          speaker("ann"),
          never(
            "slow",
            Effect.sync(() => ended.push("slow"))
          )
        ],
        participantTimeout: "1 hour",
        timeout: "90 seconds"
      })
      const fiber = yield* Effect.fork(EventRecorder.record(GroupSession.stream(group, sessionId, "hello")))
      yield* TestClock.adjust("89 seconds")
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust("1 second")
      const { events, exit } = yield* Fiber.join(fiber)
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(ended, ["slow"])
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const response = AgentResponse.fromEvents(events)
      assert.strictEqual(response.finishReason, "limit")
      const outcome = response.output as GroupOutcome.GroupOutcome
      assert.strictEqual(outcome.reason, "timeout")
      assert.strictEqual(of(outcome, "slow").failures[0]?.error.tag, "InterruptedError")
      assert.deepStrictEqual(lines(yield* kept()), ["user: hello", "ann: ann 1"])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("do not delay the group timeout, nor do a turn manager and a store that hang", () =>
    Effect.gen(function* () {
      yield* opened()
      const stuck = TurnManager.make("stuck", { initial: () => 0, next: () => Effect.never })
      const byManager = yield* GroupSession.make({
        participants: [speaker("ann")],
        turnManager: stuck,
        timeout: "10 seconds"
      })
      const byStore = yield* GroupSession.make({ participants: [speaker("ann")], timeout: "10 seconds" })
      const manager = yield* SessionManager.SessionManager
      const first = yield* Effect.fork(GroupSession.run(byManager, sessionId, "hello"))
      const second = yield* Effect.fork(
        Effect.provideService(GroupSession.run(byStore, sessionId, "hello"), SessionManager.SessionManager, {
          ...manager,
          addTurn: () => Effect.never
        })
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(first)).reason, "timeout")
      assert.deepStrictEqual((yield* Fiber.join(second)).turns, [])
    }).pipe(Effect.provide(sessions))
  )

  it.live("lose their background fibers with their turn", () =>
    Effect.gen(function* () {
      yield* opened()
      const ended: Array<string> = []
      const ann = GroupParticipant.make("ann", {
        respond: () =>
          Effect.as(
            Effect.fork(Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended.push("child")))).pipe(
              Effect.zipLeft(Effect.yieldNow())
            ),
            "ann 1"
          )
      })
      const bob = speaker("bob", () => `children that ended: ${ended.length}`)
      const group = yield* GroupSession.make({ participants: [ann, bob], maxRounds: 1 })
      assert.strictEqual((yield* GroupSession.run(group, sessionId, "hello")).answer, "children that ended: 1")
    }).pipe(Effect.provide(sessions))
  )
})

describe("interruption", () => {
  it.effect("stops the current speaker at once and ends both runs", () =>
    Effect.gen(function* () {
      yield* opened()
      const ended: Array<string> = []
      const log = RunLog.makeMemory()
      const slow = never(
        "slow",
        Effect.sync(() => ended.push("slow"))
      )
      const group = yield* GroupSession.make({ participants: [slow, speaker("ann")] })
      const fiber = yield* GroupSession.run(group, sessionId, "hello", { runId: "g" }).pipe(
        Effect.provideService(RunLog.RunLog, log),
        Effect.fork
      )
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      assert.deepStrictEqual(ended, ["slow"])
      const events = yield* log.read(RunId.make("g"))
      const last = events.at(-1)
      assert.isTrue(last?._tag === "Error" && last.interrupted)
      const delegated = events.find((event) => event._tag === "Delegated")
      const child = yield* log.read(delegated?._tag === "Delegated" ? delegated.childRunId : RunId.make("none"))
      assert.deepStrictEqual(EventRecorder.violations([...events, ...child], { log: true }), [])
      assert.deepStrictEqual(lines(yield* kept()), ["user: hello"])
    }).pipe(Effect.provide(sessions))
  )

  it.effect("ends nothing when a run is suspended: no failure, no further question, no last event", () =>
    Effect.gen(function* () {
      yield* opened()
      let asleep = false
      const sleeper = GroupParticipant.make("sleeper", {
        respond: () =>
          Effect.suspend(() => {
            asleep = true
            return Effect.interrupt
          })
      })
      const bob = speaker("bob")
      const log = RunLog.makeMemory()
      const group = yield* GroupSession.make({ participants: [sleeper, bob] })
      const step: Step.Service = { run: (_options, effect) => effect, isSuspended: () => asleep }
      const exit = yield* GroupSession.run(group, sessionId, "hello", { runId: "g" }).pipe(
        Effect.provideService(Step.Step, step),
        Effect.provideService(RunLog.RunLog, log),
        Effect.exit
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))
      assert.deepStrictEqual(bob.asked, [])
      assert.deepStrictEqual(EventRecorder.tags(yield* log.read(RunId.make("g"))), [
        "Started",
        "StepStarted",
        "Delegated"
      ])
    }).pipe(Effect.provide(sessions))
  )

  it.live("leaves no timer, as does a group that ends", () =>
    Effect.gen(function* () {
      yield* opened()
      const { advance, clock, timers } = SteppedClock.make()
      const group = yield* GroupSession.make({
        participants: [speaker("ann"), never("slow")],
        timeout: "1 hour",
        maxRounds: 1
      })
      const run = GroupSession.run(group, sessionId, "hello").pipe(Effect.withClock(clock))
      const first = yield* Effect.fork(run)
      yield* advance(1000)
      assert.isAbove(timers(), 0)
      yield* Fiber.interrupt(first)
      assert.strictEqual(timers(), 0)
      const second = yield* Effect.fork(run)
      yield* advance(60_000)
      assert.strictEqual((yield* Fiber.join(second)).reason, "max-rounds")
      yield* advance(0)
      assert.strictEqual(timers(), 0)
    }).pipe(Effect.provide(sessions))
  )

  it.live("works under the live clock and when the stream is stopped", () =>
    Effect.gen(function* () {
      yield* opened()
      const ended: Array<string> = []
      const slow = never(
        "slow",
        Effect.sync(() => ended.push("slow"))
      )
      const group = yield* GroupSession.make({ participants: [speaker("ann"), slow] })
      const events = yield* GroupSession.stream(group, sessionId, "hello").pipe(
        Stream.takeUntil((event) => event._tag === "Started" && event.agent === "slow"),
        Stream.runCollect
      )
      assert.deepStrictEqual(ended, ["slow"])
      assert.isAbove(events.length, 5)
    }).pipe(Effect.provide(sessions))
  )
})

describe("GroupSession.stream", () => {
  it.effect("streams the events of everybody in one order, each with its agent", () =>
    Effect.gen(function* () {
      yield* opened()
      const ann = GroupParticipant.make("ann", {
        respond: ({ round }) => Effect.as(Run.emit({ _tag: "Thought", step: 1, text: "hm" }), `ann ${round}`)
      })
      const group = yield* GroupSession.make({
        name: "desk",
        participants: [ann, speaker("bob", (_, index) => (index === 0 ? undefined : "bob"))],
        maxRounds: 1
      })
      const { events } = yield* EventRecorder.record(GroupSession.stream(group, sessionId, "hello"))
      assert.deepStrictEqual(
        events.map((event) => `${event.agent} ${event._tag}`),
        [
          "desk Started",
          "desk StepStarted",
          "desk Delegated",
          "ann Started",
          "ann Thought",
          "ann Message",
          "ann Finished",
          "desk NodeFinished",
          "desk StepStarted",
          "desk Delegated",
          "bob Started",
          "bob Finished",
          "desk NodeFinished",
          "desk Message",
          "desk Finished"
        ]
      )
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const root = events[0]?.runId
      assert.isTrue(events.every((event) => event.agent === "desk" || event.parentRunId === root))
      assert.deepStrictEqual(
        events.flatMap((event) => (event._tag === "NodeFinished" ? [[event.node, event.step, event.update]] : [])),
        [
          ["ann", 1, { reply: "answer", round: 1, turnId: `${root}:turn:1` }],
          ["bob", 2, { reply: "silence", round: 1 }]
        ]
      )
      assert.deepStrictEqual(AgentResponse.fromEvents(events).sessionId, sessionId)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("keeps the order of events for any reader", () =>
    Effect.gen(function* () {
      const once = (id: string) =>
        Effect.gen(function* () {
          yield* opened(SessionId.make(id))
          const log = RunLog.makeMemory()
          const group = yield* GroupSession.make({
            participants: [failing("ann"), speaker("bob"), speaker("cid", () => undefined)],
            maxRounds: 4
          })
          const { events } = yield* EventRecorder.record(
            Stream.rechunk(GroupSession.stream(group, SessionId.make(id), "hello"), 1)
          ).pipe(Effect.provideService(RunLog.RunLog, log))
          return events.map((event) => `${event.agent} ${event.seq} ${event._tag}`)
        })
      const [first, second] = [yield* once("one"), yield* once("two")]
      assert.deepStrictEqual(first, second)
      assert.isAbove(first.length, 40)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("records the events of all runs in a log", () =>
    Effect.gen(function* () {
      yield* opened()
      const log = RunLog.makeMemory()
      const group = yield* GroupSession.make({ participants: [speaker("ann")], maxRounds: 1 })
      const { events } = yield* EventRecorder.record(
        Stream.provideService(GroupSession.stream(group, sessionId, "hello"), RunLog.RunLog, log)
      )
      for (const runId of new Set(events.map((event) => event.runId))) {
        assert.deepStrictEqual(
          yield* log.read(runId),
          events.filter((event) => event.runId === runId)
        )
      }
    }).pipe(Effect.provide(sessions))
  )

  it.effect("counts usage for the participant, its turn and the group", () =>
    Effect.gen(function* () {
      yield* opened()
      const costly = (name: string, costUsd?: number) =>
        GroupParticipant.make(name, {
          respond: () =>
            Effect.gen(function* () {
              const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
              yield* Run.emit({ _tag: "UsageReported", usage, model: "m", provider: "p", costUsd })
              const child = (yield* Run.Run).child(RunId.make(`child-of-${name}`), "inner")
              yield* child.emit({ _tag: "UsageReported", usage, model: "m", provider: "p", costUsd })
              return name
            })
        })
      const priced = yield* GroupSession.make({
        participants: [costly("ann", 0.25), speaker("bob")],
        maxRounds: 1,
        termination: GroupTermination.costBudget(100)
      })
      const outcome = yield* GroupSession.run(priced, sessionId, "hello")
      assert.strictEqual(outcome.costUsd, 0.5)
      assert.strictEqual(outcome.usage.totalTokens, 30)
      assert.strictEqual(of(outcome, "ann").costUsd, 0.5)
      assert.strictEqual(of(outcome, "ann").usage.totalTokens, 30)
      assert.deepStrictEqual(of(outcome, "bob").usage, {})
      const [, ann, bob] = outcome.turns
      assert.deepStrictEqual([ann?.tokensUsed, ann?.cost, ann?.model, ann?.provider], [30, 0.5, "m", "p"])
      assert.deepStrictEqual([bob?.tokensUsed, bob?.cost], [0, 0])
      assert.strictEqual(outcome.session?.totalTokens, 30)
      const unpriced = yield* GroupSession.make({
        participants: [costly("ann"), speaker("bob")],
        termination: GroupTermination.costBudget(100)
      })
      const unknown = yield* GroupSession.run(unpriced, sessionId, "hello")
      assert.isUndefined(unknown.costUsd)
      assert.strictEqual(unknown.condition, "cost_budget(100)")
      assert.strictEqual(unknown.turns.length, 2)
    }).pipe(Effect.provide(sessions))
  )

  it.effect("emits through the surrounding run", () =>
    Effect.gen(function* () {
      yield* opened()
      const seen: Array<string> = []
      const clock = yield* Effect.clock
      const outer = Run.make({
        runId: RunId.make("outer"),
        agent: "outer",
        clock,
        sink: {
          push: (event) => seen.push(`${event.parentRunId ?? "-"} ${event._tag}`),
          settle: () => undefined,
          live: false
        }
      })
      const group = yield* GroupSession.make({ participants: [speaker("ann", () => undefined)], maxRounds: 1 })
      yield* Effect.provideService(GroupSession.run(group, sessionId, "hello", { runId: "g" }), Run.Run, outer)
      assert.strictEqual(seen[0], "outer Started")
      assert.strictEqual(seen.at(-1), "outer Finished")
      assert.include(seen, "g Started")
    }).pipe(Effect.provide(sessions))
  )
})

describe("one group in many sessions", () => {
  it.effect("gives participants the services of the caller", () =>
    Effect.gen(function* () {
      yield* opened()
      const needy = GroupParticipant.make("needy", { respond: () => Effect.map(Clerk, ({ word }) => word) })
      const group = yield* GroupSession.make({ participants: [needy], maxRounds: 1 })
      const outcome = yield* GroupSession.run(group, sessionId, "hello")
      assert.strictEqual(outcome.answer, "yes")
    }).pipe(Effect.provide(Layer.merge(sessions, Layer.succeed(Clerk, { word: "yes" }))))
  )

  it.effect("shares one group and one turn manager between twenty concurrent sessions, and nothing else", () =>
    Effect.gen(function* () {
      const relay = (name: string) =>
        GroupParticipant.make(name, {
          respond: ({ message, round, sessionId }) =>
            Effect.as(
              Effect.sleep(`${(Number(sessionId) * 7 + round) % 5} millis`),
              `${name} in ${sessionId} after ${message.content.split(" ")[0]}`
            )
        })
      const group = yield* GroupSession.make({
        participants: [relay("ann"), relay("bob"), relay("cid")],
        turnManager: PriorityTurnManager.make({ priorities: { cid: 1 } }),
        maxRounds: 4
      })
      const ids = Array.from({ length: 20 }, (_, index) => SessionId.make(String(index)))
      const fiber = yield* Effect.fork(
        Effect.forEach(ids, (id) => Effect.zipRight(opened(id), GroupSession.run(group, id, `start ${id}`)), {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust("1 second")
      const outcomes = yield* Fiber.join(fiber)
      for (const [index, outcome] of outcomes.entries()) {
        const said = outcome.turns.map((turn) => turn.content)
        assert.deepStrictEqual(said.slice(0, 5), [
          `start ${index}`,
          `cid in ${index} after start`,
          `ann in ${index} after cid`,
          `bob in ${index} after ann`,
          `cid in ${index} after bob`
        ])
        assert.strictEqual(said.length, 13)
        assert.deepStrictEqual(yield* kept(SessionId.make(String(index))), outcome.turns)
      }
    }).pipe(Effect.provide(sessions))
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionStateMachine from "../../../src/session/manager/SessionStateMachine.js"
import type { CheckpointId, SessionStatus } from "../../../src/session/turn/Session.js"
import { SessionStatus as SessionStatusSchema } from "../../../src/session/turn/Session.js"
import * as ManagedSessions from "../../support/ManagedSessions.js"

const statuses = SessionStatusSchema.literals
const legal = new Set([
  "active suspended",
  "active closed",
  "active expired",
  "suspended active",
  "suspended closed",
  "suspended expired"
])

describe("SessionStateMachine", () => {
  it("has exactly the transitions of the specification", () => {
    for (const from of statuses) {
      for (const to of statuses) {
        assert.strictEqual(SessionStateMachine.canTransition(from, to), legal.has(`${from} ${to}`), `${from} ${to}`)
        assert.strictEqual(SessionStateMachine.transitions[from].has(to), legal.has(`${from} ${to}`))
      }
    }
  })

  it("makes closed and expired final, active and suspended not", () => {
    assert.deepStrictEqual(
      statuses.map((status) => SessionStateMachine.isTerminal(status)),
      [false, false, true, true]
    )
  })

  it.effect("rejects other transitions with both statuses and a way out", () =>
    Effect.gen(function* () {
      for (const from of statuses) {
        for (const to of statuses) {
          const validated = SessionStateMachine.validate(ManagedSessions.sid("s"), from, to)
          if (legal.has(`${from} ${to}`)) yield* validated
          else {
            const error = yield* Effect.flip(validated)
            assert.strictEqual(error._tag, "SessionTransitionError")
            assert.deepStrictEqual([error.sessionId, error.fromStatus, error.toStatus], [
              "s",
              from,
              to
            ] as ReadonlyArray<string>)
            assert.isAbove(error.hint?.length ?? 0, 0)
          }
        }
      }
    })
  )
})

const id = ManagedSessions.sid("walked")

type Step =
  | "create"
  | "resume"
  | "suspend"
  | "close"
  | "addTurn"
  | "update"
  | "checkpoint"
  | "restore"
  | "reopen"
  | "expireIdle"
  | "wait"

const steps: ReadonlyArray<Step> = [
  "create",
  "resume",
  "suspend",
  "close",
  "addTurn",
  "update",
  "checkpoint",
  "restore",
  "reopen",
  "expireIdle",
  "wait"
]

const walk = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const statusNow = Effect.map(
      sessions.get(id),
      Option.map(({ status }) => status)
    )
    let checkpointId: CheckpointId | undefined
    let turns = 0
    let before: SessionStatus | undefined
    const apply = (step: Step): Effect.Effect<unknown, { readonly _tag: string }> => {
      switch (step) {
        case "create":
          return sessions.create({ id })
        case "resume":
          return sessions.resume(id)
        case "suspend":
          return sessions.suspend(id)
        case "close":
          return sessions.close(id)
        case "addTurn":
          return sessions.addTurn(id, ManagedSessions.turn(++turns))
        case "update":
          return sessions.update(id, { variables: { turns } })
        case "checkpoint":
          return Effect.tap(sessions.checkpoint(id), (made) => {
            checkpointId = made.id
          })
        case "restore":
          return checkpointId === undefined ? Effect.void : sessions.restore(checkpointId)
        case "reopen":
          return checkpointId === undefined ? Effect.void : sessions.restore(checkpointId, { reopen: true })
        case "expireIdle":
          return SystemAccess.grant(sessions.expireIdle())
        case "wait":
          return TestClock.adjust("40 minutes")
      }
    }
    for (const step of steps) {
      yield* Effect.exit(apply(step))
      const after = Option.getOrUndefined(yield* statusNow)
      const isLegal =
        before === after ||
        (before === undefined && after === "active" && step === "create") ||
        (step === "reopen" && after === "active") ||
        (before !== undefined && after !== undefined && SessionStateMachine.canTransition(before, after))
      assert.isTrue(isLegal, `${step} made ${before} ${after}`)
      before = after
    }
  }).pipe(Effect.provide(ManagedSessions.layer({ sessionTtl: "1 hour" })))

describe("SessionManager and the transition table", () => {
  it.effect.prop(
    "follows the table for any sequence of calls, except for a restore that reopens",
    [FastCheck.array(FastCheck.constantFrom(...steps), { maxLength: 40 })],
    ([steps]) => walk(steps),
    { fastCheck: { numRuns: 25 } }
  )
})

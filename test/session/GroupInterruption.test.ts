import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import * as Supervisor from "effect/Supervisor"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as Run from "../../src/observability/Run.js"
import * as GroupParticipant from "../../src/session/group/GroupParticipant.js"
import * as GroupSession from "../../src/session/group/GroupSession.js"
import * as HumanParticipant from "../../src/session/group/HumanParticipant.js"
import type * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as Collaborators from "../support/Collaborators.js"
import { kept, lines, opened, sessionId, sessions } from "../support/Groups.js"
import * as YieldingScheduler from "../support/YieldingScheduler.js"

type Group = GroupSession.GroupSession
type Program = (group: Group) => Effect.Effect<unknown, unknown, SessionManager.SessionManager>

const said = ["user: hello", "holder: held", "human: typed", "holder: held", "human: typed"]

const make = () => {
  let held = 0
  const holder = GroupParticipant.make("holder", {
    respond: () =>
      Effect.acquireUseRelease(
        Effect.sync(() => void held++),
        () =>
          Effect.zipRight(
            Effect.fork(Effect.never),
            Effect.zipRight(Run.emit({ _tag: "Thought", step: 1, text: "hm" }), Effect.as(Effect.yieldNow(), "held"))
          ),
        () => Effect.sync(() => void held--)
      )
  })
  const failing = GroupParticipant.make("failing", {
    respond: () => Effect.zipRight(Effect.yieldNow(), Effect.fail("x"))
  })
  const inbox = Effect.runSync(HumanParticipant.makeInbox)
  const human = HumanParticipant.make("human", {
    ask: (invitation) =>
      Effect.zipRight(
        Effect.fork(
          Effect.repeat(Effect.zipRight(Effect.yieldNow(), inbox.answer({ sessionId }, "typed")), {
            until: (wasAsked) => wasAsked
          })
        ),
        inbox.ask(invitation)
      )
  })
  const group = Effect.runSync(
    GroupSession.make({ participants: [holder, failing, human], maxRounds: 2, timeout: "1 hour" })
  )
  return { group, inbox, held: () => held }
}

/** Interrupts at the k-th yield; `undefined` runs to the end. */
const attempt = async (program: Program, at: number | undefined) => {
  const all = make()
  const problems: Array<string> = []
  const logged: Array<AgentEvent> = []
  const ids = new Set<string>()
  const log = Collaborators.log({
    append: (events) =>
      Effect.sync(() => {
        for (const event of events) {
          const id = `${event.runId} ${event.seq}`
          if (!ids.has(id)) logged.push(event)
          ids.add(id)
        }
      })
  })
  const managed = ManagedRuntime.make(Layer.merge(sessions, log.layer))
  const runtime = await managed.runtime()
  await managed.runPromise(opened())
  const supervisor = Effect.runSync(Supervisor.track)
  let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
  const scheduler = YieldingScheduler.make((count) => {
    if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
  }, at)
  const exit = await new Promise<Exit.Exit<unknown, unknown>>((resolve) => {
    main = Runtime.runFork(runtime)(
      Effect.supervised(Effect.withScheduler(program(all.group), scheduler), supervisor),
      { immediate: false }
    )
    main.addObserver(resolve)
  })
  const running = Effect.runSync(supervisor.value).filter((fiber) => fiber.unsafePoll() === null)
  if (running.length > 0) problems.push(`${running.length} fibers run on`)
  if (all.held() !== 0) problems.push(`${all.held()} are held`)
  if (Effect.runSync(SystemAccess.grant(all.inbox.waiting())).length > 0) problems.push("a question waits")
  problems.push(...EventRecorder.violations(logged, { log: true }))
  if (Exit.isFailure(exit) && !Cause.isInterrupted(exit.cause)) problems.push(`ended with ${Cause.pretty(exit.cause)}`)
  const turns = lines(await managed.runPromise(kept()))
  if (turns.join() !== said.slice(0, turns.length).join()) problems.push(`kept ${turns.join()}`)
  await managed.dispose()
  return { yields: scheduler.count(), exit, problems, turns }
}

const everywhere = async (program: Program, stride: number): Promise<void> => {
  const whole = await attempt(program, undefined)
  assert.deepStrictEqual(whole.problems, [])
  assert.isTrue(Exit.isSuccess(whole.exit), "the uninterrupted run succeeds")
  assert.deepStrictEqual(whole.turns, said)
  // The number of operations when fibers run as usual up to the point.
  const { yields } = await attempt(program, Number.POSITIVE_INFINITY)
  let interrupted = 0
  for (let k = 1; ; k += stride) {
    const { exit, problems } = await attempt(program, k)
    assert.deepStrictEqual(problems, [], `interrupted at yield ${k} of ${yields}`)
    if (Exit.isFailure(exit)) interrupted++
    else if (k > yields) break
  }
  assert.isAbove(interrupted, yields / stride / 2)
}

describe("interruption of groups", () => {
  it("leaves nothing running after a run", { timeout: 300_000 }, () =>
    everywhere((group) => GroupSession.run(group, sessionId, "hello"), 41)
  )

  it("leaves nothing running after a stream", { timeout: 300_000 }, () =>
    everywhere((group) => Stream.runDrain(GroupSession.stream(group, sessionId, "hello")), 67)
  )
})

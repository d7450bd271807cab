import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Agents from "../../../src/agent/Agents.js"
import * as InMemoryRunStore from "../../../src/agent/record/InMemoryRunStore.js"
import * as Steering from "../../../src/agent/record/Steering.js"
import * as LocalRuns from "../../../src/agent/runs/LocalRuns.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as RunsSuite from "../../../src/testing/runs/RunsSuite.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"

const local = ({ agents, model }: RunsSuite.Given) => {
  const log = RunLog.layerMemory()
  const steering = Steering.layer()
  const approvals = PendingApprovals.layerMemory()
  const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), model)
  return LocalRuns.layer({ agents }).pipe(
    Layer.provide([executor, log, steering, InMemoryRunStore.layer()]),
    Layer.provideMerge(approvals)
  )
}

const cases = RunsSuite.cases({ resume: false, fork: false })

describe("LocalRuns as Runs", () => {
  for (const one of cases) it(one.name, () => Effect.runPromise(RunsSuite.check(one, local)))
})

type Service = Runs.Service

/** What runs do to be wrong, and a case that must tell. */
const broken: Record<string, { readonly change: (runs: Service) => Service; readonly tells: string }> = {
  "show every run to everybody": {
    change: (runs) => ({ ...runs, poll: (id) => SystemAccess.grant(runs.poll(id)) }),
    tells: "hides a run from everybody but its owner and the system"
  },
  "let everybody answer": {
    change: (runs) => ({ ...runs, answer: (id, decision) => SystemAccess.grant(runs.answer(id, decision)) }),
    tells: "hides a run from everybody but its owner and the system"
  },
  "start a known id again": {
    change: (runs) => ({ ...runs, start: ({ runId: _, ...request }) => runs.start(request) }),
    tells: "gives the known run to the same request with the same id, and runs it once"
  },
  "start a run with the known id whatever is asked": {
    change: (runs) => ({
      ...runs,
      start: (request) =>
        Effect.catchAll(runs.start(request), (error) =>
          error.reason === "conflict" && request.runId !== undefined
            ? Effect.flatMap(SystemAccess.grant(runs.poll(request.runId)), (found) =>
                Effect.map(Effect.orDie(found), ({ record }) => record)
              )
            : error
        )
    }),
    tells: "refuses an id that another run has"
  },
  "lose the first event after a break": {
    change: (runs) => ({
      ...runs,
      events: (id, options) =>
        runs.events(id, options?.from === undefined ? options : { ...options, from: options.from + 1 })
    }),
    tells: "gives a reader that comes back every later event once, wherever it broke off"
  },
  "begin again after a break": {
    change: (runs) => ({ ...runs, events: (id, options) => runs.events(id, { userId: options?.userId }) }),
    tells: "gives a reader that breaks off while the run goes on every later event once"
  },
  "show texts only when they are whole": {
    change: (runs) => ({
      ...runs,
      events: (id, options) => Stream.unwrap(Effect.as(Effect.exit(runs.await(id, options)), runs.events(id, options)))
    }),
    tells: "shows deltas as they come, and the end of the run"
  },
  "show the end of a run before it is recorded": {
    change: (runs) => ({
      ...runs,
      poll: (id, access) =>
        Effect.map(
          runs.poll(id, access),
          Option.map(({ record }) => ({ record: { ...record, state: "running" as const } }))
        )
    }),
    tells: "has recorded the end of a run when a reader sees its last event"
  },
  "return from an interruption before the run has ended": {
    change: (runs) => ({
      ...runs,
      interrupt: (id, access) =>
        Effect.flatMap(runs.poll(id, access), (found) =>
          Option.isSome(found)
            ? Effect.as(Effect.forkDaemon(runs.interrupt(id, access)), found.value.record)
            : runs.interrupt(id, access)
        )
    }),
    tells: "interrupts a run and its tools, and records it"
  },
  "drop messages": {
    change: (runs) => ({ ...runs, steer: () => Effect.void }),
    tells: "shows the model a message that was sent while the run goes on"
  },
  "end with those who wait": {
    change: (runs) => ({
      ...runs,
      await: (id, access) => Effect.onInterrupt(runs.await(id, access), () => Effect.exit(runs.interrupt(id, access)))
    }),
    tells: "keeps the run when those who wait for it leave"
  }
}

describe("RunsSuite", () => {
  for (const [what, { change, tells }] of Object.entries(broken)) {
    it(`tells that runs ${what}`, async () => {
      const one = cases.find(({ name }) => name === tells)
      assert.isDefined(one)
      const layer = (given: RunsSuite.Given) =>
        Layer.provideMerge(Layer.effect(Runs.Runs, Effect.map(Runs.Runs, change)), local(given))
      assert.isTrue(Exit.isFailure(await Effect.runPromiseExit(RunsSuite.check(one!, layer))))
    })
  }

  it("gives each case a name of its own", () => {
    for (const resume of [true, false]) {
      const names = RunsSuite.cases({ resume, fork: resume }).map(({ name }) => name)
      assert.strictEqual(new Set(names).size, names.length)
    }
  })
})

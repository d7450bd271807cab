/** Runs without agents: a run goes on until the test ends it. A known id with the same request is the known run. */

import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as InMemoryRunStore from "../../src/agent/record/InMemoryRunStore.js"
import * as RunErrors from "../../src/agent/record/RunError.js"
import { isEnded, OPEN, type RunState } from "../../src/agent/record/RunRecord.js"
import type * as RunStore from "../../src/agent/record/RunStore.js"
import * as RunAdmission from "../../src/agent/runs/RunAdmission.js"
import type { Service, StartRequest } from "../../src/agent/runs/Runs.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"

export interface FakeRuns {
  readonly runs: Service
  readonly store: RunStore.Service
  /** The requests that began a run, in their order. */
  readonly started: Array<StartRequest>
  /** All calls of `start`. */
  readonly calls: () => number
  readonly end: (runId: string, to?: RunState) => Effect.Effect<void>
  /** Why the next starts fail; `undefined` if they succeed. */
  refuse: RunErrors.RunError | undefined
}

const unsupported = new RunErrors.RunError({ reason: "unsupported", message: "not in this test" })

export const make = (options?: {
  readonly agents?: ReadonlyArray<string>
  /** Whether runs end as soon as they begin. */
  readonly endAtOnce?: boolean
  readonly resume?: boolean
}): FakeRuns => {
  const agents = options?.agents ?? ["helper", "clerk"]
  const store = InMemoryRunStore.make({ maxEnded: 1_000_000 })
  const started: Array<StartRequest> = []
  const ends = new Map<string, Deferred.Deferred<void>>()
  let calls = 0
  const end: FakeRuns["end"] = (runId, to = "completed") =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      yield* Effect.orDie(store.update(runId, { from: OPEN, to, at }))
      const ended = ends.get(runId)
      if (ended !== undefined) yield* Deferred.succeed(ended, undefined)
    })
  const find = (runId: string, access?: { readonly userId?: string | undefined }) =>
    Effect.flatMap(store.get(runId, access), (found) =>
      Option.isSome(found) ? Effect.succeed(found.value) : RunErrors.unknownRun(runId)
    )
  const fake: FakeRuns = {
    store,
    started,
    calls: () => calls,
    end,
    refuse: undefined,
    runs: {
      capabilities: { resume: options?.resume ?? true, fork: false },
      start: (request) =>
        Effect.gen(function* () {
          calls++
          if (fake.refuse !== undefined) return yield* fake.refuse
          if (!agents.includes(request.agent)) return yield* RunAdmission.unknownAgent(request.agent, agents)
          const { fingerprint, record } = yield* RunAdmission.admit(request, undefined)
          const inserted = yield* store.insert(record, fingerprint)
          if (inserted.record.state !== "queued") return inserted.record
          const begun = yield* store.update(record.runId, { from: ["queued"], to: "running", at: record.createdAt })
          if (Option.isSome(begun) && begun.value.changed) {
            started.push(request)
            ends.set(record.runId, yield* Deferred.make<void>())
            if (options?.endAtOnce === true) yield* end(record.runId)
          }
          return inserted.record
        }),
      poll: (runId, access) =>
        Effect.map(
          store.get(runId, access),
          Option.map((record) => ({ record }))
        ),
      await: (runId, access) =>
        Effect.gen(function* () {
          const { state } = yield* find(runId, access)
          const ended = ends.get(runId)
          if (!isEnded(state) && ended !== undefined) yield* Deferred.await(ended)
          const record = yield* find(runId, access)
          if (record.state === "completed") return AgentResponse.fold().response()
          return yield* new RunErrors.RunFailedError({
            runId,
            state: "failed",
            message: "failed",
            error: { tag: "Test", message: "failed" }
          })
        }),
      events: () => Stream.fail(unsupported),
      interrupt: (runId, access) =>
        Effect.flatMap(find(runId, access), ({ runId }) =>
          Effect.zipRight(end(runId, "interrupted"), find(runId, access))
        ),
      steer: () => unsupported,
      answer: () => unsupported,
      resume: () => unsupported,
      list: (filter) => store.list(filter),
      fork: () => unsupported
    }
  }
  return fake
}

/** All runs, whoever they belong to. */
export const all = ({ store }: FakeRuns) =>
  Effect.map(SystemAccess.grant(store.list({ limit: 500 })), ({ records }) => records)

/**
 * Keeps the records of durable runs, and wakes those that sleep.
 *
 * @private
 * @since 0.1.0
 */
import type { WorkflowEngine } from "@effect/workflow/WorkflowEngine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { OPEN, type RunState } from "../agent/record/RunRecord.js"
import type * as RunStore from "../agent/record/RunStore.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import type * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import * as AgentWorkflow from "./AgentWorkflow.js"
import { unguarded } from "./FencedRuns.js"

const stateOf = (outcome: AgentWorkflow.Outcome | undefined): RunState => {
  switch (outcome?._tag) {
    case "Completed":
      return "completed"
    case "Interrupted":
      return "interrupted"
    default:
      return "failed"
  }
}

/** Lets a run look again for what it waits for. */
export const wake = (engine: WorkflowEngine["Type"], runId: string): Effect.Effect<void> =>
  Effect.flatMap(AgentWorkflow.executionOf(runId), (id) => engine.resume(AgentWorkflow.workflow, id))

export const warn = (what: string) => (error: { readonly message: string }) =>
  Effect.annotateLogs(Effect.logWarning(`${what}: ${error.message}`), { module: "DurableRuns" })

/** How often and how long a state of a run is written again. */
const again = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(6))

export const keepState = (store: RunStore.Service): AgentWorkflow.Registry["onState"] => {
  return (runId, state, outcome, guard = unguarded) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const to = state === "ended" ? stateOf(outcome) : state
      const error = outcome?._tag === "Failed" ? outcome.failure.info : undefined
      const notUndone = outcome === undefined || outcome._tag === "Completed" ? undefined : outcome.notUndone
      const write = store.update(runId, { from: OPEN, to, at, ...(error === undefined ? {} : { error }), notUndone })
      return guard(write).pipe(
        Effect.retry(again),
        Effect.asVoid,
        Effect.catchAll(warn(`the state ${to} of the run was not stored`))
      )
    })
}

/** The most sleeping runs that one look asks about: the work does not grow with those that sleep. */
const MOST_ASKED = 50

/**
 * Looks whether what sleeping runs of this process wait for is there, for some of them in turn. Answers that are given
 * in this process wake their run without it.
 */
export const lookAround = (engine: WorkflowEngine["Type"], { waits }: AgentWorkflow.Registry): Effect.Effect<void> =>
  Effect.suspend(() => {
    const asked: Array<readonly [string, Map<string, Effect.Effect<boolean>>]> = []
    for (const entry of waits) {
      if (asked.length === MOST_ASKED) break
      asked.push(entry)
    }
    for (const [runId, names] of asked) {
      waits.delete(runId)
      waits.set(runId, names)
    }
    return Effect.forEach(
      asked,
      ([runId, names]) =>
        Effect.flatMap(
          Effect.exists(Array.from(names.values()), (pending) => pending),
          (isThere) => (isThere ? wake(engine, runId) : Effect.void)
        ),
      { discard: true }
    )
  })

/** Runs that slept when their last process ended look once for what they wait for. */
export const wakeAll = (engine: WorkflowEngine["Type"], store: RunStore.Service): Effect.Effect<void> =>
  Effect.gen(function* () {
    let cursor: string | undefined
    do {
      const page: RunStore.Page = yield* SystemAccess.grant(store.list({ states: ["waiting"], limit: 500, cursor }))
      yield* Effect.forEach(page.records, ({ runId }) => wake(engine, runId), { discard: true })
      cursor = page.next
    } while (cursor !== undefined)
  }).pipe(Effect.catchAll(warn("sleeping runs could not be read")))

/** Wakes runs while the scope is open: those whose answer is there, and once those that slept before. */
export const keepGoing = ({
  engine,
  pending,
  registry,
  store
}: {
  readonly engine: WorkflowEngine["Type"]
  readonly registry: AgentWorkflow.Registry
  readonly store: RunStore.Service
  readonly pending: PendingApprovals.Service
}): Effect.Effect<void, never, Scope.Scope> => {
  const { poll } = registry
  const settled = SystemAccess.grant(pending.expire).pipe(
    Effect.ignoreLogged,
    Effect.zipRight(lookAround(engine, registry)),
    Effect.schedule(Schedule.spaced(poll)),
    Effect.delay(poll)
  )
  const answered = Stream.runForEach(
    Stream.filter(pending.changes(), ({ _tag }) => _tag === "Settled"),
    ({ record: { request } }) => wake(engine, request.rootRunId ?? request.runId)
  ).pipe(Effect.catchAll(warn("answers are not followed")), SystemAccess.grant)
  return Effect.forEach(
    [settled, answered, wakeAll(engine, store)],
    (upkeep) => Effect.forkScoped(Effect.interruptible(upkeep)),
    { discard: true }
  )
}

/**
 * One attempt at a durable run, from its begin to its end, its sleep or the end of its process.
 *
 * @private
 * @since 0.1.0
 */
import * as DurableClock from "@effect/workflow/DurableClock"
import { WorkflowEngine, WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as AgentExecutor from "../agent/AgentExecutor.js"
import type { Agent, Any as AnyAgent } from "../agent/definition/AgentDefinition.js"
import { notUndoneOf } from "../agent/record/RunRecord.js"
import * as RunAdmission from "../agent/runs/RunAdmission.js"
import { type AgentEvent, isTerminal } from "../domain/AgentEvent.js"
import type { AgentResponse } from "../domain/AgentResponse.js"
import { type ErrorInfo, errorInfo } from "../domain/ErrorInfo.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import { RunId } from "../domain/Ids.js"
import * as SystemAccess from "../domain/SystemAccess.js"
import * as Permits from "../internal/fiber/Permits.js"
import * as RunJournal from "../observability/journal/RunJournal.js"
import * as StepTooLargeError from "../observability/journal/StepTooLargeError.js"
import type * as RunLog from "../observability/RunLog.js"
import * as Step from "../observability/Step.js"
import * as Compensations from "../tool/definition/Compensations.js"
import {
  fromKept,
  interruption,
  type Outcome,
  type Payload,
  payloadsOf,
  type Registry,
  toStored
} from "./AgentWorkflow.js"
import * as ReadRecords from "./engine/ReadRecords.js"
import * as FencedRuns from "./FencedRuns.js"
import * as JournalEvents from "./JournalEvents.js"
import * as RecordedSteps from "./RecordedSteps.js"
import * as RecordedTime from "./RecordedTime.js"
import { lost, ReplayError } from "./ReplayError.js"
import * as RunForks from "./RunForks.js"

const requestOf = (payload: Payload): AgentExecutor.AgentRequest => ({
  input: payload.input,
  runId: payload.runId,
  sessionId: payload.sessionId,
  userId: payload.userId,
  tenantId: payload.tenantId,
  classifications: payload.classifications,
  settings: payload.settings,
  policy: payload.policy,
  clientTools: payload.clientTools,
  history: payload.history,
  startWith: payload.startWith
})

/** The last event of a run that has none of its own: it went astray, or its agent never ran here. */
const ending = (
  log: RunLog.Service,
  { agent, runId }: Payload,
  error: ErrorInfo,
  interrupted: boolean
): Effect.Effect<void> =>
  JournalEvents.untilTaken(
    Effect.gen(function* () {
      const id = RunId.make(runId)
      const last = (yield* JournalEvents.readAll(log, id)).at(-1)
      const at = yield* Clock.currentTimeMillis
      const event: AgentEvent = {
        _tag: "Error",
        runId: id,
        agent,
        seq: (last?.seq ?? -1) + 1,
        at,
        interrupted,
        error
      }
      if (last === undefined || !isTerminal(last)) yield* log.append([event])
    })
  )

const outcomeOf = (
  { failures }: Registry,
  agent: AnyAgent,
  exit: Exit.Exit<AgentResponse<unknown>, unknown>
): Effect.Effect<Outcome> => {
  if (Exit.isSuccess(exit)) {
    const { output } = agent.definition
    return output === undefined
      ? Effect.succeed({ _tag: "Completed" })
      : Effect.map(Effect.orDie(output.encode(exit.value.output)), (encoded) => ({
          _tag: "Completed",
          output: encoded
        }))
  }
  const failure = Cause.failureOption(exit.cause)
  if (Option.isSome(failure)) return Effect.succeed({ _tag: "Failed", failure: failures.encode(failure.value) })
  if (Cause.isInterruptedOnly(exit.cause)) return Effect.succeed({ _tag: "Interrupted" })
  const tooLarge = StepTooLargeError.inCause(exit.cause)
  if (tooLarge !== undefined) return Effect.succeed({ _tag: "Failed", failure: failures.encode(tooLarge) })
  return Effect.as(Effect.annotateLogs(Effect.logError("a durable run crashed", exit.cause), { module: "Durable" }), {
    _tag: "Failed",
    failure: { info: { tag: "Defect", message: "The run crashed: a bug, not a failure" } }
  })
}

const missing = ({ agent, version }: Payload): ReplayError =>
  new ReplayError({
    step: "begin",
    message: `The run began with the agent "${agent}"${version === undefined ? "" : ` in version "${version}"`}, which this process does not have`,
    hint: "Register the versions that runs may have begun with, until those runs have ended"
  })

type Instance = WorkflowInstance["Type"]

class Attempt {
  /** What the record says, and what it is to say. */
  private stored: "running" | "waiting" | undefined
  private state: "running" | "waiting" = "running"
  /** One write at a time: an older state would be written over a newer one. */
  private readonly oneAtATime = Permits.make(1)
  /** Requests to people that are open. */
  private readonly requests = new Set<string>()
  private readonly interrupting = Deferred.unsafeMake<void>(FiberId.none)
  /** The calls that should be undone and are not. */
  private readonly left: Array<Compensations.NotUndone> = []
  private isEnding = false
  /** Whether a part of the run has left something to the process that goes on with it. */
  isLeft = false
  readonly events: JournalEvents.JournalEvents
  readonly recording: RecordedSteps.Recording

  constructor(
    private readonly registry: Registry,
    private readonly payload: Payload,
    private readonly engine: WorkflowEngine["Type"],
    private readonly instance: Instance,
    services: Pick<RecordedSteps.Recording, "clock" | "random" | "payloads">,
    source: JournalEvents.Source | undefined
  ) {
    registry.waits.delete(payload.runId)
    this.events = JournalEvents.make(registry, (event) => this.noted(event), RunId.make(payload.runId), source)
    const { adopted, isShared } = this.events
    this.recording = {
      ...services,
      engine,
      failures: registry.failures,
      isClosing: () => {
        this.isLeft ||= registry.isClosing()
        return this.isLeft
      },
      astray: undefined,
      replayed: this.events.replayed,
      commit: this.events.commit,
      shared: source === undefined ? undefined : { adopted, isShared, result: source.result },
      reads: registry.journal === undefined ? undefined : ReadRecords.make(registry.journal, instance.executionId),
      guard: FencedRuns.writes(registry.fence, instance),
      onWaiting: (name, pending) => this.sleeps(name, pending),
      onEnding: (runId) => {
        if (runId === payload.runId) this.isEnding = true
      }
    }
  }

  /** Writes the state again where that was interrupted: a run that sleeps interrupts its own fiber. */
  readonly stateKept: Effect.Effect<void> = this.oneAtATime(
    Effect.suspend(() => {
      const { state } = this
      if (state === this.stored) return Effect.void
      return Effect.map(this.registry.onState(this.payload.runId, state), () => {
        this.stored = state
      })
    })
  )

  become(to: "running" | "waiting"): Effect.Effect<void> {
    this.state = to
    return this.stateKept
  }

  /** The record says whether a person must answer before the run goes on. */
  private noted(event: AgentEvent): Effect.Effect<void> | undefined {
    const { requests } = this
    this.registry.onEvent(this.payload.runId)
    if (event._tag === "ApprovalRequested" || event._tag === "QuestionAsked") requests.add(event.id)
    else if (event._tag === "ApprovalResolved" || event._tag === "QuestionAnswered") requests.delete(event.id)
    else return undefined
    const to = requests.size > 0 ? "waiting" : "running"
    return to === this.state ? undefined : this.become(to)
  }

  private readonly isInterrupted = Effect.suspend(() =>
    Effect.map(
      Effect.provideService(this.engine.deferredResult(interruption), WorkflowInstance, this.instance),
      (exit) => exit !== undefined
    )
  )

  private sleeps(name: string, pending: Effect.Effect<boolean>): Effect.Effect<void> {
    const { waits } = this.registry
    const { runId } = this.payload
    return Effect.flatMap(this.isInterrupted, (isInterrupted) => {
      this.requests.add(name)
      if (isInterrupted) return Effect.zipRight(this.interrupt, Effect.never)
      const names = waits.get(runId) ?? new Map<string, Effect.Effect<boolean>>()
      waits.set(runId, names.set(name, pending))
      return this.become("waiting")
    })
  }

  readonly interrupt: Effect.Effect<void> = Effect.suspend(() =>
    Effect.asVoid(Deferred.succeed(this.interrupting, undefined))
  )

  /** Completes when this or another process wants the run to end, unless it ends already. */
  private get interrupted(): Effect.Effect<void> {
    const { poll } = this.registry
    const look = Effect.flatMap(this.isInterrupted, (is) => (is ? this.interrupt : Effect.void))
    const looking = Effect.delay(Effect.schedule(look, Schedule.spaced(poll)), poll)
    const wanted = Effect.raceFirst(Deferred.await(this.interrupting), Effect.zipRight(looking, Effect.never))
    return Effect.zipRight(
      wanted,
      Effect.suspend(() => (this.isEnding ? Effect.never : Effect.void))
    )
  }

  /** Runs the agent in a fiber of its own: one that is suspended interrupts itself. */
  readonly run = (
    agent: AnyAgent
  ): Effect.Effect<Exit.Exit<AgentResponse<unknown>, unknown>, never, AgentExecutor.AgentExecutor> => {
    const { live } = this.registry
    const { payload } = this
    const run = AgentExecutor.run(agent as Agent<unknown, unknown, never>, requestOf(payload)).pipe(
      Effect.provideService(Step.Step, RecordedSteps.make(this.recording, this.instance)),
      Effect.provideService(Step.Place, Step.makePlace("", { at: payload.startedAt, shorten: RecordedSteps.shorten })),
      Effect.provideService(IdGenerator.IdGenerator, RecordedTime.ids(payload.runId)),
      Effect.provideService(RunJournal.RunJournal, this.events.service),
      Effect.provideService(Compensations.Reported, (calls) => void this.left.push(...calls)),
      Effect.withClock(RecordedTime.clock(this.recording.clock)),
      Effect.withRandom(RecordedTime.random(payload.runId)),
      payload.system === true ? SystemAccess.grant : SystemAccess.drop
    )
    return Effect.acquireUseRelease(
      Effect.tap(Effect.forkDaemon(Effect.interruptible(run)), () =>
        Effect.sync(() => live.set(payload.runId, { interrupt: this.interrupt }))
      ),
      (fiber) =>
        Effect.raceFirst(
          Fiber.await(fiber),
          Effect.zipRight(this.interrupted, Effect.zipRight(Fiber.interruptFork(fiber), Fiber.await(fiber)))
        ),
      (fiber) =>
        Effect.zipRight(
          Fiber.interrupt(fiber),
          Effect.sync(() => live.delete(payload.runId))
        )
    )
  }

  /** The end of the run with what is not undone. */
  readonly complete = (outcome: Outcome): Outcome =>
    outcome._tag === "Completed" || this.left.length === 0 ? outcome : { ...outcome, notUndone: notUndoneOf(this.left) }

  /** Takes back what the run has asked and nobody has answered. */
  get withdrawn(): Effect.Effect<void> {
    return Effect.forEach(this.requests, this.registry.withdraw, { discard: true })
  }
}

/** Ends a run that cannot go on. */
const failed = (registry: Registry, payload: Payload, error: ReplayError): Effect.Effect<Outcome> =>
  Effect.zipRight(
    ending(registry.log, payload, errorInfo(error), false),
    Effect.suspend(() => {
      const outcome: Outcome = { _tag: "Failed", failure: registry.failures.encode(error) }
      return Effect.as(registry.onState(payload.runId, "ended", outcome), outcome)
    })
  )

/** Ends a run that is interrupted where its agent is not. What it has done cannot be undone here, so it fails then. */
const interruptedThere = (registry: Registry, payload: Payload): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const events = yield* JournalEvents.known(registry.log, RunId.make(payload.runId))
    if (events.length > 0) return yield* failed(registry, payload, missing(payload))
    const outcome: Outcome = { _tag: "Interrupted" }
    yield* ending(registry.log, payload, { tag: "InterruptedError", message: "The run was interrupted" }, true)
    yield* registry.onState(payload.runId, "ended", outcome)
    return outcome
  })

/** The longest time between two looks for a process that has the agent of a run. */
const LONGEST_LOOK = Duration.seconds(10)

/**
 * Leaves the run to a process that has its agent: it sleeps on a clock of the engine, and the process that wakes it
 * looks for the agent again. Ends it if nobody has, or if it is to be interrupted.
 */
const withoutAgent = (
  registry: Registry,
  payload: Payload
): Effect.Effect<Outcome, never, WorkflowEngine | WorkflowInstance> =>
  Effect.gen(function* () {
    const { agent, runId, version } = payload
    const engine = yield* WorkflowEngine
    const patience = Duration.toMillis(registry.waitForAgent)
    let waited = 0
    for (let look = 0; waited < patience; look++) {
      if ((yield* engine.deferredResult(interruption)) !== undefined) return yield* interruptedThere(registry, payload)
      const duration = Duration.min(Duration.times(registry.poll, 2 ** look), LONGEST_LOOK)
      waited += Duration.toMillis(duration)
      const clock = DurableClock.make({ name: `agent~${look}`, duration })
      if ((yield* engine.deferredResult(clock.deferred)) !== undefined) continue
      if (look === 0) {
        yield* Effect.annotateLogs(
          Effect.logWarning("A run waits for a process that has its agent", { agent, version }),
          { module: "DurableRuns", run: runId }
        )
      }
      yield* registry.onState(runId, "waiting")
      yield* DurableClock.sleep({ name: clock.name, duration, inMemoryThreshold: 1 })
    }
    return yield* failed(registry, payload, missing(payload))
  })

/** Makes the attempt. */
export const execute = (
  given: Registry,
  begun: Payload
): Effect.Effect<Outcome, never, WorkflowEngine | WorkflowInstance | AgentExecutor.AgentExecutor> =>
  Effect.gen(function* () {
    const instance = yield* WorkflowInstance
    const registry = FencedRuns.of(given, given.fence, instance)
    const found = registry.find(begun.agent, begun.version)
    if (found === undefined) return yield* withoutAgent(registry, begun)
    const payloads = payloadsOf(registry, instance.executionId, begun)
    const read = yield* Effect.either(fromKept(payloads, begun))
    if (Either.isLeft(read)) return yield* failed(registry, begun, new ReplayError(lost("begin", read.left)))
    const payload = read.right
    const services = { clock: yield* Effect.clock, random: yield* Effect.random }
    const source = payload.fork === undefined ? undefined : yield* RunForks.source(registry, payload.fork, payloads)
    const attempt = new Attempt(registry, payload, yield* WorkflowEngine, instance, { ...services, payloads }, source)
    yield* attempt.stateKept
    const agent = yield* RunAdmission.requestedOf(found.agent, payload)
    const exit = yield* attempt.run(agent)
    const { astray } = attempt.recording
    if (astray !== undefined) return yield* failed(registry, payload, astray)
    if (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause) && (instance.suspended || registry.isClosing())) {
      if (instance.suspended) yield* attempt.become("waiting")
      return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
    }
    // The engine interrupts the run next.
    if (attempt.isLeft) return yield* Effect.never
    const outcome = attempt.complete(yield* outcomeOf(registry, agent, exit))
    yield* attempt.withdrawn
    yield* attempt.events.written
    const stored = yield* toStored(payloads, outcome)
    yield* registry.onState(payload.runId, "ended", outcome)
    return stored
  })

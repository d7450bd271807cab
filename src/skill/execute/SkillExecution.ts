/**
 * The steps of an execution in order: permissions, parameters, confirmation, cache, attempts.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId, type UserId } from "../../domain/Ids.js"
import * as Run from "../../observability/Run.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import * as SecretParams from "../../tool/definition/SecretParams.js"
import * as ToolArguments from "../../tool/definition/ToolArguments.js"
import type { SkillError } from "../definition/SkillError.js"
import * as SkillFailure from "../definition/SkillFailure.js"
import type { SkillMetrics } from "../definition/SkillMetrics.js"
import type * as PermissionChecker from "./PermissionChecker.js"
import * as SkillAttempts from "./SkillAttempts.js"
import type { Flights } from "./SkillFlight.js"
import { type Frame, USER } from "./SkillFrame.js"
import type * as SkillResultCache from "./SkillResultCache.js"

/**
 * The executor's services and settings for the steps.
 *
 * @category models
 */
export interface Engine extends SkillAttempts.Policy {
  readonly checker: PermissionChecker.Service
  readonly cache: SkillResultCache.Service
  readonly cacheTtl: Duration.DurationInput | undefined
  readonly gate: ApprovalGate.Service
  readonly flights: Flights<Done, SkillFailure.Failed>
}

/**
 * One execution in progress.
 *
 * @category models
 */
export interface Execution extends SkillAttempts.Executing {
  readonly run: Run.Service
  readonly clock: Clock.Clock
  /** Whether parameters and result are typed values; otherwise they are JSON, unchecked on input. */
  readonly isTyped: boolean
  readonly isConfirmed: boolean
  readonly metrics: SkillMetrics | undefined
  /** Milliseconds spent waiting for confirmation. */
  waited: number
}

/**
 * @category models
 */
export interface Done extends SkillAttempts.Made {
  readonly cached: boolean
}

type Steps = Effect.Effect<Done, SkillFailure.Failed, any>

/** Limits nesting; deeper executions are taken for a bug. */
const maxDepth = 32

/**
 * @category combinators
 */
export const steps = (engine: Engine, execution: Execution, given: unknown): Steps => {
  const { frame, isTyped, skill } = execution
  if (frame.depth > maxDepth) return refuse(execution, SkillFailure.tooDeep(skill.definition.name, frame.depth))
  return authorised(engine, execution, () => {
    if (skill.problem !== undefined) return refuse(execution, skill.problem)
    const next: Next = (params, json) => confirmed(engine, execution, params, json)
    return isTyped ? checked(execution, given, next) : decoded(execution, given, next)
  })
}

/** Continues with decoded parameters; `json` returns their JSON form, or `undefined` if there is none. */
type Next = (params: unknown, json: () => unknown) => Steps

/**
 * @category combinators
 */
export const refuse = (execution: Execution, error: SkillError): Effect.Effect<never, SkillFailure.Failed> =>
  Effect.fail(new SkillFailure.Failed(error, execution.skill.definition.name, execution.attempt))

const authorised = (engine: Engine, execution: Execution, next: () => Steps): Steps => {
  const { context, frame, skill } = execution
  const { checker } = engine
  const { name, permissions } = skill.definition
  if (permissions.length === 0) return next()
  frame.require(permissions)
  if (!checker.enforced) return next()
  const { sessionId, userId } = context
  if (!userId) return refuse(execution, SkillFailure.nobody(skill.definition))
  const asked = Effect.suspend(() =>
    checker.missing({
      userId,
      skillName: name,
      required: permissions,
      ...(sessionId === undefined ? {} : { sessionId })
    })
  )
  return Effect.matchCauseEffect(asked, {
    onSuccess: (missing) =>
      missing.length === 0 ? next() : refuse(execution, SkillFailure.lacking(skill.definition, missing)),
    // If the check itself fails, the execution is refused.
    onFailure: (cause) =>
      isInterruption(cause)
        ? Effect.failCause(cause)
        : refuse(execution, SkillFailure.unchecked(skill.definition, Cause.squash(cause)))
  })
}

const isInterruption = (cause: Cause.Cause<unknown>): cause is Cause.Cause<never> => Cause.isInterruptedOnly(cause)

const decoded = (execution: Execution, given: unknown, next: Next): Steps => {
  const { definition, erased } = execution.skill
  const args = ToolArguments.normalise(given, definition.parametersSchema)
  const go = (params: unknown) => next(params, () => erased.encodeParams(params))
  const first = erased.decode(args)
  if (Either.isEither(first) && Either.isRight(first)) return go(first.right)
  const invalid = (issues: ReadonlyArray<string>) =>
    refuse(execution, SkillFailure.invalidParams(definition.name, issues))
  return Effect.matchEffect(first, {
    onSuccess: go,
    onFailure: (issues) => {
      const without = ToolArguments.withoutNulls(args, definition.parametersSchema)
      if (without === args) return invalid(issues)
      return Effect.matchEffect(erased.decode(without), { onSuccess: go, onFailure: invalid })
    }
  })
}

const checked = (execution: Execution, params: unknown, next: Next): Steps => {
  const { definition, erased } = execution.skill
  const encoded = erased.encodeParams(params)
  const go = () => next(params, () => encoded)
  const invalid = (issues: ReadonlyArray<string>) =>
    refuse(execution, SkillFailure.invalidParams(definition.name, issues))
  if (encoded === undefined) return invalid(["They do not match their schema"])
  if (encoded !== params) return go()
  // Parameters equal to their JSON form may not have been validated yet.
  const checked = erased.decode(params)
  if (Either.isEither(checked) && Either.isRight(checked)) return go()
  return Effect.matchEffect(checked, { onSuccess: go, onFailure: invalid })
}

/**
 * A confirmation is asked for on every execution, before the cache is read. Without one a cached result needs no
 * confirmation.
 */
const confirmed = (engine: Engine, execution: Execution, params: unknown, json: () => unknown): Steps => {
  const { definition, erased } = execution.skill
  if (execution.isConfirmed || !erased.needsConfirmation(params as never)) {
    return reused(engine, execution, params, json)
  }
  return Effect.matchCauseEffect(ask(engine, execution, json() ?? params), {
    onSuccess: (decision) => {
      if (decision._tag === "Denied")
        return refuse(execution, SkillFailure.unconfirmed(definition.name, decision.reason))
      return decision.params === undefined
        ? reused(engine, execution, params, json)
        : decoded(execution, decision.params, (params, json) => reused(engine, execution, params, json))
    },
    onFailure: (cause) =>
      isInterruption(cause)
        ? Effect.failCause(cause)
        : refuse(execution, SkillFailure.unasked(definition.name, Cause.squash(cause)))
  })
}

const ask = (engine: Engine, execution: Execution, params: unknown): Effect.Effect<ApprovalGate.ApprovalDecision> => {
  const { clock, run } = execution
  const waiting = Effect.acquireUseRelease(
    Effect.sync(() => clock.unsafeCurrentTimeMillis()),
    () => requested(engine, execution, params),
    (from) =>
      Effect.sync(() => {
        execution.waited += clock.unsafeCurrentTimeMillis() - from
      })
  )
  return Effect.flatMap(waiting, (asked) => Effect.as(emitResolution(run, asked), asked.decision))
}

interface Asked {
  readonly id: string
  readonly toolCallId: string
  readonly decision: ApprovalGate.ApprovalDecision
}

const requested = (engine: Engine, execution: Execution, params: unknown): Effect.Effect<Asked> =>
  Effect.gen(function* () {
    const { context, run } = execution
    const { name } = execution.skill.definition
    const id = yield* IdGenerator.generate
    const requester = yield* ApprovalGate.Requester
    const userId = context.userId ?? requester.userId
    const sessionId = context.sessionId ?? requester.sessionId
    const isInRun = Run.isCurrent(run)
    const toolCallId = execution.id ?? id
    const asked = Effect.suspend(() =>
      ApprovalGate.ask(engine.gate, {
        id,
        // Outside a run the request has an id of its own.
        runId: isInRun ? run.runId : RunId.make(id),
        ...(isInRun ? { rootRunId: run.rootRunId } : {}),
        ...(userId === undefined ? {} : { userId }),
        ...(sessionId === undefined ? {} : { sessionId }),
        agent: run.agent,
        toolCallId,
        tool: name,
        params
      })
    )
    const secret = SecretParams.namesOfSchema(execution.skill.definition.parametersSchema)
    const wait = run.unsafeEmit({
      _tag: "ApprovalRequested",
      id,
      toolCallId,
      name,
      params,
      ...(secret === undefined ? {} : { secret })
    })
    const decision = yield* Run.emitMeanwhile(wait, asked)
    return { id, toolCallId, decision }
  })

const emitResolution = (run: Run.Service, { decision, id, toolCallId }: Asked): Effect.Effect<void> =>
  run.emit({
    _tag: "ApprovalResolved",
    id,
    toolCallId,
    approved: decision._tag === "Approved",
    ...(decision._tag === "Denied" && decision.reason !== undefined ? { reason: decision.reason } : {})
  })

const reused = (engine: Engine, execution: Execution, params: unknown, json: () => unknown): Steps => {
  const { context, skill } = execution
  const { definition } = skill
  const { cache } = engine
  if (!definition.cacheable || !cache.enabled) return executed(engine, execution, params)
  // Inside a user's run, an execution without a user belongs to that user.
  return context.userId === undefined
    ? Effect.flatMap(ApprovalGate.Requester, ({ userId }) => reusedFor(engine, execution, params, json, userId))
    : reusedFor(engine, execution, params, json, context.userId)
}

const reusedFor = (
  engine: Engine,
  execution: Execution,
  params: unknown,
  json: () => unknown,
  userId: UserId | undefined
): Steps => {
  const { frame, skill } = execution
  const { definition } = skill
  const { cache } = engine
  const slot = cache.slot({ definition, params: json(), ...(userId === undefined ? {} : { userId }) })
  if (slot === undefined) return executed(engine, execution, params)
  if (slot.scope === "user") frame.parent?.touch(USER)
  const { flights } = engine
  const lookUp = (otherwise: (found: SkillResultCache.Found) => Steps): Steps =>
    Effect.flatMap(cache.get(slot), (found) => {
      if (Option.isNone(found.output)) return otherwise(found)
      const encoded = found.output.value
      if (!execution.isTyped) return Effect.succeed({ value: encoded, encoded, cached: true })
      return Effect.catchAll(reading(execution, encoded), () => otherwise(found))
    })
  const execute = (found: SkillResultCache.Found): Steps => executeAndCache(engine, execution, params, slot, found)
  const again = Effect.suspend(() => lookUp(execute))
  const share = (effect: Steps): Steps =>
    flights.share(slot.key, frame, {
      effect,
      join: (exit, leader) => {
        if (!isFor(execution, leader, slot)) return undefined
        return Exit.isFailure(exit) ? exit : Effect.catchAll(reading(execution, exit.value.encoded), () => again)
      }
    })
  if (flights.isUnderWay(slot.key)) return share(again)
  const { landed } = flights
  return lookUp((found) =>
    // The cache may hold the result by now.
    share(Effect.suspend(() => (flights.landed === landed ? execute(found) : again)))
  )
}

/** A shared result must depend only on what both executions have in common. */
const isFor = ({ context }: Execution, leader: Frame, slot: SkillResultCache.Slot): boolean =>
  isOfKey(leader, slot) || (leader.context.userId === context.userId && leader.context.sessionId === context.sessionId)

const isOfKey = ({ dependsOn }: Frame, slot: SkillResultCache.Slot): boolean =>
  (slot.scope === "user" ? dependsOn & ~USER : dependsOn) === 0

/** A cached or shared result in the requested form. Fails if it no longer fits the schema. */
const reading = (execution: Execution, encoded: unknown): Effect.Effect<Done, string> => {
  if (!execution.isTyped) return Effect.succeed({ value: encoded, encoded, cached: true })
  return Effect.map(
    SkillAttempts.guarded(() => execution.skill.erased.decodeResult(encoded)),
    (value): Done => ({ value, encoded, cached: true })
  )
}

const executeAndCache = (
  engine: Engine,
  execution: Execution,
  params: unknown,
  slot: SkillResultCache.Slot,
  found: SkillResultCache.Found
): Steps => {
  execution.metrics?.missed()
  return Effect.flatMap(executed(engine, execution, params), (done) =>
    isOfKey(execution.frame, slot)
      ? Effect.as(engine.cache.set(slot, done.encoded, found, engine.cacheTtl), done)
      : Effect.succeed(done)
  )
}

const executed = (engine: Engine, execution: Execution, params: unknown): Steps =>
  Effect.map(
    SkillAttempts.run(engine, execution, params),
    ({ encoded, value }): Done => ({ value, encoded, cached: false })
  )

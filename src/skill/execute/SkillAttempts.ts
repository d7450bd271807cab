/**
 * Runs the attempts of an execution: each in a slot and under its timeout, retried where that may help.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as SystemGrant from "../../internal/fiber/SystemGrant.js"
import * as Tool from "../../tool/definition/Tool.js"
import type * as Skill from "../definition/Skill.js"
import type * as SkillCall from "../definition/SkillCall.js"
import {
  SkillConfirmationDeniedError,
  SkillNotFoundError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillValidationError
} from "../definition/SkillError.js"
import * as SkillFailure from "../definition/SkillFailure.js"
import type { SkillMetrics } from "../definition/SkillMetrics.js"
import { type Frame, SESSION, USER } from "./SkillFrame.js"
import type { Limits, Place } from "./SkillLimits.js"

/**
 * The executor's settings for attempts.
 *
 * @category models
 */
export interface Policy {
  /** Milliseconds; `undefined`: no limit. */
  readonly timeout: number | undefined
  readonly maxRetries: number
  readonly jitter: boolean
  readonly limits: Limits
}

/**
 * The execution as its attempts see it.
 *
 * @category models
 */
export interface Executing {
  readonly skill: Skill.Any
  readonly context: SkillCall.SkillContext
  readonly frame: Frame
  readonly metrics: SkillMetrics | undefined
  /** Executes the skills inside this one. */
  readonly nested: Skill.Run
  id: string | undefined
  /** The current attempt, from 1; 0 before the first. */
  attempt: number
}

/**
 * A result: the handler's value and its JSON form.
 *
 * @category models
 */
export interface Made {
  readonly value: unknown
  readonly encoded: unknown
}

/**
 * @category combinators
 */
export const run = (
  policy: Policy,
  executing: Executing,
  params: unknown
): Effect.Effect<Made, SkillFailure.Failed, any> => {
  if (executing.id !== undefined) return attempt(policy, executing, params, 1)
  return Effect.flatMap(IdGenerator.generate, (id) => {
    executing.id = id
    return attempt(policy, executing, params, 1)
  })
}

const attempt = (
  policy: Policy,
  executing: Executing,
  params: unknown,
  number: number
): Effect.Effect<Made, SkillFailure.Failed, any> => {
  const one: One = { policy, executing, params, number }
  executing.attempt = number
  return Effect.matchCauseEffect(inPlace(one), {
    onSuccess: (value) => checked(executing, value),
    onFailure: (cause) => failed(one, cause)
  })
}

/** One attempt. */
interface One {
  readonly policy: Policy
  readonly executing: Executing
  readonly params: unknown
  readonly number: number
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The slot is taken and released in one uninterruptible region, so that it is released exactly once. */
const inPlace = (one: One): Effect.Effect<unknown, unknown, any> =>
  Effect.uninterruptibleMask((restore) => {
    const { executing, number, policy } = one
    const { frame, skill } = executing
    const { limits } = policy
    const place = limits.enter(skill.definition, frame.needs(limits, skill.erased.uses === undefined))
    if (place.state === "held") return runInPlace(one, place, restore)
    if (place.state === "refused") {
      const { name } = skill.definition
      return Effect.fail(new SkillFailure.Failed(SkillFailure.entangled(name), name, number))
    }
    return Effect.matchCauseEffect(restore(limits.granted(place)), {
      onSuccess: () => runInPlace(one, place, restore),
      onFailure: (cause) => {
        limits.leave(place)
        return Effect.failCause(cause)
      }
    })
  })

const runInPlace = (one: One, place: Place, restore: Restore): Effect.Effect<unknown, unknown, any> => {
  const { frame } = one.executing
  const leave = (): void => {
    frame.place = undefined
    one.policy.limits.leave(place)
  }
  frame.place = place
  return Effect.matchCauseEffect(restore(Deadline.run(() => handled(one), deadlineOf(one))), {
    onSuccess: (value) => {
      leave()
      return Effect.succeed(value)
    },
    onFailure: (cause) => {
      leave()
      return Effect.failCause(cause)
    }
  })
}

const handled = (one: One): Effect.Effect<unknown, unknown, any> => {
  const { executing, params } = one
  const result: unknown = executing.skill.erased.handle(params as never, callOf(executing), executing.nested)
  return Effect.isEffect(result)
    ? SystemGrant.drop(result as Effect.Effect<unknown, unknown, any>)
    : Effect.die(new TypeError("the handler did not return an Effect"))
}

/** A result that depends on the user or session cannot be shared, so reading either is recorded. */
const callOf = ({ attempt, context, frame, id, skill }: Executing): SkillCall.SkillCall => {
  const { sessionId, userId } = context
  const call = { skillName: skill.definition.name, id: id as string, attempt }
  if (userId === undefined && sessionId === undefined) return call
  return Object.defineProperties(call, {
    ...(userId === undefined ? {} : { userId: noted(frame, USER, userId) }),
    ...(sessionId === undefined ? {} : { sessionId: noted(frame, SESSION, sessionId) })
  })
}

const noted = (frame: Frame, what: number, value: string): PropertyDescriptor => ({
  enumerable: true,
  get: () => {
    frame.touch(what)
    return value
  }
})

/** The parts of a composite have their own limits: a limit around them all applies only if requested. */
const timeoutOf = ({ executing, policy }: One): number | undefined => {
  const { definition, erased } = executing.skill
  const { timeoutSeconds } = definition
  if (timeoutSeconds === undefined) return erased.uses === undefined ? policy.timeout : undefined
  return Number.isFinite(timeoutSeconds) ? timeoutSeconds * 1000 : undefined
}

const deadlineOf = (one: One): Deadline.Options<SkillTimeoutError> => {
  const millis = timeoutOf(one)
  const { name } = one.executing.skill.definition
  const onTimeout = () => SkillFailure.timedOut(name, millis as number)
  return { whole: millis, pausable: true, onTimeout }
}

const checked = (executing: Executing, value: unknown): Effect.Effect<Made, SkillFailure.Failed> => {
  const { definition, erased } = executing.skill
  const encoded = guarded(() => erased.encode(value))
  if (Either.isEither(encoded) && Either.isRight(encoded)) return Effect.succeed({ value, encoded: encoded.right })
  return Effect.mapBoth(encoded, {
    onSuccess: (encoded): Made => ({ value, encoded }),
    onFailure: (issue) =>
      new SkillFailure.Failed(SkillFailure.invalidResult(definition.name, issue), definition.name, executing.attempt)
  })
}

/** An error thrown by a user's function is a defect of its skill. */
export const guarded = <A, E>(f: () => Effect.Effect<A, E>): Effect.Effect<A, E> => {
  try {
    return f()
  } catch (defect) {
    return Effect.die(defect)
  }
}

/** Refusals by the executor, of this or an inner execution: a retry would fail the same way. */
const isFinal = (error: unknown): boolean =>
  error instanceof SkillValidationError ||
  error instanceof SkillPermissionDeniedError ||
  error instanceof SkillConfirmationDeniedError ||
  error instanceof SkillNotFoundError

const isWorthAnother = ({ executing }: One, error: unknown): boolean => {
  const { definition, erased } = executing.skill
  if (isFinal(error)) return false
  // Also a timeout of an inner skill: it is unknown whether that had an effect.
  if (error instanceof SkillTimeoutError) return definition.idempotent
  if (erased.isRetryable !== undefined) return erased.isRetryable(error)
  return definition.maxRetries !== undefined || Tool.isConnectionFailure(error)
}

const failed = (one: One, cause: Cause.Cause<unknown>): Effect.Effect<Made, SkillFailure.Failed, any> => {
  const { executing, number, params, policy } = one
  const { definition } = executing.skill
  const failure = Cause.failureOption(cause)
  // Reached when the handler crashed or interrupted itself; an interrupted execution never gets here.
  if (Option.isSome(Cause.dieOption(cause)) || Option.isNone(failure))
    return Effect.failCause(Cause.stripFailures(cause))
  const error = failure.value
  // A failure of the executor itself.
  if (error instanceof SkillFailure.Failed) return Effect.fail(error)
  const retries = definition.maxRetries ?? policy.maxRetries
  if (number > retries || !isWorthAnother(one, error)) {
    return Effect.fail(new SkillFailure.Failed(error, definition.name, number))
  }
  return Effect.flatMap(wait(number - 1, policy.jitter), () => {
    executing.metrics?.retried()
    return attempt(policy, executing, params, number + 1)
  })
}

/** 1 s, 2 s, 4 s, …, at most 30 s; with jitter between half and all of it. */
const wait = (attempt: number, jitter: boolean): Effect.Effect<void> => {
  const millis = Math.min(2 ** attempt, 30) * 1000
  return jitter
    ? Effect.flatMap(Random.nextRange(millis / 2, millis), (drawn) => Effect.sleep(Duration.millis(drawn)))
    : Effect.sleep(Duration.millis(millis))
}

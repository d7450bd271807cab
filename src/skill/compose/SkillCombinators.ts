/**
 * Derives skills from skills: retry, timeout, map, fallback, race, loop.
 *
 * Each combinator returns a new skill with its own name (`search` becomes `search_retry`), so that both can be
 * registered; `Skill.annotate` changes name and description. The inner skills keep their own permissions, cache,
 * confirmation, limits and retries at each execution.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import * as CompositeSkill from "../definition/CompositeSkill.js"
import * as Skill from "../definition/Skill.js"
import type * as SkillDefinition from "../definition/SkillDefinition.js"
import {
  SkillConfirmationDeniedError,
  type SkillError,
  SkillExecutionError,
  SkillNotFoundError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillValidationError
} from "../definition/SkillError.js"
import * as CompositeSchema from "./CompositeSchema.js"
import * as Condition from "./Condition.js"
import * as Quorum from "./Quorum.js"
import * as SkillBinding from "./SkillBinding.js"

type Execute = (skill: Skill.Any, params: unknown) => Effect.Effect<unknown, unknown>

/** Keeps parameters and result of the skill unless `over` replaces them. */
const derive = (
  self: Skill.Any,
  suffix: string,
  handler: (run: Execute, params: any) => Effect.Effect<unknown, unknown, unknown>,
  over?: SkillDefinition.Traits & { readonly parameters?: Schema.Schema<any, any, never>; readonly returns?: unknown }
): any =>
  CompositeSkill.make(`${self.definition.name}_${suffix}`, {
    description: self.definition.description,
    category: self.definition.category,
    idempotent: self.definition.idempotent,
    ...over,
    uses: [self],
    parameters: over?.parameters ?? { like: self as Skill.Skill<unknown, unknown, unknown, unknown> },
    returns:
      over !== undefined && "returns" in over ? (over.returns as Schema.Schema<any, any, never>) : { like: self },
    handler: (params, run) => handler(run as Execute, params)
  })

/** Repeating would fail the same way, or could repeat an effect. */
const isHopeless = (skill: Skill.Any, error: unknown): boolean =>
  error instanceof SkillNotFoundError ||
  error instanceof SkillValidationError ||
  error instanceof SkillPermissionDeniedError ||
  error instanceof SkillConfirmationDeniedError ||
  (error instanceof SkillTimeoutError && !skill.definition.idempotent)

/**
 * How often and when a skill is retried.
 *
 * @since 0.1.0
 * @category models
 */
export interface RetryOptions<E, R> {
  /** Executions after the first. Default 3; unlimited with a schedule. */
  readonly times?: number | undefined
  /** When to retry, and until when. Default: immediately. */
  readonly schedule?: Schedule.Schedule<unknown, E, R> | undefined
  /**
   * Which failures to retry. Default: all except those of a skill that is unknown, refused, not confirmed or given
   * invalid parameters, and a timeout unless the skill is idempotent.
   */
  readonly while?: ((error: E) => boolean) | undefined
}

/**
 * Executes the skill again when it fails. Unlike the skill's own retries (`maxRetries`), each is a complete execution
 * with permissions, confirmation and limits.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { Skill, SkillCombinators } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Schedule from "effect/Schedule"
 * import * as Schema from "effect/Schema"
 *
 * const search = Skill.make("search", {
 *   description: "Searches the web",
 *   parameters: { query: Schema.String },
 *   returns: Schema.Array(Schema.String),
 *   idempotent: true,
 *   handler: ({ query }) => Effect.succeed([`About ${query}`])
 * })
 *
 * const robust = search.pipe(
 *   SkillCombinators.withTimeout("5 seconds"),
 *   SkillCombinators.retry({ schedule: Schedule.exponential("200 millis"), times: 2 }),
 *   (skill) => SkillCombinators.fallback(skill, Skill.ref("search_offline")),
 *   Skill.annotate({ name: "robust_search" })
 * )
 * ```
 */
export const retry: {
  <E, R2 = never>(
    options?: RetryOptions<NoInfer<E> | SkillError, R2>
  ): <P, A, R>(self: Skill.Skill<P, A, E, R>) => Skill.Skill<P, A, E | SkillError, R | R2>
  <P, A, E, R, R2 = never>(
    self: Skill.Skill<P, A, E, R>,
    options?: RetryOptions<NoInfer<E> | SkillError, R2>
  ): Skill.Skill<P, A, E | SkillError, R | R2>
} = dual(
  (args) => Skill.isSkill(args[0]),
  (self: Skill.Any, options?: RetryOptions<any, unknown>) => {
    const { schedule } = options ?? {}
    const times = options?.times ?? (schedule === undefined ? 3 : undefined)
    const policy = {
      while: options?.while ?? ((error: unknown) => !isHopeless(self, error)),
      ...(times === undefined ? {} : { times }),
      ...(schedule === undefined ? {} : { schedule })
    }
    return derive(self, "retry", (run, params) =>
      Effect.retry(
        Effect.suspend(() => run(self, SkillBinding.copy(params))),
        policy
      )
    )
  }
)

/**
 * Limits the time of the whole execution, including the skill's own attempts and waits. Fails with `SkillTimeoutError`
 * when the limit is exceeded.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withTimeout: {
  (timeout: Duration.DurationInput): <P, A, E, R>(self: Skill.Skill<P, A, E, R>) => Skill.Skill<P, A, E | SkillError, R>
  <P, A, E, R>(self: Skill.Skill<P, A, E, R>, timeout: Duration.DurationInput): Skill.Skill<P, A, E | SkillError, R>
} = dual(2, (self: Skill.Any, timeout: Duration.DurationInput) =>
  derive(self, "timeout", (run, params) => run(self, params), { timeout })
)

/**
 * Transforms the result. `returns` checks it and gives its JSON form; without a schema it is passed on as it is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const map: {
  <A, B>(
    f: (result: A) => B,
    returns?: Schema.Schema<B, any, never>
  ): <P, E, R>(self: Skill.Skill<P, A, E, R>) => Skill.Skill<P, B, E | SkillError, R>
  <P, A, E, R, B>(
    self: Skill.Skill<P, A, E, R>,
    f: (result: A) => B,
    returns?: Schema.Schema<B, any, never>
  ): Skill.Skill<P, B, E | SkillError, R>
} = dual(
  (args) => Skill.isSkill(args[0]),
  (self: Skill.Any, f: (result: unknown) => unknown, returns?: Schema.Schema<any, any, never>) =>
    derive(self, "map", (run, params) => Effect.map(run(self, params), f), { returns })
)

/**
 * Transforms other parameters into those of the skill.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapParams: {
  <P, P2>(
    parameters: Schema.Schema<P2, any, never>,
    f: (params: P2) => P
  ): <A, E, R>(self: Skill.Skill<P, A, E, R>) => Skill.Skill<P2, A, E | SkillError, R>
  <P, A, E, R, P2>(
    self: Skill.Skill<P, A, E, R>,
    parameters: Schema.Schema<P2, any, never>,
    f: (params: P2) => NoInfer<P>
  ): Skill.Skill<P2, A, E | SkillError, R>
} = dual(3, (self: Skill.Any, parameters: Schema.Schema<any, any, never>, f: (params: unknown) => unknown) =>
  derive(self, "params", (run, params) => Effect.suspend(() => run(self, f(params))), { parameters })
)

const combine = (
  skills: CompositeSchema.Some,
  word: string,
  all: (execute: (skill: Skill.Any) => Effect.Effect<unknown, unknown>) => Effect.Effect<unknown, unknown>
): any => {
  const names = skills.map(({ definition }) => definition.name)
  const composite: Skill.Skill<unknown, unknown, unknown> = CompositeSkill.make(names.join(`_${word}_`), {
    description: skills[0].definition.description,
    category: skills[0].definition.category,
    idempotent: skills.every(({ definition }) => definition.idempotent),
    uses: skills,
    parameters: { like: CompositeSchema.mergeParameters(skills) as Skill.Skill<unknown, unknown> },
    returns: { like: CompositeSchema.mergeResults(skills) },
    handler: (params, run) =>
      all((skill) => (run as Execute)(skill, SkillBinding.copy(CompositeSchema.paramsFor(skill, composite, params))))
  })
  return composite
}

/**
 * Executes the skills in turn until one succeeds; fails with the failure of the last. Defects and interruption do not
 * fall back. The name joins theirs with `_or_`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fallback = <const S extends CompositeSchema.Some>(
  ...skills: S
): Skill.Skill<
  CompositeSchema.ParamsOfAll<S[number]>,
  Skill.ResultOf<S[number]>,
  CompositeSchema.LastErrorOf<S> | SkillError,
  Skill.ServicesOf<S[number]>
> =>
  combine(skills, "or", (execute) => {
    const [first, ...more] = skills
    return more.reduce((before, skill) => Effect.catchAll(before, () => execute(skill)), execute(first))
  })

/**
 * Executes all skills at once: the first success is the result and interrupts the others. If all fail, the last failure
 * is reported. The name joins theirs with `_race_`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const race = <const S extends CompositeSchema.Some>(
  ...skills: S
): Skill.Skill<
  CompositeSchema.ParamsOfAll<S[number]>,
  Skill.ResultOf<S[number]>,
  Skill.ErrorOf<S[number]> | SkillError,
  Skill.ServicesOf<S[number]>
> =>
  combine(skills, "race", (execute) =>
    Effect.map(Quorum.forEach(skills, 1, execute, "unbounded"), (results) => results[0]?.[1])
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface LoopOptions<P, A, E, R> {
  /** Ends the loop with this result. */
  readonly until: (result: A) => boolean | Effect.Effect<boolean, E, R>
  /** The parameters of the next round; `round` is the number of the finished one, from 1. */
  readonly next: (result: A, round: number) => P
  /** Default 10. */
  readonly maxRounds?: number | undefined
}

/**
 * Executes the skill repeatedly with parameters derived from its last result, until `until` accepts a result. Fails
 * with `SkillExecutionError` after `maxRounds` rounds.
 *
 * @since 0.1.0
 * @category combinators
 */
export const loopUntil: {
  <P, A, E2 = never, R2 = never>(
    options: LoopOptions<NoInfer<P>, A, E2, R2>
  ): <E, R>(self: Skill.Skill<P, A, E, R>) => Skill.Skill<P, A, E | E2 | SkillError, R | R2>
  <P, A, E, R, E2 = never, R2 = never>(
    self: Skill.Skill<P, A, E, R>,
    options: LoopOptions<NoInfer<P>, NoInfer<A>, E2, R2>
  ): Skill.Skill<P, A, E | E2 | SkillError, R | R2>
} = dual(2, (self: Skill.Any, options: LoopOptions<unknown, unknown, unknown, unknown>) => {
  const maxRounds = options.maxRounds ?? 10
  const looped: Skill.Any = derive(self, "loop", (run, params) =>
    Effect.gen(function* () {
      const { name } = looped.definition
      let given = params
      for (let round = 1; round <= maxRounds; round++) {
        const result = yield* run(self, given)
        if (yield* Condition.holds(options.until, result, name)) return result
        if (round < maxRounds) given = options.next(result, round)
      }
      return yield* new SkillExecutionError({
        message: `The skill "${self.definition.name}" did not end its loop in ${maxRounds} rounds`,
        skillName: name,
        hint: "Raise `maxRounds`, or correct `until`"
      })
    })
  )
  return CompositeSchema.withErrors(
    looped,
    Number.isSafeInteger(maxRounds) && maxRounds >= 1 ? [] : ["maxRounds is not a whole number from 1"]
  )
})

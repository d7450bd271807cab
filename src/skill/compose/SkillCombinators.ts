/**
 * Skills made of skills: tried again, in another form, with a substitute, in a race, in a loop, in less time.
 *
 * Each gives a new skill with a name of its own (`search` tried again is `search_retry`), so that it can be registered
 * beside the skill it is made of; `Skill.annotate` gives it another name and description. What holds for the skills
 * inside (permissions, cache, confirmation, limits, retries) holds at each of their executions.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"
import * as Skill from "../definition/Skill.js"
import {
  SkillConfirmationDeniedError,
  type SkillError,
  SkillExecutionError,
  SkillNotFoundError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillValidationError
} from "../definition/SkillError.js"
import * as Alike from "./Alike.js"
import * as Condition from "./Condition.js"
import * as Handover from "./Handover.js"
import * as Quorum from "./Quorum.js"

type Execute = (skill: Skill.Any, params: unknown) => Effect.Effect<unknown, unknown>

/** Parameters and result of the skill itself, unless `over` says otherwise. */
const derive = (
  self: Skill.Any,
  suffix: string,
  handler: (run: Execute, params: any) => Effect.Effect<unknown, unknown, unknown>,
  over?: Skill.Traits & { readonly parameters?: Schema.Schema<any, any, never>; readonly returns?: unknown }
): any =>
  Skill.composite(`${self.definition.name}_${suffix}`, {
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

/** Trying again would end the same, or do twice what may have been done already. */
const isHopeless = (skill: Skill.Any, error: unknown): boolean =>
  error instanceof SkillNotFoundError ||
  error instanceof SkillValidationError ||
  error instanceof SkillPermissionDeniedError ||
  error instanceof SkillConfirmationDeniedError ||
  (error instanceof SkillTimeoutError && !skill.definition.idempotent)

/**
 * How often, and at what times, a skill is tried again.
 *
 * @since 0.1.0
 * @category models
 */
export interface RetryOptions<E, R> {
  /** Further executions after the first. Default 3, without limit where there is a schedule. */
  readonly times?: number | undefined
  /** When they happen, and until when. Default: at once. */
  readonly schedule?: Schedule.Schedule<unknown, E, R> | undefined
  /**
   * After which failures. Default: all but those of a skill that is unknown, refused, not confirmed or given what it
   * cannot take, and the end of its time unless it is idempotent.
   */
  readonly while?: ((error: E) => boolean) | undefined
}

/**
 * Executes the skill again when it fails. Other than the retries of the skill itself (`maxRetries`), each is a whole
 * execution: permissions, confirmation and limits hold anew.
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
        Effect.suspend(() => run(self, Handover.copy(params))),
        policy
      )
    )
  }
)

/**
 * The skill under a limit of time for the whole of its execution, its own attempts and waits included:
 * `SkillTimeoutError` where it passes.
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
 * Another result. `returns` checks it and gives it its JSON form; without one it is shown as it is.
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
 * Other parameters, of which `f` makes those of the skill.
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

const over = (
  skills: Alike.Some,
  word: string,
  all: (execute: (skill: Skill.Any) => Effect.Effect<unknown, unknown>) => Effect.Effect<unknown, unknown>
): any => {
  const names = skills.map(({ definition }) => definition.name)
  const composite: Skill.Skill<unknown, unknown, unknown> = Skill.composite(names.join(`_${word}_`), {
    description: skills[0].definition.description,
    category: skills[0].definition.category,
    idempotent: skills.every(({ definition }) => definition.idempotent),
    uses: skills,
    parameters: { like: Alike.parametersOf(skills) as Skill.Skill<unknown, unknown> },
    returns: { like: Alike.resultOf(skills) },
    handler: (params, run) =>
      all((skill) => (run as Execute)(skill, Handover.copy(Alike.paramsFor(skill, composite, params))))
  })
  return composite
}

/**
 * Each skill in turn until one succeeds: the failure is that of the last. Defects and interruption are no failures. The
 * name is theirs with `_or_` between them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fallback = <const S extends Alike.Some>(
  ...skills: S
): Skill.Skill<
  Alike.ParamsOfAll<S[number]>,
  Skill.ResultOf<S[number]>,
  Alike.LastErrorOf<S> | SkillError,
  Skill.ServicesOf<S[number]>
> =>
  over(skills, "or", (execute) => {
    const [first, ...more] = skills
    return more.reduce((before, skill) => Effect.catchAll(before, () => execute(skill)), execute(first))
  })

/**
 * All at once: the first to succeed gives the result and the others are interrupted. Where all fail, the last to fail
 * says why. The name is theirs with `_race_` between them.
 *
 * @since 0.1.0
 * @category combinators
 */
export const race = <const S extends Alike.Some>(
  ...skills: S
): Skill.Skill<
  Alike.ParamsOfAll<S[number]>,
  Skill.ResultOf<S[number]>,
  Skill.ErrorOf<S[number]> | SkillError,
  Skill.ServicesOf<S[number]>
> =>
  over(skills, "race", (execute) =>
    Effect.map(Quorum.forEach(skills, 1, execute, "unbounded"), (results) => results[0]?.[1])
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface LoopOptions<P, A, E, R> {
  /** Ends the loop with this result. */
  readonly until: (result: A) => boolean | Effect.Effect<boolean, E, R>
  /** The parameters of the next round; `round` is the one that has ended, from 1. */
  readonly next: (result: A, round: number) => P
  /** Default 10. */
  readonly maxRounds?: number | undefined
}

/**
 * Executes the skill with parameters made of its last result, until a result is as it should be. When none is after
 * `maxRounds` rounds it fails with `SkillExecutionError`.
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
        message: `The skill "${self.definition.name}" gave no result that ends the loop in ${maxRounds} rounds`,
        skillName: name,
        hint: "Raise `maxRounds`, or correct `until`"
      })
    })
  )
  return Alike.refuse(
    looped,
    Number.isSafeInteger(maxRounds) && maxRounds >= 1 ? [] : ["maxRounds is not a whole number from 1"]
  )
})

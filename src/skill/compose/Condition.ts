/**
 * Conditions over the parameters of skills.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { SkillExecutionError } from "../definition/SkillError.js"

/**
 * A predicate, synchronous or effectful.
 *
 * @since 0.1.0
 * @category models
 */
export type Condition<P, E = never, R = never> = (params: P) => boolean | Effect.Effect<boolean, E, R>

/**
 * Evaluates a condition. A condition that throws fails; failures and defects of an Effect are kept.
 *
 * @since 0.1.0
 * @category combinators
 */
export const holds = <P, E, R>(
  condition: Condition<P, E, R>,
  params: P,
  skillName: string
): Effect.Effect<boolean, E | SkillExecutionError, R> =>
  Effect.flatMap(
    Effect.try({
      try: () => condition(params),
      catch: (cause) =>
        new SkillExecutionError({ message: `A condition of the skill "${skillName}" threw`, skillName, cause })
    }),
    (answer): Effect.Effect<boolean, E, R> => (Effect.isEffect(answer) ? answer : Effect.succeed(answer))
  )

/** The kind of a failure, without its message, which may quote the checked values. */
const kindOf = (cause: Cause.Cause<unknown>): string => {
  const failure = Cause.squash(cause)
  if (typeof failure !== "object" || failure === null) return typeof failure
  const { _tag, name } = failure as { readonly _tag?: unknown; readonly name?: unknown }
  return String(_tag ?? name ?? "object").slice(0, 100)
}

/**
 * As `holds`, but a condition that throws, fails or dies counts as false and is logged.
 *
 * @since 0.1.0
 * @category combinators
 */
export const holdsOrNot = <P, R>(
  condition: Condition<P, unknown, R>,
  params: P,
  skillName: string,
  route: string
): Effect.Effect<boolean, never, R> =>
  Effect.catchAllCause(holds(condition, params, skillName), (cause) =>
    Cause.isInterrupted(cause)
      ? Effect.failCause(cause as Cause.Cause<never>)
      : Effect.as(
          Effect.annotateLogs(Effect.logWarning("The condition of a route failed: the route is skipped"), {
            module: "effect-lexigram/skill/SkillRouter",
            skill: skillName,
            route,
            failure: kindOf(cause)
          }),
          false
        )
  )

/**
 * Skills with their requirements provided.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as CapturedContext from "../../internal/fiber/CapturedContext.js"
import * as CurrentRun from "../../observability/Run.js"
import { type Any, type Bound, build, type ServicesOf, type Skill } from "./Skill.js"

/**
 * Provides what the handler requires. A service present where the skill is executed takes precedence.
 *
 * @since 0.1.0
 * @category combinators
 */
export const provideContext: {
  <R2>(context: Context.Context<R2>): <P, A, E, R>(self: Skill<P, A, E, R>) => Skill<P, A, E, Exclude<R, R2>>
  <P, A, E, R, R2>(self: Skill<P, A, E, R>, context: Context.Context<R2>): Skill<P, A, E, Exclude<R, R2>>
} = dual(
  2,
  <P, A, E, R, R2>(self: Skill<P, A, E, R>, context: Context.Context<R2>): Skill<P, A, E, Exclude<R, R2>> =>
    build({
      ...(self as unknown as Any),
      erased: {
        ...self.erased,
        handle: (params, call, run) => CapturedContext.provide(self.erased.handle(params, call, run), context)
      }
    })
)

/**
 * Provides all requirements from the current context.
 *
 * @example
 * ```ts
 * import * as HttpClient from "@effect/platform/HttpClient"
 * import { BoundSkill, Skill, SkillRegistry } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const status = Skill.make("status", {
 *   description: "Whether the shop is up",
 *   handler: () => Effect.map(HttpClient.get("https://shop.example/health"), ({ status }) => status)
 * })
 *
 * // Takes the client from the context once.
 * const registered = Effect.gen(function* () {
 *   const registry = yield* SkillRegistry.SkillRegistry
 *   yield* registry.register(yield* BoundSkill.make(status))
 * })
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const make = <P, A, E, R>(self: Skill<P, A, E, R>): Effect.Effect<Skill<P, A, E>, never, R> =>
  Effect.map(captured<R>(), (context) => provideContext(self, context) as Skill<P, A, E>)

/** Drops the current run: skills are executed in another run than the one in which they are registered. */
const captured = <R>(): Effect.Effect<Context.Context<R>, never, R> =>
  Effect.map(
    CapturedContext.context<R>(),
    (context) => Context.omit(CurrentRun.Run)(context as any) as Context.Context<R>
  )

/**
 * Binds several skills at once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const all = <const S extends ReadonlyArray<Any>>(
  skills: S
): Effect.Effect<ReadonlyArray<Bound>, never, ServicesOf<S[number]>> =>
  Effect.map(captured<ServicesOf<S[number]>>(), (context) =>
    skills.map((skill) => provideContext(skill, context) as Bound)
  )

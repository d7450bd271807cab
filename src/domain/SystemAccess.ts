/**
 * The capability to act for the system, and the rule of ownership: a call with a user reaches only that user's data; a
 * call without one reaches only data without an owner. An effect that holds the capability reaches everybody's data,
 * but only while it names no user.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as SystemGrant from "../internal/fiber/SystemGrant.js"

/**
 * Whether the current effect acts for the system. Opaque: only `grant` creates a value that does; copies, JSON and
 * objects of the same shape do not pass for it.
 *
 * @since 0.1.0
 * @category models
 */
export type Held = SystemGrant.Held

/**
 * What the current effect holds; nothing by default. Child fibers inherit it like all context, so library code drops it
 * before it calls application code (tools, hooks, participants, strategies).
 *
 * @since 0.1.0
 * @category tags
 */
export const SystemAccess: typeof SystemGrant.SystemAccess = SystemGrant.SystemAccess

/**
 * Lets an effect act for the system: a call that names no user reaches everybody's data. A call that names a user still
 * reaches only that user's data. Wrap single calls, never a server or a layer.
 *
 * @since 0.1.0
 * @category combinators
 */
export const grant: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = SystemGrant.grant

/**
 * Takes the capability from an effect.
 *
 * @since 0.1.0
 * @category combinators
 */
export const drop: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = SystemGrant.drop

/**
 * Gives an effect what another one held, for a part of a program whose whole had to drop the capability.
 *
 * @since 0.1.0
 * @category combinators
 */
export const holding = (held: Held): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  isGrant(held) ? grant : drop

/**
 * What the current effect holds, as an argument for `holding`.
 *
 * @since 0.1.0
 * @category getters
 */
export const held: Effect.Effect<Held> = SystemAccess

/**
 * Checks whether a value is the capability.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isGrant: (held: unknown) => boolean = SystemGrant.isGrant

/**
 * Whether the current effect acts for the system.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isGranted: Effect.Effect<boolean> = Effect.map(SystemAccess, isGrant)

/**
 * The rule for a value of `held`: whether `asker` may use what belongs to `owner`. `undefined` and `null` mean nobody.
 *
 * @since 0.1.0
 * @category predicates
 */
export const allows = (held: Held, asker: string | null | undefined, owner: string | null | undefined): boolean =>
  (asker ?? undefined) === (owner ?? undefined) || ((asker ?? undefined) === undefined && isGrant(held))

/**
 * The rule in the current effect. It reads the capability only if the answer depends on it.
 *
 * @since 0.1.0
 * @category predicates
 */
export const permits = (asker: string | null | undefined, owner: string | null | undefined): Effect.Effect<boolean> => {
  if ((asker ?? undefined) === (owner ?? undefined)) return yes
  return (asker ?? undefined) === undefined ? isGranted : no
}

const yes = Effect.succeed(true)
const no = Effect.succeed(false)

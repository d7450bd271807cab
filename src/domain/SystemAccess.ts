/**
 * The capability to act for the system, and the one rule of ownership: with a user, a call reaches only what is that
 * user's; without one, only what belongs to nobody. Only an effect that holds the capability reaches everybody's data,
 * and only while it names no user.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as SystemGrant from "../internal/fiber/SystemGrant.js"

/**
 * Whether the system acts. Opaque: only `grant` makes one that does, and no copy, no JSON and no object of the same
 * shape passes for it.
 *
 * @since 0.1.0
 * @category models
 */
export type Held = SystemGrant.Held

/**
 * What the current effect holds; nothing by default. It is inherited by child fibers like all context, so library code
 * drops it before it calls code of the application (tools, hooks, participants, strategies).
 *
 * @since 0.1.0
 * @category tags
 */
export const SystemAccess: typeof SystemGrant.SystemAccess = SystemGrant.SystemAccess

/**
 * Lets an effect act for the system: a call in it that names no user reaches what belongs to anybody. A call that names
 * a user reaches only what is that user's, as ever. Wrap single calls, never a server or a layer.
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
 * Lets an effect hold what another one held: for a part of a program whose whole had to drop the capability.
 *
 * @since 0.1.0
 * @category combinators
 */
export const holding = (held: Held): (<A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) =>
  isGrant(held) ? grant : drop

/**
 * What the current effect holds, to be given to `holding`.
 *
 * @since 0.1.0
 * @category getters
 */
export const held: Effect.Effect<Held> = SystemAccess

/**
 * Whether that is the capability.
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
 * The rule, for a value of `held`: whether somebody (nobody: `undefined` or `null`) may use what belongs to `owner`
 * (nobody likewise).
 *
 * @since 0.1.0
 * @category predicates
 */
export const allows = (held: Held, asker: string | null | undefined, owner: string | null | undefined): boolean =>
  (asker ?? undefined) === (owner ?? undefined) || ((asker ?? undefined) === undefined && isGrant(held))

/**
 * The rule in the current effect. The capability is looked at only where the answer depends on it.
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

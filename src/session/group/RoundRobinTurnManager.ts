/**
 * A turn manager that asks the participants in the order of the group.
 *
 * @since 0.1.0
 */
import * as TurnManager from "./TurnManager.js"

/**
 * Asks each member once a cycle. A group without a turn manager has this one.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { GroupParticipant, GroupSession, RoundRobinTurnManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const writer = GroupParticipant.make("writer", { respond: () => Effect.succeed("A draft.") })
 * const critic = GroupParticipant.make("critic", { respond: () => Effect.succeed("Too long.") })
 *
 * const desk = GroupSession.make({
 *   participants: [writer, critic],
 *   turnManager: RoundRobinTurnManager.make(),
 *   maxRounds: 3
 * })
 * ```
 */
export const make = (): TurnManager.TurnManager<TurnManager.Cycle> =>
  TurnManager.fromOrder("round_robin", (members) => members)

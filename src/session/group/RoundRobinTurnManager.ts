/**
 * A turn manager that asks the participants in the order of the group.
 *
 * @since 0.1.0
 */
import * as TurnManager from "./TurnManager.js"

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (): TurnManager.TurnManager<TurnManager.Cycle> =>
  TurnManager.fromOrder("round_robin", (members) => members)

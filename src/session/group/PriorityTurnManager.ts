/**
 * A turn manager that asks every participant once a cycle, highest priority first.
 *
 * @since 0.1.0
 */
import * as TurnManager from "./TurnManager.js"
import * as TurnNames from "./TurnNames.js"

/**
 * Priorities by name; the default is 0. Members of equal priority keep the order of the group.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { GroupParticipant, GroupSession, PriorityTurnManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const expert = GroupParticipant.make("expert", { respond: () => Effect.succeed("It is safe.") })
 * const lawyer = GroupParticipant.make("lawyer", { respond: () => Effect.succeed("It is allowed.") })
 *
 * // The lawyer is asked first in each cycle.
 * const panel = GroupSession.make({
 *   participants: [expert, lawyer],
 *   turnManager: PriorityTurnManager.make({ priorities: { lawyer: 10 } })
 * })
 * ```
 */
export const make = (
  options: { readonly priorities?: { readonly [name: string]: number } | undefined } = {}
): TurnManager.TurnManager<TurnManager.Cycle> => {
  const priorities = new Map(Object.entries(options.priorities ?? {}))
  const priorityOf = (name: string): number => priorities.get(name) ?? 0
  return TurnManager.fromOrder(
    "priority",
    (members) =>
      members.toSorted((a, b) =>
        priorityOf(a.name) === priorityOf(b.name) ? 0 : priorityOf(b.name) - priorityOf(a.name)
      ),
    (members) => {
      for (const [name, priority] of priorities) {
        if (Number.isNaN(priority)) return `the priority of ${TurnNames.quote(name)} is not a number`
      }
      return TurnNames.describeUnknown(Array.from(priorities.keys()), members)
    }
  )
}

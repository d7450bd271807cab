/**
 * The port that chooses the next speaker of a group. A turn manager is a stateless value: each run keeps its state, so
 * that one manager serves any number of sessions at once.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { SessionTurn } from "../turn/Session.js"
import type { Member } from "./GroupParticipant.js"
import type { Viewer } from "./RoleIsolation.js"

/**
 * The choice of a turn manager. `Nobody` ends the group.
 *
 * @since 0.1.0
 * @category models
 */
export type Selection = { readonly _tag: "Speak"; readonly name: string } | { readonly _tag: "Nobody" }

/**
 * The state of a group when the next speaker is chosen.
 *
 * @since 0.1.0
 * @category models
 */
export interface View {
  /** The members to choose from, in the order of the group, without excluded ones. Never empty. */
  readonly members: ReadonlyArray<Member>
  /** The round, from 1. A round has as many choices as there were members when it began. */
  readonly round: number
  /** The number of answers. */
  readonly answers: number
  /** The newest turns that a viewer sees, oldest first. */
  readonly visibleTo: (viewer: Viewer) => ReadonlyArray<SessionTurn>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TurnManager<in out State, out E = never, out R = never> {
  readonly name: string
  /** The initial state of a run: plain data. */
  readonly initial: (members: ReadonlyArray<Member>) => State
  /**
   * The next speaker and the next state. A name that is not among the members is skipped and counts as silence. A
   * failure fails the run of the group.
   */
  readonly next: (state: State, view: View) => Effect.Effect<readonly [Selection, State], E, R>
  /** What is invalid for a group of these members, if anything. */
  readonly problem?: ((members: ReadonlyArray<Member>) => string | undefined) | undefined
}

/**
 * Any turn manager with these failures and requirements.
 *
 * @since 0.1.0
 * @category models
 */
export type Any<E = any, R = any> = TurnManager<any, E, R>

/**
 * @since 0.1.0
 * @category constructors
 */
export const speak = (name: string): Selection => ({ _tag: "Speak", name })

/**
 * @since 0.1.0
 * @category constructors
 */
export const nobody: Selection = { _tag: "Nobody" }

/**
 * Makes a manager from its state at the beginning of a run and its choice of the next speaker.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { TurnManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * // Whoever has the floor speaks three times, then the next one does.
 * const floor = TurnManager.make("floor", {
 *   initial: () => 0,
 *   next: (spoken, { members }) => {
 *     const speaker = members[Math.floor(spoken / 3) % members.length]
 *     return Effect.succeed([speaker === undefined ? TurnManager.nobody : TurnManager.speak(speaker.name), spoken + 1])
 *   }
 * })
 * ```
 */
export const make = <State, E = never, R = never>(
  name: string,
  options: {
    readonly initial: (members: ReadonlyArray<Member>) => State
    readonly next: (state: State, view: View) => Effect.Effect<readonly [Selection, State], E, R>
    readonly problem?: ((members: ReadonlyArray<Member>) => string | undefined) | undefined
  }
): TurnManager<State, E, R> => ({ name, ...options })

/**
 * Who was asked since the cycle began.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cycle {
  readonly asked: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const emptyCycle: Cycle = { asked: [] }

/**
 * The same cycle after another manager chose the speaker.
 *
 * @since 0.1.0
 * @category combinators
 */
export const asked = (cycle: Cycle, name: string): Cycle =>
  cycle.asked.includes(name) ? cycle : { asked: [...cycle.asked, name] }

/**
 * The first of these that was not asked in this cycle; when all were asked, a new cycle begins.
 *
 * @since 0.1.0
 * @category combinators
 */
export const inTurn = (cycle: Cycle, order: ReadonlyArray<Member>): readonly [Selection, Cycle] => {
  const waiting = order.find((member) => !cycle.asked.includes(member.name))
  const next = waiting ?? order[0]
  if (next === undefined) return [nobody, cycle]
  return [speak(next.name), { asked: waiting === undefined ? [next.name] : [...cycle.asked, next.name] }]
}

/**
 * A manager that asks the members in an order, cycle by cycle.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromOrder = (
  name: string,
  order: (members: ReadonlyArray<Member>) => ReadonlyArray<Member>,
  problem?: ((members: ReadonlyArray<Member>) => string | undefined) | undefined
): TurnManager<Cycle> =>
  make(name, {
    initial: () => emptyCycle,
    next: (cycle, view) => Effect.sync(() => inTurn(cycle, order(view.members))),
    problem
  })

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
 * `Nobody` ends the group.
 *
 * @since 0.1.0
 * @category models
 */
export type Selection = { readonly _tag: "Speak"; readonly name: string } | { readonly _tag: "Nobody" }

/**
 * A group as it stands when somebody is to be chosen.
 *
 * @since 0.1.0
 * @category models
 */
export interface View {
  /** Who may be chosen, in the order of the group: those who were excluded are left out. Never empty. */
  readonly members: ReadonlyArray<Member>
  /** The round, from 1: in a round as many are chosen as there were members when it began. */
  readonly round: number
  /** How many answers were written. */
  readonly answers: number
  /** The newest turns that somebody sees, oldest first. */
  readonly visibleTo: (viewer: Viewer) => ReadonlyArray<SessionTurn>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TurnManager<in out State, out E = never, out R = never> {
  readonly name: string
  /** What a run begins with: plain data. */
  readonly initial: (members: ReadonlyArray<Member>) => State
  /**
   * Whom to ask, and the state from here on. A name that is not among the members is passed over, and so counts as
   * somebody who said nothing. A failure fails the run of the group.
   */
  readonly next: (state: State, view: View) => Effect.Effect<readonly [Selection, State], E, R>
  /** What is wrong with it for a group of these members, if anything. */
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
 * @since 0.1.0
 * @category constructors
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
 * The same cycle when somebody else chose who speaks.
 *
 * @since 0.1.0
 * @category combinators
 */
export const asked = (cycle: Cycle, name: string): Cycle =>
  cycle.asked.includes(name) ? cycle : { asked: [...cycle.asked, name] }

/**
 * The first of these whose turn it is in the cycle; when all had theirs, another cycle begins.
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
 * A manager that goes through the members in an order, cycle by cycle.
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

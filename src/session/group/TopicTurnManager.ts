/**
 * A turn manager that asks the participant responsible for the topic of the last turn.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { SessionTurn } from "../turn/Session.js"
import type { Member } from "./GroupParticipant.js"
import { authorOf } from "./RoleIsolation.js"
import * as TurnManager from "./TurnManager.js"
import * as TurnNames from "./TurnNames.js"

/**
 * Who was asked about the newest turn; `answers` detects a new answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Asked extends TurnManager.Cycle {
  readonly answers: number
}

/** Words separated by single blanks, so that a keyword matches whole words only. */
const wordsOf = (text: string): string => ` ${(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).join(" ")} `

/**
 * Keywords with the responsible member, in order. The first keyword in the newest turn that its member sees decides; it
 * matches whole words, ignoring case. No member is asked about its own turn, nor twice about the same one. If no
 * keyword applies, the `fallback` is asked; then the group ends.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { GroupParticipant, GroupSession, TopicTurnManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const billing = GroupParticipant.make("billing", { respond: () => Effect.succeed("It was refunded.") })
 * const shipping = GroupParticipant.make("shipping", { respond: () => Effect.succeed("It comes tomorrow.") })
 *
 * const desk = GroupSession.make({
 *   participants: [billing, shipping],
 *   turnManager: TopicTurnManager.make({
 *     topics: { refund: "billing", invoice: "billing", parcel: "shipping" },
 *     fallback: "shipping"
 *   })
 * })
 * ```
 */
export const make = (options: {
  readonly topics: { readonly [keyword: string]: string }
  /** The member to ask when no keyword decides. */
  readonly fallback?: string | undefined
}): TurnManager.TurnManager<Asked> => {
  const topics = Object.entries(options.topics).map(([keyword, name]) => ({ keyword, words: wordsOf(keyword), name }))
  const { fallback } = options
  return TurnManager.make("topic", {
    initial: (): Asked => ({ asked: [], answers: 0 }),
    problem: (members) => {
      const empty = topics.find(({ words }) => words.trim() === "")
      if (empty !== undefined) return `the topic ${TurnNames.quote(empty.keyword)} has no words`
      return TurnNames.describeUnknown(
        [...topics.map(({ name }) => name), ...(fallback === undefined ? [] : [fallback])],
        members
      )
    },
    next: (state, view) =>
      Effect.sync(() => {
        const asked = state.answers === view.answers ? state.asked : []
        const texts = new Map<SessionTurn, string>()
        const members = new Map(view.members.map((member) => [member.name, member] as const))
        const newest = new Map<Member, SessionTurn | undefined>()
        /** The turn to ask the member about. */
        const askable = (name: string): SessionTurn | undefined => {
          const member = members.get(name)
          if (member === undefined || asked.includes(name)) return undefined
          if (!newest.has(member)) newest.set(member, view.visibleTo(member).at(-1))
          const turn = newest.get(member)
          return turn === undefined || authorOf(turn).name === name ? undefined : turn
        }
        const found = topics.find(({ name, words }) => {
          const turn = askable(name)
          if (turn === undefined) return false
          let text = texts.get(turn)
          if (text === undefined) {
            text = wordsOf(turn.content)
            texts.set(turn, text)
          }
          return text.includes(words)
        })
        const name = found?.name ?? (fallback !== undefined && askable(fallback) !== undefined ? fallback : undefined)
        const answers = view.answers
        return name === undefined
          ? ([TurnManager.nobody, { asked, answers }] as const)
          : ([TurnManager.speak(name), { asked: [...asked, name], answers }] as const)
      })
  })
}

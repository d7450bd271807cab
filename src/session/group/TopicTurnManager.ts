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
 * Who was asked about what was said last: `answers` tells when something else was said.
 *
 * @since 0.1.0
 * @category models
 */
export interface Asked extends TurnManager.Cycle {
  readonly answers: number
}

/** Words one after another, a blank around each: a keyword is found as whole words only. */
const wordsOf = (text: string): string => ` ${(text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).join(" ")} `

/**
 * Keywords and who is responsible for them, looked through in their order: the first one that stands in the newest turn
 * its member sees, as whole words whatever the case, decides. Nobody is asked about what it said itself, nor twice
 * about the same; then the next one is, then the `fallback`, then the group ends.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly topics: { readonly [keyword: string]: string }
  /** Whom to ask when no keyword decides. */
  readonly fallback?: string | undefined
}): TurnManager.TurnManager<Asked> => {
  const topics = Object.entries(options.topics).map(([keyword, name]) => ({ keyword, words: wordsOf(keyword), name }))
  const { fallback } = options
  return TurnManager.make("topic", {
    initial: (): Asked => ({ asked: [], answers: 0 }),
    problem: (members) => {
      const empty = topics.find(({ words }) => words.trim() === "")
      if (empty !== undefined) return `the topic ${TurnNames.shown(empty.keyword)} has no word`
      return TurnNames.unknown(
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
        /** The turn somebody could be asked about. */
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

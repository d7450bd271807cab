/**
 * Generates months of dialogue between two friends, and questions with known evidence. The same seed generates the same
 * dialogues.
 *
 * Speakers are roles only. Who says a name addresses the other one, so that most turns that have the name of a question
 * are of the wrong speaker. Half of the threads are told by both, with other values. Evidence is in answers that
 * repeat no word of their question, and some questions need several turns. The generator is independent of how memory
 * searches.
 */
import { EntryId, SessionId } from "../../src/domain/Ids.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as Texts from "./DialogueTexts.js"
import type { Ground, Question } from "./Recall.js"
import * as SeededRandom from "./SeededRandom.js"

export interface Options {
  readonly seed: number
  readonly pairs: number
  readonly sessions: number
  /** Exchanges of small talk in each session. */
  readonly smallTalk: number
}

/** Eight pairs over nine months. */
export const full: Omit<Options, "seed"> = { pairs: 8, sessions: 24, smallTalk: 5 }

const dayMillis = 86_400_000
const start = Date.UTC(2025, 1, 3)

interface Line {
  /** Whether the first of the pair says it. */
  readonly isFirst: boolean
  readonly text: string
  /** A name for it within the pair, if it is evidence. */
  readonly mark?: string | undefined
}

interface Told {
  readonly episodes: ReadonlyArray<ReadonlyArray<Line>>
  readonly asks: ReadonlyArray<{ readonly text: string; readonly marks: ReadonlyArray<string> }>
}

/** A thread told by one of the pair. */
const told = (
  random: SeededRandom.SeededRandom,
  thread: Texts.Thread,
  pair: readonly [string, string],
  options: { readonly isFirst: boolean; readonly name: string }
): Told => {
  const { isFirst, name } = options
  const [a, b] = isFirst ? pair : [pair[1], pair[0]]
  const filled = (chosen: Map<string, string>) => (text: string) =>
    text.replace(/\{(\w+)\}/g, (_, slot: string) => {
      const value = chosen.get(slot) ?? random.pick(Texts.values[slot] ?? [slot])
      chosen.set(slot, value)
      return value
    })
  const episodes = thread.lines.split("--").map((episode) => {
    const fill = filled(
      new Map([
        ["a", a],
        ["b", b]
      ])
    )
    return episode
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "")
      .map((line): Line => {
        const [, speaker, text = "", mark] = /^([AB]) (.*?)(?: #(\w))?$/.exec(line) ?? []
        const said = fill(text)
        return {
          isFirst: (speaker === "A") === isFirst,
          text: said.charAt(0).toUpperCase() + said.slice(1),
          ...(mark === undefined ? {} : { mark: `${name} ${mark}` })
        }
      })
  })
  const ask = filled(
    new Map([
      ["a", a],
      ["b", b]
    ])
  )
  const asks = Object.entries(thread.asks).map(([text, marks]) => ({
    text: ask(text),
    marks: marks.split(" ").map((mark) => `${name} ${mark}`)
  }))
  return { episodes, asks }
}

const chat = (random: SeededRandom.SeededRandom, pair: readonly [string, string]): ReadonlyArray<Line> => {
  const isFirst = random.next() < 0.5
  const [me, you] = isFirst ? pair : [pair[1], pair[0]]
  const topic = random.pick(Texts.values["topic"] ?? [])
  const slots: { readonly [slot: string]: string } = { me, you, topic }
  const [one, other] = random
    .pick(Texts.smallTalk)
    .map((text) => text.replace(/\{(\w+)\}/g, (_, slot) => slots[slot] ?? slot))
  return [
    { isFirst, text: one ?? "" },
    { isFirst: !isFirst, text: other ?? "" }
  ]
}

/** The exchanges of each session: the episodes of a thread are in sessions that follow one another. */
const sessionsOf = (
  random: SeededRandom.SeededRandom,
  stories: ReadonlyArray<Told>,
  pair: readonly [string, string],
  options: Options
): ReadonlyArray<ReadonlyArray<Line>> => {
  const sessions = Array.from({ length: options.sessions }, (): Array<ReadonlyArray<Line>> => [])
  for (const { episodes } of stories) {
    let at = random.below(Math.max(1, options.sessions - episodes.length * 3))
    for (const episode of episodes) {
      sessions[at]?.push(episode)
      at += 1 + random.below(3)
    }
  }
  return sessions.map((exchanges) => {
    const talk = Array.from({ length: options.smallTalk }, () => chat(random, pair))
    return random.shuffled([...exchanges, ...talk]).flat()
  })
}

export const make = (options: Options): Ground => {
  const random = SeededRandom.make(options.seed)
  const turns: Array<MemoryEntry.MemoryEntry> = []
  const questions: Array<Question> = []
  const speakers = new Map<string, string>()
  let last = start
  for (let index = 0; index < options.pairs; index++) {
    const pair = Texts.pairs[index % Texts.pairs.length] as readonly [string, string]
    const ownerId = `pair-${index + 1}`
    const stories = Texts.threads.flatMap((thread, number) => {
      const isFirst = random.next() < 0.5
      const one = told(random, thread, pair, { isFirst, name: `${number}` })
      return random.next() < 0.5 ? [one] : [one, told(random, thread, pair, { isFirst: !isFirst, name: `${number}-2` })]
    })
    // A question without a name is about both who tell a thread.
    const asked = new Map<string, ReadonlyArray<string>>()
    for (const { marks, text } of stories.flatMap(({ asks }) => asks)) {
      asked.set(text, [...(asked.get(text) ?? []), ...marks])
    }
    const marked = new Map<string, EntryId>()
    let number = 0
    sessionsOf(random, random.shuffled(stories), pair, options).forEach((lines, session) => {
      let timestamp = start + session * 11 * dayMillis + random.below(8 * dayMillis)
      for (const { isFirst, mark, text } of lines) {
        timestamp += 10_000 + random.below(60_000)
        const id = EntryId.make(`${ownerId}-${String(++number).padStart(4, "0")}`)
        if (mark !== undefined) marked.set(mark, id)
        speakers.set(id, pair[isFirst ? 0 : 1])
        turns.push(
          MemoryEntry.make({
            id,
            ownerId,
            sessionId: SessionId.make(`${ownerId}-session-${session + 1}`),
            role: isFirst ? "user" : "assistant",
            content: text,
            timestamp,
            metadata: { type: "turn" }
          })
        )
      }
      last = Math.max(last, timestamp)
    })
    for (const [text, marks] of asked) {
      questions.push({ ownerId, text, evidence: marks.flatMap((mark) => marked.get(mark) ?? []) })
    }
  }
  return { turns, questions, speakers, now: last + dayMillis }
}

/**
 * Generates months of conversation between users and an assistant, and questions with known evidence. The same seed
 * generates the same conversations.
 *
 * A question shares few words with its evidence, other turns name the same persons and things, and most turns are small
 * talk, so that neither rare words nor recency alone finds the evidence. The generator is independent of how memory
 * searches.
 */
import { stemmer } from "stemmer"
import { EntryId, SessionId } from "../../src/domain/Ids.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as Texts from "./ConversationTexts.js"
import type { Ground } from "./Recall.js"
import * as SeededRandom from "./SeededRandom.js"

export interface Question {
  readonly ownerId: string
  readonly kind: Texts.Fact["kind"]
  readonly text: string
  readonly evidence: MemoryEntry.MemoryEntry
}

export interface Conversations {
  /** Turns of all users, each user's in order. */
  readonly turns: ReadonlyArray<MemoryEntry.MemoryEntry>
  readonly questions: ReadonlyArray<Question>
  /** By subject: turns that name it without being evidence. */
  readonly distractors: ReadonlyMap<string, ReadonlyArray<MemoryEntry.MemoryEntry>>
  /** Time of the questions: a day after the last turn. */
  readonly now: number
}

export interface Options {
  readonly seed: number
  readonly users: number
  readonly turnsPerUser: number
  readonly days: number
}

/** 12 users, 5,160 turns, half a year. */
export const full: Omit<Options, "seed"> = { users: 12, turnsPerUser: 430, days: 182 }

const dayMillis = 86_400_000
const start = Date.UTC(2025, 0, 6)

/** One value per slot, the same at each occurrence. */
const filler = (random: SeededRandom.SeededRandom, name?: string) => {
  const chosen = new Map<string, string>(name === undefined ? [] : [["n", name]])
  return (text: string): string =>
    text.replace(/\{(\w+)\}/g, (_, slot: string) => {
      const value = chosen.get(slot) ?? random.pick(Texts.values[slot] ?? [slot])
      chosen.set(slot, value)
      return value
    })
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const spoken = (random: SeededRandom.SeededRandom, text: string): string => {
  const opened = random.next() < 0.3 ? `${random.pick(Texts.openers)} ${text}` : text
  const closed = capital(random.next() < 0.2 ? opened + random.pick(Texts.closers) : opened)
  return random.next() < 0.6 ? `${closed}. ${filler(random)(capital(random.pick(Texts.additions)))}` : closed
}

const answered = (random: SeededRandom.SeededRandom, text: string): string =>
  random.next() < 0.5 ? `${capital(text)}. ${filler(random)(random.pick(Texts.offers))}` : capital(text)

const functionWords = new Set(
  "a an and any are as at be been by can did do does for from had has have he her him his how i in into is it its me must my no nor not of on or our she should so than that the their them then there these they this those to until us was we were what when where which who whom whose why will with would you your".split(
    " "
  )
)

/** Stems of the content words. */
const contentWords = (text: string): ReadonlySet<string> =>
  new Set((text.toLowerCase().match(/[\p{L}\p{N}-]+/gu) ?? []).filter((word) => !functionWords.has(word)).map(stemmer))

/** Fraction of the content words of a question that its evidence shares. */
export const shared = (question: string, evidence: string): number => {
  const asked = contentWords(question)
  const said = contentWords(evidence)
  return [...asked].filter((word) => said.has(word)).length / asked.size
}

/** Upper bound of `shared` for any question and its evidence. */
export const mostShared = 0.3

interface Line {
  readonly role: "user" | "assistant"
  readonly text: string
  readonly question?: { readonly kind: Texts.Fact["kind"]; readonly text: string } | undefined
  readonly distracts?: string | undefined
}

/** Consecutive lines. */
type Exchange = ReadonlyArray<Line>

const aboutFact = (random: SeededRandom.SeededRandom, fact: Texts.Fact, name?: string): Exchange => {
  const fill = filler(random, name)
  const question = { kind: fact.kind, text: fill(fact.question) }
  const acknowledged: Line = { role: "assistant", text: answered(random, random.pick(Texts.acknowledgements)) }
  const said = fill(fact.evidence)
  let text = spoken(random, said)
  // Random additions may contain words of the question.
  while (shared(question.text, text) > mostShared) text = spoken(random, said)
  const evidence: Line = { role: "user", text, question }
  if (fact.prompt !== undefined) {
    return [{ role: "assistant", text: fill(fact.prompt) }, evidence, acknowledged]
  }
  return [evidence, acknowledged]
}

const aside = (random: SeededRandom.SeededRandom, text: string, name: string): Exchange => [
  { role: "user", text: spoken(random, filler(random, name)(text)), distracts: name },
  { role: "assistant", text: answered(random, random.pick(Texts.acknowledgements)) }
]

const chat = (random: SeededRandom.SeededRandom): Exchange => {
  const [said, answer] = random.pick(Texts.smallTalk)
  const fill = filler(random)
  return [
    { role: "user", text: spoken(random, fill(said)) },
    { role: "assistant", text: answered(random, fill(answer)) }
  ]
}

const perUser = { person: 5, pet: 1, project: 2, city: 1 } as const
const asidesEach = 5
const factsEach = 3
const ownFactsEach = 4

const exchangesOf = (random: SeededRandom.SeededRandom, turns: number): Array<Exchange> => {
  const exchanges: Array<Exchange> = []
  for (const kind of ["person", "pet", "project", "city"] as const) {
    const subject = Texts.subjects[kind]
    for (const name of random.shuffled(subject.names).slice(0, perUser[kind])) {
      for (const fact of random.shuffled(subject.facts).slice(0, factsEach)) {
        exchanges.push(aboutFact(random, fact, name))
      }
      for (const text of random.shuffled(subject.asides).slice(0, asidesEach)) {
        exchanges.push(aside(random, text, name))
      }
    }
  }
  for (const fact of random.shuffled(Texts.ownFacts).slice(0, ownFactsEach)) exchanges.push(aboutFact(random, fact))
  let count = exchanges.reduce((sum, exchange) => sum + exchange.length, 0)
  while (count < turns) {
    const exchange = chat(random)
    exchanges.push(exchange)
    count += exchange.length
  }
  return random.shuffled(exchanges)
}

export const make = (options: Options): Conversations => {
  const random = SeededRandom.make(options.seed)
  const turns: Array<MemoryEntry.MemoryEntry> = []
  const questions: Array<Question> = []
  const distractors = new Map<string, Array<MemoryEntry.MemoryEntry>>()
  const end = start + options.days * dayMillis
  for (let user = 1; user <= options.users; user++) {
    const ownerId = `user-${user}`
    const exchanges = exchangesOf(random, options.turnsPerUser)
    const sessions = Math.max(2, Math.round(exchanges.length / 6))
    // One session within each of equal parts of the period.
    const stretch = (end - start) / sessions
    const begins = Array.from({ length: sessions }, (_, index) => start + (index + random.next() * 0.9) * stretch)
    let number = 0
    begins.forEach((begin, index) => {
      let timestamp = Math.floor(begin)
      const from = Math.floor((index * exchanges.length) / sessions)
      const to = Math.floor(((index + 1) * exchanges.length) / sessions)
      for (const line of exchanges.slice(from, to).flat()) {
        timestamp += 5_000 + random.below(90_000)
        const turn = MemoryEntry.make({
          id: EntryId.make(`${ownerId}-${String(++number).padStart(4, "0")}`),
          ownerId,
          sessionId: SessionId.make(`${ownerId}-session-${index + 1}`),
          role: line.role,
          content: line.text,
          timestamp,
          metadata: { type: "turn" }
        })
        turns.push(turn)
        if (line.question !== undefined) questions.push({ ...line.question, ownerId, evidence: turn })
        if (line.distracts !== undefined) {
          const key = `${ownerId}/${line.distracts}`
          distractors.set(key, [...(distractors.get(key) ?? []), turn])
        }
      }
    })
  }
  return { turns, questions, distractors, now: end + dayMillis }
}

export const groundOf = ({ now, questions, turns }: Conversations): Ground => ({
  turns,
  questions: questions.map(({ evidence, ownerId, text }) => ({ ownerId, text, evidence: [evidence.id] })),
  now
})

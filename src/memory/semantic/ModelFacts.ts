/**
 * Reads facts with a model. Entries are sent as one JSON document under names of this call (`e1`, `e2`, …). Only facts
 * within bounds that refer to a given entry are accepted.
 *
 * @private
 * @since 0.1.0
 */

import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { EntryId } from "../../domain/Ids.js"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as JsonText from "../../internal/text/JsonText.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as SemanticPrompts from "../../prompt/defaults/SemanticPrompts.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { FactExtractionError } from "../entry/MemoryError.js"
import type { NewFact } from "../facts/Fact.js"
import * as FactText from "../facts/FactText.js"
import * as FactSecrets from "../statement/FactSecrets.js"
import * as FactTimes from "../statement/FactTimes.js"

/**
 * @category models
 */
export interface Limits {
  readonly maxCallChars: number
  readonly maxEntryChars: number
  readonly maxFactsPerCall: number
  readonly maxEntities: number
  readonly timeout: Duration.DurationInput
  readonly settings?: ModelSettings.ModelSettings | undefined
  readonly speakerOf: (entry: MemoryEntry) => string
}

const maxName = 200
const maxObject = 1000

const AnsweredFact = Schema.Struct({
  subject: Schema.String,
  predicate: Schema.String,
  object: Schema.String,
  confidence: Schema.Number,
  sources: Schema.Array(Schema.String),
  retracted: Schema.Boolean,
  replaces: Schema.Boolean,
  from: Schema.NullOr(Schema.String),
  to: Schema.NullOr(Schema.String)
})
const { jsonSchema } = OutputSchema.make(
  Schema.Struct({ facts: Schema.Array(AnsweredFact), entities: Schema.Array(Schema.String) })
)
const responseFormat: LlmClient.ResponseFormat = { type: "json", name: "facts", schema: jsonSchema }

const List = Schema.Array(Schema.Unknown)
const decodeAnswer = Schema.decodeUnknownOption(Schema.Struct({ facts: List, entities: Schema.optional(List) }))
const decodeFact = Schema.decodeUnknownOption(
  Schema.Struct({
    ...AnsweredFact.fields,
    confidence: Schema.optional(Schema.NullOr(Schema.Number)),
    retracted: Schema.optional(Schema.Unknown),
    replaces: Schema.optional(Schema.Unknown),
    from: Schema.optional(Schema.Unknown),
    to: Schema.optional(Schema.Unknown)
  })
)

interface Answer {
  readonly facts: ReadonlyArray<unknown>
  readonly entities?: ReadonlyArray<unknown> | undefined
}

const read = (response: LlmClient.LlmResponse): Answer | undefined => {
  const json = JsonText.read(LlmClient.text(response))
  if (Either.isLeft(json)) return undefined
  const answer = decodeAnswer(json.right)
  return answer._tag === "None" ? undefined : answer.value
}

interface Shown {
  readonly alias: string
  readonly entry: MemoryEntry
  readonly document: string
}

/** Groups neighbors, as many as fit into a call. A larger entry gets its own call. */
const callsOf = (entries: ReadonlyArray<MemoryEntry>, limits: Limits): ReadonlyArray<ReadonlyArray<Shown>> => {
  const calls: Array<Array<Shown>> = []
  let size = Number.POSITIVE_INFINITY
  for (const entry of entries) {
    if (entry.content.trim() === "") continue
    const show = (number: number): Shown => {
      const alias = `e${number}`
      const document = DataDocument.stringify({
        id: alias,
        speaker: limits.speakerOf(entry),
        at: Excerpt.time(entry.timestamp),
        text: Excerpt.ends(entry.content, limits.maxEntryChars)
      })
      return { alias, entry, document }
    }
    const call = calls.at(-1)
    const next = show((call?.length ?? 0) + 1)
    if (call !== undefined && size + next.document.length <= limits.maxCallChars) {
      call.push(next)
      size += next.document.length
    } else {
      const first = show(1)
      calls.push([first])
      size = first.document.length
    }
  }
  return calls
}

const boundedText = (text: string, most: number): string | undefined => {
  const plain = FactText.plain(text)
  return plain === "" || plain.length > most ? undefined : plain
}

/** Parses a date of the model's answer. */
const spanOf = (given: unknown): FactTimes.Span | undefined =>
  typeof given === "string" ? FactTimes.fromIso(given) : undefined

/** The facts to assert for one fact of the answer. Empty if it is out of bounds. */
const factsOf = (given: unknown, shown: ReadonlyMap<string, MemoryEntry>): ReadonlyArray<NewFact> => {
  const decoded = decodeFact(given)
  if (decoded._tag === "None") return []
  const { confidence } = decoded.value
  const subject = boundedText(decoded.value.subject, maxName)
  const predicate = boundedText(decoded.value.predicate, maxName)
  const object = boundedText(decoded.value.object, maxObject)
  const sources = new Set<EntryId>()
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const alias of decoded.value.sources) {
    const entry = shown.get(alias)
    if (entry === undefined) continue
    sources.add(entry.id)
    first = Math.min(first, entry.timestamp)
    last = Math.max(last, entry.timestamp)
  }
  if (subject === undefined || predicate === undefined || object === undefined || sources.size === 0) return []
  if (FactSecrets.isSecret({ subject, predicate, object })) return []
  const retracted = decoded.value.retracted === true
  const times = { from: spanOf(decoded.value.from)?.start, to: spanOf(decoded.value.to)?.end }
  // With several entries, the last one retracts what the first may have stated.
  return FactTimes.placed(times, { at: retracted ? last : first, retracted }).map((placed) => ({
    subject,
    predicate,
    object,
    sources: [...sources],
    ...placed,
    ...(decoded.value.replaces === true && !retracted ? { replaces: true } : {}),
    ...(typeof confidence === "number" && !Number.isNaN(confidence)
      ? { confidence: Math.min(1, Math.max(0, confidence)) }
      : {})
  }))
}

/** The names that occur in the entries, ignoring case. */
const namesOf = (given: ReadonlyArray<unknown>, entries: Iterable<MemoryEntry>): ReadonlyArray<string> => {
  const texts = Array.from(entries, ({ content }) => FactText.words(content))
  return given.flatMap((name) => {
    if (typeof name !== "string") return []
    const plain = boundedText(name, maxName)
    const words = plain === undefined ? "" : FactText.words(plain)
    return plain !== undefined && words !== "" && texts.some((text) => text.includes(words)) ? [plain] : []
  })
}

const failed = (why: string): FactExtractionError =>
  new FactExtractionError({ message: `The model extracted no facts: ${why}` })

const again = "Your last answer could not be read. Read the entries again, and answer in the form you were told."

const ask = Effect.fnUntraced(function* (client: LlmClient.Service, shown: ReadonlyArray<Shown>, limits: Limits) {
  const prompts = yield* PromptLibrary.PromptLibrary
  const { system, user } = prompts.render(SemanticPrompts.Extract, {
    entries: `{"entries":[${shown.map(({ document }) => document).join(",")}]}`,
    max_facts: String(limits.maxFactsPerCall),
    output_format: SemanticPrompts.Extract.textFormat
  })
  const settings = ModelSettings.merge({ temperature: 0, maxTokens: 2000 }, limits.settings)
  const complete = Effect.fnUntraced(function* (...more: ReadonlyArray<LlmClient.Message>) {
    const messages: ReadonlyArray<LlmClient.Message> = [
      { role: "system", content: system },
      { role: "user", content: [{ type: "text", text: user }] },
      ...more
    ]
    const response = yield* Effect.mapError(
      client.complete({ messages, responseFormat, settings }),
      // Only the name of the error: providers may quote their input in the message.
      (error) => failed(error._tag)
    )
    if (response.finishReason === "content-filter" || response.finishReason === "error") {
      return yield* failed(response.finishReason)
    }
    return read(response)
  })
  const answer = (yield* complete()) ?? (yield* complete({ role: "user", content: [{ type: "text", text: again }] }))
  return answer ?? (yield* failed("its answers cannot be read"))
})

/**
 * @category constructors
 */
export const make = (given: LlmClient.Service, limits: Limits) => {
  const client = LlmTimeout.wrap({ whole: limits.timeout })(given)
  return Effect.fnUntraced(function* (entries: ReadonlyArray<MemoryEntry>) {
    const facts: Array<NewFact> = []
    const names = new Map<string, string>()
    for (const shown of callsOf(entries, limits)) {
      const answer = yield* ask(client, shown, limits)
      const byAlias = new Map(shown.map(({ alias, entry }) => [alias, entry] as const))
      let room = limits.maxFactsPerCall
      for (const one of answer.facts) {
        const read = room > 0 ? factsOf(one, byAlias) : []
        if (read.length === 0) continue
        facts.push(...read)
        room--
      }
      for (const name of namesOf((answer.entities ?? []).slice(0, 4 * limits.maxEntities), byAlias.values())) {
        const key = name.toLowerCase()
        if (names.size < limits.maxEntities && !names.has(key)) names.set(key, name)
      }
    }
    return { facts, entities: [...names.values()] }
  })
}

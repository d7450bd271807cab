/**
 * Extracts facts and names from entries, by plain English sentences or by a model.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import type * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryRole } from "../entry/Selection.js"
import type { NewFact } from "../facts/Fact.js"
import type * as FactCorrections from "../statement/FactCorrections.js"
import * as FactTimes from "../statement/FactTimes.js"
import * as StatedFacts from "../statement/StatedFacts.js"
import * as EntityNames from "../text/EntityNames.js"
import * as EntityExtractor from "./EntityExtractor.js"
import * as ModelFacts from "./ModelFacts.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface HeuristicOptions {
  /** Roles whose entries are read. Default: users. */
  readonly roles?: ReadonlyArray<MemoryRole> | undefined
  /**
   * Whom `I` refers to in a user's text, unless the entry has `metadata.speaker`. Default `user`. Other roles are named
   * by their role.
   */
  readonly speaker?: string | undefined
  /** Maximum facts of one entry. Default 20. */
  readonly maxFactsPerEntry?: number | undefined
  /** Maximum names of one call. Default 64. */
  readonly maxEntities?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelOptions {
  /** Roles whose entries are read. Default: users. */
  readonly roles?: ReadonlyArray<MemoryRole> | undefined
  /**
   * The name of a user, unless the entry has `metadata.speaker`. Default `user`. Other roles are named by their role.
   */
  readonly speaker?: string | undefined
  /** Maximum characters of entries in one call. Default 12,000. Further calls read the rest. */
  readonly maxCallChars?: number | undefined
  /**
   * Maximum characters of one entry that the model sees, half from the beginning and half from the end. Default 4,000.
   */
  readonly maxEntryChars?: number | undefined
  /** Maximum facts of one call. Default 50. */
  readonly maxFactsPerCall?: number | undefined
  /** Maximum names of one extraction. Default 64. */
  readonly maxEntities?: number | undefined
  /** Timeout of one call. Default 60 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Override the temperature of 0 and the limit of 2,000 answer tokens. */
  readonly settings?: ModelSettings.ModelSettings | undefined
}

const maxSpeaker = 50

const speakerOf = (entry: MemoryEntry, user: string): string => {
  const named = Object.hasOwn(entry.metadata, "speaker") ? entry.metadata["speaker"] : undefined
  if (typeof named === "string" && named.trim() !== "" && named.length <= maxSpeaker) return named.trim()
  return entry.role === "user" ? user : entry.role
}

const namesIn = (entries: ReadonlyArray<MemoryEntry>, limit: number): ReadonlyArray<string> => {
  const names = new Map<string, string>()
  for (const entry of entries) {
    for (const name of EntityNames.entitiesOf(entry.content, { limit })) {
      if (names.size >= limit) return [...names.values()]
      const key = name.toLowerCase()
      if (!names.has(key)) names.set(key, name)
    }
  }
  return [...names.values()]
}

/** What to assert for what an entry states. */
const assertionsOf = (
  { isPast, object, predicate, replaces, retracted, subject, times = {} }: StatedFacts.Stated,
  { id, timestamp: at }: MemoryEntry
): ReadonlyArray<NewFact> => {
  const { from, to = at } = times
  // A past fact has ended by the time of its statement, even if the named year continues.
  const ended = { from, to: Math.min(to, at) }
  if (isPast === true && from !== undefined && from >= ended.to) return []
  return FactTimes.placed(isPast === true ? ended : times, { at, retracted }).map((placed) => ({
    subject,
    predicate,
    object,
    sources: [id],
    ...(replaces === true ? { replaces } : {}),
    ...placed
  }))
}

/**
 * Reads English sentences by their words: `I live in Paris`, `my name is Anna`, `Anna's birthday is 5 May`, `the
 * office is in Ghent`; `I no longer live in Ghent`, `I stopped working at Acme`; `since May 2021`, `from 2020 to
 * 2022`, `until 2022-05-03` (in UTC, including the whole last year, month or day), `since last year` and `for ten
 * years` from the time of the entry. Contrasts (`not X but Y`) and corrections of what the same speaker said before in
 * the same session (`actually it's 7 May`, `scratch that`, `I left Acme`) retract and replace facts. Questions,
 * negations, suppositions, reports, quotations, sentences about pronouns and code give no facts. `I`, `my` and `our`
 * refer to the speaker. Subjects have up to 60 characters, objects up to 120. Gives no confidence.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeHeuristic = (options?: HeuristicOptions | undefined): EntityExtractor.Service => {
  const roles = new Set<MemoryRole>(options?.roles ?? ["user"])
  const user = options?.speaker ?? "user"
  const limit = Count.count(options?.maxFactsPerEntry, 20, 0)
  const maxEntities = Count.count(options?.maxEntities, 64, 0)
  const factsIn = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<NewFact> => {
    const contexts = new Map<string, FactCorrections.Context>()
    return entries.flatMap((entry) => {
      const speaker = speakerOf(entry, user)
      // A correction means what the same speaker said before in the same session.
      const key = JSON.stringify([entry.sessionId ?? null, speaker])
      const options = { speaker, limit, at: entry.timestamp, before: contexts.get(key) }
      const { context, facts } = StatedFacts.readAfter(entry.content, options)
      contexts.set(key, context)
      return facts.flatMap((fact) => assertionsOf(fact, entry))
    })
  }
  return {
    extract: (entries) =>
      Effect.sync(() => {
        const read = entries.filter(({ role }) => roles.has(role))
        return { facts: factsIn(read), entities: namesIn(read, maxEntities) }
      })
  }
}

/**
 * Asks a model with the prompt `SemanticPrompts.Extract`. Entries are data in it. Drops facts that are out of bounds or
 * name no given entry, and names that occur in no entry. Clamps confidences. Repeats the call once if the answer is
 * unreadable. Facts that no longer hold are retracted, and others get the validity that the text states; an invalid
 * date counts as not stated. If the model fails, so does the extraction.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeModel = (client: LlmClient.Service, options?: ModelOptions | undefined): EntityExtractor.Service => {
  const roles = new Set<MemoryRole>(options?.roles ?? ["user"])
  const user = options?.speaker ?? "user"
  const extract = ModelFacts.make(client, {
    maxCallChars: Count.count(options?.maxCallChars, 12_000, 1),
    maxEntryChars: Count.count(options?.maxEntryChars, 4000, 2),
    maxFactsPerCall: Count.count(options?.maxFactsPerCall, 50, 1),
    maxEntities: Count.count(options?.maxEntities, 64, 0),
    timeout: options?.timeout ?? "60 seconds",
    settings: options?.settings,
    speakerOf: (entry) => speakerOf(entry, user)
  })
  return { extract: (entries) => extract(entries.filter(({ role }) => roles.has(role))) }
}

/**
 * @since 0.1.0
 * @category layers
 */
export const layerModel = (
  options?: ModelOptions | undefined
): Layer.Layer<EntityExtractor.EntityExtractor, never, LlmClient.LlmClient> =>
  Layer.effect(
    EntityExtractor.EntityExtractor,
    Effect.map(LlmClient.LlmClient, (client) => makeModel(client, options))
  )

/**
 * Extracts without a model, as {@link makeHeuristic}.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { DefaultEntityExtractor, EntityExtractor, MemoryEntry } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const content = "I live in Ghent."
 * const entry = { id: Ids.EntryId.make("1"), ownerId: "anna", role: "user", content, timestamp: 0 } as const
 *
 * const program = EntityExtractor.EntityExtractor.pipe(
 *   Effect.flatMap((extractor) => extractor.extract([MemoryEntry.make(entry)])),
 *   Effect.provide(DefaultEntityExtractor.layerHeuristic({ speaker: "Anna" }))
 * )
 * // One fact: Anna, lives in, Ghent.
 * ```
 */
export const layerHeuristic = (options?: HeuristicOptions | undefined): Layer.Layer<EntityExtractor.EntityExtractor> =>
  Layer.sync(EntityExtractor.EntityExtractor, () => makeHeuristic(options))

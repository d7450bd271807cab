/**
 * From entries to facts and names: by the words of plain English sentences, or by a model.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import type * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { FactExtractionError } from "../entry/MemoryError.js"
import type { MemoryRole } from "../entry/Selection.js"
import type { NewFact } from "../facts/Fact.js"
import * as EntityNames from "../text/EntityNames.js"
import * as FactTimes from "./FactTimes.js"
import * as ModelFacts from "./ModelFacts.js"
import * as StatedFacts from "./StatedFacts.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Extraction {
  /**
   * With the entries they were read from as `sources`, valid from the time of these, or as these say. What holds since
   * long ago is there twice: it was so then, and when it was said. What is so no longer is `retracted`.
   */
  readonly facts: ReadonlyArray<NewFact>
  /** Names of people and things, each once. */
  readonly entities: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Reads entries of one owner. No facts in them: none, and no failure. What the extractors of this module read is
   * never about a password, a key, a token, or the number of a card or an account.
   */
  readonly extract: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<Extraction, FactExtractionError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EntityExtractor extends Context.Tag("effect-lexigram/memory/EntityExtractor")<
  EntityExtractor,
  Service
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface HeuristicOptions {
  /** Whose entries are read; those of users unless set. */
  readonly roles?: ReadonlyArray<MemoryRole> | undefined
  /**
   * Whom `I` means in what a user says, unless the entry has a `metadata.speaker`; `user` unless set. Other roles are
   * called by their name.
   */
  readonly speaker?: string | undefined
  /** Facts of one entry at most; 20 unless set. */
  readonly maxFactsPerEntry?: number | undefined
  /** Names of one call at most; 64 unless set. */
  readonly maxEntities?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelOptions {
  /** Whose entries are read; those of users unless set. */
  readonly roles?: ReadonlyArray<MemoryRole> | undefined
  /**
   * What a user is called, unless the entry has a `metadata.speaker`; `user` unless set. Other roles are called by
   * their name.
   */
  readonly speaker?: string | undefined
  /** Characters of entries in one call, at most; 12,000 unless set. What does not fit is read by further calls. */
  readonly maxCallChars?: number | undefined
  /** Characters of one entry that the model sees, half from its beginning and half from its end; 4,000 unless set. */
  readonly maxEntryChars?: number | undefined
  /** Facts of one call at most; 50 unless set. */
  readonly maxFactsPerCall?: number | undefined
  /** Names of one extraction at most; 64 unless set. */
  readonly maxEntities?: number | undefined
  /** Of one call; 60 seconds unless set. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Win over a temperature of 0 and 2,000 tokens of answer at most. */
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

/**
 * Reads English sentences by their words: `I live in Paris`, `my name is Anna`, `Anna's birthday is 5 May`, `the office
 * is in Ghent`; `I no longer live in Ghent`, `I stopped working at Acme`; `since May 2021`, `from 2020 to 2022`, `until
 * 2022-05-03` (in UTC, with the whole of the last year, month or day that is named). What is asked, denied, supposed,
 * reported or quoted is no fact, nor what pronouns are about, nor code. `I`, `my` and `our` are the speaker's. Subjects
 * have up to 60 characters, objects up to 120. It gives no confidence.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeHeuristic = (options?: HeuristicOptions | undefined): Service => {
  const roles = new Set<MemoryRole>(options?.roles ?? ["user"])
  const user = options?.speaker ?? "user"
  const limit = Count.count(options?.maxFactsPerEntry, 20, 0)
  const maxEntities = Count.count(options?.maxEntities, 64, 0)
  const factsIn = (entry: MemoryEntry): ReadonlyArray<NewFact> =>
    StatedFacts.read(entry.content, { speaker: speakerOf(entry, user), limit }).flatMap(
      ({ isPast, object, predicate, retracted, subject, times = {} }) => {
        const at = entry.timestamp
        const { from, to = at } = times
        // What was so has ended when it is said, whatever is left of the year that is named.
        const ended = { from, to: Math.min(to, at) }
        if (isPast === true && from !== undefined && from >= ended.to) return []
        return FactTimes.placed(isPast === true ? ended : times, { at, retracted }).map((placed) => ({
          subject,
          predicate,
          object,
          sources: [entry.id],
          ...placed
        }))
      }
    )
  return {
    extract: (entries) =>
      Effect.sync(() => {
        const read = entries.filter(({ role }) => roles.has(role))
        return { facts: read.flatMap(factsIn), entities: namesIn(read, maxEntities) }
      })
  }
}

/**
 * Asks a model, in the words of `SemanticPrompts.Extract`. Entries are data in its prompt. Of its answer facts are
 * dropped that break the bounds of a fact or name no entry that was given, and names that stand in none; confidences
 * are brought into their range. An answer that cannot be read is asked for once more. It says of facts that are so no
 * longer that they are, and from when until when others hold, if the text does; a date that is none counts as not said.
 * When the model fails, so does the extraction.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeModel = (client: LlmClient.Service, options?: ModelOptions | undefined): Service => {
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
): Layer.Layer<EntityExtractor, never, LlmClient.LlmClient> =>
  Layer.effect(
    EntityExtractor,
    Effect.map(LlmClient.LlmClient, (client) => makeModel(client, options))
  )

/**
 * @since 0.1.0
 * @category layers
 */
export const layerHeuristic = (options?: HeuristicOptions | undefined): Layer.Layer<EntityExtractor> =>
  Layer.sync(EntityExtractor, () => makeHeuristic(options))

/**
 * Reads nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<EntityExtractor> = Layer.succeed(EntityExtractor, {
  extract: () => Effect.succeed({ facts: [], entities: [] })
})

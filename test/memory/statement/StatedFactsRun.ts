/** What is known after each statement of the corpus, by the rules over stores in this process. */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EntryId } from "../../../src/domain/Ids.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import type { Fact } from "../../../src/memory/facts/Fact.js"
import * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as DefaultEntityExtractor from "../../../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../../../src/memory/semantic/DefaultSemanticMemory.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import type * as Corpus from "./StatedFactsCorpus.js"

const at = (text: string): number => DateTime.toEpochMillis(DateTime.unsafeMake(`${text}T00:00:00Z`))

/** When both are said. */
const earlier = at("2024-01-15")
const later = at("2024-06-15")

const entry = (id: string, content: string, timestamp: number) =>
  MemoryEntry.make({ id: EntryId.make(id), ownerId: "ann", content, role: "user", timestamp })

const day = (millis: number | undefined): string =>
  millis === undefined ? "" : DateTime.formatIsoDateUtc(DateTime.unsafeMake(millis))

const textOf = ({ object, predicate, subject }: Fact): string => `${subject} | ${predicate} | ${object}`

/** Whether a fact is as expected: with its days, if those are given. */
const agrees = (fact: Fact, expected: string): boolean => {
  const [text, days] = expected.split(" @")
  if (text?.toLowerCase() !== textOf(fact).toLowerCase()) return false
  return days === undefined || days === [day(fact.validFrom), day(fact.validTo)].join(" ").trim()
}

export interface Result {
  readonly stated: Corpus.Stated
  readonly isRight: boolean
  readonly now: ReadonlyArray<string>
  readonly past: ReadonlyArray<string>
}

/** Both statements are read at once, as those of a conversation are. */
const one = (stated: Corpus.Stated) =>
  Effect.gen(function* () {
    const memory = yield* SemanticMemory.SemanticMemory
    const store = yield* FactStore.FactStore
    yield* memory.ingest([
      ...(stated.before === undefined ? [] : [entry("e1", stated.before, earlier)]),
      entry("e2", stated.says, later)
    ])
    const found = yield* store.query("ann", { at: at("2024-12-31"), includeClosed: true, limit: 1_000 })
    // Aliases say nothing new; they count where they are expected.
    const isAliased = stated.now.some((expected) => expected.includes("is also called"))
    const all = found.filter(({ predicate }) => isAliased || predicate !== "is also called")
    const now = all.filter(({ validTo }) => validTo === undefined)
    const past = all.filter(({ validTo }) => validTo !== undefined)
    const result: Result = {
      stated,
      isRight:
        now.length === stated.now.length &&
        stated.now.every((expected) => now.some((fact) => agrees(fact, expected))) &&
        stated.past.every((expected) => past.some((fact) => agrees(fact, expected))) &&
        (stated.past.length > 0 || past.length === 0),
      now: now.map((fact) => `${textOf(fact)} @${day(fact.validFrom)}`),
      past: past.map((fact) => `${textOf(fact)} @${day(fact.validFrom)} ${day(fact.validTo)}`)
    }
    return result
  }).pipe(
    Effect.provide(
      DefaultSemanticMemory.layer().pipe(
        Layer.provideMerge(Layer.merge(InMemoryFactStore.layer(), DefaultEntityExtractor.layerHeuristic()))
      )
    )
  )

export const evaluate = (
  all: ReadonlyArray<Corpus.Stated>
): Effect.Effect<ReadonlyArray<Result>, Effect.Effect.Error<ReturnType<typeof one>>> => Effect.forEach(all, one)

/**
 * The handlers of memory: for what is remembered of the caller alone.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AgentConfig from "../../agent/definition/AgentConfig.js"
import { EntryId, type SessionId, type UserId } from "../../domain/Ids.js"
import * as PublicView from "../../domain/PublicView.js"
import { ApiError } from "../../http/api/ApiError.js"
import * as OwnerEndpoints from "../../http/api/OwnerEndpoints.js"
import * as Refusals from "../../http/api/Refusals.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as MemoryConsolidator from "../../memory/consolidation/MemoryConsolidator.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import * as MemoryOwner from "../../memory/entry/MemoryOwner.js"
import { type Fact, FactId } from "../../memory/facts/Fact.js"
import * as FactStore from "../../memory/facts/FactStore.js"
import * as MemoryStore from "../../memory/search/MemoryStore.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as SessionManager from "../../session/manager/SessionManager.js"
import * as SessionMemory from "../../session/manager/SessionMemory.js"
import { StudioApi } from "../api/StudioApi.js"
import type { Consolidated, Item, KnownFact, Section } from "../api/StudioMemoryApi.js"
import * as ShownValue from "./ShownValue.js"

const { kept, user } = OwnerEndpoints

const HOW = "memory: add `DefaultMemory.layer()`, or a system that has memory, to its layers"

const fromFact = ({ metadata, object, ownerId: _, predicate, subject, ...fact }: Fact): KnownFact => ({
  ...fact,
  subject: SecretText.redact(subject),
  predicate: SecretText.redact(predicate),
  object: SecretText.redact(object),
  metadata: PublicView.fromValue(metadata) as KnownFact["metadata"]
})

/** Items of a section that are looked up. */
const MOST_LEFT = 100

/** Entries that consolidation names. */
const MOST_REMOVALS = 500

/** Characters of an item. */
const MOST_TEXT = 2000

const fromEntry = ({ content, id, role, timestamp }: MemoryEntry): Item => ({
  id,
  role,
  timestamp,
  text: ShownValue.text(content, MOST_TEXT)
})

/** The entries with these ids; none if the store cannot be read. */
const entriesOf = (
  ownerId: string,
  ids: ReadonlyArray<EntryId>,
  store: Option.Option<MemoryStore.Service>
): Effect.Effect<ReadonlyArray<MemoryEntry>> =>
  Option.isNone(store) || ids.length === 0
    ? Effect.succeed([])
    : Effect.orElseSucceed(store.value.getMany(ownerId, ids), () => [])

/** Entries that are looked up for a page of facts. */
const MOST_SOURCES = 500

/** Facts with the entries that they were read from. */
const factsOf = (ownerId: string, facts: ReadonlyArray<Fact>, store: Option.Option<MemoryStore.Service>) => {
  const sources = Array.from(new Set(facts.flatMap((fact) => fact.sources))).slice(0, MOST_SOURCES)
  return Effect.map(entriesOf(ownerId, sources, store), (entries) => ({
    facts: facts.map(fromFact),
    entries: entries.map(fromEntry)
  }))
}

/** Looks up what the ids of a report stand for. */
interface Lookup {
  readonly entry: (id: string) => MemoryEntry | undefined
  readonly fact: (id: string) => Fact | undefined
}

const itemOf =
  (source: string, { entry, fact }: Lookup) =>
  (id: string): Item => {
    if (source === "semantic") {
      const found = fact(id)
      return found === undefined
        ? { id }
        : { id, text: ShownValue.text(`${found.subject} ${found.predicate} ${found.object}`, MOST_TEXT) }
    }
    const found = source === "recent_turns" || source === "episodic" ? entry(id) : undefined
    return found === undefined ? { id } : fromEntry(found)
  }

const isEntryId = Schema.is(EntryId)
const isFactId = Schema.is(FactId)

/** Entries and facts of a report that are still stored. One that cannot be read has its id alone. */
const lookupOf = (
  ownerId: string,
  { entries, report }: WorkingMemory.Assembled,
  store: Option.Option<MemoryStore.Service>,
  facts: Option.Option<FactStore.Service>
): Effect.Effect<Lookup> =>
  Effect.gen(function* () {
    const known = new Map<string, MemoryEntry>(entries.map((entry) => [entry.id, entry]))
    const wanted = (sources: ReadonlyArray<string>, side: "taken" | "left"): ReadonlyArray<string> =>
      report.flatMap((one) => (sources.includes(one.source) ? one[side].slice(0, MOST_LEFT) : []))
    const missing = wanted(["recent_turns", "episodic"], "left")
      .filter((id) => !known.has(id))
      .filter(isEntryId)
    for (const entry of yield* entriesOf(ownerId, missing, store)) known.set(entry.id, entry)
    const stated = new Map<string, Fact>()
    if (Option.isSome(facts)) {
      const ids = [...wanted(["semantic"], "taken"), ...wanted(["semantic"], "left")].filter(isFactId)
      yield* Effect.forEach(
        ids,
        (id) =>
          Effect.map(
            Effect.orElseSucceed(facts.value.get(ownerId, id), () => Option.none<Fact>()),
            Option.map((fact) => stated.set(id, fact))
          ),
        { concurrency: 8, discard: true }
      )
    }
    return { entry: (id) => known.get(id), fact: (id) => stated.get(id) }
  })

/** Tools and procedures have no ids that a store knows, but their texts are those of the assembly, in its order. */
const sectionOf =
  (lookup: Lookup, { tools }: WorkingMemory.Assembled) =>
  ({ failed, left, source, taken, tokenBudget, tokens }: WorkingMemory.SourceReport): Section => {
    const item = itemOf(source, lookup)
    return {
      source,
      tokenBudget,
      tokens,
      taken: taken.map((id, at) =>
        source === "tool_descriptions" && tools[at] !== undefined
          ? { id, text: ShownValue.text(tools[at], MOST_TEXT) }
          : item(id)
      ),
      left: left.slice(0, MOST_LEFT).map(item),
      leftCount: left.length,
      ...(failed === undefined ? {} : { failed })
    }
  }

const noSession = new ApiError({ reason: "unknown", message: "No session of yours has this id" })

/** What of a session its branch may recall. */
const placeOf = (
  manager: Effect.Effect<SessionManager.Service, ApiError>,
  userId: UserId,
  sessionId: SessionId | undefined
): Effect.Effect<Partial<Pick<WorkingMemory.AssembleOptions, "sessionId" | "lineage" | "tree">>, ApiError> =>
  sessionId === undefined
    ? Effect.succeed({})
    : Effect.flatMap(manager, (sessions) =>
        Effect.flatMap(Refusals.ofSession(sessions.get(sessionId, { userId })), (found) =>
          Option.isNone(found) ? noSession : Effect.succeed({ sessionId, ...SessionMemory.lineageOf(found.value) })
        )
      )

/**
 * @category layers
 */
export const layer = HttpApiBuilder.group(StudioApi, "memory", (handlers) =>
  Effect.gen(function* () {
    const factStore = yield* Effect.serviceOption(FactStore.FactStore)
    const entryStore = yield* Effect.serviceOption(MemoryStore.MemoryStore)
    const facts = Refusals.offered(factStore, `facts of ${HOW}`)
    const memories = Refusals.offered(yield* Effect.serviceOption(WorkingMemory.WorkingMemory), HOW)
    const consolidators = Refusals.offered(yield* Effect.serviceOption(MemoryConsolidator.MemoryConsolidator), HOW)
    const sessions = Refusals.offered(
      yield* Effect.serviceOption(SessionManager.SessionManager),
      "sessions: add `Sessions.layer()` to its layers"
    )
    const ownerId = Effect.map(user, MemoryOwner.ofUser)
    return handlers
      .handle("listFacts", ({ urlParams: { closed, cursor, limit = 100, text, ...selection } }) =>
        Effect.gen(function* () {
          const store = yield* facts
          const owner = yield* ownerId
          const query = { ...selection, includeClosed: closed ?? true, limit }
          if (text !== undefined)
            return yield* factsOf(owner, yield* kept(store.search(owner, text, query)), entryStore)
          const found = yield* kept(store.query(owner, { ...query, limit: limit + 1, after: cursor }))
          const page = found.slice(0, limit)
          const last = page.at(-1)
          return {
            ...(yield* factsOf(owner, page, entryStore)),
            ...(found.length <= limit || last === undefined
              ? {}
              : { next: { confidence: last.confidence, validFrom: last.validFrom, id: last.id } })
          }
        })
      )
      .handle(
        "assembleMemory",
        ({ payload: { budget = AgentConfig.defaults.memoryTokenBudget, question, sessionId } }) =>
          Effect.gen(function* () {
            const memory = yield* memories
            const owner = yield* ownerId
            const place = yield* placeOf(sessions, yield* user, sessionId)
            const found = yield* kept(
              memory.assemble({ query: question, tokenBudget: budget, ownerId: owner, ...place })
            )
            const lookup = yield* lookupOf(owner, found, entryStore, factStore)
            return {
              budget,
              tokens: found.tokens,
              text: SecretText.redact(WorkingMemory.toText(found)),
              sections: found.report.map(sectionOf(lookup, found))
            }
          })
      )
      .handle("consolidateMemory", ({ payload: { apply = false } }) =>
        Effect.gen(function* () {
          const consolidator = yield* consolidators
          const removals: Array<Consolidated["removals"][number]> = []
          const onRemoval = ({ pruned, replaced, strategy }: MemoryConsolidator.Removal) =>
            Effect.sync(() => {
              const removed = (entries: ReadonlyArray<MemoryEntry>, how: "pruned" | "replaced") =>
                entries
                  .slice(0, MOST_REMOVALS - removals.length)
                  .map((entry) => ({ strategy, how, item: fromEntry(entry) }))
              removals.push(...removed(pruned, "pruned"))
              removals.push(...removed(replaced, "replaced"))
            })
          const options = { ownerId: yield* ownerId, dryRun: !apply, onRemoval }
          return { ...(yield* kept(consolidator.consolidate(options))), removals }
        })
      )
  })
)

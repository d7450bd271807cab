import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { EntryId, RunId, SessionId } from "../../../src/domain/Ids.js"
import * as ConsolidationStrategies from "../../../src/memory/consolidation/ConsolidationStrategies.js"
import type { ConsolidationStrategy, Proposal } from "../../../src/memory/consolidation/MemoryConsolidator.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import { DAY, entry, HOUR, ids, now } from "../../support/ConsolidatedMemory.js"
import * as Growth from "../../support/Growth.js"

const proposed = (
  strategy: ConsolidationStrategy,
  entries: ReadonlyArray<MemoryEntry>,
  at: number = now
): Effect.Effect<{ readonly [K in keyof Required<Proposal>]: NonNullable<Proposal[K]> }> =>
  strategy
    .propose({
      ownerId: "ann",
      entries: entries.toSorted((a, b) => a.timestamp - b.timestamp),
      now: at,
      agedBefore: at - DAY,
      batchSize: 100,
      dryRun: false
    })
    .pipe(
      Effect.map(({ prune = [], replace = [], update = [] }) => ({ prune: prune.toSorted(), replace, update })),
      Effect.orDie
    )

const pruned = (strategy: ConsolidationStrategy, entries: ReadonlyArray<MemoryEntry>, at?: number) =>
  Effect.map(proposed(strategy, entries, at), ({ prune }) => prune)

const call = (id: string, call: string, over?: Partial<MemoryEntry>): ReadonlyArray<MemoryEntry> => [
  entry(`${id}-call`, `looks up ${id}`, {
    ...over,
    role: "assistant",
    metadata: { toolCallIds: [call] },
    runId: RunId.make(id)
  }),
  entry(`${id}-result`, `found ${id}`, { ...over, role: "tool", metadata: { toolCallId: call }, runId: RunId.make(id) })
]

describe("deduplication", () => {
  it.effect("keeps the newest of duplicates, which inherits their worth", () =>
    Effect.gen(function* () {
      const { prune, update } = yield* proposed(ConsolidationStrategies.deduplication(), [
        entry("a", "Likes  Tea.", {
          timestamp: now - 90 * DAY,
          importance: 0.9,
          metadata: { entities: ["tea", "Ann"], factsRead: true, links: ["x"] }
        }),
        entry("b", "likes tea", { timestamp: now - 4 * DAY, accessCount: 4, lastAccessedAt: now - 2 * DAY }),
        entry("c", "likes tea tea", { timestamp: now - 3 * DAY, metadata: { entities: ["Ann"], from: "c" } })
      ])
      assert.deepStrictEqual(prune, ids("a", "b"))
      assert.deepStrictEqual(update, [
        entry("c", "likes tea tea", {
          timestamp: now - 3 * DAY,
          importance: 0.9,
          accessCount: 4,
          lastAccessedAt: now - 2 * DAY,
          metadata: { entities: ["Ann", "tea"], links: ["x"], from: "c", firstSaidAt: now - 90 * DAY }
        })
      ])
    })
  )

  it.effect("keeps the latest expiry, whichever entry stays", () =>
    Effect.gen(function* () {
      const strategy = ConsolidationStrategies.deduplication()
      const ends = (first?: number, second?: number) =>
        Effect.map(
          proposed(strategy, [
            entry("a", "likes tea", { timestamp: now - 9 * DAY, ...(first === undefined ? {} : { expiresAt: first }) }),
            entry("b", "likes tea", second === undefined ? {} : { expiresAt: second })
          ]),
          ({ update }) => update.map(({ expiresAt, id }) => [id, expiresAt])
        )
      assert.deepStrictEqual(yield* ends(now + DAY, undefined), [[EntryId.make("b"), undefined]])
      assert.deepStrictEqual(yield* ends(undefined, now + DAY), [[EntryId.make("b"), undefined]])
      assert.deepStrictEqual(yield* ends(now + 3 * DAY, now + DAY), [[EntryId.make("b"), now + 3 * DAY]])
    })
  )

  it.effect("keeps a correction beside what it corrects", () =>
    Effect.gen(function* () {
      const long = "please note that the dose I was told to take each morning with a large glass of cold water is"
      const strategy = ConsolidationStrategies.deduplication()
      for (const [first, second] of [
        ["I do want the newsletter", "I do not want the newsletter"],
        [`${long} 120 mg`, `${long} 180 mg`],
        [`${long} from Ann`, `${long} from Bob`],
        [`${long} right`, `${long} not right`]
      ] as const) {
        assert.deepStrictEqual(yield* pruned(strategy, [entry("a", first), entry("b", second)]), [])
      }
    })
  )

  it.effect("keeps the first of duplicates in a session that may have branches, even if it is less important", () =>
    Effect.gen(function* () {
      const strategy = ConsolidationStrategies.deduplication()
      const sessionId = SessionId.make("s")
      const said = (id: string, days: number, over?: Partial<MemoryEntry>) =>
        entry(id, "likes tea", {
          timestamp: now - days * DAY,
          sessionId,
          ...over,
          metadata: { sessionTree: "s", ...over?.metadata }
        })
      const { prune, update } = yield* proposed(strategy, [
        said("a", 9),
        said("b", 8, { importance: 0.9, accessCount: 7 })
      ])
      assert.deepStrictEqual(prune, ids("b"))
      assert.deepStrictEqual(
        update.map(({ accessCount, id, importance }) => [id, importance, accessCount]),
        [[EntryId.make("a"), 0.9, 7]]
      )
      const corrected = [said("a", 9), said("x", 8, { role: "assistant" }), said("b", 7)]
      assert.deepStrictEqual(yield* pruned(strategy, corrected), [])
    })
  )

  it.effect("keeps equal entries from before and after a rewind, and of other branches", () =>
    Effect.gen(function* () {
      const said = (id: string, session: string, metadata: object) =>
        entry(id, "likes tea", { sessionId: SessionId.make(session), metadata: { sessionTree: "s", ...metadata } })
      const entries = [
        said("a", "s", {}),
        said("b", "s", { sessionStretch: 5 }),
        said("c", "s", { sessionStretch: 6 }),
        said("d", "branch", {})
      ]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.deduplication(), entries), [])
      const across = ConsolidationStrategies.deduplication({ acrossSessions: true })
      assert.deepStrictEqual(yield* pruned(across, entries), ids("a", "b", "c"))
      const doubles = [...entries, said("e", "s", { sessionStretch: 6 })]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.deduplication(), doubles), ids("e"))
    })
  )

  it.effect("keeps equal entries of different roles, sessions and kinds, system prompts and summaries", () =>
    Effect.gen(function* () {
      const said = (id: string, over?: Partial<MemoryEntry>) => entry(id, "likes tea", over)
      const entries = [
        said("a"),
        said("b", { role: "assistant" }),
        said("c", { sessionId: SessionId.make("s1") }),
        said("d", { sessionId: SessionId.make("s2") }),
        said("e", { metadata: { type: "note" } }),
        said("f", { role: "system" }),
        said("g", { role: "system" }),
        said("h", { metadata: { type: "summary" } }),
        said("i", { metadata: { type: "summary" } })
      ]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.deduplication(), entries), [])
      assert.deepStrictEqual(
        yield* pruned(ConsolidationStrategies.deduplication({ acrossSessions: true }), entries),
        ids("a", "c")
      )
    })
  )

  it.effect("takes linear time", () =>
    Growth.assertLinearEffect({
      // The words get more with the entries, as they do in what people say.
      input: (size) =>
        Array.from({ length: size }, (_, index) =>
          entry(
            `e${index}`,
            Array.from(
              { length: 20 },
              (_, place) => `w${(index * (place + 7) * 2_654_435 + place ** 5) % (size + 1)}`
            ).join(" "),
            { timestamp: now - 9 * DAY + index }
          )
        ),
      size: 10_000,
      run: (entries) => proposed(ConsolidationStrategies.deduplication(), entries)
    })
  )

  it.effect("keeps tool calls and their results", () =>
    Effect.gen(function* () {
      const twice = [...call("x", "1"), ...call("y", "2")].map((one) => ({ ...one, content: "the same" }))
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.deduplication(), twice), [])
    })
  )
})

describe("recencyDecay", () => {
  const ages = [1, 60, 129, 130, 200].map((days) => entry(`d${days}`, `day ${days}`, { timestamp: now - days * DAY }))

  it.effect("removes an entry of which less than a twentieth remains, after 130 days", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.recencyDecay(), ages), ids("d130", "d200"))
    })
  )

  it.effect("uses the configured half-life and threshold", () =>
    Effect.gen(function* () {
      const quick = ConsolidationStrategies.recencyDecay({ halfLife: "12 hours" })
      const at = (hours: number) => entry(`h${hours}`, "x", { timestamp: now - hours * HOUR })
      assert.deepStrictEqual(yield* pruned(quick, [at(51), at(52)]), ids("h52"))
      const half = ConsolidationStrategies.recencyDecay({ threshold: 0.5 })
      assert.deepStrictEqual(yield* pruned(half, ages), ids("d129", "d130", "d200", "d60"))
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.recencyDecay({ threshold: 0 }), ages), [])
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.recencyDecay({ halfLife: Infinity }), ages), [])
    })
  )

  it.effect("counts age from the last recall", () =>
    Effect.gen(function* () {
      const old = { timestamp: now - 300 * DAY }
      const entries = [
        entry("recalled", "x", { ...old, lastAccessedAt: now - 10 * DAY }),
        entry("faded", "y", { ...old, lastAccessedAt: now - 140 * DAY })
      ]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.recencyDecay(), entries), ids("faded"))
    })
  )

  it.effect("spares important entries only with spareImportance", () =>
    Effect.gen(function* () {
      const entries = [
        entry("vital", "x", { timestamp: now - 300 * DAY, importance: 0.9 }),
        entry("usual", "y", { timestamp: now - 300 * DAY })
      ]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.recencyDecay(), entries), ids("usual", "vital"))
      const sparing = ConsolidationStrategies.recencyDecay({ spareImportance: 0.8 })
      assert.deepStrictEqual(yield* pruned(sparing, entries), ids("usual"))
    })
  )

  it.effect("keeps system prompts, and removes a call with all its results", () =>
    Effect.gen(function* () {
      const old = { timestamp: now - 300 * DAY }
      const [question, result] = call("y", "2", old) as [MemoryEntry, MemoryEntry]
      const entries = [
        entry("prompt", "be kind", { ...old, role: "system" }),
        ...call("x", "1", old),
        question,
        { ...result, lastAccessedAt: now - DAY }
      ]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.recencyDecay(), entries), ids("x-call", "x-result"))
    })
  )
})

describe("accessFrequency", () => {
  it.effect("removes unimportant entries that are not recalled often", () =>
    Effect.gen(function* () {
      const entries = [
        entry("vital", "a", { importance: 0.1 }),
        entry("idle", "b", { importance: 0.09 }),
        entry("rare", "c", { importance: 0.09, accessCount: 2 }),
        entry("often", "d", { importance: 0, accessCount: 3 }),
        entry("prompt", "e", { importance: 0, role: "system" })
      ]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.accessFrequency(), entries), ids("idle", "rare"))
      const patient = ConsolidationStrategies.accessFrequency({ minAccesses: 1 })
      assert.deepStrictEqual(yield* pruned(patient, entries), ids("idle"))
      const strict = ConsolidationStrategies.accessFrequency({ importanceThreshold: 0.2 })
      assert.deepStrictEqual(yield* pruned(strict, entries), ids("idle", "rare", "vital"))
    })
  )

  it.effect("keeps a call whose results may still come", () =>
    Effect.gen(function* () {
      const [young] = call("y", "2", { timestamp: now - DAY - 1, importance: 0 }) as [MemoryEntry, MemoryEntry]
      const [old] = call("x", "1", { timestamp: now - 2 * DAY, importance: 0 }) as [MemoryEntry, MemoryEntry]
      assert.deepStrictEqual(yield* pruned(ConsolidationStrategies.accessFrequency(), [young, old]), ids("x-call"))
    })
  )
})

describe("standard", () => {
  it.effect("passes half-life and importance to its strategies", () =>
    Effect.gen(function* () {
      const entries = [entry("old", "x", { timestamp: now - 10 * DAY }), entry("idle", "y", { importance: 0.3 })]
      const goes = (options?: Parameters<typeof ConsolidationStrategies.standard>[0]) =>
        Effect.map(
          Effect.forEach(ConsolidationStrategies.standard(options), (strategy) => pruned(strategy, entries)),
          (ids) => ids.flat()
        )
      assert.deepStrictEqual(yield* goes(), [])
      assert.deepStrictEqual(yield* goes({ halfLife: "2 days" }), ids("old"))
      assert.deepStrictEqual(yield* goes({ importanceThreshold: 0.4 }), ids("idle"))
      assert.deepStrictEqual(
        ConsolidationStrategies.standard().map(({ name }) => name),
        ["deduplication", "recency_decay", "access_frequency"]
      )
    })
  )
})

describe("timeDecay", () => {
  const importances = (strategy: ConsolidationStrategy, entries: ReadonlyArray<MemoryEntry>, at?: number) =>
    Effect.map(proposed(strategy, entries, at), ({ update }) => update)

  it.effect("halves importance in a week and keeps the original", () =>
    Effect.gen(function* () {
      const said = entry("a", "x", { timestamp: now - 7 * DAY, importance: 0.8 })
      const [once] = yield* importances(ConsolidationStrategies.timeDecay(), [said])
      assert.closeTo(once?.importance ?? 0, 0.4, 1e-9)
      assert.deepStrictEqual(once?.metadata, { baseImportance: 0.8 })
      assert.deepStrictEqual(yield* importances(ConsolidationStrategies.timeDecay(), [once as MemoryEntry]), [])
      const [later] = yield* importances(ConsolidationStrategies.timeDecay(), [once as MemoryEntry], now + 7 * DAY)
      assert.closeTo(later?.importance ?? 0, 0.2, 1e-9)
      const recalled = { ...(later as MemoryEntry), lastAccessedAt: now + 7 * DAY }
      const [again] = yield* importances(ConsolidationStrategies.timeDecay(), [recalled], now + 7 * DAY)
      assert.strictEqual(again?.importance, 0.8)
    })
  )

  it.effect("uses the configured half-life and floor", () =>
    Effect.gen(function* () {
      const said = entry("a", "x", { timestamp: now - 100 * DAY, importance: 0.8 })
      const [usual] = yield* importances(ConsolidationStrategies.timeDecay(), [said])
      assert.strictEqual(usual?.importance, 0.01)
      const [high] = yield* importances(ConsolidationStrategies.timeDecay({ minImportance: 0.3 }), [said])
      assert.strictEqual(high?.importance, 0.3)
      const [slow] = yield* importances(ConsolidationStrategies.timeDecay({ halfLife: "100 days" }), [said])
      assert.closeTo(slow?.importance ?? 0, 0.4, 1e-9)
      const low = entry("b", "x", { timestamp: now - 100 * DAY, importance: 0.2 })
      assert.deepStrictEqual(yield* importances(ConsolidationStrategies.timeDecay({ minImportance: 0.3 }), [low]), [])
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId, SessionId, TurnId } from "../../../src/domain/Ids.js"
import type { Message } from "../../../src/llm/model/LlmClient.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as ConversationMemory from "../../../src/memory/conversation/ConversationMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { type MemoryError, StorageError } from "../../../src/memory/entry/MemoryError.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as ConversationWorkingMemory from "../../../src/memory/working/ConversationWorkingMemory.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"

type Fields = Partial<MemoryEntry.MemoryEntry>

const session = (id: string) => SessionId.make(id)

const entry = (id: string, fields: Fields = {}): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    id: EntryId.make(id),
    ownerId: "ann",
    content: `text of ${id}`,
    role: "user",
    timestamp: 0,
    metadata: { type: "turn" },
    ...fields
  })

const many = (n: number, fields: Fields = {}) =>
  Array.from({ length: n }, (_, index) =>
    entry(`e${index}`, { timestamp: index, role: index % 2 === 0 ? "user" : "assistant", ...fields })
  )

const counter = TokenCounter.layerApproximate()
const make = (
  conversations: ConversationWorkingMemory.Conversations = () => ConversationMemory.buffer(),
  options?: ConversationWorkingMemory.Options
) => Effect.provide(ConversationWorkingMemory.make(conversations, options), counter)

const ask = (memory: WorkingMemory.Service, request: Partial<WorkingMemory.AssembleOptions> = {}) =>
  memory.assemble({ query: "", tokenBudget: 100_000, ownerId: "ann", ...request })

const ids = (memory: WorkingMemory.Service, request: Partial<WorkingMemory.AssembleOptions> = {}) =>
  Effect.map(ask(memory, request), ({ entries }) => entries.map(({ id }) => String(id)))

/** What the reader will be sent. */
const sent = (assembled: WorkingMemory.Assembled, systemPrompt?: string): number => {
  const { countMessages } = TokenCounter.approximate
  const system: ReadonlyArray<Message> = systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }]
  return countMessages([...system, ...WorkingMemory.toMessages(assembled)]) - countMessages([])
}

describe("ConversationWorkingMemory", () => {
  it.effect("returns entries unchanged, oldest first, with a report", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      const entries = [
        entry("a", { importance: 0.9, turnId: TurnId.make("t1"), metadata: { type: "turn", unanswered: "failed" } }),
        entry("b", { role: "assistant", timestamp: 1 })
      ]
      yield* memory.addAll(entries)
      const assembled = yield* ask(memory)
      assert.deepStrictEqual(assembled.entries, entries)
      assert.strictEqual(assembled.tokens, sent(assembled))
      assert.deepStrictEqual(assembled.report, [
        { source: "recent_turns", tokenBudget: 100_000, tokens: assembled.tokens, taken: ["a", "b"], left: [] }
      ])
      assert.deepStrictEqual(yield* memory.getContextEntries({ ownerId: "ann" }), entries)
    })
  )

  it.effect("returns nothing without messages or budget", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      assert.isEmpty((yield* ask(memory)).entries)
      yield* memory.addAll(many(3))
      for (const tokenBudget of [0, -1, Number.NaN, 5]) {
        const assembled = yield* ask(memory, { tokenBudget })
        assert.deepStrictEqual([assembled.entries, assembled.tokens], [[], 0])
        assert.deepStrictEqual(assembled.report[0]?.left, ["e2", "e1", "e0"])
      }
    })
  )

  it.effect("takes the newest that fit the budget", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.addAll(many(50))
      const whole = yield* ask(memory)
      const assembled = yield* ask(memory, { tokenBudget: Math.floor(whole.tokens / 2) })
      assert.isAtMost(assembled.tokens, whole.tokens / 2)
      assert.isAbove(assembled.entries.length, 15)
      assert.deepStrictEqual(assembled.entries, whole.entries.slice(-assembled.entries.length))
      // One more would not fit, when each line is counted by itself.
      const more = { ...assembled, entries: whole.entries.slice(-assembled.entries.length - 1) }
      assert.isAbove(sent(more), whole.tokens / 2 - more.entries.length)
    })
  )

  it.effect("subtracts the system prompt from the budget", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.addAll(many(10))
      const systemPrompt = "Be brief. ".repeat(20)
      const assembled = yield* ask(memory, { tokenBudget: 140, systemPrompt })
      assert.isAtMost(assembled.tokens, 140)
      assert.strictEqual(assembled.tokens, sent(assembled, systemPrompt))
      assert.isBelow(assembled.entries.length, (yield* ask(memory, { tokenBudget: 140 })).entries.length)
      assert.deepInclude(yield* ask(memory, { tokenBudget: 20, systemPrompt }), { entries: [], tokens: 20 })
    })
  )

  it.effect("separates owners and sessions", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      const scopes = ["ann", "bob", "__proto__"].flatMap((ownerId) =>
        ["s1", "__proto__"].map((id) => ({ ownerId, sessionId: session(id) }))
      )
      for (const scope of scopes) yield* memory.add(entry(`${scope.ownerId}-${scope.sessionId}`, scope))
      for (const scope of scopes) {
        assert.deepStrictEqual(yield* ids(memory, scope), [`${scope.ownerId}-${scope.sessionId}`])
        assert.lengthOf(yield* memory.getContextEntries(scope), 1)
      }
      assert.isEmpty(yield* ids(memory, { ownerId: "eve" }))
      assert.isEmpty(yield* ids(memory, { sessionId: session("ann") }))
      assert.isEmpty(yield* ids(memory, { ownerId: '["ann","s1"]' }))
    })
  )

  it.effect("combines all conversations of the owner by time without a session", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.addAll([
        entry("late", { sessionId: session("s1"), timestamp: 9 }),
        entry("early", { sessionId: session("s2"), timestamp: 1 }),
        entry("free", { timestamp: 5 }),
        entry("other", { ownerId: "bob", timestamp: 5 })
      ])
      assert.deepStrictEqual(yield* ids(memory), ["early", "free", "late"])
      assert.deepStrictEqual(
        (yield* memory.getContextEntries({ ownerId: "ann" })).map(({ id }) => String(id)),
        ["early", "free", "late"]
      )
    })
  )

  it.effect("shows a branch its own conversation and those of its ancestors up to the branch point", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.addAll([
        entry("r1", { sessionId: session("root"), timestamp: 1 }),
        entry("r2", { sessionId: session("root"), timestamp: 5 }),
        entry("b1", { sessionId: session("branch"), timestamp: 3 }),
        entry("x1", { sessionId: session("sibling"), timestamp: 2 })
      ])
      const lineage = [{ sessionId: session("root"), until: 2 }]
      assert.deepStrictEqual(yield* ids(memory, { sessionId: session("branch"), lineage }), ["r1", "b1"])
      const whole = [...lineage, { sessionId: session("branch") }]
      assert.deepStrictEqual(yield* ids(memory, { sessionId: session("branch"), lineage: whole }), ["r1", "b1"])
      assert.deepStrictEqual(yield* ids(memory, { lineage }), ["r1"])
    })
  )

  it.effect("leaves out turns that are shown anyway", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.addAll([entry("a", { turnId: TurnId.make("t1") }), entry("b", { turnId: TurnId.make("t2") })])
      assert.deepStrictEqual(yield* ids(memory, { shown: new Set([TurnId.make("t1")]) }), ["b"])
    })
  )

  it.effect("leaves out expired entries", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.addAll([entry("a", { expiresAt: 1_000 }), entry("b")])
      assert.deepStrictEqual(yield* ids(memory), ["a", "b"])
      yield* TestClock.setTime(1_000)
      assert.deepStrictEqual(yield* ids(memory), ["b"])
    })
  )

  it.effect("does not add an entry again", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.addAll([entry("a"), entry("a"), entry("a", { sessionId: session("s1") })])
      yield* memory.add(entry("a"))
      assert.lengthOf(yield* ids(memory), 2)
    })
  )

  it.effect("includes tool calls with their results or not at all", () =>
    Effect.gen(function* () {
      const conversation = yield* ConversationMemory.buffer()
      const call: Message = {
        role: "assistant",
        content: [
          { type: "text", text: "let me look" },
          { type: "tool-call", id: "1", name: "find", params: { q: "tea" } },
          { type: "tool-call", id: "2", name: "find", params: { q: "cake" } }
        ]
      }
      const result = (id: string) =>
        ({
          type: "tool-result",
          id,
          name: "find",
          isFailure: false,
          result: { found: id },
          providerExecuted: false
        }) as const
      const open: Message = { role: "assistant", content: [{ type: "tool-call", id: "3", name: "find", params: {} }] }
      for (const message of [
        { role: "user", content: "tea and cake?" },
        call,
        { role: "tool", content: [result("1"), result("2")] },
        { role: "assistant", content: "both" },
        open
      ] as ReadonlyArray<Message>) {
        yield* conversation.addMessage(message)
      }
      const memory = yield* make(() => Effect.succeed(conversation))
      const whole = yield* ask(memory)
      assert.deepStrictEqual(
        whole.entries.map(({ content, role }) => [role, content]),
        [
          ["user", "tea and cake?"],
          ["assistant", 'let me look\nfind({"q":"tea"})\nfind({"q":"cake"})'],
          ["tool", '{"found":"1"}'],
          ["tool", '{"found":"2"}'],
          ["assistant", "both"]
        ]
      )
      assert.lengthOf(whole.report[0]?.left ?? [], 1)
      for (let tokenBudget = 0; tokenBudget <= whole.tokens; tokenBudget++) {
        const { entries, tokens } = yield* ask(memory, { tokenBudget })
        assert.isAtMost(tokens, tokenBudget)
        assert.include([0, 1, 4, 5], entries.length)
      }
      // Asked again, the same.
      assert.deepStrictEqual(yield* ask(memory), whole)
      assert.strictEqual(new Set(whole.entries.map(({ id }) => id)).size, 5)
    })
  )

  it.effect("drops the least recently used conversation; reads drop none", () =>
    Effect.gen(function* () {
      const memory = yield* make(undefined, { maxConversations: 2 })
      const of = (ownerId: string) => ids(memory, { ownerId })
      yield* memory.add(entry("a1", { ownerId: "a" }))
      yield* memory.add(entry("b1", { ownerId: "b" }))
      for (const ownerId of ["x", "y", "z"]) assert.isEmpty(yield* of(ownerId))
      yield* memory.add(entry("a2", { ownerId: "a" }))
      yield* memory.add(entry("c1", { ownerId: "c" }))
      assert.deepStrictEqual(yield* of("a"), ["a1", "a2"])
      assert.isEmpty(yield* of("b"))
      assert.deepStrictEqual(yield* of("c"), ["c1"])
    })
  )

  it.effect("loses what a window drops", () =>
    Effect.gen(function* () {
      const memory = yield* make(() => ConversationMemory.window({ size: 2 }))
      yield* memory.addAll(many(20))
      assert.deepStrictEqual(yield* ids(memory), ["e16", "e17", "e18", "e19"])
    })
  )

  it.effect("changes nothing on flush, learn and health", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      yield* memory.add(entry("a"))
      yield* memory.flush({ ownerId: "ann" })
      yield* memory.learn({
        ownerId: "ann",
        task: "find tea",
        steps: [{ tool: "find", parameters: [] }],
        success: true
      })
      yield* memory.health
      assert.deepStrictEqual(yield* ids(memory), ["a"])
    })
  )

  it.effect("rejects an empty owner", () =>
    Effect.gen(function* () {
      const memory = yield* make()
      for (const effect of [ask(memory, { ownerId: "" }), memory.add({ ...entry("a"), ownerId: "" })]) {
        assert.strictEqual((yield* Effect.flip(effect as Effect.Effect<unknown, Error>)).name, "MemoryStoreError")
      }
    })
  )

  it.effect("fails when its conversation fails, and keeps what came before", () =>
    Effect.gen(function* () {
      const failure = new StorageError({ message: "down" })
      const inner = yield* ConversationMemory.buffer()
      const flaky: ConversationMemory.ConversationMemory<StorageError> = {
        ...inner,
        addMessage: (message) => (message.content === "bad" ? Effect.fail(failure) : inner.addMessage(message))
      }
      const memory = yield* Effect.provide(
        ConversationWorkingMemory.make(() => Effect.succeed(flaky)),
        counter
      )
      const bad = entry("b", { content: "bad" })
      assert.include(yield* Effect.flip(memory.addAll([entry("a"), bad, entry("c")])), {
        _tag: "StorageError",
        message: "down"
      })
      assert.deepStrictEqual(yield* ids(memory), ["a"])
      // What failed was not added: it can be tried again.
      assert.include(yield* Effect.flip(memory.add(bad)), { _tag: "StorageError", message: "down" })
      const dead = { ...inner, getMessages: Effect.fail(failure) }
      const broken = yield* Effect.provide(
        ConversationWorkingMemory.make(() => Effect.succeed(dead)),
        counter
      )
      assert.include(yield* Effect.flip(ask(broken)), { _tag: "StorageError", message: "down" })
      assert.include(yield* Effect.flip(broken.health), { _tag: "StorageError", message: "down" })
    })
  )

  it.effect("loses nothing when fibers add concurrently", () =>
    Effect.gen(function* () {
      const memory = yield* make(() => Effect.zipRight(Effect.yieldNow(), ConversationMemory.buffer()))
      const fibers = yield* Effect.forEach(many(60), (one) => Effect.fork(memory.add(one)))
      yield* Effect.forEach(fibers, Fiber.join)
      assert.lengthOf(yield* ids(memory), 60)
    })
  )

  it.effect("continues over a store after a restart, with unchanged entries", () =>
    Effect.gen(function* () {
      const conversations: ConversationWorkingMemory.Conversations<MemoryError, MemoryStore.MemoryStore> = ({
        ownerId,
        sessionId
      }) => ConversationMemory.fromStore({ ownerId, sessionId: sessionId ?? session("none") })
      const start = Effect.provide(ConversationWorkingMemory.make(conversations), counter)
      const entries = many(6, { sessionId: session("s1"), importance: 0.7 })
      const memory = yield* start
      yield* memory.addAll(entries)
      const again = yield* start
      assert.deepStrictEqual(
        yield* ids(again, { sessionId: session("s1") }),
        entries.map(({ id }) => String(id))
      )
      const store = yield* MemoryStore.MemoryStore
      assert.strictEqual(yield* store.count("ann", { sessionIds: [session("s1")], filters: { type: "turn" } }), 6)
      // Added once more by the new process, the store replaces it.
      yield* again.add(entries[5] as MemoryEntry.MemoryEntry)
      assert.lengthOf(yield* ids(again, { sessionId: session("s1") }), 6)
      yield* again.health
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("uses the store it was built with, whatever the run's context", () =>
    Effect.gen(function* () {
      const memory = yield* WorkingMemory.WorkingMemory
      yield* memory
        .add(entry("a", { sessionId: session("s1") }))
        .pipe(Effect.provideService(MemoryStore.MemoryStore, MemoryStore.noop))
      assert.deepStrictEqual(yield* ids(memory, { sessionId: session("s1") }), ["a"])
    }).pipe(
      Effect.provide(
        ConversationWorkingMemory.layer(({ ownerId, sessionId = session("none") }) =>
          ConversationMemory.fromStore({ ownerId, sessionId })
        ).pipe(Layer.provide([InMemoryMemoryStore.layer(), counter]))
      )
    )
  )

  it.effect.prop(
    "returns the newest part in order, within the budget",
    [
      FastCheck.array(FastCheck.string({ unit: "grapheme", maxLength: 60 }), { maxLength: 20 }),
      FastCheck.integer({ min: 0, max: 400 })
    ],
    ([texts, tokenBudget]) =>
      Effect.gen(function* () {
        const memory = yield* make()
        const entries = texts.map((content, index) => entry(`e${index}`, { content, timestamp: index }))
        yield* memory.addAll(entries)
        const assembled = yield* ask(memory, { tokenBudget })
        assert.isAtMost(assembled.tokens, tokenBudget)
        assert.strictEqual(assembled.tokens, sent(assembled))
        assert.deepStrictEqual(
          assembled.entries,
          assembled.entries.length === 0 ? [] : entries.slice(-assembled.entries.length)
        )
      })
  )
})

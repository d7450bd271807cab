import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as ConversationBuffer from "../../../src/memory/conversation/ConversationBuffer.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import * as ToolPairs from "../../../src/memory/entry/ToolPairs.js"
import * as Tiers from "../../support/MemoryTiers.js"

const withBuffer = <A>(
  use: (buffer: ConversationBuffer.ConversationBuffer) => Effect.Effect<A>,
  options?: ConversationBuffer.Options,
  counter: TokenCounter.Service = Tiers.characters
) => Effect.provideService(Effect.flatMap(ConversationBuffer.make(options), use), TokenCounter.TokenCounter, counter)

const call = (id: string, ...calls: ReadonlyArray<string>) =>
  Tiers.entry(id, { role: "assistant", metadata: { [ToolPairs.TOOL_CALL_IDS]: calls } })

const result = (id: string, of: string) => Tiers.entry(id, { role: "tool", metadata: { [ToolPairs.TOOL_CALL_ID]: of } })

const idsOf = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<string> => entries.map(({ id }) => id)

const addAll = (buffer: ConversationBuffer.ConversationBuffer, entries: ReadonlyArray<MemoryEntry>) =>
  Effect.forEach(entries, buffer.add, { discard: true })

/** What these entries cost as messages, by a counter of its own. */
const cost = (counter: TokenCounter.Service, entries: ReadonlyArray<MemoryEntry>): number =>
  counter.countMessages(entries.map(({ content, role }) => ({ role: role === "tool" ? "user" : role, content }))) -
  counter.countMessages([])

describe("ConversationBuffer", () => {
  it.effect("holds the last twenty turns by default", () =>
    withBuffer((buffer) =>
      Effect.gen(function* () {
        yield* addAll(
          buffer,
          Array.from({ length: 25 }, (_, index) => Tiers.turn(index + 1))
        )
        const entries = yield* buffer.entries
        assert.strictEqual(entries.length, 20)
        assert.strictEqual(entries[0]?.id, "t6")
        assert.strictEqual(yield* buffer.size, 20)
      })
    )
  )

  it.effect("holds 4096 tokens by default", () =>
    withBuffer((buffer) =>
      Effect.gen(function* () {
        yield* addAll(
          buffer,
          Array.from({ length: 5 }, (_, index) => Tiers.turn(index + 1, { role: "user", content: "x".repeat(1017) }))
        )
        assert.deepStrictEqual(idsOf(yield* buffer.entries), ["t2", "t3", "t4", "t5"])
        assert.strictEqual(yield* buffer.tokens, 4096)
      })
    )
  )

  it.effect("keeps the newest entry and system entries, whatever their size", () =>
    withBuffer(
      (buffer) =>
        Effect.gen(function* () {
          const system = Tiers.entry("system", { role: "system", content: "x".repeat(200) })
          yield* addAll(buffer, [system, Tiers.turn(1), Tiers.turn(2, { content: "x".repeat(500) })])
          assert.deepStrictEqual(idsOf(yield* buffer.entries), ["system", "t2"])
          yield* buffer.add(Tiers.turn(3))
          assert.deepStrictEqual(idsOf(yield* buffer.entries), ["system", "t3"])
        }),
      { maxTokens: 100, maxTurns: 1 }
    )
  )

  it.effect("drops a call with its results", () =>
    withBuffer(
      (buffer) =>
        Effect.gen(function* () {
          yield* addAll(buffer, [Tiers.turn(1), call("c", "1", "2"), result("r1", "1"), result("r2", "2")])
          assert.deepStrictEqual(idsOf(yield* buffer.entries), ["c", "r1", "r2"])
          yield* buffer.add(Tiers.turn(5))
          assert.deepStrictEqual(idsOf(yield* buffer.entries), ["t5"])
        }),
      { maxTurns: 3 }
    )
  )

  it.effect("keeps a result with its call, even if both exceed the bounds", () =>
    withBuffer(
      (buffer) =>
        Effect.gen(function* () {
          yield* addAll(buffer, [call("c", "1", "2"), result("r1", "1"), result("r2", "2")])
          assert.deepStrictEqual(idsOf(yield* buffer.entries), ["c", "r1", "r2"])
        }),
      { maxTurns: 1, maxTokens: 1 }
    )
  )

  it.effect("includes a call without results only until another entry is added", () =>
    withBuffer((buffer) =>
      Effect.gen(function* () {
        yield* addAll(buffer, [call("c", "1"), Tiers.turn(9)])
        assert.deepStrictEqual(idsOf(yield* buffer.entries), ["t9"])
        yield* buffer.add(result("r", "1"))
        assert.deepStrictEqual(idsOf(yield* buffer.entries), ["c", "r", "t9"])
        yield* buffer.add(call("d", "2"))
        assert.deepStrictEqual(idsOf(yield* buffer.entries), ["c", "r", "t9", "d"])
      })
    )
  )

  it.effect("rejects a result without its call", () =>
    withBuffer(
      (buffer) =>
        Effect.gen(function* () {
          yield* addAll(buffer, [result("r", "0"), call("c", "1"), Tiers.turn(3), result("late", "1")])
          assert.deepStrictEqual(idsOf(yield* buffer.entries), ["t3"])
        }),
      { maxTurns: 1 }
    )
  )

  it.effect("replaces an entry with the same id in its place", () =>
    withBuffer((buffer) =>
      Effect.gen(function* () {
        yield* addAll(buffer, [Tiers.turn(1), Tiers.turn(2), Tiers.turn(1, { content: "longer than before" })])
        const entries = yield* buffer.entries
        assert.deepStrictEqual(idsOf(entries), ["t1", "t2"])
        assert.strictEqual(yield* buffer.tokens, cost(Tiers.characters, entries))
        yield* buffer.add({ ...call("x", "1"), id: entries[0]!.id })
        assert.deepStrictEqual(idsOf(yield* buffer.entries), ["t2", "t1"])
      })
    )
  )

  it.effect("is empty after clear", () =>
    withBuffer((buffer) =>
      Effect.gen(function* () {
        yield* addAll(buffer, [Tiers.turn(1), call("c", "1")])
        yield* buffer.clear
        assert.deepStrictEqual([yield* buffer.entries, yield* buffer.size, yield* buffer.tokens], [[], 0, 0])
        yield* buffer.add(result("r", "1"))
        assert.strictEqual(yield* buffer.size, 0)
      })
    )
  )

  it.effect("counts an entry once, when it is added", () => {
    let counted = 0
    const counter = TokenCounter.make({
      model: "counting",
      exact: true,
      count: (text) => {
        if (text.startsWith("turn")) counted++
        return text.length
      }
    })
    return withBuffer(
      (buffer) =>
        Effect.gen(function* () {
          yield* addAll(
            buffer,
            Array.from({ length: 300 }, (_, index) => Tiers.turn(index + 1))
          )
          yield* buffer.entries
          yield* buffer.tokens
          assert.strictEqual(counted, 300)
        }),
      { maxTurns: 50 },
      counter
    )
  })

  it.effect("keeps bounds, pairs and token counts for any sequence of additions", () => {
    const kind = FastCheck.constantFrom("user", "call", "result", "system", "again")
    const steps = FastCheck.array(FastCheck.tuple(kind, FastCheck.integer({ min: 0, max: 4 }), FastCheck.string()), {
      maxLength: 40
    })
    return Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          steps,
          FastCheck.integer({ min: 1, max: 6 }),
          FastCheck.integer({ min: 0, max: 200 }),
          (steps, maxTurns, maxTokens) =>
            Effect.runPromise(
              withBuffer(
                (buffer) =>
                  Effect.gen(function* () {
                    let system = 0
                    for (const [index, [kind, tool, content]] of steps.entries()) {
                      const id = kind === "again" ? `e${Math.max(0, index - 1)}` : `e${index}`
                      const added =
                        kind === "call"
                          ? { ...call(id, `${tool}`, `${tool + 1}`), content }
                          : kind === "result"
                            ? { ...result(id, `${tool}`), content }
                            : Tiers.entry(id, { role: kind === "system" ? "system" : "user", content })
                      yield* buffer.add(added)
                      const entries = yield* buffer.entries
                      system = entries.filter(({ role }) => role === "system").length
                      for (const [at, unit] of ToolPairs.units(entries).entries()) {
                        const last = at === ToolPairs.units(entries).length - 1
                        assert.isTrue(!unit.broken || last)
                        assert.isUndefined(ToolPairs.resultOf(unit.entries[0]!))
                      }
                      const size = yield* buffer.size
                      const tokens = yield* buffer.tokens
                      // One unit may pass the bounds: a call and its two results at most.
                      assert.isAtMost(size - system, Math.max(maxTurns, 3))
                      assert.isAtLeast(tokens, cost(Tiers.characters, entries))
                      if (size === entries.length) assert.strictEqual(tokens, cost(Tiers.characters, entries))
                    }
                  }),
                { maxTurns, maxTokens }
              )
            )
        ),
        { numRuns: 150 }
      )
    )
  })
})

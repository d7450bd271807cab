/** What every `Checkpointer` must do. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import { type Access, type Checkpoint, Checkpointer } from "../../src/graph/Checkpointer.js"

/** A checkpoint with something in every field. */
export const checkpoint = (id: string, fields?: Partial<Checkpoint>): Checkpoint => ({
  threadId: "thread",
  namespace: "",
  id,
  parentId: `parent of ${id}`,
  step: 3,
  state: { n: 1, list: [1, "a", null, true, { deep: [] }], text: "ä\u0000日本\u{1f600}" },
  next: ["a", "b", "c#1"],
  sends: [{ key: "c#1", node: "c", position: 1, writes: [["n", 2]] }],
  reached: [{ node: "merge", sources: ["a"] }],
  finished: [
    {
      node: "a",
      writes: [
        ["n", { n: 1 }],
        ["", ["b", ["c", [["n", 2]]]]]
      ]
    }
  ],
  waiting: [{ name: "approval", node: "b", path: ["outer"], payload: { question: "really?" } }],
  answers: [{ path: [], node: "b", name: "approval", value: { ok: true } }],
  pins: [{ node: "b", call: 0, namespace: "inner", id: "pinned" }],
  at: 1_700_000_000_000,
  metadata: { source: "loop", graph: "g" },
  ...fields
})

const hostile = [
  "__proto__",
  "constructor",
  "toString",
  "Thread",
  "thread ",
  "a:b",
  "a/b",
  "a'b\"c",
  "%_",
  "é",
  "e\u0301",
  "日本\u{1f600}",
  "\n",
  "x".repeat(10_000)
]

export const suite = <E>(name: string, layer: Layer.Layer<Checkpointer, E>): void => {
  const test = (fact: string, body: Effect.Effect<void, unknown, Checkpointer>) =>
    it.effect(fact, () => Effect.provide(body, layer))

  const ids = (checkpoints: ReadonlyArray<Checkpoint>) => checkpoints.map((one) => one.id)

  describe(`${name} as a Checkpointer`, () => {
    test(
      "finds nothing in an unknown thread",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        assert.deepStrictEqual(yield* checkpointer.get("thread"), Option.none())
        assert.deepStrictEqual(yield* checkpointer.get("thread", { id: "a" }), Option.none())
        assert.deepStrictEqual(yield* checkpointer.list("thread"), [])
        yield* checkpointer.deleteThread("thread")
        yield* checkpointer.putWrites("thread", "a", "node", [])
        assert.deepStrictEqual(yield* checkpointer.get("thread"), Option.none())
      })
    )

    test(
      "returns a checkpoint as it was put",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        const { parentId: _, ...first } = checkpoint("first")
        for (const one of [first, checkpoint("second"), checkpoint("third", { state: null, next: [], waiting: [] })]) {
          yield* checkpointer.put(one)
          assert.deepStrictEqual(
            yield* checkpointer.get("thread", { id: one.id }),
            Option.some({ checkpoint: one, writes: [] })
          )
        }
      })
    )

    test(
      "returns the last checkpoint put, whatever its id",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        for (const id of ["c", "a", "b"]) yield* checkpointer.put(checkpoint(id))
        const last = yield* checkpointer.get("thread")
        assert.strictEqual(Option.getOrThrow(last).checkpoint.id, "b")
        assert.deepStrictEqual(ids(yield* checkpointer.list("thread")), ["b", "a", "c"])
      })
    )

    test(
      "ignores a checkpoint that is put again",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* checkpointer.put(checkpoint("a"))
        yield* checkpointer.put(checkpoint("b"))
        yield* checkpointer.put(checkpoint("a", { step: 9 }))
        const checkpoints = yield* checkpointer.list("thread")
        assert.deepStrictEqual(ids(checkpoints), ["b", "a"])
        assert.strictEqual(checkpoints[1]?.step, 3)
      })
    )

    test(
      "copies its input",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        const state = { n: 1 }
        yield* checkpointer.put(checkpoint("a", { state }))
        state.n = 2
        const kept = Option.getOrThrow(yield* checkpointer.get("thread")).checkpoint.state as { n: number }
        assert.strictEqual(kept.n, 1)
        kept.n = 3
        assert.deepStrictEqual(Option.getOrThrow(yield* checkpointer.get("thread")).checkpoint.state, { n: 1 })
      })
    )

    test(
      "separates the namespaces of a thread",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* checkpointer.put(checkpoint("root"))
        yield* checkpointer.put(checkpoint("inner 1", { namespace: "inner" }))
        yield* checkpointer.put(checkpoint("other", { namespace: "other" }))
        yield* checkpointer.put(checkpoint("inner 2", { namespace: "inner" }))
        const get = (options?: { readonly namespace?: string; readonly id?: string }) =>
          Effect.map(
            checkpointer.get("thread", options),
            Option.match({ onNone: () => undefined, onSome: (saved) => saved.checkpoint.id })
          )
        assert.strictEqual(yield* get(), "root")
        assert.strictEqual(yield* get({ namespace: "inner" }), "inner 2")
        assert.strictEqual(yield* get({ namespace: "inner", id: "inner 1" }), "inner 1")
        assert.strictEqual(yield* get({ id: "inner 1" }), undefined)
        assert.strictEqual(yield* get({ namespace: "none" }), undefined)
        assert.deepStrictEqual(ids(yield* checkpointer.list("thread")), ["root"])
        assert.deepStrictEqual(ids(yield* checkpointer.list("thread", { namespace: "inner" })), ["inner 2", "inner 1"])
      })
    )

    test(
      "returns writes with their checkpoint, in order, the first of each node",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* checkpointer.put(checkpoint("a"))
        yield* checkpointer.put(checkpoint("b"))
        yield* checkpointer.putWrites("thread", "a", "two", [["n", { n: 2 }]])
        yield* checkpointer.putWrites("thread", "a", "one", [])
        yield* checkpointer.putWrites("thread", "a", "two", [["n", { n: 3 }]])
        yield* checkpointer.putWrites("thread", "unknown", "two", [])
        yield* checkpointer.putWrites("unknown", "a", "two", [])
        const writes = (id: string) =>
          Effect.map(checkpointer.get("thread", { id }), (saved) => Option.getOrThrow(saved).writes)
        assert.deepStrictEqual(yield* writes("a"), [
          { node: "two", writes: [["n", { n: 2 }]] },
          { node: "one", writes: [] }
        ])
        assert.deepStrictEqual(yield* writes("b"), [])
      })
    )

    test(
      "limits a list, starts it before a checkpoint, and filters it by metadata",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        for (let i = 0; i < 6; i++) {
          const metadata = {
            source: i % 2 === 0 ? "loop" : "wait",
            graph: "g",
            user: { id: i < 3 ? 1 : 2, tags: ["x"] }
          }
          yield* checkpointer.put(checkpoint(`${i}`, { metadata }))
        }
        const list = (options: Parameters<typeof checkpointer.list>[1]) =>
          Effect.map(checkpointer.list("thread", options), (found) => ids(found).join(""))
        assert.strictEqual(yield* list({}), "543210")
        assert.strictEqual(yield* list({ limit: 2 }), "54")
        assert.strictEqual(yield* list({ limit: 0 }), "")
        assert.strictEqual(yield* list({ before: "4" }), "3210")
        assert.strictEqual(yield* list({ before: "0" }), "")
        assert.strictEqual(yield* list({ before: "unknown" }), "")
        assert.strictEqual(yield* list({ before: "4", limit: 2 }), "32")
        assert.strictEqual(yield* list({ filter: { source: "wait" } }), "531")
        assert.strictEqual(yield* list({ filter: { source: "wait" }, limit: 2 }), "53")
        assert.strictEqual(yield* list({ filter: { source: "wait", user: { tags: ["x"], id: 1 } } }), "1")
        assert.strictEqual(yield* list({ filter: { toString: "x" } }), "")
        assert.strictEqual(yield* list({ filter: { missing: null } }), "")
      })
    )

    test(
      "compares ids, names and namespaces exactly",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        for (const text of hostile) {
          yield* checkpointer.put(checkpoint(text, { threadId: text, namespace: text }))
          yield* checkpointer.putWrites(text, text, text, [[text, text]])
        }
        for (const text of hostile) {
          const saved = Option.getOrThrow(yield* checkpointer.get(text, { namespace: text }))
          assert.deepStrictEqual(saved.checkpoint, checkpoint(text, { threadId: text, namespace: text }))
          assert.deepStrictEqual(saved.writes, [{ node: text, writes: [[text, text]] }])
          assert.strictEqual((yield* checkpointer.list(text, { namespace: text })).length, 1)
          assert.deepStrictEqual(yield* checkpointer.get(text), Option.none())
        }
      })
    )

    test(
      "returns hostile keys as data",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        const state = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}')
        yield* checkpointer.put(checkpoint("a", { state }))
        const back = Option.getOrThrow(yield* checkpointer.get("thread")).checkpoint.state
        assert.strictEqual(JSON.stringify(back), JSON.stringify(state))
        assert.notProperty({}, "polluted")
      })
    )

    test(
      "deletes a thread with all its namespaces, and no others",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* checkpointer.put(checkpoint("a"))
        yield* checkpointer.put(checkpoint("b", { namespace: "inner" }))
        yield* checkpointer.put(checkpoint("a", { threadId: "other" }))
        yield* checkpointer.deleteThread("thread")
        assert.deepStrictEqual(yield* checkpointer.get("thread"), Option.none())
        assert.deepStrictEqual(yield* checkpointer.get("thread", { namespace: "inner" }), Option.none())
        assert.isTrue(Option.isSome(yield* checkpointer.get("other")))
        yield* checkpointer.put(checkpoint("c"))
        assert.deepStrictEqual(ids(yield* checkpointer.list("thread")), ["c"])
      })
    )

    const ada = { userId: "ada" }
    const others: ReadonlyArray<Access | undefined> = [undefined, {}, { userId: "bob" }, { userId: "" }]

    /** What whoever asks sees of the thread. */
    const seenBy = (access: Access | undefined) =>
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        const last = yield* checkpointer.get("thread", access)
        return {
          last: Option.map(last, ({ checkpoint, writes }) => [checkpoint.id, writes.length] as const),
          one: Option.isSome(yield* checkpointer.get("thread", { ...access, id: "a" })),
          list: ids(yield* checkpointer.list("thread", access)),
          before: ids(yield* checkpointer.list("thread", { ...access, before: "b" }))
        }
      })
    const everything = { last: Option.some(["b", 1]), one: true, list: ["b", "a"], before: ["a"] }
    const nothing = { last: Option.none(), one: false, list: [], before: [] }

    const begun = (access: Access | undefined) =>
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* checkpointer.put(checkpoint("a"), access)
        yield* checkpointer.put(checkpoint("b"), access)
        yield* checkpointer.putWrites("thread", "b", "node", [], access)
      })

    test(
      "protects a thread of a user from other users and from calls without a user",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* begun(ada)
        for (const access of others) {
          assert.deepStrictEqual<unknown>(yield* seenBy(access), nothing)
          const refused = yield* Effect.flip(checkpointer.put(checkpoint("c"), access))
          assert.deepStrictEqual([refused.operation, refused.reason], ["put", "taken"])
          yield* checkpointer.putWrites("thread", "b", "other", [], access)
          yield* checkpointer.deleteThread("thread", access)
        }
        assert.deepStrictEqual<unknown>(yield* seenBy(ada), everything)
        yield* checkpointer.deleteThread("thread", ada)
        assert.deepStrictEqual<unknown>(yield* seenBy(ada), nothing)
        yield* begun({ userId: "bob" })
        assert.deepStrictEqual<unknown>(yield* seenBy({ userId: "bob" }), everything)
      })
    )

    test(
      "finds a thread without a user only without a user",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* begun(undefined)
        assert.deepStrictEqual<unknown>(yield* seenBy(undefined), everything)
        for (const access of [ada, { userId: "" }]) {
          assert.deepStrictEqual<unknown>(yield* seenBy(access), nothing)
          yield* checkpointer.deleteThread("thread", access)
          assert.strictEqual((yield* Effect.flip(checkpointer.put(checkpoint("c"), access))).reason, "taken")
        }
        assert.deepStrictEqual<unknown>(yield* seenBy(undefined), everything)
      })
    )

    test(
      "gives the system access to every thread if it names no user, without changing the owner",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        yield* begun(ada)
        assert.deepStrictEqual<unknown>(yield* SystemAccess.grant(seenBy(undefined)), everything)
        assert.deepStrictEqual<unknown>(yield* SystemAccess.grant(seenBy({ userId: "bob" })), nothing)
        yield* SystemAccess.grant(checkpointer.put(checkpoint("c")))
        yield* SystemAccess.grant(checkpointer.putWrites("thread", "c", "node", []))
        assert.deepStrictEqual(ids(yield* checkpointer.list("thread", ada)), ["c", "b", "a"])
        assert.deepStrictEqual<unknown>(yield* seenBy(undefined), nothing)
        yield* SystemAccess.grant(checkpointer.deleteThread("thread"))
        assert.deepStrictEqual<unknown>(yield* seenBy(ada), nothing)
      })
    )

    test(
      "compares users exactly",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        const users = [...hostile, "\u0001*", "\u0001-"]
        for (const userId of users) {
          yield* checkpointer.put(checkpoint("a", { threadId: `of ${userId}` }), { userId })
          assert.isTrue(Option.isNone(yield* checkpointer.get(`of ${userId}`)))
          for (const other of users) {
            const found = yield* checkpointer.get(`of ${userId}`, { userId: other })
            assert.strictEqual(Option.isSome(found), other === userId, JSON.stringify([userId, other]))
          }
        }
      })
    )

    test(
      "supports many concurrent fibers",
      Effect.gen(function* () {
        const checkpointer = yield* Checkpointer
        const names = Array.from({ length: 30 }, (_, i) => `${i}`)
        yield* Effect.forEach(
          names,
          (threadId) =>
            Effect.forEach(["a", "b", "c"], (id) =>
              Effect.zipRight(
                checkpointer.put(checkpoint(id, { threadId })),
                checkpointer.putWrites(threadId, id, "node", [])
              )
            ),
          { concurrency: "unbounded", discard: true }
        )
        for (const name of names) assert.deepStrictEqual(ids(yield* checkpointer.list(name)), ["c", "b", "a"])
      })
    )
  })
}

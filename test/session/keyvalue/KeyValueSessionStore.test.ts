import * as FileSystem from "@effect/platform/FileSystem"
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SessionId, TurnId } from "../../../src/domain/Ids.js"
import * as KeyValueRecords from "../../../src/session/keyvalue/KeyValueRecords.js"
import * as KeyValueSessionStore from "../../../src/session/keyvalue/KeyValueSessionStore.js"
import { CheckpointId, type Session, stateOf } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import {
  behind,
  branch,
  checkpoint,
  next,
  ref,
  session,
  turnsOf
} from "../../../src/testing/session/SessionFixtures.js"
import {
  checkpointed,
  created,
  forked,
  isKept,
  restored,
  said,
  saved,
  some
} from "../../../src/testing/session/SessionStoreCase.js"
import * as SessionStoreSuite from "../../../src/testing/session/SessionStoreSuite.js"
import * as BreakingKeyValueStore from "../../support/BreakingKeyValueStore.js"
import * as BrokenExchanges from "../../support/BrokenExchanges.js"

const inMemory = Layer.provide(KeyValueSessionStore.layer(), KeyValueStore.layerMemory)

const directory = Layer.unwrapScoped(
  Effect.flatMap(FileSystem.FileSystem, (files) =>
    Effect.map(files.makeTempDirectoryScoped({ prefix: "sessions-" }), (path) => KeyValueStore.layerFileSystem(path))
  )
).pipe(Layer.provide(NodeContext.layer))

const inFiles = Layer.provide(KeyValueSessionStore.layer({ prefix: "my sessions/" }), directory)

/** Of the same code, and ten thousands of files each. */
const long = [
  "reads ten thousand turns by windows",
  "deletes a session with ten thousand turns",
  "lists the sessions that match all filters",
  "agrees with a simple model after any sequence of operations"
]

describe("a key-value store in memory", () => {
  for (const one of SessionStoreSuite.cases) {
    it.effect(one.name, () => SessionStoreSuite.check(one, inMemory), 60_000)
  }
})

describe("a key-value store in files", () => {
  for (const one of SessionStoreSuite.cases) {
    if (!long.includes(one.name)) it.effect(one.name, () => SessionStoreSuite.check(one, inFiles), 60_000)
  }
})

/** Writes as files are written: empties what is there, and fills it piece by piece while others read. */
const inPieces = Layer.map(KeyValueStore.layerMemory, (context) => {
  const store = Context.get(context, KeyValueStore.KeyValueStore)
  const set: typeof store.set = (key, value) =>
    Effect.forEach(
      [0, value.length >> 1, value.length],
      (length) => Effect.zipRight(store.set(key, value.slice(0, length)), Effect.yieldNow()),
      { discard: true }
    )
  return Context.make(KeyValueStore.KeyValueStore, { ...store, set })
})

describe("a key-value store with values that are half written for a while", () => {
  it.effect("gives readers whole sessions and turns", () =>
    Effect.gen(function* () {
      const store = yield* SessionStore.SessionStore
      const one = yield* created(store, session("s"))
      const writing = yield* Effect.fork(said(store, one, "t1", "t2", "t3", "t4", "t5"))
      let reads = 0
      while (writing.unsafePoll() === null) {
        const now = some(yield* store.load(one.id), "the session")
        if (now.head !== undefined) assert.strictEqual((yield* store.turns(now.head, { limit: 9 })).length, now.depth)
        yield* Effect.yieldNow()
        reads++
      }
      assert.isAbove(reads, 1)
      assert.strictEqual((yield* writing).depth, 5)
    }).pipe(Effect.provide(Layer.provide(KeyValueSessionStore.layer(), inPieces)))
  )
})

describe("a key-value store with a corrupt value", () => {
  it.effect("marks the other open exchanges when one cannot be read", () =>
    Effect.gen(function* () {
      const values = yield* KeyValueStore.KeyValueStore
      const keys = KeyValueRecords.keys("x ")
      const store = yield* KeyValueSessionStore.make({ prefix: "x " })
      yield* BrokenExchanges.check(store, (exchanges) =>
        Effect.forEach(exchanges, ({ runId, sessionId }) => values.set(keys.exchange(sessionId, runId), "{"))
      )
    }).pipe(Effect.provide(KeyValueStore.layerMemory))
  )
})

const ids = ["a", "b", "c", "new"] as const
const turnIds = ["t1", "t2", "t3", "t4", "t5"]
const checkpointIds = ["c1", "c2", "m1", "m2", "fork of b", "fork of c", "k"]

/** All that can be seen of what is kept. */
const view = Effect.fnUntraced(function* (store: SessionStore.Service) {
  const seen: Array<unknown> = [
    yield* store.list({ limit: 100 }),
    yield* store.list({ limit: 100, order: "updated", statuses: ["active"] }),
    yield* store.idle({ since: Number.MAX_SAFE_INTEGER, limit: 100 })
  ]
  for (const id of ids) {
    const sessionId = SessionId.make(id)
    const found = yield* store.load(sessionId)
    seen.push(found, yield* store.checkpoints(sessionId, { limit: 100 }))
    for (const turn of turnIds) seen.push(yield* store.turn(ref(id, turn)))
    for (const from of ids) seen.push(yield* store.lastMerge(sessionId, SessionId.make(from)))
    if (Option.isSome(found) && found.value.head !== undefined) {
      seen.push(yield* store.turns(found.value.head, { limit: 100 }))
    }
  }
  for (const id of checkpointIds) seen.push(yield* store.checkpoint(CheckpointId.make(id)))
  return JSON.stringify(seen)
})

const merged = (from: string, one: Session) => ({
  kind: "merge" as const,
  merge: { sessionId: SessionId.make(from), strategy: "append", state: stateOf(one) }
})

/** A session with checkpoints and turns left behind, a branch of it, and a branch of that. */
const prepared = Effect.fnUntraced(function* (store: SessionStore.Service) {
  let a = yield* said(store, yield* created(store, session("a", { variables: { n: 1 } })), "t1", "t2")
  a = yield* checkpointed(store, a, "c1")
  a = yield* checkpointed(store, yield* said(store, a, "t3"), "c2", { kind: "auto" })
  a = yield* restored(store, a, "c1")
  const b = yield* said(store, yield* forked(store, a, "b"), "t1", "t2")
  a = yield* checkpointed(store, yield* said(store, a, "t4"), "m1", merged("b", b))
  const c = yield* said(store, yield* forked(store, b, "c", ref("b", "t1")), "t1")
  return { a, b, c }
})

type Prepared = Effect.Effect.Success<ReturnType<typeof prepared>>

const appending = ({ a }: Prepared, more: Partial<SessionStore.Addition> = {}): SessionStore.Addition => {
  const turns = turnsOf(a, ["t5"])
  return { session: behind(a, turns), turns, ...more }
}

const operations: ReadonlyArray<
  readonly [string, (store: SessionStore.Service, given: Prepared) => Effect.Effect<unknown, { readonly _tag: string }>]
> = [
  [
    "create",
    (store) => {
      const one = session("new", { checkpointId: CheckpointId.make("k") })
      return store.create({ session: one, checkpoint: checkpoint("k", one), limits: { perUser: 10 } })
    }
  ],
  [
    "create of a branch",
    (store, { a }) =>
      Effect.flatMap(store.turn(ref("a", "t2")), (turn) =>
        store.create({ session: branch("new", a, some(turn, "the turn")) })
      )
  ],
  ["append", (store, given) => store.append(appending(given))],
  [
    "append with a checkpoint",
    (store, given) => {
      const { session: after } = appending(given)
      return store.append(
        appending(given, { checkpoint: checkpoint("k", after, { kind: "auto" }), keepCheckpoints: 1 })
      )
    }
  ],
  ["save", (store, { a }) => store.save({ session: next(a, { variables: { n: 2 }, status: "closed" }) })],
  [
    "save with a merge",
    (store, { a, b }) => {
      const after = next(a, { updatedAt: 7 })
      return store.save({ session: after, checkpoint: checkpoint("m2", after, merged("b", b)), keepCheckpoints: 0 })
    }
  ],
  ["deletion of a checkpoint", (store) => store.deleteCheckpoint(CheckpointId.make("c1"))],
  ["deletion of a merge", (store) => store.deleteCheckpoint(CheckpointId.make("m1"))],
  ["deletion of the first session", (store) => store.delete(SessionId.make("a"))],
  ["deletion of a branch with a branch", (store) => store.delete(SessionId.make("b"))],
  ["deletion of the last branch", (store) => store.delete(SessionId.make("c"))]
]

const within = <A, E>(
  breaking: BreakingKeyValueStore.Breaking,
  use: (store: SessionStore.Service) => Effect.Effect<A, E>
) =>
  Effect.flatMap(SessionStore.SessionStore, use).pipe(
    Effect.provide(Layer.fresh(Layer.provide(KeyValueSessionStore.layer(), breaking.layer)))
  )

describe("a key-value store with failing writes", () => {
  for (const [name, operation] of operations) {
    for (const isDeletedBefore of [false, true]) {
      if (isDeletedBefore && !["deletion of a branch with a branch", "deletion of the last branch"].includes(name))
        continue
      it.effect(`${name} is atomic at every write${isDeletedBefore ? ", after a deletion" : ""}`, () =>
        Effect.gen(function* () {
          const setUp = Effect.fnUntraced(function* () {
            const breaking = BreakingKeyValueStore.make()
            const given = yield* within(breaking, (store) =>
              Effect.tap(prepared(store), () => (isDeletedBefore ? store.delete(SessionId.make("a")) : Effect.void))
            )
            return { breaking, given }
          })
          const whole = yield* setUp()
          const before = yield* within(whole.breaking, view)
          yield* within(whole.breaking, (store) => operation(store, whole.given))
          const after = yield* within(whole.breaking, view)
          assert.notStrictEqual(before, after)
          let breaks = 0
          for (const when of ["before", "behind"] as const) {
            for (let write = 1; ; write++) {
              const { breaking, given } = yield* setUp()
              const seen = yield* within(breaking, (store) =>
                Effect.gen(function* () {
                  breaking.breakAt(write, when)
                  const exit = yield* Effect.either(operation(store, given))
                  if (!breaking.mend()) return undefined
                  breaks++
                  // What is removed behind the last write may wait.
                  if (exit._tag === "Left") assert.strictEqual(exit.left._tag, "SessionStorageError")
                  return { isDone: exit._tag === "Right", text: yield* view(store) }
                })
              )
              if (seen === undefined) break
              const what = `write ${write}, ${when} it`
              assert.include(seen.isDone ? [after] : [before, after], seen.text, what)
              assert.strictEqual(yield* within(breaking, view), seen.text, `${what}, read by another`)
              const again = yield* within(breaking, (store) => Effect.either(operation(store, given)))
              if (again._tag === "Left") assert.strictEqual(again.left._tag, "SessionConflictError", what)
              assert.strictEqual(yield* within(breaking, view), after, `${what}, done again`)
            }
          }
          assert.isAbove(breaks, 3)
        })
      )
    }
  }

  it.effect("leaves nothing of interrupted writes after all is deleted", () =>
    Effect.gen(function* () {
      for (const [name, operation] of operations) {
        for (let write = 1; ; write++) {
          const breaking = BreakingKeyValueStore.make()
          const given = yield* within(breaking, prepared)
          breaking.breakAt(write, "before")
          yield* within(breaking, (store) => Effect.either(operation(store, given)))
          if (!breaking.mend()) break
          yield* within(breaking, (store) =>
            Effect.zipRight(
              Effect.either(operation(store, given)),
              Effect.forEach(ids, (id) => store.delete(SessionId.make(id)))
            )
          )
          assert.deepStrictEqual(
            [...breaking.values.keys()].filter((key) => !key.startsWith("lexigram-sessions-catalog")),
            [],
            `${name}, write ${write}`
          )
        }
      }
    })
  )

  it.effect("keeps an interrupted write and its replacement consistent", () =>
    Effect.gen(function* () {
      for (let write = 1; ; write++) {
        const breaking = BreakingKeyValueStore.make()
        const isOver = yield* within(breaking, (store) =>
          Effect.gen(function* () {
            const one = yield* said(store, yield* created(store, session("s")), "t1")
            const lost = turnsOf(one, ["lost", "lost 2"])
            const moved = behind(one, lost)
            breaking.breakAt(write, "before")
            yield* Effect.either(
              store.append({ session: moved, turns: lost, checkpoint: checkpoint("lost", moved, merged("a", one)) })
            )
            if (!breaking.mend()) return true
            const two = yield* checkpointed(store, yield* said(store, one, "t2"), "kept", merged("b", one))
            for (const id of ["lost", "lost 2"]) assert.isTrue(Option.isNone(yield* store.turn(ref("s", id))))
            assert.isTrue(Option.isNone(yield* store.checkpoint(CheckpointId.make("lost"))))
            assert.isTrue(Option.isNone(yield* store.lastMerge(SessionId.make("s"), SessionId.make("a"))))
            const three = yield* said(store, two, "lost 2", "lost")
            const way = yield* store.turns(ref("s", "lost"), { limit: 10 })
            assert.deepStrictEqual(
              way.map((turn) => turn.id),
              ["t1", "t2", "lost 2", "lost"].map((id) => TurnId.make(id))
            )
            yield* checkpointed(store, three, "lost", merged("a", three))
            const last = yield* store.lastMerge(SessionId.make("s"), SessionId.make("a"))
            assert.strictEqual(some(last, "the merge").id, "lost")
            return false
          })
        )
        if (isOver) break
      }
    })
  )

  it.effect("returns the sessions expired before a failed write, and the others in the next call", () =>
    Effect.gen(function* () {
      const breaking = BreakingKeyValueStore.make()
      yield* within(breaking, (store) =>
        Effect.gen(function* () {
          for (const id of ["a", "b", "c"]) yield* created(store, session(id))
          breaking.breakAt(2, "before")
          const options = { since: Number.MAX_SAFE_INTEGER, at: 7, limit: 10 }
          const first = yield* store.expire(options)
          const error = yield* Effect.flip(store.expire(options))
          assert.strictEqual(error._tag, "SessionStorageError")
          breaking.mend()
          const second = yield* store.expire(options)
          assert.deepStrictEqual(
            [...first, ...second].map((one) => one.id as string),
            ["a", "b", "c"]
          )
          assert.lengthOf(first, 1)
        })
      )
    })
  )

  it.effect("names the key of a platform failure without showing the value", () =>
    Effect.gen(function* () {
      const breaking = BreakingKeyValueStore.make()
      const error = yield* within(breaking, (store) => {
        breaking.breakAt(1, "before")
        return Effect.flip(store.create({ session: session("s", { systemPrompt: "a secret prompt" }) }))
      })
      assert.strictEqual(error._tag, "SessionStorageError")
      assert.include(error.message, "lexigram-sessions-")
      assert.notInclude(`${error.message} ${JSON.stringify(error)} ${String(error.cause)} ${error.stack}`, "secret")
    })
  )
})

describe("the values in a key-value store", () => {
  const damaged = (find: (key: string) => boolean, text: string) =>
    Effect.gen(function* () {
      const breaking = BreakingKeyValueStore.make()
      yield* within(breaking, prepared)
      const key = [...breaking.values.keys()].find(find) ?? ""
      breaking.values.set(key, text)
      return { breaking, key }
    })

  it.effect("name their key and not their content when they cannot be read", () =>
    Effect.gen(function* () {
      for (const text of ["a secret that is no JSON", '{"secret":1}', "null", ""]) {
        const { breaking, key } = yield* damaged((each) => each.includes("-session-"), text)
        const errors = yield* within(breaking, (store) =>
          Effect.all([
            Effect.flip(Effect.forEach(ids, (id) => store.load(SessionId.make(id)))),
            Effect.flip(store.list({ limit: 10 }))
          ])
        )
        for (const error of errors) {
          assert.strictEqual(error._tag, "SessionStorageError")
          assert.include(error.message, key)
          assert.notInclude(`${JSON.stringify(error)} ${String(error.cause)} ${error.stack}`, "secret")
        }
      }
    })
  )

  it.effect("fail the read when a turn is lost, instead of shortening the path", () =>
    Effect.gen(function* () {
      const breaking = BreakingKeyValueStore.make()
      const { c } = yield* within(breaking, prepared)
      const key = [...breaking.values].find(
        ([each, text]) => each.includes("-turn-") && text.includes('"t1 of a"') && !each.includes("-id-")
      )?.[0]
      breaking.values.delete(key ?? "")
      const error = yield* within(breaking, (store) =>
        Effect.flip(store.turns(c.head ?? ref("none", "none"), { limit: 10 }))
      )
      assert.include(error.message, key ?? "nothing")
    })
  )

  it.effect("have short lower-case keys, whatever the ids", () =>
    Effect.gen(function* () {
      const breaking = BreakingKeyValueStore.make()
      yield* within(breaking, (store) =>
        Effect.forEach(["..", "A/b", "\u{1f600}".repeat(128), "\ud800"], (id) =>
          Effect.gen(function* () {
            const one = yield* said(store, yield* created(store, session(id, { userId: id })), id)
            yield* checkpointed(store, one, id, merged(id, one))
          })
        )
      )
      for (const key of breaking.values.keys()) assert.match(key, /^[a-z0-9-]{1,128}$/)
    })
  )

  it.effect("stay apart under two prefixes", () =>
    Effect.gen(function* () {
      const kv = yield* KeyValueStore.KeyValueStore
      const of = (prefix: string) =>
        Effect.provideService(KeyValueSessionStore.make({ prefix }), KeyValueStore.KeyValueStore, kv)
      const [one, two] = [yield* of("one-"), yield* of("two-")]
      yield* said(one, yield* created(one, session("s")), "t1")
      yield* created(two, session("s", { userId: "bob" }))
      assert.isTrue(Option.isNone(yield* two.turn(ref("s", "t1"))))
      yield* two.delete(SessionId.make("s"))
      assert.isTrue(Option.isSome(yield* one.turn(ref("s", "t1"))))
      yield* isKept(yield* of("one-"), some(yield* one.load(SessionId.make("s")), "the session"))
    }).pipe(Effect.provide(KeyValueStore.layerMemory))
  )

  it.effect("are found by another layer, for many sessions", () =>
    Effect.gen(function* () {
      const breaking = BreakingKeyValueStore.make()
      const all = Array.from({ length: 200 }, (_, at) => `s${at}`)
      yield* within(breaking, (store) => Effect.forEach(all, (id) => created(store, session(id))))
      yield* within(breaking, (store) =>
        Effect.gen(function* () {
          assert.lengthOf(yield* store.list({ limit: 1000 }), 200)
          for (const id of all.slice(0, 150)) yield* store.delete(SessionId.make(id))
          for (const id of all.slice(0, 100)) yield* created(store, session(`new ${id}`))
        })
      )
      const chunks = [...breaking.values.keys()].filter((key) => key.includes("catalog-"))
      assert.isAtMost(chunks.length, 4)
      for (const key of chunks) assert.isBelow((breaking.values.get(key) ?? "").length, 64 * 16)
      assert.lengthOf(yield* within(breaking, (store) => store.list({ limit: 1000 })), 150)
    })
  )

  it.effect("do not grow with the conversation or the session when a turn is written", () =>
    Effect.gen(function* () {
      const breaking = BreakingKeyValueStore.make()
      yield* within(breaking, (store) =>
        Effect.gen(function* () {
          let one = yield* created(store, session("s", { systemPrompt: "p".repeat(100_000) }))
          const bytes: Array<number> = []
          for (let at = 1; at <= 1000; at++) {
            breaking.measured()
            one = yield* said(store, one, `turn-${String(at).padStart(6, "0")}`)
            const { bytes: written, writes } = breaking.measured()
            assert.strictEqual(writes, 3)
            bytes.push(written)
          }
          assert.isBelow(bytes[999] ?? 0, 1.05 * (bytes[9] ?? 0))
          assert.isBelow(bytes[999] ?? 0, 2500)
          breaking.measured()
          yield* saved(store, one, { variables: { a: 1 } })
          assert.isAbove(breaking.measured().bytes, 100_000)
          assert.isAbove(breaking.values.size, 2000)
        })
      )
    })
  )
})

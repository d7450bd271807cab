/** Cost of a turn, a checkpoint, a branch and a window of a session, at ten turns and at ten thousand. */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { SessionId, TurnId, UserId } from "../src/domain/Ids.js"
import * as MemoryConsolidator from "../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../src/memory/working/WorkingMemory.js"
import * as BranchManager from "../src/session/branch/BranchManager.js"
import * as DefaultBranchManager from "../src/session/branch/DefaultBranchManager.js"
import * as KeyValueSessionStore from "../src/session/keyvalue/KeyValueSessionStore.js"
import * as DefaultSessionManager from "../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../src/session/manager/SessionManager.js"
import * as SessionWriter from "../src/session/manager/SessionWriter.js"
import * as InMemorySessionStore from "../src/session/turn/InMemorySessionStore.js"
import type { CheckpointId, NewTurn } from "../src/session/turn/Session.js"
import type * as SessionStore from "../src/session/turn/SessionStore.js"
import * as CountingSessionStore from "../test/support/CountingSessionStore.js"
import { cpuMicros, makeRow, type Row, type Sample } from "./Harness.js"

const userId = UserId.make("ada")
const content = "What was it that we said about the contract of the garden, and who was to call? ".repeat(3)

let ids = 0
const nextTurn = (): NewTurn => {
  const n = ids++
  return {
    id: TurnId.make(`turn-${String(n).padStart(9, "0")}`),
    role: n % 2 === 0 ? "user" : "assistant",
    content,
    timestamp: 1_700_000_000_000 + n,
    toolCalls: [],
    skillResults: [],
    metadata: {},
    tokensUsed: 60,
    cost: 0.0001
  }
}

type Services = SessionManager.SessionManager | BranchManager.BranchManager | CountingSessionStore.CountingSessionStore

const unlimited = 1_000_000

const services = (store: Layer.Layer<SessionStore.SessionStore | CountingSessionStore.CountingSessionStore>) =>
  Layer.merge(
    DefaultSessionManager.layer({ maxTurnsPerSession: unlimited, maxSessionsPerUser: unlimited }),
    DefaultBranchManager.layer({ maxBranchesPerSession: unlimited, maxSessionsPerUser: unlimited }).pipe(
      Layer.provide(SessionWriter.layer)
    )
  ).pipe(Layer.provideMerge(store), Layer.provide(Layer.merge(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)))

/** Repetitions of one operation. */
const times = 40
const sizes = [10, 100, 1_000, 10_000] as const
const window = 20

/** Largest allowed ratio of the cost in the longest session to that in the shortest. */
const most = 1.5

const addTurns = (id: SessionId, times: number) =>
  Effect.flatMap(SessionManager.SessionManager, (manager) =>
    Effect.replicateEffect(
      Effect.suspend(() => manager.addTurn(id, nextTurn(), { userId })),
      times,
      { discard: true }
    )
  )

interface Talk {
  readonly id: SessionId
  readonly size: number
  /** Checkpoint to which each round returns: its `size` turns. */
  base: CheckpointId
}

const begin = (size: number) =>
  Effect.gen(function* () {
    const manager = yield* SessionManager.SessionManager
    const { id } = yield* manager.create({
      id: SessionId.make(`talk of ${size}`),
      userId,
      variables: { topic: "garden" }
    })
    yield* addTurns(id, size)
    const { id: base } = yield* manager.checkpoint(id, { userId })
    return { id, size, base } satisfies Talk as Talk
  })

interface Operation {
  readonly name: string
  /** Shortest session in the comparison. */
  readonly from: (typeof sizes)[number]
  /** Runs the operation this many times; returns a number that proves it was done. */
  readonly run: (talk: Talk, times: number) => Effect.Effect<number, unknown, Services>
  /** Undoes the operation. */
  readonly undo: (talk: Talk) => Effect.Effect<unknown, unknown, Services>
  readonly done: (talk: Talk, times: number) => number
}

const nothingCounted = Layer.succeed(CountingSessionStore.CountingSessionStore, {
  take: Effect.dieMessage("Nothing is counted here")
})

const operations: ReadonlyArray<Operation> = [
  {
    name: "addTurn",
    from: 10,
    run: (talk, times) =>
      Effect.gen(function* () {
        const manager = yield* SessionManager.SessionManager
        yield* addTurns(talk.id, times)
        const [last] = yield* manager.turns(talk.id, { last: 1, userId })
        return last?.depth ?? 0
      }),
    undo: (talk) => Effect.flatMap(SessionManager.SessionManager, (manager) => manager.restore(talk.base, { userId })),
    done: (talk, times) => talk.size + times
  },
  {
    name: "checkpoint",
    from: 10,
    run: (talk, times) =>
      Effect.gen(function* () {
        const manager = yield* SessionManager.SessionManager
        for (let n = 0; n < times; n++) {
          const checkpoint = yield* manager.checkpoint(talk.id, { userId })
          // Drops the oldest turns.
          talk.base = checkpoint.id
          if (n === times - 1) return checkpoint.state.depth
        }
        return 0
      }),
    undo: () => Effect.void,
    done: (talk) => talk.size
  },
  {
    name: "fork",
    from: 10,
    run: (talk, times) =>
      Effect.flatMap(BranchManager.BranchManager, (manager) =>
        Effect.map(
          Effect.replicateEffect(manager.fork(talk.id, { userId }), times),
          (branches) => branches.filter(({ depth }) => depth === talk.size).length
        )
      ),
    undo: (talk) =>
      Effect.gen(function* () {
        const branches = yield* BranchManager.BranchManager
        const manager = yield* SessionManager.SessionManager
        for (;;) {
          const page = yield* branches.branches(talk.id, { userId })
          if (page.sessions.length === 0) return
          yield* Effect.forEach(page.sessions, ({ id }) => manager.delete(id, { userId }), { discard: true })
        }
      }),
    done: (_, times) => times
  },
  {
    name: `window of ${window} turns`,
    from: 100,
    run: (talk, times) =>
      Effect.flatMap(SessionManager.SessionManager, (manager) =>
        Effect.map(Effect.replicateEffect(manager.turns(talk.id, { last: window, userId }), times), (pages) =>
          pages.reduce((sum, page) => sum + page.length, 0)
        )
      ),
    undo: () => Effect.void,
    done: (talk, times) => Math.min(talk.size, window) * times
  }
]

interface Backend {
  readonly name: string
  readonly layer: () => Layer.Layer<SessionStore.SessionStore>
  /** Bytes written by the backend, or the size of what the store received. */
  readonly written?: () => number
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const flat = async (backend: Backend, options: { readonly quick: boolean }): Promise<ReadonlyArray<Row>> => {
  const rounds = options.quick ? 30 : 100
  const plain = ManagedRuntime.make(services(Layer.merge(backend.layer(), nothingCounted)))
  const talks = await plain.runPromise(Effect.forEach(sizes, begin))
  const micros = new Map<string, Array<Sample>>()
  const key = (operation: Operation, talk: Talk) => `${operation.name} ${talk.size}`
  // Sessions of all lengths alternate in small portions, so that the compiler and the collector treat them alike.
  for (let round = -rounds / 2; round < rounds; round++) {
    for (const operation of operations) {
      for (const talk of round % 2 === 0 ? talks : talks.toReversed()) {
        const before = cpuMicros()
        const done = await plain.runPromise(operation.run(talk, times))
        const value = (cpuMicros() - before) / times
        await plain.runPromise(operation.undo(talk))
        if (round < 0) continue
        const samples = micros.get(key(operation, talk)) ?? []
        micros.set(key(operation, talk), [...samples, { value, counts: { done } }])
      }
    }
  }
  await plain.dispose()

  const counted = ManagedRuntime.make(services(CountingSessionStore.layer(backend.layer())))
  const bytes = new Map<string, Sample>()
  for (const talk of await counted.runPromise(Effect.forEach(sizes, begin))) {
    for (const operation of operations) {
      const take = Effect.flatMap(CountingSessionStore.CountingSessionStore, ({ take }) => take)
      await counted.runPromise(take)
      const before = backend.written?.() ?? 0
      const done = await counted.runPromise(operation.run(talk, times))
      const { written } = await counted.runPromise(take)
      const value = (backend.written === undefined ? written : backend.written() - before) / times
      bytes.set(key(operation, talk), { value, counts: { done } })
      await counted.runPromise(operation.undo(talk))
    }
  }
  await counted.dispose()

  const rows: Array<Row> = []
  const ratio = (label: string, operation: Operation, unit: string, of: (talk: Talk) => number): void => {
    const shortest = talks.find(({ size }) => size === operation.from) as Talk
    const longest = talks.at(-1) as Talk
    const value = of(shortest) === 0 ? 1 : of(longest) / of(shortest)
    rows.push(makeRow(label, `${longest.size} turns to ${shortest.size}`, unit, [{ value, counts: {} }], {}))
    if (value > most) {
      console.error(`${label}: at ${longest.size} turns ${value.toFixed(2)} times the ${unit}, more than ${most}`)
      process.exitCode = 1
    }
  }
  for (const operation of operations) {
    const label = `session ${backend.name}: ${operation.name}`
    for (const talk of talks) {
      const expected = { done: operation.done(talk, times) }
      rows.push(makeRow(label, `${talk.size} turns`, "µs CPU", micros.get(key(operation, talk)) ?? [], expected))
    }
    ratio(label, operation, "CPU, as ratio", (talk) =>
      median((micros.get(key(operation, talk)) ?? []).map(({ value }) => value))
    )
    for (const talk of talks) {
      const expected = { done: operation.done(talk, times) }
      const sample = bytes.get(key(operation, talk)) as Sample
      rows.push(makeRow(label, `${talk.size} turns`, "bytes", [sample], expected))
    }
    ratio(label, operation, "bytes, as ratio", (talk) => bytes.get(key(operation, talk))?.value ?? 0)
  }
  return rows
}

const fibers = 64
const turnsEach = 50

const throughput = async (
  backend: Backend,
  options: { readonly warmup: number; readonly runs: number }
): Promise<ReadonlyArray<Row>> => {
  const samples = { one: [] as Array<Sample>, own: [] as Array<Sample> }
  for (let round = 0; round < options.warmup + options.runs; round++) {
    for (const subject of ["one", "own"] as const) {
      const runtime = ManagedRuntime.make(services(Layer.merge(backend.layer(), nothingCounted)))
      const idOf = (fiber: number) => SessionId.make(subject === "one" ? "of all" : `of ${fiber}`)
      const indices = Array.from({ length: fibers }, (_, fiber) => fiber)
      const sample = await runtime.runPromise(
        Effect.gen(function* () {
          const manager = yield* SessionManager.SessionManager
          yield* Effect.forEach(indices, (fiber) => manager.create({ id: idOf(fiber), userId }), { discard: true })
          globalThis.gc?.()
          const from = performance.now()
          yield* Effect.forEach(indices, (fiber) => addTurns(idOf(fiber), turnsEach), {
            concurrency: "unbounded",
            discard: true
          })
          const seconds = (performance.now() - from) / 1000
          const kept = new Set<string>()
          for (const fiber of subject === "one" ? [0] : indices) {
            for (const turn of yield* manager.turns(idOf(fiber), { last: unlimited, userId })) {
              kept.add(JSON.stringify([turn.sessionId, turn.depth, turn.id]))
            }
          }
          return { value: (fibers * turnsEach) / seconds, counts: { kept: kept.size } }
        })
      )
      await runtime.dispose()
      if (round >= options.warmup) samples[subject].push(sample)
    }
  }
  const label = `session ${backend.name}: ${fibers} fibers, ${turnsEach} turns each`
  const expected = { kept: fibers * turnsEach }
  return [
    makeRow(label, "all in one session", "turns a second", samples.one, expected),
    makeRow(label, "each in its own", "turns a second", samples.own, expected)
  ]
}

const byKeyAndValue = (): Backend => {
  let bytes = 0
  const counted = Layer.map(KeyValueStore.layerMemory, (context) => {
    const store = Context.get(context, KeyValueStore.KeyValueStore)
    return Context.make(KeyValueStore.KeyValueStore, {
      ...store,
      set: (key: string, value: string | Uint8Array) => {
        bytes += value.length
        return store.set(key, value)
      }
    })
  })
  return {
    name: "by key and value",
    layer: () => Layer.provide(KeyValueSessionStore.layer(), Layer.fresh(counted)),
    written: () => bytes
  }
}

const backends: ReadonlyArray<Backend> = [
  { name: "in memory", layer: () => InMemorySessionStore.layer },
  byKeyAndValue()
]

export const rows = async (options: {
  readonly warmup: number
  readonly runs: number
  readonly quick: boolean
}): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const backend of backends) {
    rows.push(...(await flat(backend, options)), ...(await throughput(backend, options)))
  }
  return rows
}

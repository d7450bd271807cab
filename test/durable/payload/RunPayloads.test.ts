import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as BlobStore from "../../../src/content/BlobStore.js"
import { BlobStoreError } from "../../../src/content/ContentError.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as AgentWorkflow from "../../../src/durable/AgentWorkflow.js"
import { WorkflowJournal } from "../../../src/durable/engine/WorkflowJournal.js"
import { StepTooLargeError } from "../../../src/observability/journal/StepTooLargeError.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as SqlBlobStore from "../../../src/persistence/blob/SqlBlobStore.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import { ann, untilAsleep } from "../DurableProcesses.js"
import {
  asleep,
  begin,
  blobs,
  blobsOf,
  ended,
  failed,
  MIB,
  type On,
  onCluster,
  onEngine,
  Refused,
  report,
  type Store,
  sizeOf,
  start,
  World
} from "./LargePayloads.js"

const once = ["model 0", "fetch", "model 1", "sign", "model 2"]

/** Sizes of a picture and a report that are blobs. */
const SIZE = 150_000

const away = Effect.fail(new BlobStoreError({ store: "memory", reason: "storage", message: "It is away" }))

const wrapped = (store: Store, wrap: (blobs: BlobStore.Service) => BlobStore.Service): Store =>
  Layer.provide(Layer.effect(BlobStore.BlobStore, Effect.map(BlobStore.BlobStore, wrap)), store)

const cases = (backend: SqlBackends.SqlBackend, on: On) => {
  /** Blobs in the database of the journal. */
  const inDatabase: Store = Layer.orDie(Layer.provide(SqlBlobStore.layer(), backend.kept))
  const emptied = Effect.orDie(Effect.scoped(Layer.build(backend.layer)))

  it.scopedLive("go on in another process as blobs, and nothing is asked twice", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World(report(5 * MIB))
      const first = yield* start(world, backend.layer, on(store))
      assert.isBelow(yield* first.within(Effect.zipRight(asleep("run", 3 * MIB), sizeOf("run"))), 4096)
      yield* first.end
      const second = yield* start(world, backend.kept, on(store))
      const response = yield* second.within(ended("run"))
      assert.strictEqual(response.message, "signed")
      assert.deepStrictEqual(world.done, once)
      assert.strictEqual(world.seen?.picture, 3 * MIB)
      assert.isAbove(world.seen?.report ?? 0, 5 * MIB)
      assert.isBelow(yield* second.within(sizeOf("run")), 4096)
      yield* second.end
    })
  )

  it.scopedLive("are those of a journal without blobs, and stay so for its runs", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World(report(SIZE))
      const first = yield* start(world, backend.layer, on())
      const journaled = yield* first.within(Effect.zipRight(asleep("run", SIZE), sizeOf("run")))
      assert.isAbove(journaled, 3 * SIZE)
      yield* first.end
      const second = yield* start(world, backend.kept, on(store))
      assert.strictEqual((yield* second.within(ended("run"))).message, "signed")
      assert.deepStrictEqual(world.done, once)
      assert.deepStrictEqual(yield* Effect.provide(blobsOf("ann"), store), [])
      yield* second.end
    })
  )

  it.scopedLive("fail a run in a process that has no store for them, with a hint", () =>
    Effect.gen(function* () {
      const world = new World(report(SIZE))
      const first = yield* start(world, backend.layer, on(yield* blobs))
      yield* first.within(asleep("run", SIZE))
      yield* first.end
      const second = yield* start(world, backend.kept, on())
      const error = yield* second.within(failed("run"))
      assert.strictEqual(error._tag, "RunFailedError")
      if (error._tag !== "RunFailedError") return
      assert.strictEqual(error.error.tag, "ReplayError")
      assert.include(error.error.message, "begin")
      assert.include(error.error.hint ?? "", "Provide the BlobStore")
      assert.deepStrictEqual(world.done, once.slice(0, 3))
      yield* second.end
    })
  )

  for (const [how, harm] of [
    ["missing", "DELETE FROM lex_blobs WHERE size = ?"],
    ["corrupt", "UPDATE lex_blobs SET data = substr(data, 2) WHERE size = ?"]
  ] as const) {
    it.scopedLive(`fail a run whose step is ${how}, and name the step`, () =>
      Effect.gen(function* () {
        yield* emptied
        const world = new World(report(SIZE))
        const first = yield* start(world, backend.kept, on(inDatabase))
        yield* first.within(asleep("run", SIZE))
        yield* first.end
        const kept = yield* Effect.provide(blobsOf("ann"), inDatabase)
        const sizes = kept.map(({ size }) => size).sort((one, other) => one - other)
        assert.lengthOf(sizes, 2)
        const sql = yield* Effect.provide(SqlClient.SqlClient, backend.kept)
        yield* sql.unsafe(harm.replace("?", String(sizes[1])))
        const second = yield* start(world, backend.kept, on(inDatabase))
        const error = yield* second.within(failed("run"))
        if (error._tag !== "RunFailedError") return assert.fail(error.message)
        assert.strictEqual(error.error.tag, "ReplayError")
        assert.match(error.error.message, /the step tool\S+ cannot be read/)
        assert.deepStrictEqual(world.done, once.slice(0, 3))
        yield* second.end
      })
    )
  }

  it.scopedLive("are kept once where they are the same, with each step that ends with them", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World(report(SIZE), report(SIZE))
      const process = yield* start(world, backend.layer, on(store))
      yield* process.within(asleep("run", SIZE))
      // The request, the instructions of the run, and the result of the tool.
      assert.lengthOf(yield* Effect.provide(blobsOf("ann"), store), 3)
      assert.isBelow(yield* process.within(sizeOf("run")), 4096)
      yield* process.end
    })
  )

  it.scopedLive("are a failure of its class for another process", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World(report(SIZE))
      const first = yield* start(world, backend.layer, on(store))
      yield* first.within(
        Effect.zipRight(begin("run", 100, { input: "Refuse the report" }), Effect.flip(Runs.await("run", ann)))
      )
      assert.isBelow(yield* first.within(sizeOf("run")), 4096)
      yield* first.end
      const second = yield* start(world, backend.kept, on(store))
      const error = yield* second.within(Effect.flip(Runs.await("run", ann)))
      const { cause } = error as { readonly cause?: unknown }
      assert.instanceOf(cause, Refused)
      assert.lengthOf((cause as Refused).because, SIZE)
      yield* second.end
    })
  )

  it.scopedLive("are taken over by a fork, which outlives its run", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World(report(SIZE))
      const first = yield* start(world, backend.layer, on(store))
      yield* first.within(Effect.zipRight(asleep("run", SIZE), ended("run")))
      yield* first.within(
        Effect.gen(function* () {
          yield* Runs.fork("run", { step: 1, changes: { runId: "fork" }, ...ann })
          yield* untilAsleep("fork")
          const journal = yield* WorkflowJournal
          assert.strictEqual(yield* journal.erase([yield* AgentWorkflow.executionOf("run")]), 1)
        })
      )
      yield* first.end
      assert.lengthOf(yield* Effect.provide(blobsOf("ann"), store), 2)
      const second = yield* start(world, backend.kept, on(store))
      assert.strictEqual((yield* second.within(ended("fork"))).message, "signed")
      assert.deepStrictEqual(world.done, [...once, "model 1", "sign", "model 2"])
      assert.strictEqual(world.seen?.picture, SIZE)
      assert.isAbove(world.seen?.report ?? 0, SIZE)
      yield* second.end
    })
  )

  it.scopedLive("are pruned with runs that ended, and stay with those that sleep", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World(report(SIZE))
      const process = yield* start(world, backend.layer, on(store))
      yield* process.within(Effect.zipRight(asleep("ended", SIZE), ended("ended")))
      yield* process.within(asleep("asleep", SIZE))
      const scopes = new Set((yield* Effect.provide(blobsOf("ann"), store)).map(({ scope }) => scope))
      assert.strictEqual(scopes.size, 2)
      yield* Effect.sleep("5 millis")
      yield* process.within(
        Effect.flatMap(WorkflowJournal, (journal) =>
          Effect.map(journal.prune({ olderThan: "1 millis" }), (pruned) => assert.strictEqual(pruned, 1))
        )
      )
      const left = yield* Effect.provide(blobsOf("ann"), store)
      assert.strictEqual(new Set(left.map(({ scope }) => scope)).size, 1)
      assert.lengthOf(left, 2)
      assert.strictEqual((yield* process.within(ended("asleep"))).message, "signed")
      yield* process.end
    })
  )

  it.scopedLive("are neither pruned nor erased by a process that has no store for them", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const first = yield* start(new World(report(SIZE)), backend.layer, on(store))
      yield* first.within(Effect.zipRight(asleep("run", SIZE), ended("run")))
      yield* first.end
      yield* Effect.sleep("5 millis")
      const second = yield* start(new World("small"), backend.kept, on())
      const erase = Effect.flatMap(AgentWorkflow.executionOf("run"), (id) =>
        Effect.flatMap(WorkflowJournal, (journal) => journal.erase([id]))
      )
      const error = yield* second.within(
        Effect.flatMap(WorkflowJournal, (journal) =>
          Effect.tap(journal.prune({ olderThan: "1 millis" }), (pruned) => assert.strictEqual(pruned, 0))
        ).pipe(Effect.zipRight(Effect.flip(erase)))
      )
      assert.deepStrictEqual([error.operation, error.reason], ["erase", "other"])
      assert.include(error.hint ?? "", "Provide the BlobStore")
      assert.isAbove(yield* second.within(sizeOf("run")), 0)
      yield* second.end
      const third = yield* start(new World("small"), backend.kept, on(store))
      assert.strictEqual(yield* third.within(erase), 1)
      assert.deepStrictEqual(yield* Effect.provide(blobsOf("ann"), store), [])
      yield* third.end
    })
  )

  it.scopedLive("stay with a journal whose store does not remove them, until it does", () =>
    Effect.gen(function* () {
      const inMemory = yield* blobs
      let isAway = false
      const store = wrapped(inMemory, (blobs) => ({
        ...blobs,
        removeScope: (of) => (isAway ? away : blobs.removeScope(of))
      }))
      const world = new World(report(SIZE))
      const process = yield* start(world, backend.layer, on(store))
      yield* process.within(Effect.zipRight(asleep("run", SIZE), ended("run")))
      yield* Effect.sleep("5 millis")
      const prune = process.within(
        Effect.flatMap(WorkflowJournal, (journal) => journal.prune({ olderThan: "1 millis" }))
      )
      isAway = true
      const error = yield* Effect.flip(prune)
      assert.deepStrictEqual([error.operation, error.reason], ["prune", "unreachable"])
      assert.isAbove(yield* process.within(sizeOf("run")), 0)
      isAway = false
      assert.strictEqual(yield* prune, 1)
      assert.deepStrictEqual(yield* Effect.provide(blobsOf("ann"), inMemory), [])
      yield* process.end
    })
  )
}

/** What does not depend on how runs are placed. */
const more = (backend: SqlBackends.SqlBackend) => {
  it.scopedLive("stay in the journal while their store takes none, and are waited for while it gives none", () =>
    Effect.gen(function* () {
      let isFull = true
      let gets = 0
      const inMemory = yield* blobs
      const store = wrapped(inMemory, (blobs) => ({
        ...blobs,
        put: (blob) => (isFull ? away : blobs.put(blob)),
        get: (key) => (++gets % 3 === 0 ? blobs.get(key) : away)
      }))
      const world = new World(report(SIZE))
      const first = yield* start(world, backend.layer, onEngine(store))
      yield* first.within(asleep("inline", SIZE))
      assert.isAbove(yield* first.within(sizeOf("inline")), 3 * SIZE)
      assert.strictEqual((yield* first.within(ended("inline"))).message, "signed")
      isFull = false
      yield* first.within(asleep("run", SIZE))
      // What a process has put it does not get again.
      assert.isAtMost(gets, 3)
      yield* first.end
      const second = yield* start(world, backend.kept, onEngine(store))
      assert.strictEqual((yield* second.within(ended("run"))).message, "signed")
      assert.deepStrictEqual(world.done, [...once, ...once])
      assert.isAbove(gets, 5)
      yield* second.end
    })
  )

  it.scopedLive("go with their run also where the process died before it referred to them", () =>
    Effect.gen(function* () {
      const inMemory = yield* blobs
      const died = yield* Deferred.make<void>()
      const dying = wrapped(inMemory, (blobs) => ({
        ...blobs,
        put: (blob) =>
          Effect.flatMap(blobs.put(blob), (ref) =>
            world.done.includes("fetch")
              ? Effect.interruptible(Effect.zipRight(Deferred.succeed(died, undefined), Effect.never))
              : Effect.succeed(ref)
          )
      }))
      const world = new World(report(SIZE, 3))
      const first = yield* start(world, backend.layer, onEngine(dying))
      yield* first.within(Effect.zipRight(begin("run", SIZE), Deferred.await(died)))
      yield* Effect.forkDaemon(first.end)
      const other = new World(report(SIZE, 4))
      const second = yield* start(other, backend.kept, onEngine(inMemory), undefined)
      yield* second.within(Effect.zipRight(untilAsleep("run"), ended("run")))
      assert.deepStrictEqual([world.done, other.done], [once.slice(0, 2), once.slice(1)])
      // The request, the result that nobody refers to, and the one of the second process.
      assert.lengthOf(yield* Effect.provide(blobsOf("ann"), inMemory), 3)
      yield* Effect.sleep("5 millis")
      yield* second.within(Effect.flatMap(WorkflowJournal, (journal) => journal.prune({ olderThan: "1 millis" })))
      assert.deepStrictEqual(yield* Effect.provide(blobsOf("ann"), inMemory), [])
      yield* second.end
    })
  )

  it.scopedLive("are refused in a request above the bound, before anything is kept", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World("small")
      const process = yield* start(world, backend.layer, onEngine(store), { most: SIZE })
      const error = yield* process.within(Effect.flip(begin("run", SIZE)))
      assert.deepStrictEqual([error.reason, world.done], ["invalid", []] as const)
      assert.match(error.message, /has 200\d\d\d bytes, and a run takes at most 150000/)
      assert.include(error.hint ?? "", "payloads.most")
      assert.isTrue(Option.isNone(yield* process.within(Runs.poll("run", ann))))
      assert.deepStrictEqual(yield* Effect.provide(blobsOf("ann"), store), [])
      yield* process.end
    })
  )

  for (const [where, hasStore] of [
    ["with a store", true],
    ["without a store", false]
  ] as const) {
    it.scopedLive(`fail a run above the bound, which says whose call it cannot undo, ${where}`, () =>
      Effect.gen(function* () {
        const inMemory = yield* blobs
        const store = hasStore ? inMemory : undefined
        const world = new World(report(SIZE))
        // The result is kept three times: as data and as text for the model, and for its compensation.
        const bounds = { above: 10_000, most: 3 * SIZE - 1 }
        const first = yield* start(world, backend.layer, onEngine(store), bounds)
        const error = yield* first.within(Effect.zipRight(begin("run", 1000), failed("run")))
        if (error._tag !== "RunFailedError") return assert.fail(error.message)
        assert.strictEqual(error.error.tag, "StepTooLargeError")
        assert.match(error.error.message, /The step tool\S+ ended with 450\d\d\d bytes, and a run keeps at most 449999/)
        assert.instanceOf(error.cause, StepTooLargeError)
        assert.deepStrictEqual(world.done, ["model 0", "fetch"])
        const { records } = yield* first.within(Runs.list(ann))
        assert.deepStrictEqual(
          records[0]?.notUndone?.map(({ tool }) => tool),
          ["fetch"]
        )
        assert.isBelow(yield* first.within(sizeOf("run")), 8192)
        const log = yield* first.within(
          Effect.flatMap(RunLog.RunLog, (log) => log.read(RunId.make("run"), { limit: 1000, ...ann }))
        )
        const last = log.at(-1)
        assert.strictEqual(last?._tag === "Error" ? last.error.tag : last?._tag, "StepTooLargeError")
        yield* first.end
        const second = yield* start(world, backend.kept, onEngine(store), bounds)
        assert.strictEqual((yield* second.within(failed("run")))._tag, "RunFailedError")
        assert.deepStrictEqual(world.done, ["model 0", "fetch"])
        yield* second.end
      })
    )
  }

  it.scopedLive("of another owner are not read through what a request or a result says", () =>
    Effect.gen(function* () {
      const store = yield* blobs
      const world = new World(report(SIZE))
      const process = yield* start(world, backend.layer, onEngine(store))
      yield* process.within(asleep("anns", SIZE))
      // It would take the run of Bob, whose result is a blob there.
      yield* process.end
      const [kept] = yield* Effect.provide(blobsOf("ann"), store)
      const ref = { pieces: [kept?.hash], bytes: 100_000 }
      const forged = { request: ref, byReference: true, stored: ref, startedAt: 1 }
      const bobs = new World(JSON.stringify({ outcome: { _tag: "Stored", ref } }))
      const other = yield* start(bobs, backend.kept, onEngine(store))
      yield* other.within(
        Effect.gen(function* () {
          yield* begin("bobs", 100, { userId: "bob", input: "hello", ...forged })
          yield* Effect.repeat(Effect.sleep("10 millis"), { until: () => world.done.length + bobs.done.length >= 6 })
          const fork = yield* Effect.flip(Runs.fork("anns", { step: 0, userId: "bob" }))
          assert.strictEqual(fork.reason, "unknown-run")
        })
      )
      assert.deepStrictEqual(yield* Effect.provide(blobsOf("bob"), store), [])
      const journal = yield* other.within(
        Effect.flatMap(AgentWorkflow.executionOf("bobs"), (id) =>
          Effect.flatMap(WorkflowJournal, (journal) => journal.payload(id))
        )
      )
      const { input, request, startedAt } = Option.getOrThrow(journal) as Record<string, unknown>
      assert.deepStrictEqual([input, request], ["hello", undefined])
      assert.notStrictEqual(startedAt, 1)
      yield* other.end
    })
  )
}

SqlBackends.suite("large values of durable runs at their bounds", more)

SqlBackends.suite("large values of durable runs", (backend) => cases(backend, onEngine))

SqlBackends.suite("large values of durable runs in a cluster", (backend) => {
  cases(backend, onCluster)

  it.scopedLive("are not in the messages by which runs are started", () =>
    Effect.gen(function* () {
      const process = yield* start(new World(report(SIZE)), backend.layer, onCluster(yield* blobs))
      yield* process.within(asleep("run", SIZE))
      const sql = yield* Effect.provide(SqlClient.SqlClient, backend.kept)
      const [row] = yield* sql<{ readonly size: number }>`SELECT MAX(LENGTH(payload)) AS size FROM lex_cluster_messages`
      assert.isAbove(Number(row?.size), 10)
      assert.isBelow(Number(row?.size), 1024)
      yield* process.end
    })
  )
})

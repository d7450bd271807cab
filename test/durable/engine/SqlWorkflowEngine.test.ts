import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Activity from "@effect/workflow/Activity"
import * as DurableClock from "@effect/workflow/DurableClock"
import * as DurableDeferred from "@effect/workflow/DurableDeferred"
import * as Workflow from "@effect/workflow/Workflow"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { BeforeCommit } from "../../../src/durable/engine/BeforeCommit.js"
import * as SqlWorkflowEngine from "../../../src/durable/engine/SqlWorkflowEngine.js"
import { WorkflowJournal } from "../../../src/durable/engine/WorkflowJournal.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as Processes from "./EngineProcesses.js"
import * as Tests from "./WorkflowTests.js"

const Job = Workflow.make({
  name: "Job",
  payload: { id: Schema.String },
  idempotencyKey: ({ id }) => id,
  success: Schema.Array(Schema.String)
})

const job = { id: "1" }

const Approval = DurableDeferred.make("approval", { success: Schema.String })

const approve = (executionId: string, value = "yes") =>
  DurableDeferred.succeed(Approval, {
    token: DurableDeferred.tokenFromExecutionId(Approval, { workflow: Job, executionId }),
    value
  })

const step = (name: string, execute: Effect.Effect<unknown> = Effect.void) =>
  Activity.make({ name, success: Schema.String, execute: Effect.as(execute, name) })

const layerOf = (body: Effect.Effect<ReadonlyArray<string>, never, any>): Layer.Layer<never, never, Tests.Engine> =>
  Job.toLayer(() => body) as never

/** The names of the finished activities, in order of names. */
const names = (executionId: string) =>
  Effect.flatMap(WorkflowJournal, (journal) =>
    Effect.map(journal.activities(executionId, { limit: 1_000 }), (entries) => entries.map(({ name }) => name))
  )

const isEnded = (executionId: string) =>
  Effect.map(Job.poll(executionId), (result) => (result?._tag === "Complete" ? result.exit : undefined))

/** Counters of handlers, and gates that they wait for. */
const gates = (...all: ReadonlyArray<string>) => {
  const ran: Array<string> = []
  const open = new Map(all.map((name) => [name, Effect.runSync(Deferred.make<void>())]))
  return {
    ran,
    open: (name: string) => Deferred.succeed(open.get(name)!, undefined),
    step: (name: string) =>
      step(
        name,
        Effect.suspend(() => {
          ran.push(name)
          return Deferred.await(open.get(name)!)
        })
      )
  }
}

SqlBackends.suite("SqlWorkflowEngine", (backend) => {
  const scenario = <A, E>(title: string, body: Effect.Effect<A, E, SqlClient.SqlClient | Scope.Scope>) =>
    it.scoped(title, () => Effect.provide(body, backend.layer))

  scenario(
    "goes on after a restart between any two events, and runs no finished activity again",
    Effect.gen(function* () {
      const steps = ["a", "b", "c", "d"]
      const { open, ran, step } = gates(...steps)
      const body = Effect.gen(function* () {
        yield* step("a")
        yield* step("b")
        const approved = yield* DurableDeferred.await(Approval)
        yield* step("c")
        yield* DurableClock.sleep({ name: "nap", duration: "1 minute", inMemoryThreshold: "1 millis" })
        yield* step("d")
        return [approved]
      })
      const begin = Processes.start(backend.kept, layerOf(body))
      const first = yield* begin
      const id = yield* first.within(Job.execute(job, { discard: true }))
      yield* first.close
      const events: ReadonlyArray<Effect.Effect<unknown, unknown, Processes.Services>> = [
        ...["a", "b"].map((name) =>
          Effect.zipRight(open(name), Tests.eventually(Effect.map(names(id), (done) => done.includes(name))))
        ),
        Tests.eventually(Effect.map(Job.poll(id), (result) => result?._tag === "Suspended")),
        approve(id),
        Effect.zipRight(open("c"), Tests.eventually(Effect.map(names(id), (done) => done.includes("c")))),
        Tests.eventually(Effect.map(Job.poll(id), (result) => result?._tag === "Suspended")),
        TestClock.adjust("1 minute"),
        Effect.zipRight(open("d"), Tests.eventually(Effect.map(names(id), (done) => done.includes("d")))),
        Tests.eventually(isEnded(id))
      ]
      for (const event of events) {
        const process = yield* begin
        yield* process.within(event)
        yield* process.close
      }
      const last = yield* begin
      assert.deepStrictEqual(yield* last.within(Tests.valueOf(Job.execute(job))), ["yes"])
      assert.deepStrictEqual(yield* last.within(names(id)), steps)
      // A step begins again where it was interrupted, and never after it was stored.
      for (const name of steps) assert.isAtLeast(ran.filter((one) => one === name).length, 1)
      assert.deepStrictEqual([...new Set(ran)], steps)
    })
  )

  scenario(
    "leaves its executions to another process at once when it is closed, and runs no compensation",
    Effect.gen(function* () {
      const { open, ran, step } = gates("a")
      const undone: Array<string> = []
      const body = Effect.gen(function* () {
        yield* Job.withCompensation(Effect.succeed(1), () => Effect.sync(() => undone.push("undone")))
        return [yield* step("a")]
      })
      const one = yield* Processes.start(backend.kept, layerOf(body))
      const id = yield* one.within(Job.execute(job, { discard: true }))
      yield* Tests.until(() => ran.length === 1)
      const two = yield* Processes.start(backend.other, layerOf(body), { poll: "50 millis" })
      yield* TestClock.adjust("1 second")
      yield* Tests.settled
      assert.lengthOf(ran, 1)
      const caller = yield* Effect.fork(one.within(Job.execute(job)))
      yield* Tests.settled
      yield* one.close
      yield* TestClock.adjust("50 millis")
      yield* Tests.until(() => ran.length === 2)
      yield* open("a")
      assert.deepStrictEqual(yield* two.within(Tests.eventually(isEnded(id))), Exit.succeed(["a"]))
      assert.deepStrictEqual(undone, [])
      assert.isTrue(Tests.isInterrupted(yield* caller.await))
    })
  )

  scenario(
    "takes an execution over after the lease, and refuses what the frozen process writes when it goes on",
    Effect.gen(function* () {
      const slow = gates("a", "b")
      const quick = gates("a", "b")
      const sequence = ({ step }: ReturnType<typeof gates>) =>
        Effect.gen(function* () {
          const a = yield* step("a")
          return [a, yield* step("b")]
        })
      const one = yield* Processes.start(backend.kept, layerOf(sequence(slow)))
      const id = yield* one.within(Job.execute(job, { discard: true }))
      yield* Tests.until(() => slow.ran.length === 1)
      yield* one.freeze
      const two = yield* Processes.start(backend.other, layerOf(sequence(quick)))
      yield* TestClock.adjust("6 seconds")
      yield* Tests.settled
      assert.deepStrictEqual(quick.ran, [])
      yield* Tests.until(() => quick.ran.length === 1)

      // The frozen process goes on with the end of its activity, before it knows of anything.
      yield* slow.open("a")
      yield* Tests.settled
      assert.deepStrictEqual(yield* two.within(names(id)), [])
      yield* one.thaw
      yield* quick.open("a")
      yield* quick.open("b")
      assert.deepStrictEqual(yield* one.within(Tests.valueOf(Job.execute(job))), ["a", "b"])
      assert.deepStrictEqual([slow.ran, quick.ran], [["a"], ["a", "b"]])

      // It runs what comes next under another lease.
      yield* two.close
      const next = yield* one.within(Job.execute({ id: "2" }, { discard: true }))
      yield* Tests.until(() => slow.ran.length === 3)
      assert.isUndefined(yield* one.within(Job.poll(next)))
    })
  )

  scenario(
    "commits the work of BeforeCommit with the result, or neither",
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS lex_notes (note TEXT)`
      yield* Effect.addFinalizer(() => Effect.orDie(sql`DROP TABLE lex_notes`))
      const note = (text: string) => Effect.asVoid(sql`INSERT INTO lex_notes (note) VALUES (${text})`)
      const found: Array<string> = []
      const body = Effect.gen(function* () {
        yield* Effect.provideService(step("good"), BeforeCommit, () => note("good"))
        yield* Effect.provideService(step("none"), BeforeCommit, () => undefined)
        const bad = step("bad")
        const exit = yield* Effect.exit(
          Effect.provideService(bad, BeforeCommit, () => Effect.zipRight(note("bad"), Effect.fail("full")))
        )
        if (Exit.isFailure(exit)) found.push("died")
        return yield* Effect.map(step("last"), (last) => [last])
      })
      const process = yield* Processes.start(backend.kept, layerOf(body))
      const id = yield* process.within(Job.execute(job, { discard: true }))
      yield* process.within(Tests.eventually(isEnded(id)))
      assert.deepStrictEqual(found, ["died"])
      assert.deepStrictEqual(yield* process.within(names(id)), ["good", "last", "none"])
      assert.deepStrictEqual(yield* sql`SELECT note FROM lex_notes`, [{ note: "good" }])
    })
  )

  scenario(
    "runs an activity again, once a resume, in which two branches waited",
    Effect.gen(function* () {
      let runs = 0
      const Review = DurableDeferred.make("review", { success: Schema.String })
      const body = Effect.map(
        step(
          "outer",
          Effect.suspend(() => {
            runs++
            return Effect.all([DurableDeferred.await(Approval), DurableDeferred.await(Review)], {
              concurrency: "unbounded"
            })
          }) as Effect.Effect<unknown>
        ),
        (outer) => [outer]
      )
      const process = yield* Processes.start(backend.kept, layerOf(body))
      const id = yield* process.within(Job.execute(job, { discard: true }))
      const suspended = process.within(
        Tests.eventually(Effect.map(Job.poll(id), (result) => result?._tag === "Suspended"))
      )
      yield* suspended
      yield* process.within(approve(id))
      yield* Tests.until(() => runs === 2)
      yield* suspended
      const token = DurableDeferred.tokenFromExecutionId(Review, { workflow: Job, executionId: id })
      yield* process.within(DurableDeferred.succeed(Review, { token, value: "fine" }))
      assert.deepStrictEqual(yield* process.within(Tests.eventually(isEnded(id))), Exit.succeed(["outer"]))
      assert.strictEqual(runs, 3)
    })
  )

  scenario(
    "interrupts a run of another process",
    Effect.gen(function* () {
      const { ran, step } = gates("a")
      const process = yield* Processes.start(backend.kept, layerOf(Effect.map(step("a"), (a) => [a])))
      const client = yield* Processes.start(backend.other, Layer.empty, { runner: false })
      const id = yield* client.within(Job.execute(job, { discard: true }))
      yield* Tests.until(() => ran.length === 1)
      yield* client.within(Job.interrupt(id))
      const exit = yield* client.within(Tests.eventually(isEnded(id)))
      assert.isTrue(Tests.isInterrupted(exit))
      assert.deepStrictEqual(yield* process.within(names(id)), [])
    })
  )

  scenario(
    "begins nothing new in a run that was interrupted while its process was dead, and compensates",
    Effect.gen(function* () {
      const dead = gates("a")
      const next = gates("a", "undo")
      const sequence = ({ ran, step }: ReturnType<typeof gates>) =>
        Effect.gen(function* () {
          yield* Job.withCompensation(Effect.succeed(1), () => Effect.asVoid(step("undo")) as Effect.Effect<void>)
          const a = yield* step("a")
          ran.push("on")
          return [a]
        })
      const one = yield* Processes.start(backend.kept, layerOf(sequence(dead)))
      const id = yield* one.within(Job.execute(job, { discard: true }))
      yield* Tests.until(() => dead.ran.length === 1)
      yield* one.freeze
      const client = yield* Processes.start(backend.other, Layer.empty, { runner: false })
      yield* client.within(Job.interrupt(id))
      yield* next.open("undo")
      const two = yield* Processes.start(backend.other, layerOf(sequence(next)))
      const exit = yield* two.within(Tests.eventually(isEnded(id)))
      assert.isTrue(Tests.isInterrupted(exit))
      assert.deepStrictEqual(next.ran, ["undo"])
    })
  )

  scenario(
    "serves a client that has no workflows and takes no executions",
    Effect.gen(function* () {
      const body = Effect.map(DurableDeferred.await(Approval), (approved) => [approved as string])
      const registered = yield* Processes.start(backend.kept, layerOf(body), { runner: false })
      const client = yield* Processes.start(backend.kept, Layer.empty, { runner: false })
      const id = yield* client.within(Job.execute(job, { discard: true }))
      yield* TestClock.adjust("1 minute")
      yield* Tests.settled
      assert.isUndefined(yield* registered.within(Job.poll(id)))
      const runner = yield* Processes.start(backend.other, layerOf(body))
      yield* client.within(Tests.eventually(Effect.map(Job.poll(id), (result) => result?._tag === "Suspended")))
      const caller = yield* Effect.fork(client.within(Job.execute(job)))
      yield* Tests.settled
      yield* client.within(approve(id))
      assert.deepStrictEqual(yield* Tests.valueOf(caller), ["yes"])
      yield* runner.close
    })
  )

  scenario(
    "takes over after the lease that is chosen",
    Effect.gen(function* () {
      const { ran, step } = gates("a")
      const body = layerOf(Effect.map(step("a"), (a) => [a]))
      const one = yield* Processes.start(backend.kept, body, { lease: "1 minute" })
      yield* one.within(Job.execute(job, { discard: true }))
      yield* Tests.until(() => ran.length === 1)
      yield* one.freeze
      yield* Processes.start(backend.other, body)
      yield* TestClock.adjust("50 seconds")
      yield* Tests.settled
      assert.lengthOf(ran, 1)
      yield* TestClock.adjust("15 seconds")
      yield* Tests.until(() => ran.length === 2)
    })
  )

  scenario(
    "looks for work of other processes as often as is chosen",
    Effect.gen(function* () {
      const { ran, step } = gates("a")
      const body = layerOf(
        Effect.zipRight(
          DurableDeferred.await(Approval),
          Effect.map(step("a"), (a) => [a])
        )
      )
      const one = yield* Processes.start(backend.kept, body, { poll: "1 hour" })
      const client = yield* Processes.start(backend.other, Layer.empty, { runner: false, poll: "1 hour" })
      const id = yield* one.within(Job.execute(job, { discard: true }))
      yield* one.within(Tests.eventually(Effect.map(Job.poll(id), (result) => result?._tag === "Suspended")))
      yield* client.within(approve(id))
      yield* TestClock.adjust("10 minutes")
      yield* Tests.settled
      assert.lengthOf(ran, 0)
      yield* TestClock.adjust("1 hour")
      yield* Tests.until(() => ran.length === 1)
    })
  )

  it.scoped("refuses options out of bounds", () =>
    Effect.gen(function* () {
      for (const options of [{ lease: 99 }, { lease: Number.POSITIVE_INFINITY }, { poll: 0 }, { poll: "1 nanos" }]) {
        const error = yield* Effect.flip(Layer.build(SqlWorkflowEngine.layer(options as SqlWorkflowEngine.Options)))
        assert.strictEqual(error._tag, "PersistenceConfigurationError")
        assert.include(error.message, Object.keys(options).join())
      }
      yield* Layer.build(SqlWorkflowEngine.layer({ lease: 100, poll: 1 }))
    }).pipe(Effect.provide(backend.layer))
  )

  scenario(
    "starts an execution with the transaction of its caller, and not if that is rolled back",
    Effect.gen(function* () {
      const { ran, step } = gates("a")
      const process = yield* Processes.start(backend.kept, layerOf(Effect.map(step("a"), (a) => [a])))
      const execute = process.within(Job.execute(job, { discard: true }))
      const sql = yield* SqlClient.SqlClient
      yield* Effect.exit(sql.withTransaction(Effect.zipRight(execute, Effect.fail("no"))))
      yield* TestClock.adjust("1 second")
      yield* Tests.settled
      assert.lengthOf(ran, 0)
      yield* sql.withTransaction(Effect.zipRight(execute, Tests.settled))
      yield* Tests.until(() => ran.length === 1)
    })
  )
})

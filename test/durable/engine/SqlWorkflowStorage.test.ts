import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { assert, it } from "@effect/vitest"
import * as Activity from "@effect/workflow/Activity"
import * as DurableClock from "@effect/workflow/DurableClock"
import * as DurableDeferred from "@effect/workflow/DurableDeferred"
import * as Workflow from "@effect/workflow/Workflow"
import { WorkflowEngine } from "@effect/workflow/WorkflowEngine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as SqlWorkflowEngine from "../../../src/durable/engine/SqlWorkflowEngine.js"
import { WorkflowJournal } from "../../../src/durable/engine/WorkflowJournal.js"
import type { WorkflowStorageError } from "../../../src/durable/engine/WorkflowStorageError.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlTables from "../../support/SqlTables.js"
import * as Processes from "./EngineProcesses.js"
import * as Tests from "./WorkflowTests.js"

const secret = "hunter2"

const Job = Workflow.make({
  name: "Job",
  payload: { id: Schema.String, secret: Schema.String },
  idempotencyKey: ({ id }) => id,
  success: Schema.String
})

const job = (id: string) => ({ id, secret })

const Approval = DurableDeferred.make("approval", { success: Schema.String })

const approve = (executionId: string) =>
  DurableDeferred.succeed(Approval, {
    token: DurableDeferred.tokenFromExecutionId(Approval, { workflow: Job, executionId }),
    value: secret
  })

const activity = (name: string, execute: Effect.Effect<string, never, any> = Effect.succeed(secret)) =>
  Activity.make({ name, success: Schema.String, execute })

const layerOf = (body: (id: string) => Effect.Effect<string, never, any>): Layer.Layer<never, never, Tests.Engine> =>
  Job.toLayer(({ id }) => body(id)) as never

const ended = (executionId: string) =>
  Tests.eventually(
    Effect.map(Job.poll(executionId), (result) => (result?._tag === "Complete" ? result.exit : undefined))
  )

const suspended = (executionId: string) =>
  Tests.eventually(Effect.map(Job.poll(executionId), (result) => result?._tag === "Suspended"))

/** The typed error that an operation died with, which reveals nothing. */
const deathOf = (exit: Exit.Exit<unknown, unknown>): WorkflowStorageError => {
  assert.isTrue(Exit.isFailure(exit))
  const defect = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined
  assert.strictEqual((defect as WorkflowStorageError).name, "WorkflowStorageError")
  assert.notInclude(`${JSON.stringify(defect)} ${String(defect)}`, secret)
  return defect as WorkflowStorageError
}

const journal = <A, E>(use: (journal: typeof WorkflowJournal.Service) => Effect.Effect<A, E>) =>
  Effect.flatMap(WorkflowJournal, use)

SqlBackends.suite("the store of SqlWorkflowEngine", (backend) => {
  const scenario = <A, E>(title: string, body: Effect.Effect<A, E, SqlClient.SqlClient | Scope.Scope>) =>
    it.scoped(title, () => Effect.provide(body, backend.layer))

  scenario(
    "lists the activities of an execution by pages, and measures it",
    Effect.gen(function* () {
      const all = ["a", "b", "c", "d", "\u0000 odd \ud83d\ude00", "long".repeat(500)]
      const body = Effect.gen(function* () {
        yield* Effect.forEach(all, (name) => activity(name, Effect.succeed("é".repeat(10))))
        yield* Effect.provideService(activity("again"), Activity.CurrentAttempt, 2)
        yield* activity("again")
        return "end"
      })
      const process = yield* Processes.start(
        backend.kept,
        layerOf(() => body)
      )
      const id = yield* process.within(Job.execute(job("1"), { discard: true }))
      yield* process.within(ended(id))
      const found: Array<readonly [string, number]> = []
      for (let after: { name: string; attempt: number } | undefined; ; ) {
        const page = yield* process.within(journal(({ activities }) => activities(id, { after, limit: 3 })))
        assert.isAtMost(page.length, 3)
        found.push(...page.map(({ attempt, name }) => [name, attempt] as const))
        after = page.at(-1)
        if (after === undefined) break
      }
      assert.sameDeepMembers(found, [...all.map((name) => [name, 1] as const), ["again", 1], ["again", 2]])
      const [entry] = yield* process.within(journal(({ activities }) => activities(id, { limit: 1 })))
      assert.strictEqual(entry?.bytes, Buffer.byteLength(JSON.stringify({ _tag: "Success", value: "é".repeat(10) })))
      const entries = yield* process.within(journal(({ activities }) => activities(id)))
      const ofActivities = entries.reduce((sum, { bytes }) => sum + bytes, 0)
      const rest = JSON.stringify({ id: "1", secret }).length + JSON.stringify({ _tag: "Success", value: "end" }).length
      assert.strictEqual(yield* process.within(journal(({ size }) => size(id))), ofActivities + rest)
      assert.strictEqual(yield* process.within(journal(({ size }) => size("unknown"))), 0)
      assert.deepStrictEqual(yield* process.within(journal(({ activities }) => activities("unknown"))), [])
    })
  )

  const counts = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const tables = ["executions", "activities", "deferreds", "clocks"]
    return yield* Effect.forEach(tables, (table) =>
      Effect.map(
        sql.unsafe<{ readonly count: number }>(`SELECT COUNT(*) AS count FROM lex_workflow_${table}`),
        ([row]) => Number(row?.count)
      )
    )
  })

  scenario(
    "prunes executions that ended long ago with all that is theirs, and leaves the others",
    Effect.gen(function* () {
      const body = (id: string) =>
        Effect.gen(function* () {
          yield* activity("a")
          if (id !== "waits") return "end"
          yield* DurableClock.sleep({ name: "year", duration: "365 days", inMemoryThreshold: "1 millis" })
          return yield* DurableDeferred.await(Approval)
        })
      const process = yield* Processes.start(backend.kept, layerOf(body), { poll: "1 hour", lease: "1 hour" })
      const ids = Array.from({ length: 105 }, (_, index) => `${index}`)
      for (const id of ids) {
        const executionId = yield* process.within(Job.execute(job(id), { discard: true }))
        if (id === "7") yield* process.within(approve(executionId))
      }
      const waiting = yield* process.within(Job.execute(job("waits"), { discard: true }))
      yield* process.within(approve("never began"))
      for (const id of ids) yield* process.within(ended(yield* Job.executionId(job(id))))
      yield* process.within(suspended(waiting))
      assert.strictEqual(yield* process.within(journal(({ prune }) => prune({ olderThan: "1 hour" }))), 0)
      yield* TestClock.adjust("3 hours")
      yield* Tests.settled
      const late = yield* process.within(Job.execute(job("late"), { discard: true }))
      yield* process.within(ended(late))
      assert.strictEqual(yield* process.within(journal(({ prune }) => prune({ olderThan: "1 hour" }))), ids.length)
      assert.deepStrictEqual(yield* counts, [2, 2, 0, 1])
    })
  )

  scenario(
    "removes executions by itself when they have been kept for long enough",
    Effect.gen(function* () {
      const process = yield* Processes.start(
        backend.kept,
        layerOf(() => activity("a")),
        { poll: "1 hour", lease: "1 hour", retain: "1 day" }
      )
      const executionId = yield* process.within(Job.execute(job("1"), { discard: true }))
      yield* process.within(ended(executionId))
      const size = process.within(journal(({ size }) => size(executionId)))
      const sizes: Array<boolean> = []
      for (const hours of [23, 3]) {
        for (let i = 0; i < hours; i++) yield* Effect.zipRight(TestClock.adjust("1 hour"), Tests.settled)
        sizes.push((yield* size) > 0)
      }
      assert.deepStrictEqual(sizes, [true, false])
    })
  )

  scenario(
    "erases executions whatever they do, and stops those that run",
    Effect.gen(function* () {
      const ran: Array<string> = []
      const gate = yield* Effect.makeLatch(false)
      const body = (id: string) =>
        Effect.gen(function* () {
          yield* activity("a")
          if (id === "waits") return yield* DurableDeferred.await(Approval)
          yield* activity(
            "b",
            Effect.suspend(() => {
              ran.push("b")
              return Effect.as(gate.await, "b")
            })
          )
          ran.push("on")
          return "end"
        })
      const process = yield* Processes.start(backend.kept, layerOf(body))
      const other = yield* Processes.start(backend.other, Layer.empty, { runner: false })
      const running = yield* process.within(Job.execute(job("runs"), { discard: true }))
      yield* Tests.until(() => ran.length === 1)
      const waiting = yield* process.within(Job.execute(job("waits"), { discard: true }))
      yield* process.within(suspended(waiting))
      const callers = yield* Effect.forEach([process, other], (one) =>
        Effect.fork(one.within(Job.execute(job("waits"))))
      )
      yield* Tests.settled
      const erased = other.within(journal(({ erase }) => erase([running, waiting, "unknown", running])))
      assert.strictEqual(yield* erased, 2)
      assert.strictEqual(yield* erased, 0)
      yield* gate.open
      yield* TestClock.adjust("11 seconds")
      for (const caller of callers) assert.isTrue(Tests.isInterrupted(yield* Tests.exitOf(caller)))
      yield* Tests.settled
      assert.deepStrictEqual(ran, ["b"])
      assert.deepStrictEqual(yield* counts, [0, 0, 0, 0])
    })
  )

  const corrupt = (table: string, column: string) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.unsafe(`UPDATE lex_workflow_${table} SET ${column} = '{${secret}'`)
    )

  scenario(
    "ends with a typed error that reveals nothing when the result of an activity cannot be read",
    Effect.gen(function* () {
      const body = () =>
        Effect.zipRight(
          activity("a"),
          Effect.map(DurableDeferred.await(Approval), (approved) => approved as string)
        )
      const process = yield* Processes.start(backend.kept, layerOf(body))
      const one = yield* process.within(Job.execute(job("1"), { discard: true }))
      yield* process.within(suspended(one))
      yield* corrupt("activities", "body")
      yield* process.within(approve(one))
      const ofActivity = deathOf(yield* process.within(ended(one)))
      assert.strictEqual(ofActivity.message, "A result in the database cannot be read")
    })
  )

  scenario(
    "dies of a result and a payload that cannot be read",
    Effect.gen(function* () {
      const process = yield* Processes.start(
        backend.kept,
        layerOf(() => Effect.succeed("end"))
      )
      const client = yield* Processes.start(backend.kept, Layer.empty, { runner: false })
      const one = yield* process.within(Job.execute(job("1"), { discard: true }))
      yield* process.within(ended(one))
      yield* corrupt("executions", "result")
      const polled = deathOf(yield* Effect.exit(process.within(Job.poll(one))))
      assert.strictEqual(polled.reason, "data")
      deathOf(yield* Tests.exitOf(process.within(Job.execute(job("1")))))
      yield* process.close

      const two = yield* client.within(Job.execute(job("2"), { discard: true }))
      yield* corrupt("executions", "payload")
      const next = yield* Processes.start(
        backend.kept,
        layerOf(() => Effect.succeed("end"))
      )
      const ofPayload = deathOf(yield* next.within(ended(two)))
      assert.strictEqual(ofPayload.message, "The payload in the database cannot be read")
    })
  )

  scenario(
    "ends with a typed error when a result does not fit its schema",
    Effect.gen(function* () {
      const process = yield* Processes.start(
        backend.kept,
        layerOf(() => Effect.succeed(Symbol.for(secret) as unknown as string))
      )
      const id = yield* process.within(Job.execute(job("1"), { discard: true }))
      assert.strictEqual(deathOf(yield* process.within(ended(id))).message, "The result cannot be written")
    })
  )

  scenario(
    "dies with a typed error where the tables are gone",
    Effect.gen(function* () {
      const process = yield* Processes.start(
        backend.kept,
        layerOf(() => Effect.succeed("end"))
      )
      const sql = yield* SqlClient.SqlClient
      const rename = (from: string, to: string) =>
        Effect.flatMap(SqlTables.names, (tables) =>
          Effect.forEach(
            tables.filter((name) => name.startsWith(from)),
            (name) => sql.unsafe(`ALTER TABLE ${name} RENAME TO ${to}${name.slice(from.length)}`)
          )
        )
      yield* Effect.acquireUseRelease(
        rename("lex_", "gone_"),
        () =>
          Effect.gen(function* () {
            const operations: ReadonlyArray<Effect.Effect<unknown, unknown, Tests.Engine>> = [
              Job.execute(job("1")),
              Job.poll("1"),
              Job.interrupt("1"),
              Job.resume("1"),
              approve("1")
            ]
            for (const operation of operations) {
              const error = deathOf(yield* Effect.exit(process.within(operation)))
              assert.strictEqual(error.reason, "schema")
              assert.include(error.hint ?? "", "Migrate")
            }
            const failure = yield* Effect.flip(process.within(journal(({ size }) => size("1"))))
            assert.strictEqual(failure._tag, "WorkflowStorageError")
          }),
        () => Effect.orDie(rename("gone_", "lex_"))
      )
    })
  )

  scenario(
    "pauses a run whose database is away, tells its callers, and goes on when it is back",
    Effect.gen(function* () {
      let isAway = false
      const away = new SqlError({ cause: { code: "ECONNREFUSED" }, message: secret })
      const client = SqlBackends.preceded(() =>
        Effect.suspend(() => (isAway ? (Effect.fail(away) as never) : Effect.void))
      )
      const ran: Array<string> = []
      const body = Effect.gen(function* () {
        yield* activity("a")
        yield* activity(
          "b",
          Effect.sync(() => {
            ran.push("b")
            if (ran.length === 1) isAway = true
            return "b"
          })
        )
        return "end"
      })
      const process = yield* Processes.start(
        Layer.provide(client, backend.kept),
        layerOf(() => body)
      )
      const id = yield* process.within(Job.execute(job("1"), { discard: true }))
      const caller = yield* Effect.fork(process.within(Job.execute(job("1"))))
      yield* Tests.until(() => isAway)
      const error = deathOf(yield* Tests.exitOf(caller as unknown as Effect.Effect<string>))
      assert.strictEqual(error.reason, "unreachable")
      deathOf(yield* Effect.exit(process.within(Job.poll(id))))
      yield* TestClock.adjust("1 minute")
      yield* Tests.settled
      assert.deepStrictEqual(ran, ["b"])
      isAway = false
      assert.deepStrictEqual(yield* process.within(ended(id)), Exit.succeed("end"))
      assert.deepStrictEqual(ran, ["b", "b"])
    })
  )

  scenario(
    "goes on looking for work after a defect of the database",
    Effect.gen(function* () {
      let defects = 0
      const client = SqlBackends.preceded(({ sql }) =>
        defects < 2 && sql.startsWith("SELECT EXISTS") ? Effect.die(`defect ${++defects}`) : Effect.void
      )
      const process = yield* Processes.start(
        Layer.provide(client, backend.kept),
        layerOf(() => Effect.succeed("end"))
      )
      yield* Tests.until(() => defects === 2)
      const outside = yield* Processes.start(backend.other, Layer.empty, { runner: false })
      const id = yield* outside.within(Job.execute(job("1"), { discard: true }))
      assert.deepStrictEqual(yield* process.within(ended(id)), Exit.succeed("end"))
    })
  )

  scenario(
    "takes ids and names of any text",
    Effect.gen(function* () {
      const odd = [
        "",
        "\u0000",
        "a'b\"; DROP TABLE lex_runs --",
        "\ud800",
        "x".repeat(5_000),
        "\u0001#",
        "ü".repeat(300)
      ]
      const engine = yield* Processes.start(
        backend.kept,
        layerOf((id) =>
          Effect.gen(function* () {
            const name = `${id}!`
            yield* activity(name)
            const deferred = DurableDeferred.make(name, { success: Schema.String })
            return yield* DurableDeferred.await(deferred)
          })
        )
      )
      for (const id of odd) {
        const value = yield* engine.within(
          Effect.gen(function* () {
            const service = yield* WorkflowEngine
            yield* service.execute(Job, { executionId: id, payload: job(id), discard: true })
            yield* suspended(id)
            const deferred = DurableDeferred.make(`${id}!`, { success: Schema.String })
            yield* service.deferredDone(deferred, {
              workflowName: "Job",
              executionId: id,
              deferredName: deferred.name,
              exit: Exit.succeed(id)
            })
            const exit = yield* ended(id)
            const entries = yield* journal(({ activities }) => activities(id))
            assert.deepStrictEqual(
              entries.map(({ name }) => name),
              [`${id}!`]
            )
            return exit
          })
        )
        assert.deepStrictEqual(value, Exit.succeed(id))
      }
    })
  )

  it.scoped("reads no whole table, sorts nothing that grows, and looks by one statement while nothing happens", () => {
    const seen: Array<SqlBackends.Seen> = []
    return Effect.gen(function* () {
      const body = (id: string) =>
        Effect.gen(function* () {
          yield* activity("a")
          if (id === "ends") return "end"
          yield* DurableClock.sleep({ name: "nap", duration: "1 second", inMemoryThreshold: "1 millis" })
          return yield* DurableDeferred.await(Approval)
        })
      const client = Layer.provide(SqlBackends.watched(seen), backend.kept)
      const process = yield* Processes.start(client, layerOf(body))
      const other = yield* Processes.start(client, Layer.empty, { lease: "1 second" })
      for (const id of ["ends", "waits", "is interrupted"]) {
        const executionId = yield* process.within(Job.execute(job(id), { discard: true }))
        const caller = yield* Effect.fork(process.within(Job.execute(job(id))))
        if (id === "waits") {
          yield* TestClock.adjust("2 seconds")
          yield* process.within(suspended(executionId))
          yield* process.within(approve(executionId))
        }
        if (id === "is interrupted") {
          yield* process.within(suspended(executionId))
          yield* process.within(Job.interrupt(executionId))
        }
        yield* process.within(ended(executionId))
        yield* Tests.exitOf(caller)
        yield* process.within(journal(({ activities }) => activities(executionId)))
        yield* process.within(journal(({ size }) => size(executionId)))
      }
      yield* other.freeze
      yield* TestClock.adjust("12 seconds")
      const isIdle = Effect.gen(function* () {
        const from = seen.length
        yield* TestClock.adjust("400 millis")
        yield* Tests.settled
        const idle = seen.slice(from).filter(({ sql }) => !/^UPDATE lex_workflow_runners/.test(sql))
        return idle.length > 0 && idle.length <= 3 && idle.every(({ sql }) => sql.startsWith("SELECT EXISTS"))
      })
      yield* Tests.eventually(isIdle)
      yield* process.within(journal(({ prune }) => prune({ olderThan: 0 })))
      yield* process.within(journal(({ erase }) => erase(["a"])))
      yield* process.close
      const slow = (yield* SqlBackends.plans(backend, seen)).filter(({ plan }) => SqlBackends.isSlow(plan))
      assert.deepStrictEqual(slow, [])
    }).pipe(Effect.provide(backend.layer))
  })

  it.scoped("reads when it begins, and commits once for an activity, for the last of many as for the first", () => {
    const seen: Array<SqlBackends.Seen> = []
    return Effect.gen(function* () {
      const numbers = Array.from({ length: 100 }, (_, index) => `activity ${100 + index}`)
      const body = Effect.as(
        Effect.forEach(numbers, (name) => activity(name)),
        "end"
      )
      const process = yield* Processes.start(
        Layer.provide(SqlBackends.watched(seen), backend.kept),
        layerOf(() => body),
        { poll: "1 hour", lease: "1 hour" }
      )
      const outside = yield* Processes.start(backend.kept, Layer.empty, { runner: false })
      const id = yield* process.within(Job.execute(job("1"), { discard: true }))
      yield* outside.within(ended(id))
      const during = seen.filter(({ sql }) => sql.includes("lex_workflow_activities")).map(({ sql }) => sql.slice(0, 6))
      // What is recorded, and whether the execution still is the runner's.
      assert.deepStrictEqual(during, ["SELECT", "SELECT", ...numbers.map(() => "INSERT")])
      const entries = yield* process.within(journal(({ activities }) => activities(id)))
      assert.strictEqual(new Set(entries.map(({ bytes }) => bytes)).size, 1)
    }).pipe(Effect.provide(backend.layer))
  })

  it.scoped("is not built on a database without tables, unless it may make them", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(SqlWorkflowEngine.layer()))
      assert.strictEqual(error._tag, "MigrationError")
      yield* Layer.build(SqlWorkflowEngine.layerMigrated())
      yield* Layer.build(SqlWorkflowEngine.layer())
    }).pipe(Effect.provide(SqlBackends.elsewhere))
  )
})

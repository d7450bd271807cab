/** Random workflows, what their results must be, and random lives of the processes that run them. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Activity from "@effect/workflow/Activity"
import * as DurableClock from "@effect/workflow/DurableClock"
import * as DurableDeferred from "@effect/workflow/DurableDeferred"
import * as Workflow from "@effect/workflow/Workflow"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as SeededRandom from "../../support/SeededRandom.js"
import * as Processes from "./EngineProcesses.js"
import type * as Tests from "./WorkflowTests.js"

type Op =
  | { readonly _tag: "activity"; readonly name: string; readonly millis: number }
  | { readonly _tag: "nested"; readonly name: string; readonly ops: ReadonlyArray<Op> }
  | { readonly _tag: "wait"; readonly name: string }
  | { readonly _tag: "sleep"; readonly name: string; readonly millis: number; readonly isLong: boolean }
  | { readonly _tag: "both"; readonly left: ReadonlyArray<Op>; readonly right: ReadonlyArray<Op> }
  | { readonly _tag: "child"; readonly id: string; readonly ops: ReadonlyArray<Op> }

const kinds = ["activity", "activity", "activity", "wait", "wait", "sleep", "nested", "both", "child"] as const

const makeOps = (random: SeededRandom.SeededRandom, id: string): ReadonlyArray<Op> => {
  let count = 0
  const make = (depth: number, id: string): Op => {
    const name = `${id}.${++count}`
    const kind = depth === 0 ? random.pick(kinds.slice(0, 6)) : random.pick(kinds)
    switch (kind) {
      case "activity":
        return { _tag: kind, name, millis: random.pick([0, 0, 1, 300]) }
      case "nested":
        return { _tag: kind, name, ops: list(depth - 1, id) }
      case "wait":
        return { _tag: kind, name }
      case "sleep":
        return { _tag: kind, name, millis: 1 + random.below(3_000), isLong: random.below(2) === 0 }
      case "both":
        return { _tag: kind, left: list(depth - 1, id), right: list(depth - 1, id) }
      case "child":
        return { _tag: kind, id: name, ops: list(depth - 1, name) }
    }
  }
  const list = (depth: number, id: string): ReadonlyArray<Op> =>
    Array.from({ length: 1 + random.below(3) }, () => make(depth, id))
  return [...list(2, id), ...list(2, id)]
}

const Program = Workflow.make({
  name: "Program",
  payload: { id: Schema.String },
  idempotencyKey: ({ id }) => id,
  success: Schema.Array(Schema.String)
})

/** What has happened in a schedule, and what of it must not have. */
interface Notes {
  readonly programs: Map<string, ReadonlyArray<Op>>
  /** The results that bodies saw, by activity. */
  readonly seen: Map<string, string>
  readonly problems: Array<string>
  runs: number
}

const isStored = (executionId: string, name: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`SELECT 1 AS found FROM lex_workflow_activities WHERE execution_id = ${executionId} AND name = ${name}`,
      (rows) => rows.length > 0
    )
  )

const interpret = (notes: Notes, executionId: string, op: Op): Effect.Effect<string, never, any> => {
  const all = (ops: ReadonlyArray<Op>) => Effect.forEach(ops, (one) => interpret(notes, executionId, one))
  const handler = (name: string, work: Effect.Effect<unknown, never, any>) =>
    Effect.gen(function* () {
      if (yield* Effect.orDie(isStored(executionId, name))) notes.problems.push(`${name} ran again`)
      yield* work
      return `${name}#${++notes.runs}`
    })
  const same = (name: string) => (value: string) =>
    Effect.sync(() => {
      const before = notes.seen.get(name)
      if (before !== undefined && before !== value) notes.problems.push(`${name} was ${before}, then ${value}`)
      notes.seen.set(name, value)
    })
  const activity = (name: string, work: Effect.Effect<unknown, never, any>) =>
    Effect.tap(Activity.make({ name, success: Schema.String, execute: handler(name, work) }), same(name))
  switch (op._tag) {
    case "activity":
      return activity(op.name, op.millis === 0 ? Effect.void : Effect.sleep(op.millis))
    case "nested":
      return activity(op.name, all(op.ops))
    case "wait":
      return DurableDeferred.await(deferredOf(op.name))
    case "sleep":
      return Effect.as(
        DurableClock.sleep({
          name: op.name,
          duration: op.millis,
          inMemoryThreshold: op.isLong ? "1 nanos" : "1 hour"
        }),
        `${op.name} slept`
      )
    case "both":
      return Effect.map(
        Effect.all([all(op.left), all(op.right)], { concurrency: "unbounded" }),
        ([left, right]) => `${left.join()}|${right.join()}`
      )
    case "child":
      notes.programs.set(op.id, op.ops)
      return Effect.map(Effect.scoped(Program.execute({ id: op.id })), (found) => found.join("+"))
  }
}

const deferredOf = (name: string) => DurableDeferred.make(name, { success: Schema.String })

/** The deferreds of a program, with the program that waits for each. */
const waitsOf = (id: string, ops: ReadonlyArray<Op>): ReadonlyArray<readonly [program: string, name: string]> =>
  ops.flatMap((op) => {
    switch (op._tag) {
      case "wait":
        return [[id, op.name] as const]
      case "nested":
        return waitsOf(id, op.ops)
      case "both":
        return [...waitsOf(id, op.left), ...waitsOf(id, op.right)]
      case "child":
        return waitsOf(op.id, op.ops)
      default:
        return []
    }
  })

/** The reference: the result of a program whose activities and deferreds have these values. */
const expected = (
  ops: ReadonlyArray<Op>,
  activities: ReadonlyMap<string, string>,
  given: ReadonlyMap<string, string>
): ReadonlyArray<string> => ops.map((op) => expectedOf(op, activities, given))

const expectedOf = (op: Op, activities: ReadonlyMap<string, string>, given: ReadonlyMap<string, string>): string => {
  const all = (ops: ReadonlyArray<Op>, separator: string) => expected(ops, activities, given).join(separator)
  switch (op._tag) {
    case "activity":
    case "nested":
      return activities.get(op.name) ?? `no ${op.name}`
    case "wait":
      return given.get(op.name) ?? `no ${op.name}`
    case "sleep":
      return `${op.name} slept`
    case "both":
      return `${all(op.left, ",")}|${all(op.right, ",")}`
    case "child":
      return all(op.ops, "+")
  }
}

/** A database in memory for many schedules. */
export const database: Layer.Layer<SqlClient.SqlClient> = Layer.orDie(
  Layer.provideMerge(Migrations.layer, SqliteClient.layer({ file: ":memory:" }))
)

const turns = Effect.repeatN(
  Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve))),
  3
)

type Action = "start" | "close" | "freeze" | "thaw" | "give" | "resume" | "time" | "wait"
const actions: ReadonlyArray<Action> = [
  "start",
  "start",
  "close",
  "close",
  "freeze",
  "thaw",
  "give",
  "give",
  "give",
  "resume",
  "time",
  "time",
  "wait"
]

/** Runs one schedule, and succeeds with what was wrong. */
export const run = (seed: number): Effect.Effect<ReadonlyArray<string>, never, SqlClient.SqlClient> =>
  Effect.scoped(
    Effect.gen(function* () {
      const random = SeededRandom.make(seed)
      const id = `seed ${seed}`
      const ops = makeOps(random, id)
      const notes: Notes = { programs: new Map([[id, ops]]), seen: new Map(), problems: [], runs: 0 }
      const waits = waitsOf(id, ops)
      const given = new Map<string, string>()
      const client = Layer.succeed(SqlClient.SqlClient, yield* SqlClient.SqlClient)
      const workflows = Program.toLayer(({ id }, executionId) =>
        Effect.forEach(notes.programs.get(id)!, (op) => interpret(notes, executionId, op))
      ) as Layer.Layer<never, never, Tests.Engine>
      const outside = yield* Processes.start(client, Layer.empty, { runner: false, poll: "1 minute" })
      const alive: Array<Processes.Process> = []
      const frozen: Array<Processes.Process> = []
      const start = Effect.map(Processes.start(client, workflows, { poll: "1 second" }), (process) =>
        alive.push(process)
      )
      const give = ([program, name]: readonly [string, string], value: string) =>
        Effect.gen(function* () {
          if (!given.has(name)) given.set(name, value)
          const executionId = yield* Program.executionId({ id: program })
          const deferred = deferredOf(name)
          const token = DurableDeferred.tokenFromExecutionId(deferred, { workflow: Program, executionId })
          yield* outside.within(DurableDeferred.succeed(deferred, { token, value }))
        })
      const take = (from: Array<Processes.Process>) => from.splice(random.below(from.length), 1)[0]

      const act = (action: Action, executionId: string): Effect.Effect<unknown, never, any> => {
        switch (action) {
          case "start":
            return alive.length < 2 ? start : Effect.void
          case "close":
            return take(alive)?.close ?? Effect.void
          case "freeze": {
            const process = take(alive)
            if (process !== undefined) frozen.push(process)
            return process?.freeze ?? Effect.void
          }
          case "thaw": {
            const process = take(frozen)
            if (process !== undefined) alive.push(process)
            return process?.thaw ?? Effect.void
          }
          case "give":
            return waits.length === 0 ? Effect.void : give(random.pick(waits), `given ${random.below(1_000)}`)
          case "resume":
            return outside.within(Program.resume(executionId))
          case "time":
            return TestClock.adjust(random.pick([1, 200, 1_000, 4_000, 11_000]))
          case "wait":
            return turns
        }
      }

      if (random.below(2) === 0) yield* start
      for (let early = random.below(3); early > 0; early--) yield* act("give", "")
      const executionId = yield* outside.within(Program.execute({ id }, { discard: true }))
      for (let left = 5 + random.below(25); left > 0; left--) {
        yield* act(random.pick(actions), executionId)
        if (random.below(2) === 0) yield* turns
      }

      for (const process of frozen.splice(0)) {
        yield* process.thaw
        alive.push(process)
      }
      yield* Effect.forEach(alive.splice(0), (process) => process.close)
      yield* start
      for (const wait of random.shuffled(waits)) yield* give(wait, `last ${random.below(1_000)}`)
      for (let round = 0; ; round++) {
        const result = yield* outside.within(Program.poll(executionId))
        if (result?._tag === "Complete") {
          const wanted = JSON.stringify(expected(ops, notes.seen, given))
          const found = Exit.isSuccess(result.exit) ? JSON.stringify(result.exit.value) : String(result.exit)
          if (found !== wanted) notes.problems.push(`found ${found}, not ${wanted}`)
          break
        }
        if (round === 600) {
          notes.problems.push(`did not end by ${yield* Clock.currentTimeMillis}`)
          break
        }
        yield* TestClock.adjust("1 second")
        yield* turns
      }
      yield* Effect.forEach(alive, (process) => process.close)
      yield* outside.close
      return notes.problems.map((problem) => `seed ${seed}: ${problem}`)
    })
  ) as Effect.Effect<ReadonlyArray<string>, never, SqlClient.SqlClient>

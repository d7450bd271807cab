import * as Fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import { RunId } from "../../src/domain/Ids.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Bundle from "../support/Bundle.js"
import * as Programs from "../support/Programs.js"
import type { Input } from "../support/programs/UndoingAgent.js"
import * as SeededRandom from "../support/SeededRandom.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as CutRuns from "./CutRuns.js"
import * as DurableProcesses from "./DurableProcesses.js"
import { ann, call, say } from "./DurableProcesses.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

const parameters = { place: Schema.String }
const success = Schema.Struct({ id: Schema.String, at: Schema.Date })
const at = new Date(86_400_000)

/** Books; what it books is canceled. */
const book = (
  world: CutRuns.World,
  name: string,
  options: { readonly idempotent: boolean; readonly fails?: boolean }
) =>
  Tool.make(name, {
    description: `Books ${name}`,
    parameters,
    success,
    idempotent: options.idempotent,
    retries: 0,
    // An idempotent call whose end was not recorded is made again, which does nothing more.
    handler: ({ place }, { idempotencyKey }) =>
      world.call(
        `${name} ${place}`,
        Effect.succeed({ id: `#${place}`, at }),
        options.idempotent ? idempotencyKey : undefined
      ),
    compensate: ({ place }, booked) =>
      world.call(
        `undo ${name} ${place} ${booked.id} ${booked.at.getTime()}`,
        options.fails === true ? Effect.fail(new Refused({ message: "too late" })) : Effect.void
      )
  })

const refuse = (world: CutRuns.World) =>
  Tool.make("refuse", {
    description: "Ends the run",
    idempotent: true,
    fatal: true,
    failure: Refused,
    handler: () => world.call("refuse", Effect.fail(new Refused({ message: "no" })))
  })

/** What a run has in its log of compensations, and its record says. */
const told = Effect.gen(function* () {
  const log = yield* RunLog.RunLog
  const { records } = yield* Runs.list(ann)
  const record = records[0]
  const events = yield* log.read(RunId.make(record?.runId ?? ""), { limit: 1000, ...ann })
  return {
    state: record?.state,
    ends: events.filter(({ _tag }) => _tag === "Error" || _tag === "Finished").length,
    notUndone: record?.notUndone?.map(({ tool }) => tool) ?? [],
    undone: events.flatMap((event) =>
      event._tag === "ToolCompensated" ? [[event.name, event.isFailure] as const] : []
    )
  }
})

/** Books two places, asks a sub-agent that books a third one, and fails. */
const failing = (idempotent: boolean): CutRuns.Scenario => ({
  shared: () => Effect.void,
  agents: (world) => {
    const inner = Agent.make("inner", { system: "inner", tools: [book(world, "inside", { idempotent })] })
    return [
      Agent.make("top", {
        system: "top",
        tools: [
          book(world, "one", { idempotent }),
          book(world, "two", { idempotent, fails: true }),
          AgentTool.make(inner),
          refuse(world)
        ]
      })
    ]
  },
  model: (world) =>
    CutRuns.modelOf(world, ({ tools }, number) => {
      if (tools?.some(({ name }) => name === "inside") === true) {
        return number === 0 ? call(["inside", { place: "i" }]) : say("done")
      }
      if (number === 0) return call(["one", { place: "a" }], ["two", { place: "b" }])
      return number === 1 ? call(["delegate_to_inner", { message: "go" }]) : call(["refuse", {}])
    })
})

/** Calls that are done more than once. */
const repeated = (done: ReadonlyArray<string>): ReadonlyArray<string> =>
  done.filter((what, at) => !what.startsWith("model") && done.indexOf(what) !== at)

const allCuts = (calls: number): ReadonlyArray<number> => Array.from({ length: calls }, (_, at) => at + 1)

describe("compensations of a durable run", () => {
  it.live("end as in the undisturbed run, wherever its process ends: idempotent tools", () =>
    Effect.gen(function* () {
      const { cut, expected } = yield* CutRuns.everywhere(failing(true), allCuts)
      const undone = expected.done.filter((what) => what.startsWith("undo"))
      assert.deepStrictEqual(undone, ["undo inside i #i 86400000", "undo one a #a 86400000", "undo two b #b 86400000"])
      CutRuns.assertSame({ cut, expected })
    })
  )

  it.live("never run twice, wherever its process ends: tools that are not idempotent", () =>
    Effect.gen(function* () {
      const { cut, expected } = yield* CutRuns.everywhere(failing(false), allCuts)
      for (const { at, done, end } of cut) {
        assert.deepStrictEqual(repeated(done), [], `cut off at ${at}`)
        const tag = (end as { readonly _tag?: string })._tag
        assert.include(["Refused", "ToolUnknownOutcomeError"], tag, `cut off at ${at}`)
        if (tag === "Refused") {
          // A compensation that was cut off is not run again; a call of the sub-agent that was has none.
          const missing = expected.done.filter((what) => !done.includes(what)).join()
          assert.match(missing, /^(undo [^,]*|inside i,undo inside i[^,]*)?$/, `cut off at ${at}`)
        }
      }
    })
  )

  it.live("run when the run is interrupted, and go on in another process", () =>
    Effect.gen(function* () {
      for (const dieAt of [Number.POSITIVE_INFINITY, 6, 7, 8]) {
        const client = yield* CutRuns.database
        const world = new CutRuns.World(dieAt)
        const wait = Tool.make("wait", { description: "Waits", timeout: "1 hour", handler: () => Effect.never })
        const agent = Agent.make("a", {
          system: "a",
          tools: [book(world, "one", { idempotent: true }), book(world, "two", { idempotent: true, fails: true }), wait]
        })
        const model = CutRuns.modelOf(world, (_request, number) =>
          number === 0
            ? call(["one", { place: "a" }])
            : number === 1
              ? call(["two", { place: "b" }])
              : call(["wait", {}])
        )
        const process = DurableProcesses.start(client, { agents: [agent] }, model)
        const first = yield* process
        yield* first.within(Runs.start({ agent: "a", input: "go", runId: "r", ...ann }))
        const waiting = first.within(
          Effect.gen(function* () {
            const log = yield* RunLog.RunLog
            for (;;) {
              const events = yield* log.read(RunId.make("r"), { limit: 100, ...ann })
              if (events.some((event) => event._tag === "ToolCall" && event.name === "wait")) return
              yield* Effect.sleep("5 millis")
            }
          })
        )
        yield* waiting
        yield* first.within(Effect.raceFirst(Runs.interrupt("r", ann), world.death))
        yield* first.end
        yield* world.next
        const second = yield* process
        const { ends, notUndone, state, undone } = yield* second.within(
          Effect.zipRight(Effect.flip(Runs.await("r", ann)), told)
        )
        yield* second.end
        assert.deepStrictEqual(
          { ends, notUndone, state, undone },
          {
            ends: 1,
            notUndone: ["two"],
            state: "interrupted",
            undone: [
              ["two", true],
              ["one", false]
            ]
          },
          `ended at ${dieAt}`
        )
        assert.deepStrictEqual(
          world.done.filter((what) => !what.startsWith("model")),
          ["one a", "two b", "undo two b #b 86400000", "undo one a #a 86400000"],
          `ended at ${dieAt}`
        )
      }
    }).pipe(Effect.scoped)
  )

  it.live("a run that reached its time limit does not go on in another process", () =>
    Effect.gen(function* () {
      const client = yield* CutRuns.database
      // The first process ends at the compensation.
      const world = new CutRuns.World(4)
      let waits = 0
      const wait = Tool.make("wait", {
        description: "Waits once",
        timeout: "1 hour",
        idempotent: true,
        handler: () => (waits++ === 0 ? Effect.never : Effect.succeed("waited"))
      })
      const agent = Agent.make("a", {
        system: "a",
        limits: { timeout: "300 millis" },
        tools: [book(world, "one", { idempotent: true }), wait]
      })
      const model = CutRuns.modelOf(world, (_request, number) =>
        number === 0 ? call(["one", { place: "a" }]) : number === 1 ? call(["wait", {}]) : say("done")
      )
      const process = DurableProcesses.start(client, { agents: [agent] }, model)
      const first = yield* process
      yield* first.within(Runs.start({ agent: "a", input: "go", runId: "r", ...ann }))
      yield* world.death
      yield* first.end
      yield* world.next
      const second = yield* process
      const error = yield* second.within(Effect.flip(Runs.await("r", ann)))
      yield* second.end
      assert.strictEqual(error._tag === "RunFailedError" ? error.error.tag : error._tag, "RunLimitExceededError")
      assert.deepStrictEqual(
        world.done.filter((what) => !what.startsWith("model")),
        ["one a", "undo one a #a 86400000"]
      )
      assert.strictEqual(waits, 1)
    }).pipe(Effect.scoped)
  )

  it.live("leave alone what a fork has taken from its run", () =>
    Effect.gen(function* () {
      const client = yield* CutRuns.database
      const world = new CutRuns.World()
      const agent = Agent.make("a", {
        system: "a",
        tools: [book(world, "one", { idempotent: true }), book(world, "two", { idempotent: true }), refuse(world)]
      })
      const model = CutRuns.modelOf(world, ({ messages }, number) => {
        if (number === 0) return call(["one", { place: "a" }])
        const isFork = JSON.stringify(messages).includes("zebra")
        return number === 1 && isFork ? call(["two", { place: "b" }]) : isFork ? call(["refuse", {}]) : say("done")
      })
      const { within } = yield* DurableProcesses.start(client, { agents: [agent] }, model)
      yield* within(Runs.start({ agent: "a", input: "go", runId: "r", ...ann }))
      yield* within(Runs.await("r", ann))
      const { runId } = yield* within(Runs.fork("r", { step: 1, changes: { input: "zebra" }, ...ann }))
      yield* within(Effect.flip(Runs.await(runId, ann)))
      assert.deepStrictEqual(
        world.done.filter((what) => !what.startsWith("model")),
        ["one a", "two b", "refuse", "undo two b #b 86400000"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("report a call of which nobody knows whether it had its effect, unless its probe does", () =>
    Effect.gen(function* () {
      for (const known of [false, true]) {
        const client = yield* CutRuns.database
        // The first process ends while the tool runs.
        const world = new CutRuns.World(2)
        const pay = Tool.make("pay", {
          description: "Pays",
          parameters,
          handler: ({ place }) => world.call(`pay ${place}`, Effect.succeed(`#${place}`)),
          ...(known ? { outcome: () => Effect.succeedSome("#found") } : {}),
          compensate: (_params, id) => world.call(`undo ${id}`, Effect.void)
        })
        const agent = Agent.make("a", { system: "a", tools: [pay, refuse(world)] })
        const model = CutRuns.modelOf(world, (_request, number) =>
          number === 0 ? call(["pay", { place: "a" }]) : call(["refuse", {}])
        )
        const process = DurableProcesses.start(client, { agents: [agent] }, model)
        const first = yield* process
        yield* first.within(Runs.start({ agent: "a", input: "go", runId: "r", ...ann }))
        yield* world.death
        yield* first.end
        yield* world.next
        const second = yield* process
        const { notUndone, undone } = yield* second.within(Effect.zipRight(Effect.flip(Runs.await("r", ann)), told))
        yield* second.end
        assert.deepStrictEqual([notUndone, undone], known ? [[], [["pay", false]]] : [["pay"], [["pay", true]]])
        assert.strictEqual(world.done.includes("undo #found"), known)
      }
    }).pipe(Effect.scoped)
  )

  it.live("report calls of a tool that the next process no longer has", () =>
    Effect.gen(function* () {
      const client = yield* CutRuns.database
      const world = new CutRuns.World(3)
      const plain = Tool.make("one", {
        description: "Books one",
        parameters,
        success,
        idempotent: true,
        handler: () => Effect.succeed({ id: "", at })
      })
      const model = CutRuns.modelOf(world, (_request, number) =>
        number === 0 ? call(["one", { place: "a" }]) : call(["refuse", {}])
      )
      const agent = (tool: Tool.Any) => Agent.make("a", { system: "a", tools: [tool, refuse(world)] })
      const start = (tool: Tool.Any) => DurableProcesses.start(client, { agents: [agent(tool)] }, model)
      const first = yield* start(book(world, "one", { idempotent: true }))
      yield* first.within(Runs.start({ agent: "a", input: "go", runId: "r", ...ann }))
      yield* world.death
      yield* first.end
      yield* world.next
      const second = yield* start(plain)
      const { notUndone } = yield* second.within(Effect.zipRight(Effect.flip(Runs.await("r", ann)), told))
      yield* second.end
      assert.deepStrictEqual(notUndone, ["one"])
    }).pipe(Effect.scoped)
  )
})

const RUNS = Number(process.env["DURABLE_CRASH_RUNS"] ?? 1)
const BOOKINGS = 6

describe("compensations of a durable run whose process is killed", () => {
  it.scopedLive(
    `run once each, in reverse order, and the record names those that nobody knows of: ${RUNS} runs`,
    () =>
      Effect.gen(function* () {
        const folder = yield* SqliteDrivers.folder
        const random = SeededRandom.make(Number(process.env["DURABLE_CRASH_SEED"] ?? 11))
        const program = yield* Bundle.make("UndoingAgent")
        let kills = 0
        for (let number = 0; number < RUNS; number++) {
          const effects = `${folder}/effects-${number}.txt`
          Fs.writeFileSync(effects, "")
          const input: Input = { file: `${folder}/runs.db`, effects, runId: `run-${number}`, bookings: BOOKINGS }
          for (let left = 2; left > 0; left--) {
            yield* Effect.scoped(
              Effect.gen(function* () {
                const process = yield* Programs.start(program, input)
                if ((yield* process.hear) !== "undoing") return
                yield* Effect.sleep(random.below(8))
                yield* process.kill()
                kills++
              })
            )
          }
          const last = yield* Programs.start(program, input)
          const end = (yield* last.rest).at(-1) as { readonly error: string; readonly notUndone: ReadonlyArray<string> }
          assert.strictEqual(end.error, "Refused")
          const done = Fs.readFileSync(effects, "utf8").trim().split("\n")
          const booked = Array.from({ length: BOOKINGS }, (_, at) => `book ${at}`)
          assert.deepStrictEqual(done.slice(0, BOOKINGS), booked)
          const undone = done.slice(BOOKINGS)
          const inReverse = Array.from(
            { length: BOOKINGS },
            (_, at) => `undo ${BOOKINGS - 1 - at} #${BOOKINGS - 1 - at}`
          )
          // One that was cut off may have been done, or not yet.
          const unknown = end.notUndone.map((id) => `undo ${id.slice(1)} #${id.slice(1)}`)
          assert.deepStrictEqual(
            undone.filter((what) => !unknown.includes(what)),
            inReverse.filter((what) => !unknown.includes(what))
          )
          assert.strictEqual(new Set(undone).size, undone.length, "none twice")
          assert.isAtMost(unknown.length, 2)
        }
        assert.isAtLeast(kills, RUNS)
      }),
    600_000
  )
})

/** Runs whose process ends at a call of their model or of a tool, beside the same run undisturbed. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import type * as AgentDefinition from "../../src/agent/definition/AgentDefinition.js"
import type { RunPolicy } from "../../src/agent/record/RunPolicy.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import type { LlmError } from "../../src/llm/model/LlmError.js"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as DurableProcesses from "./DurableProcesses.js"

const dead: Effect.Effect<never> = Effect.interruptible(Effect.never)

/** What outlives processes: the calls that ended, and the one at which the process ends. */
export class World {
  readonly done: Array<string> = []
  /** Calls that ended a second time: the process ended before the first end was recorded. */
  again = 0
  private readonly ended = new Set<string>()
  private calls = 0
  private isDead = false
  /** Calls of the model that this process has begun. */
  models = 0
  private readonly died = Deferred.unsafeMake<void>(FiberId.none)

  /** The number of calls and ends of operations so far. */
  get begun(): number {
    return this.calls
  }

  constructor(private readonly dieAt: number = Number.POSITIVE_INFINITY) {}

  /** Completes when the process has reached the call at which it ends. */
  readonly death: Effect.Effect<void> = Deferred.await(this.died)

  /** Another process begins. */
  readonly next: Effect.Effect<void> = Effect.sync(() => {
    this.isDead = false
    this.models = 0
  })

  /** Counts; a process that has ended does nothing more, whatever finalizers it has. */
  private readonly lives = (): boolean => {
    if (this.isDead) return false
    if (++this.calls !== this.dieAt) return true
    this.isDead = true
    Deferred.unsafeDone(this.died, Effect.void)
    return false
  }

  private end(what: string, key: string | undefined): void {
    if (key === undefined || !this.ended.has(key)) this.done.push(what)
    else this.again++
    if (key !== undefined) this.ended.add(key)
  }

  /** A call: it is done once it has ended. One with a key may run again, and is done once. */
  readonly call = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>, key?: string): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      if (what.startsWith("model") && !this.isDead) this.models++
      return this.lives()
        ? Effect.onExit(effect, (exit) =>
            Effect.sync(() => {
              if (Exit.isSuccess(exit) || !Cause.isInterrupted(exit.cause)) this.end(what, key)
            })
          )
        : dead
    })

  /** An operation that the process may begin and not hear the end of. */
  readonly operation = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() =>
      this.isDead ? dead : Effect.flatMap(effect, (value) => (this.lives() ? Effect.succeed(value) : dead))
    )

  /** A tool that may run again, and returns its number. */
  readonly tool = (name: string, options: { readonly retries?: number } = {}) =>
    Tool.make(name, {
      description: `Does ${name}`,
      idempotent: true,
      ...options,
      handler: (_, { idempotencyKey }) => this.call(name, Effect.succeed(`${name} done`), idempotencyKey)
    })
}

/** Answers a request of the run; `number` counts the results of tools that it has. */
export type Answer = (request: LlmClient.LlmRequest, number: number) => LlmClient.LlmResponse | LlmError

export const modelOf = (world: World, answer: Answer): LlmClient.Service => ({
  provider: "test",
  model: "m",
  complete: (request) => {
    const results = request.messages.filter(({ role }) => role === "tool").length
    const answered = answer(request, results)
    return world.call(`model ${results}`, "_tag" in answered ? Effect.fail(answered) : Effect.succeed(answered))
  }
})

/** A run and what its processes share besides the database. */
export interface Scenario<Shared = unknown> {
  readonly shared: (world: World) => Effect.Effect<Shared, never, Scope.Scope>
  readonly agents: (world: World, shared: Shared) => ReadonlyArray<AgentDefinition.Any>
  readonly model: (world: World, shared: Shared) => LlmClient.Service
  readonly executor?: (
    ports: DurableProcesses.Ports,
    shared: Shared
  ) => Layer.Layer<AgentExecutor.AgentExecutor, any, any>
  readonly request?: { readonly sessionId?: string; readonly input?: string; readonly policy?: RunPolicy }
  /** Runs beside the run, in each process. */
  readonly beside?: Effect.Effect<never, unknown, DurableProcesses.Services>
  /** The time between the two processes. */
  readonly pause?: Duration.DurationInput
  /** Happens between the two processes. */
  readonly between?: (shared: Shared) => void
  /** What is compared besides the end and the calls. */
  readonly look?: (shared: Shared) => Effect.Effect<unknown>
}

/** A failure without what differs from run to run. */
const factsOf = (failure: unknown): unknown => {
  const { agentName, budgetType, current, limit, limitType, message, used, _tag } = failure as Record<string, unknown>
  return { _tag, agentName, budgetType, current, limit, limitType, message, used }
}

export interface Ended {
  readonly end: unknown
  readonly done: ReadonlyArray<string>
  readonly looked: unknown
}

/** Model calls that are recorded in all runs. */
const recorded = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ readonly calls: number }>`SELECT COUNT(*) AS calls FROM lex_workflow_activities WHERE name LIKE 'llm%'`,
    ([row]) => Number(row?.calls)
  )
)

/** Another database with its client, which processes share. */
export const database: Effect.Effect<Layer.Layer<SqlClient.SqlClient>, never, Scope.Scope> = Effect.map(
  Layer.build(Layer.orDie(Layer.provideMerge(Migrations.layer, SqliteClient.layer({ file: ":memory:" })))),
  Layer.succeedContext
)

interface Counted {
  /** Calls of tools that were made again. */
  readonly again: number
  /** Calls and operations. */
  readonly calls: number
  /** Calls of the model that the last process made. */
  readonly asked: number
  /** Those that were recorded before it began. */
  readonly known: number
}

/** Runs the scenario; its process ends at the call with the number `dieAt`, and another one goes on. */
const runOn = <Shared>(
  client: Layer.Layer<SqlClient.SqlClient>,
  scenario: Scenario<Shared>,
  dieAt: number,
  runId: string
): Effect.Effect<Ended & Counted> =>
  Effect.gen(function* () {
    const before = yield* Effect.provide(recorded, client)
    let known = 0
    const world = new World(dieAt)
    const shared = yield* scenario.shared(world)
    const agents = scenario.agents(world, shared)
    const { executor, request } = scenario
    const process = DurableProcesses.start(
      client,
      { agents },
      scenario.model(world, shared),
      executor === undefined
        ? (ports) => Agents.layerWith({ log: ports, steering: ports, approvals: ports })
        : (ports) => executor(ports, shared)
    )
    const agent = agents[0]?.name ?? ""
    const begin = Runs.start({ agent, input: "go", runId, ...request, ...DurableProcesses.ann })
    const ended = Effect.match(Runs.await(runId, DurableProcesses.ann), {
      onFailure: (error) => factsOf(error._tag === "RunFailedError" ? (error.cause ?? error.error) : error),
      onSuccess: ({ message, toolCalls, usage }) => ({
        message,
        usage,
        toolCalls: toolCalls.map(({ name, observation }) => [name, observation])
      })
    })
    const first = yield* process
    const beside = scenario.beside === undefined ? Effect.never : Effect.orDie(scenario.beside)
    const begun = yield* first.within(
      Effect.zipRight(begin, Effect.raceFirst(Effect.raceFirst(ended, beside), world.death))
    )
    yield* first.end
    let end: unknown = begun
    if (end === undefined) {
      yield* Effect.sleep(scenario.pause ?? 0)
      yield* world.next
      scenario.between?.(shared)
      known = (yield* Effect.provide(recorded, client)) - before
      const second = yield* process
      end = yield* second.within(Effect.raceFirst(ended, beside))
      yield* second.end
    }
    const looked = scenario.look === undefined ? undefined : yield* scenario.look(shared)
    const { again } = world
    return { end, done: world.done.toSorted(), looked, again, calls: world.begun, asked: world.models, known }
  }).pipe(Effect.orDie, Effect.scoped)

/** As `everywhere` does, once. */
export const run = <Shared>(scenario: Scenario<Shared>, dieAt: number) =>
  Effect.scoped(Effect.flatMap(database, (client) => runOn(client, scenario, dieAt, "run")))

/** Cuts of one scenario; `DURABLE_CUTS` raises it. */
const MOST = Number(process.env["DURABLE_CUTS"] ?? 3)

/** The calls at which runs are cut off: the first, the last and some between. */
const cutsOf = (calls: number, most: number): ReadonlyArray<number> =>
  calls <= most
    ? Array.from({ length: calls }, (_, at) => at + 1)
    : Array.from({ length: most }, (_, at) => 1 + Math.round((at * (calls - 1)) / (most - 1)))

export interface Cut extends Ended {
  readonly at: number
  /** Calls of tools that were made again. */
  readonly again: number
  /** Recorded calls of the model that were made again. */
  readonly repeated: number
}

/** The scenario undisturbed, and cut off at some of its calls. */
export const everywhere = <Shared>(
  scenario: Scenario<Shared>,
  cuts: number | ((calls: number) => ReadonlyArray<number>) = MOST
): Effect.Effect<{ readonly expected: Ended; readonly cut: ReadonlyArray<Cut> }> =>
  Effect.gen(function* () {
    const client = yield* database
    const undisturbed = yield* runOn(client, scenario, Number.POSITIVE_INFINITY, "run-0")
    const { again: _, asked, calls, known: __, ...expected } = undisturbed
    const cut: Array<Cut> = []
    for (const at of typeof cuts === "number" ? cutsOf(calls, cuts) : cuts(calls)) {
      const one = yield* runOn(client, scenario, at, `run-${cut.length + 1}`)
      const { again, done, end, looked } = one
      cut.push({ done, end, looked, at, again, repeated: one.known + one.asked - asked })
    }
    return { expected, cut }
  }).pipe(Effect.scoped)

/** Calls of tools that may run beside the one at which a process ends. */
const BESIDE = 1

/** Fails unless every cut run has ended as the undisturbed one. */
export const assertSame = ({ cut, expected }: Effect.Effect.Success<ReturnType<typeof everywhere>>): void => {
  for (const { again, at, done, end, looked } of cut) {
    assert.isAtMost(again, BESIDE, `cut off at ${at}`)
    assert.strictEqual(JSON.stringify({ end, done, looked }), JSON.stringify(expected), `cut off at ${at}`)
  }
}

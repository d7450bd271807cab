import type { SqlClient } from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as AgentWorkflow from "../../src/durable/AgentWorkflow.js"
import { WorkflowJournal } from "../../src/durable/engine/WorkflowJournal.js"
import * as Governance from "../../src/governance/Governance.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as SqlBackends from "../support/SqlBackends.js"
import * as DurableProcesses from "./DurableProcesses.js"
import { ann, asked, call, say, untilAsleep } from "./DurableProcesses.js"

/** A world that outlives processes: what the model was asked, and what the tools did. */
class World {
  readonly asked: Array<string> = []
  readonly effects: Array<string> = []
  /** The process ends at this call of the model or of a tool, from 1. */
  dieAt = Number.POSITIVE_INFINITY
  private calls = 0
  died: Deferred.Deferred<void> | undefined

  readonly reach = (what: string, done: ReadonlyArray<string>): Effect.Effect<void> =>
    Effect.suspend(() => {
      this.calls++
      if (this.calls === this.dieAt && this.died !== undefined) {
        return Effect.zipRight(Deferred.succeed(this.died, undefined), Effect.never)
      }
      ;(done as Array<string>).push(what)
      return Effect.void
    })

  readonly model: LlmClient.Service = {
    provider: "test",
    model: "m",
    complete: ({ messages }) => {
      const [system] = messages
      const who = JSON.stringify(system?.content ?? "").slice(1, 4)
      const results = messages.filter(({ role }) => role === "tool").length
      const last = JSON.stringify(messages.at(-1)?.content)
      const answer =
        who === "top"
          ? results > 0
            ? say(`top: ${last}`)
            : call(["delegate_to_mid", { message: "go" }], ["count", { by: 2 }])
          : who === "mid"
            ? results > 0
              ? say(`mid: ${last.length > 0}`)
              : call(["delegate_to_low", { message: "pay" }])
            : results > 0
              ? say(`low: ${last.includes("42")}`)
              : call(["pay", { amount: 41 }])
      return Effect.as(this.reach(`${who} ${results}`, this.asked), answer)
    }
  }

  private readonly pay = Tool.make("pay", {
    description: "Pays",
    parameters: { amount: Schema.Number },
    idempotent: true,
    requiresApproval: true,
    handler: ({ amount }) => Effect.as(this.reach(`pay ${amount}`, this.effects), `paid ${amount}`)
  })
  private readonly count = Tool.make("count", {
    description: "Counts",
    parameters: { by: Schema.Number },
    idempotent: true,
    handler: ({ by }) => Effect.as(this.reach(`count ${by}`, this.effects), by)
  })
  private readonly low = Agent.make("low", { system: "low", tools: [this.pay] })
  private readonly mid = Agent.make("mid", { system: "mid", tools: [AgentTool.make(this.low)] })
  maxModelCalls = 6

  get top() {
    return Agent.make("top", { system: "top", tools: [AgentTool.make(this.mid), this.count] }).pipe(
      Agent.withLimits({ maxModelCalls: this.maxModelCalls, maxToolCalls: 10 })
    )
  }
}

/** What processes share besides the database. */
const shared = () => ({ governance: Collaborators.governance(), sessions: Collaborators.sessions() })

type Start = (
  world: World,
  client: Layer.Layer<SqlClient>,
  common: ReturnType<typeof shared>
) => ReturnType<typeof DurableProcesses.start>

const starting =
  (ports?: DurableProcesses.Ports): Start =>
  (world, client, { governance, sessions }) =>
    DurableProcesses.start(
      client,
      { agents: [world.top] },
      world.model,
      (ports) =>
        Agents.layerWith({
          log: ports,
          steering: ports,
          approvals: ports,
          sessions: sessions.layer,
          governance: Layer.succeed(Governance.Governance, governance.service)
        }),
      ports
    )

/** Approves the payment with other arguments, once it waits. */
const approve = Effect.tap(asked, ({ id }) => Runs.answer(id, { _tag: "Approved", params: { amount: 42 } }, ann))

const request = { agent: "top", input: "hello", runId: "run", sessionId: "s", userId: "ann" }

const eventsOf = Effect.flatMap(RunLog.RunLog, (log) => log.read(RunId.make("run"), ann))

/** What readers get of a run, without numbers and times. */
const told = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.map(({ _tag, place }) => `${place} ${_tag}`).sort()

const undisturbed = (client: Layer.Layer<SqlClient>, start: Start) =>
  Effect.gen(function* () {
    const world = new World()
    const common = shared()
    const process = yield* start(world, client, common)
    const seen = yield* process.within(
      Effect.gen(function* () {
        yield* Runs.start(request)
        yield* approve
        const { message, usage } = yield* Runs.await("run", ann)
        return { message, usage, events: told(yield* eventsOf) }
      })
    )
    yield* process.end
    return { ...seen, world, common }
  })

const cases = (backend: SqlBackends.SqlBackend, start: Start): void => {
  it.scopedLive(
    "sleeps through two restarts inside of two agents and a parallel turn, and ends as an undisturbed one",
    () =>
      Effect.gen(function* () {
        const expected = yield* undisturbed(backend.layer, start)
        const world = new World()
        const common = shared()
        const first = yield* start(world, backend.layer, common)
        yield* first.within(Effect.zipRight(Runs.start(request), Effect.zipRight(asked, untilAsleep("run"))))
        yield* first.end
        const second = yield* start(world, backend.kept, common)
        yield* second.within(Effect.zipRight(Runs.resume("run", ann), Effect.zipRight(asked, untilAsleep("run"))))
        yield* second.end
        const third = yield* start(world, backend.kept, common)
        const approved = yield* third.within(approve)
        assert.deepStrictEqual([approved.agent, approved.rootRunId, approved.params], ["low", "run", { amount: 41 }])
        const { message, usage } = yield* third.within(Runs.await("run", ann))
        assert.strictEqual(message, expected.message)
        assert.deepStrictEqual(usage, expected.usage)
        assert.deepStrictEqual(world.effects.toSorted(), ["count 2", "pay 42"])
        assert.deepStrictEqual(world.asked.toSorted(), expected.world.asked.toSorted())
        assert.deepStrictEqual(told(yield* third.within(eventsOf)), expected.events)
        assert.deepStrictEqual(
          common.governance.told.map(({ op }) => op).toSorted(),
          expected.common.governance.told.map(({ op }) => op).toSorted()
        )
        assert.deepStrictEqual(
          common.sessions.turns("s").map(({ content }) => content),
          expected.common.sessions.turns("s").map(({ content }) => content)
        )
        yield* third.end
      })
  )

  it.scopedLive("reaches its limit at the same call as an undisturbed run", () =>
    Effect.gen(function* () {
      const ends: Array<unknown> = []
      for (const dieAt of [Number.POSITIVE_INFINITY, 3, 5]) {
        const world = new World()
        world.maxModelCalls = 5
        const common = shared()
        world.dieAt = dieAt
        world.died = yield* Deferred.make<void>()
        const first = yield* start(world, backend.layer, common)
        const failed = Effect.flip(
          Effect.raceFirst(Runs.await("run", ann), Effect.zipRight(Effect.ignore(approve), Effect.never))
        )
        const begun = yield* first.within(
          Effect.zipRight(Runs.start(request), Effect.raceFirst(failed, Deferred.await(world.died)))
        )
        yield* first.end
        const second = yield* start(world, backend.kept, common)
        const error = begun ?? (yield* second.within(failed))
        yield* second.end
        ends.push([error._tag === "RunFailedError" ? error.error.tag : error._tag, world.asked.toSorted()])
      }
      assert.deepStrictEqual(ends[1], ends[0])
      assert.deepStrictEqual(ends[2], ends[0])
      assert.deepStrictEqual((ends[0] as Array<unknown>)[0], "RunLimitExceededError")
    })
  )

  it.scopedLive("is forked in another process: what its agents did until then is neither asked nor done again", () =>
    Effect.gen(function* () {
      const { common, message, usage, world } = yield* undisturbed(backend.layer, start)
      const turns = common.sessions.turns("s").length
      const asked = [...world.asked]
      const effects = [...world.effects]
      const fork = Runs.fork("run", { step: 1, changes: { runId: "fork", input: "other" }, ...ann })
      world.died = yield* Deferred.make<void>()
      world.dieAt = asked.length + effects.length + 1
      const second = yield* start(world, backend.kept, common)
      const record = yield* second.within(Effect.zipLeft(fork, Deferred.await(world.died)))
      assert.deepStrictEqual([record.forkedFrom?.step, record.sessionId, record.labels], [
        1,
        request.sessionId,
        {}
      ] as const)
      yield* second.end
      const third = yield* start(world, backend.kept, common)
      const response = yield* third.within(Runs.await("fork", ann))
      assert.strictEqual(response.message, message)
      assert.deepStrictEqual(response.usage, usage)
      assert.deepStrictEqual(
        response.toolCalls.map(({ name }) => name),
        ["delegate_to_mid", "count"]
      )
      assert.deepStrictEqual(world.asked, [...asked, "top 1"])
      assert.deepStrictEqual(world.effects, effects)
      assert.lengthOf(common.sessions.turns("s"), turns)
      const unknown = yield* third.within(
        Effect.all([-1, 2, 0.5, Number.NaN].map((step) => Effect.flip(Runs.fork("run", { step, ...ann }))))
      )
      assert.deepStrictEqual(
        unknown.map(({ reason }) => reason),
        ["invalid", "invalid", "invalid", "invalid"]
      )
      assert.strictEqual(
        (yield* third.within(Effect.flip(Runs.fork("run", { step: 1, userId: "bob" })))).reason,
        "unknown-run"
      )
      yield* third.within(
        Effect.flatMap(AgentWorkflow.executionOf("run"), (id) =>
          Effect.flatMap(WorkflowJournal, (journal) => journal.erase([id]))
        )
      )
      assert.strictEqual((yield* third.within(Effect.flip(Runs.fork("run", { step: 1, ...ann })))).reason, "invalid")
      yield* third.end
    })
  )

  it.scopedLive("ends as an undisturbed run, wherever it was cut off", () =>
    Effect.gen(function* () {
      const expected = yield* undisturbed(backend.layer, start)
      for (let dieAt = 1; dieAt <= 8; dieAt++) {
        const world = new World()
        const common = shared()
        world.dieAt = dieAt
        world.died = yield* Deferred.make<void>()
        const first = yield* start(world, backend.layer, common)
        yield* first.within(
          Effect.raceFirst(
            Effect.zipRight(Runs.start(request), Effect.zipRight(approve, Effect.never)),
            Deferred.await(world.died)
          )
        )
        yield* first.end
        const second = yield* start(world, backend.kept, common)
        const { message, usage } = yield* second.within(
          Effect.raceFirst(Runs.await("run", ann), Effect.zipRight(Effect.ignore(approve), Effect.never))
        )
        const where = `cut off at call ${dieAt}`
        assert.strictEqual(message, expected.message, where)
        assert.deepStrictEqual(usage, expected.usage, where)
        assert.deepStrictEqual(world.asked.toSorted(), expected.world.asked.toSorted(), where)
        assert.deepStrictEqual(world.effects.toSorted(), ["count 2", "pay 42"], where)
        assert.deepStrictEqual(told(yield* second.within(eventsOf)), expected.events, where)
        yield* second.end
      }
    })
  )
}

SqlBackends.suite("a durable run with restarts", (backend) => cases(backend, starting()))

SqlBackends.suite("a durable run with restarts in a cluster", (backend) =>
  cases(backend, starting(DurableCluster.layerSingle({ shards: 4, poll: "20 millis", drain: "50 millis" })))
)

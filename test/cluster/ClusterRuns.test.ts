import * as Sharding from "@effect/cluster/Sharding"
import { it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agents from "../../src/agent/Agents.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import * as DurableRuns from "../../src/durable/DurableRuns.js"
import * as RunsCase from "../../src/testing/runs/RunsCase.js"
import * as RunsSuite from "../../src/testing/runs/RunsSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"

const cases = RunsSuite.cases({ resume: true, fork: true })

// These wait for deltas by turns of the event loop, and a server answers after more of them.
const countsTurns = /deltas as they come|comes late the whole text|breaks off while the run goes on/

/** The cluster has a clock that goes on, and its runs that of the case. */
const live = <A, E, R>(layer: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.scopedContext(Effect.withClock(Layer.build(layer), Clock.make()))

const ready = Layer.effectDiscard(
  Effect.flatMap(Sharding.Sharding, (sharding) =>
    Effect.repeat(Effect.sleep("5 millis"), {
      until: () => sharding.hasShardId(sharding.getShardId("a" as never, "default"))
    })
  )
)

SqlBackends.suite("DurableRuns as Runs in a cluster", (backend) => {
  const onCluster = ({ agents, model }: RunsSuite.Given) => {
    const ports = live(
      Layer.provideMerge(ready, DurableCluster.layerSingle({ shards: 1, poll: "20 millis", drain: "20 millis" })).pipe(
        Layer.provide(backend.layer)
      )
    )
    const executor = Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports }), model)
    return DurableRuns.layer({ agents, poll: "1 hour" }).pipe(Layer.provide(executor), Layer.provideMerge(ports))
  }
  for (const one of cases) {
    if (backend.dialect === "postgres" && countsTurns.test(one.name)) continue
    it(one.name, () => Effect.runPromise(RunsSuite.check(one, onCluster)))
  }

  it("closes while a run is at work, whatever the clock of whoever closes it", () => {
    const atWork = RunsCase.make("at work", function* (stage) {
      yield* RunsCase.start(stage, "work", { runId: "w" })
      yield* RunsCase.atWork(stage)
    })
    return Effect.runPromise(RunsSuite.check(atWork, onCluster))
  })
})

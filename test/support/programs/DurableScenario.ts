/** Runs one of the scenarios of kills in a SQLite file until it is killed or has ended. Its calls go to a file. */
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Agents from "../../../src/agent/Agents.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as Durable from "../../../src/durable/Durable.js"
import * as DurableRuns from "../../../src/durable/DurableRuns.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as KillScenarios from "../../durable/KillScenarios.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly file: string
  readonly journal: string
  readonly scenario: string
  readonly runId: string
}

const ann = { userId: "ann" }

const short = (what: string): string => {
  const [kind = ""] = what.split(" ")
  return kind === "model" ? `model ${createHash("sha256").update(what).digest("hex").slice(0, 16)}` : what
}

const approving = Effect.forever(
  Effect.gen(function* () {
    const pending = yield* PendingApprovals.PendingApprovals
    for (const { request } of yield* pending.list(ann)) {
      yield* Effect.ignore(Runs.answer(request.id, { _tag: "Approved" }, ann))
    }
    yield* Effect.sleep("10 millis")
  })
)

Programs.main<Input>(({ input, say }) => {
  const scenario = KillScenarios.scenarios.find(({ name }) => name === input.scenario)
  if (scenario === undefined) return Effect.dieMessage(`no scenario ${input.scenario}`)
  const world: KillScenarios.World = {
    call: (what, effect) =>
      Effect.sync(() => Fs.appendFileSync(input.journal, `${input.runId} ${short(what)}\n`)).pipe(
        Effect.zipRight(say("working")),
        Effect.zipRight(Effect.sleep("2 millis")),
        Effect.zipRight(effect)
      )
  }
  const ports = Durable.layerSqlite({ file: input.file, driver: "libsql", lease: "300 millis", poll: "20 millis" })
  const runs = DurableRuns.layer({
    agents: [scenario.agent(world)],
    poll: "20 millis"
  } as DurableRuns.Options<any>).pipe(
    Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports })),
    Layer.provideMerge(ports),
    Layer.provide(Layer.succeed(LlmClient.LlmClient, scenario.model(world)))
  ) as Layer.Layer<Runs.Runs | Durable.Ports>
  const { input: asked, name } = scenario
  return Effect.gen(function* () {
    yield* Runs.start({ agent: "sample", input: asked, runId: input.runId, ...ann })
    const ended = Effect.exit(Runs.await(input.runId, ann))
    const exit = yield* scenario.approves === true ? Effect.raceFirst(ended, Effect.orDie(approving)) : ended
    yield* say({
      name,
      end: Exit.isSuccess(exit)
        ? JSON.stringify([
            exit.value.message,
            exit.value.usage,
            exit.value.toolCalls.map(({ observation }) => observation)
          ])
        : String(exit.cause).slice(0, 300)
    })
  }).pipe(Effect.provide(runs))
})

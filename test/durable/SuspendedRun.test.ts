import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as SuspendedRun from "../../src/durable/SuspendedRun.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as ExactJson from "../../src/persistence/engine/ExactJson.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Elicitation from "../../src/tool/Elicitation.js"
import { call, say } from "./DurableProcesses.js"

/** An agent whose helper pays twice, each time with an approval, and asks a question. */
const world = () => {
  const paid: Array<number> = []
  let asks = 0
  const pay = Tool.make("pay", {
    description: "Pays",
    parameters: { amount: Schema.Number },
    requiresApproval: true,
    handler: ({ amount }) => Effect.sync(() => `paid ${paid.push(amount)}`)
  })
  const row = Tool.make("row", {
    description: "Asks for a row",
    idempotent: true,
    handler: () =>
      Effect.map(Elicitation.ask({ message: "Which row?", schema: Schema.Struct({ row: Schema.Int }) }), (answer) =>
        answer._tag === "accept" ? `row ${answer.content.row}` : answer._tag
      ).pipe(Effect.orDie)
  })
  const clerk = Agent.make("clerk", { system: "clerk", tools: [pay, row] })
  const boss = Agent.make("boss", { system: "boss", tools: [AgentTool.make(clerk)] })
  const model: LlmClient.Service = {
    provider: "test",
    model: "m",
    complete: ({ messages }) =>
      Effect.sync(() => {
        asks++
        const results = messages.flatMap(({ content, role }) => (role === "tool" ? content : [])).length
        if (JSON.stringify(messages[0]?.content).includes("boss")) {
          return results === 0 ? call(["delegate_to_clerk", { message: "pay" }]) : say("all paid")
        }
        if (results === 0) return call(["pay", { amount: 1 }], ["pay", { amount: 2 }])
        return results === 2 ? call(["row", {}]) : say("paid")
      })
  }
  /** A process of its own: nothing but the world is shared. */
  const runner = () =>
    SuspendedRun.make({
      agents: [boss],
      executor: (ports) =>
        Layer.provide(
          Agents.layerWith({ log: ports, steering: ports, approvals: ports }),
          Layer.succeed(LlmClient.LlmClient, model)
        )
    })
  return { runner, paid, asks: () => asks }
}

const request = { agent: "boss", input: "go", userId: "ann", runId: "run" }

const waiting = (progress: SuspendedRun.Progress) => {
  if (progress._tag !== "Waiting") throw new Error(`The run ended: ${progress.response.message}`)
  return progress
}

const approved = { _tag: "Approved" } as const

const amountOf = ({ request }: Extract<SuspendedRun.Progress, { _tag: "Waiting" }>["requests"][number]): number =>
  (request.params as { readonly amount: number }).amount

it.live("goes on from a text, one answer after the other, and does nothing twice", () =>
  Effect.gen(function* () {
    const { asks, paid, runner } = world()
    const first = waiting(yield* runner().start(request))
    // Two calls of one turn ask in any order.
    const requests = first.requests.toSorted((one, other) => amountOf(one) - amountOf(other))
    assert.deepStrictEqual(
      requests.map(({ request }) => [request.rootRunId, request.tool, request.params]),
      [
        ["run", "pay", { amount: 1 }],
        ["run", "pay", { amount: 2 }]
      ]
    )
    assert.deepStrictEqual([paid, asks()], [[], 2])
    const [one, two] = requests.map(({ request }) => request.id) as [string, string]
    const same = waiting(yield* runner().resume(first.state, {}))
    assert.deepStrictEqual([same.requests.length, paid, asks()], [2, [], 2])
    const second = waiting(yield* runner().resume(same.state, { [two]: { _tag: "Approved", params: { amount: 20 } } }))
    assert.deepStrictEqual([second.requests.map(({ request }) => request.id), paid], [[one], [20]])
    const third = waiting(yield* runner().resume(second.state, { [one]: approved }))
    const [question] = third.requests.map(({ request }) => request)
    assert.deepStrictEqual([paid, asks(), question?.tool], [[20, 1], 3, "row"])
    const last = yield* runner().resume(third.state, {
      [question?.id ?? ""]: { _tag: "Approved", params: { row: 7 } }
    })
    if (last._tag !== "Ended") throw new Error("The run still waits")
    assert.deepStrictEqual([last.response.message, paid, asks()], ["all paid", [20, 1], 5])
  })
)

it.live("keeps a state valid: another answer is another course", () =>
  Effect.gen(function* () {
    const { paid, runner } = world()
    const { requests, state } = waiting(yield* runner().start(request))
    const ids = requests.map(({ request }) => request.id)
    yield* runner().resume(state, Object.fromEntries(ids.map((id) => [id, approved])))
    assert.lengthOf(paid, 2)
    yield* runner().resume(state, Object.fromEntries(ids.map((id) => [id, { _tag: "Denied" } as const])))
    assert.lengthOf(paid, 2)
  })
)

it.live("refuses states and answers that do not fit", () =>
  Effect.gen(function* () {
    const { paid, runner } = world()
    const { requests, state } = waiting(yield* runner().start(request))
    const reason = (state: string, answers: SuspendedRun.Answers) =>
      Effect.match(runner().resume(state, answers), {
        onFailure: (error) => (error._tag === "RunError" ? error.reason : error._tag),
        onSuccess: ({ _tag }) => _tag
      })
    assert.strictEqual(yield* reason(state, { stranger: approved }), "not-waiting")
    const changed = (change: (state: any) => void): string => {
      const decoded: any = ExactJson.decode(state)
      change(decoded)
      return ExactJson.encode(decoded)
    }
    const id = requests[0]?.request.id ?? ""
    for (const [what, text] of [
      ["nothing", ""],
      ["no JSON", "{"],
      ["no state", "{}"],
      ["half a state", state.slice(0, state.length / 2)],
      ["another version", changed((state) => (state.version = 2))],
      ["no rows", changed((state) => delete state.rows.lex_runs)],
      ["a table that is none of a run", changed((state) => (state.rows.lex_sessions = [{ id: "s" }]))],
      [
        "a column that is none",
        changed((state) => (state.rows.lex_runs[0]["x) VALUES (1); DROP TABLE lex_runs; --"] = 1))
      ],
      ["the same row twice", changed((state) => state.rows.lex_runs.push(state.rows.lex_runs[0]))]
    ] as const) {
      assert.strictEqual(yield* reason(text, { [id]: approved }), "invalid", what)
    }
    assert.deepStrictEqual(paid, [])
  })
)

it.live("ends where nobody is asked, and fails as the run does", () =>
  Effect.gen(function* () {
    const fails = SuspendedRun.make({
      agents: [Agent.make("a")],
      executor: (ports) =>
        Layer.provide(
          Agents.layerWith({ log: ports }),
          Layer.succeed(LlmClient.LlmClient, {
            provider: "test",
            model: "m",
            complete: ({ messages }) =>
              JSON.stringify(messages).includes("fail") ? Effect.die("a bug") : Effect.succeed(say("done"))
          })
        )
    })
    const ended = yield* fails.start({ agent: "a", input: "go" })
    assert.deepStrictEqual(ended._tag === "Ended" && ended.response.message, "done")
    const failure = yield* Effect.flip(fails.start({ agent: "a", input: "fail" }))
    assert.strictEqual(failure._tag, "RunFailedError")
    const unknown = yield* Effect.flip(fails.start({ agent: "b", input: "go" }))
    assert.strictEqual(unknown._tag === "RunError" && unknown.reason, "unknown-agent")
  })
)

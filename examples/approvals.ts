/**
 * A tool that requires approval: rules allow small payments, and a larger one waits until it is answered from outside
 * the run, with other arguments. The paying agent works for another one; its request appears in the stream of the top
 * run.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, Agents, AgentTool, ApprovalPolicy, Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"
import { PendingApprovals } from "effect-lexigram/tool"

const pay = Tool.make("pay", {
  description: "Pays a bill",
  parameters: { bill: Schema.String, euros: Schema.Int.pipe(Schema.positive()) },
  success: Schema.String,
  requiresApproval: true,
  handler: ({ bill, euros }) => Effect.succeed(`${bill}: paid ${euros} euros`)
})

const clerk = Agent.make("clerk", { system: "You pay bills.", tools: [pay] })
const chief = Agent.make("chief", { system: "You run the office.", tools: [AgentTool.make(clerk)] })

const model = TestModel.layer([
  { calls: [{ name: "delegate_to_clerk", params: { message: "Pay the bills for tea and for chairs" } }] },
  {
    calls: [
      { name: "pay", params: { bill: "tea", euros: 12 } },
      { name: "pay", params: { bill: "chairs", euros: 900 } }
    ]
  },
  "Tea is paid, and the chairs in part.",
  "Done."
])

// The waiting room serves both sides: one layer, built once.
const pending = PendingApprovals.layerMemory({ expiresAfter: "2 days" })

const approvals = Layer.provide(
  ApprovalPolicy.layerOver([
    { tools: ["pay"], arguments: [{ pointer: "/euros", max: 50 }], decision: "approve" },
    { tools: ["pay"], decision: "ask", reason: "more than 50 euros" }
  ]),
  pending
)

/** An approver elsewhere, who allows no more than 500 euros. */
const desk = Effect.gen(function* () {
  const { changes } = yield* PendingApprovals.PendingApprovals
  yield* Stream.runForEach(changes(), ({ _tag, record: { request } }) => {
    if (_tag !== "Requested") return Effect.void
    console.log(`desk: ${request.agent} asks for`, request.tool, request.params, `(${request.reason})`)
    return PendingApprovals.approve(request.id, { params: { bill: "chairs", euros: 500 }, by: "the desk" })
  })
})

const program = Effect.gen(function* () {
  yield* Effect.forkScoped(desk)
  yield* Stream.runForEach(AgentExecutor.stream(chief, "Please settle the bills"), (event) =>
    Effect.sync(() => {
      if (event._tag === "ToolResult") console.log(`${event.agent}: ${event.name} -`, event.observation)
      if (event._tag === "Finished") console.log(`${event.agent}: finished`)
    })
  )
})

const layer = Layer.merge(Agents.layerWith({ approvals }).pipe(Layer.provide(model)), pending)

await Effect.runPromise(Effect.scoped(program).pipe(Effect.provide(layer)))

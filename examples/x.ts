import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AgentExecutor, Agents, ApprovalGate, OfflineModel } from "effect-lexigram"
import * as OrderStore from "./demo/OrderStore.js"
import * as SupportAgent from "./demo/SupportAgent.js"

const qs = process.argv.slice(2)
Effect.gen(function* () {
  const agent = SupportAgent.make(yield* OrderStore.shop)
  for (const q of qs) {
    const r = yield* AgentExecutor.run(agent, q)
    console.log("Q", q)
    for (const c of r.toolCalls) console.log("  T", c.name, JSON.stringify(c.params), c.observation?.slice(0, 150))
    console.log("  A", r.message)
  }
}).pipe(
  Effect.provide(
    Layer.merge(
      OrderStore.layer,
      Agents.layerWith({ approvals: ApprovalGate.layerAutoApprove }).pipe(Layer.provide(OfflineModel.layer()))
    )
  ),
  Effect.runPromise
)

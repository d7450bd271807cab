/**
 * Agents over HTTP: a server, its typed client, and a caller that decides what an agent may do. In an application server
 * and client are two programs.
 */
import { createServer } from "node:http"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Agents, RunLog, Steering, Tool } from "effect-lexigram"
import { InMemoryRunStore, LocalRuns } from "effect-lexigram/agent"
import { Ids } from "effect-lexigram/domain"
import { AgentServer, Authentication, GracefulServer } from "effect-lexigram/http"
import { AgentClient } from "effect-lexigram/http/client"
import { TestModel } from "effect-lexigram/testing"
import { PendingApprovals } from "effect-lexigram/tool"

const refund = Tool.make("refund", {
  description: "Refunds an amount in euros",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`refunded ${amount} euros`)
})

const clerk = Agent.make("clerk", { system: "You help at the desk.", tools: [refund] })
const agents = [clerk]

/** Runs of this process. `Durable.layerSqlite` and `DurableRuns.layer` in their place survive it. */
const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const model = TestModel.layer([
  { calls: [{ name: "refund", params: { amount: 500 } }] },
  ({ messages }) => `Done: ${JSON.stringify(messages.at(-1)?.content).includes("refunded 50 euros") ? 50 : 500} euros.`
])
const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), model)
const runs = LocalRuns.layer({ agents }).pipe(
  Layer.provideMerge(Layer.mergeAll(executor, steering, approvals, log, InMemoryRunStore.layer()))
)

/** An application verifies tokens with `layerJwt` or `layerBearer`. */
const key = Redacted.make("a-key-for-this-example")
const callers = Authentication.layerApiKeys({ keys: [{ key, identity: { userId: Ids.UserId.make("ann") } }] })

const server = AgentServer.layer({ agents }).pipe(
  Layer.provide([runs, callers]),
  Layer.provideMerge(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" }))
)

const program = Effect.gen(function* () {
  const baseUrl = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const stranger = yield* AgentClient.make({ baseUrl })
  const refused = yield* Effect.flip(stranger.run({ agent: "clerk", input: "Refund me" }))
  yield* Console.log(`a stranger: ${refused.reason}, ${refused.message}`)

  const client = yield* AgentClient.make({ baseUrl, headers: { "x-api-key": Redacted.value(key) } })
  const request = { agent: "clerk", input: "The lamp is broken. I want 500 euros back." }
  yield* Stream.runForEach(client.stream(request), (event) => {
    switch (event._tag) {
      case "ApprovalRequested":
        return Effect.zipRight(
          Console.log(`asks for ${event.name} ${JSON.stringify(event.params)}`),
          client.api.approvals.decideApproval({
            path: { requestId: event.id },
            payload: { decision: "approve", params: { amount: 50 } }
          })
        )
      case "Message":
        return Console.log(event.text)
      default:
        return Effect.void
    }
  })
  const { runs } = yield* client.api.runs.listRuns({ urlParams: {} })
  yield* Console.log(runs.map(({ agent, state }) => `${agent}: ${state}`).join(", "))
})

Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Layer.merge(server, FetchHttpClient.layer))))

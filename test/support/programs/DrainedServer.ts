/**
 * A server under `NodeRuntime.runMain`. Its model says that an answer has begun, and ends it after `go`, but for
 * `holder`. The server says when it begins to end, and then the states of its runs.
 */
import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as RunStore from "../../../src/agent/record/RunStore.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as AgentServer from "../../../src/http/api/AgentServer.js"
import * as GracefulServer from "../../../src/http/request/GracefulServer.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as AgentServers from "../AgentServers.js"
import * as Programs from "../Programs.js"

Programs.main<Record<string, never>>(
  ({ hear, say }) =>
    Effect.gen(function* () {
      const go = yield* Effect.makeLatch()
      yield* Effect.forkDaemon(Effect.zipRight(hear, go.open))
      const setup: AgentServers.Setup = {
        agents: [Agent.make("teller", { system: "You tell." }), Agent.make("holder", { system: "You hold." })],
        model: Layer.succeed(LlmClient.LlmClient, {
          provider: "test",
          model: "m",
          complete: ({ messages }) =>
            Effect.as(
              Effect.zipRight(say("begun"), JSON.stringify(messages).includes("You hold.") ? Effect.never : go.await),
              { content: [{ type: "text" as const, text: "told" }], finishReason: "stop" as const, usage: {} }
            )
        })
      }
      const http = NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" })
      const scope = yield* Scope.make()
      const context = yield* AgentServer.layer(setup).pipe(
        Layer.provideMerge(Layer.merge(http, AgentServers.services(setup))),
        Layer.buildWithScope(scope)
      )
      const states = SystemAccess.grant(Context.get(context, RunStore.RunStore).list()).pipe(
        Effect.map(({ records }) => Object.fromEntries(records.map(({ agent, state }) => [agent, state])))
      )
      yield* say(yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context))
      return yield* Effect.never.pipe(
        Effect.ensuring(
          Effect.gen(function* () {
            yield* say("ending")
            yield* Scope.close(scope, Exit.void)
            yield* Effect.orDie(Effect.flatMap(states, say))
          })
        )
      )
    }),
  NodeRuntime.runMain
)

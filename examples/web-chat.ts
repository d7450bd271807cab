/**
 * A chat on the web: one page without a build step on the API of agents, with answers as they are written, tool calls,
 * approvals whose arguments a person may change, branches, and reloads in the middle of an answer.
 *
 * With `--serve` it stays: `npx tsx examples/web-chat.ts --serve`. Otherwise it looks at its page and ends.
 */
import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { GracefulServer } from "effect-lexigram/http"
import { TestModel } from "effect-lexigram/testing"
import * as WebChat from "./web-chat/server.js"

/** Stands for a model: it looks up an order, and refunds it if it is asked to. */
const model = TestModel.layer(({ messages }) => {
  const last = messages.at(-1)
  const said = JSON.stringify(last?.content)
  const order = /\d{4}/.exec(said)?.[0] ?? "1047"
  if (last?.role === "user") return { calls: [{ name: "find_order", params: { order } }] }
  const wants = messages.some(({ content, role }) => role === "user" && JSON.stringify(content).includes("refund"))
  if (wants && !/refunded|denied/.test(said)) return { calls: [{ name: "refund", params: { order, euros: 120 } }] }
  const answer = `I looked at the order ${order}: ${said.includes("refunded") ? "the money is on its way." : "it is a lamp for 120 euros."}`
  return { text: answer.split(/(?<= )/), partDelay: "80 millis" }
})

const serves = process.argv.includes("--serve")

const server = WebChat.layer.pipe(
  Layer.provide(model),
  Layer.provideMerge(
    NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: serves ? 3000 : 0, host: "127.0.0.1" })
  )
)

const program = Effect.gen(function* () {
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  yield* Console.log(`the chat is at ${url}`)
  if (serves) return yield* Effect.never
  const page = yield* Effect.promise(async () => (await fetch(url)).text())
  yield* Console.log(`its page: ${/<title>(.*)<\/title>/.exec(page)?.[1]}`)
  const { agents } = yield* Effect.promise(async () => (await fetch(`${url}/v1/agents`)).json())
  yield* Console.log(`it talks to ${agents[0].name}, which has ${agents[0].tools.length} tools`)
})

NodeRuntime.runMain(program.pipe(Effect.scoped, Effect.provide(server)))

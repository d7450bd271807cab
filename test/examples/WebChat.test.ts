import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as WebChat from "../../examples/web-chat/server.js"
import * as GracefulServer from "../../src/http/request/GracefulServer.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Chromium from "../support/Chromium.js"
import * as StagedModel from "../support/StagedModel.js"

/** Starts the chat; `url` is that of its page. */
const served = (answers: StagedModel.Answers) =>
  WebChat.layer.pipe(
    Layer.provide(Layer.succeed(LlmClient.LlmClient, StagedModel.make(answers))),
    Layer.provideMerge(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" })),
    Layer.build,
    Effect.flatMap((context) => Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context))
  )

const lastOf = ({ messages }: LlmClient.LlmRequest) => {
  const last = messages.at(-1)
  return { role: last?.role, text: JSON.stringify(last?.content) }
}

Chromium.suite((open) => {
  it.scopedLive("streams, reloads in the middle of an answer, approves with edited arguments, and branches", () =>
    Effect.gen(function* () {
      const rest = yield* Deferred.make<void>()
      const url = yield* served((request) => {
        const { role, text } = lastOf(request)
        if (role === "user" && text.includes("Where")) {
          return { call: { name: "find_order", params: { order: "1047" } } }
        }
        if (text.includes("lamp")) return { texts: ["It is ", Deferred.await(rest), "<b>a lamp</b>."] }
        if (role === "user" && text.includes("refund")) {
          return { call: { name: "refund", params: { order: "1047", euros: 120 } } }
        }
        return { texts: [text.includes("refunded 50 euros") ? "You get 50 euros." : `You said ${text}`] }
      })
      const { page, problems } = yield* open
      const messages = page.getByRole("log")
      const items = Effect.promise(() => messages.getByRole("listitem").allInnerTexts())
      const send = (text: string) => async () => {
        await page.getByLabel("Message", { exact: true }).fill(text)
        await page.getByLabel("Message", { exact: true }).press("Enter")
      }
      const sees = (text: string) => Effect.promise(() => messages.getByText(text, { exact: true }).waitFor())

      yield* Effect.promise(() => page.goto(url))
      yield* Effect.promise(send("Where is my order?"))
      yield* sees("find_order done")
      yield* sees("It is")
      yield* Effect.promise(() => page.reload())
      yield* sees("Where is my order?")
      yield* sees("It is")
      yield* Deferred.succeed(rest, undefined)
      // Texts are never HTML.
      yield* sees("It is <b>a lamp</b>.")
      assert.deepStrictEqual(yield* items, ["Where is my order?", "find_order done\n\nIt is <b>a lamp</b>."])

      yield* Effect.promise(() => page.getByRole("button", { name: "Send" }).waitFor())
      yield* Effect.promise(send("Please refund it"))
      const given = page.getByLabel("Arguments")
      yield* Effect.promise(() => given.waitFor())
      yield* Effect.promise(() => given.fill("{ not JSON"))
      yield* Effect.promise(() => page.getByRole("button", { name: "Approve" }).click())
      yield* Effect.promise(() => page.getByText("The arguments are not valid JSON").waitFor())
      yield* Effect.promise(() => given.fill(JSON.stringify({ order: "1047", euros: 50 })))
      yield* Effect.promise(() => page.getByRole("button", { name: "Approve" }).click())
      yield* sees("You get 50 euros.")

      yield* Effect.promise(() => page.getByRole("button", { name: "Branch" }).click())
      yield* Effect.promise(() => page.getByRole("heading", { name: "Where is my order? (branch)" }).waitFor())
      yield* sees("You get 50 euros.")
      yield* Effect.promise(send("Hello"))
      yield* sees('You said "Hello"')
      const chats = page.getByRole("navigation")
      yield* Effect.promise(() => chats.getByRole("button", { name: "Where is my order?", exact: true }).click())
      yield* Effect.promise(() => page.getByRole("heading", { name: "Where is my order?", exact: true }).waitFor())
      yield* sees("You get 50 euros.")
      assert.notInclude((yield* items).join(), "Hello")
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("stops an answer, denies a call, and says what fails", () =>
    Effect.gen(function* () {
      const url = yield* served((request) => {
        const { role, text } = lastOf(request)
        if (role !== "user") return { texts: ["As you like."] }
        return text.includes("refund")
          ? { call: { name: "refund", params: { order: "1", euros: 1 } } }
          : { texts: ["Once ", Effect.never] }
      })
      const { page } = yield* open
      const messages = page.getByRole("log")
      const send = async (text: string) => {
        await page.getByLabel("Message", { exact: true }).fill(text)
        await page.getByRole("button", { name: "Send" }).click()
      }
      yield* Effect.promise(async () => {
        await page.goto(url)
        await send("Tell me a story")
        await messages.getByText("Once", { exact: true }).waitFor()
        await page.getByRole("button", { name: "Stop" }).click()
        await messages.getByText("Stopped").waitFor()
        await send("refund")
        await page.getByRole("button", { name: "Deny" }).click()
        await messages.getByText("As you like.").waitFor()
        assert.strictEqual(await page.getByLabel("Arguments").count(), 0)
        // What the server refuses is said, and nothing is shown as sent.
        await page.route("**/v1/runs", (route) =>
          route.fulfill({
            status: 429,
            contentType: "application/problem+json",
            body: '{"detail":"Too many requests"}'
          })
        )
        await send("again")
        await page.getByRole("alert").getByText("Too many requests").waitFor()
        assert.strictEqual(await messages.getByText("again", { exact: true }).count(), 0)
      })
    })
  )
})

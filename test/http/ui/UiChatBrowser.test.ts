import { fileURLToPath } from "node:url"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Esbuild from "esbuild"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Authentication from "../../../src/http/api/Authentication.js"
import * as UiChat from "../../../src/http/ui/UiChat.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../../support/AgentServers.js"
import * as Chromium from "../../support/Chromium.js"
import * as StagedModel from "../../support/StagedModel.js"

const versions = [
  ["@ai-sdk/react 4", {}],
  ["@ai-sdk/react 3", { "@ai-sdk/react": "@ai-sdk/react-v3", ai: "ai-v6" }]
] as const

const script = (alias: Readonly<Record<string, string>>) =>
  Effect.promise(async () => {
    const { outputFiles } = await Esbuild.build({
      entryPoints: [fileURLToPath(new URL("./pages/chat.mjs", import.meta.url))],
      bundle: true,
      write: false,
      format: "esm",
      platform: "browser",
      alias,
      define: { "process.env.NODE_ENV": '"production"' },
      logLevel: "silent"
    })
    return outputFiles[0]?.text ?? ""
  })

const html = '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="chat.js"></script></body>'

const pagesOf = (source: string) =>
  HttpApiBuilder.Router.use((router) =>
    Effect.zipRight(
      router.get("/", HttpServerResponse.html(html)),
      router.get("/chat.js", HttpServerResponse.text(source, { contentType: "text/javascript" }))
    )
  )

const pay = Tool.make("pay", {
  description: "Pays",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`paid ${amount}`)
})

Chromium.suite((open) => {
  for (const [name, alias] of versions) {
    it.scopedLive(`useChat of ${name} streams, goes on after a reload, approves, and keeps its messages`, () =>
      Effect.gen(function* () {
        const rest = yield* Deferred.make<void>()
        const answers: StagedModel.Answers = ({ messages }) => {
          const text = JSON.stringify(messages.at(-1)?.content)
          if (text.includes("story")) return { texts: ["Once upon ", Deferred.await(rest), "a time"] }
          if (text.includes("paid 5")) return { texts: ["It is paid."] }
          return { call: { name: "pay", params: { amount: 5 } } }
        }
        const { url } = yield* AgentServers.start({
          agents: [Agent.make("clerk", { tools: [pay] })],
          authentication: Authentication.layerAnonymous,
          sessions: Layer.orDie(Sessions.layer()),
          edges: [UiChat.make()],
          model: Layer.succeed(LlmClient.LlmClient, StagedModel.make(answers)),
          others: pagesOf(yield* script(alias))
        })
        const { page, problems } = yield* open
        const log = page.getByRole("log")
        const sees = (text: string) => log.getByText(text, { exact: true }).waitFor()
        const ready = () => page.getByRole("status").getByText("ready", { exact: true }).waitFor()
        const send = async (text: string) => {
          await page.getByLabel("Message").fill(text)
          await page.getByRole("button", { name: "Send" }).click()
        }
        const shown = () => log.getByRole("listitem").allInnerTexts()
        yield* Effect.promise(async () => {
          await page.goto(url)
          await send("a story")
          await sees("Once upon")
          await page.reload()
          await sees("a story")
          await sees("Once upon")
        })
        yield* Deferred.succeed(rest, undefined)
        yield* Effect.promise(async () => {
          await sees("Once upon a time")
          await ready()
          await send("pay 5")
          await page.getByRole("button", { name: "Approve" }).click()
          await sees("It is paid.")
          await ready()
          await sees("tool-pay output-available")
          const before = await shown()
          assert.strictEqual(before.length, 4)
          await page.reload()
          await sees("It is paid.")
          const after = await shown()
          assert.deepStrictEqual([after[0], after[1], after[2]], [before[0], before[1], before[2]])
          assert.strictEqual(after.length, 4)
        })
        // The one refusal is of the messages of a chat that had not begun.
        assert.deepStrictEqual(
          problems.map((problem) => /status of \d+/.exec(problem)?.[0] ?? problem),
          ["status of 404"]
        )
      })
    )
  }
})

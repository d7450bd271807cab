import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Elicitation from "../../src/tool/Elicitation.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"
import { pieces } from "../trace/HostileText.js"

const HOSTILE = pieces.join(" ")

const lent: Array<unknown> = []

const lend = Tool.make("lend", {
  description: "Lends a book",
  parameters: { title: Schema.String, days: Schema.Number },
  requiresApproval: true,
  handler: (params) =>
    Effect.sync(() => {
      lent.push(params)
      return "lent"
    })
})

const ask = Tool.make("ask", {
  description: "Asks the person",
  parameters: {},
  fatal: true,
  handler: () =>
    Effect.map(
      Elicitation.ask({
        message: `Which size? ${HOSTILE}`,
        schema: Schema.Struct({ size: Schema.Literal("small", "large"), gift: Schema.Boolean })
      }),
      (answer) => JSON.stringify(answer)
    )
})

const clerk = Agent.make("clerk", { system: "You lend books.", tools: [lend, ask] })
const agents = [clerk] as ReadonlyArray<Agent.Agent<any, any, AgentExecutor.AgentExecutor>>

const temperatures: Array<unknown> = []

const script: TestModel.Script = (request) => {
  temperatures.push(request.settings?.temperature)
  const last = request.messages.at(-1)
  const asked = request.messages.findLast(({ role }) => role === "user")?.content
  const users = request.messages.filter(({ role }) => role === "user").length
  if (last?.role === "tool") return `Done: ${JSON.stringify(last.content)}`
  if (String(asked).includes("lend")) return { calls: [{ name: "lend", params: { title: HOSTILE, days: 7 } }] }
  if (String(asked).includes("ask")) return { calls: [{ name: "ask", params: {} }] }
  if (String(asked).includes("slow")) {
    return { text: Array.from({ length: 200 }, (_, at) => `piece ${at} `), partDelay: "100 millis" }
  }
  if (JSON.stringify(asked).includes("picture")) return { text: `Seen ${JSON.stringify(asked).length > 100}` }
  return { text: [`Message ${users} was **${String(asked)}**`, ...pieces] }
}

const router = DefaultModelRouter.layer({ roles: { solver: { client: TestModel.layer(() => "by the solver") } } })
const sessions = Layer.orDie(Sessions.layer())

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

Chromium.suite((open) => {
  it.scopedLive("chats by keyboard, branches from an earlier message, and stops", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, script, router, sessions })
      const opened = yield* open
      const { page, problems } = opened
      yield* StudioPages.enter(opened, server, "#/playground")
      const chat = page.getByRole("list", { name: "Conversation" })
      const field = page.getByRole("textbox", { name: "Message" })
      const edit = () => page.getByRole("textbox", { name: "The message in the branch" })
      const say = async (text: string) => {
        await field.fill(text)
        await field.press("Enter")
      }
      yield* Effect.promise(async () => {
        await say("first")
        await chat.getByText("Message 1 was first").waitFor()
        await say("second")
        await chat.getByText("Message 2 was second").waitFor()
        const session = new URL(page.url()).hash
        await chat.getByRole("button", { name: "Edit and branch" }).nth(1).click()
        assert.strictEqual(await edit().inputValue(), "second")
        await edit().fill("other")
        await edit().press("Enter")
        await chat.getByText("Message 2 was other").waitFor()
        assert.strictEqual(await chat.getByText("Message 2 was second").count(), 0)
        assert.notStrictEqual(new URL(page.url()).hash, session)
        assert.strictEqual(await page.locator("script:not([src]), iframe, #main img").count(), 0)
      })
      yield* StudioPages.picture(page, "playground")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        // A reload shows the branch again.
        await page.reload()
        await chat.getByText("Message 1 was first").waitFor()
        await chat.getByText("Message 2 was other").waitFor()
        // A message from before the page was opened is edited, too.
        const branch = new URL(page.url()).hash
        await chat.getByRole("button", { name: "Edit and branch" }).nth(1).click()
        assert.strictEqual(await edit().inputValue(), "other")
        await edit().fill("third")
        await edit().press("Enter")
        await chat.getByText("Message 2 was third").waitFor()
        await chat.getByText("Message 1 was first").waitFor()
        assert.strictEqual(await chat.getByText("Message 2 was other").count(), 0)
        assert.notStrictEqual(new URL(page.url()).hash, branch)
        await page.reload()
        await chat.getByText("Message 2 was third").waitFor()
        assert.strictEqual(await chat.getByText("Message 2 was other").count(), 0)
        // So is the first one, which begins a conversation.
        await chat.getByRole("button", { name: "Edit and branch" }).first().click()
        await edit().fill("anew")
        await edit().press("Enter")
        await chat.getByText("Message 1 was anew").waitFor()
        assert.strictEqual(await chat.getByText("third").count(), 0)
        await page.getByRole("button", { name: "New chat" }).click()
        await say("slow")
        await chat.getByText(/piece 3/).waitFor()
        await chat.getByRole("button", { name: "Stop" }).click()
        await chat.getByText("It was stopped.").waitFor()
      })
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("runs with the model, the strategy and the settings that were chosen, and sends files", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, script, router })
      const opened = yield* open
      const { page, problems } = opened
      yield* StudioPages.enter(opened, server, "#/playground")
      const chat = page.getByRole("list", { name: "Conversation" })
      const field = page.getByRole("textbox", { name: "Message" })
      yield* Effect.promise(async () => {
        await page.getByRole("spinbutton", { name: "Temperature" }).fill("0.25")
        await field.fill("warm")
        await field.press("Enter")
        await chat.getByText("Message 1 was warm").waitFor()
        assert.include(temperatures, 0.25)
        await page.getByLabel("Images and files").setInputFiles({
          name: "pixel.png",
          mimeType: "image/png",
          buffer: Buffer.from(PIXEL, "base64")
        })
        await field.fill("picture")
        await field.press("Enter")
        await chat.getByText("pixel.png").waitFor()
        await chat.getByText("Seen true").waitFor()
        await page.getByRole("combobox", { name: "Model" }).selectOption("solver")
        await page.getByRole("combobox", { name: "Strategy" }).selectOption("react")
        await field.fill("solve")
        await field.press("Enter")
        await chat.getByText("by the solver").waitFor()
        assert.include(page.url(), "model=solver")
        // Not valid: refused with what is wrong.
        await page.getByRole("spinbutton", { name: "Temperature" }).fill("7")
        await field.fill("hot")
        await field.press("Enter")
        await page.getByRole("alert").first().waitFor()
      })
      assert.deepStrictEqual(
        problems.filter((problem) => !problem.includes("501") && !problem.includes("400")),
        []
      )
    })
  )

  it.scopedLive("decides calls and answers questions in the inbox, with other arguments", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, script })
      const start = (input: string) =>
        Effect.promise(() =>
          fetch(`${server.url}/v1/runs`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ agent: "clerk", input })
          }).then((response) => response.json() as Promise<{ readonly run: { readonly runId: string } }>)
        )
      const answerOf = (runId: string) =>
        Effect.promise(async () => {
          for (;;) {
            const { answer } = (await (await fetch(`${server.url}/v1/runs/${runId}`)).json()) as {
              readonly answer?: { readonly message: string }
            }
            if (answer !== undefined) return answer.message
            await new Promise((done) => setTimeout(done, 50))
          }
        })
      const opened = yield* open
      const { page, problems } = opened
      yield* StudioPages.enter(opened, server, "#/inbox")
      yield* Effect.promise(() => page.getByText("No call and no question waits").waitFor())
      const { run: lending } = yield* start("lend")
      const { run: asking } = yield* start("ask")
      const call = page.getByRole("form", { name: "clerk wants to call lend" })
      const question = page.getByRole("form", { name: "clerk asks" })
      // It comes by itself.
      yield* Effect.promise(() => Promise.all([call.waitFor(), question.waitFor()]))
      yield* StudioPages.picture(page, "inbox")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        const days = call.getByRole("spinbutton", { name: /days/ })
        assert.strictEqual(await days.inputValue(), "7")
        await call.getByRole("checkbox", { name: "Arguments as JSON" }).check()
        const json = call.getByRole("textbox", { name: /Arguments/ })
        await json.fill("{ not json")
        await call.getByText("This is not JSON").waitFor()
        // The form around what is no JSON is not sent.
        await call.getByRole("button", { name: /^Approve/ }).click()
        await json.fill('{"title":"Emma","days":4}')
        await call.getByRole("checkbox", { name: "Arguments as JSON" }).uncheck()
        await days.fill("")
        await call.getByRole("button", { name: "Approve with these arguments" }).click()
        assert.isTrue(await days.evaluate((input) => !(input as HTMLInputElement).validity.valid))
        await days.fill("3")
        await call.getByRole("button", { name: "Approve with these arguments" }).click()
        await call.waitFor({ state: "detached" })
        await question.getByRole("combobox").first().selectOption({ label: "large" })
        await question.getByRole("button", { name: "Answer" }).click()
        await question.waitFor({ state: "detached" })
        await page.getByText("Nothing waits any more.").waitFor()
      })
      assert.include(yield* answerOf(lending.runId), "lent")
      assert.include(yield* answerOf(asking.runId), "large")
      assert.deepStrictEqual(lent.at(-1), { title: "Emma", days: 3 })
      const { run: denied } = yield* start("lend")
      yield* Effect.promise(async () => {
        await call.waitFor()
        await call.getByLabel(/Reason/).fill("Not to you")
        await call.getByRole("button", { name: "Deny" }).click()
        await call.waitFor({ state: "detached" })
      })
      assert.include(yield* answerOf(denied.runId), "Not to you")
      assert.deepStrictEqual(problems, [])
    })
  )
})

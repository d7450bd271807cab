import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Page } from "playwright-core"
import * as Agent from "../../src/agent/definition/Agent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as Skill from "../../src/skill/definition/Skill.js"
import * as PermissionChecker from "../../src/skill/execute/PermissionChecker.js"
import * as Skills from "../../src/skill/Skills.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"

const HOSTILE = "</script><img src=x onerror=alert(1)>"

const Address = Schema.Struct({ street: Schema.String, number: Schema.optional(Schema.Int) })

const order = Tool.make("order", {
  description: "Orders something for a person, and says what it will cost",
  parameters: {
    item: Schema.String.annotations({ description: "What to order" }),
    amount: Schema.Int.pipe(Schema.between(1, 10)),
    price: Schema.Number,
    express: Schema.Boolean,
    gift: Schema.optional(Schema.Boolean),
    color: Schema.Literal("red", "green"),
    tags: Schema.Array(Schema.String),
    address: Address,
    note: Schema.optional(Schema.String),
    extra: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
  },
  handler: (params) => Effect.succeed({ ordered: params })
})

const pay = Tool.make("pay", {
  description: "Pays an amount",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`paid ${amount}`)
})

const hostile = Tool.make(HOSTILE, {
  description: `**bold** <b>${HOSTILE}</b> \u202eevil\u202c`,
  readOnly: true,
  handler: () => Effect.succeed(`<script>alert(2)</script>\u001b[31m`)
})

const failing = Tool.make("failing", {
  description: "Fails",
  handler: () => Effect.fail({ _tag: "NoPaper", message: "There is no paper" })
})

/** Calls that began and were stopped. */
const stopped: Array<string> = []

const endless = Tool.make("endless", {
  description: "Does not end",
  timeout: "1 minute",
  handler: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => stopped.push("endless")))
})

const greet = Skill.make("greet", {
  description: "Greets a person",
  parameters: { name: Schema.String },
  permissions: ["people:read"],
  handler: ({ name }) => Effect.succeed(`hello ${name}`)
})

const agents = [
  Agent.make("clerk", { tools: ToolSet.make(order, pay, hostile, failing, endless) }),
  Agent.make("guest", { tools: ToolSet.make(hostile) })
]

const result = (page: Page) => page.getByRole("region", { name: "What a model reads" })

Chromium.suite((open) => {
  it.scopedLive("tries a tool with a form that is made from its schema", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/tools/order")
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        await page.getByLabel("item (required)").fill("A <b>lamp</b>")
        await page.getByLabel("amount (required)").fill("3")
        await page.getByLabel("price (required)").fill("1.5")
        await page.getByLabel("express").check()
        await page.getByLabel("gift").selectOption("true")
        await page.getByLabel("color (required)").selectOption("green")
        await page.getByRole("button", { name: "Add to tags" }).click()
        await page.getByRole("button", { name: "Add to tags" }).click()
        await page.getByLabel("2 (required)").fill("second")
        await page.getByLabel("1 (required)").fill("first")
        await page.getByLabel("street (required)").fill("Main Street")
        await page.getByLabel("extra").fill("{")
        assert.isTrue(await page.getByLabel("extra").evaluate((area: HTMLTextAreaElement) => !area.checkValidity()))
        await page.getByLabel("extra").fill('{"__proto__": 1, "b": [2]}')
      })
      yield* StudioPages.picture(page, "tools-form")
      yield* Effect.promise(async () => {
        await page.getByRole("button", { name: "Run the tool" }).click()
        await result(page).waitFor()
        const { ordered } = JSON.parse((await result(page).textContent()) ?? "")
        assert.deepInclude(ordered, {
          item: "A <b>lamp</b>",
          amount: 3,
          price: 1.5,
          express: true,
          gift: true,
          color: "green",
          tags: ["first", "second"],
          address: { street: "Main Street" }
        })
        assert.deepStrictEqual(ordered.extra.b, [2])
        assert.notProperty(ordered, "note")
        await page.getByRole("link", { name: "a run of its own" }).click()
        await page.getByRole("main").getByText("order", { exact: true }).first().waitFor()
        await page.goBack()
        await page.getByRole("heading", { name: "Try it" }).waitFor()
      })
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      // A trial has events, and no record.
      assert.deepStrictEqual(
        problems.filter((problem) => !problem.includes("404")),
        []
      )
    })
  )

  it.scopedLive("shows what models and tools say as text, failures with their hints, and skills", () =>
    Effect.gen(function* () {
      const others = Layer.orDie(
        Layer.provide(
          Skills.layer({
            config: { enableSkillSources: false, enableBuiltin: false },
            skills: [greet],
            permissions: PermissionChecker.layerStatic({ dev: ["people:read"] })
          }),
          NodeContext.layer
        )
      ) as never
      const server = yield* StudioPages.serve({ agents, others, userId: UserId.make("dev") })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/tools")
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        await page.getByRole("searchbox", { name: "Search" }).fill("onerror")
        assert.strictEqual(await page.locator(".picks li").count(), 1)
        await page.locator(".picks a").press("Enter")
        await page.getByRole("heading", { name: HOSTILE }).waitFor()
        await page.getByText("It takes no arguments.").waitFor()
        await page.getByLabel("As the agent").selectOption("guest")
        await page.getByRole("button", { name: "Run the tool" }).press("Enter")
        await result(page).getByText("<script>alert(2)</script>").waitFor()
        assert.strictEqual(await page.locator("img, main script").count(), 0)
      })
      yield* StudioPages.picture(page, "tools")
      yield* Effect.promise(async () => {
        await page.goto(`${server.url}/studio/#/tools/failing`)
        await page.getByRole("button", { name: "Run the tool" }).click()
        await page.getByText("There is no paper").first().waitFor()
        await page.getByText("failed", { exact: true }).waitFor()
        await page.goto(`${server.url}/studio/#/tools/order`)
        await page.getByLabel("Write the arguments as JSON").check()
        await page.getByRole("textbox", { name: "Arguments as JSON" }).fill('{"item": 1}')
        await page.getByRole("button", { name: "Run the tool" }).click()
        await page.getByText("ToolValidationError").waitFor()
        await page.getByRole("tab", { name: "Skills" }).click()
        await page.getByText("people:read").waitFor()
        await page.getByText("Try it").click()
        await page.getByLabel("name (required)").fill("Ann")
        await page.getByRole("button", { name: "Run the skill" }).press("Enter")
        await result(page).getByText("hello Ann").waitFor()
      })
      yield* StudioPages.picture(page, "skills")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("asks before a call that needs approval", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/tools/pay")
      const { page } = opened
      yield* Effect.promise(async () => {
        await page.getByLabel("amount (required)").fill("11")
        await page.getByLabel("amount (required)").press("Enter")
        await page.getByRole("dialog", { name: "This call needs approval" }).waitFor()
      })
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      yield* Effect.promise(async () => {
        await page.keyboard.press("Escape")
        await page.getByRole("dialog").waitFor({ state: "detached" })
        assert.strictEqual(await result(page).count(), 0)
        await page.getByRole("button", { name: "Run the tool" }).click()
        await page.getByRole("button", { name: "Approve and run" }).press("Enter")
        await result(page).getByText("paid 11").waitFor()
      })
    })
  )

  it.scopedLive("stops a call that takes too long", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/tools/endless")
      const { page } = opened
      yield* Effect.promise(async () => {
        await page.getByRole("button", { name: "Run the tool" }).click()
        await page.getByRole("button", { name: "Stop" }).press("Enter")
        await page.getByRole("button", { name: "Run the tool" }).waitFor()
        assert.strictEqual(await page.getByRole("alert").count(), 0)
      })
      yield* Effect.repeat(Effect.sleep("50 millis"), { until: () => stopped.length > 0, times: 200 })
      assert.deepStrictEqual(stopped, ["endless"])
    })
  )
})

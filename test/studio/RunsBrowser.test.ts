import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as StateGraph from "../../src/graph/StateGraph.js"
import * as Run from "../../src/observability/Run.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as Reasoning from "../../src/strategy/definition/Reasoning.js"
import * as GraphStrategy from "../../src/strategy/reasoning/GraphStrategy.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as EveryStrategy from "../strategy/EveryStrategy.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"
import { pieces } from "../trace/HostileText.js"

const find = Tool.make("find", {
  description: "Finds a book",
  parameters: { title: Schema.String },
  handler: ({ title }) => Effect.succeed({ title, note: pieces.join(" ") })
})

/** Emits as many events as it is asked for. */
const flood = Tool.make("flood", {
  description: "Emits many events",
  parameters: { count: Schema.Number },
  handler: ({ count }) =>
    Effect.gen(function* () {
      const run = yield* Run.Run
      for (let at = 0; at < count; at++) {
        yield* run.emit({ _tag: "Thought", step: 1, text: `thought ${at}` })
      }
      return "done"
    })
})

const inner = Agent.make("inner", { system: "You check.", description: "Checks" })
const clerk = Agent.make("clerk", { system: "You lend books.", tools: [find, flood, AgentTool.make(inner)] })
const agents = [clerk, inner] as ReadonlyArray<Agent.Agent<any, any, AgentExecutor.AgentExecutor>>

const sessions = Layer.orDie(Sessions.layer())

const FLOOD = 100_000

const script: TestModel.Script = (request) => {
  const at = request.messages.findLastIndex(({ role }) => role === "user")
  const tools = request.messages.slice(at).filter(({ role }) => role === "tool").length
  const asked = request.messages[at]?.content
  if (request.tools === undefined) return "checked"
  if (asked === "flood") {
    return tools === 0 ? { calls: [{ name: "flood", params: { count: FLOOD } }] } : "flooded"
  }
  if (tools === 0) {
    return { calls: [{ name: "find", params: { title: asked === "Where is Emma?" ? "Emma" : pieces.join(" ") } }] }
  }
  if (tools === 1) return { calls: [{ name: "delegate_to_inner", params: { message: "Check it" } }] }
  return { text: ["On **shelf** B2 ", ...pieces] }
}

const start = (url: string, input: string, body: object = {}, wait = 60) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/v1/runs?wait=${wait}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent: "clerk", input, ...body })
    })
    const { run } = (await response.json()) as { readonly run: { readonly runId: string } }
    return run.runId
  })

Chromium.suite((open) => {
  it.scopedLive("lists runs and shows one as a timeline of text, whatever models and tools say", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, script })
      const opened = yield* open
      const { page, problems } = opened
      const runId = yield* start(server.url, `Where is ${pieces.join(" ")}?`)
      const other = yield* start(server.url, "Where is Emma?")
      yield* StudioPages.enter(opened, server, "#/runs")
      yield* Effect.promise(async () => {
        await page.getByRole("list", { name: "Runs" }).getByRole("link").nth(1).waitFor()
        assert.strictEqual(await page.getByRole("list", { name: "Runs" }).getByRole("link").count(), 2)
        await page.getByLabel("State").selectOption("failed")
        await page.getByText("No run fits.").waitFor()
        assert.include(page.url(), "state=failed")
        await page.getByLabel("State").selectOption("")
        await page.getByRole("list", { name: "Runs" }).getByRole("link").nth(1).waitFor()
      })
      yield* StudioPages.picture(page, "runs")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        await page.setViewportSize({ width: 1280, height: 900 })
        await page.goto(`${server.url}/studio/#/runs/${runId}`)
        const timeline = page.getByRole("list", { name: "Timeline" })
        await timeline.getByText("delegate_to_inner").waitFor()
        // By keyboard: opens the call of the tool.
        const call = timeline.getByRole("button", { name: /Tool find/ })
        await call.focus()
        await page.keyboard.press("Enter")
        await page.getByRole("region", { name: "Result of find" }).waitFor()
        assert.strictEqual(await page.locator("script:not([src]), img, iframe").count(), 0)
      })
      yield* StudioPages.picture(page, "run")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        await page.setViewportSize({ width: 1280, height: 900 })
        await page.getByLabel("Search in the run").fill("delegate_to_inner")
        await page.getByText(/^1 of \d+ entries/).waitFor()
        await page.getByLabel("Search in the run").fill("")
        await page.getByRole("button", { name: "Make it an eval case" }).click()
        await page.getByRole("region", { name: "Eval case" }).first().waitFor()
        const download = page.waitForEvent("download")
        await page.getByRole("button", { name: "Save the trace page" }).click()
        assert.include((await download).suggestedFilename(), runId)
        await page.goto(`${server.url}/studio/#/runs/compare/${runId}/${other}`)
        await page.getByRole("list", { name: "Steps of both runs" }).getByText("differs").first().waitFor()
      })
      yield* StudioPages.picture(page, "compare")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("loads runs page by page while the list is scrolled, and shows all of them as they are now", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, script, limits: { requestsPerMinute: 10_000 } })
      const opened = yield* open
      const { page, problems } = opened
      yield* Effect.forEach(
        Array.from({ length: 250 }),
        () => start(server.url, "", { agent: "inner", input: "Check" }),
        {
          concurrency: 8
        }
      )
      yield* StudioPages.enter(opened, server, "#/runs")
      const list = page.getByRole("list", { name: "Runs" })
      const scroll = () =>
        list.evaluate((list) => {
          list.scrollTop = list.scrollHeight
        })
      yield* Effect.promise(async () => {
        await page.getByText(/^100 runs, more/).waitFor()
        assert.isBelow(await list.getByRole("listitem").count(), 60)
        await scroll()
        await page.getByText(/^200 runs, more/).waitFor()
        await scroll()
        await page.getByText(/^250 runs$/).waitFor()
        await scroll()
        // The list is drawn after it was scrolled, and again when the last page has come.
        await list.locator(`[aria-posinset="250"]`).waitFor()
        assert.isBelow(await list.getByRole("listitem").count(), 60)
      })
      // A run that begins now is there, and none of the others is lost.
      const last = yield* start(server.url, "", { agent: "inner", input: "Check" })
      yield* Effect.promise(async () => {
        await page.getByText(/^251 runs$/).waitFor()
        await list.evaluate((list) => {
          list.scrollTop = 0
        })
        await page.locator(`a[href="#/runs/${last}"]`).waitFor()
      })
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("shows the settings of a model call, what the model was shown, and the turns before", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, script, sessions })
      const opened = yield* open
      const { page, problems } = opened
      yield* start(server.url, "Where is Emma?", { sessionId: "shelf" })
      const runId = yield* start(server.url, `Where is ${pieces.join(" ")}?`, { sessionId: "shelf" })
      const asked: Array<string> = []
      page.on("request", (request) => asked.push(new URL(request.url()).pathname))
      const settingsAsked = () => asked.filter((path) => path.endsWith("/settings")).length
      yield* StudioPages.enter(opened, server, `#/runs/${runId}`)
      yield* Effect.promise(async () => {
        const timeline = page.getByRole("list", { name: "Timeline" })
        await timeline.getByText("delegate_to_inner").waitFor()
        assert.strictEqual(settingsAsked(), 0)
        await page.getByRole("button", { name: /Model.*step 3/ }).click()
        // Nothing of it is made before it is opened.
        assert.strictEqual(await page.getByRole("list", { name: "Conversation of the call" }).count(), 0)
        await page.getByText("Settings", { exact: true }).click()
        await page.getByText("Most tokens of an answer").waitFor()
        await page.getByText("System prompt of the agent").click()
        await page.getByText("You lend books.").waitFor()
        await page.getByText("What the model was shown of the run").click()
        const messages = page.getByRole("list", { name: "Conversation of the call" })
        await messages.getByText("Call of delegate_to_inner").waitFor()
        await messages.getByText("Result of find").waitFor()
        await page.getByText("History: turns of the session").click()
        const history = page.getByRole("list", { name: "History" })
        await history.getByText("Where is Emma?").waitFor()
        assert.strictEqual(await history.getByRole("article").count(), 2)
        await page.getByText("Settings", { exact: true }).scrollIntoViewIfNeeded()
      })
      yield* StudioPages.picture(page, "run-model-call")
      yield* Effect.promise(async () => {
        const timeline = page.getByRole("list", { name: "Timeline" })
        await timeline.evaluate((list) => {
          list.scrollTop = 0
        })
        await page.getByRole("button", { name: /Model.*step 1/ }).click()
        assert.strictEqual(settingsAsked(), 1)
        assert.strictEqual(await page.locator("script:not([src]), img, iframe").count(), 0)
      })
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("stays fluid with 100,000 events of one run", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, script })
      const opened = yield* open
      const { page, problems } = opened
      const runId = yield* start(server.url, "flood")
      yield* StudioPages.enter(opened, server, `#/runs/${runId}`)
      yield* Effect.promise(async () => {
        await page.getByText(/of 100,0\d\d entries/).waitFor()
        const timeline = page.getByRole("list", { name: "Timeline" })
        // Only what is seen is built.
        assert.isBelow(await timeline.getByRole("listitem").count(), 80)
        await timeline.evaluate((list) => {
          list.scrollTop = list.scrollHeight / 2
        })
        await timeline
          .getByText(/thought (49|50)\d\d\d/)
          .first()
          .waitFor()
        assert.isBelow(await timeline.getByRole("listitem").count(), 80)
        await page.getByLabel("Search in the run").fill("thought 77777")
        await page.getByText(/^1 of 100,0/).waitFor()
        await timeline.getByText("thought 77777").waitFor()
      })
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("draws the plan, the search and the graph of strategies, with the same as text", () =>
    Effect.gen(function* () {
      const opened = yield* open
      const { page, problems } = opened
      for (const [name, tab, word] of [
        ["plan-execute", "Plan", "completed"],
        ["lats", "Search tree", "visits"],
        ["storm", "Outline", ""]
      ] as const) {
        const sample = EveryStrategy.samples.find((one) => one.name === name) as EveryStrategy.Case
        const server = yield* StudioPages.serve({
          agents: [EveryStrategy.agentOf(sample)],
          script: (request) => sample.sample.model(request)
        })
        const runId = yield* start(server.url, sample.sample.task, { agent: "sample" })
        yield* StudioPages.enter(opened, server, `#/runs/${runId}`)
        yield* Effect.promise(async () => {
          await page.setViewportSize({ width: 1280, height: 900 })
          await page.getByRole("tab", { name: tab }).click()
          const panel = page.getByRole("tabpanel")
          if (word === "") await panel.getByRole("listitem").first().waitFor()
          else {
            await panel.getByRole("img", { name: tab }).waitFor()
            await panel.getByText("As text").click()
            await panel.getByRole("listitem").filter({ hasText: word }).first().waitFor()
          }
        })
        yield* StudioPages.picture(page, `run-${name}`)
        assert.deepStrictEqual(yield* StudioPages.violations(page), [])
        assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
        yield* Effect.promise(async () => {
          await page.setViewportSize({ width: 1280, height: 900 })
          await page.getByRole("tab", { name: "Strategy" }).click()
          await page.getByRole("img", { name: /^Strategy / }).waitFor()
          await page
            .locator(".graph-state")
            .filter({ hasText: /once|times/ })
            .first()
            .waitFor()
        })
        yield* StudioPages.picture(page, `strategy-${name}`)
      }
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("marks the node that runs in the graph, and draws edges of a node to itself", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch()
      const draft = ({ drafts }: { readonly drafts: number }) => Effect.succeed({ drafts: drafts + 1 })
      const strategy = GraphStrategy.make({
        name: "drafts",
        graph: StateGraph.make({
          name: "drafts",
          state: Schema.Struct({ drafts: Schema.Number }),
          nodes: { draft, judge: () => Effect.as(gate.await, {}), publish: () => Effect.succeed({}) },
          start: "draft",
          edges: {
            draft: {
              to: ["draft", "judge"],
              labels: { draft: "too short, once more", judge: "long enough" },
              when: ({ drafts }) => (drafts < 3 ? "draft" : "judge")
            },
            judge: {
              to: ["draft", "publish", "judge"],
              labels: { draft: "rejected", publish: "accepted", judge: "undecided" },
              when: () => "publish" as const
            },
            publish: "END"
          }
        }),
        start: () => ({ drafts: 0 }),
        answer: () => Effect.flatMap(Reasoning.Reasoning, (reasoning) => reasoning.answer("published"))
      })
      const author = Agent.make("author", { system: "You write.", strategy })
      const server = yield* StudioPages.serve({ agents: [author], script: () => "" })
      const opened = yield* open
      const { page, problems } = opened
      yield* StudioPages.enter(opened, server)
      const runId = yield* start(server.url, "Write", { agent: "author" }, 0)
      yield* Effect.promise(async () => {
        await page.goto(`${server.url}/studio/#/runs/${runId}?tab=strategy`)
        const graph = page.getByRole("img", { name: "Strategy drafts" })
        await graph.locator(".graph-node.warn").filter({ hasText: "judge" }).waitFor()
        await graph.locator(".graph-node.warn").filter({ hasText: "draft: perhaps running · 3 times" }).waitFor()
        assert.strictEqual(await graph.locator(".graph-node.good").count(), 0)
      })
      yield* StudioPages.picture(page, "strategy-running")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      // No two labels are at one place.
      const overlaps = yield* Effect.promise(() =>
        page.evaluate(() => {
          const boxes = Array.from(document.querySelectorAll(".graph-label, .graph-node rect"), (one) =>
            one.getBoundingClientRect()
          )
          return boxes.flatMap((a, at) =>
            boxes
              .slice(at + 1)
              .filter(
                (b) => a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 2 && b.top < a.bottom - 2
              )
          ).length
        })
      )
      assert.strictEqual(overlaps, 0)
      yield* gate.open
      yield* Effect.promise(async () => {
        await page.locator(".graph-node.good").filter({ hasText: "publish" }).waitFor()
        await page.locator(".graph-node.busy, .graph-node.warn").first().waitFor({ state: "detached" })
      })
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("goes on by itself when the server was restarted", () =>
    Effect.gen(function* () {
      const setup = { agents, script, secret: Redacted.make("a secret that both servers have, of 32 bytes") }
      const first = yield* Scope.make()
      const before = yield* Scope.extend(StudioPages.serve(setup), first)
      const opened = yield* open
      const { page } = opened
      yield* StudioPages.enter(opened, before, "#/runs")
      yield* Effect.promise(() => page.getByText("No run fits.").waitFor())
      yield* Scope.close(first, Exit.void)
      yield* Effect.promise(() => page.getByText("The server cannot be reached").waitFor())
      const after = yield* StudioPages.serve({ ...setup, port: Number(new URL(before.url).port) })
      const runId = yield* start(after.url, "Where is Emma?")
      // Nobody touches the page.
      yield* Effect.promise(async () => {
        await page.locator(`a[href="#/runs/${runId}"]`).waitFor()
        await page.getByText("The server cannot be reached").waitFor({ state: "detached" })
      })
    })
  )
})

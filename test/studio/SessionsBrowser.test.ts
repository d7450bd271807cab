import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Page } from "playwright-core"
import * as Agent from "../../src/agent/definition/Agent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"

const HOSTILE = "</script><img src=x onerror=alert(1)>"
const KEY = "sk-1234567890abcdef1234567890"

const lookUp = Tool.make("look_up", {
  description: "Looks something up",
  parameters: { word: Schema.String },
  handler: ({ word }) => Effect.succeed({ found: `${word} ${HOSTILE}`, token: KEY })
})

const agents = [Agent.make("helper", { tools: ToolSet.make(lookUp) })]

const serve = StudioPages.serve({
  agents,
  userId: UserId.make("dev"),
  sessions: Layer.orDie(Sessions.layer()),
  script: ({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? `**Found** it ${HOSTILE} [a link](javascript:alert(1))`
      : JSON.stringify(messages.at(-1)).includes("look up")
        ? { calls: [{ name: "look_up", params: { word: "lamp" } }] }
        : "fine"
})

/** Asks the API as the page does: with the session of the browser. */
const ask = (page: Page, path: string, body?: unknown, method = body === undefined ? "GET" : "POST") =>
  page.evaluate(
    async ([path, body, method]) => {
      const response = await fetch(path, {
        method,
        ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
      return text === "" ? undefined : JSON.parse(text)
    },
    [path, body, method] as const
  )

const say = (page: Page, sessionId: string, input: string) =>
  ask(page, "/v1/runs?wait=20", { agent: "helper", input, sessionId })

/** A conversation with a checkpoint and a branch; both sides changed the same variable. */
const prepare = async (page: Page) => {
  await ask(page, "/v1/sessions", { id: "main", metadata: { title: `Lamps ${HOSTILE}` } })
  await say(page, "main", "please look up a lamp")
  await ask(page, "/v1/sessions/main", { variables: { tone: "calm", color: "red" } }, "PATCH")
  await ask(page, "/v1/sessions/main/checkpoints", { name: "first" })
  await ask(page, "/v1/sessions/main/fork", { id: "branch", branchName: "other way" })
  await say(page, "branch", "said on the branch")
  await ask(page, "/v1/sessions/branch", { variables: { tone: "loud", color: "green", more: [1, 2] } }, "PATCH")
  await say(page, "main", "said in the session")
  await ask(page, "/v1/sessions/main", { variables: { tone: HOSTILE, color: "blue" } }, "PATCH")
  await ask(page, "/v1/sessions/main/checkpoints", { name: "second" })
}

Chromium.suite((open) => {
  it.scopedLive("shows sessions, and turns with their calls as text", () =>
    Effect.gen(function* () {
      const server = yield* serve
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/sessions")
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        await page.getByText("You have no sessions.").waitFor()
        await prepare(page)
        await page.reload()
        await page.getByRole("link", { name: `Lamps ${HOSTILE}`, exact: true }).waitFor()
      })
      yield* StudioPages.picture(page, "sessions")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        await page.getByLabel("Status").selectOption("closed")
        await page.getByText("You have no sessions that are closed.").waitFor()
        await page.getByLabel("Status").selectOption("all")
        await page.getByRole("link", { name: `Lamps ${HOSTILE}`, exact: true }).press("Enter")
        const turns = page.getByRole("list", { name: "Turns" })
        await turns.getByText("said in the session").waitFor()
        await turns.getByText("look_up").click()
        await turns.getByRole("region", { name: "Result of look_up" }).getByText(HOSTILE).waitFor()
        await turns.getByText("please look up").waitFor()
        await turns.getByText("first", { exact: false }).first().waitFor()
        await turns.getByRole("link", { name: "other way" }).waitFor()
        assert.strictEqual(await page.locator("main img, main script").count(), 0)
        assert.notInclude(await page.content(), KEY)
        for (const href of await turns.getByRole("link").evaluateAll((all) => all.map((a) => a.getAttribute("href")))) {
          assert.notMatch(String(href), /^javascript/)
        }
      })
      yield* StudioPages.picture(page, "session-turns")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("shows branches, compares checkpoints, restores, keeps and forks", () =>
    Effect.gen(function* () {
      const server = yield* serve
      const opened = yield* open
      yield* StudioPages.enter(opened, server)
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        await prepare(page)
        await page.goto(`${server.url}/studio/#/sessions/main?tab=branches`)
        await page.getByRole("list", { name: "Branches" }).getByText("forked after turn 2").waitFor()
      })
      yield* StudioPages.picture(page, "session-branches")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      yield* Effect.promise(async () => {
        await page.getByRole("tab", { name: "Checkpoints" }).click()
        await page.getByRole("radio", { name: "Compare from first" }).check()
        await page.getByRole("radio", { name: "Compare to second" }).check()
        const diff = page.getByRole("region", { name: "From first to second" })
        await diff.getByRole("region", { name: "Variables: tone" }).getByText(HOSTILE).waitFor()
        await diff.getByText("said in the session").waitFor()
      })
      yield* StudioPages.picture(page, "session-checkpoints")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        await page.getByRole("row").filter({ hasText: "first" }).getByRole("button", { name: "Restore" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click()
        await page.getByText("The session was restored.").waitFor()
        assert.strictEqual((await ask(page, "/v1/sessions/main")).depth, 2)
        await page.getByRole("button", { name: "Keep a checkpoint" }).click()
        await page.getByRole("dialog").getByLabel("Name").fill("third")
        await page.keyboard.press("Enter")
        await page.getByText("A checkpoint was kept.").waitFor()
        await page.getByRole("row").filter({ hasText: "third" }).getByRole("button", { name: "Fork" }).click()
        await page.getByLabel("Name of the branch").fill("new way")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: /new way/ }).waitFor()
      })
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("merges a branch with each conflict decided by hand", () =>
    Effect.gen(function* () {
      const server = yield* serve
      const opened = yield* open
      yield* StudioPages.enter(opened, server)
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        await prepare(page)
        await page.goto(`${server.url}/studio/#/sessions/main?tab=branches`)
        await page.getByRole("link", { name: "Merge into this one" }).click()
        const tone = page.getByRole("group", { name: "Variable tone" })
        await tone.getByText(HOSTILE).waitFor()
        await page.getByText("said on the branch").waitFor()
        assert.isTrue(await page.getByRole("button", { name: "Merge", exact: true }).isDisabled())
        await tone.getByLabel("The branch", { exact: true }).check()
        await page.getByText("1 conflict is not decided").waitFor()
      })
      yield* StudioPages.picture(page, "session-merge")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        const color = page.getByRole("group", { name: "Variable color" })
        await color.getByLabel("This session", { exact: true }).check()
        // Somebody else changes the session meanwhile.
        await ask(page, "/v1/sessions/main", { variables: { tone: "new", color: "blue" } }, "PATCH")
        await page.getByRole("button", { name: "Merge", exact: true }).click()
        await page.getByText("The conflicts are no longer those that were decided").waitFor()
        await page.getByRole("button", { name: "Look again" }).click()
        const tone = page.getByRole("group", { name: "Variable tone" })
        await tone.getByText("new", { exact: true }).waitFor()
        await page.getByRole("button", { name: "All of the branch" }).click()
        await color.getByLabel("This session", { exact: true }).press("Space")
        await page.getByRole("button", { name: "Merge", exact: true }).press("Enter")
        await page.getByText("Merged: 2 turns were copied.").waitFor()
        const { depth, variables } = await ask(page, "/v1/sessions/main")
        assert.deepStrictEqual(variables, { tone: "loud", color: "blue", more: [1, 2] })
        assert.strictEqual(depth, 6)
        await page.getByText("The branch has nothing that this session lacks.").waitFor()
        await page.getByRole("tab", { name: "State" }).click()
        await page.getByRole("region", { name: "Variables" }).first().getByText("loud").first().waitFor()
      })
      assert.deepStrictEqual(
        problems.filter((problem) => !problem.includes("409")),
        []
      )
    })
  )

  it.scopedLive("says that it knows no such session, and which layer a server without sessions lacks", () =>
    Effect.gen(function* () {
      const server = yield* serve
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/sessions/none")
      const { page } = opened
      yield* Effect.promise(() => page.getByText("No session of yours has this id").first().waitFor())
      const bare = yield* StudioPages.serve({ agents })
      const second = yield* open
      yield* StudioPages.enter(second, bare, "#/sessions")
      yield* Effect.promise(() => second.page.getByRole("note").getByText("This server keeps no sessions").waitFor())
    })
  )
})

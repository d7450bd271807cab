import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { BrowserContextOptions, Page } from "playwright-core"
import * as Agent from "../../src/agent/definition/Agent.js"
import { UserId } from "../../src/domain/Ids.js"
import * as Studio from "../../src/studio/Studio.js"
import * as AgentServers from "../support/AgentServers.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"
import * as TestServers from "../support/TestServers.js"
import * as StudioServers from "./StudioServers.js"

const agents = [Agent.make("clerk", { system: "You help." })]

const started = (server: AgentServers.Server, user: string) =>
  Effect.map(
    server.ask("/v1/runs?wait=60", { body: { agent: "clerk", input: `of ${user}` }, user }),
    ({ json }) => json.run as { readonly runId: string; readonly createdAt: number }
  )

/** A server of one's own with the edge alone: no links, and callers by their tokens. */
const served = Effect.gen(function* () {
  const page = yield* Effect.promise(TestServers.studioPage)
  const edge = yield* Studio.edge({ agents, page }).pipe(Effect.provide(NodeFileSystem.layer))
  return yield* AgentServers.start({ agents, authentication: StudioServers.developers, edges: [edge] })
})

const signIn = ({ page }: Chromium.Opened, url: string, token: string) =>
  Effect.promise(async () => {
    await page.goto(`${url}/studio/`)
    await page.getByRole("textbox").fill(token)
    await page.getByRole("button", { name: "Sign in" }).click()
  })

/** Pages of a further context of the browser: they share cookies. */
const contextOf = (page: Page, options?: BrowserContextOptions) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const browser = page.context().browser()
        if (browser === null) throw new Error("There is no browser")
        return browser.newContext(options)
      }),
      (context) => Effect.promise(() => context.close())
    ),
    (context) => Effect.promise(() => context.newPage())
  )

Chromium.suite((open) => {
  it.scopedLive("lets developers in by their tokens on a server of one's own, each with what is theirs", () =>
    Effect.gen(function* () {
      const server = yield* served
      const [first, second] = yield* Effect.all([open, open])
      const runs = yield* Effect.all({ ann: started(server, "ann"), bob: started(server, "bob") })
      yield* signIn(first, server.url, "token-plain")
      yield* Effect.promise(() => first.page.getByRole("alert").getByText("may not use the studio").waitFor())
      yield* signIn(first, server.url, "token-ann")
      yield* signIn(second, server.url, "token-bob")
      for (const [{ page }, own, other] of [
        [first, "ann", "bob"],
        [second, "bob", "ann"]
      ] as const) {
        yield* Effect.promise(async () => {
          await page.getByRole("navigation", { name: "Views" }).waitFor()
          await page.getByText(own, { exact: true }).waitFor()
          await page.goto(`${server.url}/studio/#/runs`)
          await page.locator(`a[href="#/runs/${runs[own].runId}"]`).waitFor()
          assert.strictEqual(await page.getByRole("list", { name: "Runs" }).getByRole("listitem").count(), 1)
          await page.goto(`${server.url}/studio/#/runs/${runs[other].runId}`)
          await page.getByRole("alert").first().waitFor()
          assert.strictEqual(await page.getByText(`of ${other}`).count(), 0)
        })
      }
    })
  )

  it.scopedLive("keeps the sessions of two users of one browser apart, each on its own server", () =>
    Effect.gen(function* () {
      const [ann, bob] = yield* Effect.all([
        StudioPages.serve({ agents, userId: UserId.make("ann") }),
        StudioPages.serve({ agents, userId: UserId.make("bob") })
      ])
      const { page } = yield* open
      const newPage = yield* contextOf(page)
      const pages = yield* Effect.all([newPage, newPage])
      yield* StudioPages.enter({ page: pages[0], problems: [] }, ann)
      yield* StudioPages.enter({ page: pages[1], problems: [] }, bob)
      yield* Effect.promise(async () => {
        for (const [at, name] of ["ann", "bob"].entries()) {
          await pages[at]?.reload()
          await pages[at]?.getByText(name, { exact: true }).waitFor()
        }
      })
    })
  )

  it.scopedLive("shows times in the zone of the person", () =>
    Effect.gen(function* () {
      const server = yield* served
      const { createdAt, runId } = yield* started(server, "ann")
      const { page } = yield* open
      for (const timezoneId of ["Asia/Kolkata", "America/New_York"]) {
        const zoned = yield* Effect.flatten(contextOf(page, { timezoneId, locale: "en-US" }))
        yield* signIn({ page: zoned, problems: [] }, server.url, "token-ann")
        const shown = yield* Effect.promise(async () => {
          await zoned.getByRole("navigation", { name: "Views" }).waitFor()
          await zoned.goto(`${server.url}/studio/#/runs/${runId}`)
          const time = zoned.locator("dd time").first()
          await time.waitFor()
          return { text: await time.innerText(), at: Date.parse((await time.getAttribute("datetime")) ?? "") }
        })
        assert.isAtLeast(shown.at, createdAt)
        const format = new Intl.DateTimeFormat("en-US", {
          dateStyle: "medium",
          timeStyle: "medium",
          timeZone: timezoneId
        })
        // A narrow space is a space.
        const plain = (text: string) => text.replace(/\s+/g, " ")
        assert.strictEqual(plain(shown.text), plain(format.format(shown.at)))
      }
    })
  )
})

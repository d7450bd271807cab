import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as DefaultPrompts from "../../src/prompt/defaults/DefaultPrompts.js"
import * as PromptHistory from "../../src/prompt/PromptHistory.js"
import * as PromptVersions from "../../src/prompt/PromptVersions.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"

const HOSTILE = "</script><img src=x onerror=alert(1)>"

const step = DefaultPrompts.steps[0]!
const name = `${step.pattern}/${step.name}`

const overriding = (system: string) => ({ [step.pattern]: { [step.name]: { system } } })

const versions = (() => {
  const first = PromptVersions.add(PromptVersions.empty, {
    overrides: overriding("You are brief.\nYou are kind."),
    note: `First ${HOSTILE}`,
    createdAt: 1_000_000_000_000
  })
  const { versions } = PromptVersions.add(first.versions, {
    overrides: overriding(`You are brief.\n\nYou say ${HOSTILE}`)
  })
  return Either.getOrThrow(PromptVersions.label(versions, "production", 1))
})()

const inUse = CustomPrompts.layer({ overrides: overriding(`You are brief.\n\nYou say ${HOSTILE}`) })

const agents = [Agent.make("helper")]

Chromium.suite((open) => {
  it.scopedLive("shows prompts, versions and labels, and what changed line by line", () =>
    Effect.gen(function* () {
      const others = Layer.orDie(Layer.merge(inUse, PromptHistory.layer(versions))) as never
      const server = yield* StudioPages.serve({ agents, others })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/prompts")
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        await page.getByLabel("Search in names and texts").fill("onerror")
        await page.getByRole("link", { name: new RegExp(name) }).press("Enter")
        await page.getByRole("region", { name: "System half" }).getByText(HOSTILE).waitFor()
        await page.getByLabel("From").selectOption({ label: "Version 1 (production)" })
        const lines = page.getByRole("region", { name: `Lines of ${name}/system` })
        await lines.locator("del").getByText("You are kind.").waitFor()
        await lines.locator("ins").getByText(HOSTILE).waitFor()
        assert.strictEqual(await page.locator("main img, main script").count(), 0)
        await page.getByLabel("To").selectOption({ label: "Version 1 (production)" })
        await page.getByText("They do not differ.").waitFor()
        await page.getByLabel("To").selectOption({ label: "In use" })
        await lines.waitFor()
        assert.include(page.url(), "from=1")
      })
      yield* StudioPages.picture(page, "prompts")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        await page.getByRole("tab", { name: "Versions" }).click()
        const table = page.getByRole("region", { name: "Versions" })
        await table.getByRole("row").filter({ hasText: "production" }).getByText(HOSTILE).waitFor()
        await page.getByRole("region", { name: `Lines of ${name}/system` }).waitFor()
      })
      yield* StudioPages.picture(page, "prompt-versions")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("says how a server keeps versions", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/prompts?tab=versions")
      const { page } = opened
      yield* Effect.promise(async () => {
        await page.getByRole("note").getByText("PromptHistory.layer(versions)").waitFor()
        await page.getByText("They do not differ.").waitFor()
        await page.goto(`${server.url}/studio/#/prompts/none`)
        await page.getByText("No prompt has this name.").waitFor()
      })
    })
  )
})

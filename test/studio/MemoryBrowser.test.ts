import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/agent/definition/Agent.js"
import { EntryId, UserId } from "../../src/domain/Ids.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as FactStore from "../../src/memory/facts/FactStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as Chromium from "../support/Chromium.js"
import * as StudioPages from "../support/StudioPages.js"
import * as HostileText from "../trace/HostileText.js"

const user = UserId.make("dev")
const HOSTILE = "</script><img src=x onerror=alert(1)>"
const day = 86_400_000

const hostile = HostileText.pieces.filter((piece) => !/\p{Surrogate}/u.test(piece) && piece !== "\u0000").join(" ")

const entry = (id: string, timestamp: number, content: string) =>
  MemoryEntry.make({
    id: EntryId.make(id),
    ownerId: user as never,
    role: "user",
    content,
    timestamp,
    importance: 0.7,
    metadata: {}
  })

/** Entries of the last days, many old ones, and facts that replaced one another. */
const remembered = Layer.effectDiscard(
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const facts = yield* FactStore.FactStore
    const now = yield* Clock.currentTimeMillis
    yield* store.storeMany([
      entry("e1", now - 5 * day, "I live in Rome"),
      entry("e2", now - 2 * day, "I live in Oslo now"),
      entry("e3", now - day, `My dog is named ${HOSTILE}`),
      entry("e4", now - 3 * day, hostile),
      ...Array.from({ length: 150 }, (_, at) => entry(`old${at}`, day * (at + 1), `Note ${at} of long ago`))
    ])
    const said = (object: string, ago: number, source: string) =>
      facts.assert(user, [
        {
          subject: "user",
          predicate: "lives in",
          object,
          validFrom: now - ago * day,
          replaces: true,
          sources: [EntryId.make(source)]
        }
      ])
    yield* said("Rome", 300, "e1")
    yield* said("Oslo", 200, "e2")
    yield* said("Lima", 120, "e1")
    yield* facts.assert(user, [
      { subject: HOSTILE, predicate: "is", object: "a dog", validFrom: now - 100 * day, confidence: 0.4 }
    ])
  })
).pipe(Layer.provideMerge(DefaultMemory.layer()), Layer.orDie)

const agents = [Agent.make("helper")]
const setup = { agents, userId: user, others: remembered as never }

Chromium.suite((open) => {
  it.scopedLive("searches with the parts of each score, and shows facts on a time line", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve(setup)
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/memory")
      const { page, problems } = opened
      const now = yield* Clock.currentTimeMillis
      yield* Effect.promise(async () => {
        await page.getByRole("searchbox", { name: "Question" }).fill("Where do I live?")
        await page.getByRole("searchbox", { name: "Question" }).press("Enter")
        const first = page.getByRole("list", { name: "Results" }).getByRole("listitem").first()
        await first.getByText("I live in").waitFor()
        const cells = await first.getByRole("row").filter({ hasText: "relevance" }).getByRole("cell").allTextContents()
        const [value, weight, adds] = cells.map(Number)
        assert.approximately((value ?? 0) * (weight ?? 0), adds ?? -1, 0.002)
        assert.include(page.url(), "q=Where")
      })
      yield* StudioPages.picture(page, "memory-search")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        await page.getByRole("tab", { name: "Facts" }).click()
        const facts = page.getByRole("list", { name: "Facts" })
        const row = (text: string) => facts.getByRole("listitem").filter({ hasText: text })
        await row("user lives in Rome").waitFor()
        assert.strictEqual(await facts.getByRole("listitem").count(), 4)
        assert.include(await row("user lives in Lima").textContent(), "holds")
        await row("user lives in Oslo").getByText("1 entry").click()
        await facts.getByText("I live in Oslo now").waitFor()
        await page.getByLabel("Those that have ended, too").uncheck()
        await row("user lives in Rome").waitFor({ state: "detached" })
        await page.getByLabel("As of").fill(new Date(now - 250 * day).toISOString().slice(0, 16))
        await row("user lives in Rome").waitFor()
        await row("user lives in Lima").waitFor({ state: "detached" })
        await page.getByLabel("As of").fill("")
        await page.getByLabel("Those that have ended, too").check()
        await row("user lives in Rome").waitFor()
      })
      yield* StudioPages.picture(page, "memory-facts")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("shows entries of any text as text, page by page, and forgets one", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve(setup)
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/memory?tab=entries")
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        const list = page.getByRole("list", { name: "Entries" })
        await list.getByText("onerror").first().waitFor()
        assert.strictEqual(await page.locator("main img, main script, main svg").count(), 0)
        await page.getByText("100 entries so far").waitFor()
        await page.getByRole("button", { name: "Show older ones" }).click()
        await page.getByText("154 entries", { exact: true }).waitFor()
        assert.isBelow(await list.getByRole("listitem").count(), 60)
        const row = list.getByRole("listitem").filter({ hasText: "My dog is named" })
        await row.getByRole("button", { name: "Forget" }).press("Enter")
        await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click()
        await page.getByText("Forgot the entry and").waitFor()
        await row.waitFor({ state: "detached" })
      })
      yield* StudioPages.picture(page, "memory-entries")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("shows what a model would be shown, and what consolidation would do, and erases all", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve(setup)
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/memory?tab=assemble")
      const { page, problems } = opened
      yield* Effect.promise(async () => {
        await page.getByRole("textbox", { name: "Question" }).fill("Where do I live?")
        await page.getByLabel("Tokens").fill("400")
        await page.getByLabel("Tokens").press("Enter")
        await page.getByRole("region", { name: "The message" }).getByText("user lives in Lima").waitFor()
        const rows = page.getByRole("region", { name: "Sections" }).getByRole("row")
        assert.include(await rows.filter({ hasText: "Facts" }).textContent(), "Facts")
        await page.getByText("Left out (").first().click()
      })
      yield* StudioPages.picture(page, "memory-assembly")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      assert.deepStrictEqual(yield* StudioPages.overflow(page), [])
      yield* Effect.promise(async () => {
        await page.getByRole("tab", { name: "Upkeep" }).click()
        assert.isTrue(await page.getByRole("button", { name: "Do it" }).isDisabled())
        await page.getByRole("button", { name: "Show what it would do" }).click()
        await page.getByText("Nothing was changed. It would be:").waitFor()
        const leaving = page.getByRole("list", { name: "Entries that leave" })
        await leaving.getByText("Note 0 of long ago").waitFor()
        await leaving.getByText("removed", { exact: true }).first().waitFor()
      })
      yield* StudioPages.picture(page, "memory-upkeep")
      assert.deepStrictEqual(yield* StudioPages.violations(page), [])
      yield* Effect.promise(async () => {
        await page.getByRole("button", { name: "Do it" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Consolidate" }).click()
        await page.getByText("Done.", { exact: true }).waitFor()
        await page.getByRole("button", { name: "Erase all memory" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click()
        assert.strictEqual(await page.getByText("Erased").count(), 0)
        await page.getByRole("button", { name: "Erase all memory" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Erase" }).click()
        await page.getByText(/^Erased \d+ entries/).waitFor()
        await page.getByRole("tab", { name: "Entries" }).click()
        await page.getByText("Nothing is remembered of you.").waitFor()
      })
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("loads facts page by page while the list is scrolled", () =>
    Effect.gen(function* () {
      const many = Layer.effectDiscard(
        Effect.gen(function* () {
          const facts = yield* FactStore.FactStore
          yield* facts.assert(
            user,
            Array.from({ length: 450 }, (_, at) => ({
              subject: `book ${at}`,
              predicate: "is on",
              object: `shelf ${at}`
            }))
          )
        })
      ).pipe(Layer.provideMerge(DefaultMemory.layer()), Layer.orDie)
      const server = yield* StudioPages.serve({ agents, userId: user, others: many as never })
      const opened = yield* open
      const { page, problems } = opened
      yield* StudioPages.enter(opened, server, "#/memory?tab=facts")
      const facts = page.getByRole("list", { name: "Facts" })
      yield* Effect.promise(async () => {
        for (const count of [/^200 facts, more/, /^400 facts, more/, /^450 facts$/]) {
          await page.getByText(count).waitFor()
          assert.isBelow(await facts.getByRole("listitem").count(), 60)
          await facts.evaluate((list) => {
            list.scrollTop = list.scrollHeight
          })
        }
        await facts.locator('[aria-posinset="450"]').waitFor()
      })
      assert.deepStrictEqual(problems, [])
    })
  )

  it.scopedLive("says which layer a server without memory lacks", () =>
    Effect.gen(function* () {
      const server = yield* StudioPages.serve({ agents, userId: user })
      const opened = yield* open
      yield* StudioPages.enter(opened, server, "#/memory?tab=facts")
      yield* Effect.promise(() => opened.page.getByRole("note").getByText("DefaultMemory.layer()").waitFor())
    })
  )
})

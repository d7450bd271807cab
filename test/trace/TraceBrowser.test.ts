import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Trace from "../../src/trace/Trace.js"
import * as Chromium from "../support/Chromium.js"
import { beyond, elementsOf, lowestContrast, setOpen, show } from "../support/PageChecks.js"
import * as HostileText from "./HostileText.js"
import * as TracedRuns from "./TracedRuns.js"

const hostile = (text: string) =>
  Trace.toHtml(Trace.fromEvents(HostileText.events(text)), { content: true, nodes: true, title: text })

const everyPiece = HostileText.pieces.join(" ")

const longest = "https://evil.example/".repeat(40)

Chromium.suite((open) => {
  it.scopedLive("a page of hostile texts loads nothing, runs nothing, and has the elements of any other", () =>
    Effect.gen(function* () {
      const { page, problems } = yield* open
      let dialogs = 0
      page.on("dialog", (dialog) => {
        dialogs++
        return dialog.dismiss()
      })
      const asked = yield* show(page, hostile(everyPiece))
      const samples = FastCheck.sample(HostileText.text, { seed: 7, numRuns: 60 }).map((text) => `x${text}`)
      const pages = [...HostileText.pieces.map((piece) => `x${piece}`), ...samples, everyPiece].map(hostile)
      const [known] = yield* elementsOf(page, [hostile("x")])
      for (const elements of yield* elementsOf(page, pages)) assert.strictEqual(elements, known)
      // Opened details may show what they hold, and still nothing is loaded.
      yield* setOpen(page, true)
      assert.include(yield* Effect.promise(() => page.locator("pre").first().innerText()), "<script>alert(1)</script>")
      assert.deepStrictEqual(asked, ["http://page.example/"])
      assert.deepStrictEqual(problems, [])
      assert.strictEqual(dialogs, 0)
    })
  )

  it.scopedLive("its policy stops what would be added to it", () =>
    Effect.gen(function* () {
      const { page } = yield* open
      const html = hostile("x").replace(
        "<main",
        `<img src="https://evil.example/a.png"><style>body{display:none}</style><script>document.title="run"</script><form action="https://evil.example"><button>send</button></form><main`
      )
      const asked = yield* show(page, html)
      const shown = yield* Effect.promise(() =>
        page.evaluate(() => [document.title, getComputedStyle(document.body).display])
      )
      assert.deepStrictEqual(shown, ["x", "block"])
      yield* Effect.promise(() => page.evaluate(() => document.forms[0]?.submit()))
      assert.deepStrictEqual(asked, ["http://page.example/"])
    })
  )

  for (const scheme of ["light", "dark"] as const) {
    it.scopedLive(`fits widths from 320 to 1600 and is readable in ${scheme} colors`, () =>
      Effect.gen(function* () {
        const { page } = yield* open
        yield* Effect.promise(() => page.emulateMedia({ colorScheme: scheme }))
        const office = Trace.fromEvents(yield* TracedRuns.office)
        for (const html of [Trace.toHtml(office), hostile(longest), hostile(everyPiece)]) {
          yield* show(page, html)
          yield* setOpen(page, true)
          for (const width of [320, 640, 1600]) {
            yield* Effect.promise(() => page.setViewportSize({ width, height: 800 }))
            assert.isAtMost(yield* beyond(page), 0, `at ${width}`)
          }
          const { ratio, text } = yield* lowestContrast(page)
          assert.isAtLeast(ratio, 4.5, text)
        }
      })
    )
  }

  it.scopedLive("has landmarks, headings and names, and is used by keyboard", () =>
    Effect.gen(function* () {
      const { page } = yield* open
      yield* show(page, Trace.toHtml(Trace.fromEvents(yield* TracedRuns.office), { content: true }))
      yield* Effect.promise(async () => {
        for (const role of ["banner", "main", "contentinfo"] as const)
          assert.strictEqual(await page.getByRole(role).count(), 1)
        assert.strictEqual(await page.getByRole("navigation", { name: "Runs" }).count(), 1)
        for (const name of ["Timeline", "3 errors"])
          assert.strictEqual(await page.getByRole("region", { name }).count(), 1)
        assert.strictEqual(await page.getByRole("heading", { level: 1 }).innerText(), "Trace of chief")
        const levels = await page
          .getByRole("heading")
          .evaluateAll((all) => all.map(({ tagName }) => Number(tagName.slice(1))))
        for (const [at, level] of levels.entries()) assert.isAtMost(level, (levels[at - 1] ?? 0) + 1)
        const unnamed = await page
          .locator("a, summary, section, nav, [role=img]")
          .evaluateAll((all) => all.filter((one) => (one.ariaLabel ?? one.textContent ?? "").trim() === "").length)
        assert.strictEqual(unnamed, 0)
        // The first stop is the link past the lists.
        await page.keyboard.press("Tab")
        const skip = page.getByRole("link", { name: "Skip to the trace" })
        assert.isTrue(await skip.evaluate((one) => one === document.activeElement))
        assert.notStrictEqual(await skip.evaluate((one) => getComputedStyle(one).outlineStyle), "none")
        await page.keyboard.press("Enter")
        assert.strictEqual(new URL(page.url()).hash, "#main")
        const summary = page.locator("details.content > summary").first()
        const isOpen = () => summary.evaluate((one) => (one.parentElement as HTMLDetailsElement).open)
        await summary.focus()
        assert.isTrue(await isOpen())
        await page.keyboard.press("Enter")
        assert.isFalse(await isOpen())
        await page.keyboard.press("Space")
        assert.isTrue(await isOpen())
        // A link goes to a place in a run that was closed.
        await Effect.runPromise(setOpen(page, false))
        await page.getByRole("link", { name: "tool look_up" }).last().focus()
        await page.keyboard.press("Enter")
        assert.isTrue(await page.locator("li:target").isVisible())
      })
    })
  )
})

import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as EvalReport from "../../../src/eval/report/EvalReport.js"
import * as Chromium from "../../support/Chromium.js"
import { beyond, elementsOf, lowestContrast, setOpen, show } from "../../support/PageChecks.js"
import * as HostileText from "../../trace/HostileText.js"
import { hostile, models } from "./ReportedExperiments.js"

const page = (results: typeof models) =>
  EvalReport.toHtml(Either.getOrThrow(EvalReport.make(results)), { content: true })

const everyPiece = HostileText.pieces.join(" ")

Chromium.suite((open) => {
  it.scopedLive("a report of hostile texts loads nothing, runs nothing, and has the elements of any other", () =>
    Effect.gen(function* () {
      const { page: shown, problems } = yield* open
      const asked = yield* show(shown, page(hostile(everyPiece)))
      const samples = FastCheck.sample(HostileText.text, { seed: 7, numRuns: 40 }).map((text) => `x${text}`)
      const pages = [...HostileText.pieces.map((piece) => `x${piece}`), ...samples].map((text) => page(hostile(text)))
      const [known] = yield* elementsOf(shown, [page(hostile("x"))])
      for (const elements of yield* elementsOf(shown, pages)) assert.strictEqual(elements, known)
      yield* setOpen(shown, true)
      assert.deepStrictEqual(asked, ["http://page.example/"])
      assert.deepStrictEqual(problems, [])
    })
  )

  for (const scheme of ["light", "dark"] as const) {
    it.scopedLive(`fits widths from 320 to 1600 and is readable in ${scheme} colors`, () =>
      Effect.gen(function* () {
        const { page: shown } = yield* open
        yield* Effect.promise(() => shown.emulateMedia({ colorScheme: scheme }))
        for (const html of [
          page(models),
          page(hostile("https://evil.example/".repeat(40))),
          page(hostile(everyPiece))
        ]) {
          yield* show(shown, html)
          yield* setOpen(shown, true)
          for (const width of [320, 640, 1600]) {
            yield* Effect.promise(() => shown.setViewportSize({ width, height: 800 }))
            assert.isAtMost(yield* beyond(shown), 0, `at ${width}`)
          }
          const { ratio, text } = yield* lowestContrast(shown)
          assert.isAtLeast(ratio, 4.5, text)
        }
      })
    )
  }

  it.scopedLive("has landmarks, headings and names, and is used by keyboard", () =>
    Effect.gen(function* () {
      const { page: shown } = yield* open
      yield* show(shown, page(models))
      yield* Effect.promise(async () => {
        for (const role of ["banner", "main", "contentinfo"] as const) {
          assert.strictEqual(await shown.getByRole(role).count(), 1)
        }
        for (const name of ["large", "small", "What changed", "Cases"]) {
          assert.strictEqual(await shown.getByRole("region", { name, exact: true }).count(), 1, name)
        }
        await shown.keyboard.press("Tab")
        const skip = shown.getByRole("link", { name: "Skip to the report" })
        assert.isTrue(await skip.evaluate((one) => one === document.activeElement))
        const summary = shown.locator(".cases summary").first()
        const isOpen = () => summary.evaluate((one) => (one.parentElement as HTMLDetailsElement).open)
        await summary.focus()
        assert.isFalse(await isOpen())
        await shown.keyboard.press("Enter")
        assert.isTrue(await isOpen())
        assert.include(await shown.locator(".cases > li").first().innerText(), "canary of a failure")
      })
    })
  )
})

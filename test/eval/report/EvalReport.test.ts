import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as EvalReport from "../../../src/eval/report/EvalReport.js"
import * as Experiments from "../../support/Experiments.js"
import * as ReportedExperiments from "./ReportedExperiments.js"

const make = (given: Experiments.Given, options?: EvalReport.Options) =>
  Either.getOrThrow(EvalReport.make(Experiments.results(given), options))

const { canaries, hostile, models } = ReportedExperiments

describe("EvalReport", () => {
  it("compares variants with the first one, or with what it is told", () => {
    const given = { variants: { a: [[1], [1]], b: [[1], [0]], c: [[0], [1]] } }
    const names = (options?: EvalReport.Options) =>
      make(given, options).comparisons.map(({ baseline, candidate }) => `${baseline} ${candidate}`)
    assert.deepStrictEqual(names(), ["a b", "a c"])
    const results = Experiments.results(given)
    assert.deepStrictEqual(
      Either.getOrThrow(EvalReport.make(results, { baseline: { results, variant: "c" } })).comparisons.map(
        ({ baseline, candidate }) => `${baseline} ${candidate}`
      ),
      ["c a", "c b"]
    )
    const before = Experiments.results({ id: "before", variants: { old: [[1], [1]] } })
    assert.deepStrictEqual(names({ baseline: before }), ["old a", "old b", "old c"])
    assert.deepStrictEqual(make({ variants: { a: [[1], [1]] } }).comparisons, [])
    assert.isTrue(Either.isLeft(EvalReport.make(results, { baseline: { results, variant: "d" } })))
    assert.isTrue(Either.isLeft(EvalReport.make(results, { tolerance: -1 })))
    assert.deepStrictEqual(
      [{}, { tolerance: 0.9 }].map((more) => make(given, more).comparisons[0]?.pWorse),
      [0.5, 0.75]
    )
    const other = Experiments.results({ version: "w", variants: { old: [[1]] } })
    assert.isTrue(Either.isLeft(EvalReport.make(results, { baseline: other })))
  })

  it("has the cases with the lowest scores first", () => {
    const { cases } = make({ variants: { a: [[1], [0], [0.5]], b: [[1], [1], [0.25]] } })
    assert.deepStrictEqual(
      cases.map(({ caseId, mean }) => [caseId, mean]),
      [
        ["case 3", 0.375],
        ["case 2", 0.5],
        ["case 1", 1]
      ]
    )
    assert.deepStrictEqual(
      cases[0]?.trials.map(({ trial }) => trial.variant),
      ["a", "b"]
    )
  })

  it("is Markdown with a table of variants and one of changes", () => {
    const text = EvalReport.toMarkdown(Either.getOrThrow(EvalReport.make(models)))
    const [title, , about, , head, , ...rows] = text.split("\n")
    assert.deepStrictEqual([title, about], ["## sums", "40 cases of d v, run e."])
    assert.strictEqual(head, "| Variant | exact | judge | Failed | Median time | Cost |")
    assert.match(
      rows[0] ?? "",
      /^\| large \| 90\.0 % \(\d+\.\d % to \d+\.\d %\) \| .* \| 0 of 80 \| 1\.2 s \| \$0\.80 \|$/
    )
    assert.match(text, /\| worse \| small after large \| exact \| 90\.0 % → 50\.0 % \| −40\.0 points/)
    assert.include(text, "case 21, case 22")
    const short = EvalReport.toMarkdown(Either.getOrThrow(EvalReport.make(models)), { maxCases: 1 })
    assert.notInclude(short, "case 22")
  })

  it("hides outputs, reasons and messages, unless it is asked for them", () => {
    const report = Either.getOrThrow(EvalReport.make(models))
    const all = EvalReport.toHtml(report, { content: true })
    for (const canary of canaries) {
      assert.notInclude(EvalReport.toMarkdown(report), canary)
      assert.notInclude(EvalReport.toHtml(report), canary)
      assert.include(all, canary)
    }
    assert.notInclude(all, "sk-ant-api03")
    assert.notInclude(EvalReport.toHtml(report, { content: true, maxCharacters: 5 }), canaries[0] ?? "")
  })

  it("bounds the cases that it shows, and takes a title", () => {
    const report = Either.getOrThrow(EvalReport.make(models))
    const page = EvalReport.toHtml(report, { maxCases: 3, title: "Nightly <b>" })
    assert.lengthOf(page.match(/<details><summary>/g) ?? [], 3)
    assert.include(page, "37 more cases are not shown")
    assert.include(page, "<title>Nightly &lt;b&gt;</title>")
  })

  it("says how far scorers agree with people, where there are labels", () => {
    const report = Either.getOrThrow(EvalReport.make(models))
    assert.deepStrictEqual(
      report.labelled.map(({ labels, people, scorer }) => [scorer, labels, people]),
      [["judge", 80, 2]]
    )
    // The judge gives 0.5 to what it calls wrong, which is good from 0.5 on.
    const row = (threshold?: number) =>
      EvalReport.toMarkdown(Either.getOrThrow(EvalReport.make(models, { threshold })))
        .split("\n")
        .find((line) => line.startsWith("| judge |"))
    assert.strictEqual(row(0.6), "| judge | 90.0 % | 0.80 | 0.96 | 40 | 2 | 0.80 |")
    assert.match(row() ?? "", /^\| judge \| 62\.5 % \| 0\.07 \| 0\.96 \|/)
    assert.isTrue(Either.isLeft(EvalReport.make(models, { threshold: 2 })))
    const page = EvalReport.toHtml(report)
    assert.include(page, "40 outputs · alike 62.5 % · kappa 0.07 · Spearman 0.96")
    assert.include(page, "80 labels of 2 people · among people Krippendorff's alpha 0.80")
    assert.include(page, "<bdi>ada</bdi> on <bdi>judge</bdi> 25.0 %")
    assert.notInclude(EvalReport.toMarkdown(report), "ada")
  })

  it("says nothing of labels where there are none, and none of a measure without an answer", () => {
    const given = { variants: { a: [[1], [1]] } }
    for (const text of [EvalReport.toHtml(make(given)), EvalReport.toMarkdown(make(given))]) {
      assert.notMatch(text, /people|Agreement|Kappa/)
    }
    const trial = { caseId: "case 1", variant: "a", repetition: 1 }
    const report = make({ ...given, labels: [{ trial, scorer: "exact", value: 1, by: "ada", at: 1 }] })
    assert.include(EvalReport.toHtml(report), "1 output · alike 100.0 % · kappa none · Spearman none")
    assert.include(EvalReport.toMarkdown(report), "| exact | 100.0 % | none | none | 1 | 1 | none |")
  })

  it("bounds the labels of a trial and the people of a scorer", () => {
    const labels = Array.from({ length: 50 }, (_, index) => ({
      trial: { caseId: "case 1", variant: "a", repetition: 1 },
      scorer: "exact",
      value: 0.5,
      by: `person ${index}`,
      at: 1
    }))
    const page = EvalReport.toHtml(make({ variants: { a: [[1]] }, labels }))
    assert.lengthOf(page.match(/<bdi>person \d+<\/bdi> on/g) ?? [], 20)
    assert.lengthOf(page.match(/And 30 more/g) ?? [], 2)
  })

  it("says what is missing", () => {
    const cut = { ...models, finished: models.finished.slice(2), missing: 2, isOverBudget: true }
    const report = Either.getOrThrow(EvalReport.make(cut))
    assert.include(EvalReport.toHtml(report), "2 trials have no result: its budget is spent")
    assert.include(EvalReport.toMarkdown(report), "Not whole: 2 trials without a result")
  })

  it("says how much of a cost is known", () => {
    const costs = (...trials: ReadonlyArray<object>) =>
      /\| ([^|]*) \|\n$/.exec(EvalReport.toMarkdown(make({ variants: { a: trials.map((one) => [one]) } })))?.[1]
    assert.strictEqual(costs({ costUsd: 0.5 }), "$0.50")
    assert.strictEqual(costs({ costUsd: 0.5 }, { usage: { totalTokens: 1 } }), "at least $0.50")
    assert.strictEqual(costs({ usage: { totalTokens: 1 } }), "unknown")
  })

  it("lets no name be markup of Markdown", () => {
    const text = EvalReport.toMarkdown(
      Either.getOrThrow(EvalReport.make(hostile("[x](https://evil.example)\n# h | @all <b>")))
    )
    assert.notInclude(text, "](")
    assert.notInclude(text, "<b>")
    assert.notInclude(text, "@all")
    assert.notMatch(text, /^# h/m)
    const columns = text
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .map((line) => line.split("|").length)
    assert.deepStrictEqual(Array.from(new Set(columns)), [8, 10, 9])
  })
})

import { assert, describe, it } from "@effect/vitest"
import { installProblems, problems, repositoryProblems, withMap } from "../../scripts/pages.js"

const files: Readonly<Record<string, string>> = {
  "README.md": "# A library\n\n## Work on it\n",
  "docs/adr/0001-one.md": "# One",
  "src/tool/ToolRunner.ts": "",
  "scripts/layering.ts": ""
}

const check = (text: string, page = "docs/guide.md"): ReadonlyArray<string> =>
  problems(
    page,
    text,
    (path) => path in files,
    (path) => files[path] ?? ""
  )

describe("pages", () => {
  it("name only modules, files and headings that exist", () => {
    assert.deepStrictEqual(repositoryProblems(), [])
  })

  it("accepts modules, files and links that exist", () => {
    assert.deepStrictEqual(
      check(
        "`tool/ToolRunner`, `scripts/layering.ts`, `effect-lexigram/tool`, `Effect.gen`, [one](adr/0001-one.md), " +
          "[site](https://effect.website), [work](../README.md#work-on-it)"
      ),
      []
    )
  })

  it("rejects a missing module, file, link and heading", () => {
    assert.deepStrictEqual(check("`tool/Gone`, `scripts/gone.ts`, [two](adr/0002-two.md), [x](../README.md#gone)"), [
      "docs/guide.md: there is no module tool/Gone",
      "docs/guide.md: there is no file scripts/gone.ts",
      "docs/guide.md: the link adr/0002-two.md leads nowhere",
      "docs/guide.md: the link ../README.md#gone names no heading"
    ])
  })

  it("ignores fenced code", () => {
    assert.deepStrictEqual(check("```ts\nconst a = `tool/Gone`\n```"), [])
  })

  it("rejects installations of Effect without the version of the package", () => {
    const ranges = { effect: "^3.22.4", "@effect/ai": "^0.37.0", pg: "^8.0.0" }
    assert.deepStrictEqual(
      installProblems(
        "README.md",
        'npm install effect-lexigram effect@^3.22.4 @effect/ai@^0.37.0 pg\n`npm i @effect/ai` @effect/other effect\nnpm install effect@4\nhint: "npm install @effect/ai@^0.37.0. Or else"',
        ranges
      ),
      [
        "README.md: npm install @effect/ai without its version, ^0.37.0",
        "README.md: npm install effect without its version, ^3.22.4"
      ]
    )
  })

  it("draws the map between its marks and nowhere else", () => {
    const drawn = withMap("before\n<!-- map -->\nstale\n<!-- /map -->\nafter")
    assert.match(drawn, /^before\n<!-- map -->\n\n\| floor \| folder \| contents \|\n[\s\S]*\n\n<!-- \/map -->\nafter$/)
    assert.notInclude(drawn, "stale")
    assert.strictEqual(withMap(drawn), drawn)
    assert.strictEqual(withMap("no marks"), "no marks")
  })
})

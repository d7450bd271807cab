import { assert, describe, it } from "@effect/vitest"
import { resolve } from "../../scripts/site/RepositoryLinks.js"
import { problemsIn } from "../../scripts/site/SiteFiles.js"
import { subjects } from "../../scripts/site/Subjects.js"

const files: Readonly<Record<string, string>> = {
  "index.html": '<a href="/tools.html#parameters">',
  "tools.html": '<h2 id="parameters">',
  "adr/README.html": '<a href="/adr/0001.html"><img src="/drawing.svg"><a href="/tools.html#gone">',
  "hosts.html": '<link rel="stylesheet" href="https://fonts.example/a.css"><a href="https://effect.website">'
}

describe("site", () => {
  it("keeps links to pages, and leads the README home", () => {
    assert.strictEqual(resolve("runs.md", "durable.md#policies", undefined), "durable.md#policies")
    assert.strictEqual(resolve("adr/0001.md", "../../README.md", undefined), "../index.md")
    assert.strictEqual(resolve("runs.md", "https://effect.website", undefined), "https://effect.website")
  })

  it("leads links to files of the repository there, or nowhere without its address", () => {
    assert.isUndefined(resolve("concepts.md", "../ARCHITECTURE.md#glossary", undefined))
    assert.strictEqual(
      resolve("concepts.md", "../ARCHITECTURE.md#glossary", "https://code.example/main/"),
      "https://code.example/main/ARCHITECTURE.md#glossary"
    )
    assert.strictEqual(
      resolve("adr/0001.md", "../../src/tool", "https://code.example/main"),
      "https://code.example/main/src/tool"
    )
  })

  it("finds links that lead nowhere, and what pages load from other hosts", () => {
    const problems = problemsIn((file) => files[file])
    assert.deepStrictEqual(problems("index.html"), [])
    assert.deepStrictEqual(problems("adr/README.html"), [
      "adr/README.html: the link /adr/0001.html leads nowhere",
      "adr/README.html: the link /tools.html#gone names no heading",
      "adr/README.html: the link /drawing.svg leads nowhere"
    ])
    assert.deepStrictEqual(problems("hosts.html"), ["hosts.html: loads https://fonts.example/a.css"])
  })

  it("names each page once", () => {
    const pages = subjects.flatMap(({ entries }) => entries.map(({ page }) => page))
    assert.strictEqual(new Set(pages).size, pages.length)
  })
})

import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { abouts } from "../../scripts/reference/ApiEntries.js"
import * as ApiPages from "../../scripts/reference/ApiPages.js"
import * as Declarations from "../../scripts/reference/Declarations.js"
import * as DocText from "../../scripts/reference/DocText.js"
import * as Formatted from "../../scripts/reference/Formatted.js"
import * as PublicApi from "../../scripts/reference/PublicApi.js"
import * as ApiSection from "../../scripts/site/ApiSection.js"

const sources = {
  "index.ts": `export * as Shelf from "./shelf/Shelf.js"`,
  "shelf/index.ts": `export * as Shelf from "./Shelf.js"\nexport * as ShelfError from "./ShelfError.js"`,
  "shelf/ShelfError.ts": `/**
 * Failures of shelves.
 *
 * @since 0.1.0
 */
/**
 * A book does not fit.
 *
 * @since 0.2.0
 * @category errors
 */
export class ShelfFullError extends Error {
  readonly code = "LEX_ERR_SHELF_101"
  /** Books on the shelf. */
  readonly count: number = 0
}`,
  "shelf/Shelf.ts": `/**
 * Keeps books, see \`ShelfError\` and {@link make}.
 *
 * Books are in rows.
 *
 * @since 0.1.0
 */
import { ShelfFullError } from "./ShelfError.js"

/**
 * A \`Book<T>\` is text: <T> and {{ title }} are no markup.
 *
 * @since 0.1.0
 * @category models
 */
export interface Book<T> {
  /** Its pages, at least 1. */
  readonly pages: number
  /** @internal */
  readonly secret: T
}

/**
 * @since 0.1.0
 * @category combinators
 */
export const add = (self: ReadonlyArray<Book<string>>, { pages = 1 }: Partial<Book<string>> = {}) => [...self, { pages }]

/**
 * Makes a shelf. Fails with {@link ShelfError.ShelfFullError}.
 *
 * @example
 * \`\`\`ts
 * const shelf: Array<string> = []
 * \`\`\`
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (rows: number): ReadonlyArray<ShelfFullError> => [rows].map(() => new ShelfFullError())

/** @internal */
export const hidden = 1`
}

const made = (): ReadonlyMap<string, string> => {
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-api-"))
  try {
    for (const [file, text] of Object.entries(sources)) {
      Fs.mkdirSync(Path.dirname(Path.join(folder, file)), { recursive: true })
      Fs.writeFileSync(Path.join(folder, file), text)
    }
    const entries = [
      ["books", Path.join(folder, "index.ts")],
      ["books/shelf", Path.join(folder, "shelf/index.ts")]
    ] as const
    const program = PublicApi.programOf(entries.map(([, file]) => file))
    return ApiPages.make(PublicApi.read(program, { of: entries, signatures: false }), {
      textOf: (member) => {
        const [text = ""] = Formatted.all([Declarations.textOf(program.getTypeChecker(), member)])
        return Declarations.shown(text)
      },
      abouts: { "": { text: "All.", guides: [] }, shelf: { text: "Shelves.", guides: ["reading"] } },
      guideOf: (page) => `About ${page}`,
      addressOf: (file, line) => `https://code.example/${Path.basename(file)}#L${line}`,
      foreign: new Set()
    })
  } finally {
    Fs.rmSync(folder, { recursive: true, force: true })
  }
}

const none = (): undefined => undefined

describe("pages of the API", () => {
  const pages = made()
  const shelf = pages.get("shelf/Shelf.md") ?? ""

  it("has one page a module, one an entry and an index", () => {
    assert.deepStrictEqual([...pages.keys()].sort(), [
      "books/index.md",
      "index.md",
      "shelf/Shelf.md",
      "shelf/ShelfError.md",
      "shelf/index.md"
    ])
    assert.include(pages.get("index.md"), "[Shelf](shelf/Shelf.md), [ShelfError](shelf/ShelfError.md).")
    assert.include(pages.get("books/index.md"), "- [Shelf](../shelf/Shelf.md): Keeps books, see")
    assert.include(pages.get("shelf/index.md"), "Guides: [About reading](../../reading.md).")
    assert.include(shelf, 'import { Shelf } from "books/shelf"')
    assert.include(shelf, "Also in `books`.")
  })

  it("orders members by category, constructors first and models behind combinators", () => {
    assert.deepStrictEqual(
      Array.from(shelf.matchAll(/^###? (.*)$/gm), ([, title]) => title),
      [
        "Constructors {#category-constructors}",
        "make {#make}",
        "Combinators {#category-combinators}",
        "add {#add}",
        "Models {#category-models}",
        "Book {#Book}"
      ]
    )
  })

  it("links names in doc comments to members, modules and codes of errors", () => {
    assert.include(shelf, "Keeps books, see [`ShelfError`](ShelfError.md) and [`make`](#make).")
    assert.include(shelf, "Fails with [`ShelfError.ShelfFullError`](ShelfError.md#ShelfFullError).")
    assert.include(
      pages.get("shelf/ShelfError.md"),
      "Its code is [`LEX_ERR_SHELF_101`](../../reference-errors.md#lex_err_shelf_101)."
    )
  })

  it("says kind, version and source, and shows examples", () => {
    assert.match(
      shelf,
      /<p class="api-facts">function · since 0\.1\.0 · <a href="https:\/\/code\.example\/Shelf\.ts#L\d+">/
    )
    assert.include(shelf, "**Example**\n\n```ts\nconst shelf: Array<string> = []\n```")
  })

  it("keeps text of doc comments from Markdown and Vue", () => {
    assert.include(shelf, "A `Book<T>` is text: &lt;T> and <span v-pre>{{</span> title }} are no markup.")
    assert.strictEqual(
      DocText.markdown("a * b * c_d `x * y`\n# no\n- item\n```ts\nconst a = `<b>`\n```\n", none),
      "a \\* b \\* c\\_d `x * y`\n\\# no\n- item\n```ts\nconst a = `<b>`\n```\n"
    )
    assert.strictEqual(DocText.markdown("`{{ a<b }}`", none), "<code v-pre>{{ a&lt;b }}</code>")
    assert.strictEqual(DocText.markdown("{@link Gone} {@link Gone here}", none), "`Gone` here")
  })

  it("shows types as the source writes them, without what is internal", () => {
    assert.include(shelf, "interface Book<T> {\n  /** Its pages, at least 1. */\n  readonly pages: number\n}")
    assert.include(shelf, "const make: (rows: number) => ReadonlyArray<ShelfFullError>")
    assert.include(shelf, "const add: (")
    assert.include(shelf, "partial?: Partial<Book<string>>")
    assert.notInclude(shelf, "hidden")
    const error = pages.get("shelf/ShelfError.md")
    assert.include(error, "class ShelfFullError extends Error {")
    assert.include(error, "  /** Books on the shelf. */\n  readonly count: number")
    assert.notInclude(error, "stack")
  })

  it("cuts long inferred types and keeps short ones", () => {
    assert.strictEqual(Declarations.shortened("{ readonly a: 1 }"), "{ readonly a: 1 }")
    const fields = Array.from({ length: 40 }, (_, i) => `readonly field${i}: string`).join("; ")
    const [text = ""] = Formatted.all([
      `declare const a: ${Declarations.shortened(`Array<{ readonly _tag: "A"; ${fields} }>`)}`
    ])
    assert.strictEqual(Declarations.shown(text), 'const a: Array<{\n  readonly _tag: "A"\n  …\n}>')
    const union = Array.from({ length: 60 }, (_, i) => `SomeQuiteLongName${i}`).join(" | ")
    assert.match(Declarations.shown(Declarations.shortened(union)), /^SomeQuiteLongName0 \|[\s\S]*… 20 more$/)
  })

  it("wraps comments of fields, and cuts long literals", () => {
    const words = Array.from({ length: 30 }, (_, i) => `word${i}`).join(" ")
    const text = Declarations.shown(`interface A {\n  /** ${words} */\n  readonly a: 1\n  /** b */\n  readonly b: 2\n}`)
    assert.isTrue(text.split("\n").every((line) => line.length <= 86))
    assert.match(
      text,
      /^interface A \{\n {2}\/\*\*\n {3}\* word0 [\s\S]* word29\n {3}\*\/\n {2}readonly a: 1\n {2}\/\*\* b \*\/\n/
    )
    const list = "/**\n * Of two:\n * - one\n * - two\n */"
    assert.strictEqual(Declarations.shown(list), list)
    assert.strictEqual(Declarations.shortened(`"${"a".repeat(90)}"`), `"${"a".repeat(80)}…"`)
  })

  it("opens the modules of one entry in its sidebar", () => {
    const sidebars = ApiSection.sidebarsOf(["index.md", "shelf/index.md", "shelf/Shelf.md", "books/index.md"])
    assert.deepStrictEqual(Object.keys(sidebars), ["/api/", "/api/books/", "/api/shelf/"])
    assert.deepStrictEqual(sidebars["/api/shelf/"]?.[0]?.items?.[1]?.items, [
      { text: "Shelf", link: "/api/shelf/Shelf" }
    ])
    assert.isUndefined(sidebars["/api/books/"]?.[0]?.items?.[1]?.items)
  })

  it("is searched by names and words alone", () => {
    const text = ApiSection.searchable(shelf)
    assert.include(text, "\n## make {#make}")
    assert.include(text, "Makes a shelf.")
    assert.notInclude(text, "ReadonlyArray")
    assert.notInclude(text, "since")
  })

  it("is linked by the guides of its entries", () => {
    assert.strictEqual(ApiSection.lineOf("runs.md"), "\n\nAPI: [agent](api/agent/index.md).\n")
    assert.strictEqual(ApiSection.lineOf("limits.md"), "")
  })

  it("says what every entry of the package is for, and names guides that exist", () => {
    const names = PublicApi.entries().map(([specifier]) => specifier.replace(/^[^/]*\/?/, ""))
    assert.deepStrictEqual(Object.keys(abouts).sort(), [...names].sort())
    for (const { guides } of Object.values(abouts)) {
      for (const guide of guides) assert.isTrue(Fs.existsSync(Path.resolve(`docs/${guide}.md`)), guide)
    }
  })
})

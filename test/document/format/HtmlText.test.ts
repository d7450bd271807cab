import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as DocumentReader from "../../../src/document/format/DocumentReader.js"
import * as Chunker from "../../../src/document/text/Chunker.js"
import * as Growth from "../../support/Growth.js"

const read = (content: string | Uint8Array, options?: DocumentReader.Options) =>
  DocumentReader.read({ name: "a.html", content }, options)

const textOf = (html: string) => Effect.map(read(html), ({ text }) => text)

const page = `<!doctype html><html><head><title> Harbour
 rules </title><style>p { color: red }</style><script>alert("no")</script></head>
<body><nav><a href="/">Home</a><p>Menu</p></nav>
<main><h1>The <em>harbour</em></h1>
<p>Boats moor at the
eastern quay &amp; pay&nbsp;nine crowns.</p>
<h2 id="x">Fuel</h2><ul><li>Diesel<li>Oil</ul>
<pre><code class="x">a  =  1
b</code></pre>
<table><tr><th>Name<th>Price<tr><td>a|b</td><td><p>1</p></td></tr></table>
<div hidden>hidden</div><div style="display: none">gone</div><p aria-hidden="true">unseen</p>
<div role="navigation">Crumbs</div>
</main><aside>Advert</aside><footer>Imprint</footer><template>t</template><noscript>n</noscript></body></html>`

describe("HtmlText", () => {
  it.effect("keeps headings, paragraphs, lists, tables and code, and leaves out the rest", () =>
    Effect.gen(function* () {
      const found = yield* read(page)
      assert.deepStrictEqual(found, {
        format: "html",
        syntax: "markdown",
        title: "Harbour rules",
        text: [
          "# The harbour",
          "Boats moor at the eastern quay & pay nine crowns.",
          "## Fuel",
          "- Diesel\n- Oil",
          "```\na  =  1\nb\n```",
          "| Name | Price |\n| --- | --- |\n| a\\|b | 1 |"
        ].join("\n\n")
      })
      const headings = Chunker.chunks(found.text, found.syntax).map(({ headings }) => headings)
      assert.deepStrictEqual(headings, [["The harbour"], ["The harbour", "Fuel"]])
    })
  )

  it.effect("fences code that has fences of its own", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* textOf("<pre>```\n# no\n```</pre><h1>A</h1>"), "````\n```\n# no\n```\n````\n\n# A")
    })
  )

  it.effect("reads what is no page, is cut off, or has no text", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* textOf("plain < words"), "plain < words")
      assert.strictEqual(yield* textOf("<h2>Open <p>text <b>bold"), "## Open text bold")
      assert.strictEqual(yield* textOf("<p>a</div></span></p>b"), "a\n\nb")
      for (const nothing of ["", "<!--", "<script>", "<p></p>"]) assert.strictEqual(yield* textOf(nothing), "")
    })
  )

  it.effect("refuses pages that are nested too deep or too large, and what is not text", () =>
    Effect.gen(function* () {
      const deep = yield* Effect.flip(read("<div>".repeat(100_000)))
      assert.deepInclude(deep, { _tag: "DocumentError", reason: "Unreadable", document: "a.html" })
      const large = yield* Effect.flip(read(`<p>${"x".repeat(100)}`, { maxBytes: 50 }))
      assert.strictEqual(large.reason, "TooLarge")
      const binary = yield* Effect.flip(read(Uint8Array.from([1, 0, 2, 0])))
      assert.strictEqual(binary.reason, "Unreadable")
    })
  )

  it.effect("reads UTF-16 with a byte order mark", () =>
    Effect.gen(function* () {
      const bytes = Uint8Array.from([0xff, 0xfe, ...Buffer.from("<p>né</p>", "utf16le")])
      assert.strictEqual((yield* read(bytes)).text, "né")
    })
  )

  const hostile: ReadonlyArray<Growth.Text> = [
    "</p>",
    "</x>",
    "<p>",
    "<p a=b ",
    "<!-- ",
    "<table><tr><td>",
    "<h1>a",
    "&amp",
    "&#x1",
    "<li>",
    (size) => `${"<div>".repeat(500)}${"</x>".repeat(size / 4)}`,
    (size) => `<pre>${"`".repeat(size)}`,
    (size) => `<p style="${"display:".repeat(size / 8)}">a`,
    (size) => `<p${" a".repeat(size / 2)}>`
  ]

  it.effect("takes time in proportion to the page", () =>
    Growth.assertLinearTextsEffect(hostile, (html) => Effect.ignore(read(html)), 64_000)
  )
})

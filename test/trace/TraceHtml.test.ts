import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as HtmlParser from "htmlparser2"
import * as Trace from "../../src/trace/Trace.js"
import * as TraceMarkup from "../../src/trace/TraceMarkup.js"
import * as TraceStyle from "../../src/trace/TraceStyle.js"
import * as RunEvents from "../support/RunEvents.js"
import * as HostileText from "./HostileText.js"
import * as TracedRuns from "./TracedRuns.js"

/** Elements with their attributes, and the text, as a parser reads them. */
const parse = (page: string) => {
  const elements: Array<string> = []
  const links: Array<string> = []
  const ids: Array<string> = []
  let text = ""
  const parser = new HtmlParser.Parser({
    onopentag: (name, attributes) => {
      elements.push(
        `${name} ${Object.keys(attributes)
          .filter((attribute) => attribute !== "open")
          .sort()
          .join(" ")}`
      )
      if (name === "a") links.push(attributes["href"] ?? "")
      if (attributes["id"] !== undefined) ids.push(attributes["id"])
    },
    ontext: (part) => {
      text += part
    }
  })
  parser.end(page)
  return { elements, links, ids, text }
}

const written = (text: string, content = true) =>
  Trace.toHtml(Trace.fromEvents(HostileText.events(text)), { content, nodes: true, title: text })

describe("Trace.toHtml", () => {
  it("has the same elements and attributes whatever the texts are", () => {
    const known = parse(written("x")).elements
    FastCheck.assert(
      FastCheck.property(HostileText.text, (text) => {
        // A text that is empty leaves its element out.
        const given = `x${text}`
        const { elements } = parse(written(given))
        assert.deepStrictEqual(elements, known)
      }),
      { numRuns: 150 }
    )
  })

  it("shows any text as it is, apart from what is not visible", () => {
    FastCheck.assert(
      FastCheck.property(
        HostileText.text.filter((text) => /^[\P{C}\n]*$/u.test(text) && !/[\u2028\u2029\u200b-\u200f]/.test(text)),
        (text) => {
          assert.include(parse(written(`x${text}y`)).text, `x${text}y`)
        }
      ),
      { numRuns: 100 }
    )
  })

  it("has no invisible characters, lone surrogates or marks of direction", () => {
    for (const text of HostileText.pieces) {
      const page = written(text).replaceAll("\n", "").replaceAll("\t", "").replaceAll("\u200d", "")
      assert.notMatch(page, /[\p{C}\p{Zl}\p{Zp}]/u)
    }
  })

  it("links to places of the page alone, each with an id of its own", () => {
    const { ids, links } = parse(written("https://evil.example"))
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const link of links) {
      assert.match(link, /^#[a-z0-9]+$/)
      assert.include(ids, link.slice(1))
    }
  })

  it("forbids by its policy everything but its own style", () => {
    const page = written("x", false)
    const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? []
    assert.strictEqual(style, TraceStyle.css)
    const hash = createHash("sha256").update(style).digest("base64")
    assert.include(
      page,
      `default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;; img-src data:; base-uri &#39;none&#39;; form-action &#39;none&#39;`
    )
    assert.notMatch(style, /url\(|@import|@font-face/)
    assert.notMatch(page, /<script|style=|https?:/)
  })

  it("has the totals, the errors with their hints, the plan and the search tree", () => {
    const { text } = parse(Trace.toHtml(Trace.fromEvents(TracedRuns.everyKind("x"))))
    for (const part of [
      "Trace of helper",
      "107 → 20 tokens",
      "60 read from cache (56 %)",
      "at least $0.0012",
      "1 call without a price",
      "5 errors",
      "LEX_ERR_AGT_104",
      "Hint: Look at the cause",
      "Plan of 2 steps",
      "Search tree of 3 nodes",
      "This trace is not whole",
      "Contents are hidden"
    ])
      assert.include(text, part)
    assert.notInclude(parse(written("x")).text, "Contents are hidden")
  })

  it.live("links each inner run with the run around it", () =>
    Effect.gen(function* () {
      const page = Trace.toHtml(Trace.fromEvents(yield* TracedRuns.office))
      const { ids, links } = parse(page)
      assert.include(links, "#r1")
      const [, back = ""] = /href="#(i\d+)">in the run around it/.exec(page) ?? []
      assert.include(ids, back)
      assert.match(page, new RegExp(`id="${back}"[\\s\\S]{0,200}>agent<`))
    })
  )

  it("bounds items, contents, and runs that are open", () => {
    const events = RunEvents.of("r", [
      { _tag: "Started", input: "z".repeat(50_000), strategy: "react" },
      ...Array.from({ length: 100 }, (_, step) => ({ _tag: "Thought", step, text: "w".repeat(2000) }))
    ])
    const page = Trace.toHtml(Trace.fromEvents(events), { maxItems: 5 })
    assert.include(page, "95 more items are not shown")
    assert.strictEqual(page.split(">thought<").length - 1, 5)
    const shown = Trace.toHtml(Trace.fromEvents(events), { content: true, maxCharacters: 10 })
    assert.notInclude(shown, "w".repeat(11))
    // 500 times as many in all: what is beyond shows no text.
    const large = Trace.toHtml(
      Trace.fromEvents(
        RunEvents.of(
          "r",
          Array.from({ length: 600 }, (_, step) => ({ _tag: "Thought", step, text: "w".repeat(200) }))
        )
      ),
      { content: true, maxCharacters: 100 }
    )
    assert.isAtMost(large.split("w".repeat(100)).length - 1, 500)
    const many = Array.from({ length: 30 }, (_, at) =>
      RunEvents.of(`r${at}`, [{ _tag: "Started", input: "", strategy: "react" }])
    ).flat()
    assert.strictEqual(Trace.toHtml(Trace.fromEvents(many)).split('<details class="card run" open>').length - 1, 20)
  })

  it("has short contents open, and long ones closed", () => {
    const page = (text: string) =>
      Trace.toHtml(Trace.fromEvents(RunEvents.of("r", [{ _tag: "Steered", text }])), { content: true })
    assert.include(page("w".repeat(300)), '<details class="content" open>')
    assert.include(page("w".repeat(301)), '<details class="content">')
  })

  it("orders the timeline by begin, and draws a tool until its result came", () => {
    const page = Trace.toHtml(
      Trace.fromEvents([
        ...RunEvents.of("r", [
          { _tag: "Started", input: "", strategy: "react", at: 0 },
          { _tag: "ToolCall", step: 1, id: "a", name: "first", params: {}, at: 100 },
          {
            _tag: "ToolResult",
            step: 1,
            id: "a",
            name: "first",
            isFailure: false,
            result: 1,
            observation: "1",
            durationMs: 300,
            attempts: 1,
            truncated: false,
            at: 600
          },
          { _tag: "ToolCall", step: 1, id: "b", name: "second", params: {}, at: 700 },
          {
            _tag: "ToolResult",
            step: 1,
            id: "b",
            name: "second",
            isFailure: false,
            result: 1,
            observation: "1",
            durationMs: 300,
            attempts: 1,
            truncated: false,
            at: 1000
          }
        ]),
        ...RunEvents.of("inner", [
          { _tag: "Started", input: "", strategy: "react", parentRunId: "r", agent: "inner", at: 200 },
          { _tag: "Finished", reason: "completed", durationMs: 100, parentRunId: "r", agent: "inner", at: 300 }
        ])
      ])
    )
    const rows = Array.from(
      page.matchAll(
        /<bdi>(\w+)<\/bdi><\/a>\n<svg[^>]*aria-label="([^"]*)">.*?<rect class="bar" x="([\d.]+)" y="1" width="([\d.]+)"/g
      ),
      ([, ...row]) => row.join(" | ")
    )
    assert.deepStrictEqual(rows, [
      "helper | begins after 0 ms, takes 1.0 s | 0 | 1000",
      "first | begins after 100 ms, takes 300 ms | 100 | 500",
      "inner | begins after 200 ms, takes 100 ms | 200 | 100",
      "second | begins after 700 ms, takes 300 ms | 700 | 300"
    ])
  })

  it("takes a title", () => {
    assert.include(Trace.toHtml(Trace.fromEvents([]), { title: "Night <shift>" }), "<title>Night &lt;shift&gt;</title>")
    assert.include(Trace.toHtml(Trace.fromEvents([])), "<title>Trace of no run</title>")
  })
})

describe("TraceMarkup", () => {
  it("escapes values, joins lists, keeps markup and leaves out nothing", () => {
    const { html } = TraceMarkup
    const inner = html`<b>${"<i>"}</b>`
    assert.strictEqual(
      html`<p title="${"\"'`"}">${[inner, 1, undefined, false, ["&"]]}</p>`.text,
      '<p title="&quot;&#39;&#96;"><b>&lt;i&gt;</b>1&amp;</p>'
    )
    assert.strictEqual(html`${0}${""}`.text, "0")
    assert.strictEqual(TraceMarkup.joined([inner, inner], " < ").text, "<b>&lt;i&gt;</b> &lt; <b>&lt;i&gt;</b>")
    assert.strictEqual(TraceMarkup.escape("a\r\nb\rc\t\u0000\u202e👩‍💻"), "a\nb\nc\t\\u{0000}\\u{202e}👩‍💻")
  })

  it("takes no object for markup that only looks like it", () => {
    const forged = JSON.parse('{"text":"<script>"}')
    assert.throws(() => TraceMarkup.html`${forged}`)
  })
})

import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as CitationMarks from "../../../src/document/text/CitationMarks.js"
import * as StormArticle from "../../../src/strategy/storm/StormArticle.js"
import type * as StormSources from "../../../src/strategy/storm/StormSources.js"

const source = (id: number): StormSources.Source => ({
  id,
  title: `Page ${id}`,
  url: `https://a.example/${id}`,
  text: `text ${id}`,
  tool: "search",
  found: []
})

const section = (
  title: string,
  text: string,
  sources: ReadonlyArray<number> = [1, 2, 3, 4, 5]
): StormArticle.Section => ({
  title,
  text,
  sources,
  grounded: true
})

const base = {
  title: "T",
  lead: "",
  sections: [],
  sources: [],
  conversations: [],
  failedQueries: [],
  removedCitations: 0
}

describe("make", () => {
  it("numbers citations in the order of appearance, everywhere", () => {
    const article = StormArticle.make({
      ...base,
      lead: "Lead [5].",
      sections: [section("A", "a [3][5]"), section("B", "b [1]", [1])],
      sources: [1, 2, 3, 4, 5].map(source),
      conversations: [
        {
          perspective: { name: "P", description: "p" },
          done: true,
          turns: [{ question: "q", queries: ["q"], answer: "see [2][3]", grounded: true, sources: [2, 3] }]
        }
      ]
    })
    assert.strictEqual(
      article.text,
      [
        "# T",
        "Lead [1].",
        "## A\n\na [2][1]",
        "## B\n\nb [3]",
        "## Sources\n\n- [1] [Page 5](https://a.example/5)\n- [2] [Page 3](https://a.example/3)\n- [3] [Page 1](https://a.example/1)"
      ].join("\n\n")
    )
    assert.deepStrictEqual(
      article.sources.map(({ cited, number, title }) => [number, cited, title]),
      [
        [1, true, "Page 5"],
        [2, true, "Page 3"],
        [3, true, "Page 1"],
        [4, false, "Page 2"],
        [5, false, "Page 4"]
      ]
    )
    assert.deepStrictEqual(article.conversations[0]!.turns[0], {
      question: "q",
      queries: ["q"],
      answer: "see [4][2]",
      grounded: true,
      sources: [4, 2]
    })
    assert.deepStrictEqual(article.sections[1]!.sources, [3])
    assert.isTrue(article.grounded)
    assert.deepStrictEqual(Schema.decodeUnknownSync(StormArticle.Article)(JSON.parse(JSON.stringify(article))), article)
  })

  it("treats titles and addresses of sources as data", () => {
    const hostile = { ...source(1), title: "](https://evil.example) [2] <b>", url: "https://a.example/x_(y)?q=<z>" }
    const plain = { ...source(2), title: "", url: undefined, text: "Plain\n## Heading\n[7] and more ".repeat(9) }
    const { text } = StormArticle.make({
      ...base,
      sections: [section("A", "a [1] [2]")],
      sources: [hostile, { ...plain, url: undefined } as unknown as StormSources.Source]
    })
    const list = text.slice(text.indexOf("## Sources"))
    assert.include(list, "- [1] [\\](https://evil.example) \\[2\\] \\<b\\>](https://a.example/x_%28y%29?q=%3Cz%3E)")
    assert.include(list, "- [2] Plain ## Heading \\[7\\] and more")
    assert.deepStrictEqual(CitationMarks.cited(text), [1, 2])
  })

  it("lists every citation of any article once", () => {
    const texts = FastCheck.array(
      FastCheck.oneof(
        FastCheck.string({ maxLength: 6 }),
        FastCheck.nat({ max: 9 }).map((n) => `[${n}]`),
        FastCheck.constantFrom("\n", "## x\n", "```", "`", "[1, 7]", "- [3] y", "[[9]4]")
      ),
      { maxLength: 30 }
    ).map((pieces) => pieces.join(""))
    const allowed = new Set([1, 2, 3, 4, 5])
    const resolve = (text: string) => CitationMarks.resolve(StormArticle.body(text, "A"), allowed).text
    FastCheck.assert(
      FastCheck.property(texts, texts, texts, (lead, a, b) => {
        const article = StormArticle.make({
          ...base,
          lead: resolve(lead),
          sections: [section("A", resolve(a)), section("B", resolve(b))],
          sources: [1, 2, 3, 4, 5].map(source)
        })
        const cited = article.sources.filter((one) => one.cited).map(({ number }) => number)
        const at = article.text.lastIndexOf("\n## Sources")
        const body = at < 0 ? article.text : article.text.slice(0, at)
        assert.deepStrictEqual(CitationMarks.cited(body), cited)
        assert.deepStrictEqual(
          cited,
          cited.map((_, i) => i + 1)
        )
        for (const number of cited) {
          const { title } = article.sources[number - 1]!
          assert.strictEqual(article.text.split(`\n- [${number}] [${title}](`).length, 2)
        }
      }),
      { numRuns: 2000, seed: 21 }
    )
  })
})

describe("body", () => {
  it("has no heading of its own title, and no headings at the article's levels", () => {
    assert.strictEqual(
      StormArticle.body("\n## The Siege:\n\ntext\n# Sources\n## More ##\n#### deep\n```\n# code\n```", "The siege"),
      "text\n### Sources\n### More\n#### deep\n```\n# code\n```"
    )
    assert.strictEqual(StormArticle.body("a\r\n```\nopen", "x"), "a\n```\nopen\n```")
  })
})

describe("split", () => {
  it("splits an article at the titles it knows", () => {
    const { last, lead, texts } = StormArticle.split(
      "Here it is:\n# T\nlead\n\n## A\na\n### sub\n```\n## B\n```\n## Extra\nx\n# *b*\nb\n## a\nagain",
      "T",
      ["A", "B"]
    )
    assert.strictEqual(lead, "lead")
    assert.deepStrictEqual(
      [...texts],
      [
        ["a", "a\n### sub\n```\n## B\n```"],
        ["b", "b"]
      ]
    )
    assert.isUndefined(last)
    assert.strictEqual(StormArticle.split("l\n## A\na", "T", ["A"]).last, "a")
    assert.strictEqual(StormArticle.split("l\n# Other\nx\n## A\na", "T", ["A"]).lead, "l")
    assert.strictEqual(StormArticle.split("## A\na\n## B", "T", ["A", "B"]).texts.get("b"), "")
  })
})

describe("accept", () => {
  const part = (text: string, ...allowed: ReadonlyArray<number>): StormArticle.Part => ({
    text,
    allowed: new Set(allowed)
  })

  it("accepts a removed repetition when another part still cites the source", () => {
    const { kept, texts } = StormArticle.accept(
      [part("a [1]. b [2].", 1, 2), part("b [2]. c [3].", 2, 3)],
      ["a [1]. b [2].", "c [3]."]
    )
    assert.deepStrictEqual([texts, kept], [["a [1]. b [2].", "c [3]."], 0])
  })

  it("keeps a part that loses a citation, and one that did not come back", () => {
    const { kept, removed, texts } = StormArticle.accept(
      [part("a [1].", 1), part("b [2].", 2), part("c [3].", 3), part("d", 4), part("e [2].", 2)],
      ["a", "B [2][1].", undefined, "", "sorry"]
    )
    assert.deepStrictEqual(texts, ["a [1].", "B [2].", "c [3].", "d", "e [2]."])
    assert.deepStrictEqual([kept, removed], [4, [1]])
  })

  it("loses nothing when restoring one part takes a citation from another", () => {
    // The second moved [3] into the first, which has to be given back for its [1].
    const { texts } = StormArticle.accept([part("a [1].", 1, 3), part("c [3].", 3)], ["a. c [3].", "nothing"])
    assert.deepStrictEqual(texts, ["a [1].", "c [3]."])
  })

  it("loses no citation and adds none where it is not allowed, whatever comes back", () => {
    const text = FastCheck.array(FastCheck.nat({ max: 6 }), { maxLength: 5 }).map((ids) =>
      ids.map((id) => `x [${id}]`).join(" ")
    )
    const all = FastCheck.array(FastCheck.tuple(text, FastCheck.option(text, { nil: undefined })), { maxLength: 6 })
    FastCheck.assert(
      FastCheck.property(all, (pairs) => {
        const parts = pairs.map(([before]) => part(before, ...CitationMarks.cited(before), 6))
        const { texts } = StormArticle.accept(
          parts,
          pairs.map(([, after]) => after)
        )
        const lost = new Set(parts.flatMap((one) => CitationMarks.cited(one.text)))
        for (const [i, one] of texts.entries()) {
          for (const number of CitationMarks.cited(one)) {
            assert.isTrue(parts[i]!.allowed.has(number))
            lost.delete(number)
          }
        }
        assert.deepStrictEqual([...lost], [])
      }),
      { numRuns: 2000, seed: 4 }
    )
  })
})

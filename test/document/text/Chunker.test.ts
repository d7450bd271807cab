import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Chunker from "../../../src/document/text/Chunker.js"
import { approximateCount } from "../../../src/llm/model/ApproximateTokens.js"
import * as Growth from "../../support/Growth.js"

const line = FastCheck.oneof(
  { weight: 4, arbitrary: FastCheck.lorem({ mode: "sentences", maxCount: 6 }) },
  FastCheck.constantFrom(
    "# One",
    "## Two ##",
    "###### Six",
    "####### no heading",
    "Under",
    "===",
    "---",
    "```ts",
    "```",
    "~~~~",
    "| a | b |",
    "| --- | --- |",
    "- item. More of it",
    "12. twelfth",
    "",
    "",
    "   ",
    "\t",
    "。はい。いいえ！",
    "😀".repeat(40),
    "x".repeat(900),
    "\ud800",
    'e.g. this. And that?  "So." He said',
    "\r"
  ),
  FastCheck.string({ maxLength: 60 })
)

const text = FastCheck.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"))

const options = FastCheck.record({
  maxTokens: FastCheck.integer({ min: 16, max: 120 }),
  overlapTokens: FastCheck.integer({ min: 0, max: 40 })
})

const syntax = FastCheck.constantFrom<Chunker.Syntax>("markdown", "plain")

/** Tokens that a chunk may have beyond the bound: counts of parts round up, and so does that of the whole. */
const rounding = 1

describe("Chunker", () => {
  it("covers every character but white space, in order, by slices of the text within the bound", () => {
    FastCheck.assert(
      FastCheck.property(text, options, syntax, (text, options, syntax) => {
        const chunks = Chunker.chunks(text, syntax, options)
        const covered = new Uint8Array(text.length)
        let before = { start: -1, end: -1 }
        for (const chunk of chunks) {
          assert.strictEqual(chunk.text, text.slice(chunk.start, chunk.end))
          assert.strictEqual(chunk.text, chunk.text.trim())
          assert.isAbove(chunk.start, before.start)
          assert.isAbove(chunk.end, before.end)
          assert.isAtMost(approximateCount(chunk.text), options.maxTokens + rounding)
          covered.fill(1, chunk.start, chunk.end)
          before = chunk
        }
        for (let at = 0; at < text.length; at++) {
          if (!/\s/.test(text.charAt(at))) assert.strictEqual(covered[at], 1, `${at} of ${JSON.stringify(text)}`)
        }
      }),
      { numRuns: 300 }
    )
  })

  it("counts a word that was cut as a whole again", () => {
    for (let length = 100; length < 160; length++) {
      const chunks = Chunker.chunks(`# One\n${"x".repeat(length)}`, "markdown", { maxTokens: 16 })
      for (const { text } of chunks) assert.isAtMost(approximateCount(text), 16)
    }
  })

  it("never separates the halves of a character", () => {
    for (const chunk of Chunker.chunks("😀".repeat(500), "plain", { maxTokens: 16 })) {
      assert.match(chunk.text, /^(?:😀)+$/u)
    }
  })

  it("names the headings above a chunk, and closes those of the same level", () => {
    const chunks = Chunker.chunks(
      "Before.\n\n# A `code`\n\nOf a.\n\n## B [link](http://x)\n\nOf b.\n\n### C\n\n## D\nOf d.\n\nE\n===\nOf e.",
      "markdown"
    )
    assert.deepStrictEqual(
      chunks.map(({ headings, text }) => [headings.join("/"), text.split("\n").at(-1)]),
      [
        ["", "Before."],
        ["A code", "Of a."],
        ["A code/B link", "Of b."],
        ["A code/D", "Of d."],
        ["E", "Of e."]
      ]
    )
  })

  it("has no heading in plain text and none in code", () => {
    assert.deepStrictEqual(Chunker.chunks("# A\n\nb", "plain")[0]!.headings, [])
    const [chunk, ...rest] = Chunker.chunks(
      "# A\n\n```sh\n# no heading\n```\n\n~~~~\n# nor here\n~~~\n# or here\n~~~~\n",
      "markdown"
    )
    assert.deepStrictEqual(chunk!.headings, ["A"])
    assert.deepStrictEqual(rest, [])
  })

  it("reads an unclosed fence to the end of the text", () => {
    const chunks = Chunker.chunks("a\n\n```\n# no\n\n# heading", "markdown")
    assert.deepStrictEqual(
      chunks.map(({ headings }) => headings),
      [[]]
    )
  })

  it("keeps code and tables whole where they fit, and cuts them at lines where they do not", () => {
    const code = `\`\`\`ts\n${Array.from({ length: 12 }, (_, n) => `const value${n} = ${n}`).join("\n")}\n\`\`\``
    const table = `| name | age |\n| --- | --- |\n${Array.from({ length: 8 }, (_, n) => `| n${n} | ${n} |`).join("\n")}`
    const prose = "Some words of a sentence. ".repeat(10).trim()
    const given = `# Title\n\n${prose}\n\n${code}\n\n${prose}\n\n${table}\n\n${prose}`
    const wide = Chunker.chunks(given, "markdown", { maxTokens: 160, overlapTokens: 0 })
    assert.isAbove(wide.length, 2)
    for (const whole of [code, table])
      assert.lengthOf(
        wide.filter(({ text }) => text.includes(whole)),
        1
      )
    const narrow = Chunker.chunks(given, "markdown", { maxTokens: 40, overlapTokens: 0 })
    for (const { text } of narrow) {
      for (const line of text.split("\n")) if (line.startsWith("const")) assert.match(line, /^const value\d+ = \d+$/)
    }
  })

  it("repeats whole sentences of the chunk before, within the bound, and only in one section", () => {
    const sentences = Array.from({ length: 30 }, (_, n) => `Sentence number ${n} says a thing.`)
    const given = `# A\n\n${sentences.join(" ")}\n\n# B\n\nOther.`
    const chunks = Chunker.chunks(given, "markdown", { maxTokens: 60, overlapTokens: 24 })
    const ofA = chunks.filter(({ headings }) => headings[0] === "A")
    assert.isAbove(ofA.length, 3)
    for (const [at, chunk] of ofA.entries()) {
      const next = ofA[at + 1]
      if (next === undefined) continue
      const shared = given.slice(next.start, chunk.end)
      assert.match(shared, /^Sentence number \d+ says a thing\./)
      assert.isAtMost(approximateCount(shared), 24)
    }
    assert.strictEqual(chunks.at(-1)!.text, "# B\n\nOther.")
    const apart = Chunker.chunks(given, "markdown", { maxTokens: 60, overlapTokens: 0 })
    for (const [at, chunk] of apart.entries()) assert.isAtMost(chunk.end, apart[at + 1]?.start ?? given.length)
  })

  it("does not end sentences at abbreviations, initials, numbers and names of files", () => {
    const sentence = "Use e.g. version 1.2.3 of file.ts by J. Smith etc. as it is."
    const chunks = Chunker.chunks(`${sentence} `.repeat(20), "plain", { maxTokens: 40, overlapTokens: 0 })
    assert.isAbove(chunks.length, 2)
    for (const { text } of chunks) assert.match(text, /^Use .* is\.$/s)
  })

  it("counts by the given function", () => {
    const count = (text: string) => text.split(/\s+/).filter((word) => word !== "").length
    const chunks = Chunker.chunks("One two three four. ".repeat(40), "plain", {
      maxTokens: 16,
      overlapTokens: 4,
      count
    })
    for (const { text } of chunks) assert.isAtMost(count(text), 16)
    assert.strictEqual(chunks.length, 13)
  })

  const hostile: Readonly<Record<string, (size: number) => string>> = {
    "an unclosed fence": (size) => `\`\`\`\n${"code line\n".repeat(1 + size / 10)}`,
    "one fence after the other": (size) => "```\n~~~\n".repeat(1 + size / 8),
    "a line of marks": (size) => "#".repeat(size),
    "empty headings": (size) => "#\n".repeat(1 + size / 2),
    "headings of falling levels": (size) => "###### a\n##### b\n#### c\n".repeat(1 + size / 24),
    "one line of words": (size) => "word ".repeat(1 + size / 5),
    "one word": (size) => "x".repeat(size),
    "full stops": (size) => ".".repeat(size),
    "sentences of one letter": (size) => "A. ".repeat(1 + size / 3),
    "blank lines": (size) => `a${"\n".repeat(size)}b`,
    spaces: (size) => `a${" ".repeat(size)}b`,
    bars: (size) => "|".repeat(size),
    "tables without rows": (size) => "|-|\n".repeat(1 + size / 4),
    brackets: (size) => `# ${"[".repeat(size)}\n`,
    "headings of brackets": (size) => `# ${"[a](".repeat(100)}\n`.repeat(1 + size / 400),
    backticks: (size) => "`".repeat(size),
    "front matter that does not end": (size) => `---\n${"a: b\n".repeat(1 + size / 5)}`,
    underlines: (size) => "a\n-\n".repeat(1 + size / 4),
    "halves of characters": (size) => "\ud800".repeat(size),
    "list items": (size) => "- a\n".repeat(1 + size / 4)
  }

  it("reads texts of 5 MB", () => {
    for (const name of [
      "an unclosed fence",
      "a line of marks",
      "one line of words",
      "one word",
      "halves of characters"
    ]) {
      const text = hostile[name]!(5_000_000)
      for (const { text: piece } of Chunker.chunks(text, "markdown")) assert.isBelow(piece.length, 20_000)
    }
  })

  for (const [name, make] of Object.entries(hostile)) {
    it(`takes time in proportion to the text: ${name}`, () => {
      Growth.assertLinear({ input: make, size: 320_000, run: (text) => Chunker.chunks(text, "markdown") })
    })
  }
})

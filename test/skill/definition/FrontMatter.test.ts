import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as FrontMatter from "../../../src/skill/definition/FrontMatter.js"
import * as SkillFileReader from "../../../src/skill/definition/SkillFileReader.js"
import * as Growth from "../../support/Growth.js"

const file = (front: string): string => `---\nname: skill\ndescription: x\n${front}\n---\nbody`

/** One verdict, and of both readers. */
const judge = (text: string): void => {
  const strict = SkillFileReader.parse(text)
  const lenient = SkillFileReader.parseLenient(text)
  if (Either.isRight(strict)) {
    assert.isTrue(Either.isRight(lenient))
  } else {
    assert.isNotEmpty(strict.left.issues)
    assert.isAtMost(strict.left.issues.length, 64)
    assert.isAtMost(strict.left.message.length, 10_000)
  }
}

const fill = (piece: string, size = 100_000): string => piece.repeat(Math.ceil(size / piece.length))

describe("FrontMatter", () => {
  it("reads plain lines without the parser as the parser does", () => {
    const common = [
      "name: some-skill",
      "description: Does something (or other). Use it when it's wanted, e.g. on Mondays!",
      "license: 'MIT'",
      "",
      'compatibility: "Needs git: 2.40"',
      "allowed-tools: Read Bash(git:*)",
      "metadata:",
      "  author: somebody",
      '  version: "1.0"',
      "empty:",
      ""
    ].join("\n")
    assert.deepStrictEqual(FrontMatter.plain(common), FrontMatter.parse(common).entries)
    assert.isUndefined(FrontMatter.plain("description: >-\n  Folded"))
    assert.isUndefined(FrontMatter.plain("description: one\n  two"))
    assert.isUndefined(FrontMatter.plain("description: Use it: always"))

    const word = FastCheck.constantFrom(
      ..."name description metadata a a-b 1 1.0 true null ~ é 猫 x: : :x # #x x# - -x ? | > & * ! % @ ` ' '' \" \"\" [a] {a} , ( ) \\ \\n \t \r = <<".split(
        " "
      ),
      " ",
      "  ",
      "\u00a0",
      "\u2028",
      "\ufeff",
      "\u0000"
    )
    const value = FastCheck.array(word, { maxLength: 5 }).map((words) => words.join(" "))
    const joined = FastCheck.array(word, { maxLength: 3 }).map((words) => words.join(""))
    const line = FastCheck.tuple(
      FastCheck.constantFrom("", "", "", "  ", " ", "    "),
      FastCheck.oneof(FastCheck.constantFrom("name", "metadata", "a-b", "A_1"), joined),
      FastCheck.constantFrom(": ", ":", ":  ", " : "),
      FastCheck.oneof(value, joined, FastCheck.constant("")),
      FastCheck.constantFrom("", "", "'", '"')
    ).map(([indent, key, colon, text, quote]) => `${indent}${key}${colon}${quote}${text}${quote}`)
    let taken = 0
    FastCheck.assert(
      FastCheck.property(FastCheck.array(line, { minLength: 1, maxLength: 4 }), (lines) => {
        const yaml = `${lines.join("\n")}\n`
        const plain = FrontMatter.plain(yaml)
        if (plain === undefined) return
        taken++
        assert.deepStrictEqual({ entries: plain, broken: [], unusual: [] }, FrontMatter.parse(yaml))
      }),
      { numRuns: 6000, seed: 7 }
    )
    assert.isAbove(taken, 150)
  })

  it("ends in a verdict for two thousand mutated files", () => {
    const valid = [
      "---",
      "name: some-skill",
      "description: >-",
      "  Does something. Use it",
      "  when asked.",
      "license: 'MIT'",
      "metadata:",
      '  author: "some one"',
      "  tags: {a: [b, c]}",
      "allowed-tools: Bash(git:*) Read",
      "---",
      "# Body",
      "Do it with $ARGUMENTS."
    ].join("\n")
    const piece = FastCheck.oneof(
      FastCheck.constantFrom(
        ..."'\"\t:-?#&*!|>%@`[]{},\n\r\0\x07\x1b\x7f\u0085\u2028\ufeff\ud800\udfff".split(""),
        "---",
        "\n---\n",
        "--- ",
        "...",
        "&a ",
        "*a",
        "<<: *a",
        "!!int ",
        "!<tag:x> ",
        "? ",
        ": ",
        "- ",
        "|2-\n",
        "%YAML 1.1\n",
        "__proto__: x\n",
        "name: other\n",
        '"\\x"',
        "'''",
        "\r\n",
        "\n\n  ",
        "(((",
        "Bash(a) b)",
        "x".repeat(5000),
        "[".repeat(40),
        "- ".repeat(40),
        "a: ".repeat(5)
      ),
      FastCheck.string({ unit: "binary", maxLength: 8 })
    )
    const mutation = FastCheck.record({
      at: FastCheck.double({ min: 0, max: 1, noNaN: true }),
      length: FastCheck.nat(6),
      piece
    })
    const mutated = FastCheck.array(mutation, { minLength: 1, maxLength: 5 }).map((mutations) =>
      mutations.reduce((text, { at, length, piece }) => {
        const from = Math.floor(at * text.length)
        return text.slice(0, from) + piece + text.slice(from + length)
      }, valid)
    )
    let verdicts = 0
    FastCheck.assert(
      FastCheck.property(mutated, (text) => {
        verdicts++
        judge(text)
      }),
      { numRuns: 2000, seed: 11 }
    )
    assert.strictEqual(verdicts, 2000)
  }, 300_000)

  it("rejects deep nesting before parsing, however it is written", () => {
    const lines = Array.from({ length: 300 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")
    for (const piece of ["[", "{", "[{", "[? ", "- ", "? ", "a: "]) {
      assert.deepStrictEqual(FrontMatter.read(fill(piece, 60_000)).broken, [
        { message: "The front matter is nested too deeply", line: 2 }
      ])
    }
    for (const text of [fill("["), fill("{a: "), fill("- "), lines]) {
      judge(file(`metadata: ${text}`))
      assert.isTrue(Either.isLeft(SkillFileReader.parseLenient(file(`license:\n${text}`))))
    }
    assert.isTrue(Either.isLeft(SkillFileReader.parse(file(lines))))
  })

  it("reads realistic nesting", () => {
    const lines = Array.from({ length: 12 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")
    assert.deepStrictEqual(FrontMatter.read(`${lines}\nb: ${"[".repeat(10)}${"]".repeat(10)}`).broken, [])
    assert.deepStrictEqual(FrontMatter.read(`a: {${fill("b: c, ", 300)}}`).broken, [])
  })

  it("does not follow references that would grow", () => {
    const laughs = ["a0: &a0 [lol, lol]"]
    for (let i = 1; i < 30; i++) laughs.push(`a${i}: &a${i} [*a${i - 1}, *a${i - 1}, *a${i - 1}, *a${i - 1}]`)
    const bomb = file(`${laughs.join("\n")}\nmetadata: *a29`)
    judge(bomb)
    assert.isTrue(Either.isLeft(SkillFileReader.parse(bomb)))
    judge(file(`a: &a x\n${fill("b: *a\n", 30_000)}`))
    judge(file("metadata: &m {a: *m, b: [*m]}"))
  })

  it("ends in a verdict for the longest front matter of any content", () => {
    const pieces = [
      "}",
      "a: }\n",
      "[] ",
      "[,",
      "&a *a\n",
      "a: 'b\n",
      "'' ",
      '"\\x" ',
      "a:\n",
      "|\n",
      "\t\n",
      " \n",
      "#\n",
      "%a\n",
      "...\n",
      "\r",
      ": ",
      "? a\n",
      "x\n ",
      "a: >\n\n",
      "\u0085"
    ]
    for (const piece of pieces) {
      const text = fill(piece, FrontMatter.MAX_LENGTH - 100)
      for (const front of [text, `license: ${text}`, `license: "${text}`, `license: |\n  ${text}`]) judge(file(front))
    }
  }, 300_000)

  it("does not search the rest of a long file", () => {
    Growth.assertLinearTexts(
      ["---x\n", (size) => `---\n${fill("--- x\n", size)}`, (size) => `---\n${fill(" ---\n", size)}`, "-"],
      judge,
      400_000
    )
  })

  it("counts lines from the beginning of the file", () => {
    assert.deepStrictEqual(
      FrontMatter.read("a: b\nc: 'd\n").broken.map(({ line }) => line),
      [4]
    )
    assert.deepStrictEqual(
      FrontMatter.read("a: b\nc: &d e\nf: !g h").unusual.map(({ line }) => line),
      [3, 4]
    )
    assert.deepStrictEqual(
      FrontMatter.read("# x\na: b\n\nc: d").entries.map(({ line }) => line),
      [3, 5]
    )
  })
})

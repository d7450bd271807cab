import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as SkillFile from "../../src/skill/definition/SkillFile.js"
import * as SkillFileReader from "../../src/skill/definition/SkillFileReader.js"

const file = (...front: ReadonlyArray<string>): string => ["---", ...front, "---", "The body: it stays.", ""].join("\n")

const lenient = (text: string) => Either.getOrThrow(SkillFileReader.parseLenient(text))

/** The strict reader refuses each of them. */
const read = (...front: ReadonlyArray<string>) => {
  const text = file(...front)
  const strict = SkillFileReader.parse(text)
  assert.isTrue(Either.isLeft(strict))
  return lenient(text)
}

describe("the lenient reader", () => {
  it("reads a value with a colon and without quotation marks", () => {
    const { file, warnings } = read(
      "name: review",
      'description: Use it when: somebody says "check: this", or asks:',
      "license: MIT"
    )
    assert.strictEqual(file.description, 'Use it when: somebody says "check: this", or asks:')
    assert.strictEqual(file.license, "MIT")
    assert.strictEqual(file.body, "The body: it stays.")
    assert.isNotEmpty(warnings)
    assert.isTrue(warnings.every(({ rule }) => rule === "yaml"))
  })

  it("reads such a value over several lines, nested, and with carriage returns", () => {
    assert.strictEqual(
      read("name: a", "description: First: one", "  second: two", "  third").file.description,
      "First: one second: two third"
    )
    const { file } = read("name: a", "description: x", "metadata:", "  note: Use: it", "  other: 'quoted: yes'")
    assert.deepStrictEqual(file.metadata, { note: "Use: it", other: "quoted: yes" })
    assert.strictEqual(read("name: a\r", "description: Use: it\r").file.description, "Use: it")
  })

  it("keeps quoted, listed and block values", () => {
    const { file } = read(
      "name: a",
      'description: "quoted: text"',
      "license: Mine: all of it",
      "allowed-tools: [Read, 'Bash(git:*)']",
      "compatibility: >-",
      "  folded: text",
      "  on: two lines"
    )
    assert.strictEqual(file.description, "quoted: text")
    assert.strictEqual(file.license, "Mine: all of it")
    assert.strictEqual(file.compatibility, "folded: text on: two lines")
    assert.deepStrictEqual(file.allowedTools, [{ name: "Read" }, { name: "Bash", pattern: "git:*" }])
  })

  it("rejects any other invalid YAML", () => {
    for (const broken of ["license: [a: b: c", "license: 'a: b", "a: b: c\n- d", 'description: "a: b']) {
      const text = file("name: a", "description: x: y", broken)
      assert.isTrue(Either.isLeft(SkillFileReader.parseLenient(text)), broken)
    }
  })

  it("keeps nested metadata as JSON, next to texts", () => {
    const { file, warnings } = read(
      "name: a",
      "description: x",
      "metadata:",
      "  version: 1.0",
      "  tags: [b, c]",
      "  needs: {bins: [git], env: {__proto__: no}}"
    )
    assert.deepStrictEqual(file.metadata, {
      version: "1.0",
      tags: '["b","c"]',
      needs: '{"bins":["git"],"env":{"__proto__":"no"}}'
    })
    assert.deepStrictEqual(
      warnings.map(({ line, rule }) => [rule, line]),
      [
        ["map", 6],
        ["map", 7]
      ]
    )
    assert.deepStrictEqual(Either.getOrThrow(SkillFileReader.parse(SkillFile.render(file))), file)
  })

  it("omits nested metadata that is too long, including by references", () => {
    const long = `  big: [${"x".repeat(20_000)}]`
    assert.deepStrictEqual(read("name: a", "description: x", "metadata:", long, "  b: c").file.metadata, { b: "c" })
    const wide = `  a: &a [${Array.from({ length: 400 }, () => "word").join(", ")}]`
    const grown = "  b: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]"
    const { metadata } = read("name: a", "description: x", "metadata:", wide, grown).file
    assert.deepStrictEqual(Object.keys(metadata), ["a"])
  })
})

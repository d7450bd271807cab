import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as PromptDiff from "../../src/prompt/PromptDiff.js"
import type * as PromptLibrary from "../../src/prompt/PromptLibrary.js"
import * as PromptVersions from "../../src/prompt/PromptVersions.js"
import { PromptLibraryError, PromptTemplateError } from "../../src/prompt/template/PromptError.js"
import * as PromptStep from "../../src/prompt/template/PromptStep.js"

const Translate = PromptStep.make({
  pattern: "TranslatorAgent",
  name: "Translate",
  variables: ["text"],
  system: "You translate.",
  user: "{text}"
})

const system = (text: string): PromptLibrary.Options => ({
  overrides: { TranslatorAgent: { Translate: { system: text } } }
})

/** Versions that say so. */
const of = (...texts: ReadonlyArray<string>) =>
  texts.reduce((all, text) => PromptVersions.add(all, system(text)).versions, PromptVersions.empty)

const version = (all: PromptVersions.PromptVersions, which: string | number) =>
  Either.getOrThrow(PromptVersions.get(all, which))

describe("PromptVersions", () => {
  it("numbers what differs, and knows what it has", () => {
    const first = PromptVersions.add(PromptVersions.empty, { ...system("a"), note: "the first", createdAt: 5 })
    const second = PromptVersions.add(first.versions, { ...system("b"), instructions: "Be short." })
    const again = PromptVersions.add(second.versions, { ...system("a"), note: "another note" })
    assert.deepStrictEqual([first.number, second.number, again.number], [1, 2, 1])
    assert.strictEqual(again.versions, second.versions)
    assert.deepStrictEqual([version(again.versions, 1).note, version(again.versions, 1).createdAt], ["the first", 5])
    assert.notStrictEqual(version(again.versions, 1).hash, version(again.versions, 2).hash)
    assert.deepStrictEqual(PromptVersions.empty.versions, [])
  })

  it("gives labels, moves them, and finds by them", () => {
    const all = of("a", "b")
    const labelled = Either.getOrThrow(PromptVersions.label(all, "production", 1))
    assert.strictEqual(version(labelled, "production").number, 1)
    const moved = Either.getOrThrow(PromptVersions.label(labelled, "production", 2))
    assert.strictEqual(version(moved, "production").number, 2)
    assert.strictEqual(version(labelled, "production").number, 1)
    const strange = Either.getOrThrow(PromptVersions.label(all, "__proto__", 1))
    assert.strictEqual(version(strange, "__proto__").number, 1)
  })

  it("says what it does not have", () => {
    const labelled = Either.getOrThrow(PromptVersions.label(of("a", "b"), "production", 1))
    const error = (which: string | number, all = labelled) => {
      const found = Either.getOrThrow(Either.flip(PromptVersions.get(all, which)))
      assert.instanceOf(found, PromptLibraryError)
      return found
    }
    assert.strictEqual(error("prodution").hint, "Did you mean production?")
    assert.strictEqual(error(3).hint, "Versions are from 1 to 2; labels: production")
    assert.strictEqual(error("1").message, 'There is no version "1" of the prompts')
    assert.strictEqual(error(1, PromptVersions.empty).hint, "Add a version first")
    for (const which of ["constructor", "toString", Number.NaN]) error(which)
    assert.isTrue(Either.isLeft(PromptVersions.label(labelled, "production", 7)))
  })

  it("is a library of its prompts", () => {
    const { versions } = PromptVersions.add(of("You are a poet."), { instructions: { TranslatorAgent: "Be short." } })
    const rendered = (which: number) =>
      Either.getOrThrow(PromptVersions.library(versions, which, [Translate])).render(Translate, {
        text: "hi",
        output_format: ""
      })
    assert.deepStrictEqual(rendered(1), { system: "You are a poet.", user: "hi" })
    assert.include(rendered(2).system, "You translate.\n\n## Custom Instructions\n\nBe short.")
    const refused = (which: number, steps: ReadonlyArray<PromptStep.PromptStep>, all = versions) =>
      Either.getOrThrow(Either.flip(PromptVersions.library(all, which, steps)))
    assert.instanceOf(refused(1, []), PromptLibraryError)
    assert.instanceOf(refused(9, [Translate]), PromptLibraryError)
    assert.instanceOf(refused(1, [Translate], of("{nothing}")), PromptTemplateError)
  })

  it("is read and written as JSON", () => {
    const labelled = Either.getOrThrow(PromptVersions.label(of("a", "b\u0000\ud800"), "production", 2))
    const text = Schema.encodeSync(PromptVersions.Json)(labelled)
    assert.deepStrictEqual(Schema.decodeSync(PromptVersions.Json)(text), labelled)
    for (const wrong of ["", "{}", '{"versions":[{"number":0}],"labels":{}}']) {
      assert.isTrue(Either.isLeft(Schema.decodeEither(PromptVersions.Json)(wrong)), wrong)
    }
  })

  it("says what changed, place by place", () => {
    const { versions } = PromptVersions.add(of("a\nb\nc"), {
      overrides: { TranslatorAgent: { Translate: { system: "a\nx\nc", user: "go" } } },
      instructions: "Be short."
    })
    const changes = PromptVersions.diff(version(versions, 1), version(versions, 2))
    assert.strictEqual(
      PromptVersions.toText(changes),
      [
        "TranslatorAgent/Translate/system\n a\n-b\n+x\n c\n",
        "TranslatorAgent/Translate/user\n+go\n",
        "instructions\n+Be short.\n"
      ].join("\n")
    )
    const back = PromptVersions.diff(version(versions, 2), version(versions, 1))
    assert.deepStrictEqual(back[1], {
      where: "TranslatorAgent/Translate/user",
      lines: [{ kind: "removed", text: "go" }]
    })
    assert.deepStrictEqual(PromptVersions.diff(version(versions, 1), version(versions, 1)), [])
    const perPattern = PromptVersions.add(PromptVersions.empty, { instructions: { ReActAgent: "x" } }).versions
    assert.strictEqual(
      PromptVersions.diff(version(of("a"), 1), version(perPattern, 1))[0]?.where,
      "ReActAgent instructions"
    )
  })
})

describe("PromptDiff", () => {
  const side = (lines: ReadonlyArray<PromptDiff.Line>, other: "added" | "removed") =>
    lines
      .filter(({ kind }) => kind !== other)
      .map(({ text }) => text)
      .join("\n")

  it("has both texts in it, and keeps as many lines as it can", () => {
    const texts = FastCheck.array(FastCheck.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((lines) =>
      lines.join("\n")
    )
    FastCheck.assert(
      FastCheck.property(texts, texts, (before, after) => {
        const lines = PromptDiff.lines(before, after)
        assert.strictEqual(side(lines, "added"), before)
        assert.strictEqual(side(lines, "removed"), after)
        const longest = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
          const row = new Array<number>(b.length + 1).fill(0)
          for (const one of a) {
            let corner = 0
            for (let j = 0; j < b.length; j++) {
              const above = row[j + 1] ?? 0
              row[j + 1] = one === b[j] ? corner + 1 : Math.max(above, row[j] ?? 0)
              corner = above
            }
          }
          return row[b.length] ?? 0
        }
        assert.strictEqual(
          lines.filter(({ kind }) => kind === "same").length,
          longest(before.split("\n"), after.split("\n"))
        )
      })
    )
  })

  it("replaces what is too large to compare", () => {
    const text = (word: string) => Array.from({ length: 5000 }, (_, index) => `${word} ${index}`).join("\n")
    const lines = PromptDiff.lines(`head\n${text("a")}\ntail`, `head\n${text("b")}\ntail`)
    assert.lengthOf(
      lines.filter(({ kind }) => kind === "same"),
      2
    )
    assert.lengthOf(lines, 10_002)
  })
})

import * as Fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { analysed, attacked, built, literals, problems, problemsOfBuilt } from "../../scripts/lint-regex.js"
import * as InjectionDetector from "../../src/guard/injection/InjectionDetector.js"

const check = (text: string): ReadonlyArray<string> => problems(new Map([["text/Text.ts", text]]))

describe("lint-regex", () => {
  it("finds a loop that a search restarts at every place", () => {
    assert.deepStrictEqual(check("const a = 1\nexport const trim = (text: string) => text.replace(/#+$/g, '')"), [
      "text/Text.ts:2: /#+$/g: a search begins this loop again at every place (/#/)"
    ])
    assert.strictEqual(check("export const b = /[-=]{2,} end/").length, 1)
  })

  it("finds two loops over the same characters, and nested loops", () => {
    assert.include(check("export const a = /^x[ \\t]*:?[ \\t*]*$/")[0], "two loops take the same characters")
    assert.isAbove(check("export const a = /^(?:a+)+$/").length, 0)
    assert.isAbove(check("export const a = /^(?:a|a)*$/").length, 0)
  })

  it("finds a search that restarts at every word", () => {
    const source = "(?:repeat|say)[^.]{0,60}start\\w* with"
    assert.deepStrictEqual(analysed(source, ""), [])
    assert.include(attacked(source, ""), "more than linear")
    assert.include(check(`export const a = /${source}/`)[0], "text/Text.ts:1: ")
    assert.include(attacked("\\)[*+?]|\\)\\{[^}]*\\}", "g"), "more than linear")
  })

  it("accepts linear expressions", () => {
    for (const source of [
      "(?<!#)#+$",
      "^#+ x",
      "[a-z]{0,40}@[a-z]{1,40}",
      "^[^:]*:[^;]*;",
      "x[^\\n]{0,200}y",
      "\\s+"
    ]) {
      assert.deepStrictEqual(check(`export const a = /${source}/`), [], source)
    }
  })

  it("reads expressions outside of assignments, and no divisions", () => {
    assert.deepStrictEqual(
      literals("A.ts", "f(/a\\/b/gi)\nconst c = 6 / 2 / 3\nconst d = [/x/]").map(({ line, source }) => [line, source]),
      [
        [1, "a\\/b"],
        [3, "x"]
      ]
    )
  })

  it("finds composed expressions", async () => {
    const expressions = await built(async () => InjectionDetector.make())
    const { file, line, source } = expressions.find(
      (one) => one.file === "guard/injection/InjectionSearch.ts" && one.flags.includes("g")
    )!
    assert.match(file, /^guard\//)
    assert.isAbove(line, 10)
    assert.isFalse(literals(file, Fs.readFileSync(`src/${file}`, "utf8")).some((one) => one.source === source))
    assert.deepStrictEqual(await built(async () => [/a/, "b"]), [])
  })

  it("reports slow ones, and no literal twice", () => {
    const slow = { file: "text/Text.ts", line: 7, source: "#+$", flags: "g" }
    assert.deepStrictEqual(problemsOfBuilt(new Map(), [slow]), [
      "text/Text.ts:7: /#+$/g: a search begins this loop again at every place (/#/)"
    ])
    assert.deepStrictEqual(problemsOfBuilt(new Map([["text/Text.ts", "export const a = /#+$/"]]), [slow]), [])
    assert.deepStrictEqual(problemsOfBuilt(new Map(), [{ ...slow, source: "^#+ x" }]), [])
  })
})

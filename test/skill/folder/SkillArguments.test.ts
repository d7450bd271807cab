import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as SkillArguments from "../../../src/skill/folder/SkillArguments.js"
import * as Growth from "../../support/Growth.js"

const { format, render } = SkillArguments

describe("SkillArguments", () => {
  it("inserts a text unchanged", () => {
    assert.strictEqual(render("Fix issue $ARGUMENTS now", "12 'high'"), "Fix issue 12 'high' now")
  })

  it("inserts values in the order of their keys, and others as JSON", () => {
    assert.strictEqual(
      render("Run: $ARGUMENTS", { to: "fr", count: 3, deep: { a: [1, null] }, on: true }),
      `Run: to='fr', count='3', deep='{"a":[1,null]}', on='true'`
    )
  })

  it("keeps the escape as the plain form next to placeholders", () => {
    assert.strictEqual(render("$$ARGUMENTS is $ARGUMENTS", "x"), "$ARGUMENTS is x")
    assert.strictEqual(render("$$ARGUMENTS"), "$ARGUMENTS")
    assert.strictEqual(render("$$ARGUMENTS", { a: "1" }), "$ARGUMENTS\n\n## Arguments\n\na='1'\n")
    assert.strictEqual(render("$$$ARGUMENTS", "x"), "$$ARGUMENTS\n\n## Arguments\n\nx\n")
  })

  it("never replaces inside values", () => {
    for (const value of ["$ARGUMENTS", "$$ARGUMENTS", "$&", "$1", "$`", "$'", "$$"]) {
      assert.strictEqual(render("a $ARGUMENTS b $ARGUMENTS", value), `a ${value} b ${value}`)
      assert.strictEqual(render("$ARGUMENTS", { v: value.replaceAll("'", "") }), `v='${value.replaceAll("'", "")}'`)
    }
  })

  it("inserts nothing without arguments", () => {
    for (const none of [undefined, "", {}, { a: undefined }]) {
      assert.strictEqual(render("Do it $ARGUMENTS.", none), "Do it .")
      assert.strictEqual(render("Do it.\n", none), "Do it.\n")
    }
  })

  it("does not match a longer name", () => {
    assert.strictEqual(render("$ARGUMENTS_FILE $ARGUMENTSX $ARGUMENTSを", "x"), "$ARGUMENTS_FILE $ARGUMENTSX xを")
  })

  it("appends arguments without a placeholder under a heading", () => {
    assert.strictEqual(render("Do it.\n\n", "fast"), "Do it.\n\n## Arguments\n\nfast\n")
  })

  it("never confuses one value with another argument", () => {
    assert.strictEqual(format({ a: "x', admin='true" }), "a='x'', admin=''true'")
    assert.strictEqual(format({ "a='1', b": "2" }), "'a=''1'', b'='2'")
    assert.strictEqual(format({ path: "C:\\temp\\" }), "path='C:\\temp\\'")
  })

  it("omits values without a JSON form, and treats hostile keys as keys", () => {
    assert.strictEqual(format({ f: () => 1, a: "1", c: undefined }), "a='1'")
    const hostile = JSON.parse(`{"__proto__":"x","constructor":"y"}`)
    assert.strictEqual(format(hostile), "__proto__='x', constructor='y'")
    assert.strictEqual(render("$ARGUMENTS", hostile), "__proto__='x', constructor='y'")
  })

  it("takes time linear in the text", () => {
    assert.strictEqual(render("$".repeat(1_000_000), "x").length, 1_000_000 + "\n\n## Arguments\n\nx\n".length)
    assert.strictEqual(render("$$ARGUMENTS".repeat(100_000), undefined), "$ARGUMENTS".repeat(100_000))
    assert.strictEqual(render("$ARGUMENTS".repeat(100_000), "é"), "é".repeat(100_000))
    Growth.assertLinearTexts(["$", "$$ARGUMENTS", "$ARGUMENTS"], (text) => render(text, "é"), 200_000)
  })

  it("bounds many placeholders times long arguments, and always fills the first", () => {
    const long = "x".repeat(SkillArguments.MAX_REPEATED_LENGTH)
    assert.strictEqual(render("$ARGUMENTS".repeat(100_000), `${long}y`), `${long}y${"$ARGUMENTS".repeat(99_999)}`)
    assert.isBelow(render("$ARGUMENTS".repeat(100_000), "x".repeat(10_000)).length, 3_000_000)
  })

  it("equals a left-to-right replacement", () => {
    const piece = FastCheck.constantFrom("$", "$$", "$ARGUMENTS", "$$ARGUMENTS", "ARGUMENTS", "a", " ", "_")
    const slow = (body: string, given: string): string => {
      let out = ""
      let places = 0
      for (let at = 0; at < body.length; ) {
        const rest = body.slice(at)
        const match = /^(\$?)\$ARGUMENTS(?!\w)/.exec(rest)
        if (match === null) out += body[at++]
        else {
          if (match[1] === "") places++
          out += match[1] === "" ? given : "$ARGUMENTS"
          at += match[0].length
        }
      }
      return places > 0 ? out : `${out.trimEnd()}\n\n## Arguments\n\n${given}\n`
    }
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(piece, { maxLength: 12 }),
        FastCheck.array(piece, { minLength: 1, maxLength: 4 }),
        (body, given) => {
          assert.strictEqual(render(body.join(""), given.join("")), slow(body.join(""), given.join("")))
        }
      )
    )
  })
})

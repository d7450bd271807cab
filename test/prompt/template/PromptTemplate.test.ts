import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { PromptTemplateError } from "../../../src/prompt/template/PromptError.js"
import * as PromptTemplate from "../../../src/prompt/template/PromptTemplate.js"
import * as Growth from "../../support/Growth.js"

const filled = (source: string, values: { readonly [name: string]: string } = {}): string =>
  PromptTemplate.unsafeRender(PromptTemplate.unsafeMake(source), values)

const refused = (...args: Parameters<typeof PromptTemplate.make<string>>): PromptTemplateError => {
  const error = Either.getOrThrow(Either.flip(PromptTemplate.make(...args)))
  assert.instanceOf(error, PromptTemplateError)
  return error
}

describe("variables", () => {
  it("are names in braces; every other brace is itself", () => {
    assert.strictEqual(filled("{a}, {a_1} and {_b}", { a: "1", a_1: "2", _b: "3" }), "1, 2 and 3")
    for (const text of [
      "{",
      "}",
      "{}",
      "{ a }",
      "{1a}",
      "{a-b}",
      "{a.b}",
      "{a b}",
      '{"a": 1}',
      "{a\n}",
      "{é}",
      "a}b{c"
    ]) {
      const template = PromptTemplate.unsafeMake(text)
      assert.deepStrictEqual([template.variables, filled(text)], [[], text])
    }
  })

  it("are escaped by doubled braces, which are one brace each", () => {
    assert.strictEqual(filled("{{name}}"), "{name}")
    assert.strictEqual(filled("{{{name}}}", { name: "x" }), "{x}")
    assert.strictEqual(filled("{{{{name}}}}"), "{{name}}")
    assert.strictEqual(filled("{{ }} {{}}"), "{ } {}")
    assert.deepStrictEqual(PromptTemplate.unsafeMake("{{name}}").variables, [])
  })

  it("are listed in the order of first appearance", () => {
    const template = PromptTemplate.unsafeMake("{b} {a} {b}")
    assert.deepStrictEqual(
      [template.variables, template.places],
      [
        ["b", "a"],
        ["b", "a", "b"]
      ]
    )
    assert.strictEqual(template.source, "{b} {a} {b}")
  })

  it("inside values remain text, and nothing is evaluated", () => {
    const value = "{b} {{b}} }} $& $1 {0} <%= b %>"
    assert.strictEqual(filled("{a}|{b}", { a: value, b: "x" }), `${value}|x`)
  })

  it("may have inherited property names", () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const template = PromptTemplate.unsafeMake(`<{${name}}>`)
      assert.deepStrictEqual(template.variables, [name])
      const values = JSON.parse(`{"${name}": "x"}`) as { readonly [name: string]: string }
      assert.deepStrictEqual(PromptTemplate.render(template, values), Either.right("<x>"))
      const error = Either.getOrThrow(Either.flip(PromptTemplate.render(template, {})))
      assert.deepStrictEqual(error.missing, [name])
    }
    assert.deepStrictEqual(refused("{__proto__}", { variables: ["a"] }).unknown, ["__proto__"])
  })
})

describe("errors", () => {
  it("name the location of unknown variables and of missing ones", () => {
    const error = refused("{task} {taks} {tsak} {taks}", {
      variables: ["task", "history", "tools"],
      required: ["task", "history"],
      where: "prompts/ReActAgent/ThoughtStep/user.md"
    })
    assert.deepInclude(error, {
      code: "LEX_ERR_PROMPT_100",
      where: "prompts/ReActAgent/ThoughtStep/user.md",
      unknown: ["taks", "tsak"],
      missing: ["history"]
    })
    assert.strictEqual(
      error.message,
      "The prompt prompts/ReActAgent/ThoughtStep/user.md cannot be used: it has no variable {taks}, {tsak}; {history} must stand in it"
    )
    assert.include(error.hint, "{task}, {history}, {tools}")
  })

  it("do not include unknown names without a list of variables, but do include missing ones", () => {
    assert.isTrue(Either.isRight(PromptTemplate.make("{anything}")))
    assert.deepStrictEqual(refused("{a}", { required: ["a", "b"] }).missing, ["b"])
    assert.deepStrictEqual(refused("{a}", { variables: [] }).unknown, ["a"])
  })

  it("include a required variable that is only in doubled braces", () => {
    assert.deepStrictEqual(refused("{{a}}", { variables: ["a"], required: ["a"] }).missing, ["a"])
  })

  it("are thrown for constants", () => {
    assert.throws(() => PromptTemplate.unsafeMake("{a}", { variables: [] }), PromptTemplateError)
  })

  it("include a missing value, or one that is not text", () => {
    const template = PromptTemplate.unsafeMake("{a}{b}{c}")
    const error = Either.getOrThrow(
      Either.flip(PromptTemplate.render(template, { a: 1, b: undefined, c: "x" } as never))
    )
    assert.deepStrictEqual(error.missing, ["a", "b"])
    const inherited = Object.create({ a: "x", b: "x", c: "x" })
    assert.isTrue(Either.isLeft(PromptTemplate.render(template, inherited)))
  })

  it("are brief, however many there are", () => {
    const names = Array.from({ length: 20_000 }, (_, i) => `unknown_${i}_${"x".repeat(200)}`)
    const error = refused(names.map((name) => `{${name}}`).join(""), { variables: ["a"] })
    assert.isBelow(error.message.length, 3000)
    assert.isBelow(JSON.stringify(error).length, 20_000)
    assert.isAbove(error.unknown.length, 0)
  })
})

describe("any text", () => {
  const text = FastCheck.oneof(
    FastCheck.string({ maxLength: 60 }),
    FastCheck.array(FastCheck.constantFrom("{", "}", "{{", "}}", "{a}", "a", "_", "1", " ", "{a", "a}"), {
      maxLength: 30
    }).map((pieces) => pieces.join(""))
  )

  const escaped = (text: string): string => text.replace(/[{}]/g, "$&$&")

  it("comes out of a template unchanged when its braces are doubled", () => {
    FastCheck.assert(
      FastCheck.property(text, (given) => {
        const template = PromptTemplate.unsafeMake(escaped(given))
        assert.deepStrictEqual(template.variables, [])
        assert.deepStrictEqual(PromptTemplate.render(template, {}), Either.right(given))
      }),
      { numRuns: 3000, seed: 1 }
    )
  })

  it("is inserted as a value unchanged", () => {
    FastCheck.assert(
      FastCheck.property(text, text, text, (before, value, after) => {
        const template = PromptTemplate.unsafeMake(`${escaped(before)}{v}${escaped(after)}`)
        assert.strictEqual(PromptTemplate.unsafeRender(template, { v: value }), `${before}${value}${after}`)
      }),
      { numRuns: 2000, seed: 2 }
    )
  })

  it("is a template: it is read without failing, and its parts make up the text", () => {
    FastCheck.assert(
      FastCheck.property(text, (given) => {
        const template = Either.getOrThrow(PromptTemplate.make(given))
        assert.strictEqual(template.texts.length, template.places.length + 1)
        assert.strictEqual(template.source, given)
      }),
      { numRuns: 2000, seed: 3 }
    )
  })

  it("is read in time linear in its length", () => {
    const run = (source: string) => PromptTemplate.unsafeRender(PromptTemplate.unsafeMake(source), { a: "x", aa: "x" })
    Growth.assertLinearTexts(["{", "}", (size) => `{${"a".repeat(size)}`, "{a", "{a}"], run, 200_000)
  })
})

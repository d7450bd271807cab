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

describe("places", () => {
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

  it("doubled braces are one each, also around a place", () => {
    assert.strictEqual(filled("{{name}}"), "{name}")
    assert.strictEqual(filled("{{{name}}}", { name: "x" }), "{x}")
    assert.strictEqual(filled("{{{{name}}}}"), "{{name}}")
    assert.strictEqual(filled("{{ }} {{}}"), "{ } {}")
    assert.deepStrictEqual(PromptTemplate.unsafeMake("{{name}}").variables, [])
  })

  it("are known in the order in which they first stand", () => {
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

  it("inside of values stay text, and nothing is evaluated", () => {
    const value = "{b} {{b}} }} $& $1 {0} <%= b %>"
    assert.strictEqual(filled("{a}|{b}", { a: value, b: "x" }), `${value}|x`)
  })

  it("may have the names that objects bring along", () => {
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

describe("what is wrong", () => {
  it("is told with where: places without a variable, variables without a place", () => {
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

  it("without a list of variables any name is taken, and required ones are still looked for", () => {
    assert.isTrue(Either.isRight(PromptTemplate.make("{anything}")))
    assert.deepStrictEqual(refused("{a}", { required: ["a", "b"] }).missing, ["b"])
    assert.deepStrictEqual(refused("{a}", { variables: [] }).unknown, ["a"])
  })

  it("doubled braces are no place for a variable", () => {
    assert.deepStrictEqual(refused("{{a}}", { variables: ["a"], required: ["a"] }).missing, ["a"])
  })

  it("is thrown for constants", () => {
    assert.throws(() => PromptTemplate.unsafeMake("{a}", { variables: [] }), PromptTemplateError)
  })

  it("is a value that is not there, or is no text", () => {
    const template = PromptTemplate.unsafeMake("{a}{b}{c}")
    const error = Either.getOrThrow(
      Either.flip(PromptTemplate.render(template, { a: 1, b: undefined, c: "x" } as never))
    )
    assert.deepStrictEqual(error.missing, ["a", "b"])
    const inherited = Object.create({ a: "x", b: "x", c: "x" })
    assert.isTrue(Either.isLeft(PromptTemplate.render(template, inherited)))
  })

  it("is told briefly, however much it is", () => {
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

  it("comes out of a template as itself when its braces are doubled", () => {
    FastCheck.assert(
      FastCheck.property(text, (given) => {
        const template = PromptTemplate.unsafeMake(escaped(given))
        assert.deepStrictEqual(template.variables, [])
        assert.deepStrictEqual(PromptTemplate.render(template, {}), Either.right(given))
      }),
      { numRuns: 3000, seed: 1 }
    )
  })

  it("goes in as a value as it is", () => {
    FastCheck.assert(
      FastCheck.property(text, text, text, (before, value, after) => {
        const template = PromptTemplate.unsafeMake(`${escaped(before)}{v}${escaped(after)}`)
        assert.strictEqual(PromptTemplate.unsafeRender(template, { v: value }), `${before}${value}${after}`)
      }),
      { numRuns: 2000, seed: 2 }
    )
  })

  it("is a template: it is read without failing, and its parts are what it is made of", () => {
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

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Arithmetic from "../../../src/builtin/text/Arithmetic.js"
import * as Calculator from "../../../src/builtin/text/Calculator.js"
import * as MathSkill from "../../../src/builtin/text/MathSkill.js"
import { call } from "../../support/Skills.js"

const text = (expression: string): string =>
  Either.match(Calculator.evaluate(expression), {
    onLeft: ({ message, position }) => `${position}: ${message}`,
    onRight: (value) => value.text
  })

const near = (expression: string, expected: number): void => {
  const { number } = Either.getOrThrow(Calculator.evaluate(expression))
  assert.isBelow(Math.abs((number ?? Number.NaN) - expected), 1e-12, expression)
}

describe("MathSkill", () => {
  it("follows the precedence of arithmetic", () => {
    for (const [expression, expected] of [
      ["1 + 2 * 3", "7"],
      ["(1 + 2) * 3", "9"],
      ["2 ** 3 ** 2", "512"],
      ["2 ^ 10", "1024"],
      ["-2 ** 2", "-4"],
      ["2 ** -2", "0.25"],
      ["--3", "3"],
      ["10 - 4 - 3", "3"],
      ["100 / 5 / 2", "10"],
      ["7 // 2", "3"],
      ["-7 // 2", "-4"],
      ["-7 % 3", "2"],
      ["7 % -3", "-2"],
      ["5.5 % 2", "1.5"],
      ["3! + 4!", "30"],
      ["1_000_000 * 1e3", "1000000000"],
      [".5 + 5.", "5.5"],
      ["6 × 7 ÷ 2 − 1", "20"],
      ["3² + 2³", "17"]
    ] as const) {
      assert.strictEqual(text(expression), expected, expression)
    }
  })

  it("is exact where doubles are not", () => {
    assert.strictEqual(text("0.1 + 0.2"), "0.3")
    assert.strictEqual(text("2 ** 100"), "1267650600228229401496703205376")
    assert.strictEqual(text("9007199254740993 * 3"), "27021597764222979")
    assert.strictEqual(text("25!"), "15511210043330985984000000")
    assert.strictEqual(text("(10**150 + 10**20) / 10**20 * 1"), `1${"0".repeat(129)}1`)
    assert.strictEqual(text("1 / 3"), `0.${"3".repeat(50)}`)
    assert.strictEqual(text("1 / 3e60"), `0.${"0".repeat(60)}${"3".repeat(50)}`)
    assert.strictEqual(text("1.10 * 3"), "3.3")
  })

  it("knows functions and constants", () => {
    near("sqrt(2) ** 2", 2.0000000000000004)
    near("sin(pi / 2) + cos(0)", 2)
    near("log(8, 2) + log2(8) + log10(1000) + ln(e)", 10)
    near("atan2(1, 1) * 4", Math.PI)
    near("degrees(pi) - radians(180)", 180 - Math.PI)
    near("hypot(3, 4) + cbrt(27) + exp(0)", 9)
    assert.strictEqual(text("round(2.675, 2)"), "2.68")
    assert.strictEqual(text("round(-2.5) + floor(-1.5) + ceil(1.2) + trunc(-1.9)"), "-4")
    assert.strictEqual(text("round(1234, -2)"), "1200")
    assert.strictEqual(text("max(1, 3, 2) - min(4, 2) + abs(-1) + sign(-9)"), "1")
    assert.strictEqual(text("sum(1, 2, 3) + mean(1, 2)"), "7.5")
    assert.strictEqual(text("gcd(12, 18) + lcm(4, 6) + mod(7, 4) + pow(2, 3) + factorial(3)"), "35")
    assert.strictEqual(text("SQRT(16)"), "4")
    assert.strictEqual(text("asinh(1)"), '0: There is no function "asinh"; did you mean asin?')
    for (const name of Arithmetic.functions.keys()) {
      const { least } = Arithmetic.functions.get(name) as { readonly least: number }
      assert.match(text(`${name}(${Array.from({ length: least }, () => "1").join(", ")})`), /^-?[\d.]+$/, name)
    }
  })

  it("reports errors with their position", () => {
    for (const [expression, expected] of [
      ["", "0: The expression ends where a value is needed"],
      ["1 +", "3: The expression ends where a value is needed"],
      ["(1 + 2", "0: A parenthesis is not closed"],
      ["1 2", '2: "2" was not expected'],
      ["1 / 0", "2: Division by zero"],
      ["1 % 0", "2: Division by zero"],
      ["0 ** -1", "2: Division by zero"],
      ["2 $ 3", '2: "$" has no meaning here'],
      ["sqrt(-1)", "0: It has no real value"],
      ["log(0)", "0: The number is too large"],
      ["sqrt", "0: sqrt is a function: write sqrt(…)"],
      ["pi(2)", "0: pi is a number, not a function"],
      ["foo", '0: There is no number "foo"'],
      ["sqrt(1, 2)", "8: sqrt takes at most 1 values"],
      ["log()", "0: log takes at least 1 values"],
      ["1.5!", "3: A whole number is needed"],
      ["(-1)!", "4: A factorial needs a whole number from 0"],
      ["gcd(1.5, 2)", "0: A whole number is needed"]
    ] as const) {
      assert.strictEqual(text(expression), expected, expression)
    }
  })

  it("gives no meaning to names of the language", () => {
    for (const name of ["constructor", "__proto__", "toString", "process", "globalThis", "hasOwnProperty"]) {
      assert.match(text(name), /There is no number/)
      assert.match(text(`${name}(1)`), /There is no function/)
    }
    assert.match(text("sqrt.constructor(1)"), /sqrt is a function|has no meaning/)
    assert.match(text('"a"'), /has no meaning/)
    assert.match(text("a => a"), /has no meaning/)
  })

  it("rejects unbounded work at once", () => {
    for (const expression of [
      "9 ** 9 ** 9",
      "10 ** 1e15",
      "0.5 ** 1000000",
      "99999!",
      "1e99999999",
      "1e1999 * 1e1999",
      "((((9**900)**2)**2)**2)",
      `lcm(${Array.from({ length: 900 }, (_, i) => i + 100_003).join(",")})`,
      "(".repeat(3000),
      "-".repeat(3000),
      `2${"**2".repeat(1000)}`,
      "1+".repeat(5000),
      "sum(".repeat(900),
      "!".repeat(4000),
      `${"9".repeat(2500)}`
    ]) {
      assert.isTrue(Either.isLeft(Calculator.evaluate(expression)), expression.slice(0, 40))
    }
    assert.strictEqual(text("1 ** 99999999999999"), "1")
    assert.strictEqual(text("(-1) ** 99999999999999"), "-1")
    assert.strictEqual(text("0 ** 99999999999999"), "0")
    assert.strictEqual(text("5 ** 0"), "1")
  })

  it("agrees with integer arithmetic", () => {
    const int = FastCheck.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })
    FastCheck.assert(
      FastCheck.property(int, int, FastCheck.integer({ min: 0, max: 20 }), (a, b, n) => {
        const write = (value: bigint) => (value < 0n ? `(${value})` : `${value}`)
        assert.strictEqual(text(`${write(a)} * ${write(b)} - ${write(a)}`), String(a * b - a))
        assert.strictEqual(text(`${write(a)} ** ${n}`), String(a ** BigInt(n)))
        if (b !== 0n)
          assert.strictEqual(text(`(${write(a)} // ${write(b)}) * ${write(b)} + ${write(a)} % ${write(b)}`), String(a))
      })
    )
  })

  it("never throws for any text", () => {
    const piece = FastCheck.constantFrom(
      "1",
      "0",
      ".",
      "e",
      "E",
      "+",
      "-",
      "*",
      "**",
      "/",
      "//",
      "%",
      "^",
      "!",
      "(",
      ")",
      ",",
      "pi",
      "sqrt",
      "log(",
      " ",
      "²",
      "_",
      "x",
      "99",
      "1e9"
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(piece, { maxLength: 30 }), (pieces) => {
        const result = Calculator.evaluate(pieces.join(""))
        if (Either.isRight(result)) assert.match(result.right.text, /^-?\d+(\.\d+)?$/)
      }),
      { numRuns: 2000 }
    )
  })

  it("names every function and constant in the description of its parameter", () => {
    const description = JSON.stringify(MathSkill.skill.definition.parametersSchema)
    assert.include(description, `functions: ${[...Arithmetic.functions.keys()].sort().join(", ")};`)
    assert.include(description, `constants: ${[...Arithmetic.constants.keys()].join(", ")}`)
  })

  it.effect("returns a number, every digit and the expression", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* call(MathSkill.skill, { expression: "2 ** 64" }), {
        result: 2 ** 64,
        text: "18446744073709551616",
        expression: "2 ** 64"
      })
      const error = yield* Effect.flip(call(MathSkill.skill, { expression: "1 / 0" }))
      assert.strictEqual(error._tag, "MathError")
      assert.strictEqual(error.message, "Division by zero (at character 3)")
    })
  )

  it.effect("fails for a value beyond all numbers, and returns the largest one", () =>
    Effect.gen(function* () {
      for (const expression of ["171!", "2 ** 1024", "-(2 ** 1024)", "10 ** 400"]) {
        const error = yield* Effect.flip(call(MathSkill.skill, { expression }))
        assert.strictEqual(error._tag, "MathError", expression)
        assert.include(error.message, "too large", expression)
      }
      assert.strictEqual((yield* call(MathSkill.skill, { expression: "2 ** 1023" })).result, 2 ** 1023)
      assert.isTrue(Number.isFinite((yield* call(MathSkill.skill, { expression: "170!" })).result))
      assert.strictEqual((yield* call(MathSkill.skill, { expression: "171! / 170!" })).result, 171)
    })
  )
})

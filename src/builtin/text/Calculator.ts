/**
 * Arithmetic of text: a parser and an evaluator whose work is bounded. Nothing is ever evaluated as code.
 *
 * Sums, products, quotients and whole powers are exact decimals, so that `0.1 + 0.2` is `0.3` and `2 ** 100` has all
 * its digits; roots, logarithms and the like are those of doubles.
 *
 * @internal
 * @since 0.1.0
 */
import * as BigDecimal from "effect/BigDecimal"
import * as Either from "effect/Either"
import * as Nearest from "../../internal/text/Nearest.js"

/**
 * @since 0.1.0
 * @category constants
 */
export const limits = {
  /** Characters of an expression. */
  length: 4096,
  /** Parentheses, signs and powers within each other. */
  depth: 100,
  /** Digits of a number on the way and at the end. */
  digits: 2000,
  /** Digits after which a quotient is rounded. */
  precision: 50
} as const

/**
 * Why an expression has no value, and the character (from 0) where it shows.
 *
 * @since 0.1.0
 * @category errors
 */
export class Refused {
  readonly _tag = "Refused"
  readonly message: string
  readonly position: number
  constructor(message: string, position: number) {
    this.message = message
    this.position = position
  }
}

type Value = BigDecimal.BigDecimal

interface Token {
  readonly kind: "number" | "name" | "operator" | "end"
  readonly text: string
  readonly at: number
}

const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)

const lexeme =
  /\s*(?:((?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|\/\/|[-+*/%^!(),]))/y

/** What people write for the signs of the keyboard. */
const signs: Readonly<Record<string, string>> = {
  "×": "*",
  "·": "*",
  "÷": "/",
  "−": "-",
  "–": "-",
  "²": "**2",
  "³": "**3"
}

const tokenise = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  const end = text.trimEnd().length
  let at = 0
  while (at < end) {
    lexeme.lastIndex = at
    const found = lexeme.exec(text)
    if (found === null) {
      const wrong = /\S/.exec(text.slice(at))
      const position = at + (wrong?.index ?? 0)
      const [character] = text.slice(position)
      throw new Refused(`${shown(character ?? "")} has no meaning here`, position)
    }
    const [all, number, name, operator] = found
    const lexed = number ?? name ?? operator ?? ""
    at += all.length
    tokens.push({
      kind: number !== undefined ? "number" : name !== undefined ? "name" : "operator",
      text: lexed,
      at: at - lexed.length
    })
  }
  tokens.push({ kind: "end", text: "", at: end })
  return tokens
}

const magnitudeOf = (value: Value): bigint => (value.value < 0n ? -value.value : value.value)

const significantOf = (value: Value): number => magnitudeOf(value).toString().length

const digitsOf = (value: Value): number => {
  // A digit of a hexadecimal text stands for 1.2042 decimal ones: fast, and exact enough for a bound.
  const significant = Math.ceil(magnitudeOf(value).toString(16).length * 1.2042)
  return Math.max(significant, significant - value.scale, value.scale)
}

const bounded = (value: Value, at: number): Value => {
  if (digitsOf(value) > limits.digits) throw new Refused(`The number has more than ${limits.digits} digits`, at)
  return value
}

const fromDouble = (value: number, at: number): Value => {
  if (Number.isNaN(value)) throw new Refused("It has no real value", at)
  if (!Number.isFinite(value)) throw new Refused("The number is too large", at)
  return BigDecimal.unsafeFromNumber(value)
}

const toDouble = (value: Value): number => Number(BigDecimal.format(value))

const zero = BigDecimal.fromBigInt(0n)
const one = BigDecimal.fromBigInt(1n)

interface Division {
  readonly whole: Value
  readonly rest: Value
}

/** The scale in common makes whole numbers of both: exact. The rest has the sign of the divisor. */
const divided = (left: Value, right: Value, at: number): Division => {
  if (BigDecimal.isZero(right)) throw new Refused("Division by zero", at)
  const scale = Math.max(left.scale, right.scale, 0)
  const [a, b] = [BigDecimal.scale(left, scale).value, BigDecimal.scale(right, scale).value]
  const rest = a % b
  const floored = rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest
  return { whole: BigDecimal.fromBigInt((a - floored) / b), rest: BigDecimal.make(floored, scale) }
}

/** Exact where it is whole, else rounded to as many digits as `limits.precision` says. */
const quotient = (left: Value, right: Value, at: number): Value => {
  const { rest, whole } = divided(left, right, at)
  if (BigDecimal.isZero(rest)) return whole
  const exact = BigDecimal.unsafeDivide(left, right)
  const excess = significantOf(exact) - limits.precision
  return excess > 0 ? BigDecimal.round(exact, { scale: exact.scale - excess }) : exact
}

const isWhole = (value: Value): boolean => BigDecimal.normalize(value).scale <= 0

const wholeOf = (value: Value, at: number): number => {
  const number = toDouble(value)
  if (!isWhole(value) || !Number.isSafeInteger(number)) throw new Refused("A whole number is needed", at)
  return number
}

const power = (base: Value, exponent: Value, at: number): Value => {
  if (!isWhole(exponent)) return fromDouble(toDouble(base) ** toDouble(exponent), at)
  const times = toDouble(exponent)
  if (BigDecimal.isZero(base) && times < 0) throw new Refused("Division by zero", at)
  const normal = BigDecimal.normalize(base)
  const magnitude = magnitudeOf(normal)
  const grows = magnitude > 1n ? magnitude.toString(2).length * 0.302 : Math.abs(normal.scale)
  if (grows * Math.abs(times) > limits.digits) throw new Refused(`The power has more than ${limits.digits} digits`, at)
  // What stays small whatever the exponent: 0, 1 and -1.
  const count = magnitude <= 1n && normal.scale === 0 ? Math.abs(times) % 2 || (times === 0 ? 0 : 2) : Math.abs(times)
  const raised = BigDecimal.make(normal.value ** BigInt(count), normal.scale * count)
  return times < 0 ? quotient(one, raised, at) : raised
}

const factorial = (value: Value, at: number): Value => {
  const count = wholeOf(value, at)
  if (count < 0) throw new Refused("A factorial needs a whole number from 0", at)
  let product = 1n
  for (let factor = 2; factor <= count; factor++) {
    product *= BigInt(factor)
    if (factor % 50 === 0) bounded(BigDecimal.fromBigInt(product), at)
  }
  return BigDecimal.fromBigInt(product)
}

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

const integerOf = (value: Value, at: number): bigint => {
  if (!isWhole(value)) throw new Refused("A whole number is needed", at)
  return BigDecimal.scale(value, 0).value
}

const sumOf = (values: ReadonlyArray<Value>): Value => values.reduce((left, right) => BigDecimal.sum(left, right), zero)

const rounded = (value: Value, places: Value | undefined, mode: BigDecimal.RoundingMode, at: number): Value => {
  const scale = places === undefined ? 0 : wholeOf(places, at)
  if (Math.abs(scale) > limits.digits) throw new Refused(`Rounding is to at most ${limits.digits} places`, at)
  return BigDecimal.round(value, { scale, mode })
}

interface Function {
  readonly least: number
  readonly most: number
  readonly apply: (values: ReadonlyArray<Value>, at: number) => Value
}

const double = (f: (value: number) => number): Function => ({
  least: 1,
  most: 1,
  apply: ([value], at) => fromDouble(f(toDouble(value as Value)), at)
})

const unary = (apply: (value: Value, at: number) => Value): Function => ({
  least: 1,
  most: 1,
  apply: ([value], at) => apply(value as Value, at)
})

const variadic = (apply: (values: ReadonlyArray<Value>, at: number) => Value): Function => ({
  least: 1,
  most: 1000,
  apply
})

const rounding = (mode: BigDecimal.RoundingMode): Function => ({
  least: 1,
  most: 2,
  apply: ([value, places], at) => rounded(value as Value, places, mode, at)
})

/**
 * The functions, by name. Angles are radians.
 *
 * @since 0.1.0
 * @category constants
 */
export const functions: ReadonlyMap<string, Function> = new Map<string, Function>([
  ["abs", unary((value) => BigDecimal.abs(value))],
  ["sign", unary((value) => BigDecimal.fromBigInt(BigInt(BigDecimal.sign(value))))],
  ["floor", rounding("floor")],
  ["ceil", rounding("ceil")],
  ["trunc", rounding("to-zero")],
  ["round", rounding("half-from-zero")],
  ["sqrt", double(Math.sqrt)],
  ["cbrt", double(Math.cbrt)],
  ["exp", double(Math.exp)],
  ["ln", double(Math.log)],
  [
    "log",
    {
      least: 1,
      most: 2,
      apply: ([value, base], at) =>
        fromDouble(
          base === undefined
            ? Math.log(toDouble(value as Value))
            : Math.log(toDouble(value as Value)) / Math.log(toDouble(base)),
          at
        )
    }
  ],
  ["log2", double(Math.log2)],
  ["log10", double(Math.log10)],
  ["sin", double(Math.sin)],
  ["cos", double(Math.cos)],
  ["tan", double(Math.tan)],
  ["asin", double(Math.asin)],
  ["acos", double(Math.acos)],
  ["atan", double(Math.atan)],
  [
    "atan2",
    { least: 2, most: 2, apply: ([y, x], at) => fromDouble(Math.atan2(toDouble(y as Value), toDouble(x as Value)), at) }
  ],
  ["sinh", double(Math.sinh)],
  ["cosh", double(Math.cosh)],
  ["tanh", double(Math.tanh)],
  ["degrees", double((value) => (value * 180) / Math.PI)],
  ["radians", double((value) => (value * Math.PI) / 180)],
  ["hypot", variadic((values, at) => fromDouble(Math.hypot(...values.map(toDouble)), at))],
  ["pow", { least: 2, most: 2, apply: ([base, exponent], at) => power(base as Value, exponent as Value, at) }],
  ["mod", { least: 2, most: 2, apply: ([left, right], at) => divided(left as Value, right as Value, at).rest }],
  ["factorial", unary(factorial)],
  ["min", variadic((values) => values.reduce((left, right) => BigDecimal.min(left, right)))],
  ["max", variadic((values) => values.reduce((left, right) => BigDecimal.max(left, right)))],
  ["sum", variadic(sumOf)],
  ["mean", variadic((values, at) => quotient(sumOf(values), BigDecimal.fromBigInt(BigInt(values.length)), at))],
  ["gcd", variadic((values, at) => BigDecimal.fromBigInt(values.map((value) => integerOf(value, at)).reduce(gcd, 0n)))],
  [
    "lcm",
    variadic((values, at) =>
      BigDecimal.fromBigInt(
        values
          .map((value) => integerOf(value, at))
          .reduce((a, b) => {
            const product = a === 0n || b === 0n ? 0n : (a / gcd(a, b)) * b
            bounded(BigDecimal.fromBigInt(product), at)
            return product < 0n ? -product : product
          }, 1n)
      )
    )
  ]
])

/**
 * The constants, by name.
 *
 * @since 0.1.0
 * @category constants
 */
export const constants: ReadonlyMap<string, Value> = new Map([
  ["pi", BigDecimal.unsafeFromString("3.14159265358979323846264338327950288419716939937510")],
  ["tau", BigDecimal.unsafeFromString("6.28318530717958647692528676655900576839433879875021")],
  ["e", BigDecimal.unsafeFromString("2.71828182845904523536028747135266249775724709369995")]
])

const known = [...functions.keys(), ...constants.keys()]

class Parser {
  private at = 0
  private depth = 0
  constructor(private readonly tokens: ReadonlyArray<Token>) {}

  whole(): Value {
    const value = this.sum()
    const token = this.peek()
    if (token.kind !== "end") throw new Refused(`${shown(token.text)} was not expected`, token.at)
    return value
  }

  private peek(): Token {
    return this.tokens[this.at] as Token
  }

  private accept(...operators: ReadonlyArray<string>): Token | undefined {
    const token = this.peek()
    if (token.kind !== "operator" || !operators.includes(token.text)) return undefined
    this.at++
    return token
  }

  private nested<A>(inner: () => A): A {
    if (++this.depth > limits.depth) throw new Refused("The expression is nested too deeply", this.peek().at)
    const value = inner()
    this.depth--
    return value
  }

  private sum(): Value {
    let left = this.product()
    for (let sign = this.accept("+", "-"); sign !== undefined; sign = this.accept("+", "-")) {
      const right = this.product()
      left = bounded(sign.text === "+" ? BigDecimal.sum(left, right) : BigDecimal.subtract(left, right), sign.at)
    }
    return left
  }

  private product(): Value {
    let left = this.signed()
    for (let sign = this.accept("*", "/", "//", "%"); sign !== undefined; sign = this.accept("*", "/", "//", "%")) {
      const right = this.signed()
      left = bounded(
        sign.text === "*"
          ? BigDecimal.multiply(left, right)
          : sign.text === "/"
            ? quotient(left, right, sign.at)
            : divided(left, right, sign.at)[sign.text === "//" ? "whole" : "rest"],
        sign.at
      )
    }
    return left
  }

  /** A sign binds weaker than a power: `-2 ** 2` is -4. */
  private signed(): Value {
    const sign = this.accept("+", "-")
    if (sign === undefined) return this.power()
    const value = this.nested(() => this.signed())
    return sign.text === "-" ? BigDecimal.negate(value) : value
  }

  private power(): Value {
    const base = this.postfix()
    const sign = this.accept("**", "^")
    if (sign === undefined) return base
    return bounded(
      power(
        base,
        this.nested(() => this.signed()),
        sign.at
      ),
      sign.at
    )
  }

  private postfix(): Value {
    let value = this.atom()
    for (let sign = this.accept("!"); sign !== undefined; sign = this.accept("!")) {
      value = bounded(factorial(value, sign.at), sign.at)
    }
    return value
  }

  private atom(): Value {
    const token = this.peek()
    if (token.kind === "number") {
      this.at++
      return numberOf(token)
    }
    if (token.kind === "name") {
      this.at++
      return this.named(token)
    }
    if (this.accept("(") !== undefined) {
      const value = this.nested(() => this.sum())
      this.close(token)
      return value
    }
    throw new Refused(
      token.kind === "end" ? "The expression ends where a value is needed" : `${shown(token.text)} was not expected`,
      token.at
    )
  }

  private named(token: Token): Value {
    const name = token.text.toLowerCase()
    const open = this.accept("(")
    const found = open === undefined ? constants.get(name) : undefined
    if (found !== undefined) return found
    const called = functions.get(name)
    if (open === undefined || called === undefined) throw unknown(token, open !== undefined)
    const values: Array<Value> = []
    if (this.accept(")") === undefined) {
      do {
        if (values.length === called.most)
          throw new Refused(`${name} takes at most ${called.most} values`, this.peek().at)
        values.push(this.nested(() => this.sum()))
      } while (this.accept(",") !== undefined)
      this.close(open)
    }
    if (values.length < called.least) throw new Refused(`${name} takes at least ${called.least} values`, token.at)
    return bounded(called.apply(values, token.at), token.at)
  }

  private close(open: Token): void {
    if (this.accept(")") === undefined) throw new Refused("A parenthesis is not closed", open.at)
  }
}

const unknown = (token: Token, called: boolean): Refused => {
  const name = token.text.toLowerCase()
  if (functions.has(name)) return new Refused(`${name} is a function: write ${name}(…)`, token.at)
  if (constants.has(name)) return new Refused(`${name} is a number, not a function`, token.at)
  const near = Nearest.nearest(name, known)
  return new Refused(
    `There is no ${called ? "function" : "number"} ${shown(token.text)}${near === undefined ? "" : `; did you mean ${near}?`}`,
    token.at
  )
}

const numberOf = (token: Token): Value => {
  const [mantissa, exponent] = token.text.replaceAll("_", "").toLowerCase().split("e") as [string, string?]
  const scale = Number(exponent ?? 0)
  if (Math.abs(scale) > limits.digits) throw new Refused(`The number has more than ${limits.digits} digits`, token.at)
  const value = BigDecimal.unsafeFromString(mantissa.startsWith(".") ? `0${mantissa}` : mantissa.replace(/\.$/, ""))
  return bounded(BigDecimal.make(value.value, value.scale - scale), token.at)
}

/** All digits, without an exponent. */
const plain = (value: Value): string => {
  const { scale, value: digits } = BigDecimal.normalize(value)
  if (scale <= 0) return (digits * 10n ** BigInt(-scale)).toString()
  const sign = digits < 0n ? "-" : ""
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0")
  return `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Result {
  /** The nearest double; none for a number that is too large for one. */
  readonly number: number | null
  /** Every digit; quotients and what comes of doubles are rounded. */
  readonly text: string
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const evaluate = (expression: string): Either.Either<Result, Refused> => {
  if (expression.length > limits.length) {
    return Either.left(new Refused(`The expression is longer than ${limits.length} characters`, limits.length))
  }
  try {
    const text = expression.replace(/[×·÷−–²³]/g, (sign) => signs[sign] ?? sign)
    const value = new Parser(tokenise(text)).whole()
    const number = toDouble(value)
    return Either.right({ number: Number.isFinite(number) ? number + 0 : null, text: plain(value) })
  } catch (error) {
    if (error instanceof Refused) return Either.left(error)
    throw error
  }
}

/**
 * Decimal arithmetic with bounded results: the operators, functions and constants of the calculator.
 *
 * @private
 * @since 0.1.0
 */
import { Decimal } from "decimal.js"

/**
 * @since 0.1.0
 * @category constants
 */
export const limits = {
  /** Characters of an expression. */
  length: 4096,
  /** Nesting of parentheses, signs and powers. */
  depth: 100,
  /** Digits of every intermediate and final number. */
  digits: 2000,
  /** Digits after which a quotient is rounded. */
  precision: 50
} as const

/**
 * An expression has no value. `position` is the character, from 0, at which that shows.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidExpression {
  readonly _tag = "InvalidExpression"
  readonly message: string
  readonly position: number
  constructor(message: string, position: number) {
    this.message = message
    this.position = position
  }
}

/**
 * Wide enough for every sum, product and remainder of two bounded numbers to be exact.
 *
 * @category operations
 */
export const Exact = Decimal.clone({ precision: 2 * limits.digits + 100, modulo: Decimal.ROUND_FLOOR })

const Rounded = Decimal.clone({ precision: limits.precision })

const digitsOf = (value: Decimal): number => Math.max(value.sd(), value.e + 1, value.dp())

/**
 * @category operations
 */
export const bounded = (value: Decimal, at: number): Decimal => {
  if (digitsOf(value) > limits.digits)
    throw new InvalidExpression(`The number has more than ${limits.digits} digits`, at)
  return value
}

const fromDouble = (value: number, at: number): Decimal => {
  if (Number.isNaN(value)) throw new InvalidExpression("It has no real value", at)
  if (!Number.isFinite(value)) throw new InvalidExpression("The number is too large", at)
  return new Exact(value)
}

/**
 * Adding 0 turns -0 into 0.
 *
 * @category operations
 */
export const toDouble = (value: Decimal): number => value.toNumber() + 0

const zero = new Exact(0)

const one = new Exact(1)

/**
 * @category operations
 */
export const remainder = (left: Decimal, right: Decimal, at: number): Decimal => {
  if (right.isZero()) throw new InvalidExpression("Division by zero", at)
  return left.mod(right)
}

/**
 * @category operations
 */
export const flooredQuotient = (left: Decimal, right: Decimal, at: number): Decimal =>
  left.minus(remainder(left, right, at)).div(right)

/**
 * Exact if the quotient is whole, otherwise rounded to `limits.precision` digits.
 *
 * @category operations
 */
export const quotient = (left: Decimal, right: Decimal, at: number): Decimal =>
  remainder(left, right, at).isZero() ? left.div(right) : new Exact(Rounded.div(left, right))

const toWhole = (value: Decimal, at: number): number => {
  const number = toDouble(value)
  if (!value.isInt() || !Number.isSafeInteger(number)) throw new InvalidExpression("A whole number is needed", at)
  return number
}

/**
 * @category operations
 */
export const power = (base: Decimal, exponent: Decimal, at: number): Decimal => {
  if (!exponent.isInt()) return fromDouble(toDouble(base) ** toDouble(exponent), at)
  if (base.isZero() && exponent.lt(0)) throw new InvalidExpression("Division by zero", at)
  // 0, 1 and -1 stay small whatever the exponent.
  if (base.isZero() || base.abs().eq(one)) return base.pow(exponent.isZero() ? 0 : exponent.mod(2).isZero() ? 2 : 1)
  const times = Math.abs(toDouble(exponent))
  const significant = Math.log10(Number(base.abs().toExponential().split("e")[0])) + base.sd() - 1
  const grows = significant > 0 ? significant : Math.abs(base.e)
  if (grows * times > limits.digits) throw new InvalidExpression(`The power has more than ${limits.digits} digits`, at)
  const raised = base.pow(times)
  return exponent.lt(0) ? quotient(one, raised, at) : raised
}

/**
 * @category operations
 */
export const factorial = (value: Decimal, at: number): Decimal => {
  const count = toWhole(value, at)
  if (count < 0) throw new InvalidExpression("A factorial needs a whole number from 0", at)
  let product = one
  for (let factor = 2; factor <= count; factor++) product = bounded(product.times(factor), at)
  return product
}

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

const toBigInt = (value: Decimal, at: number): bigint => {
  if (!value.isInt()) throw new InvalidExpression("A whole number is needed", at)
  return BigInt(value.toFixed())
}

const lcm = (a: bigint, b: bigint, at: number): bigint => {
  const product = a === 0n || b === 0n ? 0n : (a / gcd(a, b)) * b
  bounded(new Exact(product.toString()), at)
  return product < 0n ? -product : product
}

const sum = (values: ReadonlyArray<Decimal>): Decimal => values.reduce((left, right) => left.plus(right), zero)

const round = (value: Decimal, places: Decimal | undefined, mode: Decimal.Rounding, at: number): Decimal => {
  const scale = places === undefined ? 0 : toWhole(places, at)
  if (Math.abs(scale) > limits.digits) throw new InvalidExpression(`Rounding is to at most ${limits.digits} places`, at)
  const unit = new Exact(`1e${-scale}`)
  return value.div(unit).toDP(0, mode).times(unit)
}

interface Function {
  readonly least: number
  readonly most: number
  readonly apply: (values: ReadonlyArray<Decimal>, at: number) => Decimal
}

const double = (f: (value: number) => number): Function => ({
  least: 1,
  most: 1,
  apply: ([value], at) => fromDouble(f(toDouble(value as Decimal)), at)
})

const unary = (apply: (value: Decimal, at: number) => Decimal): Function => ({
  least: 1,
  most: 1,
  apply: ([value], at) => apply(value as Decimal, at)
})

const variadic = (apply: (values: ReadonlyArray<Decimal>, at: number) => Decimal): Function => ({
  least: 1,
  most: 1000,
  apply
})

const rounding = (mode: Decimal.Rounding): Function => ({
  least: 1,
  most: 2,
  apply: ([value, places], at) => round(value as Decimal, places, mode, at)
})

const logarithm = (value: Decimal, base: Decimal | undefined): number =>
  base === undefined ? Math.log(toDouble(value)) : Math.log(toDouble(value)) / Math.log(toDouble(base))

const doubles = [
  "sqrt",
  "cbrt",
  "exp",
  "log2",
  "log10",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "tanh"
] as const

/**
 * The functions, by name. Angles are radians.
 *
 * @since 0.1.0
 * @category constants
 */
export const functions: ReadonlyMap<string, Function> = new Map<string, Function>([
  ["abs", unary((value) => value.abs())],
  ["sign", unary((value) => new Exact(Decimal.sign(value)))],
  ["floor", rounding(Decimal.ROUND_FLOOR)],
  ["ceil", rounding(Decimal.ROUND_CEIL)],
  ["trunc", rounding(Decimal.ROUND_DOWN)],
  ["round", rounding(Decimal.ROUND_HALF_UP)],
  ["ln", double(Math.log)],
  ...doubles.map((name) => [name, double(Math[name])] as const),
  ["log", { least: 1, most: 2, apply: ([value, base], at) => fromDouble(logarithm(value as Decimal, base), at) }],
  [
    "atan2",
    {
      least: 2,
      most: 2,
      apply: ([y, x], at) => fromDouble(Math.atan2(toDouble(y as Decimal), toDouble(x as Decimal)), at)
    }
  ],
  ["degrees", double((value) => (value * 180) / Math.PI)],
  ["radians", double((value) => (value * Math.PI) / 180)],
  ["hypot", variadic((values, at) => fromDouble(Math.hypot(...values.map(toDouble)), at))],
  ["pow", { least: 2, most: 2, apply: ([base, exponent], at) => power(base as Decimal, exponent as Decimal, at) }],
  ["mod", { least: 2, most: 2, apply: ([left, right], at) => remainder(left as Decimal, right as Decimal, at) }],
  ["factorial", unary(factorial)],
  ["min", variadic((values) => Exact.min(...values))],
  ["max", variadic((values) => Exact.max(...values))],
  ["sum", variadic(sum)],
  ["mean", variadic((values, at) => quotient(sum(values), new Exact(values.length), at))],
  [
    "gcd",
    variadic(
      (values, at) =>
        new Exact(
          values
            .map((value) => toBigInt(value, at))
            .reduce(gcd, 0n)
            .toString()
        )
    )
  ],
  [
    "lcm",
    variadic(
      (values, at) =>
        new Exact(
          values
            .map((value) => toBigInt(value, at))
            .reduce((a, b) => lcm(a, b, at), 1n)
            .toString()
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
export const constants: ReadonlyMap<string, Decimal> = new Map([
  ["pi", new Exact("3.14159265358979323846264338327950288419716939937510")],
  ["tau", new Exact("6.28318530717958647692528676655900576839433879875021")],
  ["e", new Exact("2.71828182845904523536028747135266249775724709369995")]
])

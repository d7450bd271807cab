/**
 * Parses and evaluates arithmetic expressions with bounded work. No text is ever evaluated as code.
 *
 * Sums, products, quotients and whole powers are exact decimals, so `0.1 + 0.2` is `0.3` and `2 ** 100` has all its
 * digits. Roots, logarithms and the like have the precision of doubles.
 *
 * @private
 * @since 0.1.0
 */
import type { Decimal } from "decimal.js"
import * as Either from "effect/Either"
import * as Nearest from "../../internal/text/Nearest.js"
import {
  bounded,
  constants,
  Exact,
  factorial,
  flooredQuotient,
  functions,
  InvalidExpression,
  limits,
  power,
  quotient,
  remainder,
  toDouble
} from "./Arithmetic.js"

interface Token {
  readonly kind: "number" | "name" | "operator" | "end"
  readonly text: string
  readonly at: number
}

const quote = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)

const lexeme =
  /\s*(?:((?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|\/\/|[-+*/%^!(),]))/y

/** Typographic operators and their ASCII forms. */
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
      throw new InvalidExpression(`${quote(character ?? "")} has no meaning here`, position)
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

const known = [...functions.keys(), ...constants.keys()]

const products = {
  "*": (left: Decimal, right: Decimal) => left.times(right),
  "/": quotient,
  "//": flooredQuotient,
  "%": remainder
} satisfies Record<string, (left: Decimal, right: Decimal, at: number) => Decimal>

class Parser {
  private at = 0
  private depth = 0
  constructor(private readonly tokens: ReadonlyArray<Token>) {}

  whole(): Decimal {
    const value = this.sum()
    const token = this.peek()
    if (token.kind !== "end") throw new InvalidExpression(`${quote(token.text)} was not expected`, token.at)
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
    if (++this.depth > limits.depth) throw new InvalidExpression("The expression is nested too deeply", this.peek().at)
    const value = inner()
    this.depth--
    return value
  }

  private sum(): Decimal {
    let left = this.product()
    for (let sign = this.accept("+", "-"); sign !== undefined; sign = this.accept("+", "-")) {
      const right = this.product()
      left = bounded(sign.text === "+" ? left.plus(right) : left.minus(right), sign.at)
    }
    return left
  }

  private product(): Decimal {
    let left = this.signed()
    for (let sign = this.accept("*", "/", "//", "%"); sign !== undefined; sign = this.accept("*", "/", "//", "%")) {
      const right = this.signed()
      left = bounded(products[sign.text as keyof typeof products](left, right, sign.at), sign.at)
    }
    return left
  }

  /** A sign binds more weakly than a power: `-2 ** 2` is -4. */
  private signed(): Decimal {
    const sign = this.accept("+", "-")
    if (sign === undefined) return this.power()
    const value = this.nested(() => this.signed())
    return sign.text === "-" ? value.neg() : value
  }

  private power(): Decimal {
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

  private postfix(): Decimal {
    let value = this.atom()
    for (let sign = this.accept("!"); sign !== undefined; sign = this.accept("!")) {
      value = bounded(factorial(value, sign.at), sign.at)
    }
    return value
  }

  private atom(): Decimal {
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
    throw new InvalidExpression(
      token.kind === "end" ? "The expression ends where a value is needed" : `${quote(token.text)} was not expected`,
      token.at
    )
  }

  private named(token: Token): Decimal {
    const name = token.text.toLowerCase()
    const open = this.accept("(")
    const found = open === undefined ? constants.get(name) : undefined
    if (found !== undefined) return found
    const called = functions.get(name)
    if (open === undefined || called === undefined) throw unknown(token, open !== undefined)
    const values: Array<Decimal> = []
    if (this.accept(")") === undefined) {
      do {
        if (values.length === called.most)
          throw new InvalidExpression(`${name} takes at most ${called.most} values`, this.peek().at)
        values.push(this.nested(() => this.sum()))
      } while (this.accept(",") !== undefined)
      this.close(open)
    }
    if (values.length < called.least)
      throw new InvalidExpression(`${name} takes at least ${called.least} values`, token.at)
    return bounded(called.apply(values, token.at), token.at)
  }

  private close(open: Token): void {
    if (this.accept(")") === undefined) throw new InvalidExpression("A parenthesis is not closed", open.at)
  }
}

const unknown = (token: Token, called: boolean): InvalidExpression => {
  const name = token.text.toLowerCase()
  if (functions.has(name)) return new InvalidExpression(`${name} is a function: write ${name}(…)`, token.at)
  if (constants.has(name)) return new InvalidExpression(`${name} is a number, not a function`, token.at)
  const near = Nearest.nearest(name, known)
  return new InvalidExpression(
    `There is no ${called ? "function" : "number"} ${quote(token.text)}${near === undefined ? "" : `; did you mean ${near}?`}`,
    token.at
  )
}

const numberOf = (token: Token): Decimal => {
  const text = token.text.replaceAll("_", "")
  const exponent = Number(/[eE](.+)/.exec(text)?.[1] ?? 0)
  if (Math.abs(exponent) > limits.digits)
    throw new InvalidExpression(`The number has more than ${limits.digits} digits`, token.at)
  return bounded(new Exact(text.replace(/\.(?=[eE]|$)/, "")), token.at)
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Result {
  /** The nearest double; `null` for a number too large for one. */
  readonly number: number | null
  /** All digits, without an exponent. Quotients and results of doubles are rounded. */
  readonly text: string
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const evaluate = (expression: string): Either.Either<Result, InvalidExpression> => {
  if (expression.length > limits.length) {
    return Either.left(
      new InvalidExpression(`The expression is longer than ${limits.length} characters`, limits.length)
    )
  }
  try {
    const text = expression.replace(/[×·÷−–²³]/g, (sign) => signs[sign] ?? sign)
    const value = new Parser(tokenise(text)).whole()
    const number = toDouble(value)
    return Either.right({
      number: Number.isFinite(number) ? number : null,
      text: value.isZero() ? "0" : value.toFixed()
    })
  } catch (error) {
    if (error instanceof InvalidExpression) return Either.left(error)
    throw error
  }
}

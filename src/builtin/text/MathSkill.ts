/**
 * The `math_calculate` skill: arithmetic on exact decimals.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Skill from "../../skill/definition/Skill.js"

/**
 * The expression has no value. `position` is the character, from 0, at which that shows.
 *
 * @since 0.1.0
 * @category errors
 */
export class MathError extends ErrorCode.TaggedError<MathError>("effect-lexigram/builtin/MathSkill/MathError")(
  "MathError",
  { ...ErrorCode.fields("LEX_ERR_SKILL_112"), expression: Schema.String, position: Schema.NonNegativeInt }
) {}

/** Loads the decimal arithmetic on the first call. */
const calculator = (expression: string) =>
  Effect.tryPromise({
    try: () => import("./Calculator.js"),
    catch: () =>
      new MathError({
        expression: expression.slice(0, 200),
        position: 0,
        message: "The package decimal.js, which calculates, is not installed",
        hint: "npm install decimal.js"
      })
  })

const invalid = (expression: string, message: string, position: number): MathError =>
  new MathError({
    expression: expression.slice(0, 200),
    position,
    message: `${message} (at character ${position + 1})`,
    hint: "Write plain arithmetic with numbers, operators and the functions that the parameter lists"
  })

/** A result without a number would look like a success. */
const tooLarge = (expression: string): MathError =>
  new MathError({
    expression: expression.slice(0, 200),
    position: 0,
    message: "The value is too large: it is beyond 1.7976931348623157e308, the largest number",
    hint: "Calculate its logarithm, or a part of it, such as a quotient or a remainder"
  })

const Parameters = Schema.Struct({
  expression: Schema.String.annotations({
    description: `Arithmetic such as (3 + 4) * 2 ** 10 / sqrt(2). Operators: + - * / // % ** ! and parentheses; functions: abs, acos, asin, atan, atan2, cbrt, ceil, cos, cosh, degrees, exp, factorial, floor, gcd, hypot, lcm, ln, log, log10, log2, max, mean, min, mod, pow, radians, round, sign, sin, sinh, sqrt, sum, tan, tanh, trunc; constants: pi, tau, e`
  })
})

const Calculated = Schema.Struct({
  result: Schema.Finite.annotations({ description: "The nearest double" }),
  text: Schema.String.annotations({ description: "The number with every digit" }),
  expression: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Calculated extends Schema.Schema.Type<typeof Calculated> {}

/**
 * `math_calculate`: arithmetic with functions. Sums, products and whole powers are exact (`0.1 + 0.2` is `0.3`),
 * quotients have 50 digits, roots and the like those of a double. A value beyond the largest double is a failure. An
 * expression has at most 4,096 characters and its numbers 2,000 digits; no text is evaluated as code.
 *
 * @since 0.1.0
 * @category skills
 */
export const skill: Skill.Skill<{ readonly expression: string }, Calculated, MathError> = Skill.make("math_calculate", {
  description: "Calculates the value of an arithmetic expression",
  category: "utility",
  parameters: Parameters,
  returns: Calculated,
  cacheable: true,
  shared: true,
  idempotent: true,
  maxRetries: 0,
  handler: ({ expression }) =>
    Effect.flatMap(calculator(expression), ({ evaluate }) =>
      Either.flatMap(
        Either.mapLeft(evaluate(expression), ({ message, position }) => invalid(expression, message, position)),
        ({ number, text }) =>
          number === null ? Either.left(tooLarge(expression)) : Either.right({ result: number, text, expression })
      )
    )
})

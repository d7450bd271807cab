/**
 * Text with variables. A variable is `{name}`: letters, digits and `_`, not beginning with a digit. Every other brace
 * is itself, and `{{` and `}}` are one brace each, so that `{{name}}` is the text `{name}`. Nothing is evaluated:
 * values are inserted as they are, and variables inside values remain text.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { PromptTemplateError } from "./PromptError.js"

/**
 * A template whose variables are among `Variable`.
 *
 * @since 0.1.0
 * @category models
 */
export interface PromptTemplate<out Variable extends string = string> {
  /** The source of the template. */
  readonly source: string
  /** The variables it uses, in the order of first appearance. */
  readonly variables: ReadonlyArray<Variable>
  /** Texts, with a variable between each two of them. */
  readonly texts: ReadonlyArray<string>
  readonly places: ReadonlyArray<Variable>
}

/**
 * A value for each variable.
 *
 * @since 0.1.0
 * @category models
 */
export type Values<Variable extends string> = { readonly [K in Variable]: string }

const token = /\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** More or longer names would not help a reader. */
const NAMES_MAX = 20
const NAME_MAX = 64

const few = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_MAX))

const list = (names: ReadonlyArray<string>): string =>
  `${few(names)
    .map((name) => `{${name}}`)
    .join(", ")}${names.length > NAMES_MAX ? ", …" : ""}`

/**
 * Reads a template. A variable that is not among `variables`, or a `required` one that is missing, is a
 * `PromptTemplateError`. Without `variables` any name is accepted.
 *
 * @example
 * ```ts
 * import { PromptTemplate } from "effect-lexigram/prompt"
 * import * as Either from "effect/Either"
 *
 * const prompt = PromptTemplate.make("Translate into {language}:\n\n{text}", { variables: ["language", "text"] }).pipe(
 *   Either.flatMap((template) => PromptTemplate.render(template, { language: "French", text: "Good morning" }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <const Variable extends string = string>(
  source: string,
  options: {
    readonly variables?: ReadonlyArray<Variable> | undefined
    readonly required?: ReadonlyArray<NoInfer<Variable>> | undefined
    /** The location named in the error. */
    readonly where?: string | undefined
  } = {}
): Either.Either<PromptTemplate<Variable>, PromptTemplateError> => {
  const texts: Array<string> = []
  const places: Array<Variable> = []
  let text = ""
  let from = 0
  for (const match of source.matchAll(token)) {
    text += source.slice(from, match.index)
    from = match.index + match[0].length
    if (match[1] === undefined) {
      text += match[0][0]
    } else {
      texts.push(text)
      places.push(match[1] as Variable)
      text = ""
    }
  }
  texts.push(text + source.slice(from))
  const variables = Array.from(new Set(places))
  const known = options.variables === undefined ? undefined : new Set<string>(options.variables)
  const unknown = known === undefined ? [] : variables.filter((name) => !known.has(name))
  const missing = (options.required ?? []).filter((name) => !variables.includes(name))
  if (unknown.length === 0 && missing.length === 0) return Either.right({ source, variables, texts, places })
  const where = options.where ?? ""
  const problems = [
    ...(unknown.length === 0 ? [] : [`it has no variable ${list(unknown)}`]),
    ...(missing.length === 0 ? [] : [`${list(missing)} must stand in it`])
  ]
  return Either.left(
    new PromptTemplateError({
      where,
      unknown: few(unknown),
      missing: few(missing),
      message: `The prompt${where === "" ? "" : ` ${where}`} cannot be used: ${problems.join("; ")}`,
      hint:
        options.variables === undefined
          ? "Give each variable a place"
          : `Its variables are ${list(options.variables)}; write {{ and }} for braces around a word`
    })
  )
}

/**
 * Like `make`, for constants: throws.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unsafeMake = <const Variable extends string = string>(
  source: string,
  options?: Parameters<typeof make<Variable>>[1]
): PromptTemplate<Variable> => Either.getOrThrowWith(make(source, options), (error) => error)

/**
 * Fills in the values. A missing value, or one that is not text, is a `PromptTemplateError`; this happens only if types
 * were bypassed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = <Variable extends string>(
  template: PromptTemplate<Variable>,
  values: Values<Variable>
): Either.Either<string, PromptTemplateError> => {
  const missing = template.variables.filter((name) => !Object.hasOwn(values, name) || typeof values[name] !== "string")
  return missing.length === 0
    ? Either.right(unsafeRender(template, values))
    : Either.left(
        new PromptTemplateError({
          where: "",
          unknown: [],
          missing: few(missing),
          message: `The prompt cannot be filled in: there is no text for ${list(missing)}`,
          hint: "Give a string for each variable of the template"
        })
      )
}

/**
 * Like `render`, for values whose types hold.
 *
 * @since 0.1.0
 * @category conversions
 */
export const unsafeRender = <Variable extends string>(
  template: PromptTemplate<Variable>,
  values: Values<Variable>
): string => {
  const { places, texts } = template
  let text = texts[0] ?? ""
  for (let i = 0; i < places.length; i++) text += values[places[i] as Variable] + texts[i + 1]
  return text
}

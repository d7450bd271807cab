/**
 * A step of a pattern with its default prompt: a system half, which says who the model is and what it does, and a user
 * half with the matter at hand.
 *
 * @since 0.1.0
 */
import * as PromptTemplate from "./PromptTemplate.js"

/**
 * The variable that every step has in addition to its own: the form of the answer. It depends on whether the model is
 * asked for JSON or text.
 *
 * @since 0.1.0
 * @category constants
 */
export const OUTPUT_FORMAT = "output_format"

/**
 * A step with its default prompt. `role` is the model role that answers it.
 *
 * @since 0.1.0
 * @category models
 */
export interface PromptStep<out Variable extends string = string> {
  readonly pattern: string
  readonly name: string
  readonly role: string
  readonly variables: ReadonlyArray<Variable>
  /** Variables that one of the halves must contain, also in overrides. */
  readonly required: ReadonlyArray<Variable>
  /** The form of the answer if text is requested: the value of `{output_format}`. */
  readonly textFormat: string
  readonly system: PromptTemplate.PromptTemplate<Variable | typeof OUTPUT_FORMAT>
  readonly user: PromptTemplate.PromptTemplate<Variable | typeof OUTPUT_FORMAT>
}

/**
 * The parts of a system half. Only the first is required.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sections {
  /** Who the model is in this step, and its purpose. */
  readonly role: string
  readonly process?: ReadonlyArray<string> | undefined
  /** Default `{output_format}`. */
  readonly output?: string | undefined
  readonly edgeCases?: ReadonlyArray<string> | undefined
  readonly examples?: ReadonlyArray<string> | undefined
}

const section = (title: string, body: string | undefined): ReadonlyArray<string> =>
  body === undefined || body === "" ? [] : [`## ${title}\n\n${body}`]

const bullets = (lines: ReadonlyArray<string> | undefined): string | undefined =>
  lines?.map((line) => `- ${line}`).join("\n")

/**
 * The system half as Markdown.
 *
 * @since 0.1.0
 * @category conversions
 */
export const renderSections = (sections: Sections): string =>
  [
    ...section("Role", sections.role),
    ...section("Process", sections.process?.map((line, index) => `${index + 1}. ${line}`).join("\n")),
    ...section("Output Format", sections.output ?? `{${OUTPUT_FORMAT}}`),
    ...section("Edge Cases", bullets(sections.edgeCases)),
    ...section("Examples", sections.examples?.join("\n\n"))
  ].join("\n\n")

/**
 * Makes a step from its parts. Braces in the texts follow `PromptTemplate`. Invalid texts throw, because steps are
 * constants.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { PromptStep } from "effect-lexigram/prompt"
 *
 * const Translate = PromptStep.make({
 *   pattern: "TranslatorAgent",
 *   name: "Translate",
 *   role: "execution",
 *   variables: ["text", "language"],
 *   system: { role: "You translate texts.", output: "The translation alone." },
 *   user: "Translate into {language}:\n\n{text}"
 * })
 * ```
 */
export const make = <const Variable extends string>(options: {
  readonly pattern: string
  readonly name: string
  /** Default `thinking`. */
  readonly role?: string | undefined
  readonly variables: ReadonlyArray<Variable>
  /** Default the first variable. */
  readonly required?: ReadonlyArray<NoInfer<Variable>> | undefined
  readonly textFormat?: string | undefined
  readonly system: Sections | string
  readonly user: string
}): PromptStep<Variable> => {
  const { name, pattern, variables } = options
  const source = typeof options.system === "string" ? options.system : renderSections(options.system)
  const known = [...variables, OUTPUT_FORMAT] as const
  const half = (half: string, text: string, needed: ReadonlyArray<Variable> = []) =>
    PromptTemplate.unsafeMake<Variable | typeof OUTPUT_FORMAT>(text, {
      variables: known,
      required: needed,
      where: `${pattern}/${name}/${half}`
    })
  const required = options.required ?? variables.slice(0, 1)
  const system = half("system.md", source)
  const missing = required.filter((name) => !system.variables.includes(name))
  return {
    pattern,
    name,
    role: options.role ?? "thinking",
    variables,
    required,
    textFormat: options.textFormat ?? "",
    system,
    user: half("user.md", options.user, missing)
  }
}

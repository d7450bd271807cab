/**
 * The prompts of a run: what an application overrides, on top of the defaults that each step brings along. Custom
 * instructions are appended to every system half, whichever layer it comes from, under a heading of their own.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Ambient from "../internal/fiber/Ambient.js"
import { nearest } from "../internal/text/Nearest.js"
import { PromptLibraryError, type PromptTemplateError } from "./template/PromptError.js"
import { OUTPUT_FORMAT, type PromptStep } from "./template/PromptStep.js"
import * as PromptTemplate from "./template/PromptTemplate.js"

/**
 * The heading of custom instructions.
 *
 * @since 0.1.0
 * @category constants
 */
export const INSTRUCTIONS_HEADING = "## Custom Instructions"

/**
 * A prompt with its variables filled in.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rendered {
  readonly system: string
  readonly user: string
}

/**
 * The two halves of a step. A missing half is taken from the layer below.
 *
 * @since 0.1.0
 * @category models
 */
export interface Halves {
  readonly system?: string | undefined
  readonly user?: string | undefined
}

/**
 * Halves by pattern and step: `{ ReActAgent: { ThoughtStep: { system: "…" } } }`.
 *
 * @since 0.1.0
 * @category models
 */
export type Overrides = { readonly [pattern: string]: { readonly [step: string]: Halves } }

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly overrides?: Overrides | undefined
  /** For all patterns, or by pattern. Variables in it are not filled in. */
  readonly instructions?: string | { readonly [pattern: string]: string } | undefined
  /** Steps of custom patterns, so that overrides and files may be given for them as well. */
  readonly steps?: ReadonlyArray<PromptStep> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Renders the prompt of a step with these values. A step without an override has its default, with custom
   * instructions.
   */
  readonly render: <Variable extends string>(
    step: PromptStep<Variable>,
    values: PromptTemplate.Values<Variable | typeof OUTPUT_FORMAT>
  ) => Rendered
  /**
   * The text appended to every system half of a pattern, including its heading. Empty without custom instructions.
   */
  readonly instructions: (pattern: string) => string
  /** The halves of a step as they are written, with their variables and without custom instructions. */
  readonly sources: (step: PromptStep) => Rendered
  /** The steps that the library was made of, and those that were added. */
  readonly steps: ReadonlyArray<PromptStep>
  /**
   * The same prompts with more on top: new overrides win, and new instructions follow the existing ones. Overrides may
   * name the steps of this library, those of the options and `steps`.
   */
  readonly extend: (
    options: Options,
    steps?: ReadonlyArray<PromptStep> | undefined
  ) => Either.Either<Service, PromptTemplateError | PromptLibraryError>
}

interface Resolved {
  readonly system: PromptTemplate.PromptTemplate
  readonly user: PromptTemplate.PromptTemplate
}

/** The name of a step in a library. */
export const keyOf = (pattern: string, step: string): string => `${pattern}/${step}`

/** A name as messages quote it. */
export const quote = (name: string): string => JSON.stringify(name.slice(0, 64))

/** Finds a step by name. */
const find = (
  known: ReadonlyMap<string, PromptStep>,
  pattern: string,
  step: string
): Either.Either<PromptStep, PromptLibraryError> => {
  const found = known.get(keyOf(pattern, step))
  if (found !== undefined) return Either.right(found)
  const similar = nearest(keyOf(pattern, step), Array.from(known.keys()))
  return Either.left(
    new PromptLibraryError({
      where: keyOf(pattern, step).slice(0, 128),
      message: `There is no step ${quote(step)} of a pattern ${quote(pattern)}`,
      hint:
        similar === undefined
          ? "Give the steps of your own patterns as `steps`"
          : `Did you mean ${similar}? Give the steps of your own patterns as \`steps\``
    })
  )
}

/** Puts halves on top of the previous ones of a step and checks them together. */
const resolve = (
  step: PromptStep,
  before: Resolved,
  halves: Halves,
  where: (half: keyof Halves) => string
): Either.Either<Resolved, PromptTemplateError> => {
  const known = [...step.variables, OUTPUT_FORMAT]
  const half = (name: keyof Halves) => {
    const source = halves[name]
    return source === undefined
      ? Either.right(before[name])
      : PromptTemplate.make(source, { variables: known, where: where(name) })
  }
  return Either.flatMap(half("system"), (system) =>
    Either.flatMap(half("user"), (user) => {
      const used = new Set([...system.variables, ...user.variables])
      const missing = step.required.filter((name) => !used.has(name))
      return missing.length === 0
        ? Either.right({ system, user })
        : // Reported for the half that was overridden last.
          Either.map(
            PromptTemplate.make(halves.user ?? halves.system ?? "", {
              variables: known,
              required: missing,
              where: where(halves.user === undefined ? "system" : "user")
            }),
            () => ({ system, user })
          )
    })
  )
}

interface State {
  readonly known: ReadonlyMap<string, PromptStep>
  readonly resolved: ReadonlyMap<string, Resolved>
  /** In the order in which they were given. Those without a pattern apply to all. */
  readonly instructions: ReadonlyArray<{ readonly pattern: string | undefined; readonly text: string }>
}

const fromState = (state: State): Service => {
  const endings = new Map<string, string>()
  const ending = (pattern: string): string => {
    let text = endings.get(pattern)
    if (text === undefined) {
      const all = state.instructions.filter((one) => one.pattern === undefined || one.pattern === pattern)
      text = all.length === 0 ? "" : `${INSTRUCTIONS_HEADING}\n\n${all.map((one) => one.text).join("\n\n")}`
      endings.set(pattern, text)
    }
    return text
  }
  return {
    render: (step, values) => {
      // Halves of every layer were checked against the variables of the step.
      const { system, user } = (state.resolved.get(keyOf(step.pattern, step.name)) ?? step) as typeof step
      const head = PromptTemplate.unsafeRender(system, values)
      const tail = ending(step.pattern)
      return {
        system: head === "" || tail === "" ? head + tail : `${head}\n\n${tail}`,
        user: PromptTemplate.unsafeRender(user, values)
      }
    },
    instructions: ending,
    sources: (step) => {
      const { system, user } = state.resolved.get(keyOf(step.pattern, step.name)) ?? step
      return { system: system.source, user: user.source }
    },
    steps: Array.from(state.known.values()),
    extend: (options, steps = []) => extend(state, options, steps)
  }
}

/** Says where a half comes from, for errors. */
type Where = (pattern: string, step: string, half: keyof Halves) => string

const inCode: Where = (pattern, step, half) => `${keyOf(pattern, step)}/${half}`

const extend = (
  state: State,
  options: Options,
  fallback: ReadonlyArray<PromptStep>,
  where: Where = inCode
): Either.Either<Service, PromptTemplateError | PromptLibraryError> =>
  Either.gen(function* () {
    const known = new Map([...toEntries(fallback), ...state.known, ...toEntries(options.steps ?? [])])
    const resolved = new Map(state.resolved)
    for (const [pattern, steps] of Object.entries(options.overrides ?? {})) {
      for (const [name, halves] of Object.entries(steps)) {
        const step = yield* find(known, pattern, name)
        const key = keyOf(pattern, name)
        const before = resolved.get(key) ?? step
        resolved.set(key, yield* resolve(step, before, halves, (half) => where(pattern, name, half)))
      }
    }
    const { instructions = {} } = options
    const given =
      typeof instructions === "string"
        ? [{ pattern: undefined, text: instructions.trim() }]
        : Object.entries(instructions).map(([pattern, text]) => ({ pattern, text: text.trim() }))
    const said = given.filter(({ text }) => text !== "")
    return fromState({ known, resolved, instructions: [...state.instructions, ...said] })
  })

const toEntries = (steps: ReadonlyArray<PromptStep>): ReadonlyArray<readonly [string, PromptStep]> =>
  steps.map((step) => [keyOf(step.pattern, step.name), step])

const empty: Service = fromState({ known: new Map(), resolved: new Map(), instructions: [] })

/**
 * The prompts of the current fiber. The default overrides nothing: every step has its own prompt.
 *
 * @since 0.1.0
 * @category tags
 */
export class PromptLibrary extends Ambient.Reference<PromptLibrary>()("effect-lexigram/prompt/PromptLibrary", {
  defaultValue: (): Service => empty
}) {}

/**
 * Makes a library of these steps with options on top. `CustomPrompts.make` makes one of the default steps. An override
 * for an unknown step is a `PromptLibraryError`, and a variable that its step does not have is a `PromptTemplateError`.
 *
 * @example
 * ```ts
 * import { PromptLibrary, PromptStep } from "effect-lexigram/prompt"
 * import * as Either from "effect/Either"
 *
 * const draft = PromptStep.make({
 *   pattern: "letters",
 *   name: "draft",
 *   variables: ["topic"],
 *   system: "You write short letters.",
 *   user: "Write a letter about {topic}."
 * })
 *
 * const library = PromptLibrary.make([draft], { instructions: { letters: "Never promise a date." } })
 * const prompt = Either.map(library, ({ render }) => render(draft, { topic: "a refund", output_format: "" }))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  steps: ReadonlyArray<PromptStep>,
  options: Options = {},
  where: Where = inCode
): Either.Either<Service, PromptTemplateError | PromptLibraryError> =>
  extend({ known: new Map(toEntries(steps)), resolved: new Map(), instructions: [] }, options, [], where)

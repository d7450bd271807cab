/**
 * Reads plans of ReWOO. It recognizes three forms:
 *
 * - lines as in Xu et al. 2023: `Plan: …` and `#E1 = Tool[input]`, where an input refers to earlier evidence as `#E1`;
 * - blocks of `PLAN`, `SOLVER`, `TOOL` and `PARAMS` (JSON), where `{name}` refers to the solver of that name;
 * - JSON: a list of steps, at the top or under `steps`, `plan` or `evidence`.
 *
 * Nothing of a plan is evaluated, and reading takes time linear in the text.
 *
 * @since 0.1.0
 */

import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { count } from "../internal/Count.js"
import * as JsonRepair from "../internal/text/JsonRepair.js"
import * as PlanArguments from "./PlanArguments.js"
import * as PlanCollector from "./PlanCollector.js"
import type { PlanError, PlanIssue } from "./PlanError.js"
import * as ReWooText from "./ReWooText.js"
import * as ReActAction from "./react/ReActAction.js"
import * as TaskGraph from "./TaskGraph.js"

/**
 * One piece of evidence in a plan.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Evidence = Schema.Struct({
  /** `#E1`, or the name of a solver. */
  variable: Schema.String,
  tool: Schema.String,
  /** Text, or named arguments, with references as they were written. */
  input: Schema.Unknown,
  /** The evidence it refers to, each once, in order. */
  refs: Schema.Array(Schema.String),
  /** Its purpose according to the plan; `""` if there is none. */
  plan: Schema.String,
  /** How it refers to other evidence: `#E1` only, or `{name}` as well. */
  notation: Schema.Literal("#E", "{}")
}).annotations({ identifier: "effect-lexigram/strategy/ReWooPlan/Evidence" })
/**
 * @since 0.1.0
 * @category models
 */
export interface Evidence extends Schema.Schema.Type<typeof Evidence> {}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReWooPlan {
  /** The thoughts of the plan, one per step. */
  readonly plans: ReadonlyArray<string>
  readonly evidence: ReadonlyArray<Evidence>
}

/**
 * A plan with its issues; `issues` is empty for a valid plan.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reading {
  readonly plan: ReWooPlan
  readonly issues: ReadonlyArray<PlanIssue>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Names of the available tools, including the one for questions to a model. Other tools are an issue. Default: any
   * tool.
   */
  readonly tools?: ReadonlyArray<string> | undefined
  /** Finds the name of a tool that `tools` does not list. */
  readonly findTool?: ((name: string) => string | undefined) | undefined
  /** Maximum pieces of evidence; default 500. */
  readonly maxEvidence?: number | undefined
}

const nameOf = (name: string): string => (/^#?E\d+$/i.test(name) ? `#E${name.replace(/^#?E0*(?=\d)/i, "")}` : name)

const grammars: { readonly [N in Evidence["notation"]]: PlanArguments.Grammar } = {
  "#E": { pattern: /#E(\d+)/gi, idOf: ([whole]) => nameOf(whole) },
  "{}": {
    pattern: /#E(\d+)|\{\s*(#?\w+)\s*\}/gi,
    idOf: ([whole, , name]) => nameOf(name ?? whole)
  }
}

/**
 * Reads a plan together with its issues. Never fails.
 *
 * @since 0.1.0
 * @category conversions
 */
export const readPlan = (text: string, options: Options = {}): Reading => {
  const maxEvidence = count(options.maxEvidence, 500, 1)
  const written = ReWooText.read(text, maxEvidence)
  const issues: Array<PlanIssue> = []
  const evidence = new Map<string, Evidence>()
  const names = new Set(written.steps.map(({ variable }) => nameOf(variable)))
  for (const step of written.steps) {
    const variable = nameOf(step.variable)
    if (evidence.size >= maxEvidence) {
      issues.push({
        reason: "too-long",
        task: variable,
        message: `the plan asks for more than ${maxEvidence} pieces of evidence`
      })
      break
    }
    if (step.problem !== undefined) {
      issues.push({ reason: "malformed", task: variable, message: `${variable}: ${step.problem}` })
      continue
    }
    if (evidence.has(variable)) {
      issues.push({ reason: "duplicate", task: variable, message: `${variable} is defined twice` })
      continue
    }
    const known = ReActAction.knownTool(step.tool, options.tools) ?? options.findTool?.(step.tool)
    if (options.tools !== undefined && known === undefined) {
      const shown = options.tools.slice(0, 20).map(PlanCollector.quote).join(", ") || "none"
      issues.push({
        reason: "unknown-tool",
        task: variable,
        message: `${variable} uses ${PlanCollector.quote(step.tool)}, but the tools are ${shown}`
      })
    }
    const found = PlanArguments.references(step.input, grammars[step.notation])
    const refs = step.strict ? found : found.filter((id) => id.startsWith("#E") || names.has(id))
    evidence.set(variable, {
      variable,
      tool: known ?? step.tool,
      input: step.input,
      refs,
      plan: step.plan,
      notation: step.notation
    })
  }
  const all = Array.from(evidence.values())
  if (!written.isFound) {
    issues.push({ reason: "empty", message: "there is no plan in the reply: no line like `#E1 = Tool[input]`" })
  }
  return {
    plan: { plans: written.plans, evidence: all },
    issues: [
      ...issues,
      ...TaskGraph.check(
        all.map(({ refs, variable }) => ({ id: variable, dependencies: refs })),
        { shown: (id) => id.slice(0, 64) }
      )
    ]
  }
}

/**
 * Turns the issues of a plan into an error.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toError = (issues: readonly [PlanIssue, ...ReadonlyArray<PlanIssue>]): PlanError =>
  PlanCollector.error("rewoo", issues)

/**
 * Reads a valid plan, or fails with all its issues: duplicate evidence, references to nothing or to itself, cycles,
 * unknown tools, unterminated inputs, too much evidence, no plan at all.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { ReWooPlan } from "effect-lexigram/plan"
 *
 * const plan = ReWooPlan.parse(`Plan: Find the film.
 * #E1 = Search[director of the film Alien]
 * Plan: Find out when he was born.
 * #E2 = Search[year of birth of #E1]`)
 * ```
 */
export const parse = (text: string, options?: Options | undefined): Either.Either<ReWooPlan, PlanError> => {
  const { issues, plan } = readPlan(text, options)
  const [first, ...others] = issues
  return first === undefined ? Either.right(plan) : Either.left(toError([first, ...others]))
}

/**
 * The input with evidence in place of references, as in `LlmCompilerPlan.resolve`: a reference that is a whole string
 * becomes the value itself, one inside a string becomes text. `input` is that of the evidence unless another reading of
 * it is given.
 *
 * @since 0.1.0
 * @category conversions
 */
export const resolve = (
  evidence: Pick<Evidence, "variable" | "input" | "refs" | "notation">,
  results: ReadonlyMap<string, unknown>
): Either.Either<unknown, PlanError> => {
  const refs = new Set(evidence.refs)
  const { missing, value } = PlanArguments.substitute(evidence.input, grammars[evidence.notation], (id) =>
    refs.has(id) && results.has(id)
      ? { _tag: "value", value: results.get(id) }
      : { _tag: refs.has(id) || id.startsWith("#E") ? "missing" : "text" }
  )
  const issues = missing.map(
    (id): PlanIssue => ({
      reason: "missing-reference",
      task: evidence.variable,
      message: `${evidence.variable} refers to ${id}, for which there is no evidence`
    })
  )
  const [first, ...others] = issues
  return first === undefined ? Either.right(value) : Either.left(toError([first, ...others]))
}

/**
 * Arguments in a text input, if the text is a JSON object.
 *
 * @since 0.1.0
 * @category conversions
 */
export const inputObject = (input: unknown): { readonly [name: string]: unknown } | undefined => {
  if (Predicate.isReadonlyRecord(input)) return input
  if (typeof input !== "string" || !input.trim().startsWith("{")) return undefined
  const parsed = JsonRepair.parse(input)
  return Either.isRight(parsed) && Predicate.isReadonlyRecord(parsed.right) ? parsed.right : undefined
}

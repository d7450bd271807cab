/**
 * Facts of tool results, from which later calls take arguments.
 *
 * @private
 * @since 0.1.0
 */
import type { Outcome } from "./OfflineDialogue.js"
import * as Schema from "./OfflineSchema.js"
import * as Text from "./OfflineText.js"
import type { Parameter } from "./OfflineTools.js"

interface Fact {
  readonly path: ReadonlyArray<string>
  readonly value: string | number | boolean
}

const maxFacts = 400
const maxDepth = 8

/** Leaves of a result, in order: at most 400, eight levels deep. */
const flatten = (result: unknown): ReadonlyArray<Fact> => {
  const facts: Array<Fact> = []
  const visit = (value: unknown, path: ReadonlyArray<string>) => {
    if (facts.length >= maxFacts || path.length > maxDepth) return
    if (Array.isArray(value)) for (const one of value.slice(0, maxFacts)) visit(one, path)
    else if (Schema.isRecord(value)) for (const key of Object.keys(value)) visit(value[key], [...path, key])
    else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      facts.push({ path, value })
    }
  }
  visit(result, [])
  return facts
}

const idWords = new Set(["id", "code", "number", "no", "ref"].map(Text.stem))

const fits = (param: Parameter, { path }: Fact): boolean => {
  const last = Text.words(path.at(-1) ?? "").map(Text.stem)
  if (last.join() === param.key.join()) return true
  const own = param.key.filter((stem) => !idWords.has(stem))
  return own.length > 0 && own.every((stem) => last.includes(stem)) && last.some((stem) => idWords.has(stem))
}

/**
 * Finds a value for a parameter in earlier calls, latest first: a field of a result, or an argument with the same name.
 *
 * @category getters
 */
export const find = (param: Parameter, outcomes: ReadonlyArray<Outcome>): { readonly value: unknown } | undefined => {
  for (const { params, result } of outcomes.filter(({ isFailure }) => !isFailure).toReversed()) {
    const fact = flatten(result).find((fact) => fits(param, fact) && Schema.conforms(param.shape, fact.value))
    if (fact !== undefined) return { value: fact.value }
    const passed = Object.hasOwn(params, param.name) ? params[param.name] : undefined
    if (passed !== undefined && Schema.conforms(param.shape, passed)) return { value: passed }
  }
  return undefined
}

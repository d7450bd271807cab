/**
 * Guard against prompt injections. It uses heuristics and asks no model.
 *
 * @since 0.1.0
 */
import * as Guard from "../pipeline/Guard.js"
import * as Steps from "../pipeline/Steps.js"
import * as WindowGuard from "../pipeline/WindowGuard.js"
import * as InjectionDetector from "./InjectionDetector.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends InjectionDetector.Options {
  /** Default `injection`. */
  readonly name?: string | undefined
  /** Default `input` and `toolOutput`. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /**
   * Default `block`. `redact` removes only the findings and is weaker than a block: the attacker's text around them
   * passes.
   */
  readonly action?: "block" | "warn" | "redact" | undefined
  /** Default `medium`. */
  readonly sensitivity?: InjectionDetector.Sensitivity | undefined
  /** Lowest score, from 0 to 1; overrides that of the sensitivity. */
  readonly threshold?: number | undefined
}

/** Sorts matches by start and merges those that overlap. */
const mergeOverlaps = (matches: ReadonlyArray<InjectionDetector.Match>): ReadonlyArray<InjectionDetector.Match> => {
  const result: Array<InjectionDetector.Match> = []
  for (const match of matches) {
    const last = result.at(-1)
    if (last === undefined || match.start >= last.end) result.push(match)
    else {
      const strongest = match.weight > last.weight ? match : last
      result[result.length - 1] = { ...strongest, start: last.start, end: Math.max(last.end, match.end) }
    }
  }
  return result
}

/**
 * Makes the guard. `details` contain the `score`, the `threshold`, the `categories` and the `rules` that matched,
 * strongest first; the spans refer to the original text.
 *
 * @example
 * ```ts
 * import { InjectionGuard } from "effect-lexigram/guard"
 *
 * const guard = InjectionGuard.make({
 *   sensitivity: "high",
 *   disabled: ["delimiter_spoofing.role-json"],
 *   rules: [
 *     {
 *       id: "house.vault",
 *       category: "house",
 *       weight: 0.6,
 *       doc: "Nobody has to know of the vault.",
 *       match: ["open the vault", "vault code"]
 *     }
 *   ]
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Guard.Guard => {
  const name = options?.name ?? "injection"
  const action = options?.action ?? "block"
  const threshold = options?.threshold ?? InjectionDetector.thresholds[options?.sensitivity ?? "medium"]
  const detector = InjectionDetector.make(options)
  return Guard.make({
    name,
    stages: options?.stages ?? ["input", "toolOutput"],
    check: (content) =>
      Steps.run(content, detector.detectInSteps, ({ matches, score }) => {
        if (matches.length === 0 || score < threshold) return Guard.pass(name)
        const strongest = matches.toSorted((a, b) => b.weight - a.weight)
        const categories = Array.from(new Set(strongest.map((match) => match.category)))
        const found: Guard.ResultOptions = {
          reason: `looks like ${categories[0]}`,
          details: {
            score: Math.round(score * 1000) / 1000,
            threshold,
            categories,
            rules: Array.from(new Set(strongest.map((match) => match.rule)))
          },
          spans: mergeOverlaps(matches).map(({ category, end, start }) => ({ start, end, label: category }))
        }
        if (action === "block") return Guard.block(name, found)
        if (action === "warn") return Guard.warn(name, found)
        const findings = mergeOverlaps(matches).map(
          ({ category, end, start }): Guard.Finding => ({ start, end, label: category, action: "redact" })
        )
        return Guard.redact(name, WindowGuard.redactFindings(content, findings), found)
      })
  })
}

/**
 * Keeps out instructions that come from somebody else than those who may give them: by heuristics, at once, without a
 * model.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
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
   * Default `block`. `redact` takes out the places that were found, which is less than a block: what an attacker wrote
   * around them goes on.
   */
  readonly action?: "block" | "warn" | "redact" | undefined
  /** Default `medium`. */
  readonly sensitivity?: InjectionDetector.Sensitivity | undefined
  /** From which score on, from 0 to 1, instead of that of the sensitivity. */
  readonly threshold?: number | undefined
}

/** Places by start, those that overlap as one. */
const merged = (matches: ReadonlyArray<InjectionDetector.Match>): ReadonlyArray<InjectionDetector.Match> => {
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
 * `details` name the `score`, the `threshold`, the `categories` and the `rules` that were found, the strongest first;
 * the spans are places of the text as it was given.
 *
 * @since 0.1.0
 * @category constructors
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
      Effect.map(Steps.run(content, detector.detectInSteps), ({ matches, score }) => {
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
          spans: merged(matches).map(({ category, end, start }) => ({ start, end, label: category }))
        }
        if (action === "block") return Guard.block(name, found)
        if (action === "warn") return Guard.warn(name, found)
        const findings = merged(matches).map(
          ({ category, end, start }): Guard.Finding => ({ start, end, label: category, action: "redact" })
        )
        return Guard.redact(name, WindowGuard.redactFindings(content, findings), found)
      })
  })
}

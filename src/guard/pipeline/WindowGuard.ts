/**
 * Guards that find things at places of a text, and the result that findings come to.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Findings from "./Findings.js"
import * as Guard from "./Guard.js"
import * as Steps from "./Steps.js"

/**
 * What stands in the place of a finding that is redacted.
 *
 * @since 0.1.0
 * @category getters
 */
export const replacementOf = (finding: Guard.Finding): string => finding.replacement ?? `[REDACTED:${finding.label}]`

/**
 * A text with every finding that is redacted replaced; the others stay as they are. The findings are those of the whole
 * text, by start, not overlapping.
 *
 * @since 0.1.0
 * @category conversions
 */
export const redactFindings = (content: string, findings: ReadonlyArray<Guard.Finding>): string => {
  let result = ""
  let done = 0
  for (const finding of findings) {
    if (finding.action !== "redact") continue
    result += content.slice(done, finding.start) + replacementOf(finding)
    done = finding.end
  }
  return result + content.slice(done)
}

/**
 * What findings in a text come to: a block if one of them blocks, else a redaction if one redacts, else a warning, else
 * a pass. The spans are those of all findings, the redacted ones with their replacement; the details count each label
 * in `counts` and hold the highest `confidence`. The reason is that of the findings that decided, or names their
 * labels. `offset` is where the text begins in the one that the spans refer to.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromFindings = (
  guardName: string,
  content: string,
  findings: ReadonlyArray<Guard.Finding>,
  offset: number = 0
): Guard.GuardResult => {
  if (findings.length === 0) return Guard.pass(guardName)
  let action: Guard.Finding["action"] = "warn"
  let confidence: number | undefined
  for (const finding of findings) {
    if (Guard.severity[finding.action] > Guard.severity[action]) action = finding.action
    if (finding.confidence !== undefined) confidence = Math.max(confidence ?? 0, finding.confidence)
  }
  const deciding = findings.filter((finding) => finding.action === action)
  const reasons = new Set(deciding.flatMap(({ reason }) => reason ?? []))
  const labels = Object.entries(Findings.counts(deciding))
  const options: Guard.ResultOptions = {
    reason:
      reasons.size > 0
        ? Array.from(reasons).join("; ")
        : `found ${labels.map(([label, count]) => (count === 1 ? label : `${label} (${count})`)).join(", ")}`,
    details: { counts: Findings.counts(findings), ...(confidence === undefined ? {} : { confidence }) },
    spans: findings.map((finding) => ({
      start: offset + finding.start,
      end: offset + finding.end,
      label: finding.label,
      ...(action === "redact" && finding.action === "redact" ? { replacement: replacementOf(finding) } : {})
    }))
  }
  switch (action) {
    case "block":
      return Guard.block(guardName, options)
    case "warn":
      return Guard.warn(guardName, options)
    case "redact":
      return Guard.redact(guardName, redactFindings(content, findings), options)
  }
}

/**
 * A guard that finds things at places of a text, and so can also judge a text that is still being written. A long text
 * is judged in slices, between which the event loop turns and the check can be interrupted.
 *
 * @since 0.1.0
 * @category constructors
 *
 * @example
 * ```ts
 * import { WindowGuard } from "effect-lexigram/guard"
 *
 * const codename = WindowGuard.make({
 *   name: "codename",
 *   stages: ["output"],
 *   window: {
 *     reach: 9,
 *     find: (text) =>
 *       Array.from(text.matchAll(/bluebird/gi), ({ index }) => ({
 *         start: index,
 *         end: index + 8,
 *         label: "CODENAME",
 *         action: "redact" as const
 *       }))
 *   }
 * })
 * ```
 */
export const make = (options: {
  readonly name: string
  readonly stages: ReadonlyArray<Guard.GuardStage>
  readonly window: Guard.Window
}): Guard.Guard => ({
  name: options.name,
  stages: options.stages,
  window: options.window,
  check: (content) =>
    Effect.map(
      Steps.run(content, (text) => Steps.find(options.window, text)),
      (found) => fromFindings(options.name, content, found)
    )
})

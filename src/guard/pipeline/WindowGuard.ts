/**
 * Makes guards from windows, and a guard result from findings.
 *
 * @since 0.1.0
 */
import * as Findings from "./Findings.js"
import * as Guard from "./Guard.js"
import * as Steps from "./Steps.js"

/**
 * Returns the replacement of a redacted finding.
 *
 * @since 0.1.0
 * @category getters
 */
export const replacementOf = (finding: Guard.Finding): string => finding.replacement ?? `[REDACTED:${finding.label}]`

/**
 * Replaces every redacted finding of a text; the others stay. The findings are those of the whole text, ordered by
 * start, without overlaps.
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
 * Combines findings into a result: a block if one blocks, else a redaction if one redacts, else a warning, else a pass.
 * The spans are those of all findings, redacted ones with their replacement; `counts` in the details counts each label
 * and `confidence` is the highest. The reason comes from the deciding findings, or names their labels. `offset` is the
 * start of the text in the one that the spans refer to.
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
 * Makes a guard from a window, which can also judge a text that is still being written. A long text is judged in
 * slices, between which the event loop turns and the check can be interrupted.
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
 *
 * @since 0.1.0
 * @category constructors
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
    Steps.run(
      content,
      (text) => Steps.find(options.window, text),
      (found) => fromFindings(options.name, content, found)
    )
})

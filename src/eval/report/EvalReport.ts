/**
 * Reports of experiments: what the variants scored and took, what changed, and each case; as a page that loads nothing,
 * and as Markdown.
 *
 * @since 0.1.0
 */
import * as ReportHtml from "./ReportHtml.js"
import * as ReportMarkdown from "./ReportMarkdown.js"
import * as ReportModel from "./ReportModel.js"

/**
 * @since 0.1.0
 * @category models
 */
export type EvalReport = ReportModel.EvalReport

/**
 * @since 0.1.0
 * @category models
 */
export type ReportCase = ReportModel.ReportCase

/**
 * @since 0.1.0
 * @category models
 */
export type LabelledScorer = ReportModel.LabelledScorer

/**
 * @since 0.1.0
 * @category models
 */
export type Options = ReportModel.Options

/**
 * @since 0.1.0
 * @category models
 */
export type HtmlOptions = ReportHtml.HtmlOptions

/**
 * @since 0.1.0
 * @category models
 */
export type MarkdownOptions = ReportMarkdown.MarkdownOptions

/**
 * Fails if the datasets of the two experiments differ, or an option is out of its bounds.
 *
 * @example
 * ```ts
 * import { EvalReport, Experiment } from "effect-lexigram/eval"
 * import * as Effect from "effect/Effect"
 *
 * const page = Effect.gen(function* () {
 *   const report = yield* EvalReport.make(yield* Experiment.load("1a2b3c4"))
 *   return EvalReport.toHtml(report)
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = ReportModel.make

/**
 * The cases of an experiment with their trials, those with the lowest scores first: without statistics.
 *
 * @since 0.1.0
 * @category conversions
 */
export const casesOf = ReportModel.casesOf

/**
 * Writes a report as one page: no script, no request, from 320 pixels of width on.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toHtml = ReportHtml.print

/**
 * Writes a report as Markdown of GitHub, such as for a comment on a change. It has no outputs.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMarkdown = ReportMarkdown.print

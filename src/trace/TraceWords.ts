/**
 * Says in words what traces have: times, amounts, items and issues.
 *
 * @private
 * @since 0.1.0
 */
import * as Usage from "../domain/Usage.js"
import * as SecretText from "../internal/text/SecretText.js"
import type { Content } from "./TraceContent.js"
import * as TraceContent from "./TraceContent.js"
import type * as Model from "./TraceModel.js"

const { counted, number } = TraceContent

export { counted, number }

const MOST_NAME = 80

/** A name that a model or a foreign system may have chosen: short, and without keys. */
export const name = (text: string, most = MOST_NAME): string => {
  const shown = SecretText.redact(text.slice(0, 4 * most))
  return shown.length <= most ? shown : `${shown.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`
}

/** A duration in milliseconds, seconds, minutes or hours. */
export const duration = (millis: number): string => {
  if (!Number.isFinite(millis)) return "unknown time"
  if (millis < 999.5) return `${Math.round(millis)} ms`
  if (millis < 59_950) return `${(millis / 1000).toFixed(1)} s`
  const seconds = Math.round(millis / 1000)
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${number(Math.floor(minutes / 60))} h ${minutes % 60} min`
}

/** US dollars: cents, or as many digits as a small amount needs. */
export const usd = (amount: number): string => {
  if (!Number.isFinite(amount)) return "unknown cost"
  return amount === 0 || Math.abs(amount) >= 0.095 ? `$${amount.toFixed(2)}` : `$${Number(amount.toPrecision(2))}`
}

/** The tokens of calls, with those of a prompt cache and of reasoning. */
export const tokens = (usage: Usage.Usage): ReadonlyArray<string> => {
  const { cacheWriteTokens, cachedInputTokens, estimatedTokens, inputTokens, outputTokens, reasoningTokens } = usage
  const isSplit = inputTokens !== undefined || outputTokens !== undefined
  const share =
    cachedInputTokens !== undefined && inputTokens !== undefined && inputTokens > 0
      ? ` (${Math.round((100 * cachedInputTokens) / inputTokens)} %)`
      : ""
  const some = (count: number | undefined, what: string) => (count === undefined || count === 0 ? [] : [what])
  return [
    ...(isSplit
      ? [`${number(inputTokens ?? 0)} → ${counted(outputTokens ?? 0, "token")}`]
      : usage.totalTokens === undefined
        ? []
        : [counted(Usage.total(usage), "token")]),
    ...some(cachedInputTokens, `${number(cachedInputTokens ?? 0)} read from cache${share}`),
    ...some(cacheWriteTokens, `${number(cacheWriteTokens ?? 0)} written to cache`),
    ...some(reasoningTokens, `${number(reasoningTokens ?? 0)} of reasoning`),
    ...some(estimatedTokens, `${number(estimatedTokens ?? 0)} estimated`)
  ]
}

/** What calls cost: an unknown price makes it a lower bound, and a second fact says so. */
export const cost = ({ costUsd, modelCalls, unpricedCalls }: Model.Totals): readonly [cost: string, more?: string] => {
  if (unpricedCalls === 0) return [usd(costUsd)]
  if (costUsd === 0 && modelCalls > 0) return ["cost unknown"]
  return [`at least ${usd(costUsd)}`, `${counted(unpricedCalls, "call")} without a price`]
}

/** What a run took. */
export const totals = (sum: Model.Totals): ReadonlyArray<string> => [
  counted(sum.modelCalls, "model call"),
  ...(sum.cutOffCalls === 0 ? [] : [`${number(sum.cutOffCalls)} cut off`]),
  ...(sum.cachedCalls === 0 ? [] : [`${number(sum.cachedCalls)} answered by a cache`]),
  ...(sum.retries === 0 ? [] : [counted(sum.retries, "retry", "retries")]),
  `${counted(sum.toolCalls, "tool call")}${sum.failedToolCalls === 0 ? "" : ` (${number(sum.failedToolCalls)} failed)`}`,
  ...tokens(sum.usage),
  ...(sum.modelCalls + sum.cutOffCalls === 0 ? [] : cost(sum).filter((part) => part !== undefined)),
  ...(sum.subRuns === 0 ? [] : [counted(sum.subRuns, "inner run")])
]

/** How a run ended. */
export const state = ({ finishReason, state }: Model.Run): string => {
  if (state === "open") return "not ended"
  return finishReason === undefined || finishReason === "completed" ? state : `completed (${finishReason})`
}

const sentences: Readonly<Record<Model.Issue["kind"], (count: number) => string>> = {
  empty: () => "There are no events.",
  "no-start": () => "The begin is missing.",
  "no-end": () => "The end is missing: the run still goes on, or its events were cut off.",
  "open-call": (count) => `${counted(count, "tool call has", "tool calls have")} no result.`,
  unmatched: (count) => `${counted(count, "result has", "results have")} no begin.`,
  duplicate: (count) => `${counted(count, "event")} came twice and counted once.`,
  "out-of-order": (count) => `${counted(count, "event")} came late and ${count === 1 ? "was" : "were"} put in order.`,
  "after-end": (count) => `${counted(count, "event")} came after the end and ${count === 1 ? "was" : "were"} left out.`,
  malformed: (count) => `${counted(count, "value was no event and was", "values were no events and were")} left out.`,
  "unknown-event": (count) => `${counted(count, "event")} of an unknown kind ${count === 1 ? "was" : "were"} left out.`,
  "no-events": () => "This inner run has no events here.",
  "no-parent": () => "The run around this one has no events here.",
  cycle: () => "The run says that it is inside of itself.",
  "left-out": (count) => `${counted(count, "inner run was", "inner runs were")} not read.`,
  "stream-failed": () => "The stream of events failed: events may be missing."
}

/** An issue as a sentence. */
export const issue = ({ count, kind }: Model.Issue): string => sentences[kind](count)

/** Files by type and size. */
export const files = (files: ReadonlyArray<Model.File>): ReadonlyArray<string> =>
  files
    .slice(0, 20)
    .map(({ mediaType, size }) => `${name(mediaType)}, ${size === undefined ? "by URL" : counted(size, "byte")}`)

/** How an item went. */
export type Tone = "plain" | "good" | "warn" | "bad"

/** A content with a label. */
export interface Part {
  readonly label: string
  readonly content: Content
}

/** An item in words. */
export interface Described {
  /** One word: what kind of item it is. */
  readonly kind: string
  readonly title: string
  readonly facts: ReadonlyArray<string>
  readonly tone: Tone
  readonly parts: ReadonlyArray<Part>
  readonly failure?: Model.Failure | undefined
  /** When it began and how long it took, if it is more than a moment. */
  readonly startedAt?: number | undefined
  readonly durationMs?: number | undefined
}

/** The contents that are there. */
export const parts = (labelled: Readonly<Record<string, Content | undefined>>): ReadonlyArray<Part> =>
  Object.entries(labelled).flatMap(([label, content]) => (content === undefined ? [] : [{ label, content }]))

/** A failure as facts: class and code, and what to do. */
export const failure = ({ code, hint, summary, tag }: Model.Failure): ReadonlyArray<string> => [
  `${tag}${code === undefined ? "" : ` ${code}`}${summary === undefined ? "" : `: ${summary}`}`,
  ...(hint === undefined ? [] : [`hint: ${hint}`])
]

/** A node of a search tree as facts. */
export const searchNode = ({
  id,
  kind,
  score,
  solved,
  terminal,
  tool,
  value,
  visits
}: Model.SearchNode): ReadonlyArray<string> => [
  id === 0 ? "root" : `${name(kind ?? "node")}${tool === undefined ? "" : ` ${name(tool)}`}`,
  counted(visits, "visit"),
  ...(value === undefined ? [] : [`value ${Number(value.toPrecision(3))}`]),
  ...(score === undefined ? [] : [`score ${Number(score.toPrecision(3))}`]),
  ...(solved ? ["solved"] : terminal ? ["end"] : [])
]

/** The step of an item, if it is not the one that began last: steps may run side by side. */
export const aside = (item: Model.Item, current: number | undefined): ReadonlyArray<string> =>
  "step" in item && item.step !== undefined && item.step !== current ? [`step ${number(item.step)}`] : []

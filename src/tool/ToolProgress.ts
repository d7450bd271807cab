/**
 * What tools tell while they work.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Ambient from "../internal/fiber/Ambient.js"
import type * as Run from "../observability/Run.js"
import type * as ApprovalGate from "./approval/ApprovalGate.js"
import * as Observation from "./definition/Observation.js"

/**
 * How far a call is. All fields are optional.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  /** For people; at most 1,000 characters are shown. */
  readonly message?: string | undefined
  /** A number from 0; with `total`, out of that many. */
  readonly done?: number | undefined
  readonly total?: number | undefined
  /** What is known of the result so far: plain data, of which at most 4,000 characters of JSON are shown. */
  readonly partial?: unknown
}

/**
 * Reports of a call closer to each other than this, in milliseconds, are one: the last.
 *
 * @since 0.1.0
 * @category constants
 */
export const interval = 100

const maxMessage = 1_000
const maxPartial = 4_000

type Report = (progress: Progress, onlyNumbers: boolean) => Effect.Effect<void> | undefined

/** The reports of the call that the current fiber serves. */
export class CurrentReports extends Ambient.Reference<CurrentReports>()("effect-lexigram/tool/ToolProgress/Reports", {
  defaultValue: (): Report => () => undefined
}) {}

/** A call while its handler runs, for what the handler asks of its run (`Elicitation`). */
export interface Serving {
  readonly runId: string
  readonly gate: ApprovalGate.Service
  readonly id: string
  readonly idempotencyKey: string
  readonly name: string
  readonly step: number
  /** The handler is a run, as that of an agent as a tool is. */
  readonly isComposed: boolean
  /** False from the result of the call on. */
  readonly isOpen: () => boolean
  /** Takes milliseconds spent waiting for people. */
  readonly onWaited: (millis: number) => void
  /** Questions that wait, and since when. */
  readonly waiting: { questions: number; since: number }
}

/** A call in one attempt, which counts its questions. */
export interface Attempt extends Serving {
  asked: number
}

export class CurrentCall extends Ambient.Reference<CurrentCall>()("effect-lexigram/tool/ToolProgress/CurrentCall", {
  defaultValue: (): Attempt | undefined => undefined
}) {}

/** Whether only the numbers of reports may be shown: guards judge what tools say. */
export class OnlyNumbers extends Ambient.Reference<OnlyNumbers>()("effect-lexigram/tool/ToolProgress/OnlyNumbers", {
  defaultValue: (): boolean => false
}) {}

/** Reports for the call that the current fiber serves, also from other fibers. */
export const reporter: Effect.Effect<(progress: Progress) => Effect.Effect<void>> = Effect.zipWith(
  CurrentReports,
  OnlyNumbers,
  (report, onlyNumbers) => (progress: Progress) => report(progress, onlyNumbers) ?? Effect.void
)

/**
 * Tells how far the tool call is that the current fiber serves: a `ToolProgress` event of its run, between `ToolCall`
 * and `ToolResult`. Waits for a slow reader. Outside of a call, after its end and without a reader, nothing happens.
 * Where guards judge results of tools, only `done` and `total` are shown.
 *
 * @since 0.1.0
 * @category reporting
 * @example
 * ```ts
 * import * as Tool from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 *
 * const pages = ["one", "two", "three"]
 *
 * const read = Tool.Tool.make("read", {
 *   description: "Reads the pages",
 *   handler: () =>
 *     Effect.forEach(pages, (page, index) =>
 *       Effect.as(
 *         Tool.ToolProgress.report({ message: `Reading ${page}`, done: index, total: pages.length }),
 *         page.length
 *       )
 *     )
 * })
 * ```
 */
export const report = (progress: Progress): Effect.Effect<void> =>
  Effect.flatMap(reporter, (report) => report(progress))

const amount = (value: number | undefined): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined

/** Plain data of bounded size; a larger value as the beginning of its JSON. */
const partialOf = (value: unknown): unknown => {
  if (value === undefined) return undefined
  const text = typeof value === "string" ? value : Observation.stringify(value)
  if (text === undefined) return undefined
  if (text.length > maxPartial) return Observation.truncate(text, maxPartial).text
  return typeof value === "string" ? text : (JSON.parse(text) as unknown)
}

const bounded = ({ done, message, partial, total }: Progress): Progress => {
  const [atDone, ofTotal] = [amount(done), amount(total)]
  const shown = partialOf(partial)
  return {
    ...(atDone === undefined ? {} : { done: atDone }),
    ...(ofTotal === undefined ? {} : { total: ofTotal }),
    ...(typeof message !== "string" ? {} : { message: Observation.truncate(message, maxMessage).text }),
    ...(shown === undefined ? {} : { partial: shown })
  }
}

/** The reports of one call: at most one event an interval, and the last report before the result. */
export class Reports {
  private last = Number.NEGATIVE_INFINITY
  private waiting: Progress | undefined

  constructor(
    private readonly run: Run.Service,
    private readonly clock: Clock.Clock,
    private readonly call: { readonly step: number; readonly id: string; readonly name: string }
  ) {}

  add(progress: Progress, onlyNumbers: boolean): Effect.Effect<void> | undefined {
    this.waiting = onlyNumbers ? { done: progress.done, total: progress.total } : progress
    const now = this.clock.unsafeCurrentTimeMillis()
    if (now - this.last < interval) return undefined
    this.last = now
    return this.flush()
  }

  flush(): Effect.Effect<void> | undefined {
    const { call, waiting } = this
    if (waiting === undefined) return undefined
    this.waiting = undefined
    return this.run.unsafeEmit({ _tag: "ToolProgress", ...call, ...bounded(waiting) })
  }
}

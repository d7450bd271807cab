/**
 * Traces: what runs did, as a model, as text, as a diagram and as a page.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../domain/AgentEvent.js"
import type { RunId } from "../domain/Ids.js"
import * as Count from "../internal/Count.js"
import * as RunLog from "../observability/RunLog.js"
import * as TraceHtml from "./TraceHtml.js"
import * as TraceMermaid from "./TraceMermaid.js"
import type { Trace } from "./TraceModel.js"
import * as TraceRuns from "./TraceRuns.js"
import * as TraceText from "./TraceText.js"

export type { Content, Kind, Reveal } from "./TraceContent.js"
export type { HtmlOptions } from "./TraceHtml.js"
export type { MermaidOptions } from "./TraceMermaid.js"
export type * from "./TraceModel.js"
export type { TextOptions } from "./TraceText.js"

/**
 * The trace of events, of one run or several, in linear time. Never throws: events that are missing, come twice or in
 * another order, and values that are no events, are told by `issues`.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { AgentExecutor, Agent } from "effect-lexigram"
 * import { Trace } from "effect-lexigram/trace"
 * import * as Effect from "effect/Effect"
 *
 * const agent = Agent.make("clerk", { system: "You book tables." })
 *
 * const program = Effect.gen(function* () {
 *   const trace = yield* Trace.fromStream(AgentExecutor.stream(agent, "A table for two"))
 *   yield* Effect.log(Trace.toText(trace))
 * })
 * ```
 */
export const fromEvents = (events: Iterable<AgentEvent>): Trace => TraceRuns.make(events)

/**
 * Runs a stream of events to its end and makes their trace. If the stream fails, the trace is of the events before, and
 * says so.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromStream = <E, R>(stream: Stream.Stream<AgentEvent, E, R>): Effect.Effect<Trace, never, R> =>
  Effect.suspend(() => {
    const events: Array<AgentEvent> = []
    return Stream.runForEach(stream, (event) => Effect.sync(() => void events.push(event))).pipe(
      Effect.either,
      Effect.map((exit) => {
        // A run that failed has told why with its last event.
        const hasEnd = events.some(({ _tag }) => _tag === "Error")
        const issues = Either.isRight(exit) || hasEnd ? [] : [{ kind: "stream-failed", count: 1 } as const]
        return TraceRuns.make(events, { issues })
      })
    )
  })

/**
 * Which run to read, and how much.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  /** The reader, as `RunLog.ReadOptions` has it: runs of others are not found. */
  readonly userId?: string | undefined
  /** The most runs to read, with those inside of the run. Default 1,000. */
  readonly maxRuns?: number | undefined
}

/**
 * The trace of a run and of the runs that it delegated to, read from the log. Of a run that still goes on it is what
 * happened so far; of one that the log does not have, or the reader may not see, it is empty.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromRun = (
  runId: RunId,
  options: RunOptions = {}
): Effect.Effect<Trace, RunLog.RunLogError, RunLog.RunLog> =>
  Effect.gen(function* () {
    const log = yield* RunLog.RunLog
    const most = Count.count(options.maxRuns, 1000, 1)
    const wanted = new Set([runId])
    const events: Array<AgentEvent> = []
    let left = 0
    // A set is walked in the order of its members, with those that are added meanwhile.
    for (const id of wanted) {
      for (const event of yield* log.read(id, { userId: options.userId })) {
        events.push(event)
        if (event._tag !== "Delegated" || wanted.has(event.childRunId)) continue
        if (wanted.size < most) wanted.add(event.childRunId)
        else left += 1
      }
    }
    return TraceRuns.make(events, left === 0 ? {} : { issues: [{ kind: "left-out", count: left }] })
  })

/**
 * A trace as text for terminals: no line is longer than `width` columns, where a character that is not ASCII counts as
 * two, and no character is invisible.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toText = (trace: Trace, options?: TraceText.TextOptions): string => TraceText.print(trace, options)

/**
 * A trace as one page of HTML that needs nothing else: it has no script, loads nothing, and its policy forbids both.
 * Texts of models, tools and people are escaped.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toHtml = (trace: Trace, options?: TraceHtml.HtmlOptions): string => TraceHtml.print(trace, options)

/**
 * A trace as a Mermaid diagram, without any content: who asked whom, or the runs with their models and tools. Names are
 * escaped, and the diagram stays within the bounds of Mermaid: 50,000 characters and 500 arrows.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMermaid = (trace: Trace, options?: TraceMermaid.MermaidOptions): string =>
  TraceMermaid.print(trace, options)

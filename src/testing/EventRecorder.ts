/**
 * Collects the events of runs, and checks the invariants of every run.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import type { AgentEvent, Tag } from "../domain/AgentEvent.js"
import { isTerminal } from "../domain/AgentEvent.js"
import type { RunId } from "../domain/Ids.js"

/**
 * The events of a stream before its end, and its exit.
 *
 * @since 0.1.0
 * @category models
 */
export interface Recording<E> {
  readonly events: ReadonlyArray<AgentEvent>
  readonly exit: Exit.Exit<void, E>
}

/**
 * Runs a stream of events to its end, whatever its exit.
 *
 * @since 0.1.0
 * @category constructors
 */
export const record = <E, R>(stream: Stream.Stream<AgentEvent, E, R>): Effect.Effect<Recording<E>, never, R> =>
  Effect.gen(function* () {
    const events = yield* Ref.make(Chunk.empty<AgentEvent>())
    const exit = yield* Effect.exit(Stream.runForEach(stream, (event) => Ref.update(events, Chunk.append(event))))
    return { events: Chunk.toReadonlyArray(yield* Ref.get(events)), exit }
  })

/**
 * The tags in order.
 *
 * @since 0.1.0
 * @category getters
 */
export const tags = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<Tag> => events.map((event) => event._tag)

/**
 * Describes what is wrong with a complete sequence of events; empty if it is well formed: per run consecutive numbers
 * from 0, a start, exactly one terminal event at the end, and for each tool call exactly one later result. `log` says
 * that the events were read from a log, which has no deltas: numbers only ascend.
 *
 * @since 0.1.0
 * @category guards
 */
export const violations = (
  events: ReadonlyArray<AgentEvent>,
  options: { readonly log?: boolean | undefined } = {}
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const runs = new Map<RunId, Array<AgentEvent>>()
  for (const event of events) {
    const run = runs.get(event.runId)
    if (run === undefined) runs.set(event.runId, [event])
    else run.push(event)
  }
  for (const [runId, run] of runs) {
    const say = (text: string) => problems.push(`run ${runId}: ${text}`)
    run.forEach((event, index) => {
      const before = index === 0 ? -1 : (run[index - 1] as AgentEvent).seq
      if (options.log === true ? event.seq <= before : event.seq !== index)
        say(`event ${index} (${event._tag}) has seq ${event.seq}`)
    })
    if (run[0]?._tag !== "Started") say(`begins with ${run[0]?._tag}`)
    const terminals = run.filter(isTerminal)
    if (terminals.length !== 1) say(`has ${terminals.length} terminal events`)
    const last = run[run.length - 1]
    if (last !== undefined && !isTerminal(last)) say(`ends with ${last._tag}`)
    const open = new Set<string>()
    for (const event of run) {
      if (event._tag === "ToolCall") {
        if (open.has(event.id)) say(`calls ${event.id} twice at once`)
        open.add(event.id)
      } else if (event._tag === "ToolResult" && !open.delete(event.id))
        say(`has a result of ${event.id} without a call`)
    }
    for (const id of open) say(`has no result of ${id}`)
  }
  return problems
}

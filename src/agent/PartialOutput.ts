/**
 * The output of an agent while it is written: objects whose members appear and whose texts grow.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "../domain/AgentEvent.js"
import * as OutputSchema from "../internal/text/OutputSchema.js"
import { PartialJson } from "../internal/text/PartialJson.js"

/**
 * What a part of a value may be: members and items may be missing, and a text is a beginning, of literals also.
 *
 * @since 0.1.0
 * @category models
 */
export type DeepPartial<T> = T extends string
  ? string
  : T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<DeepPartial<Item>>
    : T extends object
      ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
      : T

/**
 * The output as it grows, from the events of a run whose agent has this output schema, in its encoded form. Each value
 * is a beginning of the JSON that the model has written so far: texts may be cut, numbers are whole, nothing is made
 * up or repaired, and nothing was checked by the schema. Values do not change later, and share what is the same.
 *
 * A text that is withdrawn (`TextRetracted`) or belongs to a step that went on starts again. The last value is the
 * whole output, checked, of `Message`. An answer that repeats one which did not fit the schema comes whole, and a
 * strategy that shows no text has only the last value. Runs of other agents in the same stream are left out.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { Agent, AgentExecutor } from "effect-lexigram"
 * import { PartialOutput } from "effect-lexigram/agent"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 * import * as Stream from "effect/Stream"
 *
 * const Recipe = Schema.Struct({ title: Schema.String, steps: Schema.Array(Schema.String) })
 * const cook = Agent.make("cook", { output: Recipe })
 *
 * const program = AgentExecutor.stream(cook, "Tomato soup").pipe(
 *   PartialOutput.fromEvents(Recipe),
 *   Stream.runForEach(({ steps = [], title = "" }) => Effect.log(`${title}: ${steps.length} steps`))
 * )
 * ```
 */
export const fromEvents =
  <A, I>(schema: Schema.Schema<A, I>) =>
  <E, R>(events: Stream.Stream<AgentEvent, E, R>): Stream.Stream<DeepPartial<I>, E, R> =>
    Stream.suspend(() => {
      const isWrapped = OutputSchema.isWrapped(schema)
      const isBegun = (value: unknown): boolean => !isWrapped || Object.hasOwn(value as object, "value")
      let runId: string | undefined
      let partial = new PartialJson()
      const shown = (event: AgentEvent): ReadonlyArray<DeepPartial<I>> => {
        runId ??= event.runId
        if (event.runId !== runId) return []
        switch (event._tag) {
          case "StepStarted":
          case "TextRetracted":
            partial = new PartialJson()
            return []
          case "TextDelta": {
            return partial.push(event.text) && isBegun(partial.value)
              ? [OutputSchema.unwrap(partial.value, isWrapped) as DeepPartial<I>]
              : []
          }
          case "Message":
            return event.output === undefined ? [] : [event.output as DeepPartial<I>]
          default:
            return []
        }
      }
      return Stream.mapConcat(events, shown)
    })

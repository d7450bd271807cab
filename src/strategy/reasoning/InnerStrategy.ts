/**
 * Runs another strategy as part of a run: its steps continue the numbering of the run, and its tool calls get ids of
 * their own.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Body } from "../../domain/AgentEvent.js"
import * as Run from "../../observability/Run.js"
import { ToolRunner } from "../../tool/ToolRunner.js"
import type { InnerOptions, Service } from "../definition/Reasoning.js"
import type { ReasoningState } from "./ReasoningState.js"

const uniqueId = ({ callIds }: ReasoningState, id: string): string => {
  let unique = id
  for (let n = 2; callIds.has(unique); n++) unique = `${id}_${n}`
  callIds.add(unique)
  return unique
}

/** Translates the events of one inner run: numbers its steps and shows its text as `show` says. */
const makeTranslate = (state: ReasoningState, { onEvent, show = "reasoning" }: InnerOptions) => {
  const numbers = new Map<number, number>()
  const numberOf = (step: number): number => numbers.get(step) ?? state.steps
  const translate = (body: Body): Body => {
    switch (body._tag) {
      case "StepStarted": {
        const step = ++state.steps
        numbers.set(body.step, step)
        return { ...body, step }
      }
      case "Thought":
      case "Critique":
      case "ToolCall":
      case "ToolResult":
      case "ToolCompensated":
      case "TextRetracted":
      case "AnswerRejected":
        return { ...body, step: numberOf(body.step) }
      case "TextDelta":
        return show === "answer" ? body : { _tag: "ReasoningDelta", text: body.text }
      default:
        return body
    }
  }
  return (body: Body): Body => {
    const event = translate(body)
    onEvent?.(event)
    return event
  }
}

export const make = (state: ReasoningState): Service["inner"] => {
  const { run, runner } = state
  const innerRunner: typeof runner = {
    ...runner,
    run: (tools, call, options) =>
      Effect.suspend(() => runner.run(tools, { ...call, id: uniqueId(state, call.id) }, options))
  }
  return (strategy, task, options = {}) =>
    Effect.suspend(() => {
      const translate = makeTranslate(state, options)
      return strategy.program(task).pipe(
        Effect.provideService(ToolRunner, innerRunner),
        Effect.provideService(Run.Run, {
          ...(options.show === "nothing" ? Run.quiet(run) : run),
          emit: (body) => Effect.suspend(() => run.emit(translate(body))),
          emitAll: (bodies) => Effect.suspend(() => run.emitAll(bodies.map(translate))),
          unsafeEmit: (body) => run.unsafeEmit(translate(body))
        })
      )
    })
}

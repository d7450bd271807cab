/**
 * Function calling: a loop in which the model calls tools natively, reads their results and answers.
 *
 * @since 0.1.0
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { FinishReason } from "../../domain/AgentEvent.js"
import * as Usage from "../../domain/Usage.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import { type Service as Runner, ToolRunner } from "../../tool/ToolRunner.js"
import type * as ModelCall from "../definition/ModelCall.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices, Task } from "../definition/Strategy.js"
import * as StrategyModule from "../definition/Strategy.js"
import * as LoopTurn from "../reasoning/LoopTurn.js"
import * as ModelBinding from "../reasoning/ModelBinding.js"
import * as Progress from "../reasoning/Progress.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "function_calling"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ToolLoop.LoopOptions {}

/** Reads the services of the loop from the context at once. */
const collaborators = (task: Task, resolved: ToolLoop.Resolved) =>
  Effect.withFiberRuntime<
    { readonly model: ModelCall.Model; readonly run: Run.Service; readonly runner: Runner },
    never,
    StrategyServices
  >((fiber) => {
    const context = fiber.currentContext as Context.Context<StrategyServices>
    const run = Context.get(context, Run.Run)
    const runner = Context.get(context, ToolRunner)
    return Effect.map(ModelBinding.bind(task, { timeout: resolved.llmTimeout }), (model) => ({ model, run, runner }))
  })

// A plain loop: as a graph it would be one node that leads to itself.
const program =
  (options: Options) =>
  (task: Task): Effect.Effect<Answer, StrategyBaseError, StrategyServices> =>
    Effect.gen(function* () {
      const resolved = ToolLoop.resolve(options, task)
      const { model, run, runner } = yield* collaborators(task, resolved)
      const toolNames = ToolLoop.writtenNames(task.tools)
      const opening = StrategyModule.openingMessages(task)
      const first = opening.length - 1
      let circles = Progress.empty
      let messages = opening
      let usage: Usage.Usage = Usage.empty
      let toolCalls = 0
      let lastText = ""
      const answer = (text: string, reason: FinishReason, step: number, said?: LlmClient.Message) =>
        ToolLoop.end(model, task, { strategyName: NAME, step, first, messages, text, reason, said })

      for (let step = 1; step <= resolved.maxIterations; step++) {
        const wait = run.unsafeEmit({ _tag: "StepStarted", step })
        if (wait !== undefined) yield* wait
        const response = yield* model.call(LoopTurn.nativeRequest(task, messages), { step })
        usage = Usage.add(usage, response.usage)
        const reading = LoopTurn.readNative(response, { step, toolNames, textCalls: resolved.textCalls })
        const { turn } = reading
        if (reading.lastText !== undefined) lastText = reading.lastText
        if (turn._tag === "Answers") return yield* answer(turn.text, turn.reason, step, turn.said)
        if (turn._tag === "Continues") {
          messages = [...messages, ...turn.messages]
          continue
        }
        const { calls } = turn
        const toolOptions = resolved.toolOptions(step)
        const outcomes =
          calls.length === 1
            ? [yield* runner.run(task.tools, calls[0]!, toolOptions)]
            : yield* Step.forEach(
                calls,
                (call, index) => {
                  const refuse = ToolLoop.refusal(resolved, call.name, index)
                  return runner.run(task.tools, call, refuse === undefined ? toolOptions : { ...toolOptions, refuse })
                },
                { concurrency: resolved.toolConcurrency }
              )
        toolCalls += outcomes.length
        const progress = ToolLoop.progress(NAME, resolved, circles, { tools: task.tools, calls, outcomes })
        circles = progress.circles
        messages = [...messages, turn.assistant, LoopTurn.observed(turn, outcomes, progress.note)]
        if (progress.stuck !== undefined) {
          if (resolved.onLimit === "answer") return yield* answer(lastText, "limit", step)
          return yield* progress.stuck
        }
        if (resolved.stopWhen?.({ step, usage, toolCalls, text: lastText, last: outcomes }) === true) {
          return yield* answer(lastText, "stop-condition", step)
        }
      }
      if (resolved.onLimit === "answer") return yield* answer(lastText, "limit", resolved.maxIterations)
      return yield* ToolLoop.exceeded(NAME, resolved)
    })

/**
 * Calls of one turn run concurrently; their results return in the order of the calls. A turn without a call is the
 * answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy => StrategyModule.make(NAME, program(options))

/**
 * Function calling: a loop in which the model calls tools natively, reads their results and answers.
 *
 * @since 0.1.0
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Run from "../../observability/Run.js"
import { ToolRunner } from "../../tool/ToolRunner.js"
import type { Answer, Strategy, StrategyBaseError, StrategyServices, Task } from "../definition/Strategy.js"
import * as StrategyModule from "../definition/Strategy.js"
import * as LoopTurn from "../reasoning/LoopTurn.js"
import * as ModelBinding from "../reasoning/ModelBinding.js"
import * as ToolLoop from "../reasoning/ToolLoop.js"
import * as ToolSteps from "./ToolSteps.js"

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

const program =
  (options: Options) =>
  (task: Task): Effect.Effect<Answer, StrategyBaseError, StrategyServices> =>
    Effect.withFiberRuntime((fiber) => {
      const context = fiber.currentContext as Context.Context<StrategyServices>
      const run = Context.get(context, Run.Run)
      const runner = Context.get(context, ToolRunner)
      const resolved = ToolLoop.resolve(options, task)
      const { textCalls } = resolved
      return Effect.flatMap(ModelBinding.bind(task, { timeout: resolved.llmTimeout }), (model) =>
        ToolSteps.run(
          {
            name: NAME,
            task,
            resolved,
            run,
            model,
            request: (messages) => LoopTurn.nativeRequest(task, messages),
            read: (response, step) =>
              LoopTurn.readNative(response, { step, toolNames: ToolLoop.writtenNames(task.tools), textCalls }),
            call: (call, step, refuse) => runner.run(task.tools, call, resolved.toolOptions(step, refuse))
          },
          StrategyModule.openingMessages(task)
        )
      )
    })

/**
 * Calls of one turn run concurrently; their results return in the order of the calls. A turn without a call is the
 * answer.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { FunctionCalling } from "effect-lexigram/strategy"
 *
 * const agent = Agent.make("researcher", { strategy: FunctionCalling.make({ maxIterations: 12 }) })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy => StrategyModule.make(NAME, program(options))

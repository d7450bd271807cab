/**
 * Native tool calls in a loop: the model calls tools, reads their results and answers.
 *
 * @since 0.1.0
 */
import type { Strategy } from "./Strategy.js"
import * as StrategyModule from "./Strategy.js"
import * as ToolLoop from "./ToolLoop.js"

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

/**
 * Calls of one turn run side by side; their results go back in the order of the calls. A turn without a call is the answer.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Strategy =>
  StrategyModule.make(NAME, ToolLoop.program({ name: NAME, thoughts: false, system: (task) => task.system, options }))

/**
 * Conditions that stop a loop of model and tools before the model is done. They are values that combine.
 *
 * @since 0.1.0
 */
import * as Usage from "../../domain/Usage.js"

/**
 * The progress of a loop when a condition is evaluated, after the tools of a step have run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  /** The step that just ended, from 1. */
  readonly step: number
  /** Usage of this loop so far. */
  readonly usage: Usage.Usage
  /** Tool calls made so far. */
  readonly toolCalls: number
  /** The text of the last model call. */
  readonly text: string
  /** The calls of the step that just ended. */
  readonly last: ReadonlyArray<{ readonly name: string; readonly isFailure: boolean }>
}

/**
 * @since 0.1.0
 * @category models
 */
export type StopCondition = (progress: Progress) => boolean

/**
 * Holds after this many steps.
 *
 * @since 0.1.0
 * @category constructors
 */
export const steps =
  (count: number): StopCondition =>
  (progress) =>
    progress.step >= count

/**
 * Holds after a successful call of one of these tools.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toolSucceeded =
  (...names: ReadonlyArray<string>): StopCondition =>
  (progress) =>
    progress.last.some((call) => !call.isFailure && names.includes(call.name))

/**
 * Holds once this many tokens are used.
 *
 * @since 0.1.0
 * @category constructors
 */
export const tokens =
  (count: number): StopCondition =>
  (progress) =>
    Usage.total(progress.usage) >= count

/**
 * Holds once this many tools were called.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toolCalls =
  (count: number): StopCondition =>
  (progress) =>
    progress.toolCalls >= count

/**
 * Holds if any of them holds.
 *
 * @since 0.1.0
 * @category combining
 * @example
 * ```ts
 * import { Agent, StopCondition } from "effect-lexigram"
 *
 * const clerk = Agent.make("clerk").pipe(
 *   Agent.withStopWhen(StopCondition.any(StopCondition.toolSucceeded("book_room"), StopCondition.tokens(50_000)))
 * )
 * ```
 */
export const any =
  (...conditions: ReadonlyArray<StopCondition>): StopCondition =>
  (progress) =>
    conditions.some((condition) => condition(progress))

/**
 * Holds if all of them hold.
 *
 * @since 0.1.0
 * @category combining
 */
export const all =
  (...conditions: ReadonlyArray<StopCondition>): StopCondition =>
  (progress) =>
    conditions.every((condition) => condition(progress))

/**
 * Checks of what a run did: which tools it called, in what order and with what, what it took, and how it ended.
 * `Trajectory` asserts them in tests, and `TrajectoryScorer` scores by them.
 *
 * @since 0.1.0
 */
import type * as AgentResponse from "../../domain/AgentResponse.js"
import * as TrajectoryCall from "./TrajectoryCall.js"
import * as TrajectoryText from "./TrajectoryText.js"

type Response = AgentResponse.AgentResponse<unknown>

/**
 * Gives what does not hold of a run, in words; nothing if all does.
 *
 * @since 0.1.0
 * @category models
 */
export type Check = (response: AgentResponse.AgentResponse<unknown>) => ReadonlyArray<string>

/**
 * What the parameters of a call must be: a predicate, a Schema that takes them as the model sent them, an object whose
 * fields they must have at least, or `exactly` these.
 *
 * @since 0.1.0
 * @category models
 */
export type Params = TrajectoryCall.Params

/**
 * A call that must be there: the name of its tool, and what its parameters must be.
 *
 * @since 0.1.0
 * @category models
 */
export type Call = TrajectoryCall.Call

/**
 * What a run may take at most. `steps` are those of its strategy; tokens and costs include the runs inside of it. A run
 * whose costs are not known does not hold `costUsd`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly modelCalls?: number | undefined
  readonly toolCalls?: number | undefined
  readonly steps?: number | undefined
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly totalTokens?: number | undefined
  readonly costUsd?: number | undefined
}

/**
 * These parameters and no others, whatever the order of their keys.
 *
 * @since 0.1.0
 * @category constructors
 */
export const exactly = (params: unknown): TrajectoryCall.Exact => TrajectoryCall.exactly(params)

const { matches, textOf } = TrajectoryCall

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/**
 * A tool was called, at least once or as often as `times` says.
 *
 * @since 0.1.0
 * @category checks
 */
export const called =
  (name: string, params?: Params | undefined, options: { readonly times?: number | undefined } = {}): Check =>
  ({ toolCalls }) => {
    const call: Call = params === undefined ? name : [name, params]
    const count = toolCalls.filter((one) => matches(one, call)).length
    if (options.times === undefined) return count > 0 ? [] : [`${textOf(call)} was not called`]
    return count === options.times ? [] : [`${textOf(call)} was called ${times(count)}, not ${times(options.times)}`]
  }

/**
 * Tools that were not called.
 *
 * @since 0.1.0
 * @category checks
 */
export const neverCalled =
  (...calls: ReadonlyArray<Call>): Check =>
  ({ toolCalls }) =>
    calls.flatMap((call) => {
      const count = toolCalls.filter((one) => matches(one, call)).length
      return count === 0 ? [] : [`${textOf(call)} was called ${times(count)}`]
    })

/**
 * These calls came one after the other, whatever came between them.
 *
 * @since 0.1.0
 * @category checks
 */
export const calledInOrder =
  (...calls: ReadonlyArray<Call>): Check =>
  ({ toolCalls }) => {
    let at = 0
    for (const [index, call] of calls.entries()) {
      const next = toolCalls.findIndex((one, place) => place >= at && matches(one, call))
      if (next >= 0) {
        at = next + 1
        continue
      }
      const before = calls[index - 1]
      return [`${textOf(call)} was not called${before === undefined ? "" : ` after ${textOf(before)}`}`]
    }
    return []
  }

/**
 * These calls, in this order, and no others; without any, no tool was called.
 *
 * @since 0.1.0
 * @category checks
 */
export const calledOnly =
  (...calls: ReadonlyArray<Call>): Check =>
  ({ toolCalls }) => {
    const problems: Array<string> = []
    for (let at = 0; at < Math.max(calls.length, toolCalls.length); at++) {
      const [call, made] = [calls[at], toolCalls[at]]
      if (call !== undefined && made !== undefined && matches(made, call)) continue
      const is = made === undefined ? "missing" : TrajectoryText.callOf(made)
      problems.push(`call ${at + 1} is ${is}, not ${call === undefined ? "the end" : textOf(call)}`)
    }
    return problems
  }

/**
 * After the first of these calls no tool was called.
 *
 * @since 0.1.0
 * @category checks
 */
export const nothingCalledAfter =
  (call: Call): Check =>
  ({ toolCalls }) => {
    const first = toolCalls.findIndex((one) => matches(one, call))
    if (first < 0) return [`${textOf(call)} was not called`]
    return toolCalls.slice(first + 1).map((one) => `${TrajectoryText.callOf(one)} was called after ${textOf(call)}`)
  }

/**
 * A tool was called so often at most.
 *
 * @since 0.1.0
 * @category checks
 */
export const calledAtMost =
  (most: number, call: Call): Check =>
  ({ toolCalls }) => {
    const count = toolCalls.filter((one) => matches(one, call)).length
    return count <= most ? [] : [`${textOf(call)} was called ${times(count)}, at most ${times(most)} was allowed`]
  }

/**
 * No call failed.
 *
 * @since 0.1.0
 * @category checks
 */
export const allCallsSucceeded: Check = ({ toolCalls }) =>
  toolCalls
    .filter(({ isFailure }) => isFailure === true)
    .map((call) => `${TrajectoryText.callOf(call)} failed: ${call.error?.message ?? call.observation ?? ""}`)

const takenBy = ({ costUsd, metadata, modelCalls, toolCalls, usage }: Response) => ({
  modelCalls,
  toolCalls: toolCalls.length,
  steps: metadata.iterations,
  inputTokens: usage.inputTokens ?? 0,
  outputTokens: usage.outputTokens ?? 0,
  totalTokens: usage.totalTokens ?? 0,
  costUsd
})

/**
 * The run took no more than this.
 *
 * @since 0.1.0
 * @category checks
 */
export const within =
  (limits: Limits): Check =>
  (response) => {
    const taken = takenBy(response)
    return (Object.keys(taken) as Array<keyof typeof taken>).flatMap((name) => {
      const [most, count] = [limits[name], taken[name]]
      if (most === undefined || (count !== undefined && count <= most)) return []
      return [`${name} is ${count ?? "not known"}, at most ${most} was allowed`]
    })
  }

/**
 * The run succeeded, and its answer is this text, fits this pattern, or holds what is asked of the answer and of its
 * decoded output.
 *
 * @since 0.1.0
 * @category checks
 */
export const answered =
  (expected: string | RegExp | ((message: string, output: any) => boolean)): Check =>
  (response) => {
    const ended = succeeded(response)
    if (ended.length > 0) return ended
    const { message, output } = response
    const holds =
      typeof expected === "string"
        ? message === expected
        : typeof expected === "function"
          ? expected(message, output)
          : message.search(expected) >= 0
    const what = typeof expected === "function" ? "what was expected" : String(expected)
    return holds ? [] : [`the answer is ${JSON.stringify(TrajectoryText.short(message))}, not ${what}`]
  }

/**
 * The run ended with an answer.
 *
 * @since 0.1.0
 * @category checks
 */
export const succeeded: Check = ({ error, finishReason, interrupted }) => {
  if (error !== undefined) return [`the run failed: ${error.tag}: ${error.message}`]
  return finishReason === undefined ? [interrupted ? "the run was interrupted" : "the run has not ended"] : []
}

/**
 * The run failed with an error of this tag or code.
 *
 * @since 0.1.0
 * @category checks
 */
export const failedWith =
  (tagOrCode: string): Check =>
  ({ error }) => {
    if (error === undefined) return [`the run did not fail with ${tagOrCode}`]
    return error.tag === tagOrCode || error.code === tagOrCode
      ? []
      : [`the run failed with ${error.tag}, not with ${tagOrCode}`]
  }

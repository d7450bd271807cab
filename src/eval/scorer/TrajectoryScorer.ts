/**
 * Scorers of what the run of an agent did on its way to the output.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentResponse } from "../../domain/AgentResponse.js"
import type { ToolExecutionRecord } from "../../domain/ToolExecutionRecord.js"
import * as TrajectoryCall from "../trajectory/TrajectoryCall.js"
import type { Call, Check } from "../trajectory/TrajectoryChecks.js"
import * as Scorer from "./Scorer.js"
import * as SubjectText from "./SubjectText.js"

/** Problems that a reason names. */
const MAX_NAMED = 5

const reasonOf = (problems: ReadonlyArray<string>): string =>
  `${problems.slice(0, MAX_NAMED).join("; ")}${problems.length > MAX_NAMED ? `; and ${problems.length - MAX_NAMED} more` : ""}`

const responseOf = ({ response }: Scorer.Subject): Effect.Effect<AgentResponse<unknown>, string> =>
  response === undefined ? Effect.fail("the task gave no run: use a task that runs an agent") : Effect.succeed(response)

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<in Input = any, in Output = any, in Expected = any> {
  /** The name of the scorer; `trajectory` by default. */
  readonly name?: string | undefined
  /** What must hold of the run, as `TrajectoryChecks` has it; for all cases, or by the case. */
  readonly checks: ReadonlyArray<Check> | ((subject: Scorer.Subject<Input, Output, Expected>) => ReadonlyArray<Check>)
  /** Whether the score is the share of the checks that hold. By default it is 1 if all hold, else 0. */
  readonly partial?: boolean | undefined
}

/**
 * Scores a run by checks; the reason says what does not hold. A task that ran no agent fails.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { TrajectoryChecks, TrajectoryScorer } from "effect-lexigram/eval"
 *
 * const scorer = TrajectoryScorer.make({
 *   checks: [
 *     TrajectoryChecks.calledInOrder("find_table", ["book", { seats: 2 }]),
 *     TrajectoryChecks.nothingCalledAfter("book"),
 *     TrajectoryChecks.within({ modelCalls: 4 })
 *   ]
 * })
 * ```
 */
export const make = <Input = unknown, Output = unknown, Expected = unknown>(
  options: Options<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected> =>
  Scorer.makeEffect(options.name ?? "trajectory", (subject) =>
    Effect.gen(function* () {
      const response = yield* responseOf(subject)
      const { checks: given } = options
      const checks = typeof given === "function" ? yield* SubjectText.attempt(() => given(subject)) : given
      if (checks.length === 0) return yield* Effect.fail("there is nothing to check")
      const found = yield* SubjectText.attempt(() => checks.map((check) => check(response)))
      const failed = found.filter((problems) => problems.length > 0)
      if (failed.length === 0) return { value: 1 }
      const value = options.partial === true ? 1 - failed.length / checks.length : 0
      return { value, reason: reasonOf(failed.flat()) }
    })
  )

/**
 * How the calls of a run are compared with the expected ones.
 *
 * `exact`: 1 if the run made these calls, in this order, and no others. `inOrder`: 1 if it made them in this order,
 * whatever came between. `anyOrder`: 1 if it made all of them. `precision`: the share of its calls that were expected.
 * `recall`: the share of the expected calls that it made. `f1`: the harmonic mean of both.
 *
 * @since 0.1.0
 * @category models
 */
export type Comparison = "exact" | "inOrder" | "anyOrder" | "precision" | "recall" | "f1"

/**
 * @since 0.1.0
 * @category models
 */
export interface CallsOptions<in Input = any, in Output = any, in Expected = any> {
  /** The name of the scorer; `calls` and the comparison by default: `calls inOrder`. */
  readonly name?: string | undefined
  readonly compare: Comparison
  /** The expected calls; by default what was expected. */
  readonly calls?: ((subject: Scorer.Subject<Input, Output, Expected>) => ReadonlyArray<Call>) | undefined
}

type Made = ReadonlyArray<ToolExecutionRecord>

type Calls = ReadonlyArray<Call>

/**
 * How many expected calls find a call of their own: a call that was made may fit several, and which one it is for is
 * chosen so that most find one (augmenting paths).
 */
const pairsOf = (made: Made, calls: Calls): number => {
  const fits = calls.map((call) => made.flatMap((one, at) => (TrajectoryCall.matches(one, call) ? [at] : [])))
  const takenBy = new Map<number, number>()
  const place = (call: number, seen: Set<number>): boolean =>
    (fits[call] ?? []).some((at) => {
      if (seen.has(at)) return false
      seen.add(at)
      const other = takenBy.get(at)
      if (other !== undefined && !place(other, seen)) return false
      takenBy.set(at, call)
      return true
    })
  return calls.filter((_, call) => place(call, new Set())).length
}

const isInOrder = (made: Made, calls: Calls): boolean => {
  let next = 0
  for (const one of made) {
    const call = calls[next]
    if (call !== undefined && TrajectoryCall.matches(one, call)) next++
  }
  return next === calls.length
}

const share = (pairs: number, all: number, other: number): number => (all > 0 ? pairs / all : other > 0 ? 0 : 1)

const compared = (compare: Comparison, made: Made, calls: Calls): number => {
  switch (compare) {
    case "exact":
      return made.length === calls.length && isInOrder(made, calls) ? 1 : 0
    case "inOrder":
      return isInOrder(made, calls) ? 1 : 0
    case "anyOrder":
      return pairsOf(made, calls) === calls.length ? 1 : 0
    case "precision":
      return share(pairsOf(made, calls), made.length, calls.length)
    case "recall":
      return share(pairsOf(made, calls), calls.length, 0)
    case "f1":
      return share(2 * pairsOf(made, calls), made.length + calls.length, 0)
  }
}

const isParams = (params: unknown): boolean =>
  typeof params === "function" || (typeof params === "object" && params !== null)

const isCall = (call: unknown): call is Call =>
  typeof call === "string" ||
  (Array.isArray(call) && call.length === 2 && typeof call[0] === "string" && isParams(call[1]))

/** More calls are not paired: the work is their product. */
const mostCalls = 1000

/**
 * Scores the calls of a run by those that were expected: names of tools, or names with parameters as `TrajectoryChecks`
 * has them. The reason lists both. Up to 1,000 calls; more, and a task that ran no agent, fail.
 *
 * @since 0.1.0
 * @category constructors
 */
export const calls = <Input = unknown, Output = unknown, Expected = ReadonlyArray<Call>>(
  options: CallsOptions<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected> =>
  Scorer.makeEffect(options.name ?? `calls ${options.compare}`, (subject) =>
    Effect.gen(function* () {
      const { toolCalls } = yield* responseOf(subject)
      const { calls } = options
      const given: unknown = calls === undefined ? subject.expected : yield* SubjectText.attempt(() => calls(subject))
      if (!Array.isArray(given) || !given.every(isCall)) {
        return yield* Effect.fail(
          "what is expected is no list of calls: names of tools, or pairs of name and parameters"
        )
      }
      if (Math.max(given.length, toolCalls.length) > mostCalls) {
        return yield* Effect.fail(`${toolCalls.length} calls and ${given.length} expected ones are too many`)
      }
      const value = yield* SubjectText.attempt(() => compared(options.compare, toolCalls, given))
      if (value === 1) return { value }
      const made = toolCalls.slice(0, MAX_NAMED).map(({ name }) => name)
      const wanted = given.slice(0, MAX_NAMED).map(TrajectoryCall.textOf)
      return {
        value,
        reason: `it called ${made.join(", ") || "nothing"}; expected is ${wanted.join(", ") || "nothing"}`.slice(
          0,
          1000
        )
      }
    })
  )

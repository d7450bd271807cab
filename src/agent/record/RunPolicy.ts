/**
 * Limits, retries, fallbacks, the model and the strategy of one run, as plain data: they are kept with the run, and
 * hold in whichever process it goes on.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import type * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

const NAME = "effect-lexigram/agent/RunPolicy"

const isTime = (time: string | number): boolean =>
  typeof time === "number"
    ? Number.isFinite(time) && time > 0
    : time.length <= 64 &&
      Option.exists(Duration.decodeUnknown(time), (read) => Duration.isFinite(read) && Duration.toMillis(read) > 0)

/**
 * A time above 0: milliseconds, or a text such as `"10 minutes"`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Time = Schema.Union(Schema.Number, Schema.String).pipe(
  Schema.filter(isTime, { message: () => 'Expected milliseconds above 0, or a text such as "10 minutes"' })
)
/**
 * @since 0.1.0
 * @category models
 */
export type Time = typeof Time.Type

/**
 * The time as `Duration` takes it.
 *
 * @internal
 */
export const durationOf = (time: Time): Duration.Duration =>
  typeof time === "number"
    ? Duration.millis(time)
    : Option.getOrElse(Duration.decodeUnknown(time), () => Duration.infinity)

const amount = Schema.optional(Schema.Number.pipe(Schema.greaterThanOrEqualTo(0)))
const time = Schema.optional(Time)
const named = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128))

/**
 * Limits of the run. Those that are set replace those of its agent. In a durable run `timeout` does not count the time
 * in which it sleeps, and begins anew in another process; all others count what is recorded. A limit in dollars needs
 * prices: a call without a known price is refused.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Limits = Schema.Struct({
  /** Of the whole run. */
  timeout: time,
  maxModelCalls: amount,
  maxToolCalls: amount,
  /** Steps: model calls of the strategy. */
  maxIterations: amount,
  /** Tokens of all model calls, including delegated ones. */
  maxTokens: amount,
  /** US dollars of all model calls, including delegated ones. */
  maxCostUsd: amount,
  maxTokensPerStep: amount,
  maxCostUsdPerStep: amount,
  /** Of one model call, with its retries. */
  llmTimeout: time,
  /** Of one attempt of a tool without a timeout of its own. */
  toolTimeout: time
}).annotations({ identifier: `${NAME}/Limits` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Limits extends Schema.Schema.Type<typeof Limits> {}

/**
 * Retries of model calls that failed transiently, around those that the client makes itself. Defaults as of `LlmRetry`:
 * 2 retries, the first one after 500 ms, each later one after twice the time, at most 30 s, with jitter.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Retry = Schema.Struct({
  /** Retries, not calls: 2 means at most three calls. At most 100. */
  maxRetries: Schema.optional(Schema.NonNegativeInt.pipe(Schema.lessThanOrEqualTo(100))),
  /** The delay before the first retry. */
  base: time,
  /** Each later delay is so many times longer; 1 or more. */
  factor: Schema.optional(Schema.Number.pipe(Schema.finite(), Schema.greaterThanOrEqualTo(1))),
  /** The longest delay. */
  cap: time,
  /** Draws each delay between half of it and all of it. */
  jitter: Schema.optional(Schema.Boolean)
}).annotations({ identifier: `${NAME}/Retry` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Retry extends Schema.Schema.Type<typeof Retry> {}

/**
 * The policy of one run. What it leaves out is as its agent and its executor have it. Runs inside of it, of sub-agents
 * and handoffs, have its retries, its fallbacks and its choice about compensations, and share its limits; they keep
 * their own models and strategies.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RunPolicy = Schema.Struct({
  limits: Schema.optional(Limits),
  retry: Schema.optional(Retry),
  /**
   * The roles of the `ModelRouter` whose models are asked, in this order, when a call of another model fails for good;
   * at most 8. A role that the router does not have fails the run with `AgentConfigurationError`.
   */
  fallback: Schema.optional(Schema.Array(named).pipe(Schema.maxItems(8))),
  /**
   * The role of the `ModelRouter` whose model makes the model calls of the run, in place of those of its agent and of
   * the roles of its strategy; guards keep theirs. Its settings win over those of the request. A role that the router
   * does not have fails the run with `AgentConfigurationError`.
   */
  model: Schema.optional(named),
  /**
   * The name of the strategy in the `StrategyRegistry`, with its default options, in place of that of the agent. One
   * that is unknown fails the run with `AgentConfigurationError`.
   */
  strategy: Schema.optional(named),
  /**
   * Whether tool calls are undone by their compensations if the run fails or is interrupted. Default true.
   */
  compensate: Schema.optional(Schema.Boolean)
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface RunPolicy extends Schema.Schema.Type<typeof RunPolicy> {}

type Closure = "A policy is data that is kept with its run: it has no functions and no Schedules"

/**
 * The type with a message in place of whatever cannot be kept.
 *
 * @since 0.1.0
 * @category type utils
 */
export type Data<P> = P extends ((...args: ReadonlyArray<never>) => unknown) | Schedule.Schedule<any, any, any>
  ? Closure
  : P extends object
    ? { readonly [K in keyof P]: Data<P[K]> }
    : P

/**
 * A policy whose type is checked: a function or a `Schedule` in it does not compile, and the message says why.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { RunPolicy } from "effect-lexigram/agent"
 *
 * const careful = RunPolicy.make({
 *   limits: { timeout: "10 minutes", maxModelCalls: 20, maxTokens: 50_000 },
 *   retry: { maxRetries: 4, base: "1 second", cap: "1 minute" }
 * })
 * ```
 */
export const make = <const P>(policy: P & Data<P> & RunPolicy): RunPolicy => policy

const decode = Schema.decodeUnknownEither(RunPolicy, { errors: "all", onExcessProperty: "error" })

/**
 * Checks a policy; `Left` says what is not valid.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromUnknown = (policy: unknown): Either.Either<RunPolicy, string> =>
  Either.mapLeft(decode(policy), ({ issue }) =>
    ParseResult.ArrayFormatter.formatIssueSync(issue)
      .map(({ message, path }) => `${path.join(".")}: ${message}`)
      .join("; ")
      .slice(0, 1000)
  )

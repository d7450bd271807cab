/**
 * Experiments: every case of a dataset by every variant, some times, with a score of each. What was done is kept, so
 * that an experiment that was cut off goes on where it was.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as RateLimiter from "effect/RateLimiter"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ErrorCode from "../domain/ErrorCode.js"
import type { ErrorInfo } from "../domain/ErrorInfo.js"
import type * as Usage from "../domain/Usage.js"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import * as CaseTrial from "./CaseTrial.js"
import type { Case, Dataset } from "./dataset/Dataset.js"
import * as ExperimentFold from "./record/ExperimentFold.js"
import type { Entry, Header, Label, Trial } from "./record/ExperimentRecord.js"
import * as ExperimentStore from "./record/ExperimentStore.js"
import * as ExperimentStoreError from "./record/ExperimentStoreError.js"
import type { Context, Scorer } from "./scorer/Scorer.js"
import type { Task } from "./Task.js"

const NAME = "effect-lexigram/eval/Experiment"

/**
 * An experiment cannot be run as it is given: it has no cases, variants or scorers, two of them have one name, or a
 * number is out of its bounds.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExperimentError extends ErrorCode.TaggedError<ExperimentError>(`${NAME}/ExperimentError`)(
  "ExperimentError",
  { ...ErrorCode.fields("LEX_ERR_EVAL_101"), experiment: Schema.String }
) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Experiment<in out Input, in out Expected, in out Output, out R> {
  readonly name: string
  readonly dataset: Dataset<Input, Expected>
  readonly variants: ReadonlyArray<Task<Input, Output, R>>
  readonly scorers: ReadonlyArray<Scorer<Input, Output, Expected, R>>
  /** How often each case is run by each variant. */
  readonly repetitions: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<Input, Expected, Output, R, S extends Scorer<Input, Output, Expected, any>> {
  readonly dataset: Dataset<Input, Expected>
  /** What is compared. Their names are unique. */
  readonly variants: ReadonlyArray<Task<Input, Output, R>>
  /** Their names are unique. */
  readonly scorers: ReadonlyArray<S>
  /** How often each variant runs each case, for answers that differ from time to time. Default 1, at most 1,000. */
  readonly repetitions?: number | undefined
}

const invalid = (experiment: string, message: string, hint: string) =>
  new ExperimentError({ experiment, message: `The experiment ${JSON.stringify(experiment)} ${message}`, hint })

const twice = (names: ReadonlyArray<string>): string | undefined => {
  const known = new Set<string>()
  return names.find((name) => known.size === known.add(name).size)
}

const problemOf = (experiment: Experiment<any, any, any, any>): ExperimentError | undefined => {
  const { dataset, name, repetitions, scorers, variants } = experiment
  for (const [what, all] of [
    ["case", dataset.cases],
    ["variant", variants],
    ["scorer", scorers]
  ] as const) {
    if (all.length === 0) return invalid(name, `has no ${what}`, `Give it a ${what} at least`)
  }
  const [variant, scorer] = [twice(variants.map((one) => one.name)), twice(scorers.map((one) => one.name))]
  if (variant !== undefined) {
    return invalid(name, `has two variants named ${JSON.stringify(variant)}`, "Name them apart by `Task.named`")
  }
  if (scorer !== undefined) {
    return invalid(name, `has two scorers named ${JSON.stringify(scorer)}`, "Give each scorer a name of its own")
  }
  return Number.isInteger(repetitions) && repetitions >= 1 && repetitions <= 1000
    ? undefined
    : invalid(name, `has ${repetitions} repetitions`, "Repetitions are a whole number from 1 to 1,000")
}

/**
 * Checks names and bounds. An experiment that cannot be run is an `ExperimentError`.
 *
 * @example
 * ```ts
 * import { Dataset, Experiment, Task, TextScorer } from "effect-lexigram/eval"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const experiment = yield* Experiment.make("greetings", {
 *     dataset: yield* Dataset.make("names", [{ input: "Ada", expected: "Hello Ada" }]),
 *     variants: [Task.make("plain", (name: string) => Effect.succeed(`Hello ${name}`))],
 *     scorers: [TextScorer.exact]
 *   })
 *   return yield* Experiment.run(experiment, { id: "1a2b3c4" })
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <Input, Expected, Output, R, S extends Scorer<Input, Output, Expected, any>>(
  name: string,
  { dataset, repetitions = 1, scorers, variants }: Options<Input, Expected, Output, R, S>
): Effect.Effect<Experiment<Input, Expected, Output, R | Context<S>>, ExperimentError> =>
  Effect.suspend(() => {
    const made: Experiment<Input, Expected, Output, R | Context<S>> = { name, dataset, variants, scorers, repetitions }
    const problem = problemOf(made)
    return problem === undefined ? Effect.succeed(made) : Effect.fail(problem)
  })

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  /**
   * Names this run of the experiment, 1 to 256 characters: with the same id it goes on, with another it begins anew.
   * The commit that is measured is a good one.
   */
  readonly id: string
  /** Trials at once. Default 4, at most 1,000. */
  readonly concurrency?: number | undefined
  /** Trials that begin within each minute after the first one, at most. Default: no limit. */
  readonly perMinute?: number | undefined
  /**
   * No trial begins once the results cost so many US dollars, with their scoring and with the trials that this run left
   * open. Those that have begun end. A trial whose price is not known costs nothing here. Default: no limit.
   */
  readonly maxCostUsd?: number | undefined
  /**
   * How often a task is tried again in a trial whose failure may pass (`isRetryable`), after 1 s, 2 s, 4 s, …. A trial
   * that still fails so has no result, and the next run of the experiment tries it again. Default 2, at most 10.
   */
  readonly retries?: number | undefined
  /** For one attempt. One that takes longer has failed. Default 10 minutes. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Characters of the JSON of an output that are kept. Default 20,000. */
  readonly keptOutput?: number | undefined
  /** Kept beside the experiment, such as a commit or a person. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Is told of each trial that ended in this run. */
  readonly onResult?: ((finished: ExperimentFold.Finished) => Effect.Effect<void>) | undefined
}

/**
 * A trial without a result: its failure may pass.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenTrial {
  readonly trial: Trial
  readonly error: ErrorInfo
}

/**
 * What is known of an experiment. It is whole if `missing` is 0.
 *
 * @since 0.1.0
 * @category models
 */
export interface Results {
  readonly header: Header
  /** One for each trial that ended. */
  readonly finished: ReadonlyArray<ExperimentFold.Finished>
  /** Trials without a result. */
  readonly missing: number
  /** Those of them that failed in this run, so that the next one tries them again. */
  readonly open: ReadonlyArray<OpenTrial>
  /** Whether `maxCostUsd` left trials out. */
  readonly isOverBudget: boolean
  /** Attempts that began. What one took that was cut off is not part of `costUsd` and `usage`. */
  readonly attempts: number
  readonly costUsd: number
  readonly usage: Usage.Usage
  /** What people said: the last label of each person on each trial and scorer. */
  readonly labels: ReadonlyArray<Label>
}

const fingerprintOf = ({ dataset, repetitions, scorers, variants }: Experiment<any, any, any, any>): string =>
  CanonicalJson.hash({
    dataset: dataset.version,
    variants: variants.map(({ name, version }) => [name, version]),
    scorers: scorers.map(({ name }) => name),
    repetitions
  }).slice(0, 32)

interface Planned<Input, Expected, Output, R> {
  readonly trial: Trial
  readonly one: Case<Input, Expected>
  readonly task: Task<Input, Output, R>
}

/** Variants take turns, so that those of an experiment that was cut off have the same cases. */
const plan = <Input, Expected, Output, R>({
  dataset,
  repetitions,
  variants
}: Experiment<Input, Expected, Output, R>): ReadonlyArray<Planned<Input, Expected, Output, R>> =>
  Array.from({ length: repetitions }, (_, index) => index + 1).flatMap((repetition) =>
    dataset.cases.flatMap((one) =>
      variants.map((task) => ({ trial: { caseId: one.id, variant: task.name, repetition }, one, task }))
    )
  )

const loaded = (
  store: ExperimentStore.Service,
  id: string
): Effect.Effect<ExperimentFold.Fold, ExperimentStoreError.ExperimentStoreError> => {
  const fold = ExperimentFold.make()
  return Effect.as(
    Stream.runForEach(store.read(id), ({ entry }) => Effect.sync(() => fold.push(entry))),
    fold
  )
}

const resultsOf = (
  header: Header,
  fold: ExperimentFold.Fold,
  more: Partial<Pick<Results, "open" | "isOverBudget">> = {}
): Results => {
  const finished = fold.finished()
  const { dataset, repetitions, variants } = header
  return {
    header,
    finished,
    missing: Math.max(0, dataset.cases * variants.length * repetitions - finished.length),
    open: [],
    isOverBudget: false,
    attempts: fold.attempts(),
    costUsd: fold.costUsd(),
    usage: fold.usage(),
    labels: fold.labels(),
    ...more
  }
}

const bounded = (experiment: string, name: string, value: number, least: number, most: number) =>
  Number.isInteger(value) && value >= least && value <= most
    ? Effect.succeed(value)
    : Effect.fail(
        invalid(
          experiment,
          `is run with \`${name}\` ${value}`,
          `\`${name}\` is a whole number from ${least} to ${most.toLocaleString("en-US")}`
        )
      )

const settingsOf = (name: string, options: RunOptions) =>
  Effect.gen(function* () {
    if (options.id === "" || options.id.length > 256) {
      return yield* invalid(name, "is run with an id that is not valid", "An id has 1 to 256 characters")
    }
    const { maxCostUsd = Number.POSITIVE_INFINITY } = options
    if (!(maxCostUsd >= 0)) {
      return yield* invalid(name, `is run with \`maxCostUsd\` ${maxCostUsd}`, "It is a number from 0 on")
    }
    const timeout = Duration.decode(options.timeout ?? "10 minutes")
    return {
      concurrency: yield* bounded(name, "concurrency", options.concurrency ?? 4, 1, 1000),
      perMinute:
        options.perMinute === undefined
          ? undefined
          : yield* bounded(name, "perMinute", options.perMinute, 1, 1_000_000),
      maxCostUsd,
      trial: {
        retries: yield* bounded(name, "retries", options.retries ?? 2, 0, 10),
        keptOutput: yield* bounded(name, "keptOutput", options.keptOutput ?? 20_000, 0, 10_000_000),
        timeout
      }
    }
  })

/** Waits until a trial may begin. */
const paced = (perMinute: number | undefined): Effect.Effect<Effect.Effect<void>, never, Scope.Scope> =>
  perMinute === undefined
    ? Effect.succeed(Effect.void)
    : Effect.map(RateLimiter.make({ limit: perMinute, interval: "1 minute", algorithm: "fixed-window" }), (limit) =>
        limit(Effect.void)
      )

/**
 * Runs an experiment, or what is missing of it, and returns all of its results. A trial ends once: its result is kept
 * before the next one begins in its place. If the process is killed, the trials that were running are run again; what
 * they had taken is paid twice, and `attempts` counts them.
 *
 * Fails with `ExperimentStoreError` (`conflict`) if another experiment has the id.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = <Input, Expected, Output, R>(
  experiment: Experiment<Input, Expected, Output, R>,
  options: RunOptions
): Effect.Effect<
  Results,
  ExperimentError | ExperimentStoreError.ExperimentStoreError,
  R | ExperimentStore.ExperimentStore
> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { dataset, name, repetitions, scorers, variants } = experiment
      const { concurrency, maxCostUsd, perMinute, trial: settings } = yield* settingsOf(name, options)
      const store = yield* ExperimentStore.ExperimentStore
      const { header } = yield* store.open({
        id: options.id,
        name,
        createdAt: yield* Clock.currentTimeMillis,
        fingerprint: fingerprintOf(experiment),
        dataset: { name: dataset.name, version: dataset.version, cases: dataset.cases.length },
        variants: variants.map((one) => one.name),
        scorers: scorers.map((one) => one.name),
        repetitions,
        labels: options.labels ?? {}
      })
      const fold = yield* loaded(store, header.id)
      const pace = yield* paced(perMinute)
      const open: Array<OpenTrial> = []
      let [isOverBudget, openCostUsd] = [false, 0]
      const keep = (entry: Entry) =>
        Effect.tap(store.append(header.id, entry), () => Effect.sync(() => fold.push(entry)))
      const runOne = ({ one, task, trial }: Planned<Input, Expected, Output, R>) =>
        Effect.gen(function* () {
          yield* pace
          if (fold.costUsd() + openCostUsd >= maxCostUsd) {
            isOverBudget = true
            return
          }
          const begin = Effect.flatMap(Clock.currentTimeMillis, (at) => keep({ _tag: "Began", trial, at }))
          const ended = yield* CaseTrial.run(task, scorers, one, trial, settings, begin)
          if (Either.isLeft(ended)) {
            open.push({ trial, error: ended.left.error })
            openCostUsd += ended.left.costUsd
            return
          }
          const result = ended.right
          yield* keep({ _tag: "Ended", trial, at: yield* Clock.currentTimeMillis, result })
          if (options.onResult !== undefined) yield* options.onResult({ trial, result })
        })
      yield* Effect.forEach(
        plan(experiment).filter(({ trial }) => !fold.has(trial)),
        runOne,
        { concurrency, discard: true }
      )
      return resultsOf(header, fold, { open, isOverBudget })
    })
  )

/**
 * The results of an experiment as they are kept. The error `unknown` if there is none with this id.
 *
 * @since 0.1.0
 * @category constructors
 */
export const load = (
  id: string
): Effect.Effect<Results, ExperimentStoreError.ExperimentStoreError, ExperimentStore.ExperimentStore> =>
  Effect.gen(function* () {
    const store = yield* ExperimentStore.ExperimentStore
    const header = yield* Effect.flatMap(store.get(id), (found) =>
      Effect.mapError(found, () => ExperimentStoreError.unknown(id))
    )
    return resultsOf(header, yield* loaded(store, id))
  })

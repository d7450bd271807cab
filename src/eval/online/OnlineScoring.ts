/**
 * Scores a sample of the runs that ended, in the background, and keeps the scores as an experiment.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as RunStore from "../../agent/record/RunStore.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import * as RunLog from "../../observability/RunLog.js"
import { ExperimentError } from "../Experiment.js"
import type { Header } from "../record/ExperimentRecord.js"
import * as ExperimentStore from "../record/ExperimentStore.js"
import type { ExperimentStoreError } from "../record/ExperimentStoreError.js"
import type * as Scorer from "../scorer/Scorer.js"
import * as RunContent from "./RunContent.js"
import { RunFollower } from "./RunFollower.js"
import * as RunScoring from "./RunScoring.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<R> {
  /**
   * The id of the experiment that keeps the scores, 1 to 256 characters. Processes with the same id share the work.
   * Each process reads the entries once, and keeps the trials of the experiment in memory: take another id from time to
   * time, such as one a month.
   */
  readonly id: string
  /** The agents whose runs are scored: the variants of the experiment. 1 to 100. */
  readonly agents: ReadonlyArray<string>
  /** They see the message, the output as the log has it, and the response; nothing is expected. Names are unique. */
  readonly scorers: ReadonlyArray<Scorer.Scorer<string, any, undefined, R>>
  /**
   * The share of runs that are scored, from 0 to 1. A hash of its id draws a run: the same runs in every process, and a
   * higher rate draws those of a lower one, too.
   */
  readonly rate: number
  /** Whose runs. Default: those without a user. */
  readonly userId?: string | undefined
  /** Whether the runs of everybody are scored: it reads them as the system. Default false. */
  readonly everybody?: boolean | undefined
  /** No run is scored once scoring cost so many US dollars in this experiment. Default: no limit. */
  readonly maxCostUsd?: number | undefined
  /** Runs that are scored within an hour, over all processes. Those beyond it are never scored. Default: no limit. */
  readonly maxPerHour?: number | undefined
  /** Runs that were created so long before the start are scored, too. Default 1 hour. */
  readonly since?: Duration.DurationInput | undefined
  /** Runs that go on for longer are not scored. Default 1 day. */
  readonly maxDuration?: Duration.DurationInput | undefined
  /** Between two looks at the store of runs. Default 1 minute. */
  readonly interval?: Duration.DurationInput | undefined
  /** For one scorer and run. One that takes longer has failed. Default 5 minutes. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Runs that are scored at once. Default 2, at most 100. */
  readonly concurrency?: number | undefined
  /**
   * Whether outputs, the reasons of scorers and the messages of errors are kept, without credentials. They are data of
   * the users, and stay until the experiment is removed. Default false.
   */
  readonly keepContent?: boolean | undefined
}

/**
 * What scoring requires besides the context of its scorers.
 *
 * @since 0.1.0
 * @category models
 */
export type Requirements = RunStore.RunStore | RunLog.RunLog | ExperimentStore.ExperimentStore

const invalid = (id: string, what: string, hint: string) =>
  new ExperimentError({ experiment: id, message: `Online scoring ${JSON.stringify(id.slice(0, 256))} ${what}`, hint })

const problemOf = (options: Options<any>): ExperimentError | undefined => {
  const { agents, concurrency = 2, id, maxCostUsd = 0, maxPerHour = 1, rate, scorers } = options
  const names = scorers.map(({ name }) => name)
  if (id === "" || id.length > 256) return invalid(id, "has an id that is not valid", "An id has 1 to 256 characters")
  if (agents.length === 0 || agents.length > 100 || new Set(agents).size < agents.length) {
    return invalid(id, "has no agents, more than 100, or one twice", "Name each agent once, 100 at most")
  }
  if (names.length === 0 || new Set(names).size < names.length) {
    return invalid(id, "has no scorers, or two of one name", "Give it a scorer at least, each with a name of its own")
  }
  if (!(rate >= 0 && rate <= 1)) return invalid(id, `has the rate ${rate}`, "`rate` is a number from 0 to 1")
  if (!(maxCostUsd >= 0)) return invalid(id, `has \`maxCostUsd\` ${maxCostUsd}`, "It is a number from 0 on")
  if (!(Number.isInteger(maxPerHour) && maxPerHour >= 1)) {
    return invalid(id, `has \`maxPerHour\` ${maxPerHour}`, "It is a whole number from 1 on")
  }
  if (!(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 100)) {
    return invalid(id, `has \`concurrency\` ${concurrency}`, "It is a whole number from 1 to 100")
  }
  return undefined
}

const headerOf = ({ agents, id, scorers }: Options<any>, createdAt: number): Header => {
  const names = scorers.map(({ name }) => name)
  return {
    id,
    name: "runs",
    createdAt,
    fingerprint: CanonicalJson.hash({ online: { agents, scorers: names } }).slice(0, 32),
    dataset: { name: "runs", version: "", cases: 0 },
    variants: agents,
    scorers: names,
    repetitions: 1,
    labels: {}
  }
}

/** The first 52 bits of a hash, as a number below 1. */
const placeOf = (runId: string): number => Number.parseInt(Sha256.hex(runId).slice(0, 13), 16) / 2 ** 52

/**
 * Scores runs until it is interrupted, or `maxCostUsd` is spent. A run has one result, whose case is its id and whose
 * variant is its agent; one that failed has 0 of every scorer, and one that was interrupted has none. `Experiment.load`
 * reads the results, whose `attempts` count the claims of processes.
 *
 * Processes that share an experiment score a run once. Its scoring may be paid twice if a process is killed meanwhile.
 * Scorers and stores that fail are logged, and the work goes on. Fails if an option is not valid, or another experiment
 * has the id.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = <R = never>(
  options: Options<R>
): Effect.Effect<void, ExperimentError | ExperimentStoreError, R | Requirements> =>
  Effect.gen(function* () {
    const problem = problemOf(options)
    if (problem !== undefined) return yield* problem
    const { agents, everybody, maxDuration = "1 day", rate, since = "1 hour", userId } = options
    const held = yield* SystemAccess.held
    const reading = everybody === true ? SystemAccess.grant : SystemAccess.holding(held)
    const store = yield* ExperimentStore.ExperimentStore
    const by = yield* Effect.flatMap(IdGenerator.IdGenerator, (ids) => ids.next)
    const start = yield* Clock.currentTimeMillis
    const interval = Duration.decode(options.interval ?? "1 minute")
    yield* Effect.retry(store.open(headerOf(options, start)), {
      while: ({ reason }) => reason === "storage",
      schedule: Schedule.tapInput(Schedule.spaced(interval), (error: ExperimentStoreError) =>
        Effect.logWarning("The experiment of online scoring could not be opened", error)
      )
    })
    const settings: RunScoring.Settings<R> = {
      id: options.id,
      scorers: options.scorers,
      userId,
      maxCostUsd: options.maxCostUsd ?? Number.POSITIVE_INFINITY,
      maxPerHour: options.maxPerHour ?? Number.POSITIVE_INFINITY,
      timeout: Duration.decode(options.timeout ?? "5 minutes"),
      concurrency: options.concurrency ?? 2,
      keepContent: options.keepContent === true
    }
    const scoring = new RunScoring.RunScoring(settings, {
      by,
      log: yield* RunLog.RunLog,
      store,
      redact: yield* RunContent.redaction,
      reading
    })
    const follower = new RunFollower(yield* RunStore.RunStore, {
      agents,
      userId,
      isDrawn: (runId) => placeOf(runId) < rate,
      from: start - Duration.toMillis(since),
      maxDuration: Duration.toMillis(maxDuration)
    })
    yield* RunScoring.lenient(scoring.load)
    const poll = Effect.gen(function* () {
      const ended = yield* reading(follower.next(yield* Clock.currentTimeMillis))
      yield* scoring.all(ended.filter(({ state }) => state !== "interrupted"))
    })
    yield* Effect.repeat(RunScoring.lenient(poll), {
      schedule: Schedule.spaced(interval),
      until: () => scoring.isSpent
    })
  })

/**
 * Scores runs in the background as long as the layer lives. An option that is not valid fails the layer; a later
 * failure, such as an id that another experiment has, is logged.
 *
 * @example
 * ```ts
 * import { JudgeScorer, OnlineScoring } from "effect-lexigram/eval"
 *
 * const scoring = OnlineScoring.layer({
 *   id: "support 2026-11",
 *   agents: ["support"],
 *   scorers: [JudgeScorer.make({ criteria: { helpful: "The answer helps the customer." } })],
 *   rate: 0.05,
 *   everybody: true,
 *   maxCostUsd: 20
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(options: Options<R>): Layer.Layer<never, ExperimentError, R | Requirements> =>
  Layer.scopedDiscard(
    Effect.suspend(() => {
      const problem = problemOf(options)
      return problem === undefined ? Effect.forkScoped(RunScoring.lenient(run(options))) : Effect.fail(problem)
    })
  )

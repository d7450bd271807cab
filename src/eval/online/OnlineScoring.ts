/**
 * Scores a sample of the runs that ended, in the background, and keeps the scores as an experiment.
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import * as RunStore from "../../agent/record/RunStore.js"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import * as RunLog from "../../observability/RunLog.js"
import * as CaseTrial from "../CaseTrial.js"
import { ExperimentError } from "../Experiment.js"
import type { Header, Trial, TrialResult } from "../record/ExperimentRecord.js"
import * as ExperimentStore from "../record/ExperimentStore.js"
import type { ExperimentStoreError } from "../record/ExperimentStoreError.js"
import * as Scorer from "../scorer/Scorer.js"
import { RunClaims, type Options as RunClaimsOptions } from "./RunClaims.js"
import * as RunContent from "./RunContent.js"
import { RunFollower } from "./RunFollower.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<R> {
  /**
   * The id of the experiment that keeps the scores, 1 to 256 characters. Processes with the same id share the work. Take
   * another one from time to time, such as one a month: each poll that finds runs reads all entries.
   */
  readonly id: string
  /** The agents whose runs are scored: the variants of the experiment. 1 to 100. */
  readonly agents: ReadonlyArray<string>
  /** They see the message, the output as the log has it, and the response; nothing is expected. Their names are unique. */
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

/** Runs that are claimed at once. */
const BATCH = 20

const HOUR = 3_600_000

/** Milliseconds by which a claim outlasts the scorers of a run: others of its batch come first. */
const LEASE = 600_000

/** Characters of the JSON of an output. */
const KEPT_OUTPUT = 20_000

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

const trialOf = ({ agent, runId }: RunRecord): Trial => ({ caseId: runId, variant: agent, repetition: 1 })

const limited = <R>(
  scorer: Scorer.Scorer<string, any, undefined, R>,
  duration: Duration.Duration
): Scorer.Scorer<string, any, undefined, R> => ({
  name: scorer.name,
  score: (subject) =>
    Effect.timeoutFail(
      Effect.suspend(() => scorer.score(subject)),
      {
        duration,
        onTimeout: () => Scorer.noScore(scorer.name, `it took longer than ${Duration.format(duration)}`)
      }
    )
})

/** The result as the experiment keeps it: without what people and models wrote, unless it is asked for. */
const keptOf = ({ error, isCut, output, scores, ...rest }: TrialResult, redact: RunContent.Redact | undefined) => {
  // Redaction changes texts alone.
  const told = (given: ErrorInfo) => (redact === undefined ? nameless(given) : (redact(given) as ErrorInfo))
  return {
    ...rest,
    ...(redact === undefined || output === undefined ? {} : { output: redact(output) }),
    ...(redact === undefined || isCut === undefined ? {} : { isCut }),
    ...(error === undefined ? {} : { error: told(error) }),
    scores: scores.map(({ error, reason, scorer, value }) => ({
      scorer,
      ...(value === undefined ? {} : { value }),
      ...(redact === undefined || reason === undefined ? {} : { reason: String(redact(reason)) }),
      ...(error === undefined ? {} : { error: told(error) })
    }))
  }
}

const nameless = ({ code, tag }: ErrorInfo): ErrorInfo => ({
  tag,
  ...(code === undefined ? {} : { code }),
  message: "The message was not kept"
})

/** What scoring reads and writes. */
interface Ports {
  readonly by: string
  readonly log: RunLog.Service
  readonly store: ExperimentStore.Service
  readonly redact: RunContent.Redact
  readonly reading: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

class Scoring<R> {
  private costUsd = 0
  private claims: RunClaims
  private readonly scorers: ReadonlyArray<Scorer.Scorer<string, any, undefined, R>>
  private readonly rules: RunClaimsOptions
  /** Runs whose log or claims could not be read or written. */
  private backlog: ReadonlyArray<RunRecord> = []

  constructor(
    private readonly options: Options<R>,
    private readonly ports: Ports
  ) {
    const timeout = Duration.decode(options.timeout ?? "5 minutes")
    this.scorers = options.scorers.map((scorer) => limited(scorer, timeout))
    const lease = Duration.toMillis(timeout) * options.scorers.length + LEASE
    this.rules = { lease, maxPerHour: options.maxPerHour ?? Number.POSITIVE_INFINITY }
    this.claims = new RunClaims(this.rules)
  }

  get isSpent(): boolean {
    return this.costUsd >= (this.options.maxCostUsd ?? Number.POSITIVE_INFINITY)
  }

  /** Reads what the entries say of claims and costs. */
  readonly load: Effect.Effect<void, ExperimentStoreError> = Effect.suspend(() => {
    const claims = new RunClaims(this.rules)
    return Effect.map(
      Stream.runForEach(this.ports.store.read(this.options.id), (entry) => Effect.sync(() => claims.push(entry))),
      () => {
        this.claims = claims
        this.costUsd = Math.max(this.costUsd, claims.costUsd)
      }
    )
  })

  private resultOf({ response }: RunContent.RecordedRun): Effect.Effect<TrialResult, never, R> {
    const { costUsd, durationMs, error, input, modelCalls, output, runId, usage } = response
    const taken = { durationMs, modelCalls, usage, runId, ...(costUsd === undefined ? {} : { costUsd }) }
    if (error !== undefined) {
      return Effect.succeed({ ...taken, error, scores: this.scorers.map(({ name }) => ({ scorer: name, value: 0 })) })
    }
    // Scorers are code of the application.
    return SystemAccess.drop(CaseTrial.score(this.scorers, { input, output, expected: undefined, response })).pipe(
      Effect.map((given) => ({ ...taken, ...CaseTrial.kept(output, KEPT_OUTPUT), ...given }))
    )
  }

  private score(run: RunContent.RecordedRun): Effect.Effect<void, ExperimentStoreError, R> {
    const trial = trialOf(run.record)
    return Effect.gen(this, function* () {
      const scored = yield* this.resultOf(run)
      this.costUsd += scored.scoring?.costUsd ?? 0
      const result = keptOf(scored, this.options.keepContent === true ? this.ports.redact : undefined)
      yield* CaseTrial.tell(result.scores)
      const at = yield* Clock.currentTimeMillis
      yield* Effect.retry(this.ports.store.append(this.options.id, { _tag: "Ended", trial, at, result }), retries)
    }).pipe(
      Effect.withSpan("eval.trial", {
        attributes: { "eval.case": trial.caseId, "eval.variant": trial.variant, "eval.repetition": trial.repetition }
      })
    )
  }

  /** The run; none if its log is gone. One whose log cannot be read is left for later. */
  private read(record: RunRecord): Effect.Effect<RunContent.RecordedRun | undefined> {
    const { log, reading } = this.ports
    return Effect.catchAllCause(reading(RunContent.read(log, record, this.options.userId)), (cause) =>
      Effect.as(this.failed([record], cause), undefined)
    )
  }

  private failed(records: ReadonlyArray<RunRecord>, cause: Cause.Cause<unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.backlog = [...this.backlog, ...records]
      return warned(cause)
    })
  }

  /** Claims runs and scores those that no other process has. */
  private readonly batch = (records: ReadonlyArray<RunRecord>): Effect.Effect<void, ExperimentStoreError, R> =>
    Effect.gen(this, function* () {
      const { by, store } = this.ports
      const open = records.filter((record) => !this.claims.isEnded(trialOf(record)))
      const runs = yield* Effect.forEach(open, (record) => this.read(record), { concurrency: 4 })
      const found = runs.flatMap((run) => (run === undefined ? [] : [run]))
      if (found.length === 0 || this.isSpent) return
      const at = yield* Clock.currentTimeMillis
      yield* Effect.forEach(
        found,
        ({ record }) => store.append(this.options.id, { _tag: "Began", trial: trialOf(record), at, by }),
        { discard: true }
      )
      yield* this.load
      yield* Effect.forEach(
        found.filter(({ record }) => this.claims.isOf(trialOf(record), by)),
        (run) => Effect.suspend(() => (this.isSpent ? Effect.void : lenient(this.score(run)))),
        { concurrency: this.options.concurrency ?? 2, discard: true }
      )
    })

  /** Scores runs that ended, and those that could not be scored within the last hour. */
  readonly all = (ended: ReadonlyArray<RunRecord>): Effect.Effect<void, never, R> =>
    Effect.gen(this, function* () {
      const now = yield* Clock.currentTimeMillis
      const again = this.backlog.filter(({ endedAt, updatedAt }) => now - (endedAt ?? updatedAt) <= HOUR)
      this.backlog = []
      yield* Effect.forEach(
        Chunk.chunksOf(Chunk.fromIterable([...again, ...ended]), BATCH),
        (batch) => {
          const records = Chunk.toReadonlyArray(batch)
          return Effect.catchAllCause(this.batch(records), (cause) => this.failed(records, cause))
        },
        { discard: true }
      )
    })
}

const retries = Schedule.intersect(Schedule.exponential("1 second"), Schedule.recurs(4))

const warned = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning("Runs could not be scored", cause), "module", "OnlineScoring")

/** Logs what fails, and goes on. */
const lenient = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
  Effect.catchAllCause(Effect.asVoid(effect), warned)

/**
 * Scores runs until it is interrupted, or `maxCostUsd` is spent. A run has one result, whose case is its id and whose
 * variant is its agent; one that failed has 0 of every scorer, and one that was interrupted has none. `Experiment.load`
 * reads the results, whose `attempts` count the claims of processes.
 *
 * Processes that share an experiment score a run once; if one is killed meanwhile, or two write at the same instant to
 * a database that numbers entries before it shows them, its scoring may be paid twice. A scorer or store that fails is
 * logged, and the work goes on. Fails if an option is not valid, or another experiment has the id.
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
    const scoring = new Scoring(options, {
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
    yield* lenient(scoring.load)
    const poll = Effect.gen(function* () {
      const ended = yield* reading(follower.next(yield* Clock.currentTimeMillis))
      yield* scoring.all(ended.filter(({ state }) => state !== "interrupted"))
    })
    yield* Effect.repeat(lenient(poll), { schedule: Schedule.spaced(interval), until: () => scoring.isSpent })
  })

/**
 * Scores runs in the background as long as the layer lives. An option that is not valid fails the layer; a later
 * failure, such as an id that another experiment has, is logged.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(options: Options<R>): Layer.Layer<never, ExperimentError, R | Requirements> =>
  Layer.scopedDiscard(
    Effect.suspend(() => {
      const problem = problemOf(options)
      return problem === undefined ? Effect.forkScoped(lenient(run(options))) : Effect.fail(problem)
    })
  )

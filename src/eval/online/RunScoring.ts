/**
 * Claims runs and scores them, as long as the money lasts.
 *
 * @private
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import type * as RunLog from "../../observability/RunLog.js"
import * as CaseTrial from "../CaseTrial.js"
import type { Trial, TrialResult } from "../record/ExperimentRecord.js"
import type * as ExperimentStore from "../record/ExperimentStore.js"
import type { ExperimentStoreError } from "../record/ExperimentStoreError.js"
import * as Scorer from "../scorer/Scorer.js"
import { RunClaims } from "./RunClaims.js"
import * as RunContent from "./RunContent.js"

export interface Settings<R> {
  /** The experiment. */
  readonly id: string
  readonly scorers: ReadonlyArray<Scorer.Scorer<string, any, undefined, R>>
  readonly userId: string | undefined
  readonly maxCostUsd: number
  readonly maxPerHour: number
  /** For one scorer and run. */
  readonly timeout: Duration.Duration
  readonly concurrency: number
  readonly keepContent: boolean
}

/** Runs that are claimed at once. */
const BATCH = 20

const HOUR = 3_600_000

/** Milliseconds by which a claim outlasts the scorers of a run: others of its batch come first. */
const LEASE = 600_000

/** Characters of the JSON of an output. */
const KEPT_OUTPUT = 20_000

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
const keptOf = ({ error, scores, ...rest }: TrialResult, redact: RunContent.Redact | undefined) => {
  // Redaction changes texts alone.
  const told = (given: ErrorInfo) => (redact === undefined ? nameless(given) : (redact(given) as ErrorInfo))
  return {
    ...rest,
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
export interface Ports {
  readonly by: string
  readonly log: RunLog.Service
  readonly store: ExperimentStore.Service
  readonly redact: RunContent.Redact
  readonly reading: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export class RunScoring<R> {
  private costUsd = 0
  private claims: RunClaims
  /** The position of the last entry that the claims know. */
  private position: string | undefined = undefined
  private readonly scorers: ReadonlyArray<Scorer.Scorer<string, any, undefined, R>>
  /** Runs whose log or claims could not be read or written. */
  private backlog: ReadonlyArray<RunRecord> = []

  constructor(
    private readonly settings: Settings<R>,
    private readonly ports: Ports
  ) {
    const { scorers, timeout } = settings
    this.scorers = scorers.map((scorer) => limited(scorer, timeout))
    this.claims = this.noClaims()
  }

  private noClaims(): RunClaims {
    const { maxPerHour, scorers, timeout } = this.settings
    return new RunClaims({ lease: Duration.toMillis(timeout) * scorers.length + LEASE, maxPerHour })
  }

  get isSpent(): boolean {
    return this.costUsd >= this.settings.maxCostUsd
  }

  /** Reads what the entries since the last time say of claims and costs. */
  readonly load: Effect.Effect<void, ExperimentStoreError> = Effect.suspend(() =>
    Stream.runForEach(this.ports.store.read(this.settings.id, { after: this.position }), ({ entry, position }) =>
      Effect.sync(() => {
        this.claims.push(entry)
        this.position = position
        this.costUsd = Math.max(this.costUsd, this.claims.costUsd)
      })
    )
  ).pipe(
    Effect.catchIf(
      // The experiment was removed, and is another one now.
      ({ reason }) => reason === "cursor" && this.position !== undefined,
      () =>
        Effect.suspend(() => {
          this.claims = this.noClaims()
          this.position = undefined
          return this.load
        })
    )
  )

  private resultOf({ response }: RunContent.RecordedRun): Effect.Effect<TrialResult, never, R> {
    const { costUsd, durationMs, error, input, modelCalls, output, runId, usage } = response
    const taken = { durationMs, modelCalls, usage, runId, ...(costUsd === undefined ? {} : { costUsd }) }
    if (error !== undefined) {
      return Effect.succeed({ ...taken, error, scores: this.scorers.map(({ name }) => ({ scorer: name, value: 0 })) })
    }
    // Scorers are code of the application.
    return SystemAccess.drop(CaseTrial.score(this.scorers, { input, output, expected: undefined, response })).pipe(
      Effect.map((given) => ({ ...taken, ...this.kept(output), ...given }))
    )
  }

  /** Secrets go before the output is cut: the beginning of one would not be found. */
  private kept(output: unknown): Pick<TrialResult, "output" | "isCut"> {
    return this.settings.keepContent ? CaseTrial.kept(this.ports.redact(output), KEPT_OUTPUT) : {}
  }

  private score(run: RunContent.RecordedRun): Effect.Effect<void, ExperimentStoreError, R> {
    const trial = trialOf(run.record)
    return Effect.gen(this, function* () {
      const scored = yield* this.resultOf(run)
      this.costUsd += scored.scoring?.costUsd ?? 0
      const result = keptOf(scored, this.settings.keepContent ? this.ports.redact : undefined)
      yield* CaseTrial.tell(result.scores)
      const at = yield* Clock.currentTimeMillis
      yield* Effect.retry(this.ports.store.append(this.settings.id, { _tag: "Ended", trial, at, result }), retries)
    }).pipe(
      Effect.withSpan("eval.trial", {
        attributes: { "eval.case": trial.caseId, "eval.variant": trial.variant, "eval.repetition": trial.repetition }
      })
    )
  }

  /** The run; none if its log is gone. One whose log cannot be read is left for later. */
  private read(record: RunRecord): Effect.Effect<RunContent.RecordedRun | undefined> {
    const { log, reading } = this.ports
    return Effect.catchAllCause(reading(RunContent.read(log, record, this.settings.userId)), (cause) =>
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
        ({ record }) => store.append(this.settings.id, { _tag: "Began", trial: trialOf(record), at, by }),
        { discard: true }
      )
      yield* this.load
      yield* Effect.forEach(
        found.filter(({ record }) => this.claims.isOf(trialOf(record), by)),
        (run) => Effect.suspend(() => (this.isSpent ? Effect.void : lenient(this.score(run)))),
        { concurrency: this.settings.concurrency, discard: true }
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
export const lenient = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
  Effect.catchAllCause(Effect.asVoid(effect), warned)

/**
 * One trial of an experiment: its task, tried again where a failure may pass, and its scorers.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Tracer from "effect/Tracer"
import * as ErrorInfo from "../domain/ErrorInfo.js"
import * as Usage from "../domain/Usage.js"
import type { Case } from "./dataset/Dataset.js"
import type { Trial, TrialResult, TrialScore } from "./record/ExperimentRecord.js"
import type { Score, Scorer, Subject } from "./scorer/Scorer.js"
import type * as Task from "./Task.js"

export interface Settings {
  readonly retries: number
  readonly timeout: Duration.Duration
  /** Characters of the JSON of an output. */
  readonly keptOutput: number
}

/** A trial that has no result: its failure may pass. */
export interface Open {
  readonly error: ErrorInfo.ErrorInfo
  /** What its attempts cost, as far as it is known. */
  readonly costUsd: number
}

const isTransient = (cause: Cause.Cause<unknown>): boolean =>
  Option.exists(
    Cause.failureOption(cause),
    (error) => Predicate.hasProperty(error, "isRetryable") && error.isRetryable === true
  )

const infoOf = (cause: Cause.Cause<unknown>): ErrorInfo.ErrorInfo => ErrorInfo.errorInfo(Cause.squash(cause))

/** The output as data of JSON, at most so long; else the beginning of its text. */
export const kept = (output: unknown, most: number): Pick<TrialResult, "output" | "isCut"> => {
  const text = Option.getOrUndefined(Option.liftThrowable((): string | undefined => JSON.stringify(output))())
  if (text === undefined) return output === undefined ? {} : { output: String(output).slice(0, most), isCut: true }
  if (text.length <= most) return { output: JSON.parse(text) }
  return {
    output: (typeof output === "string" ? output : text).slice(0, most).replace(/[\ud800-\udbff]$/, ""),
    isCut: true
  }
}

/** What several attempts took. A cost is known if that of each is. */
class Spent {
  usage: Usage.Usage | undefined
  costUsd: number | undefined
  modelCalls: number | undefined
  private isUnknown = false

  add(taken: Task.Taken | Score): void {
    if (taken.usage !== undefined) this.usage = Usage.add(this.usage ?? Usage.empty, taken.usage)
    if ("modelCalls" in taken && taken.modelCalls !== undefined) {
      this.modelCalls = (this.modelCalls ?? 0) + taken.modelCalls
    }
    if (taken.costUsd !== undefined) this.costUsd = (this.costUsd ?? 0) + taken.costUsd
    else if (taken.usage !== undefined) this.isUnknown = true
  }

  get cost() {
    return this.costUsd === undefined || this.isUnknown ? {} : { costUsd: this.costUsd }
  }

  get tokens() {
    return this.usage === undefined ? {} : { usage: this.usage }
  }
}

/** Tells a span of a score, by the conventions of OpenTelemetry for generative AI. */
const tellSpan = (score: TrialScore, at: number, span: Tracer.Span) =>
  span.event("gen_ai.evaluation.result", BigInt(Math.round(at)) * 1_000_000n, {
    "gen_ai.evaluation.name": score.scorer,
    ...(score.value === undefined ? {} : { "gen_ai.evaluation.score.value": score.value }),
    ...(score.reason === undefined ? {} : { "gen_ai.evaluation.explanation": score.reason }),
    ...(score.error === undefined ? {} : { "error.type": score.error.tag })
  })

/** A defect of a scorer leaves one score out, and not the experiment. */
const scored = <Input, Output, Expected, R>(
  scorer: Scorer<Input, Output, Expected, R>,
  subject: Subject<Input, Output, Expected>
): Effect.Effect<readonly [TrialScore, Score | undefined], never, R> =>
  Effect.matchCauseEffect(scorer.score(subject), {
    onFailure: (cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.interrupt
        : Effect.succeed([{ scorer: scorer.name, error: infoOf(cause) }, undefined]),
    onSuccess: (score) => {
      const { reason, value } = score
      return Effect.succeed([{ scorer: scorer.name, value, ...(reason === undefined ? {} : { reason }) }, score])
    }
  })

/** Tells the current span of scores. */
export const tell = (scores: ReadonlyArray<TrialScore>): Effect.Effect<void> =>
  Effect.zipWith(Clock.currentTimeMillis, Effect.orDie(Effect.currentSpan), (at, span) => {
    for (const score of scores) tellSpan(score, at, span)
  })

/** The scores of a subject, and what scoring took. */
export const score = <Input, Output, Expected, R>(
  scorers: ReadonlyArray<Scorer<Input, Output, Expected, R>>,
  subject: Subject<Input, Output, Expected>
): Effect.Effect<Pick<TrialResult, "scores" | "scoring">, never, R> =>
  Effect.map(
    Effect.forEach(scorers, (scorer) => scored(scorer, subject)),
    (found) => {
      const scoring = new Spent()
      for (const [, score] of found) if (score !== undefined) scoring.add(score)
      return {
        scores: found.map(([score]) => score),
        ...(scoring.usage === undefined && scoring.costUsd === undefined
          ? {}
          : { scoring: { ...scoring.tokens, ...scoring.cost } })
      }
    }
  )

/** Runs the task of a trial to an end that will not pass. Tells of each attempt before it begins. */
const answered = <Output, R, E>(
  run: Effect.Effect<Task.Outcome<Output>, never, R>,
  { retries, timeout }: Settings,
  begin: Effect.Effect<void, E>,
  spent: Spent
) => {
  const attempt = Effect.zipRight(
    begin,
    Effect.timeoutTo(run, {
      duration: timeout,
      onSuccess: (outcome): Task.Outcome<Output> => outcome,
      onTimeout: (): Task.Outcome<Output> => ({
        _tag: "Failed",
        cause: Cause.fail(new Cause.TimeoutException(`The task took longer than ${Duration.format(timeout)}`))
      })
    })
  ).pipe(Effect.tap((outcome) => Effect.sync(() => spent.add(outcome))))
  const from = (tried: number): Effect.Effect<Task.Outcome<Output>, E, R> =>
    Effect.flatMap(attempt, (outcome) =>
      outcome._tag === "Failed" && tried < retries && isTransient(outcome.cause)
        ? Effect.zipRight(
            Effect.sleep(Duration.seconds(2 ** tried)),
            Effect.suspend(() => from(tried + 1))
          )
        : Effect.succeed(outcome)
    )
  return from(0)
}

/** Runs a trial: its result, or why it has none yet. */
export const run = <Input, Expected, Output, R, R2, E>(
  task: Task.Task<Input, Output, R>,
  scorers: ReadonlyArray<Scorer<Input, Output, Expected, R2>>,
  one: Case<Input, Expected>,
  trial: Trial,
  settings: Settings,
  begin: Effect.Effect<void, E>
): Effect.Effect<Either.Either<TrialResult, Open>, E, R | R2> =>
  Effect.gen(function* () {
    const started = yield* Clock.currentTimeMillis
    const spent = new Spent()
    const outcome = yield* answered(task.run(one.input), settings, begin, spent)
    const durationMs = (yield* Clock.currentTimeMillis) - started
    const taken = {
      durationMs,
      ...spent.tokens,
      ...spent.cost,
      ...(spent.modelCalls === undefined ? {} : { modelCalls: spent.modelCalls }),
      ...(outcome.response === undefined ? {} : { runId: outcome.response.runId })
    }
    if (outcome._tag === "Failed") {
      const error = infoOf(outcome.cause)
      if (isTransient(outcome.cause)) return Either.left({ error, costUsd: spent.costUsd ?? 0 })
      return Either.right({ ...taken, error, scores: scorers.map(({ name }) => ({ scorer: name, value: 0 })) })
    }
    const { output, response } = outcome
    const subject = { input: one.input, output, expected: one.expected, response }
    const given = yield* score(scorers, subject)
    yield* tell(given.scores)
    return Either.right({ ...taken, ...kept(output, settings.keptOutput), ...given })
  }).pipe(
    Effect.withSpan("eval.trial", {
      attributes: { "eval.case": trial.caseId, "eval.variant": trial.variant, "eval.repetition": trial.repetition }
    })
  )

/**
 * Labels of people: what they say of outputs, and how far a scorer agrees with them.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import * as Experiment from "./Experiment.js"
import { keyOf, type Label } from "./record/ExperimentRecord.js"
import * as ExperimentStore from "./record/ExperimentStore.js"
import type { ExperimentStoreError } from "./record/ExperimentStoreError.js"
import * as Agreement from "./statistics/Agreement.js"
import * as Statistics from "./statistics/Statistics.js"

const NAME = "effect-lexigram/eval/Labels"

/**
 * - `trial`: the experiment has no result of this trial
 * - `scorer`: the experiment has no such scorer
 * - `value`: the value is not from 0 to 1
 * - `by`: the person is not named by 1 to 256 characters
 * - `comment`: the comment is longer than 10,000 characters
 *
 * @since 0.1.0
 * @category schemas
 */
export const LabelErrorReason = Schema.Literal("trial", "scorer", "value", "by", "comment").annotations({
  identifier: `${NAME}/LabelErrorReason`
})
/**
 * @since 0.1.0
 * @category models
 */
export type LabelErrorReason = typeof LabelErrorReason.Type

/**
 * A label cannot be kept as it is given.
 *
 * @since 0.1.0
 * @category errors
 */
export class LabelError extends ErrorCode.TaggedError<LabelError>(`${NAME}/LabelError`)("LabelError", {
  ...ErrorCode.fields("LEX_ERR_EVAL_106"),
  reason: LabelErrorReason,
  experiment: Schema.String
}) {}

/**
 * A label as a person gives it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Given extends Omit<Label, "at"> {}

/** Quotes the beginning of a text. */
const quoted = (text: string): string => JSON.stringify(String(text).slice(0, 64))

/** Why a label cannot be kept, whatever its experiment is. */
const problemOf = ({ by, comment, value }: Given): readonly [LabelErrorReason, string, string] | undefined => {
  if (!(value >= 0 && value <= 1)) {
    return ["value", `The value of a label is ${value}`, "Give a number from 0 to 1; 1 is best"]
  }
  if (typeof by !== "string" || by === "" || by.length > 256) {
    return ["by", "A label names nobody, or has a name that is too long", "Name the person by 1 to 256 characters"]
  }
  if (comment !== undefined && !(typeof comment === "string" && comment.length <= 10_000)) {
    return ["comment", "The comment of a label is too long, or no text", "Shorten it to at most 10,000 characters"]
  }
  return undefined
}

const check = (
  { finished, header }: Experiment.Results,
  labels: ReadonlyArray<Given>
): Either.Either<void, LabelError> => {
  const trials = new Set(finished.map(({ trial }) => keyOf(trial)))
  const refuse = (reason: LabelErrorReason, message: string, hint: string) =>
    Either.left(new LabelError({ reason, experiment: header.id, message, hint }))
  for (const label of labels) {
    const problem = problemOf(label)
    if (problem !== undefined) return refuse(...problem)
    const { scorer, trial } = label
    if (!header.scorers.includes(scorer)) {
      const hint = `Name one of its scorers: ${header.scorers.slice(0, 20).map(quoted).join(", ")}`
      return refuse("scorer", `The experiment has no scorer ${quoted(scorer)}`, hint)
    }
    if (!trials.has(keyOf(trial))) {
      const which = `case ${quoted(trial.caseId)}, variant ${quoted(trial.variant)}, repetition ${trial.repetition}`
      return refuse("trial", `The experiment has no result of ${which}`, "Label a trial that has ended")
    }
  }
  return Either.void
}

/**
 * Keeps labels, in their order. Either all of them are valid, or none is kept. It reads the experiment once: add many
 * at once where there are many.
 *
 * @since 0.1.0
 * @category constructors
 */
export const addAll = (
  experimentId: string,
  labels: ReadonlyArray<Given>
): Effect.Effect<void, LabelError | ExperimentStoreError, ExperimentStore.ExperimentStore> =>
  Effect.gen(function* () {
    yield* check(yield* Experiment.load(experimentId), labels)
    const store = yield* ExperimentStore.ExperimentStore
    const at = yield* Clock.currentTimeMillis
    yield* Effect.forEach(
      labels,
      ({ by, comment, scorer, trial, value }) =>
        store.append(experimentId, {
          _tag: "Labelled",
          trial,
          scorer,
          value,
          by,
          ...(comment === undefined ? {} : { comment }),
          at
        }),
      { discard: true }
    )
  })

/**
 * Keeps a label beside the score of a trial. Another label of the same person there takes the place of the one before,
 * which stays in the store.
 *
 * @since 0.1.0
 * @category constructors
 */
export const add = (
  experimentId: string,
  label: Given
): Effect.Effect<void, LabelError | ExperimentStoreError, ExperimentStore.ExperimentStore> =>
  addAll(experimentId, [label])

/**
 * @since 0.1.0
 * @category models
 */
export interface AgreementOptions {
  /** Only trials of this variant. Default: all. */
  readonly variant?: string | undefined
  /** Values from this on are good, others bad, where classes are compared. Default 0.5. */
  readonly threshold?: number | undefined
}

/**
 * How far two series of values agree on the same outputs. Each measure is a number, or why there is none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Measures {
  /** Outputs that both valued. */
  readonly outputs: number
  /** The share of outputs that both call good, or both bad. */
  readonly percentAgreement: Statistics.Result<number>
  /** Cohen's kappa of good and bad. */
  readonly kappa: Statistics.Result<number>
  /** Krippendorff's alpha of the values, by squared differences. */
  readonly krippendorffAlpha: Statistics.Result<number>
  /** Spearman's correlation of the values. */
  readonly spearman: Statistics.Result<number>
}

/**
 * A person, beside the mean of the others.
 *
 * @since 0.1.0
 * @category models
 */
export interface PersonAgreement extends Measures {
  readonly by: string
}

/**
 * How far a scorer and people agree. A scorer agrees with people well if it agrees with them as each of them agrees
 * with the others.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScorerAgreement {
  /** The scorer beside the mean of the labels of each output. */
  readonly scorer: Measures
  /** Each person beside the mean of the others, on the outputs that several labeled. In the order of names. */
  readonly people: ReadonlyArray<PersonAgreement>
  /** Krippendorff's alpha of the labels of all people, by squared differences. */
  readonly amongPeople: Statistics.Result<number>
}

type Pair = readonly [first: number, second: number]

const measure = (pairs: ReadonlyArray<Pair>, threshold: number): Measures => {
  const [first, second] = [pairs.map(([value]) => value), pairs.map(([, value]) => value)]
  const [good, alsoGood] = [first.map((value) => value >= threshold), second.map((value) => value >= threshold)]
  return {
    outputs: pairs.length,
    percentAgreement: Agreement.percentAgreement(good, alsoGood),
    kappa: Agreement.kappa(good, alsoGood),
    krippendorffAlpha: Agreement.krippendorffAlpha([first, second], "interval"),
    spearman: Agreement.spearman(first, second)
  }
}

/** Without what rounding adds, so that means of the same labels are the same and compare with thresholds as written. */
const mean = (sum: number, count: number): number => Math.round((sum / count) * 1e12) / 1e12

const sumOf = (labels: ReadonlyArray<Label>): number => labels.reduce((sum, { value }) => sum + value, 0)

/** Each label beside the mean of the others of its output, by the person who gave it. */
const besideOthers = (outputs: ReadonlyArray<ReadonlyArray<Label>>): ReadonlyMap<string, ReadonlyArray<Pair>> => {
  const people = new Map<string, Array<Pair>>()
  for (const labels of outputs) {
    if (labels.length < 2) continue
    const sum = sumOf(labels)
    for (const { by, value } of labels) {
      const pair: Pair = [value, mean(sum - value, labels.length - 1)]
      const pairs = people.get(by)
      if (pairs === undefined) people.set(by, [pair])
      else pairs.push(pair)
    }
  }
  return people
}

/** Alpha knows no persons, so the first label of each output may count as one rater, the second as the next one. */
const amongPeople = (outputs: ReadonlyArray<ReadonlyArray<Label>>): Statistics.Result<number> => {
  const most = outputs.reduce((most, { length }) => Math.max(most, length), 0)
  const raters = Array.from({ length: most }, (_, place) => outputs.map((labels) => labels[place]?.value))
  return Agreement.krippendorffAlpha(raters, "interval")
}

/**
 * Labels by the `keyOf` of their trials.
 *
 * @since 0.1.0
 * @category conversions
 * @internal
 */
export const byTrial = (labels: ReadonlyArray<Label>): ReadonlyMap<string, ReadonlyArray<Label>> => {
  const groups = new Map<string, Array<Label>>()
  for (const label of labels) {
    const key = keyOf(label.trial)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [label])
    else group.push(label)
  }
  return groups
}

/**
 * Compares the values of a scorer with the labels of people beside it, on the trials that have both, and people with
 * each other. Fails for a scorer that the experiment does not have, and for a threshold that is not from 0 to 1.
 *
 * @since 0.1.0
 * @category statistics
 */
export const agreement = (
  { finished, header, labels }: Experiment.Results,
  scorer: string,
  { threshold = 0.5, variant }: AgreementOptions = {}
): Statistics.Result<ScorerAgreement> => {
  const name = "Labels.agreement"
  if (!header.scorers.includes(scorer)) {
    return Statistics.refuse(name, `the experiment has no scorer ${quoted(scorer)}`, "Name one of its scorers.")
  }
  if (!(threshold >= 0 && threshold <= 1)) {
    return Statistics.refuse(name, `the threshold is ${threshold}`, "Give a number from 0 to 1.")
  }
  const groups = byTrial(
    labels.filter((label) => label.scorer === scorer && (variant === undefined || label.trial.variant === variant))
  )
  const pairs = finished.flatMap(({ result, trial }): ReadonlyArray<Pair> => {
    const given = groups.get(keyOf(trial))
    const value = result.scores.find((score) => score.scorer === scorer)?.value
    return given === undefined || value === undefined ? [] : [[value, mean(sumOf(given), given.length)]]
  })
  const outputs = Array.from(groups.values())
  return Either.right({
    scorer: measure(pairs, threshold),
    people: Array.from(besideOthers(outputs), ([by, pairs]) => ({ by, ...measure(pairs, threshold) })).sort((a, b) =>
      a.by < b.by ? -1 : 1
    ),
    amongPeople: amongPeople(outputs)
  })
}

/**
 * What the commands of `lexigram eval` do.
 *
 * @private
 * @since 0.1.0
 */
import * as NodePath from "node:path"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Experiment from "../../eval/Experiment.js"
import * as ExperimentStore from "../../eval/record/ExperimentStore.js"
import * as EvalReport from "../../eval/report/EvalReport.js"
import * as Gate from "../../eval/report/Gate.js"
import * as VariantComparison from "../../eval/report/VariantComparison.js"
import { CliError } from "../config/CliError.js"
import { ModuleLoader } from "../config/ModuleLoader.js"
import * as Workspace from "../config/Workspace.js"
import * as Connection from "../connection/Connection.js"
import * as Report from "../terminal/Report.js"
import * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as EvalStore from "./EvalStore.js"

const notOne = (module: string): CliError =>
  new CliError({
    reason: "config",
    message: `The default export of ${JSON.stringify(module)} is no experiment`,
    hint: 'Write `export default Experiment.make("name", { dataset, variants, scorers })`, or an effect that gives one'
  })

type Any = Experiment.Experiment<any, any, any, any>

/** Whether a value is an experiment, as `Experiment.make` gives it. */
const isExperiment = (u: unknown): u is Any =>
  Predicate.isReadonlyRecord(u) &&
  typeof u["name"] === "string" &&
  typeof u["repetitions"] === "number" &&
  [u["variants"], u["scorers"], Reflect.get(Object(u["dataset"]), "cases")].every(Array.isArray)

/** The services of the configuration, if there is one, beside those of the platform. */
const contextOf = Effect.gen(function* () {
  const platform = yield* Effect.context<FileSystem.FileSystem>()
  const base = Context.merge(platform, Context.make(Path.Path, yield* Effect.provide(Path.Path, Path.layer)))
  const { config } = yield* Workspace.Workspace
  if (Option.isNone(config.value)) return base as Context.Context<never>
  const { services } = yield* Connection.local
  return Context.merge(base, services) as Context.Context<never>
})

const experimentOf = (module: string, context: Context.Context<never>) =>
  Effect.gen(function* () {
    const load = yield* ModuleLoader
    const { default: given } = yield* load(NodePath.resolve(module))
    // What it needs is known by the application alone: what the context lacks is a defect that names it.
    const made: unknown = Effect.isEffect(given)
      ? yield* Effect.provide(given as Effect.Effect<unknown, unknown>, context)
      : given
    return isExperiment(made) ? made : yield* notOne(module)
  })

/** How far an experiment is, on the error output. */
const progressOf = (total: number, before: number, screen: Screen.Service) => {
  let [done, cost, said] = [before, 0, Math.floor((10 * before) / total)]
  return ({ result }: { readonly result: { readonly costUsd?: number | undefined } }): Effect.Effect<void> =>
    Effect.sync(() => {
      done++
      cost += result.costUsd ?? 0
      const text = `${done} of ${total}${cost > 0 ? `, $${cost.toFixed(4)}` : ""}`
      if (screen.showsProgress) return screen.note(`\r\u001b[2K${text}${done === total ? "\n" : ""}`)
      const tenth = Math.floor((10 * done) / total)
      if (tenth > said) screen.note(`${text}\n`)
      said = tenth
    })
}

const percent = (value: number | undefined): string => (value === undefined ? "" : `${(100 * value).toFixed(1)} %`)

const interval = (found: { readonly lower: number; readonly upper: number } | undefined): string =>
  found === undefined ? "" : `${percent(found.lower)} to ${percent(found.upper)}`

const writeReport = (file: string, report: EvalReport.EvalReport, content: boolean) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const text = file.endsWith(".md") ? EvalReport.toMarkdown(report) : EvalReport.toHtml(report, { content })
    yield* Effect.mapError(
      fs.writeFileString(file, text),
      (cause) => new CliError({ reason: "file", message: `The report cannot be written: ${cause.message}`, cause })
    )
  })

/** The results that a store has under an id. */
const load = (id: string) => Experiment.load(id)

const finishedBefore = (id: string) =>
  Effect.catchIf(
    Effect.map(load(id), ({ finished }) => finished.length),
    ({ reason }) => reason === "unknown",
    () => Effect.succeed(0)
  )

/**
 * @category models
 */
export interface Run {
  readonly module: string
  readonly store: string
  readonly id: Option.Option<string>
  readonly concurrency: number
  readonly perMinute: Option.Option<number>
  readonly maxCost: Option.Option<number>
  readonly report: Option.Option<string>
  readonly content: boolean
}

const runTrials = (
  experiment: Any,
  { concurrency, id, maxCost, perMinute }: Omit<Run, "id"> & { readonly id: string }
) =>
  Effect.gen(function* () {
    const screen = yield* Screen.Screen
    const total = experiment.dataset.cases.length * experiment.variants.length * experiment.repetitions
    return yield* Experiment.run(experiment, {
      id,
      concurrency,
      ...(Option.isSome(perMinute) ? { perMinute: perMinute.value } : {}),
      ...(Option.isSome(maxCost) ? { maxCostUsd: maxCost.value } : {}),
      onResult: progressOf(total, yield* finishedBefore(id), screen)
    })
  })

/**
 * Runs the experiment of a module, or what is missing of it.
 *
 * @category execution
 */
export const run = (input: Run) =>
  Effect.gen(function* () {
    const { content, module, report: file, store } = input
    if (Option.isSome(file) && !/\.(?:html|md)$/.test(file.value)) {
      const hint = "Let its name end with .html or .md"
      return yield* new CliError({ reason: "usage", message: "A report is a page or Markdown", hint })
    }
    const context = yield* contextOf
    const experiment = yield* experimentOf(module, context)
    const now = yield* DateTime.now
    const id = Option.getOrElse(input.id, () => `${experiment.name} ${DateTime.formatIso(now)}`.slice(-256))
    const results = yield* runTrials(experiment, { ...input, id }).pipe(
      Effect.provide(EvalStore.layer(store, false)),
      Effect.provide(context)
    )
    const report = yield* EvalReport.make(results)
    if (Option.isSome(file)) yield* writeReport(file.value, report, content)
    const { attempts, costUsd, isOverBudget, missing, open } = results
    const said = { id, store, variants: report.variants, missing, isOverBudget, attempts, costUsd }
    yield* Report.say(said, ({ variants }, screen) => {
      const rows = variants.flatMap(({ scores, variant }) =>
        scores.map(({ cases, interval: found, mean, scorer, unscored }) => [
          variant,
          scorer,
          percent(mean),
          String(cases),
          String(unscored),
          interval(found)
        ])
      )
      return `${TerminalText.table(screen, ["VARIANT", "SCORER", "MEAN", "CASES", "UNSCORED", "95 %"], rows)}\nid ${TerminalText.line(id, 256)}`
    })
    if (isOverBudget) yield* Report.remark("The limit of costs left trials out.")
    const [first] = open
    if (first === undefined) return
    yield* Report.remark(`${TerminalText.count(missing, "trial")} without a result: the same id goes on with them.`)
    return yield* Effect.fail({ _tag: first.error.tag, ...first.error })
  })

/**
 * Lists the experiments of a store.
 *
 * @category execution
 */
export const list = ({ limit, store }: { readonly limit: number; readonly store: string }) =>
  Effect.gen(function* () {
    const { list } = yield* ExperimentStore.ExperimentStore
    yield* Report.say(yield* list({ limit }), ({ experiments }, screen) =>
      experiments.length === 0
        ? "No evals."
        : TerminalText.table(
            screen,
            ["ID", "STARTED (UTC)", "EXPERIMENT", "DATASET", "CASES", "VARIANTS"],
            experiments.map(({ createdAt, dataset, id, name, variants }) => [
              id,
              DateTime.formatIso(DateTime.unsafeMake(createdAt)).slice(0, 19).replace("T", " "),
              name,
              dataset.name,
              String(dataset.cases),
              variants.join(", ")
            ])
          )
    )
  }).pipe(Effect.provide(EvalStore.layer(store, true)))

/** The pairs of variants that are compared: those of one name, or the only ones. */
const pairsOf = (
  before: Experiment.Results,
  after: Experiment.Results,
  chosen: Option.Option<string>
): ReadonlyArray<readonly [string | undefined, string | undefined]> => {
  if (Option.isSome(chosen)) return [[chosen.value, chosen.value]]
  const shared = after.header.variants.filter((variant) => before.header.variants.includes(variant))
  return shared.length === 0 ? [[undefined, undefined]] : shared.map((variant) => [variant, variant])
}

/**
 * Compares the results of two experiments, case by case.
 *
 * @category execution
 */
export const compare = (input: {
  readonly before: string
  readonly after: string
  readonly variant: Option.Option<string>
  readonly store: string
}) =>
  Effect.gen(function* () {
    const [before, after] = [yield* load(input.before), yield* load(input.after)]
    const scorers = after.header.scorers.filter((scorer) => before.header.scorers.includes(scorer))
    if (scorers.length === 0) {
      return yield* new CliError({ reason: "usage", message: "The two have no scorer in common" })
    }
    const comparisons = yield* Effect.forEach(pairsOf(before, after, input.variant), ([from, to]) =>
      Effect.forEach(scorers, (scorer) =>
        VariantComparison.make({
          baseline: { results: before, variant: from },
          candidate: { results: after, variant: to },
          scorer
        })
      )
    )
    yield* Report.say(comparisons.flat(), (found, screen) =>
      TerminalText.table(
        screen,
        ["VARIANT", "SCORER", "BEFORE", "AFTER", "P", "WINS", "LOSSES", "LOST FIRST"],
        found.map(({ candidate, losses, meanBaseline, meanCandidate, pairs, pTwoSided, scorer, wins }) => [
          candidate,
          scorer,
          percent(meanBaseline),
          percent(meanCandidate),
          pTwoSided.toPrecision(2),
          String(wins),
          String(losses),
          pairs
            .filter((pair) => pair.candidate < pair.baseline)
            .slice(0, 5)
            .map(({ caseId }) => caseId)
            .join(", ")
        ])
      )
    )
  }).pipe(Effect.provide(EvalStore.layer(input.store, true)))

const numbersOf = (given: HashMap.HashMap<string, string>) =>
  Effect.map(
    Effect.forEach(HashMap.toEntries(given), ([name, text]) =>
      text.trim() === "" || !Number.isFinite(Number(text))
        ? new CliError({
            reason: "usage",
            message: `${JSON.stringify(text.slice(0, 80))} is no score`,
            hint: "Give a number from 0 to 1: --min exact=0.8"
          })
        : Effect.succeed([name, Number(text)] as const)
    ),
    (entries): Readonly<Record<string, number>> => Object.fromEntries(entries)
  )

/**
 * @category models
 */
export interface Check {
  readonly id: string
  readonly store: string
  readonly baseline: Option.Option<string>
  readonly variant: Option.Option<string>
  readonly min: Option.Option<HashMap.HashMap<string, string>>
  readonly tolerance: Option.Option<number>
  readonly maxCost: Option.Option<number>
}

/**
 * Fails by the reason `gate` if the results are not good enough.
 *
 * @category execution
 */
export const gate = (input: Check) =>
  Effect.gen(function* () {
    const { baseline, maxCost, tolerance, variant } = input
    const min = yield* numbersOf(Option.getOrElse(input.min, HashMap.empty<string, string>))
    if (Option.isNone(baseline) && Option.isNone(maxCost) && Object.keys(min).length === 0) {
      const hint = "Give --baseline, --min or --max-cost"
      return yield* new CliError({ reason: "usage", message: "There is nothing to check", hint })
    }
    const results = yield* load(input.id)
    const passed = yield* Gate.check(results, {
      min,
      ...(Option.isSome(variant) ? { variant: variant.value } : {}),
      ...(Option.isSome(tolerance) ? { tolerance: tolerance.value } : {}),
      ...(Option.isSome(maxCost) ? { maxCostUsd: maxCost.value } : {}),
      ...(Option.isSome(baseline)
        ? { noWorseThan: { results: yield* load(baseline.value), variant: Option.getOrUndefined(variant) } }
        : {})
    }).pipe(
      Effect.catchTags({
        GateError: (cause) => new CliError({ reason: "gate", message: cause.message, hint: cause.hint, cause }),
        StatisticsError: (cause) => new CliError({ reason: "usage", message: cause.message, hint: cause.hint, cause })
      })
    )
    yield* Report.say(
      passed,
      ({ means, variant }) =>
        `${TerminalText.line(variant, 200)} passes: ${Object.entries(means)
          .map(([scorer, mean]) => `${TerminalText.line(scorer, 80)} ${percent(mean)}`)
          .join(", ")}`
    )
  }).pipe(Effect.provide(EvalStore.layer(input.store, true)))

/**
 * `lexigram eval`: experiments, and what they say.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Flags from "./Flags.js"

const work = OnDemand.make(() => import("./EvalWork.js"))

const store = Options.text("store").pipe(
  Options.withDescription("A SQLite file (.db, .sqlite), or a folder of JSON lines"),
  Options.withDefault(Flags.evals)
)

const optional = <A>(option: Options.Options<A>, description: string) =>
  option.pipe(Options.withDescription(description), Options.optional)

const arg = (name: string, description: string) => Args.text({ name }).pipe(Args.withDescription(description))

const maxCost = optional(Options.float("max-cost"), "US dollars that the trials may cost")

const variant = optional(Options.text("variant"), "The variant, where there are several")

const run = Command.make(
  "run",
  {
    module: arg("module", "The module whose default export is the experiment, or an effect that gives it"),
    store,
    id: optional(Options.text("id"), "Names this run: the same id goes on where it was. Such as a commit"),
    concurrency: Options.integer("concurrency").pipe(Options.withDescription("Trials at once"), Options.withDefault(4)),
    perMinute: optional(Options.integer("per-minute"), "Trials that begin within a minute"),
    maxCost,
    report: optional(Options.text("report"), "Write a report: a page (.html) or Markdown (.md)"),
    content: Options.boolean("content").pipe(
      Options.withDescription("Show outputs on the page, without what looks like a key")
    ),
    ...Flags.shared
  },
  Flags.handler((input) => Effect.flatMap(work, ({ run }) => run(input)))
).pipe(Command.withDescription("Run an experiment, or what is missing of it"))

const list = Command.make(
  "list",
  {
    store,
    limit: Options.integer("limit").pipe(
      Options.withDescription("At most so many, the newest"),
      Options.withDefault(20)
    ),
    ...Flags.plain
  },
  Flags.handler((input) => Effect.flatMap(work, ({ list }) => list(input)))
).pipe(Command.withDescription("The experiments, the newest first"))

const compare = Command.make(
  "compare",
  {
    before: arg("before", "The id of an experiment"),
    after: arg("after", "That of a later one"),
    store,
    variant,
    ...Flags.plain
  },
  Flags.handler((input) => Effect.flatMap(work, ({ compare }) => compare(input)))
).pipe(Command.withDescription("Compare two experiments case by case, by a paired test"))

const gate = Command.make(
  "gate",
  {
    id: arg("id", "The id of the experiment"),
    store,
    baseline: optional(Options.text("baseline"), "The id of results that these may not be worse than"),
    min: optional(Options.keyValueMap("min"), "The least mean of a scorer, from 0 to 1: --min exact=0.8"),
    tolerance: optional(Options.float("tolerance"), "A mean lower by this is no worse"),
    maxCost,
    variant,
    ...Flags.plain
  },
  Flags.handler((input) => Effect.flatMap(work, ({ gate }) => gate(input)))
).pipe(Command.withDescription("End with 7 unless the results are good enough"))

/**
 * @category constants
 */
export const command = Command.make("eval").pipe(
  Command.withDescription("Experiments, and what they say"),
  Command.withSubcommands([run, list, compare, gate])
)

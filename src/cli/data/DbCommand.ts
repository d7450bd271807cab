/**
 * `lexigram db`: the database of the application.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Flags from "../command/Flags.js"
import { CliError } from "../config/CliError.js"
import * as Report from "../terminal/Report.js"
import * as TerminalText from "../terminal/TerminalText.js"

const databases = OnDemand.make(() => import("./DatabaseChecks.js"))

const { config, json, model, url } = Flags.shared

const options = {
  file: Options.text("file").pipe(
    Options.withDescription("A file of SQLite. Default: the database of the configuration"),
    Options.optional
  ),
  config,
  json,
  model,
  url
}

const migrate = Command.make(
  "migrate",
  options,
  Flags.handler(({ file }) =>
    Effect.gen(function* () {
      const migrated = yield* (yield* databases).migrate(file)
      yield* Report.say(migrated, ({ from, to }) =>
        from === to ? `Version ${to}: there was nothing to do` : `From version ${from} to version ${to}`
      )
    })
  )
).pipe(Command.withDescription("Bring the tables to the version of the library"))

interface Checked {
  readonly dialect: string
  readonly version: number
  readonly needed: number
  readonly problems: ReadonlyArray<string>
}

const checked = ({ dialect, problems, version }: Checked): string =>
  problems.length === 0
    ? `${dialect}, version ${version}: no problems`
    : problems.map((problem) => TerminalText.line(problem, 500)).join("\n")

const check = Command.make(
  "check",
  options,
  Flags.handler(({ file }) =>
    Effect.gen(function* () {
      const found = yield* (yield* databases).check(file)
      yield* Report.say(found, checked)
      const { length } = found.problems
      if (length > 0) {
        return yield* new CliError({
          reason: "gate",
          message: `The database has ${TerminalText.count(length, "problem")}`,
          hint: "Old tables: `lexigram db migrate`. Damage: go back to a copy of `lexigram db backup`"
        })
      }
    })
  )
).pipe(Command.withDescription("Whether the database is whole, and its tables are those of the library"))

const backup = Command.make(
  "backup",
  {
    target: Args.text({ name: "copy" }).pipe(Args.withDescription("The file of the copy, which must not exist")),
    ...options
  },
  Flags.handler(({ file, target }) =>
    Effect.gen(function* () {
      const copied = yield* (yield* databases).backup(file, target)
      yield* Report.say(copied, ({ bytes, file }) => `${TerminalText.line(file, 400)}, ${bytes} bytes`)
    })
  )
).pipe(Command.withDescription("Copy the database into a new file, while others use it"))

/**
 * @category constants
 */
export const command = Command.make("db").pipe(
  Command.withDescription("The database: migrations, checks, copies"),
  Command.withSubcommands([migrate, check, backup])
)

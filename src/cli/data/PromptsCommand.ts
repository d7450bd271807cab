/**
 * `lexigram prompts`: what models are told.
 *
 * @private
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as PromptLibrary from "../../prompt/PromptLibrary.js"
import type * as PromptVersions from "../../prompt/PromptVersions.js"
import * as Flags from "../command/Flags.js"
import { CliError } from "../config/CliError.js"
import * as Connection from "../connection/Connection.js"
import * as Report from "../terminal/Report.js"
import type * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import type { Prompts } from "./PromptText.js"

const texts = OnDemand.make(() => import("./PromptText.js"))

/** Those of the library that the layer of the configuration provides, or of the code alone. */
const inUse = Effect.gen(function* () {
  const { services } = yield* Connection.local
  const { fromLibrary } = yield* texts
  return fromLibrary(Context.get(services as Context.Context<never>, PromptLibrary.PromptLibrary))
})

const exported = Command.make(
  "export",
  Flags.shared,
  Flags.handler(() =>
    Effect.gen(function* () {
      const { toYaml } = yield* texts
      yield* Report.say(yield* inUse, toYaml)
    })
  )
).pipe(Command.withDescription("All prompts in use, as YAML, or as JSON for `prompts diff` and `CustomPrompts.make`"))

const fileText = (file: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFileString(file)).pipe(
    Effect.mapError(
      (cause) => new CliError({ reason: "file", message: `${TerminalText.line(file, 200)} cannot be read`, cause })
    )
  )

const noPrompts = (file: string): CliError =>
  new CliError({
    reason: "file",
    message: `${TerminalText.line(file, 200)} has no prompts`,
    hint: "Give a file of `lexigram prompts export --json`, or name one of versions by --versions"
  })

/** What one of the readers finds in a file. */
const fromFile = <A>(
  file: string,
  read: (texts: typeof import("./PromptText.js")) => (text: string) => Either.Either<A, void>
) =>
  Effect.gen(function* () {
    const found = read(yield* texts)(yield* fileText(file))
    return Either.isRight(found) ? found.right : yield* noPrompts(file)
  })

type Changes = ReadonlyArray<PromptVersions.Change>

const styles = { removed: "red", added: "green", same: "dim" } as const
const marks = { same: " ", removed: "-", added: "+" } as const

const changes = ({ changes }: { readonly changes: Changes }, screen: Screen.Service): string =>
  changes.length === 0
    ? "No differences."
    : changes
        .map(({ lines, where }) =>
          [
            TerminalText.paint(screen, "bold", TerminalText.line(where, 300)),
            ...lines.map(({ kind, text }) =>
              TerminalText.paint(screen, styles[kind], `${marks[kind]}${TerminalText.plain(text)}`)
            ),
            ""
          ].join("\n")
        )
        .join("\n")

const diff = Command.make(
  "diff",
  {
    before: Args.text({ name: "before" }).pipe(
      Args.withDescription("A file of `prompts export --json`; with --versions a number or a label")
    ),
    after: Args.text({ name: "after" }).pipe(
      Args.withDescription("Another one. Default: the prompts in use"),
      Args.optional
    ),
    versions: Options.text("versions").pipe(
      Options.withDescription("A file of `PromptVersions` as JSON"),
      Options.optional
    ),
    ...Flags.shared
  },
  Flags.handler(({ after, before, versions }) =>
    Effect.gen(function* () {
      const { diff, versionIn } = yield* texts
      const known = Option.isSome(versions)
        ? Option.some(yield* fromFile(versions.value, ({ versionsFromJson }) => versionsFromJson))
        : Option.none()
      const read = (which: string): Effect.Effect<Prompts, unknown, FileSystem.FileSystem> =>
        Option.isSome(known) ? versionIn(known.value, which) : fromFile(which, ({ fromJson }) => fromJson)
      const old = yield* read(before)
      const next = Option.isSome(after) ? yield* read(after.value) : yield* inUse
      yield* Report.say({ changes: diff(old, next) }, changes)
    })
  )
).pipe(Command.withDescription("What changed between prompts: of files, of versions, in use"))

/**
 * @category constants
 */
export const command = Command.make("prompts").pipe(
  Command.withDescription("The prompts of models"),
  Command.withSubcommands([exported, diff])
)

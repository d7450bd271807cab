/**
 * `lexigram skills`: what agents can be told to do.
 *
 * @private
 * @since 0.1.0
 */
import * as NodePath from "node:path"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Flags from "../command/Flags.js"
import { CliError } from "../config/CliError.js"
import * as Connection from "../connection/Connection.js"
import * as Report from "../terminal/Report.js"
import type * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"

const checks = OnDemand.make(() => import("./SkillChecks.js"))

interface Skill {
  readonly name: string
  readonly description: string
  readonly kind: string
}

const rows = ({ skills }: { readonly skills: ReadonlyArray<Skill> }, screen: Screen.Service): string =>
  skills.length === 0
    ? "No skills."
    : TerminalText.table(
        screen,
        ["SKILL", "KIND", "DESCRIPTION"],
        skills.map(({ description, kind, name }) => [name, kind, description])
      )

const list = Command.make(
  "list",
  Flags.shared,
  Flags.handler(() =>
    Effect.gen(function* () {
      const { client } = yield* Connection.open()
      yield* Report.say(yield* client.api.listSkills(), rows)
    })
  )
).pipe(Command.withDescription("The skills that agents can use"))

const folders = Args.text({ name: "folder" }).pipe(
  Args.withDescription("The folder of a skill, or one that has such folders"),
  Args.atLeast(1)
)

/** A path as people write it here. */
const shown = (path: string): string => {
  const relative = NodePath.relative("", path)
  return TerminalText.line(relative === "" ? "." : relative.startsWith("..") ? path : relative, 300)
}

interface Validated {
  readonly skills: number
  readonly problems: ReadonlyArray<{
    readonly file: string
    readonly line?: number | undefined
    readonly rule: string
    readonly message: string
  }>
}

const validation = ({ problems, skills }: Validated): string =>
  [
    ...problems.map(
      ({ file, line, message, rule }) =>
        `${shown(file)}${line === undefined ? "" : `:${line}`}: ${TerminalText.line(message, 400)} (${rule})`
    ),
    ...(problems.length === 0 ? [`${TerminalText.count(skills, "skill")} as they should be`] : [])
  ].join("\n")

const validate = Command.make(
  "validate",
  { folders, ...Flags.plain },
  Flags.handler(({ folders }) =>
    Effect.gen(function* () {
      const validated = yield* (yield* checks).validate(folders)
      yield* Report.say(validated, validation)
      if (validated.problems.length > 0) {
        return yield* new CliError({
          reason: "gate",
          message: `There ${validated.problems.length === 1 ? "is" : "are"} ${TerminalText.count(validated.problems.length, "problem")}`
        })
      }
    })
  )
).pipe(Command.withDescription("Check skill folders by the rules of the format, and say every problem"))

interface Locked {
  readonly file: string
  readonly skills: ReadonlyArray<{
    readonly name: string
    readonly directory: string
    readonly state: "same" | "new" | "changed"
    readonly changes: ReadonlyArray<string>
  }>
}

const locking = ({ file, skills }: Locked): string =>
  [
    ...skills.map(({ changes, directory, name, state }) =>
      [
        `${state.padEnd(7)}  ${TerminalText.line(name, 80)}  ${shown(directory)}`,
        ...changes.map((change) => `         ${TerminalText.line(change, 400)}`)
      ].join("\n")
    ),
    `${TerminalText.count(skills.length, "skill")}, ${shown(file)}`
  ].join("\n")

const changed = (number: number, file: string): CliError =>
  new CliError({
    reason: "gate",
    message: `${TerminalText.count(number, "skill")} of these folders ${number === 1 ? "is" : "are"} not as in ${shown(file)}`,
    hint: "Read what has changed. If it is right, run `lexigram skills lock` without --check"
  })

const lock = Command.make(
  "lock",
  {
    folders,
    file: Options.text("file").pipe(Options.withDescription("The lock file"), Options.withDefault("skills.lock.json")),
    check: Options.boolean("check").pipe(
      Options.withDescription("Write nothing, and fail if a skill is new or has changed")
    ),
    ...Flags.plain
  },
  Flags.handler(({ check, file, folders }) =>
    Effect.gen(function* () {
      const locked = yield* (yield* checks).lock({ folders, file, isCheck: check })
      yield* Report.say(locked, locking)
      const others = locked.skills.filter(({ state }) => state !== "same").length
      if (check && others > 0) return yield* changed(others, file)
    })
  )
).pipe(Command.withDescription("Accept skills as they are now: `SkillLock` trusts what the lock file has"))

/**
 * @category constants
 */
export const command = Command.make("skills").pipe(
  Command.withDescription("Skills of agents"),
  Command.withSubcommands([list, validate, lock])
)

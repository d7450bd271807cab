/**
 * `lexigram doctor`: looks for what is missing or wrong, and says what to do about it.
 *
 * @private
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as SecretText from "../../internal/text/SecretText.js"
import { CliError } from "../config/CliError.js"
import * as Workspace from "../config/Workspace.js"
import * as Report from "../terminal/Report.js"
import type * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"
import * as Checkup from "./Checkup.js"
import * as Flags from "./Flags.js"

const options = {
  ping: Options.boolean("ping").pipe(Options.withDescription("Make one call of the model, of a few tokens")),
  ...Flags.shared
}

/** A setting as it is shown: no keys, no passwords. */
interface Shown {
  readonly name: string
  readonly value: string | null
  readonly source: Workspace.Setting<unknown>["source"]
}

/** Without the token, the user of an address, and what looks like a key. */
const safe = (text: string, token: Option.Option<Redacted.Redacted>): string =>
  SecretText.redact(text, Option.toArray(token))

const settings = Effect.gen(function* () {
  const { application, config, model, token, url, userId } = yield* Workspace.Workspace
  const inFile = Option.isSome(url.value) ? Option.none() : yield* Effect.option(application)
  const ofFile = Option.flatMapNullable(inFile, (found) => found.userId)
  const shown = (name: string, { source, value }: Workspace.Setting<Option.Option<string>>): Shown => ({
    name,
    value: Option.getOrNull(Option.map(value, (text) => safe(text, token))),
    source
  })
  const user: Workspace.Setting<Option.Option<string>> =
    Option.isNone(userId.value) && Option.isSome(ofFile) ? { value: ofFile, source: "file" } : userId
  const tokenSetting: Workspace.Setting<Option.Option<string>> = {
    value: Option.as(token, "(set)"),
    source: Option.isSome(token) ? "environment" : "default"
  }
  return [
    shown("config", config),
    shown("url", url),
    shown("token", tokenSetting),
    shown("user", user),
    shown("model", model)
  ]
})

const marks = { ok: "✓", wrong: "✗", skipped: "-" } as const

const styles = { ok: "green", wrong: "red", skipped: "dim" } as const

interface Found {
  readonly ok: boolean
  readonly settings: ReadonlyArray<Shown>
  readonly checks: ReadonlyArray<Checkup.Check>
}

const render = ({ checks, settings }: Found, screen: Screen.Service): string => {
  const table = TerminalText.table(
    screen,
    ["SETTING", "FROM", "VALUE"],
    settings.map(({ name, source, value }) => [name, source, value ?? "(none)"])
  )
  const lines = checks.flatMap(({ detail, hint, name, state }) => [
    `${TerminalText.paint(screen, styles[state], marks[state])} ${TerminalText.line(name, 80)}: ${TerminalText.line(detail, 400)}`,
    ...(hint === undefined ? [] : [`    ${TerminalText.paint(screen, "yellow", TerminalText.line(hint, 400))}`])
  ])
  return `${table}\n${lines.join("\n")}`
}

const doctor = ({ ping }: Command.Command.ParseConfig<typeof options>) =>
  Effect.gen(function* () {
    const { token } = yield* Workspace.Workspace
    const checks = (yield* Checkup.run(ping)).map((check) => ({ ...check, detail: safe(check.detail, token) }))
    const wrong = checks.filter(({ state }) => state === "wrong").length
    const found: Found = { ok: wrong === 0, settings: yield* settings, checks }
    yield* Report.say(found, render)
    if (wrong === 0) return
    return yield* new CliError({
      reason: "config",
      message: `${TerminalText.count(wrong, "thing")} ${wrong === 1 ? "is" : "are"} wrong`,
      hint: "The lines with ✗ say what to do"
    })
  })

/**
 * @category constants
 */
export const command = Command.make("doctor", options, Flags.handler(doctor)).pipe(
  Command.withDescription("Look for faults of the set-up")
)

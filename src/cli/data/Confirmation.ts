/**
 * Asks before something is gone.
 *
 * @private
 * @since 0.1.0
 */
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { CliError } from "../config/CliError.js"
import * as LineReader from "../prompt/LineReader.js"
import * as Screen from "../terminal/Screen.js"
import * as TerminalText from "../terminal/TerminalText.js"

/**
 * The flag `--yes`.
 *
 * @category constants
 */
export const yes = Options.boolean("yes").pipe(Options.withAlias("y"), Options.withDescription("Do not ask"))

const unasked = new CliError({
  reason: "usage",
  message: "Nobody is there to confirm it",
  hint: "Add --yes"
})

const declined = new CliError({ reason: "usage", message: "It was not confirmed, and nothing changed" })

/**
 * Succeeds if the person at the terminal says yes, or has said so by `--yes`. Where nobody can be asked, it fails.
 *
 * @category constructors
 */
export const ask = (question: string, isGiven: boolean): Effect.Effect<void, CliError, Screen.Screen | Scope.Scope> =>
  Effect.gen(function* () {
    if (isGiven) return
    const screen = yield* Screen.Screen
    if (!screen.isInteractive) return yield* unasked
    const reader = yield* LineReader.make(screen)
    const answer = yield* reader.answer(`${TerminalText.line(question, 400)} [y]es, [n]o: `)
    if (!Option.exists(answer, (text) => /^\s*y(?:es)?\s*$/i.test(text))) return yield* declined
  })

/**
 * What a command says: to people as text, to programs as JSON.
 *
 * @private
 * @since 0.1.0
 */
import * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ErrorInfo from "../../domain/ErrorInfo.js"
import * as Screen from "./Screen.js"
import * as TerminalText from "./TerminalText.js"

/**
 * @category models
 */
export interface Service {
  /** Whether programs read the output. */
  readonly isJson: boolean
}

/**
 * @category tags
 */
export class Format extends Context.Tag("effect-lexigram/cli/Format")<Format, Service>() {}

/**
 * JSON in one line: control characters are escaped in it, and others that a terminal obeys.
 *
 * @category conversions
 */
export const jsonOf = (value: unknown): string =>
  (JSON.stringify(value) ?? "null").replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/**
 * Says a value: as one line of JSON, or as the text that `render` makes of it.
 *
 * @category constructors
 */
export const say = <A>(
  value: A,
  render: (value: A, screen: Screen.Service) => string
): Effect.Effect<void, never, Screen.Screen | Format> =>
  Effect.gen(function* () {
    const screen = yield* Screen.Screen
    const { isJson } = yield* Format
    if (isJson) return screen.write(`${jsonOf(value)}\n`)
    const text = render(value, screen)
    screen.write(text === "" || text.endsWith("\n") ? text : `${text}\n`)
  })

/**
 * A remark for people, beside the output.
 *
 * @category constructors
 */
export const remark = (text: string): Effect.Effect<void, never, Screen.Screen> =>
  Effect.map(Screen.Screen, (screen) => screen.note(`${TerminalText.plain(text)}\n`))

const unreached = "Check the address (--url, or LEXIGRAM_URL) and the connection"

/**
 * Says a failure, with its code and what to do about it.
 *
 * @category constructors
 */
export const failure = (error: unknown): Effect.Effect<void, never, Screen.Screen | Format> =>
  Effect.gen(function* () {
    const screen = yield* Screen.Screen
    const { isJson } = yield* Format
    const { code, message, tag, ...info } = ErrorInfo.errorInfo(error)
    const hint = info.hint ?? (tag === "RequestError" ? unreached : undefined)
    // A ConfigError names its variable in its text alone.
    const said = ConfigError.isConfigError(error) ? String(error) : message
    if (isJson) {
      return screen.note(`${jsonOf({ error: { tag, code, message: said, hint } })}\n`)
    }
    const name = code === undefined ? tag : `${tag} (${code})`
    screen.note(`${TerminalText.paint(screen, "red", TerminalText.line(name, 200))}: ${TerminalText.plain(said)}\n`)
    if (hint !== undefined) screen.note(`  ${TerminalText.paint(screen, "yellow", TerminalText.plain(hint))}\n`)
  })

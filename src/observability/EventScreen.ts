/**
 * Screens events of a run whose answer the guards have not judged yet: texts of models and tools are shown as far as
 * the guards allow the answer. Long texts are screened in steps.
 *
 * @private
 * @since 0.1.0
 */
import type { Body } from "../domain/AgentEvent.js"
import type { ErrorInfo } from "../domain/ErrorInfo.js"
import * as Stepwise from "../internal/fiber/Stepwise.js"
import { isPlainObject } from "../internal/text/PlainObject.js"

/**
 * Screens one text while it is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScreenedText {
  /** The part that may be shown now; may be empty. */
  readonly push: (text: string) => string
  /** Ends the text: the rest that may be shown. */
  readonly end: () => string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Screen {
  /** Opens a screen for one text. */
  readonly open: () => ScreenedText
}

const hidden = "Withheld until the guards of the answer have judged it"

/** Screens a piece of a text slice by slice. */
export function* pushText(screened: ScreenedText, piece: string, pace: Stepwise.Pace): Stepwise.Steps<string> {
  let shown = ""
  for (let at = 0; at < piece.length; at += Stepwise.perStep) {
    const slice = piece.slice(at, at + Stepwise.perStep)
    shown += screened.push(slice)
    if (pace.isDue(slice.length)) yield
  }
  return shown
}

/** Without a screen nothing of a text is shown. */
export function* screenText(
  screen: Screen | undefined,
  value: string,
  pace = new Stepwise.Pace()
): Stepwise.Steps<string> {
  if (screen === undefined || value === "") return ""
  const screened = screen.open()
  return (yield* pushText(screened, value, pace)) + screened.end()
}

/** Deeper than JSON of models and tools. */
const deepest = 64

/**
 * Screens each text in a value, including the names of fields. A number is shown if its digits may be.
 */
export function* screenValue(
  screen: Screen | undefined,
  given: unknown,
  pace = new Stepwise.Pace(),
  depth = 0
): Stepwise.Steps<unknown> {
  if (typeof given === "string") return yield* screenText(screen, given, pace)
  if (typeof given === "number" || typeof given === "bigint") {
    if (screen === undefined) return null
    const digits = String(given)
    const shown = yield* screenText(screen, digits, pace)
    return shown === digits ? given : shown
  }
  if (typeof given !== "object" || given === null) return given
  if (depth >= deepest) return null
  if (Array.isArray(given)) {
    const items: Array<unknown> = []
    for (const item of given) items.push(yield* screenValue(screen, item, pace, depth + 1))
    return items
  }
  if (given instanceof Error) return yield* screenText(screen, given.message, pace)
  if (!isPlainObject(given)) return yield* screenValue(screen, { ...given }, pace, depth + 1)
  if (screen === undefined) return {}
  const fields: Array<readonly [string, unknown]> = []
  for (const [name, item] of Object.entries(given)) {
    fields.push([yield* screenText(screen, name, pace), yield* screenValue(screen, item, pace, depth + 1)])
  }
  return Object.fromEntries(fields)
}

/** An error may quote what a model wrote. */
export function* screenError(screen: Screen | undefined, given: ErrorInfo): Stepwise.Steps<ErrorInfo> {
  return { ...given, message: screen === undefined ? hidden : yield* screenText(screen, given.message) }
}

const originals = new WeakMap<Body, Body>()

/** The event before screening. The fold of its run needs it; nobody has the response before the guards have judged. */
export const originalOf = (body: Body): Body => originals.get(body) ?? body

const kept = (given: Body, screened: Body): Body => {
  originals.set(screened, originalOf(given))
  return screened
}

/** The fields of events that are screened as they are. */
const fieldsOf: { readonly [T in Body["_tag"]]?: ReadonlyArray<string> } = {
  Thought: ["text"],
  Critique: ["text"],
  ApprovalRequested: ["params"],
  QuestionAsked: ["message", "form"],
  QuestionAnswered: ["content", "reason"],
  Delegated: ["message"],
  NodeFinished: ["update"],
  NodeEmitted: ["value"],
  ToolProgress: ["message", "partial"],
  ProviderToolUsed: ["params", "result"],
  AnswerRejected: ["message"]
}

function* screenFields(given: Body, screen: Screen | undefined): Stepwise.Steps<Body> {
  const names = fieldsOf[given._tag]
  if (names === undefined) return given
  const shown: Record<string, unknown> = { ...given }
  for (const name of names) {
    if (shown[name] !== undefined) shown[name] = yield* screenValue(screen, shown[name])
  }
  return shown as unknown as Body
}

export function* screenBody(given: Body, screen: Screen | undefined): Stepwise.Steps<Body> {
  switch (given._tag) {
    case "Message":
      return kept(given, {
        ...given,
        text: yield* screenText(screen, given.text),
        output: yield* screenValue(screen, given.output)
      })
    case "Plan": {
      const steps: Array<(typeof given.steps)[number]> = []
      for (const step of given.steps) steps.push({ ...step, description: yield* screenText(screen, step.description) })
      return { ...given, steps }
    }
    case "ToolCall":
      return kept(given, { ...given, params: yield* screenValue(screen, given.params) })
    case "ToolResult": {
      const result = yield* screenValue(screen, given.result)
      // A text is its own observation.
      const observation =
        typeof result === "string" && given.result === given.observation
          ? result
          : yield* screenText(screen, given.observation)
      const shown = { ...given, result, observation }
      return kept(
        given,
        given.error === undefined ? shown : { ...shown, error: yield* screenError(screen, given.error) }
      )
    }
    case "Started":
    case "InputChecked":
      return kept(given, { ...given, input: yield* screenText(screen, given.input) })
    case "Error":
      return given.interrupted ? given : { ...given, error: yield* screenError(screen, given.error) }
    case "Degraded":
      return { ...given, error: yield* screenError(screen, given.error) }
    case "ToolCompensated":
      return given.error === undefined ? given : { ...given, error: yield* screenError(screen, given.error) }
    default:
      return yield* screenFields(given, screen)
  }
}

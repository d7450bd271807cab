/**
 * Events of a run whose answer guards have still to judge: what a model wrote, or a tool gave back, is shown as far as the answer may be.
 *
 * @internal
 * @since 0.1.0
 */
import type { Body, ErrorInfo } from "../domain/AgentEvent.js"
import type { Screen } from "./Run.js"

export const hidden = "Withheld until the guards of the answer have judged it"

/** Without a screen nothing of a text is shown. */
export const text = (screen: Screen | undefined, value: string): string => {
  if (screen === undefined || value === "") return ""
  const screened = screen.open()
  return screened.push(value) + screened.end()
}

const isRecord = (value: object): value is Record<string, unknown> => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Deeper than JSON of a model or a tool is. */
const deepest = 64

/** The same value, each text in it, names of fields included, as far as it may be shown. A number is shown where its digits are. */
export const value = (screen: Screen | undefined, given: unknown, depth = 0): unknown => {
  if (typeof given === "string") return text(screen, given)
  if (typeof given === "number" || typeof given === "bigint") {
    if (screen === undefined) return null
    const digits = String(given)
    const shown = text(screen, digits)
    return shown === digits ? given : shown
  }
  if (typeof given !== "object" || given === null) return given
  if (depth >= deepest) return null
  if (Array.isArray(given)) return given.map((item) => value(screen, item, depth + 1))
  if (given instanceof Error) return text(screen, given.message)
  if (!isRecord(given)) return value(screen, { ...given }, depth + 1)
  if (screen === undefined) return {}
  return Object.fromEntries(
    Object.entries(given).map(([name, item]) => [text(screen, name), value(screen, item, depth + 1)])
  )
}

/** An error may quote what a model wrote. */
export const error = (screen: Screen | undefined, given: ErrorInfo): ErrorInfo => ({
  ...given,
  message: screen === undefined ? hidden : text(screen, given.message)
})

const originals = new WeakMap<Body, Body>()

/** What a veiled event was: for the response of its run, which nobody has before the guards have judged. */
export const originalOf = (body: Body): Body => originals.get(body) ?? body

const kept = (given: Body, veiled: Body): Body => {
  originals.set(veiled, originalOf(given))
  return veiled
}

export const body = (given: Body, screen: Screen | undefined): Body => {
  switch (given._tag) {
    case "Thought":
    case "Critique":
      return { ...given, text: text(screen, given.text) }
    case "Message":
      return kept(given, { ...given, text: text(screen, given.text), output: value(screen, given.output) })
    case "Plan":
      return { ...given, steps: given.steps.map((step) => ({ ...step, description: text(screen, step.description) })) }
    case "ToolCall":
      return kept(given, { ...given, params: value(screen, given.params) })
    case "ApprovalRequested":
      return { ...given, params: value(screen, given.params) }
    case "ToolResult": {
      const shown = { ...given, result: value(screen, given.result), observation: text(screen, given.observation) }
      return kept(given, given.error === undefined ? shown : { ...shown, error: error(screen, given.error) })
    }
    case "Delegated":
      return { ...given, message: text(screen, given.message) }
    case "Started":
    case "InputChecked":
      return kept(given, { ...given, input: text(screen, given.input) })
    case "NodeFinished":
      return { ...given, update: value(screen, given.update) }
    case "Error":
      return given.interrupted ? given : { ...given, error: error(screen, given.error) }
    case "Degraded":
      return { ...given, error: error(screen, given.error) }
    default:
      return given
  }
}

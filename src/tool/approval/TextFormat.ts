/**
 * The formats of texts in forms.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const TextFormat = Schema.Literal("email", "uri", "date", "date-time")

const isEmail = (text: string): boolean => {
  const at = text.indexOf("@")
  const domain = text.slice(at + 1)
  return text.length <= 320 && at > 0 && !domain.includes("@") && !/\s/.test(text) && /^[^.]+(?:\.[^.]+)+$/.test(domain)
}

/** A day that the calendar has. */
const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  Option.exists(DateTime.make(`${text}T00:00:00Z`), (time) => DateTime.formatIsoDateUtc(time) === text)

const clock = /^T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/** Whether a text has a format; an unknown format is that of every text. */
export const fits = (format: unknown, text: string): boolean => {
  switch (format) {
    case "email":
      return isEmail(text)
    case "uri":
      return URL.canParse(text)
    case "date":
      return isDate(text)
    case "date-time":
      return isDate(text.slice(0, 10)) && clock.test(text.slice(10))
    default:
      return true
  }
}

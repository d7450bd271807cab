/**
 * Values and texts as developers see them: without secrets, and of a bounded size.
 *
 * @private
 * @since 0.1.0
 */
import * as PublicView from "../../domain/PublicView.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as Observation from "../../tool/definition/Observation.js"

/** Characters of a text, and of the JSON of a value. */
export const MOST_CHARS = 50_000

/**
 * A text without what looks like keys. A longer one says where it was cut.
 *
 * @category conversions
 */
export const text = (given: string, most = MOST_CHARS): string =>
  Observation.truncate(SecretText.redact(given), most).text

/**
 * A value without secrets and without what is under the names in `secret`. One whose JSON is too long is the beginning
 * of that as a text, and one that has no JSON is null.
 *
 * @category conversions
 */
export const value = (given: unknown, secret?: ReadonlyArray<string> | undefined, most = MOST_CHARS): unknown =>
  given === undefined ? null : (Observation.make(PublicView.fromValue(given, secret), most)?.result ?? null)

/**
 * As `value`, for a record: it stays one, with each of its values bounded. A value is hidden for its key too.
 *
 * @category conversions
 */
export const attributes = (given: { readonly [key: string]: unknown }): { readonly [key: string]: unknown } => {
  const shown = PublicView.fromValue(given) as { readonly [key: string]: unknown }
  return Object.fromEntries(Object.entries(shown).map(([key, one]) => [key, value(one)]))
}

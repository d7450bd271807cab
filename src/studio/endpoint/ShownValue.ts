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

/** Characters of a response in which texts and values have their whole length. */
const ROOM = 4_000_000

/** What is shown of a text or a value of a response that is full. */
const LEAST = 200

/**
 * The texts and values of one response: when it is full, of further ones the beginning is shown.
 *
 * @category constructors
 */
export class Room {
  private left = ROOM

  private take<A>(shown: A, size: number): A {
    this.left -= size
    return shown
  }

  private most(): number {
    return Math.min(MOST_CHARS, Math.max(LEAST, this.left))
  }

  text(given: string): string {
    const shown = text(given, this.most())
    return this.take(shown, shown.length)
  }

  value(given: unknown, secret?: ReadonlyArray<string> | undefined): unknown {
    const shown = value(given, secret, this.most())
    return this.take(shown, Observation.stringify(shown)?.length ?? 0)
  }
}

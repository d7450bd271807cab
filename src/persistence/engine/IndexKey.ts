/**
 * Encodes texts of any length for indexed columns that are only compared for equality. A text too long for an index is
 * replaced by its hash; the body of the row has the text itself.
 *
 * @private
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import * as KeyText from "./KeyText.js"

/** Bytes. A Postgres index holds 2,700 bytes in all of its columns, of which there are at most four. */
const most = 400

/** The most bytes of one encoded character. */
const widest = 5

/** Prefix of hashes. No encoded key begins like this, because the first character is always followed by others. */
const mark = "\u0001#"

/**
 * The owner of what applies to every user: a decision for all users, a run of the system. No key of a user equals it.
 *
 * @category constants
 */
export const everybody = "\u0001*"

/**
 * The owner of what has no user, in columns that are compared. No key of a user equals it.
 *
 * @category constants
 */
export const nobody = "\u0001-"

/**
 * @category conversions
 */
export const of = (text: string): string => {
  const key = KeyText.encode(text)
  return key.length * widest <= most || Buffer.byteLength(key) <= most
    ? key
    : mark + createHash("sha256").update(key).digest("base64url")
}

/**
 * @category conversions
 */
export const orNull = (text: string | undefined): string | null => (text === undefined ? null : of(text))

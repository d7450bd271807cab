/**
 * A text of any length as a column of an index, for columns that are only compared for equality: what is longer than an
 * index takes is there by its hash. What the text was stands in the body of the row.
 *
 * @internal
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import * as KeyText from "./KeyText.js"

/** Bytes. An index of Postgres takes 2,700 for all of its columns, of which there are four at most. */
const most = 400

/** A character of a key has so many bytes at most, with all that is written for it. */
const widest = 5

/** Begins as no key does that was encoded: behind the first character there are always others. */
const mark = "\u0001#"

/**
 * Whose something is that no user has, nor nobody: a decision for every user, a run of the system. No key of a user
 * begins so.
 *
 * @category constants
 */
export const everybody = "\u0001*"

/**
 * Whose something is that is nobody's, where that is compared like a user. No key of a user begins so.
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

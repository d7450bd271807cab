/**
 * SHA-256 digests, synchronous and on every platform.
 *
 * @private
 * @since 0.1.0
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"

const encoder = new TextEncoder()

/** Returns the digest as bytes. */
export const bytes = (content: Uint8Array): Uint8Array => sha256(content)

/** Returns the digest of bytes, or of a text in UTF-8, as 64 hexadecimal digits. */
export const hex = (content: string | Uint8Array): string =>
  bytesToHex(sha256(typeof content === "string" ? encoder.encode(content) : content))

/**
 * Returns the UTF-16 code units of a text as bytes, low byte first. Unlike UTF-8, it distinguishes lone surrogates.
 */
export const utf16 = (text: string): Uint8Array => {
  const units = new Uint8Array(2 * text.length)
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    units[2 * index] = unit & 0xff
    units[2 * index + 1] = unit >> 8
  }
  return units
}

/** Incremental digest of several pieces. Text is encoded as UTF-8. */
export interface Hasher {
  readonly add: (content: string | Uint8Array) => Hasher
  readonly hex: () => string
}

export const make = (): Hasher => {
  const hash = sha256.create()
  const hasher: Hasher = {
    add: (content) => {
      hash.update(typeof content === "string" ? encoder.encode(content) : content)
      return hasher
    },
    hex: () => bytesToHex(hash.digest())
  }
  return hasher
}

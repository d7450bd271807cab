/**
 * Notes: memory entries that an agent wrote for its user by a tool.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import { EntryId } from "../../domain/Ids.js"
import * as PlainId from "../../internal/text/PlainId.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as Sha256 from "../../internal/text/Sha256.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { Selection } from "../entry/Selection.js"

/** The kind of the entries, in their metadata. */
export const TYPE = "note"

/**
 * What the tools read and remove: nothing else of the owner.
 *
 * @category constants
 */
export const selection: Selection = { filters: { type: TYPE } }

/**
 * Importance by the word that a model gives.
 *
 * @category constants
 */
export const importance = { low: 0.3, normal: 0.6, high: 0.9 } as const

/**
 * The text as it is stored, by which equal notes are one.
 *
 * @category conversions
 */
export const textOf = (text: string): string => text.normalize("NFC").trim()

/**
 * The id of a note: the same for the same text, so that a repeated call stores nothing twice.
 *
 * @category conversions
 */
export const idOf = (text: string): EntryId =>
  PlainId.make(EntryId, `note-${Sha256.hex(Sha256.utf16(textOf(text))).slice(0, 20)}`)

/**
 * @category guards
 */
export const isNote = ({ metadata }: Pick<MemoryEntry, "metadata">): boolean => metadata.type === TYPE

/**
 * Returns whether the text contains something in the form of a key, a token or a credential.
 *
 * @category guards
 */
export const hasSecret = (text: string): boolean => SecretText.redact(text) !== text

/**
 * A note as a model sees it, with the namespace that it is in where there are several.
 *
 * @category conversions
 */
export const shown = ({ content, id, timestamp }: MemoryEntry, namespace?: string | undefined) => ({
  id: id as string,
  text: content,
  stored: DateTime.formatIso(DateTime.unsafeMake(timestamp)),
  ...(namespace === undefined ? {} : { namespace })
})

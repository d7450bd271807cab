/**
 * Owner names for data that memory keeps in addition to an owner's entries, such as learned procedures: a separate
 * space in every store.
 *
 * The names begin with a control character. No user or session id may contain one, so no owner can collide with them.
 *
 * @since 0.1.0
 */
import { EntryId } from "../../domain/Ids.js"
import * as PlainId from "../../internal/text/PlainId.js"
import * as Sha256 from "../../internal/text/Sha256.js"

const SIGN = "\u001f"

/** Maximum length of an owner name. */
const maxOwner = 256

const nameOf = (kind: string, ownerId: string): string => {
  const plain = `${SIGN}${kind}=${ownerId}`
  // The sign after the kind distinguishes a hash from an owner with the same name.
  return plain.length <= maxOwner ? plain : `${SIGN}${kind}#${Sha256.hex(Sha256.utf16(ownerId))}`
}

/**
 * The owner under which the procedures of an owner are stored.
 *
 * @since 0.1.0
 * @category conversions
 */
export const procedures = (ownerId: string): string => nameOf("procedures", ownerId)

/**
 * The owner under which the memory blocks of an owner are stored.
 *
 * @since 0.1.0
 * @category conversions
 */
export const blocks = (ownerId: string): string => nameOf("blocks", ownerId)

/**
 * The owner under which the documents of an owner are stored.
 *
 * @since 0.1.0
 * @category conversions
 */
export const documents = (ownerId: string): string => nameOf("documents", ownerId)

/**
 * The owner under which a vector index has the vectors of the facts of an owner.
 *
 * @since 0.1.0
 * @category conversions
 */
export const facts = (ownerId: string): string => nameOf("facts", ownerId)

/**
 * The owner of the notes of turns whose facts are left to the next start, one note for each real owner.
 *
 * @since 0.1.0
 * @category constants
 */
export const unread: string = nameOf("unread", "")

/**
 * The id of the note of an owner.
 *
 * @since 0.1.0
 * @category conversions
 */
export const unreadOf = (ownerId: string): EntryId =>
  PlainId.make(EntryId, `unread-${Sha256.hex(Sha256.utf16(ownerId))}`)

/**
 * Returns whether this is not a real owner but a space that memory reserves. Code that iterates over all owners of a
 * store must skip it.
 *
 * @since 0.1.0
 * @category guards
 */
export const isReserved = (ownerId: string): boolean => ownerId.startsWith(SIGN)

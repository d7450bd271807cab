/**
 * Owners of what memory keeps for itself beside the entries of an owner, such as learned procedures: a space of its own
 * in every store.
 *
 * Names begin with a control character, which no id of a user or session can hold, so nobody is called like one.
 *
 * @since 0.1.0
 */
import * as Sha256 from "../../internal/text/Sha256.js"

const SIGN = "\u001f"

/** What an owner may be called at most. */
const maxOwner = 256

const named = (kind: string, ownerId: string): string => {
  const plain = `${SIGN}${kind}=${ownerId}`
  // The sign after the kind tells a hash from an owner who is called like one.
  return plain.length <= maxOwner ? plain : `${SIGN}${kind}#${Sha256.hex(Sha256.utf16(ownerId))}`
}

/**
 * The owner under which the procedures of an owner are kept.
 *
 * @since 0.1.0
 * @category conversions
 */
export const procedures = (ownerId: string): string => named("procedures", ownerId)

/**
 * Whether this is no owner of memories but a space that memory keeps for itself: whoever goes through all owners of a
 * store passes it over.
 *
 * @since 0.1.0
 * @category guards
 */
export const isReserved = (ownerId: string): boolean => ownerId.startsWith(SIGN)

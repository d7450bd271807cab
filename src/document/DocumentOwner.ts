/**
 * Names the owners of documents: users, and collections that an application shares.
 *
 * @since 0.1.0
 */
import type { UserId } from "../domain/Ids.js"
import * as Sha256 from "../internal/text/Sha256.js"
import * as MemoryOwner from "../memory/entry/MemoryOwner.js"

/** No id of a user contains it. */
const SIGN = "\u001f"

/** The maximum length of an owner. */
const maxOwner = 256

/**
 * The owner of the documents of a user: the one that the user's memory has.
 *
 * @since 0.1.0
 * @category conversions
 */
export const user = (userId: UserId): string => MemoryOwner.ofUser(userId)

/**
 * The owner of a collection by its name: a handbook, the documentation of a product. It differs from every user and
 * every other collection, whatever characters the names have.
 *
 * @since 0.1.0
 * @category conversions
 */
export const collection = (name: string): string => {
  const plain = `collection${SIGN}=${name}`
  return plain.length <= maxOwner ? plain : `collection${SIGN}#${Sha256.hex(Sha256.utf16(name))}`
}

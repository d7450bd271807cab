/**
 * Namespaces of memory: whom an entry, a fact or a block belongs to besides single users. A project, a team or an
 * organization owns its memory as a user does.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Sha256 from "../../internal/text/Sha256.js"

const NAME = "effect-lexigram/memory/MemoryNamespace"

/**
 * The kinds of namespaces, from the narrowest to the widest. A reader prefers the narrower one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Scope = Schema.Literal("user", "project", "team", "organization")
/**
 * @since 0.1.0
 * @category models
 */
export type Scope = typeof Scope.Type

/**
 * Shared namespaces: all but that of the user.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Shared = Schema.Literal("project", "team", "organization")
/**
 * @since 0.1.0
 * @category models
 */
export type Shared = typeof Shared.Type

/**
 * A shared namespace by the id that the application gave it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryNamespace = Schema.Struct({
  scope: Shared,
  id: Schema.String.pipe(Schema.minLength(1))
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryNamespace extends Schema.Schema.Type<typeof MemoryNamespace> {}

/** Separates the kind from the id. No user or session id contains it. */
const SIGN = "\u001f"

/** Maximum length of an owner name. */
const maxOwner = 256

/**
 * The owner under which stores keep the memory of a namespace. It differs from that of every user, session and other
 * namespace, whatever characters the ids contain; long ids are hashed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const ownerOf = ({ id, scope }: MemoryNamespace): string => {
  const plain = `${scope}${SIGN}=${id}`
  return plain.length <= maxOwner ? plain : `${scope}${SIGN}#${Sha256.hex(Sha256.utf16(id))}`
}

const isPlain = (id: string): boolean => id.length <= 64 && /^[\p{L}\p{N}_.@-]+$/u.test(id)

/**
 * The name by which a model tells namespaces of one kind apart: `team:payments`. An id that is long or has other
 * characters than letters, digits, `_`, `.`, `@` and `-` is shown by its hash.
 *
 * @since 0.1.0
 * @category conversions
 */
export const labelOf = ({ id, scope }: MemoryNamespace): string =>
  `${scope}:${isPlain(id) ? id : `#${Sha256.hex(Sha256.utf16(id)).slice(0, 16)}`}`

/**
 * The space of an owner from which another one inherits, and the name under which its items are shown.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inherited {
  readonly ownerId: string
  readonly label: string
}

/**
 * Turns that a process leaves to the next one: entries in a reserved space of the memory store, one an owner.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EntryId } from "../../domain/Ids.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import * as MemoryEntry from "../entry/MemoryEntry.js"
import type { MemoryStoreFailure, RetrievalFailure } from "../entry/MemoryError.js"
import * as OwnerNamespace from "../entry/OwnerNamespace.js"
import type * as MemoryStore from "../search/MemoryStore.js"
import type { Conversation } from "./PendingTurns.js"

/** Owners whose turns are taken up at once. */
const MAX_OWNERS = 1_000
/** Turns of one owner. */
const MAX_TURNS = 2_000

const Left = Schema.parseJson(Schema.Struct({ ownerId: Schema.String, ids: Schema.Array(EntryId) }))
const decode = Schema.decodeUnknownOption(Left)
const encode = Schema.encodeSync(Left)

const idsOf = (entry: MemoryEntry.MemoryEntry | undefined): ReadonlyArray<EntryId> =>
  Option.match(decode(entry?.content), { onNone: () => [], onSome: ({ ids }) => ids })

/**
 * Notes the turns of conversations.
 *
 * @category combinators
 */
export const note = Effect.fnUntraced(function* (
  store: MemoryStore.Service,
  conversations: ReadonlyArray<Conversation>
): Effect.fn.Return<void, RetrievalFailure> {
  const owners = [...EntryGroups.groupBy(conversations, ({ ownerId }) => ownerId)]
  const known = yield* store.getMany(
    OwnerNamespace.unread,
    owners.map(([ownerId]) => OwnerNamespace.unreadOf(ownerId))
  )
  const before = new Map(known.map((entry) => [entry.id, entry]))
  const timestamp = yield* Clock.currentTimeMillis
  yield* store.storeMany(
    owners.map(([ownerId, own]) => {
      const id = OwnerNamespace.unreadOf(ownerId)
      const ids = new Set([...own.flatMap(({ ids }) => [...ids]), ...idsOf(before.get(id))])
      return MemoryEntry.make({
        id,
        ownerId: OwnerNamespace.unread,
        content: encode({ ownerId, ids: [...ids].slice(0, MAX_TURNS) }),
        role: "system",
        timestamp
      })
    })
  )
})

/**
 * Takes the noted turns, the oldest first. Of several processes one gets those of an owner. An interruption loses none:
 * what was taken was also given to `take`.
 *
 * @category combinators
 */
export const takeAll = Effect.fnUntraced(function* (
  store: MemoryStore.Service,
  take: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void>
): Effect.fn.Return<void, MemoryStoreFailure> {
  const found = yield* store.getRecent({ ownerId: OwnerNamespace.unread, n: MAX_OWNERS })
  for (const entry of found.toReversed()) {
    const left = decode(entry.content)
    const deleted = store.delete(OwnerNamespace.unread, entry.id)
    yield* Effect.uninterruptible(
      Effect.flatMap(deleted, (isMine) =>
        isMine && Option.isSome(left) ? take(left.value.ownerId, left.value.ids) : Effect.void
      )
    )
  }
})

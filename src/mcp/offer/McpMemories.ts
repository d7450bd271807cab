/**
 * What is remembered of the caller, as resources for MCP clients.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EntryId } from "../../domain/Ids.js"
import { count } from "../../internal/Count.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import * as MemoryOwner from "../../memory/entry/MemoryOwner.js"
import * as MemoryStore from "../../memory/search/MemoryStore.js"
import type { Request, Resource, Source } from "./McpOffers.js"
import { McpServerError } from "./McpServerError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The newest entries that are listed; older ones can be read by their address. Default 50. */
  readonly maxListed?: number | undefined
}

const PREFIX = "memory://entries/"
const MOST_NAME = 80

const isEntryId = Schema.is(EntryId)

const unknown = new McpServerError({ reason: "unknown", message: "Nothing is remembered under this address" })

const unreadable = () => new McpServerError({ reason: "failed", message: "The memory cannot be read now" })

type Space = { readonly store: MemoryStore.Service; readonly ownerId: string }

/** The memory of the caller; none without a user, whose memory nobody could tell apart. */
const spaceOf = ({ caller: { userId } }: Request): Effect.Effect<Option.Option<Space>> =>
  Effect.map(
    Effect.serviceOption(MemoryStore.MemoryStore),
    Option.flatMap((store) =>
      userId === undefined ? Option.none() : Option.some({ store, ownerId: MemoryOwner.ofUser(userId) })
    )
  )

const resourceOf = ({ content, id, role }: MemoryEntry): Resource => ({
  uri: PREFIX + encodeURIComponent(id),
  name: VisibleText.visible(content.slice(0, MOST_NAME)),
  description: `Said by ${role}`,
  read: () => Effect.succeed(content)
})

/**
 * The memory store in the context of the server (`MemoryStore`); without one, and for callers without a user, nothing.
 * An entry is the resource `memory://entries/<id>`. Tools that change the memory are those of `MemoryTools`.
 *
 * @example
 * ```ts
 * import { McpMemories, McpServer } from "effect-lexigram/mcp"
 *
 * const desk = McpServer.make({ name: "desk", version: "1.0.0", sources: [McpMemories.make({ maxListed: 20 })] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Source => {
  const maxListed = count(options.maxListed, 50, 1)
  return {
    resources: (request) =>
      Effect.flatMap(
        spaceOf(request),
        Option.match({
          onNone: () => Effect.succeed([]),
          onSome: ({ ownerId, store }) =>
            Effect.mapBoth(store.getRecent({ ownerId, n: maxListed }), {
              onFailure: unreadable,
              onSuccess: (entries) => entries.map(resourceOf)
            })
        })
      ),
    templates: [
      {
        uriTemplate: `${PREFIX}{id}`,
        name: "memory",
        description: "What is remembered of you",
        read: ({ id }, request) =>
          Effect.gen(function* () {
            const space = yield* spaceOf(request)
            if (Option.isNone(space) || !isEntryId(id)) return yield* unknown
            const { ownerId, store } = space.value
            const entry = yield* Effect.mapError(store.get(ownerId, id), unreadable)
            return yield* Option.match(entry, {
              onNone: () => unknown,
              onSome: ({ content }) => Effect.succeed(content)
            })
          })
      }
    ]
  }
}

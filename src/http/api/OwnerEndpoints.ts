/**
 * The handlers of what a server keeps of its caller, of skills and of metrics.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { EntryId, UserId } from "../../domain/Ids.js"
import * as PublicView from "../../domain/PublicView.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import * as MemoryOwner from "../../memory/entry/MemoryOwner.js"
import type { Selection } from "../../memory/entry/Selection.js"
import * as Memory from "../../memory/Memory.js"
import * as MemoryStore from "../../memory/search/MemoryStore.js"
import type { DataTransferError } from "../../persistence/engine/PersistenceError.js"
import * as OwnerData from "../../persistence/OwnerData.js"
import * as SkillRegistry from "../../skill/execute/SkillRegistry.js"
import * as SkillCatalog from "../../skill/folder/SkillCatalog.js"
import * as PrometheusPage from "../../telemetry/PrometheusPage.js"
import { AgentApi } from "./AgentApi.js"
import * as ApiErrors from "./ApiError.js"
import { Caller, type Identity } from "./Authentication.js"
import type { MemoryItem } from "./OwnerApi.js"
import * as Refusals from "./Refusals.js"

/**
 * The user of the request. What belongs to nobody is not remembered, and cannot be told apart.
 *
 * @category getters
 */
export const user: Effect.Effect<UserId, ApiErrors.ApiError, Caller> = Effect.flatMap(
  Caller,
  ({ userId }): Effect.Effect<UserId, ApiErrors.ApiError> =>
    userId === undefined
      ? new ApiErrors.ApiError({
          reason: "forbidden",
          message: "Only a caller with a user has data here",
          hint: "Give the server a layer of Authentication"
        })
      : Effect.succeed(userId)
)

const fromEntry = ({ content, id, importance, metadata, role, sessionId, timestamp }: MemoryEntry): MemoryItem => ({
  id,
  role,
  content,
  timestamp,
  importance,
  ...(sessionId === undefined ? {} : { sessionId }),
  metadata: PublicView.fromValue(metadata) as MemoryItem["metadata"]
})

interface Position {
  readonly timestamp: number
  readonly id: EntryId
}

const isBefore = (entry: MemoryEntry, { id, timestamp }: Position): boolean =>
  entry.timestamp < timestamp || (entry.timestamp === timestamp && entry.id < id)

/** The newest entries before a position. Entries of the same time are read again until the page is full. */
const olderThan = (
  store: MemoryStore.Service,
  options: { readonly ownerId: string; readonly n: number; readonly selection: Selection },
  before: Position | undefined,
  extra = 1
): ReturnType<MemoryStore.Service["getRecent"]> => {
  if (before === undefined) return store.getRecent(options)
  const n = options.n + extra
  const selection = { ...options.selection, timeRange: { start: Number.MIN_SAFE_INTEGER, end: before.timestamp } }
  return Effect.flatMap(store.getRecent({ ...options, n, selection }), (entries) => {
    const older = entries.filter((entry) => isBefore(entry, before))
    return older.length >= options.n || entries.length < n
      ? Effect.succeed(older.slice(0, options.n))
      : olderThan(store, options, before, extra * 4)
  })
}

/**
 * Work of a store, whose failures are those of the server.
 *
 * @category combinators
 */
export const kept = <A, E extends { readonly _tag: string; readonly code: string; readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ApiErrors.ApiError, R> => Effect.catchAll(effect, (error) => Refusals.unavailable(error))

const selectionOf = (sessionId: NonNullable<Selection["sessionIds"]>[number] | undefined): Selection =>
  sessionId === undefined ? {} : { sessionIds: [sessionId] }

/**
 * @category layers
 */
export const layerMemory = HttpApiBuilder.group(AgentApi, "memory", (handlers) =>
  Effect.gen(function* () {
    const stores = Refusals.offered(yield* Effect.serviceOption(MemoryStore.MemoryStore), "memory")
    const memories = Refusals.offered(yield* Effect.serviceOption(Memory.Memory), "memory")
    const ownerId = Effect.map(user, MemoryOwner.ofUser)
    return handlers
      .handle("listMemory", ({ urlParams: { cursor, limit = 50, sessionId } }) =>
        Effect.gen(function* () {
          const store = yield* stores
          const selection = selectionOf(sessionId)
          const found = yield* kept(olderThan(store, { ownerId: yield* ownerId, n: limit + 1, selection }, cursor))
          const entries = found.slice(0, limit)
          const last = entries.at(-1)
          return {
            entries: entries.map(fromEntry),
            ...(found.length <= limit || last === undefined ? {} : { next: { timestamp: last.timestamp, id: last.id } })
          }
        })
      )
      .handle("searchMemory", ({ urlParams: { explain = false, limit = 10, query, sessionId } }) =>
        Effect.gen(function* () {
          const store = yield* stores
          const results = yield* kept(
            store.retrieve({ ownerId: yield* ownerId, query, topK: limit, explain, ...selectionOf(sessionId) })
          )
          return {
            results: results.map(({ entry, explanation, relevance, score }) => ({
              entry: fromEntry(entry),
              relevance,
              score,
              ...(explanation === undefined ? {} : { explanation })
            }))
          }
        })
      )
      .handle("forgetEntry", ({ path }) =>
        Effect.gen(function* () {
          const memory = yield* memories
          return yield* kept(memory.forgetEntries(yield* ownerId, [path.entryId]))
        })
      )
      .handle("forgetMemory", () =>
        Effect.gen(function* () {
          const memory = yield* memories
          return yield* kept(memory.forget(yield* ownerId))
        })
      )
  })
)

const encoder = new TextEncoder()

/** In place of the end of an export that cannot be read to it. */
const broken = (error: DataTransferError): Stream.Stream<string> =>
  Stream.fromEffect(
    Effect.map(Effect.flip(Refusals.unavailable(error)), (refusal) =>
      JSON.stringify({ kind: "problem", ...ApiErrors.toProblem(refusal) })
    )
  )

const toBytes = (chunk: Chunk.Chunk<string>): Chunk.Chunk<Uint8Array> =>
  Chunk.of(encoder.encode(Chunk.toReadonlyArray(chunk).reduce((text, line) => `${text}${line}\n`, "")))

/**
 * @category layers
 */
export const layerOwner = HttpApiBuilder.group(AgentApi, "owner", (handlers) =>
  Effect.gen(function* () {
    const data = Refusals.offered(yield* Effect.serviceOption(OwnerData.OwnerData), "data that can be exported")
    return handlers
      .handle("exportOwner", () =>
        Effect.gen(function* () {
          const owner = yield* data
          const userId = yield* user
          return HttpServerResponse.stream(Stream.mapChunks(Stream.catchAll(owner.export(userId), broken), toBytes), {
            contentType: "application/x-ndjson",
            headers: { "cache-control": "no-store" }
          })
        })
      )
      .handle("eraseOwner", () =>
        Effect.gen(function* () {
          const owner = yield* data
          return { erased: yield* kept(owner.erase(yield* user)) }
        })
      )
  })
)

/**
 * @category models
 */
export interface Options {
  /** Who may read the metrics of the process, which are not those of one user. Default nobody. */
  readonly metrics?: ((caller: Identity) => boolean) | undefined
}

const noMetrics = new ApiErrors.ApiError({ reason: "forbidden", message: "This caller may not read metrics" })

/**
 * @category layers
 */
export const layerOffers = ({ metrics = () => false }: Options) =>
  HttpApiBuilder.group(AgentApi, "offers", (handlers) =>
    Effect.gen(function* () {
      const registry = yield* Effect.serviceOption(SkillRegistry.SkillRegistry)
      const catalog = yield* Effect.serviceOption(SkillCatalog.SkillCatalog)
      const inCode = Option.match(registry, { onNone: () => Effect.succeed([]), onSome: ({ list }) => list() })
      const inFolders = Option.match(catalog, { onNone: () => Effect.succeed([]), onSome: ({ skills }) => skills })
      return handlers
        .handle("listSkills", () =>
          Effect.map(Effect.all([inCode, inFolders]), ([code, folders]) => ({
            skills: [
              ...code.map(({ description, name }) => ({ name, description, kind: "code" as const })),
              ...folders.map(({ file }) => ({
                name: file.name,
                description: file.description,
                kind: "folder" as const
              }))
            ]
          }))
        )
        .handle("metrics", () =>
          Effect.flatMap(Caller, (caller) => (metrics(caller) ? PrometheusPage.app : Effect.fail(noMetrics)))
        )
    })
  )

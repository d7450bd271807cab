/**
 * A `BlobStore` in memory.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { count } from "../internal/Count.js"
import * as BlobBackend from "./BlobBackend.js"
import * as BlobStore from "./BlobStore.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends BlobBackend.Options {
  /** The most bytes of all blobs together, at least 1; `put` and `copy` fail with `full` above. Default: 256 MiB. */
  readonly maxTotalBytes?: number | undefined
}

const defaultTotal = 256 * 1_048_576

interface Held {
  readonly bytes: Uint8Array
  readonly mediaType: string
}

type Scope = Map<string, Held>

const pageSize = 100

const sizeOf = (scope: Scope): number => Array.from(scope.values()).reduce((sum, { bytes }) => sum + bytes.length, 0)

/** Blobs by owner, scope and hash. */
class Blobs {
  readonly owners = new Map<string, Map<string, Scope>>()
  total = 0

  constructor(private readonly most: number) {}

  scope(owner: string, scope: string): Scope | undefined {
    return this.owners.get(owner)?.get(scope)
  }

  /** Adds blobs that are not there yet, all or none; false if there is no room. */
  add(owner: string, scope: string, blobs: ReadonlyArray<readonly [hash: string, held: Held]>): boolean {
    const there = this.scope(owner, scope)
    const added = blobs.filter(([hash]) => there?.has(hash) !== true)
    const more = added.reduce((sum, [, { bytes }]) => sum + bytes.length, 0)
    if (this.total + more > this.most) return false
    if (added.length === 0) return true
    const scopes = this.owners.get(owner) ?? new Map<string, Scope>()
    const held = scopes.get(scope) ?? new Map<string, Held>()
    for (const [hash, blob] of added) held.set(hash, blob)
    scopes.set(scope, held)
    this.owners.set(owner, scopes)
    this.total += more
    return true
  }

  remove(owner: string, scope: string | undefined): number {
    const scopes = this.owners.get(owner)
    if (scopes === undefined) return 0
    let removed = 0
    for (const name of scope === undefined ? Array.from(scopes.keys()) : [scope]) {
      const held = scopes.get(name)
      if (held === undefined) continue
      removed += held.size
      this.total -= sizeOf(held)
      scopes.delete(name)
    }
    if (scopes.size === 0) this.owners.delete(owner)
    return removed
  }

  page(owner: string, scope: string | undefined, after: string | undefined): BlobBackend.Page {
    const scopes = this.owners.get(owner) ?? new Map<string, Scope>()
    const all = Array.from(scopes).filter(([name]) => scope === undefined || name === scope)
    const start = after === undefined ? undefined : (JSON.parse(after) as readonly [scope: string, hash: string])
    const found = all
      .flatMap(([name, held]) =>
        Array.from(held, ([hash, { bytes, mediaType }]) => ({
          scope: name,
          ref: { hash, size: bytes.length, mediaType }
        }))
      )
      .filter(
        ({ ref, scope: name }) => start === undefined || name > start[0] || (name === start[0] && ref.hash > start[1])
      )
      .sort((a, b) => (a.scope === b.scope ? (a.ref.hash < b.ref.hash ? -1 : 1) : a.scope < b.scope ? -1 : 1))
    const items = found.slice(0, pageSize)
    const last = found.length > pageSize ? items.at(-1) : undefined
    return { items, next: last === undefined ? undefined : JSON.stringify([last.scope, last.ref.hash]) }
  }
}

const backendOf = (options: Options): BlobBackend.Backend => {
  const most = count(options.maxTotalBytes, defaultTotal, 1)
  const blobs = new Blobs(most)
  const full = BlobBackend.failure(
    "memory",
    "full",
    `The store has room for ${most} bytes in all, which are taken`,
    "Remove scopes that are no longer needed, or raise `maxTotalBytes`"
  )
  return {
    name: "memory",
    write: ({ hash, owner, scope }, { bytes, mediaType }) =>
      Effect.suspend(() => {
        const there = blobs.scope(owner, scope)?.has(hash) === true
        return there || blobs.add(owner, scope, [[hash, { bytes: bytes.slice(), mediaType }]]) ? Effect.void : full
      }),
    read: ({ hash, owner, scope }) => Effect.sync(() => blobs.scope(owner, scope)?.get(hash)?.bytes.slice()),
    copy: ({ from, hashes, owner, to }) =>
      Effect.suspend(() => {
        const source: Scope = blobs.scope(owner, from) ?? new Map()
        const missing = (hashes ?? []).filter((hash) => !source.has(hash))
        if (missing.length > 0) return Effect.succeed({ missing, copied: 0 })
        const copied = Array.from(source).filter(([hash]) => hashes === undefined || hashes.includes(hash))
        return blobs.add(owner, to, copied) ? Effect.succeed({ missing, copied: copied.length }) : full
      }),
    page: (owner, scope, after) => Effect.sync(() => blobs.page(owner, scope, after)),
    remove: (owner, scope) => Effect.sync(() => blobs.remove(owner, scope))
  }
}

/**
 * Blobs end with the process.
 *
 * @example
 * ```ts
 * import { InMemoryBlobStore } from "effect-lexigram/content"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const blobs = yield* InMemoryBlobStore.make({ maxTotalBytes: 16 * 1024 * 1024 })
 *   const bytes = new TextEncoder().encode("order,amount\n7,40\n")
 *   const { hash } = yield* blobs.put({ owner: "ann", scope: "order-7", bytes, mediaType: "text/csv" })
 *   return yield* blobs.get({ owner: "ann", scope: "order-7", hash })
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<BlobStore.Service> =>
  Effect.sync(() => BlobBackend.toStore(backendOf(options), options))

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<BlobStore.BlobStore> =>
  Layer.effect(BlobStore.BlobStore, make(options))

/**
 * What a process knows of the owners in a cache.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import type { Access } from "./CacheAccess.js"
import type { CacheDecoded } from "./CacheDecoded.js"
import * as Records from "./CacheRecords.js"
import { CacheSegments } from "./CacheSegments.js"

/**
 * What is known of an owner.
 *
 * @since 0.1.0
 * @category models
 */
export interface State {
  readonly segments: CacheSegments
  readonly decoded: CacheDecoded
  /** The head it was read by or written with. */
  text: string | undefined
  /** Keys the next change deletes. */
  dead: ReadonlyArray<string>
  /** Whether it is certain that the owner is among the owners. */
  isListed: boolean
  /** Entries it was counted with. */
  counted: number
}

/**
 * The states of owners, the one that was used last at the end.
 *
 * @since 0.1.0
 * @category models
 */
export class Ready {
  private readonly states = new Map<string, State>()
  private entries = 0

  constructor(private readonly limit: number) {}

  get(ownerId: string, text: string): State | undefined {
    const state = this.states.get(ownerId)
    if (state?.text !== text) return undefined
    this.states.delete(ownerId)
    this.states.set(ownerId, state)
    return state
  }

  set(ownerId: string, state: State): void {
    this.delete(ownerId)
    this.states.set(ownerId, state)
    state.counted = state.segments.size
    this.entries += state.counted
    for (const oldest of this.states.keys()) {
      if (this.entries <= this.limit || oldest === ownerId) return
      this.delete(oldest)
    }
  }

  delete(ownerId: string): void {
    this.entries -= this.states.get(ownerId)?.counted ?? 0
    this.states.delete(ownerId)
  }
}

/**
 * Reads what a head refers to; what is not there, and has not expired, is missing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const read = Effect.fnUntraced(function* (access: Access, ownerId: string, head: Records.Head, now: number) {
  const segments = new CacheSegments()
  let missing = 0
  const count = (one: Records.Reference) => {
    if (one.latest > now) missing++
  }
  const pages = yield* access.getMany(head.pages.map((page) => page.key))
  const decoded = pages.map((text) => (text === undefined ? undefined : Records.decodePage(text)))
  const texts = yield* access.getMany(decoded.flatMap((page) => (page ?? []).map((segment) => segment.key)))
  let at = 0
  for (const [index, reference] of head.pages.entries()) {
    const page = decoded[index]
    if (page === undefined) {
      count(reference)
      segments.lost(reference)
      continue
    }
    const restored = page.map((one) => {
      const text = texts[at++]
      const entries = text === undefined ? undefined : Records.decodeSegment(ownerId, text)
      if (text === undefined || entries === undefined) {
        count(one)
        return { at: one, entries: undefined }
      }
      // Good enough to keep segments small.
      const characters = Math.ceil(text.length / entries.length)
      return { at: one, entries: entries.map((entry) => ({ entry, characters })) }
    })
    segments.restore(reference, restored)
  }
  return { segments, missing }
})

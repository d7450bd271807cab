/**
 * Lets entries that are recalled live longer.
 *
 * A store writes into the metadata of an entry, under a key in the namespace of the library, how long it lives after a
 * recall, and until when at most. Only entries whose lifetime the store chose have that: one that was stored with an
 * `expiresAt` of its own ends then, and what metadata says of an entry without one is dropped.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { ConditionalChange } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"

/**
 * @category models
 */
export interface Options {
  /** How long an entry lives at most after it was stored, however often it is recalled. Default 365 days. */
  readonly maxAge?: Duration.DurationInput | undefined
}

const KEY = "effect-lexigram/renewal"

/** Attempts to write what others write at the same time. */
const ATTEMPTS = 5

interface Mark {
  /** Milliseconds that a recall gives. */
  readonly life: number
  /** The latest expiry, in milliseconds since the epoch. */
  readonly until: number
}

/**
 * Without a mark: an entry that has no expiry yet has none by the store.
 *
 * @category combinators
 */
export const unmarked = (entry: MemoryEntry): MemoryEntry => {
  if (!Object.hasOwn(entry.metadata, KEY)) return entry
  const { [KEY]: _mark, ...metadata } = entry.metadata
  return { ...entry, metadata }
}

/**
 * An entry that lives for so many milliseconds, and longer if it is recalled. One with an expiry is returned as it is.
 *
 * @category combinators
 */
export const marked = (
  entry: MemoryEntry,
  { life, now, options }: { readonly life: number; readonly now: number; readonly options: Options | undefined }
): MemoryEntry => {
  if (entry.expiresAt !== undefined) return entry
  if (options === undefined || !(life > 0 && Number.isFinite(life))) return unmarked(entry)
  const mark: Mark = { life, until: now + Duration.toMillis(options.maxAge ?? "365 days") }
  return Number.isFinite(mark.until)
    ? { ...entry, expiresAt: now + life, metadata: { ...entry.metadata, [KEY]: mark } }
    : unmarked(entry)
}

const markOf = ({ metadata }: MemoryEntry): Mark | undefined => {
  const mark = Object.hasOwn(metadata, KEY) ? (metadata[KEY] as Partial<Mark> | null) : undefined
  return typeof mark === "object" && mark !== null && Number.isFinite(mark.life) && Number.isFinite(mark.until)
    ? (mark as Mark)
    : undefined
}

/** The entry with its new expiry if at most half of its life is left, so that it is seldom written. */
const renewed = (entry: MemoryEntry, now: number): MemoryEntry | undefined => {
  const mark = markOf(entry)
  const { expiresAt } = entry
  if (mark === undefined || expiresAt === undefined || expiresAt - now > mark.life / 2) return undefined
  const later = Math.min(now + mark.life, mark.until)
  return later > expiresAt ? { ...entry, expiresAt: later } : undefined
}

/**
 * Logs that recalled entries keep their expiry.
 *
 * @category combinators
 */
export const warn = (reason: string): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning("Recalled entries were not renewed"), { module: "MemoryStore", reason })

/**
 * Renews recalled entries. An entry that is changed or forgotten at the same time keeps that change. Entries that
 * others change at every attempt keep their expiry, with a warning.
 *
 * @category combinators
 */
export const renew = <E1, E2>(
  ownerId: string,
  ids: ReadonlyArray<EntryId>,
  store: {
    readonly get: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<ReadonlyArray<MemoryEntry>, E1>
    /** `undefined` if the condition does not hold. */
    readonly apply: (ownerId: string, change: ConditionalChange) => Effect.Effect<number | undefined, E2>
  }
): Effect.Effect<void, E1 | E2> =>
  Effect.gen(function* () {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const now = yield* Clock.currentTimeMillis
      const due = (yield* store.get(ownerId, Array.from(new Set(ids)))).flatMap((entry) => {
        const after = renewed(entry, now)
        return after === undefined ? [] : [{ entry, after }]
      })
      if (due.length === 0) return
      const written = yield* store.apply(ownerId, {
        unchanged: due.map(({ entry }) => entry),
        store: due.map(({ after }) => after)
      })
      if (written !== undefined) return
    }
    yield* warn(`Others changed them during each of ${ATTEMPTS} attempts`)
  })

/**
 * Keeps large values of one durable run as blobs, so that its journal has references to them.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as BlobStore from "../../content/BlobStore.js"
import type { BlobNotFoundError, BlobStoreError } from "../../content/ContentError.js"
import * as PayloadText from "./PayloadText.js"
import { PayloadRef, type Place } from "./RunBlobs.js"
import * as StoredTexts from "./StoredTexts.js"

/**
 * A value of a run cannot be read, now and later.
 *
 * @category errors
 */
export class PayloadLost extends Data.TaggedError("PayloadLost")<{ readonly message: string; readonly hint: string }> {}

/**
 * What becomes of a value: it stays in the journal, a reference does, or nothing may.
 *
 * @category models
 */
export type Kept =
  | { readonly _tag: "Inline" }
  | { readonly _tag: "Stored"; readonly ref: PayloadRef }
  | { readonly _tag: "TooLarge"; readonly bytes: number }

/**
 * @category models
 */
export interface RunPayloads {
  readonly bounds: PayloadText.Bounds
  /** Puts a value before the journal refers to it. */
  readonly keep: (value: unknown) => Effect.Effect<Kept>
  readonly read: (ref: PayloadRef) => Effect.Effect<unknown, PayloadLost>
  /** The record of a step as the journal keeps it. `step` is the name of the step. */
  readonly toJournal: (step: string, record: unknown) => Effect.Effect<unknown>
  /** The record of a step by what the journal keeps. */
  readonly fromJournal: (kept: unknown) => Effect.Effect<unknown, PayloadLost>
  /** Takes the blobs of a record over that another run has kept. */
  readonly adopt: (from: Place, kept: unknown) => Effect.Effect<void, PayloadLost>
}

/**
 * @category models
 */
export interface Options {
  readonly bounds: PayloadText.Bounds
  /** Absent where there is no store. */
  readonly blobs: BlobStore.Service | undefined
  /** Absent for a run that keeps all of its values in the journal. */
  readonly place: Place | undefined
  /** Whether the run has not been erased. */
  readonly exists: Effect.Effect<boolean>
}

const inline: Kept = { _tag: "Inline" }

/** The outcome of a step in place of one that is a blob. No value of a step comes to this place. */
interface Stored {
  readonly outcome: { readonly _tag: "Stored"; readonly ref: unknown }
}

const isStored = (kept: unknown): kept is Stored =>
  (kept as { readonly outcome?: { readonly _tag?: unknown } | undefined } | null)?.outcome?._tag === "Stored"

const isRef = Schema.is(PayloadRef)

const warn = (message: string, error: BlobStoreError): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(`${message}: ${error.message}`), {
    module: "DurableRuns",
    reason: error.reason
  })

/** What passes without a change of the blob or of the program. */
const isPassing = (error: BlobNotFoundError | BlobStoreError): error is BlobStoreError =>
  error._tag === "BlobStoreError" &&
  (error.reason === "storage" || error.reason === "refused" || error.reason === "full")

/** A value that the store does not take stays in the journal: the run has it, and cannot have it again. */
const soon = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(3))

/** A run waits for a store that is away, as for its database. */
const patiently = Schedule.union(Schedule.exponential("100 millis"), Schedule.spaced("10 seconds"))

const lostBy = (error: BlobNotFoundError | BlobStoreError): PayloadLost =>
  new PayloadLost({
    message:
      error._tag === "BlobNotFoundError"
        ? `the BlobStore has no ${error.hash}`
        : `the BlobStore "${error.store}" cannot give it: ${error.message}`,
    hint:
      error._tag === "BlobStoreError" && error.reason === "too-large"
        ? "Raise `maxBytes` of the store"
        : "Restore the blobs from a backup, and see that all processes have the same BlobStore"
  })

const waiting = <A>(effect: Effect.Effect<A, BlobNotFoundError | BlobStoreError>): Effect.Effect<A, PayloadLost> =>
  effect.pipe(
    Effect.tapError((error) => (isPassing(error) ? warn("a run waits for its BlobStore", error) : Effect.void)),
    Effect.retry({ schedule: patiently, while: isPassing }),
    Effect.mapError(lostBy)
  )

const unprovided = new PayloadLost({
  message: "it is in a BlobStore, and there is none here",
  hint: "Provide the BlobStore of these runs to `Durable.layerSql` or `DurableCluster.layer`"
})

const mixed = new PayloadLost({
  message: "it is of another owner",
  hint: "Fork runs of the same owner"
})

const unreadable = new PayloadLost({
  message: "its blobs do not make up what was kept",
  hint: "Restore the journal and the blobs from one backup"
})

/**
 * @category constructors
 */
export const make = ({ blobs, bounds, exists, place }: Options): RunPayloads => {
  const isReferring = blobs !== undefined && place !== undefined
  const own: PayloadText.Bounds = isReferring ? bounds : { ...bounds, above: Number.POSITIVE_INFINITY }
  /** Records that this process has, by what the journal keeps of them. */
  const held = new WeakMap<object, unknown>()

  /** Whoever erases a run removes its blobs last: those of a run that is gone by then are removed here. */
  const unlessErased = (at: Place, store: BlobStore.Service): Effect.Effect<void> =>
    Effect.flatMap(exists, (is) =>
      is ? Effect.void : Effect.ignoreLogged(store.removeScope({ owner: at.owner, scope: at.scope }))
    )

  const stored = (text: string): Effect.Effect<Kept> =>
    blobs === undefined || place === undefined
      ? Effect.succeed(inline)
      : StoredTexts.put(blobs, place, text).pipe(
          Effect.retry({ schedule: soon, while: isPassing }),
          Effect.zipLeft(unlessErased(place, blobs)),
          Effect.map((ref): Kept => ({ _tag: "Stored", ref })),
          Effect.catchAll((error) =>
            Effect.as(warn("a large value stays in the journal, because the BlobStore did not take it", error), inline)
          )
        )

  const keep = (value: unknown): Effect.Effect<Kept> =>
    Effect.suspend(() => {
      const measured = PayloadText.measure(value, own)
      if (measured._tag === "Small") return Effect.succeed(inline)
      return measured._tag === "Large" ? stored(measured.text) : Effect.succeed(measured)
    })

  const read = (ref: PayloadRef): Effect.Effect<unknown, PayloadLost> =>
    Effect.suspend(() => {
      if (blobs === undefined || place === undefined) return Effect.fail(unprovided)
      return Effect.flatMap(waiting(StoredTexts.get(blobs, place, ref)), (text) => {
        const found = text === undefined ? undefined : PayloadText.read(text)
        return found === undefined ? Effect.fail(unreadable) : Effect.succeed(found.value)
      })
    })

  return {
    bounds,
    keep,
    read,
    toJournal: (step, record) =>
      Effect.map(keep((record as { readonly outcome: unknown }).outcome), (kept) => {
        if (kept._tag === "Inline") return record
        const outcome = kept._tag === "Stored" ? kept : { ...kept, step, most: bounds.most }
        const journaled = { ...(record as object), outcome }
        if (kept._tag === "Stored") held.set(journaled, record)
        return journaled
      }),
    fromJournal: (kept) => {
      if (!isStored(kept)) return Effect.succeed(kept)
      const record = held.get(kept)
      if (record !== undefined) return Effect.succeed(record)
      const { ref } = kept.outcome
      return isRef(ref) ? Effect.map(read(ref), (outcome) => ({ ...kept, outcome })) : Effect.fail(unreadable)
    },
    adopt: (from, kept) => {
      if (!isStored(kept)) return Effect.void
      const { ref } = kept.outcome
      if (!isRef(ref)) return Effect.fail(unreadable)
      if (blobs === undefined || place === undefined) return Effect.fail(unprovided)
      // Without a user, the owner of the blobs of a run is the run.
      if (from.owner !== place.owner && !(from.scope.startsWith(from.owner) && place.scope.startsWith(place.owner))) {
        return Effect.fail(mixed)
      }
      return Effect.zipRight(waiting(StoredTexts.copy(blobs, from, place, ref)), unlessErased(place, blobs))
    }
  }
}

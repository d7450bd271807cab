/**
 * The blobs of durable runs: values of a run that are too large for its journal.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { BlobHash } from "../../content/BlobRef.js"
import type { Service } from "../../content/BlobStore.js"

/**
 * Where the blobs of a run are.
 *
 * @category models
 */
export interface Place {
  readonly owner: string
  readonly scope: string
}

/**
 * What the journal keeps of a value that is a blob: the hashes of its compressed pieces, and the bytes of its text.
 *
 * @category schemas
 */
export const PayloadRef = Schema.Struct({
  pieces: Schema.NonEmptyArray(BlobHash),
  bytes: Schema.NonNegativeInt
}).annotations({ identifier: "effect-lexigram/durable/PayloadRef" })
/**
 * @category models
 */
export interface PayloadRef extends Schema.Schema.Type<typeof PayloadRef> {}

/** Begins the scopes of runs. */
const PREFIX = "durable:"

/**
 * Whether a scope is one of a run: what is in it is of use to its journal alone.
 *
 * @category guards
 */
export const isScope = (scope: string): boolean => scope.startsWith(PREFIX)

/**
 * The scopes of runs as a condition of SQL.
 *
 * @category constants
 */
export const anyScope = `${PREFIX}%`

/**
 * The owner of the blobs of a run without a user. A user with such an id knew the run already: it is its hash.
 *
 * @category getters
 */
export const ownerOf = (executionId: string): string => `${PREFIX}${executionId}`

/**
 * The scope of each start of a run is its own: whoever removes the blobs of a run that ended long ago leaves those of a
 * new one with the same id.
 *
 * @category getters
 */
export const placeOf = (
  executionId: string,
  { startedAt, userId }: { readonly startedAt: number; readonly userId?: string | undefined }
): Place => ({
  owner: userId ?? ownerOf(executionId),
  scope: `${PREFIX}${executionId}:${startedAt}`
})

/** What the payload of an execution says of its blobs. */
const Kept = Schema.Struct({
  byReference: Schema.Literal(true),
  startedAt: Schema.Number,
  userId: Schema.optional(Schema.String)
})
const isKept = Schema.is(Kept)

/**
 * Where an execution with this payload has its blobs; `undefined` if it has none.
 *
 * @category getters
 */
export const placeIn = (executionId: string, payload: unknown): Place | undefined =>
  isKept(payload) ? placeOf(executionId, payload) : undefined

/**
 * Provided by engines that remove the blobs of what they remove from their journal.
 *
 * @category tags
 */
export class RunBlobs extends Context.Tag("effect-lexigram/durable/RunBlobs")<RunBlobs, Service>() {}

/**
 * Adds them to the services of an engine, if there is a store.
 *
 * @category combinators
 */
export const add =
  (blobs: Option.Option<Service>) =>
  <R>(context: Context.Context<R>): Context.Context<R> =>
    Option.match(blobs, {
      onNone: () => context,
      onSome: (store) => Context.add(context, RunBlobs, store) as Context.Context<R>
    })

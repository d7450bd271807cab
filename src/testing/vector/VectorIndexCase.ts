/**
 * Building blocks of the cases of `VectorIndexSuite`.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import type { YieldWrap } from "effect/Utils"
import { EntryId, SessionId } from "../../domain/Ids.js"
import type { Vector } from "../../llm/embedding/Embedder.js"
import * as VectorIndex from "../../memory/search/VectorIndex.js"
import type * as PortSuite from "../suite/PortSuite.js"

/**
 * One promise of the port and its test. It requires an empty index and a `TestClock` at `epoch`, which it moves.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<VectorIndex.VectorIndex>

/**
 * The time at which a case begins, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constants
 */
export const epoch = 1_750_000_000_000

/**
 * The largest difference of similarities from the cosine: that of 32-bit floats summed in any order.
 *
 * @since 0.1.0
 * @category constants
 */
export const tolerance = 1e-4

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  name: string,
  body: (index: VectorIndex.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(VectorIndex.VectorIndex, (index) => Effect.gen(() => body(index))) })

/**
 * A vector of length 1 in the plane of the first two dimensions, `degrees` from the first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const at = (index: VectorIndex.Service, degrees: number): Vector => {
  const vector = new Float32Array(index.dimensions)
  vector[0] = Math.cos((degrees * Math.PI) / 180)
  vector[1] = Math.sin((degrees * Math.PI) / 180)
  return vector
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Fields extends Partial<Omit<VectorIndex.VectorItem, "id" | "sessionId">> {
  readonly sessionId?: string | undefined
}

/**
 * An item at `epoch`, some degrees from the first dimension.
 *
 * @since 0.1.0
 * @category constructors
 */
export const item = (
  index: VectorIndex.Service,
  id: string,
  degrees: number,
  { sessionId, ...fields }: Fields = {}
): VectorIndex.VectorItem => ({
  id: EntryId.make(id),
  vector: at(index, degrees),
  timestamp: epoch,
  role: "user",
  metadata: {},
  ...(sessionId === undefined ? {} : { sessionId: SessionId.make(sessionId) }),
  ...fields
})

/**
 * @since 0.1.0
 * @category getters
 */
export const idsOf = (hits: ReadonlyArray<VectorIndex.VectorHit>): ReadonlyArray<string> => hits.map((hit) => hit.id)

/**
 * Ids of all selected items of the owner, nearest to the first dimension first.
 *
 * @since 0.1.0
 * @category getters
 */
export const found = (
  index: VectorIndex.Service,
  ownerId: string,
  selection?: Parameters<VectorIndex.Service["search"]>[2]["selection"]
) => Effect.map(index.search(ownerId, at(index, 0), { limit: 1000, selection }), idsOf)

/**
 * What the cases of `VectorIndexSuite` are made of.
 *
 * @since 0.1.0
 * @internal
 */
import * as Effect from "effect/Effect"
import type { YieldWrap } from "effect/Utils"
import { EntryId, SessionId } from "../../domain/Ids.js"
import type { Vector } from "../../llm/embedding/Embedder.js"
import * as VectorIndex from "../../memory/search/VectorIndex.js"
import type * as PortSuite from "../suite/PortSuite.js"

/**
 * One promise and how it is tried. It expects an index that is empty and a `TestClock` that stands at `epoch`, and
 * moves that clock.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<VectorIndex.VectorIndex>

/**
 * What time it is when a case begins, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constants
 */
export const epoch = 1_750_000_000_000

/**
 * How far similarities may be from the cosine: those of 32-bit floats, added up in any order.
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
 * A vector of length 1 in the plane of the first two dimensions; `degrees` from the first.
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
 * An item that was said at `epoch`, so many degrees from the first dimension.
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
 * The ids of everything selected of the owner, nearest to the first dimension first.
 *
 * @since 0.1.0
 * @category getters
 */
export const found = (
  index: VectorIndex.Service,
  ownerId: string,
  selection?: Parameters<VectorIndex.Service["search"]>[2]["selection"]
) => Effect.map(index.search(ownerId, at(index, 0), { limit: 1000, selection }), idsOf)

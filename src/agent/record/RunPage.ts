/**
 * Pages of records, and changes of them: what every store of runs does in the same way.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { count } from "../../internal/Count.js"
import { RunError } from "./RunError.js"
import { isEnded, type RunRecord } from "./RunRecord.js"
import type { Change, Filter } from "./RunStore.js"

/**
 * The number of records on a page: at least 1.
 *
 * @category getters
 */
export const limitOf = (filter: Filter | undefined): number => Math.min(count(filter?.limit, 50, 1), 500)

/**
 * The place of the last record of a page.
 *
 * @category models
 */
export interface Place {
  readonly createdAt: number
  readonly key: string
}

/**
 * @category conversions
 */
export const toCursor = ({ createdAt, key }: Place): string => `${createdAt} ${key}`

/**
 * The place that a cursor names; the error `invalid` for any other text.
 *
 * @category conversions
 */
export const fromCursor = (cursor: string | undefined): Effect.Effect<Place | undefined, RunError> => {
  if (cursor === undefined) return Effect.succeed(undefined)
  const end = cursor.indexOf(" ")
  const createdAt = end > 0 && cursor.length <= 2048 ? Number(cursor.slice(0, end)) : Number.NaN
  return Number.isFinite(createdAt)
    ? Effect.succeed({ createdAt, key: cursor.slice(end + 1) })
    : new RunError({
        reason: "invalid",
        message: "The cursor of the list is not valid",
        hint: "Pass the `next` of the page before, or no cursor for the first page"
      })
}

/**
 * The record after a change.
 *
 * @category combinators
 */
export const changed = (record: RunRecord, change: Change): RunRecord => {
  const sessionId = record.sessionId ?? change.sessionId
  return {
    ...record,
    state: change.to,
    updatedAt: change.at,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(isEnded(change.to) ? { endedAt: change.at } : {}),
    ...(change.error === undefined ? {} : { error: change.error }),
    ...(change.notUndone === undefined ? {} : { notUndone: change.notUndone })
  }
}

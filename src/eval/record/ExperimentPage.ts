/**
 * Pages of experiments and positions of entries: what every store of experiments does in the same way.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { count } from "../../internal/Count.js"
import type { Header } from "./ExperimentRecord.js"
import type { Filter, Page, ReadOptions } from "./ExperimentStore.js"
import { ExperimentStoreError } from "./ExperimentStoreError.js"

/** The place of an experiment in a list. */
export interface Place {
  readonly createdAt: number
  readonly id: string
}

/** The number of experiments on a page: 1 to 500. */
export const limitOf = (filter: Filter): number => Math.min(count(filter.limit, 50, 1), 500)

const toCursor = ({ createdAt, id }: Place): string => JSON.stringify([createdAt, id])

const placeOf = (cursor: string): Place | undefined => {
  try {
    const value: unknown = JSON.parse(cursor)
    if (!Array.isArray(value)) return undefined
    const [createdAt, id]: ReadonlyArray<unknown> = value
    return typeof createdAt === "number" && typeof id === "string" ? { createdAt, id } : undefined
  } catch {
    return undefined
  }
}

/** The place that a cursor names; the error `cursor` for any other text. */
export const fromCursor = ({ cursor }: Filter): Effect.Effect<Place | undefined, ExperimentStoreError> => {
  if (cursor === undefined) return Effect.succeed(undefined)
  const place = placeOf(cursor)
  return place === undefined
    ? Effect.fail(
        new ExperimentStoreError({
          reason: "cursor",
          message: "The cursor is none that a list gave",
          hint: "Use `next` of a page as it is"
        })
      )
    : Effect.succeed(place)
}

/** The number that a position is, 0 for the beginning; the error `cursor` for any other text. */
export const fromPosition = ({ after }: ReadOptions): Effect.Effect<number, ExperimentStoreError> => {
  if (after === undefined) return Effect.succeed(0)
  return /^(0|[1-9][0-9]{0,14})$/.test(after) ? Effect.succeed(Number(after)) : Effect.fail(noPosition())
}

export const noPosition = (): ExperimentStoreError =>
  new ExperimentStoreError({
    reason: "cursor",
    message: "`after` is no position of an entry of this experiment",
    hint: "Use `position` of an entry as it is, and read from the beginning if the experiment was removed meanwhile"
  })

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Orders experiments: the newest first. */
export const newestFirst = (a: Place, b: Place): number => b.createdAt - a.createdAt || compare(b.id, a.id)

/** A page of experiments in order, of which there may be one more than the limit. */
export const of = (found: ReadonlyArray<Header>, limit: number): Page => {
  const experiments = found.slice(0, limit)
  const last = experiments.at(-1)
  return last === undefined || found.length <= limit ? { experiments } : { experiments, next: toCursor(last) }
}

/** A page out of all experiments. */
export const select = (all: ReadonlyArray<Header>, filter: Filter): Effect.Effect<Page, ExperimentStoreError> =>
  Effect.map(fromCursor(filter), (place) => {
    const limit = limitOf(filter)
    const found = all
      .filter(({ name }) => filter.name === undefined || name === filter.name)
      .sort(newestFirst)
      .filter((header) => place === undefined || newestFirst(place, header) < 0)
    return of(found.slice(0, limit + 1), limit)
  })

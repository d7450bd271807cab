/** Lists that are longer than an answer: the first page, and those that were asked for besides. */
import type * as Effect from "effect/Effect"
import { useState } from "react"
import type { ApiError } from "../../src/http/api/ApiError.js"
import { useAction, useQuery } from "./hooks.js"

export interface Page<A, C> {
  readonly items: ReadonlyArray<A>
  /** Where the next page begins; absent on the last one. */
  readonly next?: C | undefined
}

export interface Pages<A> {
  /** Those of all pages that were loaded. */
  readonly items: ReadonlyArray<A>
  readonly isLoaded: boolean
  readonly isLoading: boolean
  readonly hasMore: boolean
  readonly error: ApiError | undefined
  /** Loads the next page, unless one is being loaded. */
  readonly more: () => void
  readonly refresh: () => void
}

interface Rest<A, C> extends Page<A, C> {
  readonly key: string | undefined
  /** The last item of the first page when the second one was loaded. */
  readonly after: string | undefined
}

/**
 * Asks for pages as `useQuery` asks. With `every` the first page is asked for again and again, as long as the pages that
 * were loaded where it may be: `ask` is told how many items there are. Items of further pages follow those of the first
 * one; if new ones pushed them out of reach, they are loaded again when they are asked for.
 */
export const usePages = <A, C, E>(
  key: string | undefined,
  ask: (cursor: C | undefined, loaded: number) => Effect.Effect<Page<A, C>, E>,
  keyOf: (item: A) => string,
  { every }: { readonly every?: number | undefined } = {}
): Pages<A> => {
  const [kept, setKept] = useState<Rest<A, C>>({ key: undefined, after: undefined, items: [] })
  const action = useAction()
  const none: Rest<A, C> = { key, after: undefined, items: [] }
  const isKept = kept.key === key && kept.after !== undefined
  const loaded = isKept ? kept.items.length : 0
  const first = useQuery(key, () => ask(undefined, loaded), { every })
  const { data } = first
  const items = data?.items ?? []
  const seen = new Set(items.map(keyOf))
  const rest = isKept && kept.after !== undefined && seen.has(kept.after) ? kept : none
  const next = rest.after === undefined ? data?.next : rest.next
  const more = () => {
    if (next === undefined || action.isBusy) return
    void action.act(ask(next, 0), (page) => {
      const last = items.at(-1)
      const after = rest.after ?? (last === undefined ? undefined : keyOf(last))
      setKept({ key, after, items: [...rest.items, ...page.items], next: page.next })
    })
  }
  return {
    items: [...items, ...rest.items.filter((item) => !seen.has(keyOf(item)))],
    isLoaded: data !== undefined,
    isLoading: first.isLoading || action.isBusy,
    hasMore: next !== undefined,
    error: first.error ?? action.error,
    more,
    refresh: first.refresh
  }
}

/** Questions to the server, and what a person does to it. */
import type * as Effect from "effect/Effect"
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react"
import type { ApiError } from "../../src/http/api/ApiError.js"
import { problemOf, run } from "./client.js"

/** Milliseconds. */
const AGAIN = 2_000

export interface Query<A> {
  /** The last answer for this key. It stays while another one is asked for. */
  readonly data: A | undefined
  readonly error: ApiError | undefined
  readonly isLoading: boolean
  readonly refresh: () => void
}

interface Answer<A> {
  readonly key: string
  readonly data: A | undefined
  readonly error: ApiError | undefined
  readonly isLoading: boolean
}

/**
 * Asks the server when the key changes, and with `every` (milliseconds, at least 2,000) again and again while the page
 * is seen. A server that cannot be reached is asked again until it answers. `undefined` asks nothing.
 */
export const useQuery = <A, E>(
  key: string | undefined,
  ask: () => Effect.Effect<A, E>,
  { every }: { readonly every?: number | undefined } = {}
): Query<A> => {
  const [answer, setAnswer] = useState<Answer<A>>({ key: "", data: undefined, error: undefined, isLoading: true })
  const [round, setRound] = useState(0)
  const latest = useRef(ask)
  latest.current = ask
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks again
  useEffect(() => {
    if (key === undefined) return
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const later = (milliseconds: number) => {
      timer = setTimeout(() => {
        if (document.visibilityState === "visible") question()
        else later(milliseconds)
      }, milliseconds)
    }
    const question = () => {
      run(latest.current(), controller.signal).then(
        (data) => {
          if (controller.signal.aborted) return
          setAnswer({ key, data, error: undefined, isLoading: false })
          if (every !== undefined) later(Math.max(every, AGAIN))
        },
        (cause) => {
          if (controller.signal.aborted) return
          const error = problemOf(cause)
          setAnswer((last) => ({ key, data: last.key === key ? last.data : undefined, error, isLoading: false }))
          if (error.reason === "unavailable" || error.reason === "rate") {
            later(Math.max((error.retryAfter ?? 0) * 1000, AGAIN))
          } else if (every !== undefined && error.reason !== "unsupported") later(Math.max(every, AGAIN))
        }
      )
    }
    setAnswer((last) =>
      last.key === key ? { ...last, isLoading: true } : { key, data: undefined, error: undefined, isLoading: true }
    )
    question()
    return () => {
      controller.abort()
      if (timer !== undefined) clearTimeout(timer)
    }
  }, [key, every, round])
  const refresh = useCallback(() => setRound((last) => last + 1), [])
  const isThis = answer.key === key
  return {
    data: isThis ? answer.data : undefined,
    error: isThis ? answer.error : undefined,
    isLoading: key !== undefined && (!isThis || answer.isLoading),
    refresh
  }
}

export interface Action {
  /** Does it, unless something else is being done. Returns whether it was done. */
  readonly act: <A, E>(effect: Effect.Effect<A, E>, done?: (value: A) => void) => Promise<boolean>
  readonly isBusy: boolean
  readonly error: ApiError | undefined
  readonly clear: () => void
}

export const useAction = (): Action => {
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly error: ApiError | undefined }>({
    isBusy: false,
    error: undefined
  })
  const busy = useRef(false)
  const act = useCallback(async <A, E>(effect: Effect.Effect<A, E>, done?: (value: A) => void): Promise<boolean> => {
    if (busy.current) return false
    busy.current = true
    setState({ isBusy: true, error: undefined })
    try {
      const value = await run(effect)
      busy.current = false
      setState({ isBusy: false, error: undefined })
      done?.(value)
      return true
    } catch (cause) {
      busy.current = false
      setState({ isBusy: false, error: problemOf(cause) })
      return false
    }
  }, [])
  const clear = useCallback(() => setState({ isBusy: false, error: undefined }), [])
  return { act, ...state, clear }
}

/** The part of the address after `#/`: the view, its parts, and its parameters. */
export interface Route {
  readonly view: string
  readonly parts: ReadonlyArray<string>
  readonly params: URLSearchParams
}

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const routeOf = (hash: string): Route => {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2)
  const [view = "", ...parts] = path.split("/").map(decoded)
  return { view, parts: parts.filter((part) => part !== ""), params: new URLSearchParams(query) }
}

const subscribe = (notify: () => void) => {
  addEventListener("hashchange", notify)
  return () => removeEventListener("hashchange", notify)
}

export const useRoute = (): Route => routeOf(useSyncExternalStore(subscribe, () => location.hash))

/** The address of a view, such as `linkTo("runs", [runId], { search: "x" })`. */
export const linkTo = (
  view: string,
  parts: ReadonlyArray<string> = [],
  params: Readonly<Record<string, string | undefined>> = {}
): string => {
  const given = Object.entries(params).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""
  )
  const query = new URLSearchParams(given).toString()
  return `#/${[view, ...parts].map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`
}

/** Changes parameters of the address, without a step in the history. */
export const setParams = (route: Route, params: Readonly<Record<string, string | undefined>>): void => {
  const all = { ...Object.fromEntries(route.params), ...params }
  history.replaceState(null, "", linkTo(route.view, route.parts, all))
  dispatchEvent(new HashChangeEvent("hashchange"))
}

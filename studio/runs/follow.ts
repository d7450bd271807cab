/** Follows the events of a run into its fold. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { useEffect, useRef, useState } from "react"
import type { ApiError } from "../../src/http/api/ApiError.js"
import { problemOf, run } from "../lib/client.js"
import { useConnection } from "../lib/session.js"
import { RunFold } from "./fold.js"

export interface Followed {
  readonly fold: RunFold
  readonly error: ApiError | undefined
  /** Whether all events that there are have been read. */
  readonly isOver: boolean
}

/** Milliseconds between two looks at a fold that changes. */
const LOOK = 80

/**
 * The run by its events, from the first one on; those that come are added as they come, also after the server was
 * restarted. `onChange` of the component happens at most every 80 ms, however many events come.
 */
export const useFollow = (runId: string | undefined): Followed => {
  const { events } = useConnection()
  const [state, setState] = useState<Followed>(() => ({ fold: new RunFold(), error: undefined, isOver: false }))
  const [, setVersion] = useState(0)
  const latest = useRef(state.fold)
  useEffect(() => {
    const fold = new RunFold()
    latest.current = fold
    setState({ fold, error: undefined, isOver: false })
    if (runId === undefined) return
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = () => {
      timer = undefined
      setVersion(fold.version)
    }
    const all = Stream.runForEachChunk(events(runId), (chunk) =>
      Effect.sync(() => {
        for (const event of Chunk.toReadonlyArray(chunk)) fold.push(event)
        timer ??= setTimeout(look, LOOK)
      })
    )
    run(all, controller.signal).then(
      () => {
        if (!controller.signal.aborted) setState({ fold, error: undefined, isOver: true })
      },
      (cause) => {
        if (!controller.signal.aborted) setState({ fold, error: problemOf(cause), isOver: true })
      }
    )
    return () => {
      controller.abort()
      if (timer !== undefined) clearTimeout(timer)
    }
  }, [runId, events])
  return state.fold === latest.current ? state : { fold: latest.current, error: undefined, isOver: false }
}

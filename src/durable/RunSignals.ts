/**
 * Tells readers of this process that a run has changed.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** One reader of a run. */
export interface Follower {
  /** Completes if the run has changed since the last time, else with the next change or after a time. */
  readonly changed: (atMost: Duration.Duration) => Effect.Effect<void>
}

export interface RunSignals {
  readonly tell: (runId: string) => void
  readonly follow: (runId: string) => Effect.Effect<Follower, never, Scope.Scope>
}

class Reader implements Follower {
  private hasChanged = false
  private wake: (() => void) | undefined

  tell(): void {
    this.hasChanged = true
    this.wake?.()
  }

  private readonly told = Effect.async<void>((resume) => {
    if (this.hasChanged) return resume(Effect.void)
    this.wake = () => resume(Effect.void)
    return Effect.sync(() => {
      this.wake = undefined
    })
  })

  readonly changed = (atMost: Duration.Duration): Effect.Effect<void> =>
    Effect.map(Effect.raceFirst(this.told, Effect.sleep(atMost)), () => {
      this.hasChanged = false
      this.wake = undefined
    })
}

export const make = (): RunSignals => {
  const readers = new Map<string, Set<Reader>>()
  const enter = (runId: string): Reader => {
    const reader = new Reader()
    const known = readers.get(runId)
    if (known === undefined) readers.set(runId, new Set([reader]))
    else known.add(reader)
    return reader
  }
  const leave = (runId: string, reader: Reader): void => {
    const known = readers.get(runId)
    known?.delete(reader)
    if (known?.size === 0) readers.delete(runId)
  }
  return {
    tell: (runId) => {
      for (const reader of readers.get(runId) ?? []) reader.tell()
    },
    follow: (runId) =>
      Effect.acquireRelease(
        Effect.sync(() => enter(runId)),
        (reader) => Effect.sync(() => leave(runId, reader))
      )
  }
}

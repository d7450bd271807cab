import * as PlatformError from "@effect/platform/Error"
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/**
 * An in-memory key-value store that can break at a given future write, before or after the write is done. It outlives
 * the layers that use it.
 */
export interface Breaking {
  readonly values: Map<string, string>
  /** Bytes and values written since the last call. */
  readonly measured: () => { readonly bytes: number; readonly writes: number; readonly reads: number }
  readonly breakAt: (write: number, when: "before" | "behind") => void
  /** Returns whether it has broken since it was told to; it works again afterwards. */
  readonly mend: () => boolean
  readonly layer: Layer.Layer<KeyValueStore.KeyValueStore>
}

const refusal = (method: string) =>
  new PlatformError.SystemError({
    module: "KeyValueStore",
    method,
    reason: "WriteZero",
    description: "the disk is full of secrets"
  })

export const make = (): Breaking => {
  const values = new Map<string, string>()
  let remaining = Number.POSITIVE_INFINITY
  let place: "before" | "behind" = "before"
  let isBroken = false
  let counted = { bytes: 0, writes: 0, reads: 0 }
  const change = (method: string, bytes: number, write: () => void) =>
    Effect.suspend(() => {
      if (isBroken) return Effect.fail(refusal(method))
      counted.writes++
      counted.bytes += bytes
      isBroken = --remaining === 0
      if (!isBroken || place === "behind") write()
      return isBroken ? Effect.fail(refusal(method)) : Effect.void
    })
  return {
    values,
    measured: () => {
      const since = counted
      counted = { bytes: 0, writes: 0, reads: 0 }
      return since
    },
    breakAt: (write, when) => {
      remaining = write
      place = when
    },
    mend: () => {
      const was = isBroken
      isBroken = false
      remaining = Number.POSITIVE_INFINITY
      return was
    },
    layer: Layer.succeed(
      KeyValueStore.KeyValueStore,
      KeyValueStore.makeStringOnly({
        get: (key) =>
          Effect.sync(() => {
            counted.reads++
            return Option.fromNullable(values.get(key))
          }),
        set: (key, value) =>
          change("set", Buffer.byteLength(key) + Buffer.byteLength(value), () => {
            values.set(key, value)
          }),
        remove: (key) =>
          change("remove", 0, () => {
            values.delete(key)
          }),
        clear: Effect.sync(() => values.clear()),
        size: Effect.sync(() => values.size)
      })
    )
  }
}

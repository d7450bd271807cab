/**
 * A session store that counts calls, and bytes written and read.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SessionStore from "../../src/session/turn/SessionStore.js"

export interface Counts {
  /** Calls by method. */
  readonly calls: Readonly<Record<string, number>>
  readonly written: number
  readonly read: number
}

export interface Service {
  /** Counts since the last call. */
  readonly take: Effect.Effect<Counts>
}

export class CountingSessionStore extends Context.Tag("effect-lexigram/test/support/CountingSessionStore")<
  CountingSessionStore,
  Service
>() {}

/** Size of a value as JSON, with eight bytes per number. */
export const sizeOf = (value: unknown): number =>
  Buffer.byteLength((JSON.stringify(value) ?? "").replace(/(?<=[:,[])-?\d[\d.e+-]*(?=[,}\]])/g, "00000000"))

const writers: ReadonlyArray<string> = ["create", "save", "append"]

const counting = (store: SessionStore.Service): { readonly store: SessionStore.Service; readonly counts: Service } => {
  let calls = new Map<string, number>()
  let written = 0
  let read = 0
  const counted =
    (name: string, method: (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>) =>
    (...args: ReadonlyArray<unknown>) =>
      Effect.suspend(() => {
        calls.set(name, (calls.get(name) ?? 0) + 1)
        if (writers.includes(name)) written += sizeOf(args)
        return Effect.tap(method.apply(store, args as Array<unknown>), (result) => {
          read += sizeOf(result)
        })
      })
  return {
    store: new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        return typeof member === "function" ? counted(String(name), member as never) : member
      }
    }),
    counts: {
      take: Effect.sync(() => {
        const counts = { calls: Object.fromEntries(calls), written, read }
        calls = new Map()
        written = 0
        read = 0
        return counts
      })
    }
  }
}

/** Wraps the store of another layer. */
export const layer = <E, R>(
  of: Layer.Layer<SessionStore.SessionStore, E, R>
): Layer.Layer<SessionStore.SessionStore | CountingSessionStore, E, R> =>
  Layer.effectContext(
    Effect.map(SessionStore.SessionStore, (inner) => {
      const { counts, store } = counting(inner)
      return Context.make(SessionStore.SessionStore, store).pipe(Context.add(CountingSessionStore, counts))
    })
  ).pipe(Layer.provide(of))

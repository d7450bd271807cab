/**
 * Keeps updates of nodes by what they depend on.
 *
 * @since 0.1.0
 * @private
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import * as Sha256 from "../internal/text/Sha256.js"
import type { Fields } from "./GraphChoice.js"
import * as GraphCodec from "./GraphCodec.js"
import type { CacheOptions, CacheStore, Handler } from "./GraphDefinition.js"

const defaultCapacity = 256

interface Cached {
  readonly graph: string
  readonly node: string
  readonly cache: CacheOptions<any>
  readonly codec: GraphCodec.Codec
  readonly fields: ReadonlySet<string>
  readonly targets: ReadonlyArray<string>
}

/** A store in this process, which forgets the least recently used updates. */
const inProcess = (capacity: number): CacheStore => {
  // A Map keeps the order of insertion: reading an entry inserts it again, so the first one is the oldest.
  const entries = new Map<string, { readonly value: string; readonly expiresAt: number }>()
  const kept = (key: string, now: number): Option.Option<string> => {
    const entry = entries.get(key)
    if (entry === undefined) return Option.none()
    entries.delete(key)
    if (entry.expiresAt <= now) return Option.none()
    entries.set(key, entry)
    return Option.some(entry.value)
  }
  return {
    get: (key) => Effect.map(Clock.currentTimeMillis, (now) => kept(key, now)),
    set: (key, value, { ttl = Duration.infinity } = {}) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        entries.delete(key)
        entries.set(key, { value, expiresAt: now + Duration.toMillis(ttl) })
        if (entries.size > capacity) entries.delete(entries.keys().next().value as string)
      })
  }
}

/** The handler, unless there is an update for the key of the state. */
export const make = (run: Handler<any, any, any>, options: Cached): Handler<any, any, any> => {
  const { cache, codec, fields, graph, node, targets } = options
  // An update of an earlier version of the graph may not fit.
  const version = ["graph", graph, node, Array.from(fields), targets]
  const store = cache.store ?? inProcess(cache.capacity ?? defaultCapacity)
  const { key, ttl } = cache
  const withoutCache =
    (problem: string) =>
    (error: unknown): Effect.Effect<Option.Option<never>> =>
      Effect.annotateLogs(Effect.logWarning(problem), { graph, node, error: tagOf(error) }).pipe(
        Effect.as(Option.none())
      )
  const keyOf = (state: Fields): Effect.Effect<string, string> =>
    Effect.map(key === undefined ? codec.encode(state) : GraphCodec.json(key(state)), (json) =>
      Sha256.hex(JSON.stringify([...version, CanonicalJson.stringify(json)]))
    )
  const load = (id: string): Effect.Effect<Option.Option<Fields>> =>
    Effect.flatMap(store.get(id), (found) =>
      Option.isNone(found)
        ? Effect.succeed(Option.none<Fields>())
        : Effect.asSome(
            Effect.filterOrFail(
              Effect.flatMap(
                Effect.try(() => GraphCodec.writesOf(found.value)),
                codec.decodeUpdate
              ),
              (update: Fields) => Object.keys(update).every((field) => fields.has(field))
            )
          )
    ).pipe(Effect.catchAll(withoutCache("The cached update of a node cannot be read")))
  const save = (id: string, state: Fields, update: Fields): Effect.Effect<unknown> =>
    Effect.flatMap(codec.encodeUpdate(state, update), (writes) =>
      store.set(id, JSON.stringify(writes), ttl === undefined ? undefined : { ttl })
    ).pipe(Effect.catchAll(withoutCache("The update of a node cannot be cached")))
  return (state, context) =>
    Effect.flatMap(Effect.option(keyOf(state)), (id) => {
      const ran = Effect.suspend(() => run(state, context))
      if (Option.isNone(id)) {
        return Effect.zipRight(withoutCache("The key of a cached node is not JSON")(undefined), ran)
      }
      return Effect.flatMap(load(id.value), (found) =>
        Option.isSome(found)
          ? Effect.succeed(found.value)
          : Effect.tap(ran, (update) =>
              Predicate.isReadonlyRecord(update) ? save(id.value, state, update) : Effect.void
            )
      )
    })
}

const tagOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : "unknown"

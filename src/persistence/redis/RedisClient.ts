/**
 * A connection to Redis (6.2 or later, one server or a cluster) through `ioredis`, shared by all stores on that server.
 *
 * Every command ends within `commandTimeout`, whatever the server does. While the connection is down, a command waits
 * for it to come back until its timeout; there is no other queue. A command that was sent but not answered fails and is
 * never resent automatically, because it may have been executed. The client reconnects for as long as the layer lives.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { DatabaseError, PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as RedisConnection from "./RedisConnection.js"
import type { Argument, Script } from "./RedisScript.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  readonly isCluster: boolean
  /**
   * Sends any command. The reply is what Redis sends: texts, integers, `null`, and lists of these; a record for
   * `hgetall`.
   */
  readonly command: (name: string, ...args: ReadonlyArray<Argument>) => Effect.Effect<unknown, DatabaseError>
  /**
   * Runs a script. Its text is sent only to a server that does not know it yet. In a cluster all keys must be in one
   * slot.
   */
  readonly evaluate: (
    script: Script,
    keys: ReadonlyArray<string>,
    args: ReadonlyArray<Argument>
  ) => Effect.Effect<unknown, DatabaseError>
  /**
   * Visits all keys with the prefix page by page, on every master of a cluster. A key may be visited twice. The server
   * scans all of its keys, a thousand at a time: use it for maintenance only.
   */
  readonly scan: <E, R>(
    prefix: string,
    each: (keys: ReadonlyArray<string>) => Effect.Effect<void, E, R>
  ) => Effect.Effect<void, E | DatabaseError, R>
  /** Succeeds if the server answers. */
  readonly health: Effect.Effect<void, DatabaseError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class RedisClient extends Context.Tag("effect-lexigram/persistence/RedisClient")<RedisClient, Service>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends RedisConnection.Options {}

/**
 * Connects; fails if the server does not answer or refuses the connection. The scope closes the connection. Requires
 * the package `ioredis`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options = {}
): Effect.Effect<Service, DatabaseError | PersistenceConfigurationError, Scope.Scope> =>
  Effect.map(RedisConnection.open(options), (connection): Service => {
    const { send } = connection
    return {
      isCluster: connection.isCluster,
      command: (name, ...args) => send((redis) => redis.call(name, args as Array<string | number>)),
      evaluate: (script, keys, args) => connection.evaluate(script, keys, args),
      scan: connection.scan,
      health: Effect.asVoid(send((redis) => redis.ping()))
    }
  })

/**
 * @example
 * ```ts
 * import { RedisClient, RedisSessionStore } from "effect-lexigram/persistence"
 * import * as Config from "effect/Config"
 * import * as Layer from "effect/Layer"
 *
 * const redis = RedisClient.layerConfig({ url: Config.redacted("REDIS_URL") })
 *
 * export const sessions = RedisSessionStore.layer().pipe(Layer.provide(redis))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<RedisClient, DatabaseError | PersistenceConfigurationError> => Layer.scoped(RedisClient, make(options))

/**
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<RedisClient, DatabaseError | PersistenceConfigurationError | ConfigError> =>
  Layer.scoped(RedisClient, Effect.flatMap(Config.unwrap(config), make))

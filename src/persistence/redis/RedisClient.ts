/**
 * A connection to Redis (6.2 or later, one server or a cluster) over `ioredis`, shared by all stores that keep
 * something there.
 *
 * Every command ends within `commandTimeout`, whatever the server does. While the connection is down a command waits
 * for it to come back, as long as its time allows, and nothing is kept in a queue beyond that. A command that was sent
 * and not answered fails, and is never sent again by itself: whether it was done is not known. The connection is built
 * anew for as long as the layer lives.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { DatabaseError, PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as RedisConnection from "./RedisConnection.js"

/**
 * A program in Lua that the server runs as one step, which no other command can see half of.
 *
 * @since 0.1.0
 * @category models
 */
export interface Script {
  readonly lua: string
  /** What the server knows it by. */
  readonly sha: string
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const script = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

/**
 * Texts are sent as UTF-8: one with lone surrogates does not come back as it was.
 *
 * @since 0.1.0
 * @category models
 */
export type Argument = string | number

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  readonly isCluster: boolean
  /**
   * Any command. What comes back is as Redis has it: texts, whole numbers, `null`, and lists of these; of `hgetall` a
   * record.
   */
  readonly command: (name: string, ...args: ReadonlyArray<Argument>) => Effect.Effect<unknown, DatabaseError>
  /**
   * Runs a script, which is sent as a whole only to a server that does not know it. In a cluster all keys lie in one
   * slot.
   */
  readonly evaluate: (
    script: Script,
    keys: ReadonlyArray<string>,
    args: ReadonlyArray<Argument>
  ) => Effect.Effect<unknown, DatabaseError>
  /**
   * Goes through all keys that begin with the prefix, of every master of a cluster, page by page; a key may come twice.
   * It looks at every key the server has, a thousand at a time: for maintenance only.
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
export interface Options {
  /**
   * `redis://user:password@host:port/0`, or `rediss://` for TLS. Several are nodes of one cluster, of which the first
   * says user and password.
   */
  readonly url?: Redacted.Redacted<string> | ReadonlyArray<Redacted.Redacted<string>> | undefined
  /** Instead of a URL, as are port, user, password, database and `tls`; `localhost` unless set. */
  readonly host?: string | undefined
  /** 6379 unless set. */
  readonly port?: number | undefined
  readonly username?: string | undefined
  readonly password?: Redacted.Redacted<string> | undefined
  /** 0 unless set. */
  readonly db?: number | undefined
  /** With `host`: encrypted, with the certificate checked. Default false. */
  readonly tls?: boolean | undefined
  /** Certificates (PEM) of who signs those of servers, where Node does not know them. */
  readonly ca?: string | undefined
  /** Whether the node belongs to a cluster. Default: whether a list of URLs is given. */
  readonly cluster?: boolean | undefined
  /** What the connection is named in `CLIENT LIST`; `effect-lexigram` unless set. */
  readonly connectionName?: string | undefined
  /** How long building the layer waits for the server; 10 seconds unless set. */
  readonly connectTimeout?: Duration.DurationInput | undefined
  /** How long a command may take, the wait for a connection included; 5 seconds unless set. */
  readonly commandTimeout?: Duration.DurationInput | undefined
}

/**
 * Connects, and fails when the server does not answer or refuses. The scope closes the connection. It needs the package
 * `ioredis`.
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

/**
 * Lua scripts that a Redis server runs as one step. No other command can observe a script halfway.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"

/**
 * @since 0.1.0
 * @category models
 */
export interface Script {
  readonly lua: string
  /** SHA-1 of the text, by which the server knows it. */
  readonly sha: string
}

/**
 * Texts are sent as UTF-8: a text with lone surrogates does not come back unchanged.
 *
 * @since 0.1.0
 * @category models
 */
export type Argument = string | number

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { RedisClient, RedisScript } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * const takeTicket = RedisScript.make(`
 *   local ticket = redis.call("INCR", KEYS[1])
 *   redis.call("EXPIRE", KEYS[1], ARGV[1])
 *   return ticket
 * `)
 *
 * const program = Effect.flatMap(RedisClient.RedisClient, (redis) => redis.evaluate(takeTicket, ["tickets"], [3_600]))
 * ```
 */
export const make = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

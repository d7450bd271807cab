/**
 * A `RateLimitStore` in Redis. All processes with one prefix share their limits, which are never exceeded.
 *
 * A take is one script. Windows of up to a minute are exact to the millisecond, longer ones have 3,600 slots, like in
 * memory. Redis removes the data of a key a minute after it has left its window. Time is that of the process that takes
 * (Effect's `Clock`): if two clocks differ, an amount counts from the later one, so the limit holds and the amount is
 * returned later.
 *
 * The data of a key is in one slot of a cluster, and keys are spread over all slots. This Redis must not evict
 * (`maxmemory-policy noeviction`), because an evicted limit is forgotten.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { GovernancePersistenceError } from "../../governance/store/GovernanceError.js"
import type { Service, TakeResult } from "../../governance/store/RateLimitStore.js"
import { RateLimitStore } from "../../governance/store/RateLimitStore.js"
import type { DatabaseError } from "../engine/PersistenceError.js"
import * as RedisClient from "./RedisClient.js"
import * as RedisScript from "./RedisScript.js"
import * as RedisText from "./RedisText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Prefix of every key. Default: `lexigram-rates`. */
  readonly prefix?: string | undefined
}

const EXACT_MS = 60_000
const SLOTS = 3600
const MARGIN_MS = 60_000

/**
 * `KEYS[1]` has the slots by time, `KEYS[2]` the amount of each and in `t` the total. Removes what has left the window
 * before anything else.
 */
const passing = `
local slots, amounts, now, window = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2])
-- Zero has no sign: Redis takes "-0" for no number.
local function text(number) return string.format("%.0f", number + 0) end
local passed = text(now - window)
local last = redis.call("zrange", slots, -1, -1)[1]
local total = 0
if last and tonumber(last) <= now - window then
  redis.call("del", slots, amounts)
  last = false
elseif last then
  while true do
    local gone = redis.call("zrange", slots, "-inf", passed, "byscore", "limit", 0, 1000)
    if #gone == 0 then break end
    local sum = 0
    for _, amount in ipairs(redis.call("hmget", amounts, unpack(gone))) do sum = sum + tonumber(amount) end
    redis.call("hdel", amounts, unpack(gone))
    redis.call("zremrangebyrank", slots, 0, #gone - 1)
    redis.call("hincrby", amounts, "t", text(-sum))
  end
  total = tonumber(redis.call("hget", amounts, "t"))
end
`

const taking = RedisScript.make(`${passing}
local slot, amount, limit = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if total + amount > limit then
  if amount > limit then return {0, total, -1} end
  local left, from = total + amount - limit, 0
  while true do
    local some = redis.call("zrange", slots, from, from + 99)
    if #some == 0 then return {0, total, 0} end
    for at, held in ipairs(redis.call("hmget", amounts, unpack(some))) do
      left = left - tonumber(held)
      if left <= 0 then return {0, total, tonumber(some[at]) + window - now} end
    end
    from = from + 100
  end
end
local at = math.ceil(now / slot) * slot
if last and tonumber(last) > at then at = tonumber(last) end
local name = text(at)
redis.call("zadd", slots, name, name)
redis.call("hincrby", amounts, name, text(amount))
redis.call("hincrby", amounts, "t", text(amount))
local life = text(at - now + window + ${MARGIN_MS})
redis.call("pexpire", slots, life)
redis.call("pexpire", amounts, life)
return {1, total + amount, at}
`)

const adjusting = RedisScript.make(`${passing}
local at, by = ARGV[3], tonumber(ARGV[4])
local held = last and redis.call("hget", amounts, at)
if held then
  if tonumber(held) + by < 0 then by = -tonumber(held) end
  redis.call("hincrby", amounts, at, text(by))
  redis.call("hincrby", amounts, "t", text(by))
end
return 0
`)

const peeking = RedisScript.make(`${passing}
return total
`)

const prefixOf = (options: Options | undefined): string => options?.prefix ?? "lexigram-rates"

const keysOf = (prefix: string, key: string): readonly [string, string] => {
  const name = RedisText.tag(`${prefix}:${key}`)
  return [`${name}:s`, `${name}:a`]
}

const failed = (cause: DatabaseError): GovernancePersistenceError =>
  new GovernancePersistenceError({ message: "The rates in Redis could not be read or written", cause })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service, never, RedisClient.RedisClient> =>
  Effect.map(RedisClient.RedisClient, ({ evaluate }): Service => {
    const prefix = prefixOf(options)
    const run = (
      script: RedisScript.Script,
      key: string,
      windowMs: number,
      ...args: ReadonlyArray<number>
    ): Effect.Effect<unknown, GovernancePersistenceError> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.mapError(evaluate(script, keysOf(prefix, key), [now, windowMs, ...args]), failed)
      )
    return {
      take: ({ amount, key, limit, windowMs }) => {
        const slotMs = windowMs <= EXACT_MS ? 1 : Math.ceil(windowMs / SLOTS)
        return Effect.map(run(taking, key, windowMs, slotMs, amount, limit), (reply): TakeResult => {
          const [allowed, current, third] = reply as readonly [0 | 1, number, number]
          if (allowed === 1) return { allowed: true, current, at: third }
          return third < 0 ? { allowed: false, current } : { allowed: false, current, retryAfterMs: third }
        })
      },
      adjust: ({ at, from, key, to, windowMs }) => Effect.asVoid(run(adjusting, key, windowMs, at, to - from)),
      peek: ({ key, windowMs }) => Effect.map(run(peeking, key, windowMs), Number)
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultGovernance } from "effect-lexigram/governance"
 * import { RedisClient, RedisRateLimitStore } from "effect-lexigram/persistence"
 * import * as Config from "effect/Config"
 * import * as Layer from "effect/Layer"
 *
 * const redis = RedisClient.layerConfig({ url: Config.redacted("REDIS_URL") })
 *
 * // 60 requests a minute for all processes together.
 * const governance = DefaultGovernance.layerWith({
 *   config: { rpmLimit: 60 },
 *   rates: RedisRateLimitStore.layer().pipe(Layer.provide(redis))
 * })
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<RateLimitStore, never, RedisClient.RedisClient> =>
  Layer.effect(RateLimitStore, make(options))

/**
 * Deletes the amounts of a key, for example when a user is erased; otherwise they expire when they leave their window.
 * Succeeds with whether there were any.
 *
 * @since 0.1.0
 * @category combinators
 */
export const forget = (
  key: string,
  options?: Options | undefined
): Effect.Effect<boolean, GovernancePersistenceError, RedisClient.RedisClient> =>
  Effect.flatMap(RedisClient.RedisClient, ({ command }) =>
    Effect.mapBoth(command("unlink", ...keysOf(prefixOf(options), key)), {
      onFailure: failed,
      onSuccess: (count) => Number(count) > 0
    })
  )

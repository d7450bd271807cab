/**
 * How much one caller may ask of a server.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RunPolicy } from "../../agent/record/RunPolicy.js"
import { count } from "../../internal/Count.js"
import { ApiError } from "./ApiError.js"
import type { Identity } from "./Authentication.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Requests of one caller in a minute, spread evenly, a tenth of them at once; default 600. */
  readonly requestsPerMinute?: number | undefined
  /** Streams that one caller follows at once; default 64. */
  readonly maxStreams?: number | undefined
  /** Bytes of the body of a request; default 8 MiB. */
  readonly maxBodyBytes?: number | undefined
  /** Callers whose rates are known at once; default 10,000. The one seen first is forgotten for a further one. */
  readonly maxCallers?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly maxBodyBytes: number
  /** The policy of the runs that a caller starts, by whatever edge. */
  readonly policy: (caller: Identity) => RunPolicy | undefined
  /** Counts a request. Fails with the reason `rate`. */
  readonly request: (caller: Identity) => Effect.Effect<void, ApiError>
  /** Counts a stream while the scope is open. Fails with the reason `rate`. */
  readonly stream: (caller: Identity) => Effect.Effect<void, ApiError, Scope.Scope>
}

/** Callers without a user share their limits. */
const keyOf = ({ tenantId, userId }: Identity): string => `${tenantId ?? ""}\u0000${userId ?? ""}`

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}, policy: Limits["policy"] = () => undefined): Limits => {
  const perMinute = count(options.requestsPerMinute, 600, 1)
  const maxStreams = count(options.maxStreams, 64, 1)
  const maxCallers = count(options.maxCallers, 10_000, 1)
  const interval = 60_000 / perMinute
  const burst = Math.max(1, perMinute / 10) * interval
  /** When the requests of each caller so far would have come, had they come evenly. */
  const times = new Map<string, number>()
  const streams = new Map<string, number>()
  return {
    policy,
    maxBodyBytes: count(options.maxBodyBytes, 8 * 1024 * 1024, 1),
    request: (caller) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const key = keyOf(caller)
        const before = times.get(key)
        const next = Math.max(now, before ?? 0) + interval
        if (next - now > burst + interval / 2) {
          return new ApiError({
            reason: "rate",
            message: `A caller may make ${perMinute} requests in a minute`,
            hint: "Wait, and send fewer requests at once",
            retryAfter: Math.max(1, Math.ceil((next - now - burst) / 1000))
          })
        }
        times.set(key, next)
        if (before === undefined && times.size > maxCallers) {
          for (const oldest of times.keys()) {
            times.delete(oldest)
            break
          }
        }
        return Effect.void
      }),
    stream: (caller) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          const key = keyOf(caller)
          const open = streams.get(key) ?? 0
          if (open >= maxStreams) {
            return new ApiError({
              reason: "rate",
              message: `A caller may follow ${maxStreams} streams at once`,
              hint: "Close one of them",
              retryAfter: 1
            })
          }
          streams.set(key, open + 1)
          return Effect.succeed(key)
        }),
        (key) =>
          Effect.sync(() => {
            const open = (streams.get(key) ?? 1) - 1
            if (open <= 0) streams.delete(key)
            else streams.set(key, open)
          })
      )
  }
}

/**
 * How much one caller may ask of a server.
 *
 * @since 0.1.0
 */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
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
  /**
   * Requests of one address in a minute that are refused for their credentials, a tenth of them at once; default 300.
   * Above it the address is refused unseen, also with good credentials, so that guessing is slow. Of IPv6 the network
   * counts (/64). Requests whose address is not known are not counted.
   */
  readonly refusalsPerMinute?: number | undefined
  /**
   * How many proxies stand before the server, each of which adds the address it was called from to `X-Forwarded-For`;
   * default 0: the address is that of the connection, and the header counts for nothing.
   */
  readonly proxies?: number | undefined
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
  /** Looks who calls. Fails with the reason `rate` for an address whose credentials were refused too often. */
  readonly attempt: (
    request: HttpServerRequest.HttpServerRequest,
    authenticate: Effect.Effect<Identity, ApiError>
  ) => Effect.Effect<Identity, ApiError>
  /** Counts a stream while the scope is open. Fails with the reason `rate`. */
  readonly stream: (caller: Identity) => Effect.Effect<void, ApiError, Scope.Scope>
}

/** Callers without a user share their limits. */
const keyOf = ({ tenantId, userId }: Identity): string => `${tenantId ?? ""}\u0000${userId ?? ""}`

/** How often something may happen for a key, evenly and a tenth of a minute at once. */
class Rate {
  private readonly interval: number
  private readonly burst: number
  /** When what happened so far would have, had it come evenly. */
  private readonly times = new Map<string, number>()

  constructor(
    perMinute: number,
    private readonly most: number
  ) {
    this.interval = 60_000 / perMinute
    this.burst = Math.max(1, perMinute / 10) * this.interval
  }

  /** Seconds until it may happen again; none if it may. */
  wait(key: string, now: number): number | undefined {
    const ahead = Math.max(now, this.times.get(key) ?? 0) + this.interval - now
    return ahead > this.burst + this.interval / 2 ? Math.max(1, Math.ceil((ahead - this.burst) / 1000)) : undefined
  }

  add(key: string, now: number): void {
    const before = this.times.get(key)
    this.times.set(key, Math.max(now, before ?? 0) + this.interval)
    if (before !== undefined || this.times.size <= this.most) return
    for (const oldest of this.times.keys()) {
      this.times.delete(oldest)
      return
    }
  }
}

const IPV4 = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/i

/** An address without its port. Whoever has one of IPv6 has its network. */
const networkOf = (text: string): string => {
  const v4 = IPV4.exec(text)?.[1]
  if (v4 !== undefined) return v4
  const [, address = text] = /^\[(.{2,45})\](?::\d{1,5})?$/.exec(text) ?? []
  const [left = "", right] = address.split("%", 1)[0]?.toLowerCase().split("::") ?? []
  const groups = (part: string) => (part === "" ? [] : part.split(":"))
  const [first, last] = [groups(left), groups(right ?? "")]
  const zeros = right === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  return [...first, ...Array.from({ length: zeros }, () => "0"), ...last].slice(0, 4).join(":")
}

/** The address that the outermost proxy was called from, or that of the connection. */
const addressOf = (
  { headers, remoteAddress }: HttpServerRequest.HttpServerRequest,
  proxies: number
): string | undefined => {
  const forwarded = proxies === 0 ? undefined : headers["x-forwarded-for"]?.split(",").at(-proxies)?.trim()
  const address = forwarded ?? Option.getOrUndefined(remoteAddress)
  return address === undefined || address === "" ? undefined : networkOf(address)
}

const refusedTooOften = (retryAfter: number): ApiError =>
  new ApiError({
    reason: "rate",
    message: "Too many requests of this address had no good credentials",
    hint: "Wait, and send good ones",
    retryAfter
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}, policy: Limits["policy"] = () => undefined): Limits => {
  const perMinute = count(options.requestsPerMinute, 600, 1)
  const maxStreams = count(options.maxStreams, 64, 1)
  const maxCallers = count(options.maxCallers, 10_000, 1)
  const proxies = count(options.proxies, 0, 0)
  const requests = new Rate(perMinute, maxCallers)
  const refusals = new Rate(count(options.refusalsPerMinute, 300, 1), maxCallers)
  const streams = new Map<string, number>()
  return {
    policy,
    maxBodyBytes: count(options.maxBodyBytes, 8 * 1024 * 1024, 1),
    request: (caller) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const key = keyOf(caller)
        const retryAfter = requests.wait(key, now)
        if (retryAfter !== undefined) {
          return new ApiError({
            reason: "rate",
            message: `A caller may make ${perMinute} requests in a minute`,
            hint: "Wait, and send fewer requests at once",
            retryAfter
          })
        }
        requests.add(key, now)
        return Effect.void
      }),
    attempt: (request, authenticate) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const address = addressOf(request, proxies)
        if (address === undefined) return authenticate
        const retryAfter = refusals.wait(address, now)
        if (retryAfter !== undefined) return refusedTooOften(retryAfter)
        return Effect.tapError(authenticate, ({ reason }) =>
          Effect.sync(() => {
            if (reason === "unauthenticated") refusals.add(address, now)
          })
        )
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

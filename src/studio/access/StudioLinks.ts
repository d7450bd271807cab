/**
 * Links to the studio that are good for one use, and the sessions of the browsers that used them.
 *
 * @private
 * @since 0.1.0
 */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import { ApiConfigurationError, ApiError } from "../../http/api/ApiError.js"
import type { Identity } from "../../http/api/Authentication.js"
import { SCOPE } from "./StudioDeveloper.js"

/**
 * @category models
 */
export interface Options {
  /** Who the browser of a link is. It gets the scope of developers besides. */
  readonly identity: Identity
  /** Sessions hold in every process with the same secret; default one of this process. */
  readonly secret?: Redacted.Redacted | undefined
}

/**
 * @category models
 */
export interface StudioLinks {
  /** A token for one use, in place of the last one. */
  readonly issue: Effect.Effect<Redacted.Redacted>
  /** The session of a browser that has the token, which then is used up; none for another token. */
  readonly redeem: (
    request: HttpServerRequest.HttpServerRequest,
    token: string
  ) => Effect.Effect<Option.Option<Redacted.Redacted>>
  /** The caller of a request that has the cookie of a session. Fails if a page of another site sent it. */
  readonly identityOf: (
    request: HttpServerRequest.HttpServerRequest
  ) => Effect.Effect<Option.Option<Identity>, ApiError>
}

/** Milliseconds. */
const LIFETIME = 7 * 24 * 60 * 60 * 1000

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::(\d{1,5}))?$/i

const isLoopback = ({ headers: { host } }: HttpServerRequest.HttpServerRequest): boolean =>
  host !== undefined && LOOPBACK.test(host)

/**
 * Cookies have no port: servers of the same machine would take those of each other.
 *
 * @category accessors
 */
export const cookieName = ({ headers: { host = "" } }: HttpServerRequest.HttpServerRequest): string =>
  `lexigram_studio_${LOOPBACK.exec(host)?.[1] ?? "80"}`

/**
 * No script reads it, and no page of another site has it sent.
 *
 * @category constants
 */
export const cookie = { httpOnly: true, path: "/", sameSite: "strict" } as const

/**
 * Whether a request with a cookie comes from a page of the server itself. Another port of this machine is the same site
 * for the rules of cookies.
 */
const isOwn = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const { host, origin } = headers
  const site = headers["sec-fetch-site"]
  return (
    (site === undefined || site === "same-origin" || site === "none") &&
    (origin === undefined || origin === `http://${host}` || origin === `https://${host}`)
  )
}

const foreign = new ApiError({
  reason: "forbidden",
  message: "A page of another site may not use the session of the studio"
})

const random = Effect.sync(() => Encoding.encodeBase64Url(globalThis.crypto.getRandomValues(new Uint8Array(32))))

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text))

const algorithm = { name: "HMAC", hash: "SHA-256" }

const session = /^(\d{1,15})\.([\w-]{43})\.([\w-]{43})$/

/** Whoever has a session can try secrets against its signature: shorter ones can be guessed. */
const SHORTEST = 16

/**
 * Fails if the secret has fewer than 16 characters.
 *
 * @category constructors
 */
export const make = ({ identity, secret }: Options): Effect.Effect<StudioLinks, ApiConfigurationError> =>
  Effect.gen(function* () {
    const { subtle } = globalThis.crypto
    const given = secret === undefined ? yield* random : Redacted.value(secret)
    if (given.length < SHORTEST) {
      return yield* new ApiConfigurationError({
        message: `The secret of the studio's sessions has fewer than ${SHORTEST} characters`,
        hint: "Take random characters, such as those of `openssl rand -base64 32`"
      })
    }
    const key = yield* Effect.promise(() =>
      subtle.importKey("raw", bytesOf(given), algorithm, false, ["sign", "verify"])
    )
    const sign = (text: string) =>
      Effect.map(
        Effect.promise(() => subtle.sign("HMAC", key, bytesOf(text))),
        (signature) => Encoding.encodeBase64Url(new Uint8Array(signature))
      )
    // What is kept of a token is its signature: the time of a comparison says nothing about the token.
    const pending = yield* Ref.make(Option.none<string>())
    // A session is that of this user alone, whoever else has a server with the same secret.
    const owner = JSON.stringify([identity.userId ?? null, identity.tenantId ?? null])
    const caller: Identity = { ...identity, scopes: [...(identity.scopes ?? []), SCOPE] }
    return {
      issue: Effect.gen(function* () {
        const token = yield* random
        yield* Ref.set(pending, Option.some(yield* sign(`link ${token}`)))
        return Redacted.make(token)
      }),
      redeem: (request, token) =>
        Effect.gen(function* () {
          if (!isLoopback(request) || token.length > 256) return Option.none()
          const signature = yield* sign(`link ${token}`)
          const isGood = yield* Ref.modify(pending, (link) =>
            Option.contains(link, signature) ? [true, Option.none()] : [false, link]
          )
          if (!isGood) return Option.none()
          const head = `${(yield* Clock.currentTimeMillis) + LIFETIME}.${yield* random}`
          return Option.some(Redacted.make(`${head}.${yield* sign(`session ${owner} ${head}`)}`))
        }),
      identityOf: (request) =>
        Effect.gen(function* () {
          const found = session.exec(request.cookies[cookieName(request)] ?? "")
          if (found === null || !isLoopback(request)) return Option.none()
          const [, until = "0", id, signature = ""] = found
          const bytes = Option.getOrUndefined(Encoding.decodeBase64Url(signature).pipe(Option.getRight))
          if (bytes === undefined) return Option.none()
          const isGood = yield* Effect.promise(() =>
            subtle.verify("HMAC", key, new Uint8Array(bytes), bytesOf(`session ${owner} ${until}.${id}`))
          )
          if (!isGood || Number(until) <= (yield* Clock.currentTimeMillis)) return Option.none()
          return isOwn(request) ? Option.some(caller) : yield* foreign
        })
    }
  })

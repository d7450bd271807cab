/**
 * Who calls: the port that every edge asks before it does anything. User and tenant come from verified credentials and
 * from nowhere else.
 *
 * @since 0.1.0
 */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { UserId } from "../../domain/Ids.js"
import type { SessionConfigurationError } from "../../session/turn/SessionError.js"
import * as SessionRequest from "../session/SessionRequest.js"
import * as SessionToken from "../session/SessionToken.js"
import { ApiConfigurationError, ApiError } from "./ApiError.js"

/**
 * A caller whose credentials were verified.
 *
 * @since 0.1.0
 * @category models
 */
export interface Identity {
  /** The owner of what the caller makes and reaches. Without one it reaches only what has no owner. */
  readonly userId?: UserId | undefined
  /** The tenant whose quotas its runs count for. */
  readonly tenantId?: UserId | undefined
  /** What the credentials allow, for the option `permits` of a server. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

/**
 * What a caller reaches: what is its own, and without a user what has no owner.
 *
 * @internal
 */
export const accessOf = ({ userId }: Identity): { readonly userId?: UserId } => (userId === undefined ? {} : { userId })

/**
 * The caller of the request that is being handled.
 *
 * @since 0.1.0
 * @category tags
 */
export class Caller extends Context.Tag("effect-lexigram/http/Caller")<Caller, Identity>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** True if callers have no identity. Such a server listens on this machine alone. */
  readonly isAnonymous: boolean
  /** The credentials that are taken, for `WWW-Authenticate` and the OpenAPI page. */
  readonly schemes: ReadonlyArray<Scheme>
  /** The caller. Fails with the reasons `unauthenticated`, `forbidden` and `unavailable`. */
  readonly authenticate: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<Identity, ApiError>
}

/**
 * A kind of credentials: a bearer token, or a key in a header.
 *
 * @since 0.1.0
 * @category models
 */
export type Scheme =
  | { readonly type: "bearer"; readonly format?: string | undefined }
  | { readonly type: "apiKey"; readonly header: string }

/**
 * @since 0.1.0
 * @category tags
 */
export class Authentication extends Context.Tag("effect-lexigram/http/Authentication")<Authentication, Service>() {}

const refused = (message: string): ApiError => new ApiError({ reason: "unauthenticated", message })

const missing = refused("The request has no credentials")
const invalid = refused("The credentials are not valid")

/**
 * Nobody is asked who they are. Callers reach what has no owner. `AgentServer` then listens on this machine alone.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerAnonymous: Layer.Layer<Authentication> = Layer.succeed(Authentication, {
  isAnonymous: true,
  schemes: [],
  authenticate: () => Effect.succeed({})
})

/** Longer credentials are refused unread. */
const LONGEST = SessionToken.maxTokenLength

const withBearer = (
  format: string | undefined,
  verify: (token: string) => Effect.Effect<Identity, ApiError>
): Service => ({
  isAnonymous: false,
  schemes: [{ type: "bearer", format }],
  authenticate: (request) => {
    const token = SessionRequest.bearer(request)
    if (token === undefined) return missing
    return token.length > LONGEST ? invalid : verify(token)
  }
})

/**
 * Bearer tokens that the application verifies: with its database, or with the server that issued them. `verify` returns
 * none for a token that is not valid.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerBearer = <R = never>(options: {
  readonly verify: (token: Redacted.Redacted) => Effect.Effect<Option.Option<Identity>, ApiError, R>
}): Layer.Layer<Authentication, never, R> =>
  Layer.effect(
    Authentication,
    Effect.map(Effect.context<R>(), (context) =>
      withBearer(undefined, (token) =>
        Effect.flatMap(
          Effect.provide(options.verify(Redacted.make(token)), context),
          Option.match({ onNone: () => invalid, onSome: Effect.succeed })
        )
      )
    )
  )

const ofToken = (reason: SessionToken.SessionTokenError["reason"]): ApiError =>
  reason === "unavailable"
    ? new ApiError({ reason: "unavailable", message: SessionToken.refusal(reason).message, retryAfter: 5 })
    : refused(SessionToken.refusal(reason).message)

/**
 * JSON Web Tokens (RFC 7519), verified by `SessionToken` on the optional package `jose`: with a secret, a public key, a
 * key set, or the URL of one. `sub` is the user, `tenant_id` the tenant, `scope` the scopes. A token without `sub` is
 * refused.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Authentication } from "effect-lexigram/http"
 *
 * const authentication = Authentication.layerJwt({
 *   jwksUrl: "https://login.example/.well-known/jwks.json",
 *   algorithms: ["ES256"],
 *   issuer: "https://login.example",
 *   audience: "agents"
 * })
 * ```
 */
export const layerJwt = (options: SessionToken.Options): Layer.Layer<Authentication, SessionConfigurationError> =>
  Layer.effect(
    Authentication,
    Effect.map(SessionToken.make(options), ({ verify }) =>
      withBearer("JWT", (token) =>
        Effect.matchEffect(verify(token), {
          onFailure: ({ reason }) => ofToken(reason),
          onSuccess: ({ scopes, tenantId, userId }) =>
            Option.isNone(userId)
              ? invalid
              : Effect.succeed({
                  userId: userId.value,
                  ...(scopes === undefined ? {} : { scopes }),
                  ...(tenantId === undefined ? {} : { tenantId })
                })
        })
      )
    )
  )

/**
 * A key and the caller that has it. With `sha256`, the server knows only the hash of the key, in hex.
 *
 * @since 0.1.0
 * @category models
 */
export type ApiKey = { readonly identity: Identity } & (
  | { readonly key: Redacted.Redacted }
  | { readonly sha256: string }
)

const sha256 = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (bytes) => Encoding.encodeHex(new Uint8Array(bytes))
  )

/** Shorter keys can be guessed. */
const SHORTEST = 16

const hashOf = (key: ApiKey): Effect.Effect<string, ApiConfigurationError> => {
  const wrong = (message: string) => new ApiConfigurationError({ message })
  if ("sha256" in key) {
    return /^[0-9a-f]{64}$/i.test(key.sha256)
      ? Effect.succeed(key.sha256.toLowerCase())
      : wrong("sha256 must be the hash of a key in 64 hexadecimal digits")
  }
  const text = Redacted.value(key.key)
  return text.length < SHORTEST ? wrong(`An API key needs at least ${SHORTEST} characters`) : sha256(text)
}

/**
 * Keys in a header, default `X-API-Key`. Keys are found by their hash, so that the time of a refusal says nothing about
 * them.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerApiKeys = (options: {
  readonly keys: ReadonlyArray<ApiKey>
  readonly header?: string | undefined
}): Layer.Layer<Authentication, ApiConfigurationError> =>
  Layer.effect(
    Authentication,
    Effect.gen(function* () {
      const header = (options.header ?? "x-api-key").toLowerCase()
      const known = new Map<string, Identity>()
      for (const key of options.keys) {
        const hash = yield* hashOf(key)
        if (known.has(hash)) return yield* new ApiConfigurationError({ message: "Two callers have the same API key" })
        known.set(hash, key.identity)
      }
      return {
        isAnonymous: false,
        schemes: [{ type: "apiKey" as const, header }],
        authenticate: ({ headers }) => {
          const given = Object.hasOwn(headers, header) ? headers[header] : undefined
          if (given === undefined) return missing
          return given.length > LONGEST
            ? invalid
            : Effect.flatMap(sha256(given), (hash) => {
                const identity = known.get(hash)
                return identity === undefined ? invalid : Effect.succeed(identity)
              })
        }
      }
    })
  )

/**
 * Takes the credentials of any of these. A request with credentials of one that are not valid is refused, also if those
 * of another one would be.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerAny = <E1, R1, E2, R2>(
  one: Layer.Layer<Authentication, E1, R1>,
  other: Layer.Layer<Authentication, E2, R2>
): Layer.Layer<Authentication, E1 | E2, R1 | R2> =>
  Layer.scoped(
    Authentication,
    Effect.map(Effect.zip(Layer.build(one), Layer.build(other)), ([a, b]) => {
      const first = Context.get(a, Authentication)
      const second = Context.get(b, Authentication)
      return {
        isAnonymous: first.isAnonymous || second.isAnonymous,
        schemes: [...first.schemes, ...second.schemes],
        authenticate: (request) =>
          Effect.catchIf(
            first.authenticate(request),
            (error) => Cause.originalError(error) === missing,
            () => second.authenticate(request)
          )
      }
    })
  )

/**
 * Verifies tokens (JWT, RFC 7519) that name the user of a request and, optionally, the session. The optional package
 * `jose` is loaded when a verifier is made.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { SessionId, UserId } from "../../domain/Ids.js"
import * as OptionalPackage from "../../provider/exchange/OptionalPackage.js"
import { SessionConfigurationError } from "../../session/turn/SessionError.js"

/**
 * The token is missing, invalid or expired, or the keys to verify it could not be fetched. The error never contains the
 * claims of the token.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionTokenError extends ErrorCode.TaggedError<SessionTokenError>(
  "effect-lexigram/http/SessionToken/SessionTokenError"
)("SessionTokenError", {
  ...ErrorCode.fields("LEX_ERR_SES_111"),
  reason: Schema.Literal("missing", "invalid", "expired", "unavailable")
}) {}

/**
 * The claims of a verified token.
 *
 * @since 0.1.0
 * @category models
 */
export interface Claims {
  /** Its `sub`. */
  readonly userId: Option.Option<UserId>
  readonly sessionId: Option.Option<SessionId>
  /** The tenant that the token names, if it names one. */
  readonly tenantId?: UserId | undefined
  /** The claim `scope` (RFC 8693), split at spaces; absent without one. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Verifier {
  /** Fails with the reasons `invalid`, `expired` or `unavailable`. */
  readonly verify: (token: string) => Effect.Effect<Claims, SessionTokenError>
}

/**
 * Signatures with a shared secret.
 *
 * @since 0.1.0
 * @category models
 */
export type SecretAlgorithm = "HS256" | "HS384" | "HS512"

/**
 * Signatures with a key pair.
 *
 * @since 0.1.0
 * @category models
 */
export type PublicKeyAlgorithm =
  | "RS256"
  | "RS384"
  | "RS512"
  | "PS256"
  | "PS384"
  | "PS512"
  | "ES256"
  | "ES384"
  | "ES512"
  | "EdDSA"

/**
 * Public keys (RFC 7517).
 *
 * @since 0.1.0
 * @category models
 */
export interface JsonWebKeySet {
  readonly keys: ReadonlyArray<{ readonly kty: string; readonly [name: string]: unknown }>
}

type Keys =
  | {
      /** At least as many bytes as the hash: 32, 48 or 64. */
      readonly secret: Redacted.Redacted<string | Uint8Array>
      readonly algorithms: readonly [SecretAlgorithm, ...ReadonlyArray<SecretAlgorithm>]
    }
  | {
      /** A public key as PEM (`BEGIN PUBLIC KEY`). */
      readonly publicKey: string
      readonly algorithms: readonly [PublicKeyAlgorithm, ...ReadonlyArray<PublicKeyAlgorithm>]
    }
  | {
      readonly jwks: JsonWebKeySet
      readonly algorithms: readonly [PublicKeyAlgorithm, ...ReadonlyArray<PublicKeyAlgorithm>]
    }
  | {
      /**
       * Where the keys are fetched from when they are needed: `https`, except on this machine. They are cached for 10
       * minutes and fetched again for an unknown key, at most every 30 seconds.
       */
      readonly jwksUrl: string
      readonly algorithms: readonly [PublicKeyAlgorithm, ...ReadonlyArray<PublicKeyAlgorithm>]
    }

/**
 * The keys and algorithms of accepted signatures; no other algorithm is accepted, and never `none`.
 *
 * @since 0.1.0
 * @category models
 */
export type Options = Keys & {
  /** The required issuer; default: anybody who has the key. */
  readonly issuer?: string | ReadonlyArray<string> | undefined
  /** The required audience; by default it is not checked. */
  readonly audience?: string | ReadonlyArray<string> | undefined
  /** The tolerated clock difference; default 5 seconds. */
  readonly clockTolerance?: Duration.DurationInput | undefined
  /** The claim that names the session; default `session_id`. */
  readonly sessionClaim?: string | undefined
  /** The claim that names the tenant; default `tenant_id`. */
  readonly tenantClaim?: string | undefined
}

const scopesOf = (claim: unknown): Pick<Claims, "scopes"> =>
  typeof claim === "string" ? { scopes: claim.split(" ").filter((scope) => scope !== "") } : {}

/**
 * Longer tokens are rejected unread.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxTokenLength = 8192

const secretBytes: Readonly<Record<SecretAlgorithm, number>> = { HS256: 32, HS384: 48, HS512: 64 }
const publicKeyAlgorithms: ReadonlySet<string> = new Set<PublicKeyAlgorithm>([
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA"
])

const messages = {
  missing: "The token is missing",
  invalid: "The token is not valid",
  expired: "The token has expired",
  unavailable: "The keys to verify the token could not be fetched"
} as const

/**
 * @since 0.1.0
 * @category constructors
 */
export const refusal = (reason: SessionTokenError["reason"]): SessionTokenError =>
  new SessionTokenError({ message: messages[reason], reason })

const misconfigured = (message: string): SessionConfigurationError => new SessionConfigurationError({ message })

type Jose = typeof import("jose")
type GetKey = import("jose").JWTVerifyGetKey

const load: Effect.Effect<Jose, SessionConfigurationError> = Effect.mapError(
  OptionalPackage.load({ name: "jose", provider: "Session tokens", modules: () => import("jose") }),
  (error) =>
    new SessionConfigurationError({
      message: "Verifying tokens needs the package jose, which could not be loaded",
      hint: "npm install jose",
      cause: error.cause
    })
)

const local = new Set(["localhost", "127.0.0.1", "[::1]"])

const urlOf = (text: string): URL | undefined => {
  try {
    const url = new URL(text)
    return url.protocol === "https:" || (url.protocol === "http:" && local.has(url.hostname)) ? url : undefined
  } catch {
    return undefined
  }
}

const getKeyOf = (jose: Jose, options: Options): Effect.Effect<GetKey, SessionConfigurationError> => {
  const algorithms: ReadonlyArray<string> = options.algorithms
  if (algorithms.length === 0) return Effect.fail(misconfigured("Name at least one algorithm"))
  if ("secret" in options) {
    const secret = Redacted.value(options.secret)
    const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret
    for (const algorithm of options.algorithms) {
      const least: number | undefined = secretBytes[algorithm]
      if (least === undefined) return Effect.fail(misconfigured("A secret verifies HS256, HS384 and HS512 only"))
      if (bytes.length < least) {
        return Effect.fail(misconfigured(`The secret is too short: ${algorithm} needs ${least} bytes`))
      }
    }
    return Effect.succeed(async () => bytes)
  }
  // A public key accepted as a secret would let anybody sign.
  if (!algorithms.every((algorithm) => publicKeyAlgorithms.has(algorithm))) {
    return Effect.fail(misconfigured("Public keys verify RS, PS and ES algorithms and EdDSA only"))
  }
  if ("jwksUrl" in options) {
    const url = urlOf(options.jwksUrl)
    return url === undefined
      ? Effect.fail(misconfigured("jwksUrl must be a URL that begins with https"))
      : Effect.sync(() => jose.createRemoteJWKSet(url))
  }
  if ("jwks" in options) {
    return Effect.try({
      try: () => jose.createLocalJWKSet(structuredClone(options.jwks) as import("jose").JSONWebKeySet),
      catch: () => misconfigured("jwks is not a set of JSON Web Keys")
    })
  }
  return Effect.tryPromise({
    try: async (): Promise<GetKey> => {
      const keys = new Map<string, CryptoKey>()
      for (const algorithm of algorithms) keys.set(algorithm, await jose.importSPKI(options.publicKey, algorithm))
      return async ({ alg }) => {
        const key = keys.get(alg)
        if (key === undefined) throw new jose.errors.JOSEAlgNotAllowed("The algorithm is not allowed")
        return key
      }
    },
    catch: () => misconfigured("publicKey is not a PEM public key that fits the algorithms")
  })
}

/** The codes of failures to fetch keys; a failure of `fetch` has none. */
const unavailable = new Set<unknown>(["ERR_JWKS_TIMEOUT", "ERR_JOSE_GENERIC", "ERR_JWKS_INVALID"])

const reasonOf = (error: unknown, isRemote: boolean): SessionTokenError["reason"] => {
  const code = (error as { readonly code?: unknown } | null)?.code
  if (code === "ERR_JWT_EXPIRED") return "expired"
  return isRemote && (typeof code !== "string" || unavailable.has(code) || !code.startsWith("ERR_J"))
    ? "unavailable"
    : "invalid"
}

const own = (payload: object, name: string): unknown =>
  Object.hasOwn(payload, name) ? (payload as { readonly [name: string]: unknown })[name] : undefined

const idOf = <A extends string>(
  is: (u: unknown) => u is A,
  claim: unknown
): Effect.Effect<Option.Option<A>, SessionTokenError> => {
  if (claim === undefined) return Effect.succeedNone
  return is(claim) ? Effect.succeedSome(claim) : Effect.fail(refusal("invalid"))
}

const isUserId = Schema.is(UserId)
const isSessionId = Schema.is(SessionId)

/**
 * Makes a verifier. A token must have a valid signature by one of the algorithms, an `exp` in the future, and an `nbf`,
 * if present, in the past; issuer and audience as configured; and `sub`, session and tenant, if present, must be
 * valid ids.
 *
 * Fails when the keys do not fit the algorithms, or when the package `jose` is missing.
 *
 * @example
 * ```ts
 * import { SessionToken } from "effect-lexigram/http"
 * import * as Config from "effect/Config"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const secret = yield* Config.redacted("SESSION_SECRET")
 *   const { verify } = yield* SessionToken.make({ secret, algorithms: ["HS256"], audience: "support" })
 *   return (token: string) => Effect.map(verify(token), ({ userId }) => userId)
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Verifier, SessionConfigurationError> {
  const jose = yield* load
  const getKey = yield* getKeyOf(jose, options)
  const isRemote = "jwksUrl" in options
  const sessionClaim = options.sessionClaim ?? "session_id"
  const tenantClaim = options.tenantClaim ?? "tenant_id"
  const { audience, issuer } = options
  const rules = {
    algorithms: [...options.algorithms],
    requiredClaims: ["exp"],
    clockTolerance: Duration.toSeconds(options.clockTolerance ?? "5 seconds"),
    ...(issuer === undefined ? {} : { issuer: typeof issuer === "string" ? issuer : [...issuer] }),
    ...(audience === undefined ? {} : { audience: typeof audience === "string" ? audience : [...audience] })
  }
  return {
    verify: Effect.fnUntraced(function* (token) {
      if (token.length > maxTokenLength) return yield* refusal("invalid")
      const now = yield* Clock.currentTimeMillis
      const currentDate = DateTime.toDateUtc(DateTime.unsafeMake(now))
      const { payload } = yield* Effect.tryPromise({
        try: () => jose.jwtVerify(token, getKey, { ...rules, currentDate }),
        catch: (error) => refusal(reasonOf(error, isRemote))
      })
      const tenantId = yield* idOf(isUserId, own(payload, tenantClaim))
      return {
        userId: yield* idOf(isUserId, own(payload, "sub")),
        sessionId: yield* idOf(isSessionId, own(payload, sessionClaim)),
        ...(Option.isNone(tenantId) ? {} : { tenantId: tenantId.value }),
        ...scopesOf(own(payload, "scope"))
      }
    })
  }
})

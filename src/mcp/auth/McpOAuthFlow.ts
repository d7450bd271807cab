/**
 * One authorization: the SDK's flow with a provider that pins the authorization server and checks what it answers.
 *
 * @private
 * @since 0.1.0
 */
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js"
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens
} from "@modelcontextprotocol/sdk/shared/auth.js"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import { type AuthFailure, isSecure } from "./McpAuthorization.js"
import * as McpOAuthFetch from "./McpOAuthFetch.js"
import * as McpTokens from "./McpTokens.js"

/** The parts of the SDK that are used. */
export interface Sdk {
  readonly auth: typeof import("@modelcontextprotocol/sdk/client/auth.js").auth
  readonly OAuthError: typeof import("@modelcontextprotocol/sdk/server/auth/errors.js").OAuthError
}

/** What the redirect to the client carried, with the names of OAuth. */
export interface Callback {
  readonly code?: string | undefined
  readonly state?: string | undefined
  readonly iss?: string | undefined
  readonly error?: string | undefined
}

/** How a client gets tokens. */
export interface Method {
  /** Absent: without a person. */
  readonly redirectUri: string | undefined
  readonly metadata: OAuthClientMetadata
  readonly metadataUrl: string | undefined
  /** A client that its authorization server knows already. */
  readonly client: (OAuthClientInformationMixed & { readonly issuer: string }) | undefined
  readonly addClientAuthentication: OAuthClientProvider["addClientAuthentication"]
  /** Exchanged for tokens (RFC 7523); absent for credentials of the client alone. */
  readonly assertion: ((server: URL) => Effect.Effect<Redacted.Redacted<string>, unknown>) | undefined
  /** Absent: nobody can be asked. */
  readonly ask: ((url: URL) => Effect.Effect<Callback, unknown>) | undefined
  readonly scope: string | undefined
  readonly askTimeout: Duration.Duration
  readonly timeout: Duration.Duration
  readonly allowPrivate: boolean | ReadonlyArray<string>
}

/** What is to be authorized. */
export interface Request {
  readonly server: URL
  readonly kept: McpTokens.Credentials
  readonly scope: string | undefined
  readonly resourceMetadataUrl: URL | undefined
  /** More scopes are wanted than a refresh token could give. */
  readonly isStepUp: boolean
}

/** A failure that passes through the SDK. */
class Stop extends Error {
  constructor(readonly failure: AuthFailure) {
    super(failure.message)
  }
}

const failed = (message: string, hint?: string): AuthFailure => ({
  reason: "AuthorizationFailed",
  message,
  ...(hint === undefined ? {} : { hint })
})

const sameUrl = (a: string, b: string): boolean =>
  a === b || (URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href)

type Kept = typeof McpTokens.Credentials.Encoded

class Provider implements OAuthClientProvider {
  readonly redirectUrl: string | undefined
  readonly clientMetadata: OAuthClientMetadata
  readonly clientMetadataUrl?: string
  readonly addClientAuthentication?: NonNullable<OAuthClientProvider["addClientAuthentication"]>
  readonly saveClientInformation?: (client: OAuthClientInformationMixed) => void
  readonly prepareTokenRequest?: () => URLSearchParams
  readonly expected = globalThis.crypto.randomUUID()
  address: URL | undefined
  discovery: OAuthDiscoveryState | undefined
  private verifier = ""

  constructor(
    private readonly method: Method,
    private readonly request: Request,
    public kept: Kept,
    assertion: Redacted.Redacted<string> | undefined
  ) {
    this.redirectUrl = method.redirectUri
    this.clientMetadata = method.metadata
    if (method.metadataUrl !== undefined) this.clientMetadataUrl = method.metadataUrl
    if (method.addClientAuthentication !== undefined) this.addClientAuthentication = method.addClientAuthentication
    if (method.redirectUri === undefined) {
      const { scope } = request
      const grant =
        assertion === undefined
          ? { grant_type: "client_credentials" }
          : { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: Redacted.value(assertion) }
      this.prepareTokenRequest = () => new URLSearchParams({ ...grant, ...(scope === undefined ? {} : { scope }) })
    } else if (method.client === undefined) {
      this.saveClientInformation = (client) => {
        this.kept = { ...this.kept, client: client as NonNullable<Kept["client"]> }
      }
    }
  }

  state(): string {
    return this.expected
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    const { client } = this.kept
    if (this.method.client !== undefined) return this.method.client
    const { redirectUri = "" } = this.method
    // A registration for another redirect is of no use.
    return client?.redirect_uris?.includes(redirectUri) === false
      ? undefined
      : (client as OAuthClientInformationMixed | undefined)
  }

  tokens(): OAuthTokens | undefined {
    const { tokens } = this.kept
    if (tokens === undefined || !this.request.isStepUp) return tokens as OAuthTokens | undefined
    const { refresh_token: _, ...rest } = tokens
    return rest as OAuthTokens
  }

  saveTokens(tokens: OAuthTokens): void {
    const asked = this.address?.searchParams.get("scope") ?? this.request.scope ?? this.kept.tokens?.scope
    // Without a scope in the answer the one asked for is granted.
    this.kept = { ...this.kept, tokens: { ...tokens, scope: tokens.scope ?? asked ?? undefined } }
  }

  redirectToAuthorization(url: URL): void {
    this.address = url
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier
  }

  codeVerifier(): string {
    return this.verifier
  }

  invalidateCredentials(scope: string): void {
    const { client, tokens } = this.kept
    this.kept = {
      ...(scope === "all" || scope === "client" ? {} : { client }),
      ...(scope === "all" || scope === "tokens" ? {} : { tokens })
    }
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.discovery
  }

  /** The code goes to the server that was asked: nothing is discovered again in this authorization. */
  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.discovery = state
    const { authorizationServerMetadata: metadata, authorizationServerUrl, resourceMetadata } = state
    const { client, redirectUri } = this.method
    if (client !== undefined && !sameUrl(client.issuer, authorizationServerUrl)) {
      const hint = "Its credentials are sent to no other server. Correct the issuer if it has moved"
      throw new Stop(failed("it names another authorization server than the one that knows the client", hint))
    }
    if (metadata === undefined) return
    if (resourceMetadata !== undefined && !sameUrl(metadata.issuer, authorizationServerUrl)) {
      throw new Stop(failed("the metadata of its authorization server is that of another one"))
    }
    if (redirectUri !== undefined && metadata.code_challenge_methods_supported?.includes("S256") !== true) {
      throw new Stop(failed("its authorization server does not support PKCE with S256"))
    }
  }
}

const failureOf = ({ OAuthError }: Sdk, error: unknown): AuthFailure => {
  if (error instanceof Stop) return error.failure
  // Texts of servers may quote secrets: only the names of errors are shown, which the SDK knows.
  if (error instanceof OAuthError) {
    return {
      reason: error.errorCode === "access_denied" ? "AuthorizationRefused" : "AuthorizationFailed",
      message: `its authorization server answered with the error ${error.errorCode}`
    }
  }
  const text = error instanceof Error ? error.message : ""
  if (text.includes("does not support dynamic client registration")) {
    return failed("its authorization server registers no clients", "Give a client, or the address of its metadata")
  }
  if (text.startsWith("Protected resource ")) return failed("its metadata is that of another resource")
  return failed("the answer of its authorization server does not follow the protocol")
}

/** What the redirect carried, if it belongs to this authorization. */
const codeOf = (provider: Provider, callback: Callback): Either.Either<string, AuthFailure> => {
  if (callback.state !== provider.expected) {
    return Either.left(failed("the answer to the authorization belongs to another one: its state does not fit"))
  }
  const metadata = provider.discovery?.authorizationServerMetadata
  const issuer = metadata?.issuer ?? provider.discovery?.authorizationServerUrl
  const claims: Readonly<Record<string, unknown>> = { ...metadata }
  const isRequired = claims["authorization_response_iss_parameter_supported"] === true
  if (callback.iss === undefined ? isRequired : callback.iss !== issuer) {
    return Either.left(failed("the answer to the authorization comes from another authorization server"))
  }
  if (callback.error !== undefined) {
    const name = /^[a-z_]{1,64}$/.test(callback.error) ? callback.error : "unknown"
    return Either.left({ reason: "AuthorizationRefused", message: `it was not authorized: ${name}` })
  }
  return typeof callback.code === "string" && callback.code !== ""
    ? Either.right(callback.code)
    : Either.left(failed("the answer to the authorization has no code"))
}

const ask = (method: Method, provider: Provider): Effect.Effect<string, AuthFailure> =>
  Effect.gen(function* () {
    const { address } = provider
    if (method.ask === undefined || address === undefined) {
      return yield* Effect.fail<AuthFailure>({
        reason: "AuthorizationNeeded",
        message: "it needs an authorization, and nobody can be asked for it",
        hint: "Give McpOAuth.authorizationCode the option authorize, or authorize elsewhere with the same McpTokens"
      })
    }
    if (!isSecure(address)) return yield* Effect.fail(failed("its page for authorizations is not https"))
    const callback = yield* method.ask(address).pipe(
      // The cause may quote the code, so it is dropped.
      Effect.mapError(() => failed("the authorization failed on the side of the program")),
      Effect.timeoutFail({ duration: method.askTimeout, onTimeout: () => failed("nobody authorized it in time") })
    )
    return yield* codeOf(provider, callback)
  })

const limited = <A, E>({ timeout }: Method, effect: Effect.Effect<A, E>): Effect.Effect<A, E | AuthFailure> =>
  Effect.timeoutFail(effect, {
    duration: timeout,
    onTimeout: () => failed(`its authorization server did not answer within ${Duration.format(timeout)}`)
  })

const decode = Schema.decodeUnknown(McpTokens.Credentials)
const encode = Schema.encodeSync(McpTokens.Credentials)

/**
 * Gets new tokens: by the refresh token that is kept, else as the method says. `save` receives what is to be kept,
 * whether the authorization succeeds or not.
 */
export const run = <E>(
  sdk: Sdk,
  method: Method,
  request: Request,
  save: (credentials: McpTokens.Credentials) => Effect.Effect<void, E>
): Effect.Effect<McpTokens.Credentials, AuthFailure | E> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const policy = McpOAuthFetch.policyOf({ server: request.server, allowPrivate: method.allowPrivate })
    if (Either.isLeft(policy)) return yield* Effect.fail(failed("the option allowPrivate has an invalid entry"))
    const assertion =
      method.assertion === undefined
        ? undefined
        : yield* limited(
            method,
            // The cause may quote the assertion, so it is dropped.
            Effect.mapError(method.assertion(request.server), () => failed("the program has no assertion for it"))
          )
    const provider = new Provider(method, request, encode(request.kept), assertion)
    // The SDK goes on without metadata that it could not get: an address that is refused ends the authorization.
    let refusal: AuthFailure | undefined
    const send = async (signal: AbortSignal, url: string | URL, init?: RequestInit): Promise<Response> => {
      if (refusal !== undefined) throw new Stop(refusal)
      const sent = McpOAuthFetch.send(policy.right, url, init)
      const exit = await Runtime.runPromise(runtime)(Effect.exit(Effect.either(sent)), { signal })
      if (Exit.isFailure(exit)) throw new Stop(failed("a request to its authorization server failed"))
      if (Either.isRight(exit.value)) return exit.value.right
      if (exit.value.left.hint !== undefined) refusal = exit.value.left
      throw new Stop(exit.value.left)
    }
    const step = (authorizationCode: string | undefined) =>
      Effect.tryPromise({
        try: (signal) =>
          sdk.auth(provider, {
            serverUrl: request.server,
            scope: request.scope as string,
            resourceMetadataUrl: request.resourceMetadataUrl as URL,
            authorizationCode: authorizationCode as string,
            fetchFn: (url, init) => send(signal, url, init)
          }),
        catch: (error) => refusal ?? failureOf(sdk, error)
      }).pipe(
        (step) => limited(method, step),
        Effect.flatMap((done) => (refusal === undefined ? Effect.succeed(done) : Effect.fail(refusal))),
        Effect.tapErrorCause(() => Effect.ignore(keep))
      )
    const credentials = Effect.suspend(() => decode(provider.kept)).pipe(
      Effect.mapError(() => failed("the answer of its authorization server does not follow the protocol"))
    )
    const keep = Effect.tap(credentials, save)
    if ((yield* step(undefined)) === "REDIRECT") {
      // The registration outlives an authorization that is given up.
      yield* keep
      yield* step(yield* ask(method, provider))
    }
    return yield* keep
  })

/**
 * Authorizes MCP clients over HTTP by OAuth 2.1, as the protocol demands: for persons by a code with PKCE, for programs
 * by their own credentials. Tokens are refreshed, and more scopes are asked for where a server needs them.
 *
 * @since 0.1.0
 */
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { McpError } from "../../skill/mcp/McpClient.js"
import { type Grant, isSecure } from "./McpAuthorization.js"
import type * as McpOAuthFlow from "./McpOAuthFlow.js"
import * as McpOAuthRenewal from "./McpOAuthRenewal.js"
import { McpTokens } from "./McpTokens.js"

/**
 * How a client is authorized: the option `auth` of `McpClientSdk.layerHttp`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Auth extends Grant {}

/**
 * The parameters of the redirect by which an authorization ends, with the names of OAuth: all of them are checked.
 *
 * @since 0.1.0
 * @category models
 */
export type Callback = McpOAuthFlow.Callback

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Whose tokens they are, where one program has clients for several persons. Default: the program's own. */
  readonly owner?: string | undefined
  /** Scopes separated by spaces. Default: those that the server names. */
  readonly scope?: string | undefined
  /** How often more scopes are asked for when the server denies a request (`insufficient_scope`). Default 3. */
  readonly maxStepUps?: number | undefined
  /** Time for the authorization server, before and after a person is asked. Default 30 s. */
  readonly timeout?: Duration.DurationInput | undefined
  /**
   * The server names where its authorization server is. `false`: only public addresses are used, and for a server on
   * this machine also this machine. `true`: also private networks. A list (`10.0.0.0/8`): also its entries. All are
   * reached over https, except this machine. Default `false`.
   */
  readonly allowPrivate?: boolean | ReadonlyArray<string> | undefined
}

/**
 * A client that the authorization server knows already.
 *
 * @since 0.1.0
 * @category models
 */
export interface KnownClient {
  readonly clientId: string
  /** Absent for a public client. */
  readonly clientSecret?: Redacted.Redacted<string> | undefined
  /** The address of the authorization server. The secret is sent to no other, whatever the MCP server says. */
  readonly issuer: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AuthorizationCodeOptions<E = never, R = never> extends Options {
  /** Where the authorization server sends the person back to. */
  readonly redirectUri: string | URL
  /**
   * Sends a person to the address and returns the parameters of the redirect, such as
   * `Object.fromEntries(url.searchParams)`. Limits of calls do not count meanwhile. Absent: only tokens that
   * `McpTokens` has are used and refreshed; without any the connection fails with reason `AuthorizationNeeded`.
   */
  readonly authorize?: ((url: URL) => Effect.Effect<Callback, E, R>) | undefined
  /** Time for the person. Default 10 minutes. */
  readonly authorizeTimeout?: Duration.DurationInput | undefined
  /** Default: the client registers itself. */
  readonly client?: KnownClient | undefined
  /** Address of the client's metadata document, its id where the authorization server supports that. */
  readonly clientMetadataUrl?: string | undefined
  /** Further fields of the registration (RFC 7591), such as `client_name`. */
  readonly clientMetadata?: Readonly<Record<string, unknown>> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PrivateKey {
  /** PKCS#8 as PEM. */
  readonly key: Redacted.Redacted<string>
  /** Such as `ES256`. */
  readonly algorithm: string
}

/**
 * @since 0.1.0
 * @category models
 */
export type ClientCredentialsOptions = Options &
  Pick<KnownClient, "clientId" | "issuer"> &
  (
    | { readonly clientSecret: Redacted.Redacted<string>; readonly privateKeyJwt?: undefined }
    | { readonly privateKeyJwt: PrivateKey; readonly clientSecret?: undefined }
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface JwtBearerOptions<E = never, R = never> extends Options, KnownClient {
  /** Gets an assertion for the authorization server and the MCP server, each time a token is needed. */
  readonly assertion: (target: {
    readonly issuer: string
    readonly resource: string
  }) => Effect.Effect<Redacted.Redacted<string>, E, R>
}

const loadSdk = async (): Promise<McpOAuthFlow.Sdk & { readonly flow: typeof McpOAuthFlow }> => {
  const [{ auth }, { OAuthError }, flow] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/auth.js"),
    import("@modelcontextprotocol/sdk/server/auth/errors.js"),
    import("./McpOAuthFlow.js")
  ])
  return { auth, OAuthError, flow }
}

const configuration = (server: string, message: string, hint: string): McpError =>
  new McpError({ server, reason: "Configuration", message: `The MCP server "${server}": ${message}`, hint })

const grant = (method: McpOAuthFlow.Method, options: Options): Effect.Effect<Auth, never, McpTokens> =>
  Effect.map(McpTokens, (tokens) => ({
    authorize: ({ name, url }) =>
      Effect.gen(function* () {
        if (!isSecure(url)) {
          return yield* configuration(name, "tokens are only sent over https", "Use an https address")
        }
        const sdk = yield* Effect.tryPromise({
          try: loadSdk,
          catch: () => configuration(name, "a package for OAuth is missing", "npm install @modelcontextprotocol/sdk")
        })
        return yield* McpOAuthRenewal.make({
          sdk,
          method,
          tokens,
          server: url,
          key: {
            server: url.href,
            owner: options.owner,
            client: method.client === undefined ? undefined : `${method.client.issuer} ${method.client.client_id}`
          },
          maxStepUps: options.maxStepUps ?? 3
        })
      })
  }))

const methodOf = (options: Options) => ({
  scope: options.scope,
  timeout: Duration.decode(options.timeout ?? "30 seconds"),
  allowPrivate: options.allowPrivate ?? false
})

const clientOf = ({ clientId, clientSecret, issuer }: KnownClient) => ({
  client_id: clientId,
  issuer,
  ...(clientSecret === undefined ? {} : { client_secret: Redacted.value(clientSecret) })
})

/**
 * Asks a person. The client is one that the authorization server knows, else that of `clientMetadataUrl`, else it
 * registers itself. PKCE (S256), the state and the issuer are checked; a server that supports no PKCE is refused.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import { McpClientSdk, McpOAuth, McpTokens } from "effect-lexigram/mcp"
 *
 * declare const openBrowser: (url: URL) => Effect.Effect<URL>
 *
 * const tracker = McpClientSdk.layerHttp({
 *   url: "https://mcp.tracker.example/mcp",
 *   auth: McpOAuth.authorizationCode({
 *     redirectUri: "http://localhost:8765/callback",
 *     authorize: (url) => Effect.map(openBrowser(url), (back) => Object.fromEntries(back.searchParams))
 *   })
 * }).pipe(Layer.provide(McpTokens.layerMemory))
 * ```
 */
export const authorizationCode = <E = never, R = never>(
  options: AuthorizationCodeOptions<E, R>
): Effect.Effect<Auth, never, McpTokens | R> =>
  Effect.flatMap(Effect.context<R>(), (context) => {
    const { authorize, client } = options
    const redirectUri = String(options.redirectUri)
    return grant(
      {
        ...methodOf(options),
        redirectUri,
        metadata: {
          client_name: "effect-lexigram",
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          ...options.clientMetadata,
          redirect_uris: [redirectUri]
        },
        metadataUrl: options.clientMetadataUrl,
        client: client === undefined ? undefined : clientOf(client),
        addClientAuthentication: undefined,
        assertion: undefined,
        ask: authorize === undefined ? undefined : (url) => Effect.provide(authorize(url), context),
        askTimeout: Duration.decode(options.authorizeTimeout ?? "10 minutes")
      },
      options
    )
  })

/** Signs with the key at the time of the request. */
const signed =
  (clientId: string, { algorithm, key }: PrivateKey): NonNullable<OAuthClientProvider["addClientAuthentication"]> =>
  async (...request) => {
    const { createPrivateKeyJwtAuth } = await import("@modelcontextprotocol/sdk/client/auth-extensions.js")
    const sign = createPrivateKeyJwtAuth({
      issuer: clientId,
      subject: clientId,
      privateKey: Redacted.value(key),
      alg: algorithm
    })
    return sign(...request)
  }

/**
 * Uses credentials of the program itself, without a person (SEP-1046).
 *
 * @since 0.1.0
 * @category constructors
 */
export const clientCredentials = (options: ClientCredentialsOptions): Effect.Effect<Auth, never, McpTokens> => {
  const { clientId, clientSecret, issuer, privateKeyJwt } = options
  return grant(
    {
      ...methodOf(options),
      redirectUri: undefined,
      metadata: { redirect_uris: [], grant_types: ["client_credentials"] },
      metadataUrl: undefined,
      client: clientOf({ clientId, clientSecret, issuer }),
      addClientAuthentication: privateKeyJwt === undefined ? undefined : signed(clientId, privateKeyJwt),
      assertion: undefined,
      ask: undefined,
      askTimeout: Duration.zero
    },
    options
  )
}

/**
 * Exchanges an assertion about a person for tokens (RFC 7523), without asking the person: an identity provider of an
 * enterprise issues the assertion (SEP-990).
 *
 * @since 0.1.0
 * @category constructors
 */
export const jwtBearer = <E = never, R = never>(
  options: JwtBearerOptions<E, R>
): Effect.Effect<Auth, never, McpTokens | R> =>
  Effect.flatMap(Effect.context<R>(), (context) =>
    grant(
      {
        ...methodOf(options),
        redirectUri: undefined,
        metadata: { redirect_uris: [], grant_types: ["urn:ietf:params:oauth:grant-type:jwt-bearer"] },
        metadataUrl: undefined,
        client: clientOf(options),
        addClientAuthentication: undefined,
        assertion: (server) =>
          Effect.provide(options.assertion({ issuer: options.issuer, resource: server.href }), context),
        ask: undefined,
        askTimeout: Duration.zero
      },
      options
    )
  )

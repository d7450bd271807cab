/**
 * MCP clients over standard input and output of a process, or over streamable HTTP, on `@modelcontextprotocol/sdk`.
 *
 * @since 0.1.0
 */

import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { McpClient, McpError, type Service } from "../skill/mcp/McpClient.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import type { Auth } from "./auth/McpOAuth.js"
import * as McpConnection from "./McpConnection.js"
import * as McpHttp from "./McpHttp.js"
import * as McpSdk from "./McpSdk.js"
import * as McpSession from "./McpSession.js"
import * as McpStdio from "./McpStdio.js"

/**
 * How a lost connection is restored. Requests in flight fail at once; the next request opens a new connection.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReconnectOptions {
  /** Schedule of connection attempts. Default: from 200 ms, doubling, with jitter, five attempts in all. */
  readonly schedule?: Schedule.Schedule<unknown, McpError> | undefined
  /** Maximum reconnections within `window`; further requests fail with reason `RestartLimit`. Default 5. */
  readonly maxRestarts?: number | undefined
  /** Default 1 minute. */
  readonly window?: Duration.DurationInput | undefined
  /**
   * Reconnects at once instead of on the next request, so that followers of `changes` see new lists of tools. Default
   * false.
   */
  readonly background?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ClientOptions {
  /** The server's name in names and errors. Default `mcp`. */
  readonly name?: string | undefined
  /** Time limit for the server to start and initialize. Default 30 s. */
  readonly connectTimeout?: Duration.DurationInput | undefined
  /** Default time limit without an answer. Default 60 s. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Time limit of a whole request, whatever its progress. Default: none. */
  readonly maxTotal?: Duration.DurationInput | undefined
  /** Maximum size of a message; a larger one ends the connection. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined
  /** `false`: a lost connection is not restored. */
  readonly reconnect?: ReconnectOptions | false | undefined
  /** Time for the server to end after the client is closed, before it is killed. Default 2 s. */
  readonly grace?: Duration.DurationInput | undefined
  /** Folders the server is told it may work in (`file://` addresses). This does not confine the server. */
  readonly roots?: ReadonlyArray<{ readonly uri: string; readonly name?: string | undefined }> | undefined
  /**
   * Whether the server is told that it may ask the user (`elicitation`). Its questions during a tool call wait in the
   * inbox of the call's run. Default: whether the `ApprovalGate` in context, if any, takes questions.
   */
  readonly elicitation?: boolean | undefined
  /**
   * Whether the model of a run answers what the server asks it during a tool call (`sampling`). Each request needs an
   * approval, as a call of the tool would (`ApprovalGate`), and its usage is the run's. Default `false`.
   */
  readonly sampling?: boolean | SamplingOptions | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SamplingOptions {
  /** Requests during one call of a tool; further ones are refused. Default 5. */
  readonly maxRequests?: number | undefined
  /** Maximum tokens of an answer, whatever the server asks for. Default 4,096. */
  readonly maxTokens?: number | undefined
  /**
   * Whether servers may give the model tools, which they run themselves (`sampling.tools`, 2025-11-25). Each round of
   * calls is a request of its own. Default `true`.
   */
  readonly tools?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface StdioOptions extends ClientOptions {
  /** An executable, started without a shell. */
  readonly command: string
  readonly args?: ReadonlyArray<string> | undefined
  readonly cwd?: string | undefined
  /**
   * The server's environment in addition to `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `TERM` and `TMPDIR` of this
   * process (on Windows their counterparts); nothing else is inherited. Redacted values are kept out of errors.
   */
  readonly env?: Readonly<Record<string, string | Redacted.Redacted<string>>> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface HttpOptions<R = never> extends ClientOptions {
  /**
   * The server's address. A user who chooses it can reach whatever this process can reach: check it first, or pass a
   * `fetch` that does. Redirects are followed within the origin only.
   */
  readonly url: string | URL
  /** Sent with every request, and nowhere else. An Effect is run for each request, so tokens can be renewed. */
  readonly headers?: McpHttp.Headers | Effect.Effect<McpHttp.Headers, unknown> | undefined
  /**
   * Authorizes the client by OAuth: `McpOAuth.authorizationCode` or `McpOAuth.clientCredentials`. The address must be
   * https, or of this machine.
   */
  readonly auth?: Effect.Effect<Auth, never, R> | undefined
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /**
   * How an interrupted answer is resumed, if the server supports it. Default: 3 attempts, the first after 200 ms.
   */
  readonly resume?:
    | { readonly attempts?: number | undefined; readonly delay?: Duration.DurationInput | undefined }
    | undefined
}

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

const inherited =
  process.platform === "win32"
    ? ["PATH", "PATHEXT", "SYSTEMROOT", "COMSPEC", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME", "TEMP"]
    : ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR"]

/** Read from the process, whatever the program's configuration: it says where commands are found. */
const inheritedEnvironment: Effect.Effect<Record<string, string>> = Effect.gen(function* () {
  const env: Record<string, string> = {}
  for (const name of inherited) {
    const value = yield* Effect.option(ConfigProvider.fromEnv({ pathDelim: "\0" }).load(Config.string(name)))
    if (Option.isSome(value)) env[name] = value.value
  }
  return env
})

const millis = (duration: Duration.DurationInput): number => Duration.toMillis(duration)

const connection = (
  server: string,
  sdk: McpSdk.Sdk,
  options: ClientOptions,
  secrets: ReadonlyArray<Redacted.Redacted<string>>,
  link: (events: McpSession.Events) => Effect.Effect<McpSession.Link, McpError, Scope.Scope>
): Effect.Effect<Service, McpError, Scope.Scope> =>
  Effect.flatMap(Effect.serviceOption(ApprovalGate.ApprovalGate), (gate) => {
    const { reconnect, sampling = false } = options
    const { maxRequests = 5, maxTokens = 4096, tools = true } = typeof sampling === "boolean" ? {} : sampling
    const hasInbox = Option.exists(gate, ({ elicit }) => elicit !== undefined)
    return McpConnection.make({
      server,
      timeout: Duration.decode(options.timeout ?? "60 seconds"),
      maxTotal: options.maxTotal === undefined ? undefined : Duration.decode(options.maxTotal),
      maxSamples: maxRequests,
      reconnect:
        reconnect === false
          ? undefined
          : {
              schedule: reconnect?.schedule ?? McpConnection.defaultSchedule,
              maxRestarts: reconnect?.maxRestarts ?? 5,
              window: Duration.decode(reconnect?.window ?? "1 minute"),
              background: reconnect?.background ?? false
            },
      open: (events) =>
        McpSession.make({
          ...events,
          server,
          sdk,
          secrets,
          link,
          connectTimeout: millis(options.connectTimeout ?? "30 seconds"),
          roots: options.roots,
          elicitation: options.elicitation ?? hasInbox,
          sampling: sampling === false ? undefined : { maxTokens, tools }
        })
    })
  })

/**
 * Starts the server as a process and connects. When the scope closes, the process and everything it started are gone.
 *
 * If the server ends or crashes, requests in flight fail with `McpError`, reason `Closed`, with its exit code or signal
 * and the end of its standard error.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeStdio = (options: StdioOptions): Effect.Effect<Service, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const server = options.name ?? "mcp"
    const sdk = yield* McpSdk.load(server)
    const given = Object.entries(options.env ?? {})
    const env = yield* inheritedEnvironment
    for (const [name, value] of given) env[name] = Redacted.isRedacted(value) ? Redacted.value(value) : value
    const secrets = given.flatMap(([, value]) => (Redacted.isRedacted(value) ? [value] : []))
    const launch = {
      server,
      command: options.command,
      args: options.args ?? [],
      cwd: options.cwd,
      env,
      secrets,
      maxMessageBytes: options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
      grace: millis(options.grace ?? "2 seconds")
    }
    return yield* connection(server, sdk, options, secrets, (events) => McpStdio.make(launch, events))
  })

/**
 * Connects to a server over streamable HTTP. A session that the server has forgotten is replaced.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeHttp = <R = never>(options: HttpOptions<R>): Effect.Effect<Service, McpError, Scope.Scope | R> =>
  Effect.gen(function* () {
    const server = options.name ?? "mcp"
    const url = URL.canParse(options.url) ? new URL(options.url) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      return yield* new McpError({
        server,
        reason: "Configuration",
        message: `The address of the MCP server "${server}" is not an http(s) URL`
      })
    }
    const sdk = yield* McpSdk.load(server)
    const { auth, headers = {} } = options
    const secrets: Array<Redacted.Redacted<string>> = []
    const http: McpHttp.Options = {
      server,
      url,
      secrets,
      headers: Effect.isEffect(headers) ? headers : Effect.succeed(headers),
      authorization: auth === undefined ? undefined : yield* (yield* auth).authorize({ name: server, url }),
      fetch: options.fetch ?? globalThis.fetch,
      maxMessageBytes: options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
      resume: { attempts: options.resume?.attempts ?? 3, delay: millis(options.resume?.delay ?? "200 millis") },
      grace: millis(options.grace ?? "2 seconds")
    }
    return yield* connection(server, sdk, options, secrets, (events) => McpHttp.make(sdk, http, events))
  })

/**
 * A server process as `McpClient`.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { McpClientSdk } from "effect-lexigram/mcp"
 *
 * const files = McpClientSdk.layerStdio({
 *   name: "files",
 *   command: "npx",
 *   args: ["-y", "@modelcontextprotocol/server-filesystem", "/srv/documents"]
 * })
 * ```
 */
export const layerStdio = (options: StdioOptions): Layer.Layer<McpClient, McpError> =>
  Layer.scoped(McpClient, makeStdio(options))

/**
 * A server at an address as `McpClient`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHttp = <R = never>(options: HttpOptions<R>): Layer.Layer<McpClient, McpError, R> =>
  Layer.scoped(McpClient, makeHttp(options))

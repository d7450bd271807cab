/**
 * The token of a client, and its renewal: once for all requests that need it, and within bounds.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { McpError } from "../../skill/mcp/McpClient.js"
import type { AuthFailure, Authorization, Challenge } from "./McpAuthorization.js"
import type * as McpOAuthFlow from "./McpOAuthFlow.js"
import type * as McpTokens from "./McpTokens.js"

export interface Options {
  readonly sdk: McpOAuthFlow.Sdk & { readonly flow: typeof McpOAuthFlow }
  readonly method: McpOAuthFlow.Method
  readonly tokens: McpTokens.Service
  readonly key: McpTokens.Key
  readonly server: URL
  readonly maxStepUps: number
}

/** New tokens in a row that the server does not accept. */
const MAX_UNACCEPTED = 2

/** Visible characters of a scope (RFC 6749), and a bound. */
const isScope = (text: string): boolean => text.length <= 4096 && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(text)

const scopesOf = (scope: string | undefined): ReadonlyArray<string> =>
  scope === undefined || !isScope(scope) ? [] : scope.split(" ").filter((one) => one !== "")

const union = (...scopes: ReadonlyArray<string | undefined>): string | undefined => {
  const all = new Set(scopes.flatMap(scopesOf))
  return all.size === 0 ? undefined : [...all].join(" ")
}

const storage = ({ hint, message }: McpError): AuthFailure => ({
  reason: "AuthorizationFailed",
  message,
  ...(hint === undefined ? {} : { hint })
})

const refused = (message: string): Effect.Effect<never, AuthFailure> =>
  Effect.fail({
    reason: "AuthorizationRefused",
    message,
    hint: "Check what the account and the client may do there"
  })

class Renewal implements Authorization {
  private kept: McpTokens.Credentials | undefined
  private running: Fiber.RuntimeFiber<void, AuthFailure> | undefined
  private unaccepted = 0
  private stepUps = 0

  constructor(
    private readonly options: Options,
    private readonly scope: Scope.Scope
  ) {}

  readonly token = Effect.suspend(() => (this.kept === undefined ? this.read : Effect.succeed(this.kept))).pipe(
    Effect.map(({ tokens }) => tokens?.access_token)
  )

  accepted(token: string): void {
    if (this.isCurrent(token)) this.unaccepted = 0
  }

  renew(challenge: Challenge): Effect.Effect<void, AuthFailure> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function* () {
        if (this.running === undefined) {
          const { key, tokens } = this.options
          const settled = Effect.ensuring(
            tokens.exclusively(key)(this.attempt(challenge)),
            Effect.sync(() => {
              this.running = undefined
            })
          )
          this.running = yield* Effect.forkIn(Effect.interruptible(settled), this.scope)
        }
        const exit = yield* restore(Fiber.await(this.running))
        if (Exit.isInterrupted(exit)) {
          return yield* Effect.fail<AuthFailure>({ reason: "Closed", message: "the client was closed" })
        }
        return yield* exit
      })
    )
  }

  private readonly read = Effect.suspend(() => this.options.tokens.get(this.options.key)).pipe(
    Effect.mapError(storage),
    Effect.tap((kept) => {
      this.kept = kept
    })
  )

  private isCurrent(token: string | undefined): boolean {
    const current = this.kept?.tokens?.access_token
    return (current === undefined ? undefined : Redacted.value(current)) === token
  }

  private attempt(challenge: Challenge): Effect.Effect<void, AuthFailure> {
    return Effect.gen(this, function* () {
      const { key, method, sdk, server, tokens } = this.options
      const kept = yield* this.read
      // Another request, client or process has renewed it.
      if (kept.tokens !== undefined && !this.isCurrent(challenge.token)) return
      if (this.unaccepted >= MAX_UNACCEPTED)
        return yield* refused("it accepts none of the tokens that were issued for it")
      if (challenge.isInsufficient) yield* this.admitStepUp(challenge, kept.tokens?.scope)
      this.kept = yield* sdk.flow.run(
        sdk,
        method,
        {
          server,
          kept,
          scope: challenge.isInsufficient
            ? union(method.scope, kept.tokens?.scope, challenge.scope)
            : union(method.scope ?? challenge.scope),
          resourceMetadataUrl: challenge.resourceMetadataUrl,
          isStepUp: challenge.isInsufficient
        },
        (credentials) => Effect.mapError(tokens.set(key, credentials), storage)
      )
      this.unaccepted++
    })
  }

  /** A server that asks for what is granted already, or for ever more, is refused. */
  private admitStepUp({ scope }: Challenge, granted: string | undefined): Effect.Effect<void, AuthFailure> {
    const had = new Set(scopesOf(granted))
    if (scopesOf(scope).every((one) => had.has(one))) return refused("it denies what its scopes allow")
    if (this.stepUps >= this.options.maxStepUps) return refused("it asks for more scopes again and again")
    this.stepUps++
    return Effect.void
  }
}

export const make = (options: Options): Effect.Effect<Authorization, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => new Renewal(options, scope))

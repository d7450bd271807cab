/**
 * What a transport asks of whoever authorizes its client.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { McpError } from "../../skill/mcp/McpClient.js"

/** A failure without the server's name. */
export type AuthFailure = Pick<McpError, "reason" | "message"> & { readonly hint?: string | undefined }

/** A refusal of the server: its token is missing or invalid, or lacks a scope. */
export interface Challenge {
  /** The token that was refused, if any. */
  readonly token: string | undefined
  readonly isInsufficient: boolean
  readonly scope: string | undefined
  readonly resourceMetadataUrl: URL | undefined
}

export interface Authorization {
  /** The token to send, if there is one. */
  readonly token: Effect.Effect<Redacted.Redacted<string> | undefined, AuthFailure>
  /** The server accepted this token. */
  readonly accepted: (token: string) => void
  /** Succeeds when the refused request may be sent again. Runs once for all that ask at the same time. */
  readonly renew: (challenge: Challenge) => Effect.Effect<void, AuthFailure>
}

/** The authorization of a client of one server. */
export interface Grant {
  readonly authorize: (server: {
    readonly name: string
    readonly url: URL
  }) => Effect.Effect<Authorization, McpError, Scope.Scope>
}

/** Names and addresses of this machine, without asking a resolver. */
export const isLoopback = ({ hostname }: URL): boolean =>
  /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)

/** Over https, or on this machine. */
export const isSecure = (url: URL): boolean =>
  url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))

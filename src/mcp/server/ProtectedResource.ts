/**
 * The metadata of a protected resource (RFC 9728), by which clients find the server that issues its tokens.
 *
 * @private
 * @since 0.1.0
 */
import type { Reason } from "../../http/api/ApiError.js"

/**
 * @category models
 */
export interface Options {
  /** The address of the MCP server as its clients know it, such as `https://agents.example/mcp`. */
  readonly resource: string
  /** The issuers of its tokens, such as `https://login.example`. */
  readonly authorizationServers: readonly [string, ...ReadonlyArray<string>]
  /** The scopes that clients ask for; default: those that the issuer gives. */
  readonly scopes?: ReadonlyArray<string> | undefined
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource"

/**
 * The path of the metadata: that of the resource behind the well-known one.
 *
 * @category getters
 */
export const pathOf = ({ resource }: Options): `/${string}` => {
  const { pathname } = new URL(resource)
  return `${WELL_KNOWN}${pathname === "/" ? "" : pathname}`
}

/**
 * @category conversions
 */
export const toMetadata = (name: string, { authorizationServers, resource, scopes }: Options) => ({
  resource,
  authorization_servers: authorizationServers,
  bearer_methods_supported: ["header"],
  resource_name: name,
  ...(scopes === undefined ? {} : { scopes_supported: scopes })
})

/** A quoted string of a header. */
const quoted = (text: string): string => `"${text.replace(/[^\x20-\x7e]|["\\]/g, "")}"`

/**
 * The challenge of a refusal: where clients get credentials, or which scopes they need.
 *
 * @category conversions
 */
export const toHeaders = (options: Options, reason: Reason): Readonly<Record<string, string>> => {
  if (reason !== "unauthenticated" && reason !== "forbidden") return {}
  const { resource, scopes } = options
  const parts = [
    ...(reason === "forbidden" ? [`error="insufficient_scope"`] : []),
    ...(scopes === undefined ? [] : [`scope=${quoted(scopes.join(" "))}`]),
    `resource_metadata=${quoted(new URL(pathOf(options), resource).href)}`
  ]
  return { "www-authenticate": `Bearer ${parts.join(", ")}` }
}

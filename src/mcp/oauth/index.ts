/**
 * Authorizes MCP clients over HTTP by OAuth 2.1, as the protocol demands: for persons by a code with PKCE, for programs
 * by their own credentials. Tokens are refreshed, and more scopes are asked for where a server needs them.
 *
 * @since 0.1.0
 */
export * as McpOAuth from "../auth/McpOAuth.js"

/**
 * Keeps what OAuth gave to MCP clients, by server and owner: tokens, and the client's registration.
 *
 * @since 0.1.0
 */
export * as McpTokens from "../auth/McpTokens.js"

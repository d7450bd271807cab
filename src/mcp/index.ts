/**
 * MCP clients over standard input and output of a process, or over streamable HTTP, on `@modelcontextprotocol/sdk`.
 *
 * @since 0.1.0
 */
export * as McpClientSdk from "./McpClientSdk.js"

/**
 * Serves an MCP server over streamable HTTP, beside the other protocols of a server of agents.
 *
 * @since 0.1.0
 */
export * as McpEdge from "./server/McpEdge.js"

/**
 * What is remembered of the caller, as resources for MCP clients.
 *
 * @since 0.1.0
 */
export * as McpMemories from "./offer/McpMemories.js"

/**
 * Authorizes MCP clients over HTTP by OAuth 2.1, as the protocol demands: for persons by a code with PKCE, for programs
 * by their own credentials. Tokens are refreshed, and more scopes are asked for where a server needs them.
 *
 * @since 0.1.0
 */
export * as McpOAuth from "./auth/McpOAuth.js"

/**
 * What MCP servers offer besides tools: prompts, resources and templates of resources.
 *
 * @since 0.1.0
 */
export * as McpOffers from "./offer/McpOffers.js"

/**
 * The MCP client whose call a handler serves: what the handler may tell it and ask of it.
 *
 * @since 0.1.0
 */
export * as McpPeer from "./offer/McpPeer.js"

/**
 * MCP servers: agents, tools, prompts and resources for the clients of the Model Context Protocol.
 *
 * @since 0.1.0
 */
export * as McpServer from "./server/McpServer.js"

/**
 * Failures of MCP servers that their clients learn of.
 *
 * @since 0.1.0
 */
export * as McpServerError from "./offer/McpServerError.js"

/**
 * The skills of a catalog for MCP clients: each a prompt that activates it, and its files as resources.
 *
 * @since 0.1.0
 */
export * as McpSkills from "./offer/McpSkills.js"

/**
 * Keeps what OAuth gave to MCP clients, by server and owner: tokens, and the client's registration.
 *
 * @since 0.1.0
 */
export * as McpTokens from "./auth/McpTokens.js"

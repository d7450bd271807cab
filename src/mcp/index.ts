/**
 * Clients of MCP servers, over a process's standard input and output or over streamable HTTP, on
 * `@modelcontextprotocol/sdk`.
 *
 * @since 0.1.0
 */
export * as McpClientSdk from "./McpClientSdk.js"

/**
 * MCP clients over standard input and output of a process, or over streamable HTTP, on `@modelcontextprotocol/sdk`.
 *
 * @since 0.1.0
 */
export * as McpClientSdk from "../McpClientSdk.js"

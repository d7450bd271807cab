/**
 * Loads the SDK of the protocol, an optional package.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OptionalPackage from "../provider/exchange/OptionalPackage.js"
import { McpError } from "../skill/mcp/McpClient.js"

const loadModules = async (): Promise<Sdk> => {
  const [{ Client }, { extractWWWAuthenticateParams }, http, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/auth.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js")
  ])
  const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, McpError, ResultSchema } = types
  return {
    Client,
    StreamableHTTPClientTransport: http.StreamableHTTPClientTransport,
    StreamableHTTPError: http.StreamableHTTPError,
    extractWWWAuthenticateParams,
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
    McpError,
    ResultSchema
  }
}

/** The parts of the SDK that are used. */
export interface Sdk {
  readonly Client: typeof import("@modelcontextprotocol/sdk/client/index.js").Client
  readonly StreamableHTTPClientTransport: typeof import("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPClientTransport
  readonly StreamableHTTPError: typeof import("@modelcontextprotocol/sdk/client/streamableHttp.js").StreamableHTTPError
  readonly extractWWWAuthenticateParams: typeof import("@modelcontextprotocol/sdk/client/auth.js").extractWWWAuthenticateParams
  readonly CreateMessageRequestSchema: typeof import("@modelcontextprotocol/sdk/types.js").CreateMessageRequestSchema
  readonly ElicitRequestSchema: typeof import("@modelcontextprotocol/sdk/types.js").ElicitRequestSchema
  readonly ListRootsRequestSchema: typeof import("@modelcontextprotocol/sdk/types.js").ListRootsRequestSchema
  readonly McpError: typeof import("@modelcontextprotocol/sdk/types.js").McpError
  readonly ResultSchema: typeof import("@modelcontextprotocol/sdk/types.js").ResultSchema
}

export const load = (server: string): Effect.Effect<Sdk, McpError> =>
  Effect.mapError(
    OptionalPackage.load({ name: "@modelcontextprotocol/sdk", provider: "MCP", modules: loadModules }),
    (error) =>
      new McpError({
        server,
        reason: "Configuration",
        message: "MCP clients need the package @modelcontextprotocol/sdk, which could not be loaded",
        hint: "npm install @modelcontextprotocol/sdk",
        cause: error.cause
      })
  )

/**
 * Loads the server side of the MCP SDK.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OptionalPackage from "../../provider/exchange/OptionalPackage.js"
import { McpServerError } from "../offer/McpServerError.js"

const loadModules = async () => {
  const [{ Server }, types, { WebStandardStreamableHTTPServerTransport }, { StdioServerTransport }, { UriTemplate }] =
    await Promise.all([
      import("@modelcontextprotocol/sdk/server/index.js"),
      import("@modelcontextprotocol/sdk/types.js"),
      import("@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"),
      import("@modelcontextprotocol/sdk/server/stdio.js"),
      import("@modelcontextprotocol/sdk/shared/uriTemplate.js")
    ])
  return { Server, types, WebStandardStreamableHTTPServerTransport, StdioServerTransport, UriTemplate }
}

/**
 * The parts of the SDK that are used.
 *
 * @category models
 */
export type Sdk = Awaited<ReturnType<typeof loadModules>>

/**
 * @category constructors
 */
export const load: Effect.Effect<Sdk, McpServerError> = Effect.mapError(
  OptionalPackage.load({ name: "@modelcontextprotocol/sdk", provider: "MCP", modules: loadModules }),
  ({ cause }) =>
    new McpServerError({
      reason: "configuration",
      message: "MCP servers need the package @modelcontextprotocol/sdk, which could not be loaded",
      hint: "npm install @modelcontextprotocol/sdk",
      cause
    })
)

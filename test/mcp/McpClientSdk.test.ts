import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as McpClientSdk from "../../src/mcp/McpClientSdk.js"
import { McpClient } from "../../src/skill/mcp/McpClient.js"
import * as McpServers from "../support/McpServers.js"
import { suite } from "./McpClientSuite.js"

suite("stdio", McpClientSdk.layerStdio({ name: "suite", ...McpServers.stdio(McpServers.program) }))

const overHttp = (env: Readonly<Record<string, string>>) =>
  Layer.scoped(
    McpClient,
    Effect.flatMap(McpServers.http(env), ({ url }) => McpClientSdk.makeHttp({ name: "suite", url }))
  )

suite("streamable HTTP", overHttp({}))
suite("streamable HTTP with resumption", overHttp({ RESUMABLE: "1" }))

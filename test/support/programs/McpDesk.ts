/** An MCP server on standard input and output, in a process of its own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as McpServer from "../../../src/mcp/server/McpServer.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as AgentServers from "../AgentServers.js"

const chatty = Tool.make("chatty", {
  description: "Logs while it works",
  handler: () => Effect.as(Effect.logInfo("working"), "worked")
})

const services = Layer.merge(
  Layer.orDie(AgentServers.services({ agents: [Agent.make("helper")] })),
  Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))
)

const desk = McpServer.make({ name: "desk", version: "1.0.0", tools: [chatty] })

Effect.runFork(Effect.provide(McpServer.runStdio(desk), services))

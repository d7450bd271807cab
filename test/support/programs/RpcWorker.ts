/** Serves an agent over `AgentRpc` to the thread that started it. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeWorkerRunner from "@effect/platform-node/NodeWorkerRunner"
import * as RpcServer from "@effect/rpc/RpcServer"
import * as Layer from "effect/Layer"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as AgentRpc from "../../../src/rpc/AgentRpc.js"
import * as AgentRpcServer from "../../../src/rpc/AgentRpcServer.js"
import * as AgentServers from "../AgentServers.js"

const agents = [Agent.make("helper", { description: "Helps" })]

RpcServer.layer(AgentRpc.AgentRpc).pipe(
  Layer.provide(AgentRpcServer.layer({ agents, grace: "10 millis" })),
  Layer.provide(AgentServers.services({ agents, script: () => ({ text: ["one ", "two ", "three"] }) })),
  Layer.provide(RpcServer.layerProtocolWorkerRunner),
  Layer.provide(NodeWorkerRunner.layer),
  Layer.launch,
  NodeRuntime.runMain
)

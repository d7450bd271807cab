import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Layer from "effect/Layer"
import * as SqlWorkflowEngine from "../../../src/durable/engine/SqlWorkflowEngine.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as WorkflowEngineSuite from "./WorkflowEngineSuite.js"

WorkflowEngineSuite.suite("in memory", WorkflowEngine.layerMemory)

SqlBackends.suite("SqlWorkflowEngine", (backend) => {
  WorkflowEngineSuite.suite("on SQL", Layer.provide(SqlWorkflowEngine.layer(), backend.layer))
})

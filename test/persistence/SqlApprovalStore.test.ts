import * as Layer from "effect/Layer"
import * as SqlApprovalStore from "../../src/persistence/SqlApprovalStore.js"
import * as SqlBackends from "../support/SqlBackends.js"
import * as ApprovalStoreSuite from "../tool/ApprovalStoreSuite.js"

SqlBackends.suite("SqlApprovalStore", (backend) => {
  ApprovalStoreSuite.suite("SQL", Layer.provide(SqlApprovalStore.layer(), backend.layer))
})

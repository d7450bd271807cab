import * as Layer from "effect/Layer"
import * as SqlAuditLog from "../../src/persistence/SqlAuditLog.js"
import * as AuditLogSuite from "../governance/AuditLogSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"

SqlBackends.suite("SqlAuditLog", (backend) => {
  AuditLogSuite.suite("SQL", Layer.provide(SqlAuditLog.layer(), backend.layer))
})

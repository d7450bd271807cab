import * as Layer from "effect/Layer"
import * as SqlRunLog from "../../src/persistence/SqlRunLog.js"
import * as RunLogSuite from "../observability/RunLogSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"

SqlBackends.suite("SqlRunLog", (backend) => {
  RunLogSuite.suite("SQL", Layer.provide(SqlRunLog.layer(), backend.layer))
})

import * as Layer from "effect/Layer"
import * as SqlCheckpointer from "../../src/persistence/SqlCheckpointer.js"
import * as CheckpointerSuite from "../graph/CheckpointerSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"

SqlBackends.suite("SqlCheckpointer", (backend) => {
  CheckpointerSuite.suite("SQL", Layer.provide(SqlCheckpointer.layer, backend.layer))
})

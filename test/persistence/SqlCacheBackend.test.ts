import * as Layer from "effect/Layer"
import * as SqlCacheBackend from "../../src/persistence/SqlCacheBackend.js"
import * as CacheBackendSuite from "../llm/CacheBackendSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"

SqlBackends.suite("SqlCacheBackend", (backend) => {
  CacheBackendSuite.suite("SQL", Layer.provide(SqlCacheBackend.layer(), backend.layer))
})

import * as Layer from "effect/Layer"
import * as SqlSkillCache from "../../src/persistence/SqlSkillCache.js"
import * as SkillResultCacheSuite from "../skill/SkillResultCacheSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"

SqlBackends.suite("SqlSkillCache", (backend) => {
  SkillResultCacheSuite.suite("SQL", Layer.provide(SqlSkillCache.layer(), backend.layer))
})

import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SqlCacheBackend from "../../../src/persistence/run/SqlCacheBackend.js"
import * as SqlSkillCache from "../../../src/persistence/run/SqlSkillCache.js"
import * as Skill from "../../../src/skill/definition/Skill.js"
import * as SkillResultCache from "../../../src/skill/execute/SkillResultCache.js"
import * as SkillResultCacheSuite from "../../skill/execute/SkillResultCacheSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const { definition } = Skill.make("look_up", { description: "d", handler: () => Effect.void })

SqlBackends.suite("SqlSkillCache", (backend) => {
  SkillResultCacheSuite.suite("SQL", Layer.provide(SqlSkillCache.layer(), backend.layer))

  it.effect("has its own limit of results, besides other caches", () =>
    Effect.gen(function* () {
      const skills = yield* SqlSkillCache.make({ capacity: 8 })
      const other = yield* SqlCacheBackend.make({ capacity: 8 })
      yield* other.set("a", "x")
      for (let index = 0; index < 30; index++) {
        const slot = skills.slot({ definition, params: { index } })
        assert(slot !== undefined)
        yield* skills.set(slot, index, yield* skills.get(slot))
      }
      const sql = yield* SqlClient.SqlClient
      const counted = yield* sql<{ readonly name: string; readonly n: number }>`
        SELECT name, COUNT(*) AS n FROM lex_cache GROUP BY name ORDER BY name`
      assert.deepStrictEqual(
        counted.map(({ n, name }) => [name, Number(n)]),
        [
          ["default", 1],
          ["skills", 8]
        ]
      )
      assert.deepStrictEqual(yield* other.get("a"), Option.some("x"))
    }).pipe(Effect.provide(backend.layer))
  )

  it.effect("forgets a result for all processes", () =>
    Effect.gen(function* () {
      const mine = yield* SqlSkillCache.make()
      const theirs = yield* Effect.provide(SqlSkillCache.make({ namespace: "skill" }), backend.kept)
      const apart = yield* SqlSkillCache.make({ namespace: "apart" })
      const slot = mine.slot({ definition, params: {} })
      assert(slot !== undefined)
      yield* mine.set(slot, "result", yield* mine.get(slot))
      assert.deepStrictEqual((yield* theirs.get(slot)).output, Option.some("result"))
      yield* apart.clear
      assert.deepStrictEqual((yield* theirs.get(slot)).output, Option.some("result"))
      yield* theirs.invalidateSkill("look_up")
      assert.deepStrictEqual((yield* mine.get(slot)).output, Option.none())
    }).pipe(Effect.provide(backend.layer))
  )

  it.effect("creates its tables where it may", () =>
    Effect.gen(function* () {
      const error: any = yield* Effect.flip(SqlSkillCache.make())
      assert.strictEqual(error.reason, "absent")
      const migrated = yield* Layer.build(SqlSkillCache.layerMigrated({ capacity: 8 }))
      const skills = Context.get(migrated, SkillResultCache.SkillResultCache)
      const slot = skills.slot({ definition, params: {} })
      assert(slot !== undefined)
      yield* skills.set(slot, "result", yield* skills.get(slot))
      assert.deepStrictEqual((yield* skills.get(slot)).output, Option.some("result"))
    }).pipe(Effect.scoped, Effect.provide(SqlBackends.elsewhere))
  )
})

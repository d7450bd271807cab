import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import type * as SqlClient from "@effect/sql/SqlClient"
import { expectTypeOf, test } from "vitest"
import * as BuiltinSkills from "../../src/builtin/BuiltinSkills.js"
import type * as SearchProvider from "../../src/builtin/web/SearchProvider.js"
import type * as ModelRouter from "../../src/llm/ModelRouter.js"
import type * as Skill from "../../src/skill/definition/Skill.js"
import type * as SkillSource from "../../src/skill/folder/SkillSource.js"

type Services<S extends ReadonlyArray<Skill.Any>> = Skill.ServicesOf<S[number]>

test("requires only what is requested", () => {
  const none = BuiltinSkills.make()
  expectTypeOf<Services<typeof none>>().toEqualTypeOf<never>()
  const bounded = BuiltinSkills.make({ http: { methods: ["GET"] }, code: { maxConcurrent: 1 } })
  expectTypeOf<Services<typeof bounded>>().toEqualTypeOf<never>()
  const files = BuiltinSkills.make({ files: { baseDirectory: "." } })
  expectTypeOf<Services<typeof files>>().toEqualTypeOf<FileSystem.FileSystem | Path.Path>()
  const python = BuiltinSkills.make({ code: { python: true } })
  expectTypeOf<Services<typeof python>>().toEqualTypeOf<CommandExecutor.CommandExecutor | FileSystem.FileSystem>()
  const remote = BuiltinSkills.make({
    search: true,
    database: { allowBlocking: true },
    summaries: { role: "documentation" }
  })
  expectTypeOf<Services<typeof remote>>().toEqualTypeOf<
    SearchProvider.SearchProvider | SqlClient.SqlClient | ModelRouter.ModelRouter
  >()
  const own = BuiltinSkills.make({ database: { sqlite: "./shop.db", driver: "libsql" } })
  expectTypeOf<Services<typeof own>>().toEqualTypeOf<never>()
  const server = BuiltinSkills.make({ database: { postgres: { host: "localhost" }, functions: ["shop.price"] } })
  expectTypeOf<Services<typeof server>>().toEqualTypeOf<never>()
  expectTypeOf(BuiltinSkills.source()).toEqualTypeOf<SkillSource.SkillSource>()
  expectTypeOf(BuiltinSkills.source({ names: ["math_calculate"] })).toEqualTypeOf<SkillSource.SkillSource>()
  expectTypeOf(BuiltinSkills.source({ translations: true, names: ["text_translate"] })).toEqualTypeOf<
    SkillSource.SkillSource<ModelRouter.ModelRouter>
  >()
})

test("requires everything for options known only at run time", () => {
  const given = (options: BuiltinSkills.Options) => BuiltinSkills.make(options)
  expectTypeOf<Services<ReturnType<typeof given>>>().toEqualTypeOf<
    | ModelRouter.ModelRouter
    | CommandExecutor.CommandExecutor
    | FileSystem.FileSystem
    | Path.Path
    | SearchProvider.SearchProvider
    | SqlClient.SqlClient
  >()
})

test("accepts a database or permission to block, never both", () => {
  // @ts-expect-error
  BuiltinSkills.make({ database: {} })
  // @ts-expect-error
  BuiltinSkills.make({ database: { allowBlocking: false } })
  // @ts-expect-error
  BuiltinSkills.make({ database: { sqlite: "./shop.db", allowBlocking: true } })
})

test("rejects a misspelled option", () => {
  // @ts-expect-error
  BuiltinSkills.make({ file: { baseDirectory: "." } })
})

import * as Fs from "node:fs"
import * as Os from "node:os"
import * as NodePath from "node:path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BuiltinSkills from "../../src/builtin/BuiltinSkills.js"
import { UserId } from "../../src/domain/Ids.js"
import * as DefaultSkillExecutor from "../../src/skill/execute/DefaultSkillExecutor.js"
import * as DefaultSkillRegistry from "../../src/skill/execute/DefaultSkillRegistry.js"
import * as PermissionChecker from "../../src/skill/execute/PermissionChecker.js"
import * as SkillExecutor from "../../src/skill/execute/SkillExecutor.js"
import * as SkillRegistry from "../../src/skill/execute/SkillRegistry.js"
import * as SkillResultMemory from "../../src/skill/execute/SkillResultMemory.js"
import * as SkillSource from "../../src/skill/folder/SkillSource.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"

const everything = BuiltinSkills.make({
  files: { baseDirectory: "." },
  search: true,
  browse: true,
  translations: true,
  database: { sqlite: "./shop.db" }
})

const named = (skills: ReadonlyArray<{ readonly definition: { readonly name: string } }>) =>
  skills.map(({ definition }) => definition.name)

const executor = DefaultSkillExecutor.layer().pipe(
  Layer.provide(SkillResultMemory.layer()),
  Layer.provide(ApprovalGate.layerDeny),
  Layer.provide(PermissionChecker.layerStatic({ ann: ["files.*"], bob: ["web.search"] }))
)

const registryOf = (source: SkillSource.SkillSource) =>
  Layer.provideMerge(
    Layer.scopedDiscard(SkillSource.register(source)),
    Layer.scoped(SkillRegistry.SkillRegistry, DefaultSkillRegistry.make)
  )

const execute = (name: string, params: unknown, user?: string) =>
  Effect.flatMap(SkillExecutor.SkillExecutor, (executor) =>
    executor.execute({ name, params, ...(user === undefined ? {} : { userId: UserId.make(user) }) })
  )

describe("BuiltinSkills", () => {
  it("gives each skill its name, category and permission, and registers it", () => {
    assert.deepStrictEqual(
      everything.map(({ definition: { category, name, permissions } }) => [name, category, ...permissions]),
      [
        ["current_datetime", "utility"],
        ["math_calculate", "utility"],
        ["text_summarize", "text"],
        ["http_request", "web", "http.request"],
        ["code_execute", "code", "code.execute"],
        ["text_translate", "text"],
        ["web_search", "web", "web.search"],
        ["web_browse", "web", "http.request"],
        ["file_read", "filesystem", "files.read"],
        ["file_write", "filesystem", "files.write"],
        ["database_query", "database", "db.query"]
      ]
    )
    assert.deepStrictEqual(named(everything), [...BuiltinSkills.names])
    for (const { problem } of everything) assert.isUndefined(problem)
  })

  it("includes only skills without requirements by default", () => {
    assert.deepStrictEqual(named(BuiltinSkills.make()), [...BuiltinSkills.names.slice(0, 5)])
    assert.deepStrictEqual(named(BuiltinSkills.make({ search: undefined })), [...BuiltinSkills.names.slice(0, 5)])
  })

  it("passes options to their skills", () => {
    const [, , , http, code] = BuiltinSkills.make({
      http: { methods: ["GET"] },
      code: { maxConcurrent: 1, python: { interpreter: "python3" } }
    })
    assert.isTrue(http?.definition.idempotent)
    assert.strictEqual(code?.definition.maxConcurrent, 1)
    assert.match(JSON.stringify(code?.definition.parametersSchema), /"python"/)
    const [, , , , both] = BuiltinSkills.make({ code: { python: true } })
    assert.match(JSON.stringify(both?.definition.parametersSchema), /"python"/)
    assert.notMatch(JSON.stringify(everything[4]?.definition.parametersSchema), /"python"/)
    const [, , summarize] = BuiltinSkills.make({ summaries: { role: "documentation" } })
    assert.strictEqual(summarize?.definition.timeoutSeconds, 120)
  })

  it.effect("runs the default list by name, without a network and without permissions", () =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      assert.sameMembers(
        (yield* registry.list()).map(({ name }) => name),
        ["current_datetime", "math_calculate", "text_summarize"]
      )
      const now = yield* execute("current_datetime", { timezone: "Asia/Tokyo" })
      assert.deepInclude(now.output as object, { datetime: "1970-01-01T09:00:00.000+09:00", timezone: "Asia/Tokyo" })
      const sum = { expression: "(1 + 2) * 3 / 4" }
      assert.deepInclude((yield* execute("math_calculate", sum)).output as object, { result: 2.25 })
      assert.isTrue((yield* execute("math_calculate", sum)).cached)
      const short = yield* execute("text_summarize", { text: "Rain falls. Rain falls on hills.", max_words: 4 })
      assert.isAtMost((short.output as { word_count: number }).word_count, 4)
    }).pipe(Effect.provide(Layer.provideMerge(executor, registryOf(BuiltinSkills.source()))))
  )

  it.effect("reports an unknown name with a similar one", () =>
    Effect.gen(function* () {
      const { problems, skills } = yield* BuiltinSkills.source({
        names: ["math_calculat", "current_datetime", "file_read"]
      }).load
      assert.deepStrictEqual(named(skills), ["current_datetime"])
      assert.deepStrictEqual(
        problems.map(({ reason, subject }) => [reason, subject]),
        [
          ["Unknown", "math_calculat"],
          ["Unknown", "file_read"]
        ]
      )
      assert.match(problems[0]?.hint ?? "", /math_calculate/)
    })
  )

  it.live("reads and writes files only for permitted users", () =>
    Effect.acquireUseRelease(
      Effect.sync(() => Fs.mkdtempSync(NodePath.join(Os.tmpdir(), "builtin-"))),
      (baseDirectory) =>
        Effect.gen(function* () {
          const written = yield* execute("file_write", { path: "a.txt", content: "kept" }, "ann")
          assert.deepStrictEqual(written.output, { bytes_written: 4 })
          const read = yield* execute("file_read", { path: "a.txt" }, "ann")
          assert.deepInclude(read.output as object, { content: "kept" })
          for (const user of [undefined, "bob", "nobody"]) {
            for (const name of ["file_read", "file_write"]) {
              const error = yield* Effect.flip(execute(name, { path: "a.txt", content: "changed" }, user))
              assert.strictEqual(error._tag, "SkillPermissionDeniedError", `${name} ${user}`)
            }
          }
          assert.strictEqual(Fs.readFileSync(NodePath.join(baseDirectory, "a.txt"), "utf8"), "kept")
        }).pipe(
          Effect.provide(
            executor.pipe(
              Layer.provideMerge(DefaultSkillRegistry.layer(...BuiltinSkills.make({ files: { baseDirectory } }))),
              Layer.provideMerge(NodeContext.layer)
            )
          )
        ),
      (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true }))
    )
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as SkillsConfig from "../../src/skill/SkillsConfig.js"

type Fields = SkillsConfig.SkillsConfig

const read = (variables: Record<string, string>) =>
  Effect.withConfigProvider(SkillsConfig.config, ConfigProvider.fromMap(new Map(Object.entries(variables))))

const variables: {
  readonly [K in keyof Fields]: readonly [name: string, text: string, value: Fields[K], bad: string]
} = {
  enabled: ["ENABLED", "false", false, "rubbish"],
  name: ["NAME", " my skills ", "my skills", "  "],
  defaultTimeoutSeconds: ["DEFAULT_TIMEOUT_SECONDS", "1.5", 1.5, "0"],
  maxRetries: ["MAX_RETRIES", "0", 0, "-1"],
  maxConcurrentExecutions: ["MAX_CONCURRENT_EXECUTIONS", "1", 1, "0"],
  cacheEnabled: ["CACHE_ENABLED", "false", false, "rubbish"],
  cacheTtlSeconds: ["CACHE_TTL_SECONDS", "1", 1, "0.5"],
  cacheBackend: ["CACHE_BACKEND", "Cache", "cache", "redis"],
  enforcePermissions: ["ENFORCE_PERMISSIONS", "false", false, "rubbish"],
  autoDiscover: ["AUTO_DISCOVER", "true", true, "rubbish"],
  scanPackages: ["SCAN_PACKAGES", "pkg, @scope/Pkg/skills.js", ["pkg", "@scope/Pkg/skills.js"], "pkg,,other"],
  enableBuiltin: ["ENABLE_BUILTIN", "false", false, "rubbish"],
  builtinSkills: ["BUILTIN_SKILLS", "web_search", ["web_search"], "a,"],
  enableSkillSources: ["ENABLE_SKILL_SOURCES", "false", false, "rubbish"],
  skillPaths: ["SKILL_PATHS", "", [], ","],
  enabledDirectories: ["ENABLED_DIRECTORIES", "Codex, custom", ["codex", "custom"], "notepad"],
  projectSkills: ["PROJECT_SKILLS", "First", "first", "always"],
  scriptTimeoutSeconds: ["SCRIPT_TIMEOUT_SECONDS", "0.5", 0.5, "2147484"],
  allowedScriptTypes: ["ALLOWED_SCRIPT_TYPES", "PY", ["py"], "exe"],
  lazyLoadContext: ["LAZY_LOAD_CONTEXT", "false", false, "rubbish"]
}

describe("SkillsConfig from the environment", () => {
  it.effect("uses the defaults when nothing is set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({}), SkillsConfig.defaults)
      assert.deepStrictEqual(SkillsConfig.make(), Either.right(SkillsConfig.defaults))
    })
  )

  for (const field of Object.keys(SkillsConfig.SkillsConfig.fields) as Array<keyof Fields>) {
    const [name, text, value, rubbish] = variables[field]
    it.effect(`${SkillsConfig.ENV_PREFIX}${name} sets ${field} alone, and an invalid value names it`, () =>
      Effect.gen(function* () {
        const variable = `${SkillsConfig.ENV_PREFIX}${name}`
        assert.deepStrictEqual(yield* read({ [variable]: text }), { ...SkillsConfig.defaults, [field]: value })
        assert.notDeepEqual(value, SkillsConfig.defaults[field])
        assert.include(String(yield* Effect.flip(read({ [variable]: rubbish }))), variable)
      })
    )
  }

  it.effect("names all invalid values", () =>
    Effect.gen(function* () {
      const error = String(yield* Effect.flip(read({ LEX_AI_SKILLS__NAME: "", LEX_AI_SKILLS__MAX_RETRIES: "101" })))
      assert.include(error, "LEX_AI_SKILLS__NAME")
      assert.include(error, "LEX_AI_SKILLS__MAX_RETRIES")
    })
  )
})

const bad: { readonly [K in keyof Fields]: unknown } = {
  enabled: "yes",
  name: "a\u200bb",
  defaultTimeoutSeconds: Number.POSITIVE_INFINITY,
  maxRetries: 1.5,
  maxConcurrentExecutions: Number.NaN,
  cacheEnabled: 1,
  cacheTtlSeconds: 0,
  cacheBackend: "disk",
  enforcePermissions: "no",
  autoDiscover: null,
  scanPackages: [" "],
  enableBuiltin: 0,
  builtinSkills: "all",
  enableSkillSources: "x",
  skillPaths: ["./a\0b"],
  enabledDirectories: ["__proto__"],
  projectSkills: true,
  scriptTimeoutSeconds: -1,
  allowedScriptTypes: ["rb"],
  lazyLoadContext: "x"
}

describe("SkillsConfig in code", () => {
  for (const [field, value] of Object.entries(bad)) {
    it(`names an invalid ${field}`, () => {
      const error = Either.getOrThrow(Either.flip(SkillsConfig.make({ [field]: value } as SkillsConfig.Options)))
      assert.deepStrictEqual([error._tag, error.code], ["SkillsConfigurationError", "LEX_ERR_SKILL_106"])
      assert.match(error.message, new RegExp(`^Skills cannot be built: ${field} must be`))
    })
  }

  it("names all invalid and unknown fields, and keeps the default for undefined", () => {
    const options = { maxRetries: -1, name: "", retries: 2, enabled: undefined }
    const { message } = Either.getOrThrow(Either.flip(SkillsConfig.make(options)))
    for (const text of ["maxRetries must be", "name must be", "retries is not a field"]) assert.include(message, text)
    assert.deepStrictEqual(SkillsConfig.make({ enabled: undefined }), Either.right(SkillsConfig.defaults))
  })

  it("orders places by precedence, each path once", () => {
    const pathsOf = (options: SkillsConfig.Options) =>
      SkillsConfig.placesOf({ ...SkillsConfig.defaults, ...options } as Fields).map(({ origin, path }) => [
        origin,
        path
      ])
    assert.deepStrictEqual<ReadonlyArray<string>>(SkillsConfig.assistants, Object.keys(SkillsConfig.directories))
    assert.deepStrictEqual(pathsOf({}), [
      ["configured", "~/.claude/skills"],
      ["configured", "~/.opencode/skills"],
      ["configured", "./skills"],
      ["assistant", "~/.codex/skills"],
      ["assistant", "~/.gemini/skills"],
      ["assistant", "~/.aider/skills"],
      ["assistant", "~/.cursor/skills"],
      ["assistant", "~/.github/skills"],
      ["assistant", "~/.windsurf/skills"],
      ["project", "./.claude/skills"],
      ["project", "./.agents/skills"]
    ])
    const few: SkillsConfig.Options = { skillPaths: ["/srv"], enabledDirectories: ["codex"] }
    const own = [
      ["configured", "/srv"],
      ["assistant", "~/.codex/skills"]
    ]
    const project = SkillsConfig.projectDirectories.map((path) => ["project", path])
    assert.deepStrictEqual(pathsOf({ ...few, projectSkills: "off" }), own)
    assert.deepStrictEqual(pathsOf({ ...few, projectSkills: "last" }), [...own, ...project])
    assert.deepStrictEqual(pathsOf({ ...few, projectSkills: "first" }), [...project, ...own])
  })

  it("treats a project folder in the configuration as configured", () => {
    for (const projectSkills of ["first", "last"] as const) {
      const places = SkillsConfig.placesOf({
        skillPaths: ["./.claude/skills"],
        enabledDirectories: [],
        projectSkills
      })
      assert.deepStrictEqual(places.map(({ origin, path }) => `${path} ${origin}`).sort(), [
        "./.agents/skills project",
        "./.claude/skills configured"
      ])
    }
  })
})

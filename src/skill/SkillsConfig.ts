/**
 * Which skills an application has and how they are executed, from code or from the environment.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import * as EnvironmentFields from "../internal/EnvironmentFields.js"
import * as FlatConfig from "../internal/FlatConfig.js"
import * as VisibleText from "../internal/text/VisibleText.js"

/**
 * A configuration that cannot be used; the message names every field that is wrong.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillsConfigurationError extends ErrorCode.TaggedError<SkillsConfigurationError>(
  "effect-lexigram/skill/SkillsConfig/SkillsConfigurationError"
)("SkillsConfigurationError", ErrorCode.fields("LEX_ERR_SKILL_106")) {}

/**
 * Prefix of the environment variables.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_SKILLS__"

/**
 * Where assistants look for skills, by assistant; `~` is the home of the user, `.` the working directory.
 *
 * @since 0.1.0
 * @category constants
 */
export const directories = {
  claude_code: "~/.claude/skills",
  opencode: "~/.opencode/skills",
  codex: "~/.codex/skills",
  gemini_cli: "~/.gemini/skills",
  aider: "~/.aider/skills",
  cursor: "~/.cursor/skills",
  copilot: "~/.github/skills",
  windsurf: "~/.windsurf/skills",
  custom: "./skills"
} as const

/**
 * Where a project keeps skills of its own, from the working directory. Whoever wrote the project wrote them: nothing of
 * them is shown to a model before `SkillTrust` accepts it.
 *
 * @since 0.1.0
 * @category constants
 */
export const projectDirectories = ["./.claude/skills", "./.agents/skills"] as const

/**
 * Where a folder of skills is known from: named in the configuration, kept by an assistant of the user, or part of the
 * project.
 *
 * @since 0.1.0
 * @category models
 */
export type Origin = "configured" | "assistant" | "project"

/**
 * A path to look for skills below.
 *
 * @since 0.1.0
 * @category models
 */
export interface Place {
  readonly path: string
  readonly origin: Origin
}

/**
 * @since 0.1.0
 * @category models
 */
export type Assistant = keyof typeof directories

/**
 * All assistants that `directories` knows.
 *
 * @since 0.1.0
 * @category constants
 */
export const assistants: ReadonlyArray<Assistant> = Object.keys(directories) as ReadonlyArray<Assistant>

const says = (text: string) => ({ message: () => ({ message: text, override: true }) })

const Flag = Schema.Boolean.annotations(says("must be true or false"))

/** No longer than a timer can run. */
const seconds = (least: number) =>
  Schema.Number.pipe(
    Schema.filter((value) => (least === 0 ? value > 0 : value >= least) && value <= 2_147_483)
  ).annotations(says(`must be seconds, ${least === 0 ? "above 0" : `from ${least}`}, no more than 2,147,483`))
const count = (least: number, most: number) =>
  Schema.Number.pipe(Schema.int(), Schema.between(least, most)).annotations(
    says(`must be a whole number from ${least} to ${most}`)
  )
const isText = (text: string): boolean =>
  text.trim() !== "" && text.length <= 4096 && VisibleText.visible(text) === text
const Text = Schema.String.pipe(Schema.filter(isText))
const texts = (what: string) =>
  Schema.Array(Text).annotations(says(`must be a list of ${what}, none blank or with characters that cannot be seen`))

/**
 * @since 0.1.0
 * @category schemas
 */
export const SkillsConfig = Schema.Struct({
  /** Off: there are no skills, and none can be executed. */
  enabled: Flag,
  /** What this set of skills is called in logs and in reports of its health. */
  name: Text.annotations(says("must be a name, without characters that cannot be seen")),
  /** For each attempt of a skill that says nothing about its timeout. */
  defaultTimeoutSeconds: seconds(0),
  /** Further attempts after failures of a connection, for a skill that says nothing about its retries. */
  maxRetries: count(0, 100),
  /** Executions that run at a time; others wait. */
  maxConcurrentExecutions: count(1, 1_000_000),
  /** Off: no result is used a second time. */
  cacheEnabled: Flag,
  /** How long a result may be used again. */
  cacheTtlSeconds: seconds(1),
  /**
   * Where results are kept: in this process, or in the backend that `Skills.layer` is given, which others may share.
   */
  cacheBackend: Schema.Literal("in_memory", "cache").annotations(says('must be "in_memory" or "cache"')),
  /** Off: everybody may execute every skill. */
  enforcePermissions: Flag,
  /** On: skills are looked for in the modules of `scanPackages`. */
  autoDiscover: Flag,
  /** Packages, or modules by paths that begin with `./` or `../`, in the order in which they are looked at. */
  scanPackages: texts("packages or paths of modules"),
  /** Off: none of the built-in skills. */
  enableBuiltin: Flag,
  /** Names of built-in skills. */
  builtinSkills: texts("names of skills"),
  /** Off: no folders with a SKILL.md. */
  enableSkillSources: Flag,
  /** Where folders with a SKILL.md are looked for first, in this order; of two skills of one name the first counts. */
  skillPaths: texts("paths"),
  /** Assistants whose folders are looked at behind `skillPaths`, see `directories`. */
  enabledDirectories: Schema.Array(Schema.Literal(...assistants)).annotations(
    says(`must be a list of ${assistants.join(", ")}`)
  ),
  /**
   * Skills of the project (`projectDirectories`), each only once `SkillTrust` accepts it: not looked at, behind all
   * other folders, or before them. Of two skills of one name that of the earlier folder counts; one that is not trusted
   * hides no other.
   */
  projectSkills: Schema.Literal("off", "last", "first").annotations(says('must be "off", "last" or "first"')),
  /** How long a script of a skill may run. */
  scriptTimeoutSeconds: seconds(0),
  /** Scripts that may be run, by the ends of their names; none: no script is run. */
  allowedScriptTypes: Schema.Array(Schema.Literal("py", "sh", "js")).annotations(says("must be a list of py, sh, js")),
  /**
   * On: whoever executes a folder without a script is told the names of its files, and reads what is needed. Off: the
   * texts come along, of 50 files at most, 64 KiB each and 256 KiB in all.
   */
  lazyLoadContext: Flag
}).annotations({ identifier: "effect-lexigram/skill/SkillsConfig" })
/**
 * @since 0.1.0
 * @category models
 */
export interface SkillsConfig extends Schema.Schema.Type<typeof SkillsConfig> {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults: SkillsConfig = {
  enabled: true,
  name: "ai-skills",
  defaultTimeoutSeconds: 30,
  maxRetries: 2,
  maxConcurrentExecutions: 10,
  cacheEnabled: true,
  cacheTtlSeconds: 3600,
  cacheBackend: "in_memory",
  enforcePermissions: true,
  autoDiscover: false,
  scanPackages: [],
  enableBuiltin: true,
  builtinSkills: ["current_datetime", "math_calculate", "text_summarize"],
  enableSkillSources: true,
  skillPaths: [directories.claude_code, directories.opencode, directories.custom],
  enabledDirectories: assistants,
  projectSkills: "last",
  scriptTimeoutSeconds: 30,
  allowedScriptTypes: ["py", "sh", "js"],
  lazyLoadContext: true
}

/**
 * @since 0.1.0
 * @category models
 */
export type Options = { readonly [K in keyof SkillsConfig]?: SkillsConfig[K] | undefined }

/**
 * Where folders with a SKILL.md are looked for, each path once. The order is the precedence: of two skills of one name
 * that of the earlier place counts. `skillPaths` come before the folders of assistants, those of the project last or
 * first, as `projectSkills` says.
 *
 * @since 0.1.0
 * @category accessors
 */
export const placesOf = ({
  enabledDirectories,
  projectSkills,
  skillPaths
}: Pick<SkillsConfig, "enabledDirectories" | "projectSkills" | "skillPaths">): ReadonlyArray<Place> => {
  const of = (origin: Origin, paths: ReadonlyArray<string>): ReadonlyArray<Place> =>
    paths.map((path) => ({ path, origin }))
  const own = [
    ...of("configured", skillPaths),
    ...of(
      "assistant",
      enabledDirectories.map((assistant) => directories[assistant])
    )
  ]
  const project = projectSkills === "off" ? [] : of("project", projectDirectories)
  const places = new Map<string, Place>()
  for (const place of projectSkills === "first" ? [...project, ...own] : [...own, ...project]) {
    const known = places.get(place.path)
    // A path that the configuration names itself is no stranger's.
    if (known === undefined) places.set(place.path, place)
    else if (known.origin === "project") places.set(place.path, place)
  }
  return [...places.values()]
}

const check = FlatConfig.checking(SkillsConfig, defaults)

/**
 * The defaults with some fields replaced, or every field that is wrong and what it must be. A field that is `undefined`
 * keeps its default.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Either.Either<SkillsConfig, SkillsConfigurationError> =>
  Either.mapLeft(
    check(options),
    (issues) =>
      new SkillsConfigurationError({
        message: `Skills cannot be built: ${FlatConfig.toText(issues)}`,
        hint: `Fields: ${Object.keys(defaults).join(", ")}`
      })
  )

const variableOf = EnvironmentFields.variableOf(ENV_PREFIX)

const flag = (field: string) => Config.boolean(variableOf(field))
const number = (field: string) => Config.number(variableOf(field))
const integer = (field: string) => Config.integer(variableOf(field))
const text = (field: string) => Config.map(Config.string(variableOf(field)), (text) => text.trim())
const word = (field: string) => Config.map(text(field), (text) => text.toLowerCase())
const list = (field: string) =>
  Config.map(text(field), (text) => (text === "" ? [] : text.split(",").map((item) => item.trim())))
const words = (field: string) => Config.map(list(field), (items) => items.map((item) => item.toLowerCase()))

const fields = {
  enabled: flag("enabled"),
  name: text("name"),
  defaultTimeoutSeconds: number("defaultTimeoutSeconds"),
  maxRetries: integer("maxRetries"),
  maxConcurrentExecutions: integer("maxConcurrentExecutions"),
  cacheEnabled: flag("cacheEnabled"),
  cacheTtlSeconds: number("cacheTtlSeconds"),
  cacheBackend: word("cacheBackend"),
  enforcePermissions: flag("enforcePermissions"),
  autoDiscover: flag("autoDiscover"),
  scanPackages: list("scanPackages"),
  enableBuiltin: flag("enableBuiltin"),
  builtinSkills: list("builtinSkills"),
  enableSkillSources: flag("enableSkillSources"),
  skillPaths: list("skillPaths"),
  enabledDirectories: words("enabledDirectories"),
  projectSkills: word("projectSkills"),
  scriptTimeoutSeconds: number("scriptTimeoutSeconds"),
  allowedScriptTypes: words("allowedScriptTypes"),
  lazyLoadContext: flag("lazyLoadContext")
} satisfies { [K in keyof SkillsConfig]: Config.Config<unknown> }

/**
 * The configuration from variables such as `LEX_AI_SKILLS__MAX_RETRIES`; what is unset keeps its default, lists are
 * separated by commas, an empty text is an empty list. A value that cannot be read or is out of bounds is a
 * `ConfigError` that names its variable.
 *
 * @since 0.1.0
 * @category constructors
 */
export const config: Effect.Effect<SkillsConfig, ConfigError.ConfigError> = Effect.flatMap(
  EnvironmentFields.read(fields),
  (given) =>
    Either.mapLeft(check(given), (issues) =>
      EnvironmentFields.invalid(issues.map(({ field, message }) => ({ variable: variableOf(field), message })))
    )
)

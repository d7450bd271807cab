/**
 * Configuration of an application's skills and their execution, from code or from the environment.
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
 * An invalid configuration. The message names every invalid field.
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
 * The skill folder of each assistant; `~` is the user's home, `.` the working directory.
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
 * Folders of the project's own skills, relative to the working directory. The author of the project wrote them: nothing
 * in them reaches a model before `SkillTrust` accepts it.
 *
 * @since 0.1.0
 * @category constants
 */
export const projectDirectories = ["./.claude/skills", "./.agents/skills"] as const

/**
 * Where a skill folder comes from: the configuration, an assistant of the user, or the project.
 *
 * @since 0.1.0
 * @category models
 */
export type Origin = "configured" | "assistant" | "project"

/**
 * A path below which skills are searched.
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
 * All assistants in `directories`.
 *
 * @since 0.1.0
 * @category constants
 */
export const assistants: ReadonlyArray<Assistant> = Object.keys(directories) as ReadonlyArray<Assistant>

const says = (text: string) => ({ message: () => ({ message: text, override: true }) })

const Flag = Schema.Boolean.annotations(says("must be true or false"))

/** At most the longest delay of a timer. */
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
  /** Name of this set of skills in logs and health reports. */
  name: Text.annotations(says("must be a name, without characters that cannot be seen")),
  /** For each attempt of a skill without a timeout of its own. */
  defaultTimeoutSeconds: seconds(0),
  /** Retries after connection failures, for a skill without a retry setting of its own. */
  maxRetries: count(0, 100),
  /** Concurrent executions; others wait. */
  maxConcurrentExecutions: count(1, 1_000_000),
  /** Off: results are never reused. */
  cacheEnabled: Flag,
  /** How long a result may be reused. */
  cacheTtlSeconds: seconds(1),
  /**
   * Where results are kept: in this process, or in the backend given to `Skills.layer`, which others may share.
   */
  cacheBackend: Schema.Literal("in_memory", "cache").annotations(says('must be "in_memory" or "cache"')),
  /** Off: every user may execute every skill. */
  enforcePermissions: Flag,
  /** On: searches the modules of `scanPackages` for skills. */
  autoDiscover: Flag,
  /** Packages, or modules by paths that begin with `./` or `../`, in search order. */
  scanPackages: texts("packages or paths of modules"),
  /** Off: no built-in skills. */
  enableBuiltin: Flag,
  /** Names of built-in skills. */
  builtinSkills: texts("names of skills"),
  /** Off: no folders with a SKILL.md. */
  enableSkillSources: Flag,
  /** Folders searched first for a SKILL.md, in this order. If two skills share a name, the first one wins. */
  skillPaths: texts("paths"),
  /** Assistants whose folders are searched after `skillPaths`; see `directories`. */
  enabledDirectories: Schema.Array(Schema.Literal(...assistants)).annotations(
    says(`must be a list of ${assistants.join(", ")}`)
  ),
  /**
   * Skills of the project (`projectDirectories`), each used only once `SkillTrust` accepts it: not read, searched after
   * all other folders, or searched before them. If two skills share a name, the earlier folder wins; an untrusted skill
   * hides no other.
   */
  projectSkills: Schema.Literal("off", "last", "first").annotations(says('must be "off", "last" or "first"')),
  /** Time limit of a skill's script. */
  scriptTimeoutSeconds: seconds(0),
  /** File extensions of scripts that may run. Empty: no script runs. */
  allowedScriptTypes: Schema.Array(Schema.Literal("py", "sh", "js")).annotations(says("must be a list of py, sh, js")),
  /**
   * On: executing a folder without a script returns the names of its files, to be read on demand. Off: it also returns
   * their text, for at most 50 files, 64 KiB each and 256 KiB in all.
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
 * The folders to search for a SKILL.md, each path once, in order of precedence: if two skills share a name, the earlier
 * folder wins. `skillPaths` come before the folders of assistants; those of the project come last or first, as
 * `projectSkills` says.
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
    // A path that the configuration itself names is not foreign.
    if (known === undefined) places.set(place.path, place)
    else if (known.origin === "project") places.set(place.path, place)
  }
  return [...places.values()]
}

const check = FlatConfig.checking(SkillsConfig, defaults)

/**
 * Overrides some defaults, or fails with every invalid field and what it must be. A field that is `undefined` keeps its
 * default.
 *
 * @example
 * ```ts
 * import { SkillsConfig } from "effect-lexigram/skill"
 * import * as Either from "effect/Either"
 *
 * // The folders of skills of this project alone.
 * const places = SkillsConfig.make({ skillPaths: [], enabledDirectories: [], projectSkills: "first" }).pipe(
 *   Either.map(SkillsConfig.placesOf)
 * )
 * ```
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
 * Reads variables such as `LEX_AI_SKILLS__MAX_RETRIES`. An unset variable keeps its default, lists are separated by
 * commas, and an empty text is an empty list. An unreadable or out-of-range value is a `ConfigError` that names its
 * variable.
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

/**
 * The built-in skills by name, configured by options.
 *
 * @since 0.1.0
 */
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import type * as ModelRouter from "../llm/ModelRouter.js"
import type * as Skill from "../skill/definition/Skill.js"
import * as SkillSource from "../skill/folder/SkillSource.js"
import * as SkillsConfig from "../skill/SkillsConfig.js"
import * as FileSkills from "./file/FileSkills.js"
import * as CodeExecutionSkill from "./process/CodeExecutionSkill.js"
import * as DatabaseQuerySkill from "./sql/DatabaseQuerySkill.js"
import * as DateTimeSkill from "./text/DateTimeSkill.js"
import * as MathSkill from "./text/MathSkill.js"
import * as TextSummarizeSkill from "./text/TextSummarizeSkill.js"
import * as TextTranslateSkill from "./text/TextTranslateSkill.js"
import * as HttpRequestSkill from "./web/HttpRequestSkill.js"
import type * as SearchProvider from "./web/SearchProvider.js"
import * as WebBrowseSkill from "./web/WebBrowseSkill.js"
import * as WebSearchSkill from "./web/WebSearchSkill.js"

/**
 * Names of all built-in skills; those without requirements come first.
 *
 * @since 0.1.0
 * @category constants
 */
export const names = [
  "current_datetime",
  "math_calculate",
  "text_summarize",
  "http_request",
  "code_execute",
  "text_translate",
  "web_search",
  "web_browse",
  "file_read",
  "file_write",
  "database_query"
] as const
/**
 * @since 0.1.0
 * @category models
 */
export type Name = (typeof names)[number]

/**
 * An absent option leaves its skill out, unless its comment says otherwise. `true` means the defaults.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Summaries by the model of a role. Default: sentences selected from the text without a model. */
  readonly summaries?: Parameters<typeof TextSummarizeSkill.withModel>[0] | undefined
  /** Options of `http_request`. Default: its defaults. */
  readonly http?: HttpRequestSkill.Options | undefined
  /**
   * Options of `code_execute`. Default: JavaScript with the usual limits. `python` adds Python, with all rights of the
   * user of this process.
   */
  readonly code?: CodeOptions | undefined
  /** `text_translate`, by a model. */
  readonly translations?: true | NonNullable<Parameters<typeof TextTranslateSkill.make>[0]> | undefined
  /** `web_search`, by a `SearchProvider`. */
  readonly search?: true | WebSearchSkill.Options | undefined
  /** `web_browse`; it needs `linkedom` and `@mozilla/readability`. */
  readonly browse?: true | WebBrowseSkill.Options | undefined
  /** `file_read` and `file_write`, below one directory. */
  readonly files?: FileSkills.WriteOptions | undefined
  /**
   * `database_query` on a SQLite file, a Postgres server or, with `allowBlocking`, the database of a `SqlClient`.
   */
  readonly database?: DatabaseQuerySkill.Options | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CodeOptions extends CodeExecutionSkill.Options {
  readonly python?: true | CodeExecutionSkill.PythonOptions | undefined
}

type Given<O, K extends keyof Options> = Exclude<O[Extract<keyof O, K>], undefined>
type When<T, R> = [T] extends [never] ? never : R
type Python<C> = Exclude<C[Extract<keyof C, "python">], undefined>

/**
 * The requirements of these options.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<O extends Options> =
  | When<Given<O, "summaries" | "translations">, ModelRouter.ModelRouter>
  | When<Python<Given<O, "code">>, CommandExecutor.CommandExecutor | FileSystem.FileSystem>
  | When<Given<O, "search">, SearchProvider.SearchProvider>
  | When<Given<O, "files">, FileSystem.FileSystem | Path.Path>
  | DatabaseQuerySkill.ServicesOf<Given<O, "database">>

/** Rejects misspelled names, which would otherwise be ignored. */
type NothingElse<O, Known extends string = never> = { readonly [K in Exclude<keyof O, keyof Options | Known>]: never }

const defaultsOf = <O extends object>(given: true | O): O | undefined => (given === true ? undefined : given)

const codeOf = (options: CodeOptions | undefined): Skill.Any => {
  if (options?.python === undefined) return CodeExecutionSkill.make(options)
  return CodeExecutionSkill.withPython({ ...options, python: defaultsOf(options.python) })
}

/**
 * The skills of these options, in the order of `names`. `current_datetime`, `math_calculate`, `text_summarize`,
 * `http_request` and `code_execute` are always included; each other skill comes with its option and its requirements.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { DefaultSkillRegistry } from "effect-lexigram/skill"
 * import { BuiltinSkills } from "effect-lexigram/builtin"
 *
 * // Layer<SkillRegistry, …, FileSystem | Path>
 * const skills = DefaultSkillRegistry.layer(...BuiltinSkills.make({ files: { baseDirectory: "./notes" } }))
 * ```
 */
export const make = <const O extends Options = {}>(
  options?: (O & NothingElse<O>) | undefined
): ReadonlyArray<Skill.Skill<never, unknown, unknown, ServicesOf<O>>> => {
  const { browse, code, database, files, http, search, summaries, translations }: Options = options ?? {}
  const skills: ReadonlyArray<Skill.Any> = [
    DateTimeSkill.skill,
    MathSkill.skill,
    summaries === undefined ? TextSummarizeSkill.skill : TextSummarizeSkill.withModel(summaries),
    HttpRequestSkill.make(http),
    codeOf(code),
    ...(translations === undefined ? [] : [TextTranslateSkill.make(defaultsOf(translations))]),
    ...(search === undefined ? [] : [WebSearchSkill.make(defaultsOf(search))]),
    ...(browse === undefined ? [] : [WebBrowseSkill.make(defaultsOf(browse))]),
    ...(files === undefined ? [] : [FileSkills.read(files), FileSkills.write(files)]),
    ...(database === undefined ? [] : [DatabaseQuerySkill.make(database)])
  ]
  return skills as ReadonlyArray<any>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SourceOptions extends Options {
  /**
   * Selected from `names`, in code or by configuration. Default: `current_datetime`, `math_calculate`,
   * `text_summarize`.
   */
  readonly names?: ReadonlyArray<string> | undefined
}

/**
 * A source of the selected skills. An unknown name is a problem of the source.
 *
 * @since 0.1.0
 * @category constructors
 */
export const source = <const O extends SourceOptions = {}>(
  options?: (O & NothingElse<O, "names">) | undefined
): SkillSource.SkillSource<ServicesOf<O>> =>
  SkillSource.fromNames(
    "built-in",
    make<any>(options) as ReadonlyArray<Skill.Any>,
    options?.names ?? SkillsConfig.defaults.builtinSkills
  ) as SkillSource.SkillSource<any>

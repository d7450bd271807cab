/**
 * The built-in skills by name, as much of each as an application wants.
 *
 * @since 0.1.0
 */
export * as BuiltinSkills from "./BuiltinSkills.js"

/**
 * Runs the scripts of skills in processes of their own.
 *
 * @since 0.1.0
 */
export * as ChildScripts from "./process/ChildScripts.js"

/**
 * Executes code.
 *
 * @since 0.1.0
 */
export * as CodeExecutionSkill from "./process/CodeExecutionSkill.js"

/**
 * Failures of database queries.
 *
 * @since 0.1.0
 */
export * as DatabaseQueryError from "./sql/DatabaseQueryError.js"

/**
 * The skill `database_query`: statements that read, on a database that refuses to write while they run.
 *
 * @since 0.1.0
 */
export * as DatabaseQuerySkill from "./sql/DatabaseQuerySkill.js"

/**
 * Tells the time.
 *
 * @since 0.1.0
 */
export * as DateTimeSkill from "./text/DateTimeSkill.js"

/**
 * The skills `file_read` and `file_write`: files below one directory.
 *
 * @since 0.1.0
 */
export * as FileSkills from "./file/FileSkills.js"

/**
 * Failures of HTTP requests.
 *
 * @since 0.1.0
 */
export * as HttpRequestError from "./web/HttpRequestError.js"

/**
 * The skill `http_request`: requests to the public Internet, bounded in where they go, what they carry and what they
 * take.
 *
 * @since 0.1.0
 */
export * as HttpRequestSkill from "./web/HttpRequestSkill.js"

/**
 * Search providers over HTTP: an instance of SearXNG, Brave, Tavily, or any other that answers with JSON.
 *
 * @since 0.1.0
 */
export * as HttpSearch from "./web/HttpSearch.js"

/**
 * The `math_calculate` skill: arithmetic on exact decimals.
 *
 * @since 0.1.0
 */
export * as MathSkill from "./text/MathSkill.js"

/**
 * Who searches the web.
 *
 * @since 0.1.0
 */
export * as SearchProvider from "./web/SearchProvider.js"

/**
 * Shortens texts.
 *
 * @since 0.1.0
 */
export * as TextSummarizeSkill from "./text/TextSummarizeSkill.js"

/**
 * Translates texts.
 *
 * @since 0.1.0
 */
export * as TextTranslateSkill from "./text/TextTranslateSkill.js"

/**
 * The skill `web_browse`: what a page of the public Internet says, as text.
 *
 * @since 0.1.0
 */
export * as WebBrowseSkill from "./web/WebBrowseSkill.js"

/**
 * The skill `web_search`.
 *
 * @since 0.1.0
 */
export * as WebSearchSkill from "./web/WebSearchSkill.js"

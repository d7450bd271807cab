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
export * as ChildScripts from "./ChildScripts.js"

/**
 * Executes code.
 *
 * @since 0.1.0
 */
export * as CodeExecutionSkill from "./CodeExecutionSkill.js"

/**
 * The skill `database_query`: statements that read, on a database that refuses to write while they run.
 *
 * @since 0.1.0
 */
export * as DatabaseQuerySkill from "./DatabaseQuerySkill.js"

/**
 * Tells the time.
 *
 * @since 0.1.0
 */
export * as DateTimeSkill from "./DateTimeSkill.js"

/**
 * The skills `file_read` and `file_write`: files below one directory.
 *
 * @since 0.1.0
 */
export * as FileSkills from "./FileSkills.js"

/**
 * The skill `http_request`: requests to the public Internet, bounded in where they go, what they carry and what they
 * take.
 *
 * @since 0.1.0
 */
export * as HttpRequestSkill from "./HttpRequestSkill.js"

/**
 * Search providers over HTTP: an instance of SearXNG, Brave, Tavily, or any other that answers with JSON.
 *
 * @since 0.1.0
 */
export * as HttpSearch from "./HttpSearch.js"

/**
 * Calculates.
 *
 * @since 0.1.0
 */
export * as MathSkill from "./MathSkill.js"

/**
 * Who searches the web.
 *
 * @since 0.1.0
 */
export * as SearchProvider from "./SearchProvider.js"

/**
 * Shortens texts.
 *
 * @since 0.1.0
 */
export * as TextSummarizeSkill from "./TextSummarizeSkill.js"

/**
 * Translates texts.
 *
 * @since 0.1.0
 */
export * as TextTranslateSkill from "./TextTranslateSkill.js"

/**
 * The skill `web_browse`: what a page of the public Internet says, as text.
 *
 * @since 0.1.0
 */
export * as WebBrowseSkill from "./WebBrowseSkill.js"

/**
 * The skill `web_search`.
 *
 * @since 0.1.0
 */
export * as WebSearchSkill from "./WebSearchSkill.js"

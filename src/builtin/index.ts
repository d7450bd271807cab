/**
 * The built-in skills by name, configured by options.
 *
 * @since 0.1.0
 */
export * as BuiltinSkills from "./BuiltinSkills.js"

/**
 * Runs scripts of skills in child processes.
 *
 * @since 0.1.0
 */
export * as ChildScripts from "./process/ChildScripts.js"

/**
 * The `code_execute` skill: executes JavaScript in a sandbox and, on request, Python in a process.
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
 * The skill `database_query`: read-only statements, on a database that refuses writes while they run.
 *
 * @since 0.1.0
 */
export * as DatabaseQuerySkill from "./sql/DatabaseQuerySkill.js"

/**
 * The `current_datetime` skill: the current time in a time zone.
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
 * The skill `http_request`: requests to the public Internet with bounded targets, contents and answers.
 *
 * @since 0.1.0
 */
export * as HttpRequestSkill from "./web/HttpRequestSkill.js"

/**
 * Search providers over HTTP: SearXNG, Brave, Tavily, or any other that answers with JSON.
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
 * Fetches files that messages give by URL, for models that do not fetch them. A URL may come from a user, a tool or a
 * model, so its target is checked as that of the skill `http_request`.
 *
 * @since 0.1.0
 */
export * as RemoteContent from "./web/RemoteContent.js"

/**
 * The port for web search.
 *
 * @since 0.1.0
 */
export * as SearchProvider from "./web/SearchProvider.js"

/**
 * The `text_summarize` skill: shortens texts.
 *
 * @since 0.1.0
 */
export * as TextSummarizeSkill from "./text/TextSummarizeSkill.js"

/**
 * The `text_translate` skill: translates texts by a model.
 *
 * @since 0.1.0
 */
export * as TextTranslateSkill from "./text/TextTranslateSkill.js"

/**
 * The skill `web_browse`: the text of a page on the public Internet.
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

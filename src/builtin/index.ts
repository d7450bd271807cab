/**
 * The skill `database_query`: statements that read, on a database that refuses to write while they run.
 *
 * @since 0.1.0
 */
export * as DatabaseQuerySkill from "./DatabaseQuerySkill.js"

/**
 * The skills `file_read` and `file_write`: files below one directory.
 *
 * @since 0.1.0
 */
export * as FileSkills from "./FileSkills.js"

/**
 * The skill `http_request`: requests to the public Internet, bounded in where they go, what they carry and what they take.
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
 * Who searches the web.
 *
 * @since 0.1.0
 */
export * as SearchProvider from "./SearchProvider.js"

/**
 * The skill `web_search`.
 *
 * @since 0.1.0
 */
export * as WebSearchSkill from "./WebSearchSkill.js"

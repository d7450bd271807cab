/**
 * Parses database URLs: `sqlite:` names a file, `postgres://` a server, `redis://` a cache, `memory:` this process. Any
 * other URL is an error.
 *
 * @since 0.1.0
 */
import { fileURLToPath } from "node:url"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { PersistenceConfigurationError } from "./PersistenceError.js"

/**
 * `url` is redacted because it may hold a password.
 *
 * @since 0.1.0
 * @category models
 */
export type DatabaseUrl =
  | { readonly _tag: "Memory" }
  /** `:memory:` is a database that ends with the process. */
  | { readonly _tag: "Sqlite"; readonly file: string }
  | { readonly _tag: "Postgres"; readonly url: Redacted.Redacted }
  | { readonly _tag: "Redis"; readonly url: Redacted.Redacted }

/** The schemes of the URLs. */
const schemes: { readonly [scheme: string]: DatabaseUrl["_tag"] } = {
  memory: "Memory",
  sqlite: "Sqlite",
  file: "Sqlite",
  postgres: "Postgres",
  postgresql: "Postgres",
  redis: "Redis",
  rediss: "Redis"
}

const known = "`sqlite:` with a file, `postgres://`, `redis://`, `rediss://` or `memory:`"

/** Errors never contain the URL, because even an invalid one may hold a password. */
const refused = (message: string, hint: string): Either.Either<never, PersistenceConfigurationError> =>
  Either.left(new PersistenceConfigurationError({ message, hint }))

const fileOf = (rest: string): string | undefined => {
  if (rest === ":memory:") return rest
  // Accepts `sqlite:data.db`, `sqlite:/var/data.db` and `sqlite:///var/data.db`. A host is an error.
  const path = rest.startsWith("///") ? rest.slice(2) : rest
  if (path === "" || path.startsWith("//") || /[?#\0]/.test(path)) return undefined
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

const sqlite = (scheme: string, text: string): Either.Either<DatabaseUrl, PersistenceConfigurationError> => {
  const hint =
    "Write `sqlite:data/agent.db`, `sqlite:/var/lib/agent.db` or `sqlite::memory:`; no host, and nothing behind the file"
  if (scheme === "file") {
    try {
      return Either.right({ _tag: "Sqlite", file: fileURLToPath(text) })
    } catch {
      return refused("The URL names no file of this machine", hint)
    }
  }
  const file = fileOf(text.slice(text.indexOf(":") + 1))
  return file === undefined || file.includes("\0")
    ? refused("The URL names no file for SQLite", hint)
    : Either.right({ _tag: "Sqlite", file })
}

const server = (tag: "Postgres" | "Redis", text: string): Either.Either<DatabaseUrl, PersistenceConfigurationError> => {
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  // For a Postgres socket the host is empty, and a parameter names it.
  return parsed === undefined || (parsed.hostname === "" && !parsed.searchParams.has("host"))
    ? refused(
        `The URL for ${tag} cannot be read`,
        "Write scheme://user:password@host:port/database; characters like @ and / in a password are written as %40 and %2F"
      )
    : Either.right({ _tag: tag, url: Redacted.make(text) })
}

/**
 * Reads `sqlite:data/agents.db`, `sqlite::memory:`, `file:///data/agents.db`, `postgres://`, `postgresql://`,
 * `redis://`, `rediss://` and `memory:`. Connects to nothing. The error never contains the URL.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { DatabaseUrl } from "effect-lexigram/persistence"
 * import * as Either from "effect/Either"
 *
 * const kind = (url: string) => Either.map(DatabaseUrl.parse(url), ({ _tag }) => _tag)
 *
 * kind("postgres://localhost/agents") // right("Postgres")
 * kind("sqlite:///data/agents.db") // right("Sqlite")
 * kind("mysql://localhost/agents") // left: a `PersistenceConfigurationError`
 * ```
 */
export const parse = (url: string | Redacted.Redacted): Either.Either<DatabaseUrl, PersistenceConfigurationError> => {
  const text = (Redacted.isRedacted(url) ? Redacted.value(url) : url).trim()
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
  const tag = scheme !== undefined && Object.hasOwn(schemes, scheme) ? schemes[scheme] : undefined
  switch (tag) {
    case undefined:
      return refused(
        scheme === undefined
          ? "The URL of the database does not say which one it is"
          : // Without a scheme, the text before the colon could be anything, including a password.
            "There is no backend for this kind of URL",
        `Begin it with ${known}`
      )
    case "Memory":
      return text.length === "memory:".length
        ? Either.right({ _tag: "Memory" })
        : refused("Nothing can stand behind `memory:`", "A database in this process is not named; leave the rest out")
    case "Sqlite":
      return sqlite(scheme as string, text)
    case "Postgres":
    case "Redis":
      return server(tag, text)
  }
}

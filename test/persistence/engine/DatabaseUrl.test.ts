import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import * as DatabaseUrl from "../../../src/persistence/engine/DatabaseUrl.js"

const accepted: ReadonlyArray<readonly [url: string, tag: string, file?: string]> = [
  ["memory:", "Memory"],
  ["sqlite:agent.db", "Sqlite", "agent.db"],
  ["sqlite:./data/agent.db", "Sqlite", "./data/agent.db"],
  ["sqlite:/var/lib/agent.db", "Sqlite", "/var/lib/agent.db"],
  ["sqlite:///var/lib/agent.db", "Sqlite", "/var/lib/agent.db"],
  ["sqlite:my%20agent.db", "Sqlite", "my agent.db"],
  ["sqlite::memory:", "Sqlite", ":memory:"],
  ["SQLite:agent.db", "Sqlite", "agent.db"],
  ["file:///var/lib/agent.db", "Sqlite", "/var/lib/agent.db"],
  ["postgres://me:secret@localhost:5432/agents", "Postgres"],
  ["postgresql://localhost/agents?sslmode=require", "Postgres"],
  ["postgres:///agents?host=/var/run/postgresql", "Postgres"],
  ["redis://localhost:6379/2", "Redis"],
  ["rediss://:secret@cache.example:6380", "Redis"],
  ["  redis://localhost  ", "Redis"]
]

const refusedUrls = [
  "",
  "agent.db",
  "/var/lib/agent.db",
  "mysql://me:secret@localhost/agents",
  "constructor:x",
  "__proto__:x",
  "sqlite:",
  "sqlite://host/agent.db",
  "sqlite:agent.db?mode=ro",
  "sqlite:a%00b",
  "sqlite:%zz",
  "file://host/agent.db",
  "memory:agents",
  "postgres:agents",
  "postgres://me:se#cret@localhost:5432/agents",
  "redis:6379",
  "redis://",
  "secret:of nobody"
]

describe("the URL of a database", () => {
  for (const [url, tag, file] of accepted) {
    it(`recognizes ${url.trim()} as ${tag}`, () => {
      const parsed = Either.getOrThrow(DatabaseUrl.parse(url))
      assert.strictEqual(parsed._tag, tag)
      if (parsed._tag === "Sqlite") assert.strictEqual(parsed.file, file)
      if (parsed._tag === "Postgres" || parsed._tag === "Redis") {
        assert.strictEqual(Redacted.value(parsed.url), url.trim())
        assert.notInclude(inspect(parsed, { depth: 9 }), "secret")
      }
      assert.deepStrictEqual(DatabaseUrl.parse(Redacted.make(url)).pipe(Either.isRight), true)
    })
  }

  for (const url of refusedUrls) {
    it(`rejects ${JSON.stringify(url)} without quoting it`, () => {
      const error = Either.getOrThrow(Either.flip(DatabaseUrl.parse(url)))
      assert.strictEqual(error._tag, "PersistenceConfigurationError")
      assert.isDefined(error.hint)
      assert.notMatch(inspect(error, { depth: 9 }), /secret|agents:1|mysql/)
    })
  }
})

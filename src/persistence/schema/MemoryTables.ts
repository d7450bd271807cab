/**
 * Tables of memory entries. Owners have a number, so that indexes do not repeat their names and no key exceeds the
 * limit of Postgres. Columns for selection and order are in narrow rows apart from the contents, because a search
 * examines many rows and reads few contents.
 *
 * Words use the full text of the database: FTS5 without a copy of the text, and a `tsvector` with a GIN index. Both
 * only store which word occurs in which entry how often. The words come from a `TextAnalyzer`, each prefixed with the
 * number of its owner.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

const words: { readonly [D in Dialect["name"]]: (dialect: Dialect) => ReadonlyArray<string> } = {
  // Tokens consist of ASCII letters, digits and non-ASCII characters. `SqlFullText` makes no others.
  sqlite: () => [
    "CREATE VIRTUAL TABLE lex_memory_words USING fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii')",
    // Deleted rows stay in the lists until a merge. With the default, merges are so frequent that large deletes take
    // ten times as long.
    "INSERT INTO lex_memory_words (lex_memory_words, rank) VALUES ('deletemerge', 40)",
    "CREATE VIRTUAL TABLE lex_memory_places USING fts5vocab(lex_memory_words, instance)"
  ],
  postgres: ({ types }) => [
    `CREATE TABLE lex_memory_words (
      serial BIGINT PRIMARY KEY,
      owner ${types.integer} NOT NULL,
      length ${types.number} NOT NULL,
      words TSVECTOR NOT NULL,
      often JSONB
    )`,
    // A pending list would be read by every search of every owner.
    "CREATE INDEX lex_memory_words_by_word ON lex_memory_words USING GIN (words) WITH (fastupdate = off)"
  ]
}

/**
 * @category schemas
 */
export const tables = (dialect: Dialect): ReadonlyArray<string> => {
  const { types } = dialect
  return [
    `CREATE TABLE lex_memory_owners (
      serial ${types.serial},
      owner_id ${types.key} NOT NULL UNIQUE,
      analyzer ${types.key} NOT NULL,
      entries ${types.number} NOT NULL,
      words ${types.number} NOT NULL,
      next_expiry ${types.number}
    )`,
    "CREATE INDEX lex_memory_owners_by_expiry ON lex_memory_owners (next_expiry)",
    `CREATE TABLE lex_memories (
      serial ${types.serial},
      owner ${types.integer} NOT NULL,
      id ${types.key} NOT NULL,
      timestamp ${types.number} NOT NULL,
      beginning ${types.number} NOT NULL,
      role ${types.key} NOT NULL,
      session_id ${types.key},
      expires_at ${types.number},
      words ${types.number} NOT NULL,
      access_count ${types.number},
      accessed_at ${types.number},
      attributes ${types.text} NOT NULL
    )`,
    "CREATE UNIQUE INDEX lex_memories_by_id ON lex_memories (owner, id)",
    "CREATE INDEX lex_memories_by_time ON lex_memories (owner, timestamp, id)",
    // With the id of the session, a further column could exceed the key limit of Postgres, which sorts the few entries
    // of one time itself.
    `CREATE INDEX lex_memories_by_session ON lex_memories (owner, session_id, timestamp${dialect.name === "sqlite" ? ", id" : ""})`,
    "CREATE INDEX lex_memories_by_expiry ON lex_memories (owner, expires_at)",
    `CREATE TABLE lex_memory_bodies (
      serial ${dialect.name === "sqlite" ? "INTEGER" : "BIGINT"} PRIMARY KEY,
      body ${types.text},
      data ${types.bytes},
      embedding ${types.bytes}
    )`,
    ...words[dialect.name](dialect)
  ]
}

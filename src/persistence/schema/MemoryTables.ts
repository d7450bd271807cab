/**
 * The tables of the entries of memory. Owners have a number, so that no index repeats their names and none of its rows
 * outgrows what Postgres lets into an index. What is selected and ordered by stands in narrow rows, apart from the
 * contents: a search looks at many and reads few.
 *
 * The words are full text of the database: FTS5 without a copy of the text, and a `tsvector` with a GIN index. Both
 * only keep lists of which word stands in which entry how often; the words themselves come from a `TextAnalyzer`, each
 * with the number of its owner before it.
 *
 * @internal
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

const words: { readonly [D in Dialect["name"]]: (dialect: Dialect) => ReadonlyArray<string> } = {
  // Only ASCII letters and digits and what is not ASCII are parts of words: `SqlFullText` makes no others.
  sqlite: () => [
    "CREATE VIRTUAL TABLE lex_memory_words USING fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii')",
    // What was deleted stays in the lists until they are merged: by default so soon that deleting much takes ten times
    // as long.
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
    // A list of what is not yet in its place would be read by each search, whosever words are on it.
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
    // Beside the id of a session another one could be too long for an index of Postgres, which sorts the few of one
    // time by itself.
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

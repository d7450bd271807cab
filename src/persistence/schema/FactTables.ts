/**
 * Tables of `SqlFactStore`: a row per owner with facts, a row per fact, and rows to find facts by their text.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  // The number of facts and of all their terms, for the weight of a term, and the analyzer that made the terms.
  `CREATE TABLE lex_fact_owners (
    owner_id ${types.key} PRIMARY KEY,
    revision ${types.number} NOT NULL,
    facts ${types.number} NOT NULL,
    terms ${types.number} NOT NULL,
    analyzer ${types.text} NOT NULL
  )`,
  // `doubt` and `age` are negated, so that answers are in ascending order of both and the id, and a page can begin
  // anywhere.
  `CREATE TABLE lex_facts (
    owner_id ${types.key} NOT NULL,
    id ${types.key} NOT NULL,
    subject ${types.key} NOT NULL,
    subject_key ${types.key} NOT NULL,
    predicate_key ${types.key} NOT NULL,
    object_key ${types.key} NOT NULL,
    subject_words ${types.text} NOT NULL,
    object_words ${types.text} NOT NULL,
    text ${types.text} NOT NULL,
    confidence ${types.number} NOT NULL,
    valid_from ${types.number} NOT NULL,
    valid_to ${types.number},
    replaces_from ${types.number},
    doubt ${types.number} NOT NULL,
    age ${types.number} NOT NULL,
    terms ${types.number} NOT NULL,
    body ${types.text} NOT NULL,
    PRIMARY KEY (owner_id, id)
  )`,
  "CREATE INDEX lex_facts_position ON lex_facts (owner_id, doubt, age, id)",
  "CREATE INDEX lex_facts_subject ON lex_facts (owner_id, subject_key, predicate_key, valid_from)",
  // `kind` 0: a term of the text and its frequency. 1: a whole word of the subject or the object. 2: an
  // entry that the fact was read from.
  `CREATE TABLE lex_fact_terms (
    owner_id ${types.key} NOT NULL,
    kind ${types.integer} NOT NULL,
    term ${types.key} NOT NULL,
    fact_id ${types.key} NOT NULL,
    frequency ${types.number} NOT NULL,
    PRIMARY KEY (owner_id, kind, term, fact_id)
  )`,
  "CREATE INDEX lex_fact_terms_fact ON lex_fact_terms (owner_id, fact_id)"
]

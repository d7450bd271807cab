/**
 * The tables with data of users.
 *
 * @private
 * @since 0.1.0
 */
import * as RunBlobs from "../durable/payload/RunBlobs.js"
import type { Dialect } from "./engine/Dialect.js"
import * as IndexKey from "./engine/IndexKey.js"
import * as OwnedConditions from "./OwnedConditions.js"
import { type Condition, type Conditions, encoded, indexed } from "./OwnedConditions.js"
import * as Rows from "./session/SqlSessionRows.js"

/**
 * @category models
 */
export interface OwnedTable {
  readonly part: string
  readonly table: string
  /** The exported columns; the database assigns the others. If empty, the rows are only erased. */
  readonly columns: ReadonlyArray<string>
  /** Columns that an import sets to fixed values. */
  readonly fixed?: ReadonlyArray<readonly [column: string, value: number]> | undefined
  /** The key by which rows are read page by page. */
  readonly key: ReadonlyArray<string>
  readonly owned: Condition
  /** Rows that are read at once, where rows are large. Default: `PAGE` of `OwnerStores`. */
  readonly page?: number | undefined
  /** Whether a row means that the user has data. */
  readonly isMain?: boolean | undefined
}

const tablesOfSessions = ({ ofSession, oneOf }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "sessions",
    table: "lex_sessions",
    columns: [
      ...["id", "user_id", "parent_id", "root_id", "status", "created_at", "updated_at", "revision", "fence"],
      ...["head_session", "head_turn", "depth", "total_tokens", "total_cost", "checkpoint_id", "turns", "run"],
      ...["is_tip", "is_heavy", "base_session", "base_run", "base_place"]
    ],
    key: ["id"],
    owned: oneOf("id", ({ sessions }) => encoded(sessions)),
    isMain: true
  },
  {
    part: "sessions",
    table: "lex_session_states",
    columns: ["session_id", "body", "ref", "state", "state_ref"],
    key: ["session_id"],
    owned: ofSession
  },
  {
    part: "sessions",
    table: "lex_session_checkpoints",
    columns: ["id", "session_id", "revision", "kind", "merged_id", "body", "ref", "state", "state_ref"],
    key: ["id"],
    owned: ofSession
  },
  {
    part: "sessions",
    table: "lex_session_turns",
    columns: [
      ...["session_id", "place", "run", "turn_id", "parent_session", "parent_run", "parent_place", "body", "ref"]
    ],
    key: ["session_id", "place"],
    owned: ofSession
  },
  {
    part: "sessions",
    table: "lex_session_exchanges",
    columns: ["session_id", "run_id", "owner_id", "body"],
    key: ["session_id", "run_id"],
    owned: ofSession
  },
  {
    part: "sessions",
    table: "lex_payloads",
    columns: ["scope", "hash", "data"],
    key: ["scope", "hash"],
    owned: oneOf("scope", ({ sessions }) =>
      encoded(sessions).flatMap((id) => [Rows.scopes.turns + id, Rows.scopes.states + id])
    )
  }
]

const tablesOfFacts = ({ ofOwner }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "facts",
    table: "lex_fact_owners",
    columns: ["owner_id", "revision", "facts", "terms", "analyzer"],
    key: ["owner_id"],
    owned: ofOwner,
    isMain: true
  },
  {
    part: "facts",
    table: "lex_facts",
    columns: [
      ...["owner_id", "id", "subject", "subject_key", "predicate_key", "object_key", "subject_words"],
      ...["object_words", "text", "confidence", "valid_from", "valid_to", "replaces_from", "doubt", "age", "terms"],
      "body"
    ],
    key: ["owner_id", "id"],
    owned: ofOwner
  },
  {
    part: "facts",
    table: "lex_fact_terms",
    columns: ["owner_id", "kind", "term", "fact_id", "frequency"],
    key: ["owner_id", "kind", "term", "fact_id"],
    owned: ofOwner
  }
]

const tablesOfRuns = ({ oneOf }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "runs",
    table: "lex_runs",
    columns: ["run_id", "parent_run_id", "agent", "session_id", "user_id", "last_at"],
    key: ["run_id"],
    owned: oneOf("run_id", ({ runs }) => runs),
    isMain: true
  },
  {
    part: "runs",
    table: "lex_run_events",
    columns: ["run_id", "seq", "body", "data"],
    key: ["run_id", "seq"],
    owned: oneOf("run_id", ({ runs }) => runs)
  }
]

const tablesOfRecords = ({ any, ofUser, oneOf }: Conditions): ReadonlyArray<OwnedTable> => {
  const owned = any(
    ofUser("user_id"),
    oneOf("session_id", ({ sessions }) => indexed(sessions))
  )
  // Before the records by which they are found.
  const below = (name: string, ...columns: ReadonlyArray<string>): OwnedTable => ({
    part: "runs",
    table: `lex_run_${name}`,
    columns,
    key: columns.length === 0 ? ["run_id"] : columns,
    owned: {
      text: `run_id IN (SELECT run_id FROM lex_run_records WHERE ${owned.text})`,
      params: owned.params
    }
  })
  return [
    below("labels", "label", "created_at", "run_id"),
    below("messages"),
    below("deltas"),
    below("readers"),
    {
      part: "runs",
      table: "lex_run_records",
      columns: [
        ...["run_id", "fingerprint", "user_id", "session_id", "agent", "state", "created_at", "updated_at"],
        ...["ended_at", "session", "error", "body"]
      ],
      key: ["run_id"],
      owned,
      isMain: true
    }
  ]
}

/** What a durable run has recorded. The execution first: a run that goes on adds no rows after that. */
const tablesOfExecutions = ({ oneOf }: Conditions): ReadonlyArray<OwnedTable> =>
  ["executions", "activities", "deferreds", "clocks"].map((name) => ({
    part: "runs",
    table: `lex_workflow_${name}`,
    columns: [],
    key: ["execution_id"],
    owned: oneOf("execution_id", ({ executions }) => indexed(executions))
  }))

const tablesOfSchedules = ({ ofUser }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "schedules",
    table: "lex_run_schedules",
    columns: ["id", "uid", "fingerprint", "user_id", "agent", "state", "created_at", "due_at", "revision", "body"],
    key: ["id"],
    owned: ofUser("user_id"),
    page: 4,
    isMain: true
  }
]

/** Runs in the queue, and the turns of their owner, belong to the database: an export leaves them out. */
const tablesOfQueue = ({ ofUser }: Conditions): ReadonlyArray<OwnedTable> => [
  { part: "queue", table: "lex_queue", columns: [], key: ["run_id"], owned: ofUser("user_id") },
  {
    part: "queue",
    table: "lex_queue_lanes",
    columns: [],
    key: ["owner", "agent"],
    owned: { text: "owner = ?", params: ({ user }) => [IndexKey.of(`user:${user}`)] }
  }
]

const tablesOfApprovals = ({ any, ofUser, oneOf }: Conditions, dialect: Dialect): ReadonlyArray<OwnedTable> => [
  {
    part: "approvals",
    table: "lex_approvals",
    columns: [
      ...["id", "run_id", "root_run_id", "session_id", "user_id", "agent", "tool", "requested_at", "expires_at"],
      ...["body", "data", "settled_at", "settlement"]
    ],
    key: ["number"],
    owned: any(
      ofUser("user_id"),
      oneOf("session_id", ({ sessions }) => indexed(sessions))
    ),
    isMain: true
  },
  {
    part: "approvals",
    table: "lex_decisions",
    columns: ["entry", "scope", "scope_id", "user_id", "agent", "tool", "at", "body", "data"],
    key: ["entry"],
    owned: any(
      ofUser("user_id"),
      {
        text: `(scope = 'session' AND ${dialect.oneOf("scope_id")})`,
        params: ({ sessions }) => [dialect.list(indexed(sessions))]
      },
      {
        text: `(scope = 'run' AND ${dialect.oneOf("scope_id")})`,
        params: ({ runs }) => [dialect.list(runs)]
      }
    )
  }
]

const tablesOfAudit = ({ any, ofUser, oneOf }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "audit",
    table: "lex_audit",
    columns: ["at", "event_type", "status", "user_id", "agent", "run_id", "model", "body", "data"],
    key: ["number"],
    owned: any(
      ofUser("user_id"),
      oneOf("run_id", ({ runs }) => runs)
    ),
    isMain: true
  }
]

const tablesOfCosts = ({ ofAccount }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "costs",
    table: "lex_ledger_accounts",
    columns: ["account", "spent_usd", "spent_tokens", "changed_at", "expires_at"],
    // Holds are settled in the database they were made in.
    fixed: [
      ["reserved_usd", 0],
      ["reserved_tokens", 0]
    ],
    key: ["account"],
    owned: ofAccount,
    isMain: true
  }
]

const tablesOfThreads = ({ ofThread }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "threads",
    table: "lex_threads",
    columns: ["thread_id", "user_id", "revision", "fence"],
    key: ["thread_id"],
    owned: ofThread,
    isMain: true
  },
  {
    part: "threads",
    table: "lex_checkpoints",
    columns: ["thread_id", "number", "id", "namespace", "body", "ref", "metadata"],
    key: ["thread_id", "number"],
    owned: ofThread
  },
  {
    part: "threads",
    table: "lex_checkpoint_writes",
    columns: ["thread_id", "number", "node", "position", "body", "data"],
    key: ["thread_id", "number", "node"],
    owned: ofThread
  },
  {
    part: "threads",
    table: "lex_checkpoint_pieces",
    columns: ["thread_id", "hash", "body", "data"],
    key: ["thread_id", "hash"],
    owned: ofThread
  }
]

const tablesOfBlobs = ({ any, ofUser, oneOf }: Conditions): ReadonlyArray<OwnedTable> => [
  {
    part: "blobs",
    table: "lex_blobs",
    columns: ["owner_id", "scope", "hash", "media_type", "size", "data"],
    key: ["scope", "hash"],
    owned: {
      ...ofUser("owner_id"),
      text: `owner_id = ? AND scope NOT LIKE '${RunBlobs.anyScope}'`
    },
    page: 4,
    isMain: true
  },
  // Those of durable runs, after their executions.
  {
    part: "blobs",
    table: "lex_blobs",
    columns: [],
    key: ["scope", "hash"],
    owned: any(
      ofUser("owner_id"),
      oneOf("owner_id", ({ executions }) => indexed(executions.map(RunBlobs.ownerOf)))
    )
  }
]

/** A cached value records its owner only as part of a hash, so caches are erased completely. */
const cacheTable: OwnedTable = {
  part: "caches",
  table: "lex_cache",
  columns: [],
  key: ["name"],
  owned: { text: "1 = 1", params: () => [] }
}

/**
 * @category constructors
 */
export const make = (dialect: Dialect): ReadonlyArray<OwnedTable> => {
  const conditions = OwnedConditions.make(dialect)
  return [
    ...tablesOfSessions(conditions),
    ...tablesOfFacts(conditions),
    ...tablesOfExecutions(conditions),
    ...tablesOfRuns(conditions),
    ...tablesOfRecords(conditions),
    ...tablesOfSchedules(conditions),
    ...tablesOfQueue(conditions),
    ...tablesOfApprovals(conditions, dialect),
    ...tablesOfAudit(conditions),
    ...tablesOfCosts(conditions),
    ...tablesOfThreads(conditions),
    ...tablesOfBlobs(conditions),
    cacheTable
  ]
}

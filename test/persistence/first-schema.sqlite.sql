CREATE TABLE lex_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at REAL NOT NULL
  );

CREATE TABLE lex_payloads (
    scope TEXT NOT NULL,
    hash TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (scope, hash)
  );

CREATE TABLE lex_threads (
    thread_id TEXT NOT NULL PRIMARY KEY,
    revision REAL NOT NULL,
    fence REAL NOT NULL DEFAULT 0
  );

CREATE TABLE lex_checkpoints (
    thread_id TEXT NOT NULL,
    number REAL NOT NULL,
    id TEXT NOT NULL,
    namespace TEXT NOT NULL,
    body TEXT,
    ref TEXT,
    metadata TEXT NOT NULL,
    PRIMARY KEY (thread_id, number),
    UNIQUE (thread_id, id)
  );

CREATE INDEX lex_checkpoints_namespace ON lex_checkpoints (thread_id, namespace, number);

CREATE TABLE lex_checkpoint_writes (
    thread_id TEXT NOT NULL,
    number REAL NOT NULL,
    node TEXT NOT NULL,
    position REAL NOT NULL,
    body TEXT,
    data BLOB,
    PRIMARY KEY (thread_id, number, node)
  );

CREATE TABLE lex_checkpoint_pieces (
    thread_id TEXT NOT NULL,
    hash TEXT NOT NULL,
    body TEXT,
    data BLOB,
    PRIMARY KEY (thread_id, hash)
  );

CREATE TABLE lex_runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    parent_run_id TEXT,
    agent TEXT NOT NULL,
    session_id TEXT,
    user_id TEXT,
    last_at REAL NOT NULL
  );

CREATE INDEX lex_runs_parent_run_id ON lex_runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE INDEX lex_runs_session_id ON lex_runs (session_id) WHERE session_id IS NOT NULL;

CREATE INDEX lex_runs_user_id ON lex_runs (user_id) WHERE user_id IS NOT NULL;

CREATE INDEX lex_runs_last_at ON lex_runs (last_at);

CREATE TABLE lex_run_events (
    run_id TEXT NOT NULL,
    seq REAL NOT NULL,
    body TEXT,
    data BLOB,
    PRIMARY KEY (run_id, seq)
  );

CREATE TABLE lex_approvals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT NOT NULL,
    root_run_id TEXT,
    session_id TEXT,
    user_id TEXT,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    requested_at REAL NOT NULL,
    expires_at REAL,
    body TEXT,
    data BLOB,
    settled_at REAL,
    settlement TEXT
  );

CREATE INDEX lex_approvals_run ON lex_approvals (run_id, settled_at, requested_at, number);

CREATE INDEX lex_approvals_root_run_id ON lex_approvals (root_run_id, settled_at, requested_at, number)
      WHERE root_run_id IS NOT NULL;

CREATE INDEX lex_approvals_session_id ON lex_approvals (session_id, settled_at, requested_at, number)
      WHERE session_id IS NOT NULL;

CREATE INDEX lex_approvals_user_id ON lex_approvals (user_id, settled_at, requested_at, number)
      WHERE user_id IS NOT NULL;

CREATE INDEX lex_approvals_tool ON lex_approvals (tool, requested_at, number) WHERE settled_at IS NULL;

CREATE INDEX lex_approvals_agent ON lex_approvals (agent, requested_at, number) WHERE settled_at IS NULL;

CREATE INDEX lex_approvals_waiting ON lex_approvals (requested_at, number) WHERE settled_at IS NULL;

CREATE INDEX lex_approvals_expires ON lex_approvals (expires_at, number) WHERE settled_at IS NULL;

CREATE INDEX lex_approvals_settled ON lex_approvals (settled_at) WHERE settled_at IS NOT NULL;

CREATE TABLE lex_decisions (
    entry TEXT NOT NULL PRIMARY KEY,
    scope TEXT NOT NULL,
    scope_id TEXT,
    agent TEXT NOT NULL,
    tool TEXT NOT NULL,
    at REAL NOT NULL,
    body TEXT,
    data BLOB
  );

CREATE INDEX lex_decisions_at ON lex_decisions (at, entry);

CREATE INDEX lex_decisions_scope ON lex_decisions (scope, at, entry);

CREATE INDEX lex_decisions_scope_id ON lex_decisions (scope_id, at, entry) WHERE scope_id IS NOT NULL;

CREATE INDEX lex_decisions_agent ON lex_decisions (agent, at, entry);

CREATE INDEX lex_decisions_tool ON lex_decisions (tool, at, entry);

CREATE TABLE lex_cache (
    name TEXT NOT NULL,
    entry TEXT NOT NULL,
    body TEXT,
    data BLOB,
    expires_at REAL,
    used_at REAL NOT NULL,
    PRIMARY KEY (name, entry)
  );

CREATE INDEX lex_cache_used ON lex_cache (name, used_at, entry);

CREATE INDEX lex_cache_expires ON lex_cache (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE lex_audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    event_type TEXT NOT NULL,
    status TEXT NOT NULL,
    user_id TEXT,
    agent TEXT,
    run_id TEXT,
    model TEXT,
    body TEXT,
    data BLOB
  );

CREATE INDEX lex_audit_at ON lex_audit (at, number);

CREATE INDEX lex_audit_run_id ON lex_audit (run_id, at, number) WHERE run_id IS NOT NULL;

CREATE INDEX lex_audit_user_id ON lex_audit (user_id, at, number) WHERE user_id IS NOT NULL;

CREATE INDEX lex_audit_agent ON lex_audit (agent, at, number) WHERE agent IS NOT NULL;

CREATE INDEX lex_audit_model ON lex_audit (model, at, number) WHERE model IS NOT NULL;

CREATE INDEX lex_audit_status ON lex_audit (status, at, number) WHERE status IS NOT NULL;

CREATE INDEX lex_audit_event_type ON lex_audit (event_type, at, number) WHERE event_type IS NOT NULL;

CREATE TABLE lex_ledger_accounts (
    account TEXT PRIMARY KEY,
    spent_usd REAL NOT NULL,
    spent_tokens REAL NOT NULL,
    reserved_usd REAL NOT NULL,
    reserved_tokens REAL NOT NULL,
    holds_until REAL,
    changed_at REAL NOT NULL,
    expires_at REAL NOT NULL
  );

CREATE INDEX lex_ledger_accounts_expiry ON lex_ledger_accounts (expires_at);

CREATE TABLE lex_ledger_holds (
    hold_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    account TEXT NOT NULL,
    usd REAL NOT NULL,
    tokens REAL NOT NULL,
    expires_at REAL NOT NULL,
    PRIMARY KEY (hold_id, place)
  );

CREATE INDEX lex_ledger_holds_account ON lex_ledger_holds (account, expires_at);

CREATE INDEX lex_ledger_holds_expiry ON lex_ledger_holds (expires_at);

CREATE TABLE lex_memory_owners (
      serial INTEGER PRIMARY KEY AUTOINCREMENT,
      owner_id TEXT NOT NULL UNIQUE,
      analyzer TEXT NOT NULL,
      entries REAL NOT NULL,
      words REAL NOT NULL,
      next_expiry REAL
    );

CREATE INDEX lex_memory_owners_by_expiry ON lex_memory_owners (next_expiry);

CREATE TABLE lex_memories (
      serial INTEGER PRIMARY KEY AUTOINCREMENT,
      owner INTEGER NOT NULL,
      id TEXT NOT NULL,
      timestamp REAL NOT NULL,
      beginning REAL NOT NULL,
      role TEXT NOT NULL,
      session_id TEXT,
      expires_at REAL,
      words REAL NOT NULL,
      access_count REAL,
      accessed_at REAL,
      attributes TEXT NOT NULL
    );

CREATE UNIQUE INDEX lex_memories_by_id ON lex_memories (owner, id);

CREATE INDEX lex_memories_by_time ON lex_memories (owner, timestamp, id);

CREATE INDEX lex_memories_by_session ON lex_memories (owner, session_id, timestamp, id);

CREATE INDEX lex_memories_by_expiry ON lex_memories (owner, expires_at);

CREATE TABLE lex_memory_bodies (
      serial INTEGER PRIMARY KEY,
      body TEXT,
      data BLOB,
      embedding BLOB
    );

CREATE VIRTUAL TABLE lex_memory_words USING fts5(words, content = '', contentless_delete = 1, tokenize = 'ascii');

INSERT INTO lex_memory_words (lex_memory_words, rank) VALUES ('deletemerge', 40);

CREATE VIRTUAL TABLE lex_memory_places USING fts5vocab(lex_memory_words, instance);

CREATE TABLE lex_sessions (
    id TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    parent_id TEXT,
    root_id TEXT NOT NULL,
    status INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    revision REAL NOT NULL,
    fence REAL NOT NULL DEFAULT 0,
    head_session TEXT,
    head_turn TEXT,
    depth REAL NOT NULL,
    total_tokens REAL NOT NULL,
    total_cost REAL NOT NULL,
    checkpoint_id TEXT,
    turns INTEGER NOT NULL DEFAULT 0,
    run INTEGER NOT NULL DEFAULT 0,
    is_tip INTEGER NOT NULL DEFAULT 0,
    is_heavy INTEGER NOT NULL DEFAULT 0,
    base_session TEXT,
    base_run INTEGER,
    base_place INTEGER
  );

CREATE INDEX lex_sessions_created ON lex_sessions (status, created_at, id);

CREATE INDEX lex_sessions_updated ON lex_sessions (status, updated_at, id);

CREATE INDEX lex_sessions_live ON lex_sessions (updated_at, id) WHERE status < 2;

CREATE INDEX lex_sessions_user_created ON lex_sessions (user_id, status, created_at, id);

CREATE INDEX lex_sessions_user_updated ON lex_sessions (user_id, status, updated_at, id);

CREATE INDEX lex_sessions_parent ON lex_sessions (parent_id, status, created_at, id) WHERE parent_id IS NOT NULL;

CREATE INDEX lex_sessions_root ON lex_sessions (root_id, status, created_at, id);

CREATE INDEX lex_sessions_base ON lex_sessions (base_session, base_run, base_place)
    WHERE base_session IS NOT NULL;

CREATE TABLE lex_session_states (
    session_id TEXT NOT NULL PRIMARY KEY,
    body TEXT,
    ref TEXT,
    state TEXT,
    state_ref TEXT
  );

CREATE TABLE lex_session_turns (
    session_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    run INTEGER NOT NULL,
    turn_id TEXT NOT NULL,
    parent_session TEXT,
    parent_run INTEGER,
    parent_place INTEGER,
    body TEXT,
    ref TEXT,
    PRIMARY KEY (session_id, place)
  );

CREATE UNIQUE INDEX lex_session_turns_id ON lex_session_turns (session_id, turn_id);

CREATE INDEX lex_session_turns_parent ON lex_session_turns (parent_session, parent_run, parent_place)
    WHERE parent_session IS NOT NULL;

CREATE TABLE lex_session_checkpoints (
    id TEXT NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL,
    revision REAL NOT NULL,
    kind INTEGER NOT NULL,
    merged_id TEXT,
    body TEXT,
    ref TEXT,
    state TEXT,
    state_ref TEXT
  );

CREATE INDEX lex_session_checkpoints_kind ON lex_session_checkpoints (session_id, kind, revision, id);

CREATE INDEX lex_session_checkpoints_bounded ON lex_session_checkpoints (session_id, revision, id)
    WHERE kind < 2;

CREATE INDEX lex_session_checkpoints_merged ON lex_session_checkpoints (session_id, merged_id, revision, id)
    WHERE merged_id IS NOT NULL;

CREATE TABLE lex_fact_owners (
    owner_id TEXT PRIMARY KEY,
    revision REAL NOT NULL,
    facts REAL NOT NULL,
    terms REAL NOT NULL,
    analyzer TEXT NOT NULL
  );

CREATE TABLE lex_facts (
    owner_id TEXT NOT NULL,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_key TEXT NOT NULL,
    predicate_key TEXT NOT NULL,
    object_key TEXT NOT NULL,
    subject_words TEXT NOT NULL,
    object_words TEXT NOT NULL,
    text TEXT NOT NULL,
    confidence REAL NOT NULL,
    valid_from REAL NOT NULL,
    valid_to REAL,
    replaces_from REAL,
    doubt REAL NOT NULL,
    age REAL NOT NULL,
    terms REAL NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (owner_id, id)
  );

CREATE INDEX lex_facts_position ON lex_facts (owner_id, doubt, age, id);

CREATE INDEX lex_facts_subject ON lex_facts (owner_id, subject_key, predicate_key, valid_from);

CREATE TABLE lex_fact_terms (
    owner_id TEXT NOT NULL,
    kind INTEGER NOT NULL,
    term TEXT NOT NULL,
    fact_id TEXT NOT NULL,
    frequency REAL NOT NULL,
    PRIMARY KEY (owner_id, kind, term, fact_id)
  );

CREATE INDEX lex_fact_terms_fact ON lex_fact_terms (owner_id, fact_id);

CREATE TABLE lex_vector_indexes (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      model TEXT NOT NULL,
      dimensions INTEGER NOT NULL,
      active INTEGER NOT NULL,
      created_at REAL NOT NULL,
      position TEXT,
      claim TEXT,
      claimed_until REAL,
      UNIQUE (kind, name, model, dimensions)
    );

CREATE TABLE lex_vector_owners (
      space_id INTEGER NOT NULL REFERENCES lex_vector_indexes (id),
      owner_id TEXT NOT NULL,
      incarnation TEXT NOT NULL,
      revision REAL NOT NULL,
      purged REAL NOT NULL,
      PRIMARY KEY (space_id, owner_id)
    );

CREATE TABLE lex_vectors (
    space_id INTEGER NOT NULL,
    owner_id TEXT NOT NULL,
    id TEXT NOT NULL,
    revision REAL NOT NULL,
    role TEXT NOT NULL,
    timestamp REAL NOT NULL,
    session_id TEXT,
    beginning REAL NOT NULL,
    metadata TEXT NOT NULL,
    tags TEXT NOT NULL,
    expires_at REAL,
    vector BLOB NOT NULL,
    PRIMARY KEY (space_id, owner_id, id)
  );

CREATE INDEX lex_vectors_revision ON lex_vectors (space_id, owner_id, revision, id, expires_at);

CREATE INDEX lex_vectors_expiry ON lex_vectors (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE lex_rates (
    rate_key TEXT PRIMARY KEY,
    total REAL NOT NULL,
    leaves_from REAL NOT NULL,
    leaves_by REAL NOT NULL
  );

CREATE INDEX lex_rates_end ON lex_rates (leaves_by);

CREATE TABLE lex_rate_slots (
    rate_key TEXT NOT NULL,
    leaves_at REAL NOT NULL,
    amount REAL NOT NULL,
    PRIMARY KEY (rate_key, leaves_at)
  );

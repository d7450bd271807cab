CREATE TABLE lex_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at DOUBLE PRECISION NOT NULL
  );

CREATE TABLE lex_payloads (
    scope TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (scope, hash)
  );

CREATE TABLE lex_threads (
    thread_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    revision DOUBLE PRECISION NOT NULL,
    fence DOUBLE PRECISION NOT NULL DEFAULT 0
  );

CREATE TABLE lex_checkpoints (
    thread_id TEXT COLLATE "C" NOT NULL,
    number DOUBLE PRECISION NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    body TEXT,
    ref TEXT COLLATE "C",
    metadata TEXT NOT NULL,
    PRIMARY KEY (thread_id, number),
    UNIQUE (thread_id, id)
  );

CREATE INDEX lex_checkpoints_namespace ON lex_checkpoints (thread_id, namespace, number);

CREATE TABLE lex_checkpoint_writes (
    thread_id TEXT COLLATE "C" NOT NULL,
    number DOUBLE PRECISION NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    position DOUBLE PRECISION NOT NULL,
    body TEXT,
    data BYTEA,
    PRIMARY KEY (thread_id, number, node)
  );

CREATE TABLE lex_checkpoint_pieces (
    thread_id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    body TEXT,
    data BYTEA,
    PRIMARY KEY (thread_id, hash)
  );

CREATE TABLE lex_runs (
    run_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    parent_run_id TEXT COLLATE "C",
    agent TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C",
    user_id TEXT COLLATE "C",
    last_at DOUBLE PRECISION NOT NULL
  );

CREATE INDEX lex_runs_parent_run_id ON lex_runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE INDEX lex_runs_session_id ON lex_runs (session_id) WHERE session_id IS NOT NULL;

CREATE INDEX lex_runs_user_id ON lex_runs (user_id) WHERE user_id IS NOT NULL;

CREATE INDEX lex_runs_last_at ON lex_runs (last_at);

CREATE TABLE lex_run_events (
    run_id TEXT COLLATE "C" NOT NULL,
    seq DOUBLE PRECISION NOT NULL,
    body TEXT,
    data BYTEA,
    PRIMARY KEY (run_id, seq)
  );

CREATE TABLE lex_approvals (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    run_id TEXT COLLATE "C" NOT NULL,
    root_run_id TEXT COLLATE "C",
    session_id TEXT COLLATE "C",
    user_id TEXT COLLATE "C",
    agent TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    requested_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION,
    body TEXT,
    data BYTEA,
    settled_at DOUBLE PRECISION,
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
    entry TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    scope TEXT COLLATE "C" NOT NULL,
    scope_id TEXT COLLATE "C",
    agent TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    body TEXT,
    data BYTEA
  );

CREATE INDEX lex_decisions_at ON lex_decisions (at, entry);

CREATE INDEX lex_decisions_scope ON lex_decisions (scope, at, entry);

CREATE INDEX lex_decisions_scope_id ON lex_decisions (scope_id, at, entry) WHERE scope_id IS NOT NULL;

CREATE INDEX lex_decisions_agent ON lex_decisions (agent, at, entry);

CREATE INDEX lex_decisions_tool ON lex_decisions (tool, at, entry);

CREATE TABLE lex_cache (
    name TEXT COLLATE "C" NOT NULL,
    entry TEXT COLLATE "C" NOT NULL,
    body TEXT,
    data BYTEA,
    expires_at DOUBLE PRECISION,
    used_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (name, entry)
  );

CREATE INDEX lex_cache_used ON lex_cache (name, used_at, entry);

CREATE INDEX lex_cache_expires ON lex_cache (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE lex_audit (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL,
    event_type TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    run_id TEXT COLLATE "C",
    model TEXT COLLATE "C",
    body TEXT,
    data BYTEA
  );

CREATE INDEX lex_audit_at ON lex_audit (at, number);

CREATE INDEX lex_audit_run_id ON lex_audit (run_id, at, number) WHERE run_id IS NOT NULL;

CREATE INDEX lex_audit_user_id ON lex_audit (user_id, at, number) WHERE user_id IS NOT NULL;

CREATE INDEX lex_audit_agent ON lex_audit (agent, at, number) WHERE agent IS NOT NULL;

CREATE INDEX lex_audit_model ON lex_audit (model, at, number) WHERE model IS NOT NULL;

CREATE INDEX lex_audit_status ON lex_audit (status, at, number) WHERE status IS NOT NULL;

CREATE INDEX lex_audit_event_type ON lex_audit (event_type, at, number) WHERE event_type IS NOT NULL;

CREATE TABLE lex_ledger_accounts (
    account TEXT COLLATE "C" PRIMARY KEY,
    spent_usd DOUBLE PRECISION NOT NULL,
    spent_tokens DOUBLE PRECISION NOT NULL,
    reserved_usd DOUBLE PRECISION NOT NULL,
    reserved_tokens DOUBLE PRECISION NOT NULL,
    holds_until DOUBLE PRECISION,
    changed_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
  );

CREATE INDEX lex_ledger_accounts_expiry ON lex_ledger_accounts (expires_at);

CREATE TABLE lex_ledger_holds (
    hold_id TEXT COLLATE "C" NOT NULL,
    place INTEGER NOT NULL,
    account TEXT COLLATE "C" NOT NULL,
    usd DOUBLE PRECISION NOT NULL,
    tokens DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (hold_id, place)
  );

CREATE INDEX lex_ledger_holds_account ON lex_ledger_holds (account, expires_at);

CREATE INDEX lex_ledger_holds_expiry ON lex_ledger_holds (expires_at);

CREATE TABLE lex_memory_owners (
      serial BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      owner_id TEXT COLLATE "C" NOT NULL UNIQUE,
      analyzer TEXT COLLATE "C" NOT NULL,
      entries DOUBLE PRECISION NOT NULL,
      words DOUBLE PRECISION NOT NULL,
      next_expiry DOUBLE PRECISION
    );

CREATE INDEX lex_memory_owners_by_expiry ON lex_memory_owners (next_expiry);

CREATE TABLE lex_memories (
      serial BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      owner INTEGER NOT NULL,
      id TEXT COLLATE "C" NOT NULL,
      timestamp DOUBLE PRECISION NOT NULL,
      beginning DOUBLE PRECISION NOT NULL,
      role TEXT COLLATE "C" NOT NULL,
      session_id TEXT COLLATE "C",
      expires_at DOUBLE PRECISION,
      words DOUBLE PRECISION NOT NULL,
      access_count DOUBLE PRECISION,
      accessed_at DOUBLE PRECISION,
      attributes TEXT NOT NULL
    );

CREATE UNIQUE INDEX lex_memories_by_id ON lex_memories (owner, id);

CREATE INDEX lex_memories_by_time ON lex_memories (owner, timestamp, id);

CREATE INDEX lex_memories_by_session ON lex_memories (owner, session_id, timestamp);

CREATE INDEX lex_memories_by_expiry ON lex_memories (owner, expires_at);

CREATE TABLE lex_memory_bodies (
      serial BIGINT PRIMARY KEY,
      body TEXT,
      data BYTEA,
      embedding BYTEA
    );

CREATE TABLE lex_memory_words (
      serial BIGINT PRIMARY KEY,
      owner INTEGER NOT NULL,
      length DOUBLE PRECISION NOT NULL,
      words TSVECTOR NOT NULL,
      often JSONB
    );

CREATE INDEX lex_memory_words_by_word ON lex_memory_words USING GIN (words) WITH (fastupdate = off);

CREATE TABLE lex_sessions (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL,
    parent_id TEXT COLLATE "C",
    root_id TEXT COLLATE "C" NOT NULL,
    status INTEGER NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    revision DOUBLE PRECISION NOT NULL,
    fence DOUBLE PRECISION NOT NULL DEFAULT 0,
    head_session TEXT COLLATE "C",
    head_turn TEXT COLLATE "C",
    depth DOUBLE PRECISION NOT NULL,
    total_tokens DOUBLE PRECISION NOT NULL,
    total_cost DOUBLE PRECISION NOT NULL,
    checkpoint_id TEXT COLLATE "C",
    turns INTEGER NOT NULL DEFAULT 0,
    run INTEGER NOT NULL DEFAULT 0,
    is_tip INTEGER NOT NULL DEFAULT 0,
    is_heavy INTEGER NOT NULL DEFAULT 0,
    base_session TEXT COLLATE "C",
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
    session_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    body TEXT,
    ref TEXT COLLATE "C",
    state TEXT,
    state_ref TEXT COLLATE "C"
  );

CREATE TABLE lex_session_turns (
    session_id TEXT COLLATE "C" NOT NULL,
    place INTEGER NOT NULL,
    run INTEGER NOT NULL,
    turn_id TEXT COLLATE "C" NOT NULL,
    parent_session TEXT COLLATE "C",
    parent_run INTEGER,
    parent_place INTEGER,
    body TEXT,
    ref TEXT COLLATE "C",
    PRIMARY KEY (session_id, place)
  );

CREATE UNIQUE INDEX lex_session_turns_id ON lex_session_turns (session_id, turn_id);

CREATE INDEX lex_session_turns_parent ON lex_session_turns (parent_session, parent_run, parent_place)
    WHERE parent_session IS NOT NULL;

CREATE TABLE lex_session_checkpoints (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    session_id TEXT COLLATE "C" NOT NULL,
    revision DOUBLE PRECISION NOT NULL,
    kind INTEGER NOT NULL,
    merged_id TEXT COLLATE "C",
    body TEXT,
    ref TEXT COLLATE "C",
    state TEXT,
    state_ref TEXT COLLATE "C"
  );

CREATE INDEX lex_session_checkpoints_kind ON lex_session_checkpoints (session_id, kind, revision, id);

CREATE INDEX lex_session_checkpoints_bounded ON lex_session_checkpoints (session_id, revision, id)
    WHERE kind < 2;

CREATE INDEX lex_session_checkpoints_merged ON lex_session_checkpoints (session_id, merged_id, revision, id)
    WHERE merged_id IS NOT NULL;

CREATE TABLE lex_fact_owners (
    owner_id TEXT COLLATE "C" PRIMARY KEY,
    revision DOUBLE PRECISION NOT NULL,
    facts DOUBLE PRECISION NOT NULL,
    terms DOUBLE PRECISION NOT NULL,
    analyzer TEXT NOT NULL
  );

CREATE TABLE lex_facts (
    owner_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    subject_key TEXT COLLATE "C" NOT NULL,
    predicate_key TEXT COLLATE "C" NOT NULL,
    object_key TEXT COLLATE "C" NOT NULL,
    subject_words TEXT NOT NULL,
    object_words TEXT NOT NULL,
    text TEXT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    valid_from DOUBLE PRECISION NOT NULL,
    valid_to DOUBLE PRECISION,
    replaces_from DOUBLE PRECISION,
    doubt DOUBLE PRECISION NOT NULL,
    age DOUBLE PRECISION NOT NULL,
    terms DOUBLE PRECISION NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (owner_id, id)
  );

CREATE INDEX lex_facts_position ON lex_facts (owner_id, doubt, age, id);

CREATE INDEX lex_facts_subject ON lex_facts (owner_id, subject_key, predicate_key, valid_from);

CREATE TABLE lex_fact_terms (
    owner_id TEXT COLLATE "C" NOT NULL,
    kind INTEGER NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    fact_id TEXT COLLATE "C" NOT NULL,
    frequency DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (owner_id, kind, term, fact_id)
  );

CREATE INDEX lex_fact_terms_fact ON lex_fact_terms (owner_id, fact_id);

CREATE TABLE lex_vector_indexes (
      id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind TEXT COLLATE "C" NOT NULL,
      name TEXT COLLATE "C" NOT NULL,
      model TEXT COLLATE "C" NOT NULL,
      dimensions INTEGER NOT NULL,
      active INTEGER NOT NULL,
      created_at DOUBLE PRECISION NOT NULL,
      position TEXT,
      claim TEXT COLLATE "C",
      claimed_until DOUBLE PRECISION,
      UNIQUE (kind, name, model, dimensions)
    );

CREATE TABLE lex_vector_owners (
      space_id INTEGER NOT NULL REFERENCES lex_vector_indexes (id),
      owner_id TEXT COLLATE "C" NOT NULL,
      incarnation TEXT COLLATE "C" NOT NULL,
      revision DOUBLE PRECISION NOT NULL,
      purged DOUBLE PRECISION NOT NULL,
      PRIMARY KEY (space_id, owner_id)
    );

CREATE TABLE lex_vectors (
    space_id INTEGER NOT NULL,
    owner_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    revision DOUBLE PRECISION NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    timestamp DOUBLE PRECISION NOT NULL,
    session_id TEXT COLLATE "C",
    beginning DOUBLE PRECISION NOT NULL,
    metadata TEXT NOT NULL,
    tags TEXT[] NOT NULL,
    expires_at DOUBLE PRECISION,
    vector BYTEA NOT NULL,
    PRIMARY KEY (space_id, owner_id, id)
  );

CREATE INDEX lex_vectors_revision ON lex_vectors (space_id, owner_id, revision, id, expires_at);

CREATE INDEX lex_vectors_expiry ON lex_vectors (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE lex_rates (
    rate_key TEXT COLLATE "C" PRIMARY KEY,
    total DOUBLE PRECISION NOT NULL,
    leaves_from DOUBLE PRECISION NOT NULL,
    leaves_by DOUBLE PRECISION NOT NULL
  );

CREATE INDEX lex_rates_end ON lex_rates (leaves_by);

CREATE TABLE lex_rate_slots (
    rate_key TEXT COLLATE "C" NOT NULL,
    leaves_at DOUBLE PRECISION NOT NULL,
    amount DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (rate_key, leaves_at)
  );

INSERT INTO lex_migrations (version, name, applied_at) VALUES (1, 'initial', 0);

INSERT INTO lex_payloads (scope, hash, data) VALUES ('lex_session_states session', '2zUatjd-lkTua54TqqCTT5V62u2eqPvV', '\xedd7310ec2300c85e1ab589e2b0e906bc08618dc12d1889448a929a0287767293760fc577b8b1cfb7d4d6df2b4c5e33de5bc6a385f86bd722ae557989ebeb796e87635370dad0fba594d36e6b86a68eaf1ed1a345bbdc52a3edb434c6a79c9621f19e341e8f006cc017f817dc04ee42e701bc9076424722259192f202364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c901132fa9f8cb4f72f');

INSERT INTO lex_payloads (scope, hash, data) VALUES ('lex_session_turns session', 'PbEdoMtp49g0t4_PHq0X820kcWcogeHS', '\xeddb3f4fc3301087e1af12fd66835a46af4cac484c88c11043a33a71e5bba84251be3b4a5b1666c677b3fc67b1ecbb7b865b34f48afa1c9af9dd5e41ad96aca8d97253d0479d3c4faea892da576e9d1fd2d4a5aed57337a6efee3ddf77ac7007bc03fe02f18098485e2037521f50235127522be30564848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246ff272305f93066f3349e14f7415e6b794ca598e2eb5b901d87529eb3cdc56f3363f6d4274f8acbba6d3fe6c95e2cf78abbad41c6fc32b06c36d4e969eba6b98d15744aedd23eb3fccefd59f7b95d8f5c1b70765a83fa7cf283e2c3fa03');

INSERT INTO lex_threads (thread_id, revision, fence) VALUES ('thread', 1, 0);

INSERT INTO lex_checkpoints (thread_id, number, id, namespace, body, ref, metadata) VALUES ('thread', 1, 'first', '', '[{"threadId":"thread","namespace":"","id":"first","step":0,"next":["node"],"reached":[],"finished":[],"waiting":[],"answers":[],"pins":[],"at":0},["{\"name\":\"first\",\"large\":",["0.O0s96G87yih3qppkD6TstX_IX6-i8w9T"],"}"]]', NULL, '{"name":"first"}');

INSERT INTO lex_checkpoint_writes (thread_id, number, node, position, body, data) VALUES ('thread', 1, 'node', 1, NULL, '\xedd7390ac3301005d0ab0c531b5f48a850b0480a2f2004496eef4bb87cf574c32cff953cafade7524acefe9bb9e4dec6bb8f989f76468b717de368ff78f53554f4c01cd805f7c04df417fc46f94046921365655e20233222233222233222233222233222233222233222233222233222233222233222233222233222233222233222233222233222233222a3e76494b5d61b');

INSERT INTO lex_checkpoint_pieces (thread_id, hash, body, data) VALUES ('thread', 'O0s96G87yih3qppkD6TstX_IX6-i8w9T', NULL, '\xedd7c90980401004c0549a0dc09c4658dc87072c8298bd49f8acf7fc8639bada5e73eb33f7a83395793d39eacdda97a8e88139b00bee819be82ff88df2818c2427cacabc4046644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446ffc9a87d');

INSERT INTO lex_runs (run_id, parent_run_id, agent, session_id, user_id, last_at) VALUES ('run', NULL, 'agent', NULL, NULL, 0);

INSERT INTO lex_run_events (run_id, seq, body, data) VALUES ('run', 0, '{"_tag":"TextDelta","runId":"run","agent":"agent","seq":0,"at":0,"text":"first"}', NULL);

INSERT INTO lex_run_events (run_id, seq, body, data) VALUES ('run', 1, NULL, '\xedd7b10a42310c85e15709672ea26b671777778918ea70ad58235e11df5d2ef8088eff94215b4993f3bd75486faadac79cdb98d255341e7d77525daa8abc454fd55f2dbac74d7553e4a9ba2eca9897eee4a3c5b03c7b37b7717ddac55f768c95d1e10d9803fe02fb809dc85de036920fc848e444b2325e4046c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364f43f19e9f305');

INSERT INTO lex_approvals (number, id, run_id, root_run_id, session_id, user_id, agent, tool, requested_at, expires_at, body, data, settled_at, settlement) OVERRIDING SYSTEM VALUE VALUES ('1', 'first waits', 'run', NULL, NULL, NULL, 'agent', 'pay', 1, NULL, '{"runId":"run","agent":"agent","toolCallId":"c","tool":"pay","params":{"name":"first"},"id":"first waits"}', NULL, NULL, NULL);

INSERT INTO lex_approvals (number, id, run_id, root_run_id, session_id, user_id, agent, tool, requested_at, expires_at, body, data, settled_at, settlement) OVERRIDING SYSTEM VALUE VALUES ('2', 'first is settled', 'run', NULL, NULL, NULL, 'agent', 'pay', 1, NULL, '{"runId":"run","agent":"agent","toolCallId":"c","tool":"pay","params":{"name":"first"},"id":"first is settled"}', NULL, 2, '{"decision":{"_tag":"Approved"},"settledBy":"decision","at":2}');

SELECT setval(pg_get_serial_sequence('lex_approvals', 'number'), (SELECT MAX(number) FROM lex_approvals));

INSERT INTO lex_decisions (entry, scope, scope_id, agent, tool, at, body, data) VALUES ('first', 'run', 'run', 'agent', 'pay', 3, '{"key":"first","scope":"run","scopeId":"run","agent":"agent","tool":"pay","exact":false,"decision":{"_tag":"Denied","reason":"first"},"at":3}', NULL);

INSERT INTO lex_cache (name, entry, body, data, expires_at, used_at) VALUES ('default', 'first', NULL, '\xedd7c90980401004c0549a0dc09c4658dc87072c8298bd49f8acf7fc8639bada5e73eb33f7a83395793d39eacdda97a8e88139b00bee819be82ff88df2818c2427cacabc4046644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446644446ffc9a87d', NULL, 0);

INSERT INTO lex_audit (number, at, event_type, status, user_id, agent, run_id, model, body, data) OVERRIDING SYSTEM VALUE VALUES ('1', 0, 'llm_call', 'success', NULL, 'first', NULL, NULL, NULL, '\xeddb314e03311085e1ab58afde45018276e31ba4a74783e30d91ec255a4f405194bba3048e40f9bb99c25359f6cc7c852fca5f79f6d7f3312baa94fa96ac1475b27d9e5d51d36169ae4e35bbedcc4df1a262cbfe9e7e8b4bf00f9b8385e5f33b543b87f7fc10ee19ec703adc10de02f5809a485fa037321f30233127322be30564848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246ff22235dbbdf6f30db9da2567fabbfc57e48e9a91f1fc775bf1e362fcfd3b819d294d4c90f3537b77a545c756a6e7e6a8a6aa794726bbafe00');

SELECT setval(pg_get_serial_sequence('lex_audit', 'number'), (SELECT MAX(number) FROM lex_audit));

INSERT INTO lex_ledger_accounts (account, spent_usd, spent_tokens, reserved_usd, reserved_tokens, holds_until, changed_at, expires_at) VALUES ('a', 4, 2, 10, 3, 3600000, 0, 2764800000);

INSERT INTO lex_ledger_accounts (account, spent_usd, spent_tokens, reserved_usd, reserved_tokens, holds_until, changed_at, expires_at) VALUES ('b', 4, 2, 0, 0, 3600000, 0, 2764800000);

INSERT INTO lex_ledger_holds (hold_id, place, account, usd, tokens, expires_at) VALUES ('first held', 0, 'a', 10, 3, 3600000);

INSERT INTO lex_memory_owners (serial, owner_id, analyzer, entries, words, next_expiry) OVERRIDING SYSTEM VALUE VALUES ('1', 'ann', 'english', 2, '1504', 2592000000);

SELECT setval(pg_get_serial_sequence('lex_memory_owners', 'serial'), (SELECT MAX(serial) FROM lex_memory_owners));

INSERT INTO lex_memories (serial, owner, id, timestamp, beginning, role, session_id, expires_at, words, access_count, accessed_at, attributes) OVERRIDING SYSTEM VALUE VALUES ('1', 1, 'first-0', 0, 0, 'user', NULL, 2592000000, '4', NULL, NULL, '["name=sfirst"]');

INSERT INTO lex_memories (serial, owner, id, timestamp, beginning, role, session_id, expires_at, words, access_count, accessed_at, attributes) OVERRIDING SYSTEM VALUE VALUES ('2', 1, 'first-1', 1, 1, 'user', NULL, 2592000000, '1500', NULL, NULL, '["name=sfirst"]');

SELECT setval(pg_get_serial_sequence('lex_memories', 'serial'), (SELECT MAX(serial) FROM lex_memories));

INSERT INTO lex_memory_bodies (serial, body, data, embedding) VALUES ('1', '{"content":"first likes green tea","importance":0.5,"metadata":{"name":"first"}}', NULL, NULL);

INSERT INTO lex_memory_bodies (serial, body, data, embedding) VALUES ('2', NULL, '\xedd74d0ac2400c86e1ab846f5d8a1b37739b58a3169c99320d8894dedd4bb87cd7d985fc7ccfa1a5b78c962a7afb78c6b07c7933b7d13f56fd6bb7988d0a3d600ed805ee013791bfc06f241f9091c8896465bc808c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c80819212364848c9011324246c8e87f32d2a4b56e7da4b725542ef375528df4bba7ab1c6a5e43458f75eca9f3fc01', NULL);

INSERT INTO lex_memory_words (serial, owner, length, words, often) VALUES ('1', 1, 4, '''1ae612fa85e4'' ''1xfirst'' ''1xgreen'' ''1xlike'' ''1xtea''', NULL);

INSERT INTO lex_memory_words (serial, owner, length, words, often) VALUES ('2', 1, 1500, '''1ae612fa85e4'' ''1xlarger'' ''1xmai'' ''1xrow''', '{"1xmai": 500, "1xrow": 500, "1xlarger": 500}');

INSERT INTO lex_sessions (id, user_id, parent_id, root_id, status, created_at, updated_at, revision, fence, head_session, head_turn, depth, total_tokens, total_cost, checkpoint_id, turns, run, is_tip, is_heavy, base_session, base_run, base_place) VALUES ('session', 'ann', NULL, 'session', 0, 0, 0, 3, 0, 'session', 'first-1', 2, 0, 0, '00000000-0000-7777-b4ea-46b943907199', 2, 1, 1, 1, NULL, NULL, NULL);

INSERT INTO lex_session_states (session_id, body, ref, state, state_ref) VALUES ('session', '{"userId":"ann","lineage":[]}', NULL, NULL, '2zUatjd-lkTua54TqqCTT5V62u2eqPvV');

INSERT INTO lex_session_turns (session_id, place, run, turn_id, parent_session, parent_run, parent_place, body, ref) VALUES ('session', 1, 1, 'first-0', NULL, NULL, NULL, '{"id":"first-0","role":"user","content":"first first","timestamp":0,"toolCalls":[],"skillResults":[],"metadata":{},"tokensUsed":0,"cost":0,"sessionId":"session","depth":1}', NULL);

INSERT INTO lex_session_turns (session_id, place, run, turn_id, parent_session, parent_run, parent_place, body, ref) VALUES ('session', 2, 1, 'first-1', NULL, NULL, NULL, NULL, 'PbEdoMtp49g0t4_PHq0X820kcWcogeHS');

INSERT INTO lex_session_checkpoints (id, session_id, revision, kind, merged_id, body, ref, state, state_ref) VALUES ('00000000-0000-7777-b4ea-46b943907199', 'session', 3, 0, NULL, '{"id":"00000000-0000-7777-b4ea-46b943907199","sessionId":"session","name":"first","kind":"manual","state":{"head":{"sessionId":"session","turnId":"first-1"},"depth":2,"totalTokens":0,"totalCost":0,"status":"active"},"createdAt":0,"revision":3,"metadata":{"name":"first"}}', NULL, NULL, '2zUatjd-lkTua54TqqCTT5V62u2eqPvV');

INSERT INTO lex_fact_owners (owner_id, revision, facts, terms, analyzer) VALUES ('ann', 1, 1, 4, 'english');

INSERT INTO lex_facts (owner_id, id, subject, subject_key, predicate_key, object_key, subject_words, object_words, text, confidence, valid_from, valid_to, replaces_from, doubt, age, terms, body) VALUES ('ann', '00000000-0000-75d6-84a2-2cf508596396', 'first', 'first', 'likes', 'green tea', ' first ', ' green tea ', 'first likes green tea', 1, 1, NULL, NULL, -1, -1, 4, '{"subject":"first","predicate":"likes","object":"green tea","mentions":[{"at":1,"confidence":1,"sources":[],"replaces":false}],"recordedAt":0,"metadata":{}}');

INSERT INTO lex_fact_terms (owner_id, kind, term, fact_id, frequency) VALUES ('ann', 0, 'first', '00000000-0000-75d6-84a2-2cf508596396', 1);

INSERT INTO lex_fact_terms (owner_id, kind, term, fact_id, frequency) VALUES ('ann', 0, 'like', '00000000-0000-75d6-84a2-2cf508596396', 1);

INSERT INTO lex_fact_terms (owner_id, kind, term, fact_id, frequency) VALUES ('ann', 0, 'green', '00000000-0000-75d6-84a2-2cf508596396', 1);

INSERT INTO lex_fact_terms (owner_id, kind, term, fact_id, frequency) VALUES ('ann', 0, 'tea', '00000000-0000-75d6-84a2-2cf508596396', 1);

INSERT INTO lex_fact_terms (owner_id, kind, term, fact_id, frequency) VALUES ('ann', 1, 'first', '00000000-0000-75d6-84a2-2cf508596396', 1);

INSERT INTO lex_fact_terms (owner_id, kind, term, fact_id, frequency) VALUES ('ann', 1, 'green', '00000000-0000-75d6-84a2-2cf508596396', 1);

INSERT INTO lex_fact_terms (owner_id, kind, term, fact_id, frequency) VALUES ('ann', 1, 'tea', '00000000-0000-75d6-84a2-2cf508596396', 1);

INSERT INTO lex_vector_indexes (id, kind, name, model, dimensions, active, created_at, position, claim, claimed_until) OVERRIDING SYSTEM VALUE VALUES ('1', 'plain', 'memory', 'hashing-v1-8', 8, 1, 0, NULL, NULL, NULL);

SELECT setval(pg_get_serial_sequence('lex_vector_indexes', 'id'), (SELECT MAX(id) FROM lex_vector_indexes));

INSERT INTO lex_vector_owners (space_id, owner_id, incarnation, revision, purged) VALUES (1, 'ann', '67128c77-5a3d-412b-a10b-dcd3755cfa83', 1, 0);

INSERT INTO lex_vectors (space_id, owner_id, id, revision, role, timestamp, session_id, beginning, metadata, tags, expires_at, vector) VALUES (1, 'ann', 'first-0', 1, 'user', 0, NULL, 0, '{"name":"first"}', '{"\"name\":\"first\""}', NULL, '\x81638f3d81630f3e4115573e81638f3e613cb33e4115d73e21eefa3e81630f3f');

INSERT INTO lex_rates (rate_key, total, leaves_from, leaves_by) VALUES ('key', 2, 2592000000, 2592000000);

INSERT INTO lex_rate_slots (rate_key, leaves_at, amount) VALUES ('key', 2592000000, 2);

/**
 * Scripts that write sessions in Redis, one per method of `RedisSessionStore`. Each runs as one step.
 *
 * @private
 * @since 0.1.0
 */
import { makeScript } from "./RedisSessionLua.js"

/**
 * Arguments: id; the session; session and id of its head (empty: none); limits of the user and of the parent; the
 * checkpoint.
 *
 * @category constants
 */
export const create = makeScript(`
local id, f = ARGV[1], given(2)
local hsid, htid = ARGV[10], ARGV[11]
if call("exists", session(id)) == 1 then return {"kept", show(id)} end
if call("exists", T .. ":n:" .. id) == 1 then return {"needed"} end
if htid ~= "" and call("hexists", T .. ":t:" .. hsid, htid) == 0 then return {"gone"} end
if taken(14) then return {"taken"} end
local limit = full(f, ARGV[12], ARGV[13])
if limit then return {limit} end
write(id, f)
enlist(id, f)
if htid ~= "" then
  call("hset", session(id), "b", hsid .. "\\0" .. htid)
  need(hsid, htid, 1)
end
keep(id, 14)
return {"done"}
`)

/**
 * Arguments: id; the session; the revision it is based on; limits; the checkpoint.
 *
 * @category constants
 */
export const save = makeScript(`
local id, f = ARGV[1], given(2)
local before = find(id)
if not before then return {"stale"} end
if before.rev ~= ARGV[10] then return {"stale", before.rev} end
if taken(13) then return {"taken"} end
local limit
if not live(before.st) then
  limit = full(f, ARGV[11], ARGV[12])
elseif before.u ~= f.u then
  limit = full(f, ARGV[11], "")
end
if limit then return {limit} end
unlist(id, before)
write(id, f)
enlist(id, f)
keep(id, 13)
return {"done"}
`)

/**
 * Arguments: id; the session, whose text is empty if only its place differs; the text of the place; the revision it is
 * based on; the checkpoint; the run whose exchange is closed (empty: none); per turn its id, session and id of its
 * parent, and text.
 *
 * @category constants
 */
export const append = makeScript(`
local id, f = ARGV[1], given(2)
local before = find(id)
if not before then return {"stale"} end
if before.rev ~= ARGV[11] then return {"stale", before.rev} end
local turns, first, last = T .. ":t:" .. id, 19, #ARGV
local ids, seen, twice = {}, {}, false
for at = first, last, 4 do
  if seen[ARGV[at]] then twice = true end
  seen[ARGV[at]] = true
  ids[#ids + 1] = ARGV[at]
end
local known = {}
for from = 1, #ids, 1000 do
  for _, value in ipairs(call("hmget", turns, unpack(ids, from, math.min(from + 999, #ids)))) do
    if value then
      local _, _, text = parse(value)
      known[#known + 1] = string.sub(value, text)
    end
  end
end
if #known > 0 then return {"known", known} end
if twice then return {"twice"} end
if taken(12) then return {"taken"} end
for at = first, last, 4 do
  local tid, psid, ptid = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  call("hset", turns, tid, psid .. "\\0" .. ptid .. "\\0" .. ARGV[at + 3])
  if psid ~= "" and call("hexists", T .. ":t:" .. psid, ptid) == 1 then
    call("hset", T .. ":o:" .. id, tid, psid .. "\\0" .. ptid)
    need(psid, ptid, 1)
  end
end
if f.j ~= "" then
  unlist(id, before)
  write(id, f)
  enlist(id, f)
else
  call("hset", session(id), "v", ARGV[10], "t", f.t, "rev", f.rev)
  if f.t ~= before.t then
    for _, scope in ipairs(scopes(before)) do call("zadd", index("u", before.st, scope), f.t, id) end
  end
end
keep(id, 12)
if ARGV[18] ~= "" then close(id, ARGV[18]) end
return {"done"}
`)

/**
 * Arguments: id; run; owner (empty: none); text.
 *
 * @category constants
 */
export const open = makeScript(`
local id, run, owner = ARGV[1], ARGV[2], ARGV[3]
if call("exists", session(id)) == 0 then return {"gone"} end
close(id, run)
call("hset", T .. ":e:" .. id, run, owner .. "\\0" .. ARGV[4])
if owner ~= "" then
  call("sadd", T .. ":g:" .. owner, id .. "\\0" .. run)
  if not call("zscore", T .. ":w", owner) then call("zadd", T .. ":w", 0, owner) end
end
return {"done"}
`)

/**
 * Arguments: id; run.
 *
 * @category constants
 */
export const withdraw = makeScript(`
return close(ARGV[1], ARGV[2])
`)

/**
 * Arguments: latest update; now; the most sessions.
 *
 * @category constants
 */
export const expire = makeScript(`
local since, at = tonumber(ARGV[1]), ARGV[2]
local keys = {index("u", "active", "a"), index("u", "suspended", "a")}
local given = {}
for _, one in ipairs(merged(keys, false, "", "", tonumber(ARGV[3]))) do
  if tonumber(one[2]) > since then break end
  local id = one[1]
  local f = find(id)
  unlist(id, f)
  f.st, f.t, f.rev = "expired", at, whole(tonumber(f.rev) + 1)
  call("hset", session(id), "st", f.st, "t", f.t, "rev", f.rev)
  enlist(id, f)
  given[#given + 1] = show(id)
end
return given
`)

/**
 * Arguments: id.
 *
 * @category constants
 */
export const deleteCheckpoint = makeScript(`
return forget(ARGV[1])
`)

/**
 * Arguments: id.
 *
 * @category constants
 */
export const remove = makeScript(`
local id = ARGV[1]
local f = find(id)
if not f then return 0 end
unlist(id, f)
for _, kind in ipairs(kinds) do
  for _, cid in ipairs(call("zrange", checkpoints(kind, id), 0, -1)) do forget(cid) end
end
for _, run in ipairs(call("hkeys", T .. ":e:" .. id)) do close(id, run) end
local base = call("hget", session(id), "b")
del(session(id))
local turns, outside, others = T .. ":t:" .. id, T .. ":x:" .. id, T .. ":o:" .. id
local needed = call("hgetall", outside)
local leaving = call("hgetall", others)
local kept, needs = {}, {}
for at = 1, #needed, 2 do
  local tid = needed[at]
  needs[tid] = (needs[tid] or 0) + tonumber(needed[at + 1])
  while not kept[tid] do
    local value = call("hget", turns, tid)
    if not value then break end
    kept[tid] = true
    local psid, ptid = parse(value)
    if ptid == "" or psid ~= "" then break end
    needs[ptid] = (needs[ptid] or 0) + 1
    tid = ptid
  end
end
del(outside)
if next(kept) == nil then
  del(turns, others)
else
  local all = call("hkeys", turns)
  local gone, stay = {}, {}
  for at, tid in ipairs(all) do
    if kept[tid] then
      stay[#stay + 1] = tid
      stay[#stay + 1] = needs[tid]
    else
      gone[#gone + 1] = tid
    end
    if #stay == 1000 or (at == #all and #stay > 0) then
      call("hset", T .. ":n:" .. id, unpack(stay))
      stay = {}
    end
    if #gone == 1000 or (at == #all and #gone > 0) then
      call("hdel", turns, unpack(gone))
      gone = {}
    end
  end
end
for at = 1, #leaving, 2 do
  if not kept[leaving[at]] then
    call("hdel", others, leaving[at])
    local psid, ptid = split(leaving[at + 1])
    need(psid, ptid, -1)
  end
end
if base then
  local psid, ptid = split(base)
  need(psid, ptid, -1)
end
return 1
`)

/**
 * Arguments: latest end of leases; the most exchanges and leases to examine. Returns the texts, and whether there is
 * more to examine.
 *
 * @category constants
 */
export const orphans = makeScript(`
local limit, looks = tonumber(ARGV[2]), tonumber(ARGV[3])
local found = {}
local owners = call("zrangebyscore", T .. ":w", "-inf", ARGV[1], "limit", 0, looks)
for _, owner in ipairs(owners) do
  local held = call("srandmember", T .. ":g:" .. owner, limit - #found)
  if #held == 0 then call("zrem", T .. ":w", owner) end
  for _, ref in ipairs(held) do
    local sid, run = split(ref)
    local _, text = split(call("hget", T .. ":e:" .. sid, run))
    found[#found + 1] = text
  end
  if #found >= limit then break end
end
return {found, (#found == 0 and #owners == looks) and 1 or 0}
`)

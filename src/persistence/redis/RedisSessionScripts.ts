/**
 * What `RedisSessionStore` does in Redis: one script a method that writes, each of them one step.
 *
 * All keys begin with the tag of the store, which is the only key a script is given. Behind it, with ids as `KeyText`
 * writes them:
 *
 * - `:s:id` a session: `j` as it was last written as a whole, `v` what turns have changed since, `st` status, `t`
 *   updated, `rev` revision, `c` created, `u` user, `p` parent, `r` root, `b` the turn of another session it began
 *   with;
 * - `:i:order:status:scope` sessions by time: of all, of a user, of a parent, of a root;
 * - `:t:id` the turns a session wrote, each with its parent before its text;
 * - `:x:id` how often each of them is needed by other sessions; `:o:id` those whose parent is in another session;
 * - `:n:id` of a deleted session: how often each turn that stays is needed, by its own turns too;
 * - `:e:id` the open exchanges of a session by run, each with its owner before its text; `:g:owner` those of an owner;
 *   `:w` leases by their end;
 * - `:c:id` a checkpoint; `:k:kind:id` those of a session by revision; `:m:into from` those of its merges.
 *
 * @internal
 * @since 0.1.0
 */
import { script } from "./RedisClient.js"

const common = `
local T = KEYS[1]
local call = redis.call
local function whole(number) return string.format("%.0f", number) end
local function del(...) call("unlink", ...) end

-- By byte: what Lua has for it goes by the language of the server.
local function less(a, b)
  local shorter = math.min(#a, #b)
  for at = 1, shorter do
    local x, y = string.byte(a, at), string.byte(b, at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function session(id) return T .. ":s:" .. id end
local function index(order, status, scope) return T .. ":i:" .. order .. ":" .. status .. ":" .. scope end

local function find(id)
  local f = call("hmget", session(id), "st", "t", "rev", "c", "u", "p", "r")
  if not f[1] then return nil end
  return {st = f[1], t = f[2], rev = f[3], c = f[4], u = f[5], p = f[6], r = f[7]}
end

local function show(id) return call("hmget", session(id), "j", "v", "st", "t", "rev") end

local function scopes(f)
  local found = {"a", "u" .. f.u}
  if f.p ~= "" then found[#found + 1] = "p" .. f.p end
  if f.r ~= "" then found[#found + 1] = "r" .. f.r end
  return found
end

local function unlist(id, f)
  for _, scope in ipairs(scopes(f)) do
    call("zrem", index("c", f.st, scope), id)
    call("zrem", index("u", f.st, scope), id)
  end
end

local function enlist(id, f)
  for _, scope in ipairs(scopes(f)) do
    call("zadd", index("c", f.st, scope), f.c, id)
    call("zadd", index("u", f.st, scope), f.t, id)
  end
end

local function live(status) return status == "active" or status == "suspended" end

local function count(scope)
  return call("zcard", index("c", "active", scope)) + call("zcard", index("c", "suspended", scope))
end

local function full(f, perUser, perParent)
  if not live(f.st) then return nil end
  if perUser ~= "" and f.u ~= "-" and count("u" .. f.u) >= tonumber(perUser) then return "user" end
  if perParent ~= "" and f.p ~= "" and count("p" .. f.p) >= tonumber(perParent) then return "parent" end
  return nil
end

-- The session of a turn's parent (empty: its own), the parent (empty: none), and the turn.
local function parse(value)
  local first = string.find(value, "\\0", 1, true)
  local second = string.find(value, "\\0", first + 1, true)
  return string.sub(value, 1, first - 1), string.sub(value, first + 1, second - 1), second + 1
end

local function split(ref)
  local at = string.find(ref, "\\0", 1, true)
  return string.sub(ref, 1, at - 1), string.sub(ref, at + 1)
end

-- One more or one less outside of its session that needs a turn. Of a deleted session what nobody needs goes, up to where somebody does.
local function need(sid, tid, by)
  local counts
  while true do
    if not counts then
      counts = T .. ":n:" .. sid
      if call("exists", counts) == 0 then
        local outside = T .. ":x:" .. sid
        if call("hincrby", outside, tid, by) <= 0 then call("hdel", outside, tid) end
        return
      end
    end
    if call("hincrby", counts, tid, by) > 0 then return end
    local value = call("hget", T .. ":t:" .. sid, tid)
    call("hdel", counts, tid)
    if not value then return end
    call("hdel", T .. ":t:" .. sid, tid)
    local psid, ptid = parse(value)
    if ptid == "" then return end
    if psid ~= "" then
      if call("hdel", T .. ":o:" .. sid, tid) == 0 then return end
      sid = psid
      counts = nil
    end
    tid = ptid
    by = -1
  end
end

-- An exchange that is open no more: 1 if it was.
local function close(id, run)
  local value = call("hget", T .. ":e:" .. id, run)
  if not value then return 0 end
  call("hdel", T .. ":e:" .. id, run)
  call("srem", T .. ":g:" .. split(value), id .. "\\0" .. run)
  return 1
end

local kinds = {"manual", "auto", "fork", "merge"}
local function checkpoints(kind, id) return T .. ":k:" .. kind .. ":" .. id end

local function forget(cid)
  local f = call("hmget", T .. ":c:" .. cid, "s", "k", "f")
  if not f[1] then return 0 end
  call("zrem", checkpoints(f[2], f[1]), cid)
  if f[3] ~= "" then call("zrem", T .. ":m:" .. f[1] .. "\\0" .. f[3], cid) end
  del(T .. ":c:" .. cid)
  return 1
end

-- From an argument on: id (empty: none), text, kind, revision, source, how many stay.
local function taken(at) return ARGV[at] ~= "" and call("exists", T .. ":c:" .. ARGV[at]) == 1 end
local function keep(id, at)
  local cid = ARGV[at]
  if cid == "" then return end
  local kind, revision, from, stay = ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
  call("hset", T .. ":c:" .. cid, "j", ARGV[at + 1], "s", id, "k", kind, "f", from)
  call("zadd", checkpoints(kind, id), revision, cid)
  if from ~= "" then call("zadd", T .. ":m:" .. id .. "\\0" .. from, revision, cid) end
  if stay == "" then return end
  local manual, auto = checkpoints("manual", id), checkpoints("auto", id)
  while call("zcard", manual) + call("zcard", auto) > tonumber(stay) do
    local a, b = call("zrange", manual, 0, 0, "withscores"), call("zrange", auto, 0, 0, "withscores")
    local oldest = a[1] or b[1]
    if a[1] and b[1] then
      local x, y = tonumber(a[2]), tonumber(b[2])
      if y < x or (x == y and less(b[1], a[1])) then oldest = b[1] end
    end
    forget(oldest)
  end
end

-- From an argument on: whole text, status, updated, revision, created, user, parent, root.
local function given(at)
  return {
    j = ARGV[at], st = ARGV[at + 1], t = ARGV[at + 2], rev = ARGV[at + 3],
    c = ARGV[at + 4], u = ARGV[at + 5], p = ARGV[at + 6], r = ARGV[at + 7]
  }
end

local function write(id, f)
  call("hset", session(id), "j", f.j, "v", "", "st", f.st, "t", f.t, "rev", f.rev, "c", f.c, "u", f.u, "p", f.p, "r", f.r)
end

-- How many of an ordered set come before a place: those that are later, or earlier where it is read upwards.
local function rank(key, at, id, down)
  local from = down and call("zcount", key, "(" .. at, "+inf") or call("zcount", key, "-inf", "(" .. at)
  local to = from + call("zcount", key, at, at)
  while from < to do
    local middle = math.floor((from + to) / 2)
    local member = call(down and "zrevrange" or "zrange", key, middle, middle)[1]
    local behind
    if down then behind = less(member, id) else behind = less(id, member) end
    if behind then to = middle else from = middle + 1 end
  end
  return from
end

-- What several ordered sets have behind a place, as one list: {id, time} each, so many at most.
local function merged(keys, down, at, id, limit)
  local lists = {}
  for _, key in ipairs(keys) do
    local from = 0
    if at ~= "" then from = rank(key, at, id, down) end
    local some = call(down and "zrevrange" or "zrange", key, from, from + limit - 1, "withscores")
    if #some > 0 then lists[#lists + 1] = {some = some, at = 1} end
  end
  local found = {}
  while #found < limit do
    local best
    for _, list in ipairs(lists) do
      if list.at <= #list.some then
        if not best then
          best = list
        else
          local x, y = tonumber(list.some[list.at + 1]), tonumber(best.some[best.at + 1])
          local before = x < y or (x == y and less(list.some[list.at], best.some[best.at]))
          if before ~= down then best = list end
        end
      end
    end
    if not best then break end
    found[#found + 1] = {best.some[best.at], best.some[best.at + 1]}
    best.at = best.at + 2
  end
  return found
end
`

const over = (body: string) => script(common + body)

/**
 * Id; the session; session and turn of its head (empty: none); limits of the user and of the parent; the checkpoint.
 *
 * @category constants
 */
export const create = over(`
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
 * Id; the session; the revision it was made from; limits; the checkpoint.
 *
 * @category constants
 */
export const save = over(`
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
 * Id; the session, its text empty where only its place differs, and the text of that; the revision it was made from;
 * the checkpoint; the run whose exchange is closed (empty: none); of each turn its id, session and id of its parent,
 * and text.
 *
 * @category constants
 */
export const append = over(`
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
 * Id; run; owner (empty: none); text.
 *
 * @category constants
 */
export const open = over(`
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
 * Id; run.
 *
 * @category constants
 */
export const withdraw = over(`
return close(ARGV[1], ARGV[2])
`)

/**
 * Until when leases have ended; how many exchanges, and how many leases, are looked at. Gives the texts, and whether
 * there is more to look at.
 *
 * @category constants
 */
export const orphans = over(`
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

/**
 * Session and id of the head; how many at most; session and id of what they come behind; how many, and how many bytes,
 * at once. Gives the texts, newest first, and where to go on.
 *
 * @category constants
 */
export const turns = over(`
local sid, tid, limit, most, bytes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[6]), tonumber(ARGV[7])
local found, size = {}, 0
while #found < limit do
  if sid == ARGV[4] and tid == ARGV[5] then break end
  if #found >= most or size > bytes then return {found, sid, tid} end
  local value = call("hget", T .. ":t:" .. sid, tid)
  if not value then break end
  local psid, ptid, text = parse(value)
  found[#found + 1] = string.sub(value, text)
  size = size + #value
  if ptid == "" then break end
  if psid ~= "" then sid = psid end
  tid = ptid
end
return {found}
`)

/**
 * Order, scope, root or nothing, then what has to be: user, parent, root (empty: any); the place it goes on behind; how
 * many are given, and how many are looked at; statuses. Gives sessions, and where to go on.
 *
 * @category constants
 */
export const list = over(`
local order, scope, root = ARGV[1], ARGV[2], ARGV[3]
local user, parent, tree = ARGV[4], ARGV[5], ARGV[6]
local limit, looks = tonumber(ARGV[9]), tonumber(ARGV[10])
local keys = {}
local alone
for at = 11, #ARGV do
  keys[#keys + 1] = index(order, ARGV[at], scope)
  if root ~= "" then
    local f = find(root)
    if f and f.r == "" and f.st == ARGV[at] then alone = order == "c" and f.c or f.t end
  end
end
local found = merged(keys, true, ARGV[7], ARGV[8], looks)
local whole = #found < looks
if alone then
  local time = tonumber(alone)
  local function before(at, id) return time > at or (time == at and less(id, root)) end
  if ARGV[7] == "" or not (before(tonumber(ARGV[7]), ARGV[8]) or (time == tonumber(ARGV[7]) and root == ARGV[8])) then
    local place = #found + 1
    for at, one in ipairs(found) do
      if before(tonumber(one[2]), one[1]) then
        place = at
        break
      end
    end
    if place <= #found or whole then table.insert(found, place, {root, alone}) end
  end
end
local given = {}
for at, one in ipairs(found) do
  local f = find(one[1])
  if f and (user == "" or f.u == user) and (parent == "" or f.p == parent)
    and (tree == "" or (f.r == "" and "=" .. one[1] or f.r) == tree) then
    given[#given + 1] = show(one[1])
    if #given >= limit then break end
  end
end
if #given >= limit or whole then return {given} end
return {given, found[#found][2], found[#found][1]}
`)

/**
 * Until when; the place it goes on behind; how many.
 *
 * @category constants
 */
export const idle = over(`
local since = tonumber(ARGV[1])
local keys = {index("u", "active", "a"), index("u", "suspended", "a")}
local given = {}
for _, one in ipairs(merged(keys, false, ARGV[2], ARGV[3], tonumber(ARGV[4]))) do
  if tonumber(one[2]) > since then break end
  given[#given + 1] = show(one[1])
end
return given
`)

/**
 * Until when; when; how many.
 *
 * @category constants
 */
export const expire = over(`
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
 * Id; a revision they are below (empty: any); how many; kinds.
 *
 * @category constants
 */
export const listCheckpoints = over(`
local id, before, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local keys = {}
for at = 4, #ARGV do keys[#keys + 1] = checkpoints(ARGV[at], id) end
local given = {}
-- No id is shorter than the empty one: behind that place is what has a lower revision.
for _, one in ipairs(merged(keys, true, before, "", limit)) do
  given[#given + 1] = call("hget", T .. ":c:" .. one[1], "j")
end
return given
`)

/**
 * The session merged into, and the other.
 *
 * @category constants
 */
export const lastMerge = over(`
local cid = call("zrevrange", T .. ":m:" .. ARGV[1] .. "\\0" .. ARGV[2], 0, 0)[1]
return cid and call("hget", T .. ":c:" .. cid, "j")
`)

/**
 * Id.
 *
 * @category constants
 */
export const deleteCheckpoint = over(`
return forget(ARGV[1])
`)

/**
 * Id.
 *
 * @category constants
 */
export const remove = over(`
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

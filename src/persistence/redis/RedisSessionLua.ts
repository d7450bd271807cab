/**
 * Layout of sessions in Redis, and the Lua functions that the scripts of `RedisSessionStore` share.
 *
 * All keys begin with the tag of the store, which is the only key of a script. Ids are encoded by `KeyText`:
 *
 * - `:s:id` a session: `j` as last written completely, `v` what turns have changed since, `st` status, `t` time of the
 *   last update, `rev` revision, `c` creation time, `u` user, `p` parent, `r` root, `b` the turn of another session
 *   that
 *   it began at;
 * - `:i:order:status:scope` sessions by time: all, of a user, of a parent, of a root;
 * - `:t:id` the turns that a session wrote, each with its parent before its text;
 * - `:x:id` how often other sessions need each of them; `:o:id` turns whose parent is in another session;
 * - `:n:id` of a deleted session: how often each remaining turn is needed, including by its own turns;
 * - `:e:id` the open exchanges of a session by run, each with its owner before its text; `:g:owner` exchanges of an
 *   owner; `:w` leases by their end;
 * - `:c:id` a checkpoint; `:k:kind:id` checkpoints of a session by revision; `:m:into from` checkpoints of its merges.
 *
 * @private
 * @since 0.1.0
 */
import * as RedisScript from "./RedisScript.js"

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

/**
 * A script that can call the shared functions.
 *
 * @category constructors
 */
export const makeScript = (body: string): RedisScript.Script => RedisScript.make(common + body)

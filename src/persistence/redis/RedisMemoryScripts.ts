/**
 * Scripts of `RedisMemoryStore`, one per method. Each runs as one step.
 *
 * Owners are spread over buckets. The tag of a bucket is the only key of a script, and the prefix of all of its keys.
 * Names are encoded by `KeyText`:
 *
 * - `:owners` owners with entries; `:soonest` owners with expiring entries, by their first expiry;
 * - `:e:owner` texts of entries without access figures; `:f:owner` access figures as `count time`; `:x:owner`
 *   expiry times;
 * - `:m:owner` the number of changes of the owner (`r`), and the time of the last one (`t`) in microseconds; `:g:owner`
 *   the last changes: their times and entries, or `*` for too many.
 *
 * @private
 * @since 0.1.0
 */
import * as RedisScript from "./RedisScript.js"

/** The most changes that are recorded, and the most entries recorded of one change. */
const CHANGES = 512
const NAMED = 100

const common = `
local B = KEYS[1]
local call = redis.call
local function of(kind, owner) return B .. ":" .. kind .. ":" .. owner end
local owners, soonest = B .. ":owners", B .. ":soonest"
local function whole(number) return string.format("%.0f", number) end

local function wipe(owner)
  call("unlink", of("e", owner), of("f", owner), of("x", owner), of("m", owner), of("g", owner))
  call("zrem", owners, owner)
  call("zrem", soonest, owner)
end

local function settle(owner)
  if call("hlen", of("e", owner)) == 0 then return wipe(owner) end
  call("zadd", owners, 0, owner)
  local first = call("zrange", of("x", owner), 0, 0, "withscores")
  if first[1] then call("zadd", soonest, first[2], owner) else call("zrem", soonest, owner) end
end

local function drop(owner, ids)
  call("hdel", of("e", owner), unpack(ids))
  call("hdel", of("f", owner), unpack(ids))
  call("zrem", of("x", owner), unpack(ids))
end

-- What has expired is not told: each process knows it by itself.
local function purge(owner, now, most)
  local ids = call("zrangebyscore", of("x", owner), "-inf", now, "limit", 0, most)
  if #ids > 0 then drop(owner, ids) end
  return #ids
end

local function note(owner, ids)
  if #ids == 0 then return end
  local time = call("time")
  local when = time[1] .. "." .. time[2]
  call("hincrby", of("m", owner), "r", 1)
  call("hset", of("m", owner), "t", when)
  call("rpush", of("g", owner), when .. "\\0" .. (#ids > ${NAMED} and "*" or table.concat(ids, "\\0")))
  call("ltrim", of("g", owner), -${CHANGES}, -1)
end

local function alive(owner, now)
  return call("hlen", of("e", owner)) - call("zcount", of("x", owner), "-inf", now)
end

local function figures(owner, id)
  local text = call("hget", of("f", owner), id)
  if not text then return "", "" end
  return string.match(text, "^(%S*) (%S*)$")
end

local function higher(a, b)
  if a == "" then return b end
  if b == "" then return a end
  return tonumber(b) > tonumber(a) and b or a
end
`

const makeScript = (body: string) => RedisScript.make(common + body)

/**
 * Arguments: owner; now; number of deleted ids, and of ids that are removed without being counted; expected number and
 * time of changes, or empty; the ids; per entry its id, text, expiry, access count and last access. Returns the number
 * of deleted entries, or -1 if the owner has changed.
 *
 * @category constants
 */
export const apply = makeScript(`
local owner, now = ARGV[1], tonumber(ARGV[2])
local counted, dropped = tonumber(ARGV[3]), tonumber(ARGV[4])
local entries, expiries = of("e", owner), of("x", owner)
local changed, deleted = {}, 0
if ARGV[5] ~= "" then
  local known = call("hmget", of("m", owner), "r", "t")
  if known[1] ~= ARGV[5] or known[2] ~= ARGV[6] then return -1 end
end
purge(owner, ARGV[2], ${NAMED})
local function expired(id)
  local till = call("zscore", expiries, id)
  return till and tonumber(till) <= now
end
for at = 7, 6 + counted + dropped do
  local id = ARGV[at]
  local was = expired(id)
  if call("hexists", entries, id) == 1 then
    if at <= 6 + counted and not was then deleted = deleted + 1 end
    drop(owner, {id})
    changed[#changed + 1] = id
  end
end
for at = 7 + counted + dropped, #ARGV, 5 do
  local id, till, count, last = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  if not expired(id) then
    local before, since = figures(owner, id)
    count, last = higher(count, before), higher(last, since)
  end
  call("hset", entries, id, ARGV[at + 1])
  if count == "" and last == "" then
    call("hdel", of("f", owner), id)
  else
    call("hset", of("f", owner), id, count .. " " .. last)
  end
  if till == "" then call("zrem", expiries, id) else call("zadd", expiries, till, id) end
  changed[#changed + 1] = id
end
note(owner, changed)
settle(owner)
return deleted
`)

/**
 * Arguments: owner; now; time; ids, each repeated per access.
 *
 * @category constants
 */
export const recordAccess = makeScript(`
local owner, now = ARGV[1], tonumber(ARGV[2])
local changed, seen = {}, {}
for at = 4, #ARGV do
  local id = ARGV[at]
  local till = call("zscore", of("x", owner), id)
  if call("hexists", of("e", owner), id) == 1 and not (till and tonumber(till) <= now) then
    local count, last = figures(owner, id)
    call("hset", of("f", owner), id, whole((tonumber(count) or 0) + 1) .. " " .. higher(last, ARGV[3]))
    if not seen[id] then changed[#changed + 1] = id end
    seen[id] = true
  end
end
note(owner, changed)
return #changed
`)

/**
 * Arguments: owner; number and time of the last change that the process knows. Returns that nothing is new, the changed
 * entries (id, text, figures), or that all must be read.
 *
 * @category constants
 */
export const changes = makeScript(`
local owner = ARGV[1]
local now = call("hmget", of("m", owner), "r", "t")
if not now[1] then return {"none"} end
if ARGV[2] == now[1] and ARGV[3] == now[2] then return {"same"} end
local all = {"all", now[1], now[2]}
local behind = ARGV[2] ~= "" and tonumber(now[1]) - tonumber(ARGV[2]) or 0
if behind <= 0 or call("llen", of("g", owner)) <= behind then return all end
local log = call("lrange", of("g", owner), -behind - 1, -1)
-- Another history, as after a server that lost what it was told last.
if string.sub(log[1], 1, #ARGV[3] + 1) ~= ARGV[3] .. "\\0" then return all end
local ids, seen = {}, {}
for at = 2, #log do
  local rest = string.sub(log[at], string.find(log[at], "\\0", 1, true) + 1)
  if rest == "*" then return all end
  for id in string.gmatch(rest .. "\\0", "(.-)%z") do
    if not seen[id] then ids[#ids + 1] = id end
    seen[id] = true
  end
end
if #ids > 1000 then return all end
local texts, counts = call("hmget", of("e", owner), unpack(ids)), call("hmget", of("f", owner), unpack(ids))
local some = {}
for at, id in ipairs(ids) do
  some[#some + 1] = id
  some[#some + 1] = texts[at]
  some[#some + 1] = counts[at]
end
return {"some", now[1], now[2], some}
`)

/**
 * Arguments: owner; now. Returns the number of entries.
 *
 * @category constants
 */
export const clear = makeScript(`
local count = alive(ARGV[1], ARGV[2])
wipe(ARGV[1])
return count
`)

/**
 * Arguments: now. Removes up to a thousand expired entries of one owner; returns -1 if there are none.
 *
 * @category constants
 */
export const expire = makeScript(`
local owner = call("zrangebyscore", soonest, "-inf", ARGV[1], "limit", 0, 1)[1]
if not owner then return -1 end
local count = purge(owner, ARGV[1], 1000)
settle(owner)
return count
`)

/**
 * Arguments: now; the name after which the list begins (empty: none); the most names.
 *
 * @category constants
 */
export const listOwners = makeScript(`
local from, limit = ARGV[2] == "" and "-" or "(" .. ARGV[2], tonumber(ARGV[3])
local found = {}
while #found < limit do
  local some = call("zrangebylex", owners, from, "+", "limit", 0, 100)
  if #some == 0 then break end
  for _, owner in ipairs(some) do
    if #found < limit and alive(owner, ARGV[1]) > 0 then found[#found + 1] = owner end
  end
  from = "(" .. some[#some]
end
return found
`)

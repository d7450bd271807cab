/**
 * Scripts that read sessions in Redis.
 *
 * @private
 * @since 0.1.0
 */
import { makeScript } from "./RedisSessionLua.js"

/**
 * Arguments: session and id of the head; the most turns; session and id of the turn before the window; the most turns
 * and bytes per reply. Returns the texts, newest first, and the turn to continue with.
 *
 * @category constants
 */
export const turns = makeScript(`
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
 * Arguments: order; scope; root or empty; required user, parent and root (empty: any); the position to continue after;
 * the most sessions to return and to examine; statuses. Returns sessions, and the position to continue after.
 *
 * @category constants
 */
export const list = makeScript(`
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
 * Arguments: latest update; the position to continue after; the most sessions.
 *
 * @category constants
 */
export const idle = makeScript(`
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
 * Arguments: id; exclusive upper bound of revisions (empty: none); the most checkpoints; kinds.
 *
 * @category constants
 */
export const listCheckpoints = makeScript(`
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
 * Arguments: the session merged into; the merged session.
 *
 * @category constants
 */
export const lastMerge = makeScript(`
local cid = call("zrevrange", T .. ":m:" .. ARGV[1] .. "\\0" .. ARGV[2], 0, 0)[1]
return cid and call("hget", T .. ":c:" .. cid, "j")
`)

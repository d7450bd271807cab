/**
 * A `SessionStore` in Redis for any number of concurrent processes.
 *
 * Each writing method is one script that compares the revision, checks the limits and writes in one step. So concurrent
 * writers do not overwrite each other, and partial writes are never visible, not even on a replica or after a crash.
 * The cost of a turn does not grow with the conversation; a window is read in pages of up to 500 turns, each in one
 * round trip. Only the duration of `delete` grows with the data: if branches need some of the turns, it visits every
 * turn, some microseconds each, during which Redis does nothing else. Without branches it takes a handful of commands
 * for any number of turns.
 *
 * **Durability is that of the server.** With `appendonly yes` and `appendfsync always` a successful write survives a
 * crash; with `everysec`, the default of the append-only file, the last second may be lost; without the file,
 * everything since the last snapshot. A replica that takes over may lack the latest writes: `min-replicas-to-write`
 * limits that. No key expires, so the server must not evict (`maxmemory-policy noeviction` or `volatile-lru`).
 *
 * **In a cluster** all keys of a store have one hash tag, its prefix: they are on one node, because a session, its
 * branches, the limits of its user and the lists belong together. To spread sessions over the nodes, give each tenant
 * or each group of users a store with its own prefix. Move such a slot only while nobody writes: until all of its keys
 * have moved, a script finds some of them on neither node, and fails or considers them absent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Session, SessionTurn } from "../../session/turn/Session.js"
import * as SessionCodec from "../../session/turn/SessionCodec.js"
import { SessionStorageError } from "../../session/turn/SessionError.js"
import * as SessionStore from "../../session/turn/SessionStore.js"
import * as SessionStoreErrors from "../../session/turn/SessionStoreErrors.js"
import type { DatabaseError } from "../engine/PersistenceError.js"
import * as PlainSession from "../session/PlainSession.js"
import { RedisClient } from "./RedisClient.js"
import type { Argument, Script } from "./RedisScript.js"
import {
  checkpointArgs,
  decodeCheckpoint,
  decodeExchange,
  decodeSession,
  decodeSessions,
  decodeTurn,
  decodeTurns,
  EXCHANGES,
  id,
  limit,
  most,
  named,
  optional,
  sessionArgs,
  turnArgs,
  unreadable,
  user
} from "./RedisSessionCodec.js"
import * as Queries from "./RedisSessionQueries.js"
import * as Scripts from "./RedisSessionScripts.js"
import * as RedisText from "./RedisText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Hash tag that begins all keys. Stores with different prefixes are independent. Default: `lexigram-sessions`.
   */
  readonly prefix?: string | undefined
}

/** Sessions returned, and positions examined, per round trip. */
const PAGE = 200
const TURNS_PAGE = 500
const BYTES_PAGE = 4_000_000

const statuses = ["active", "suspended", "closed", "expired"] as const
const kinds = ["manual", "auto", "fork", "merge"] as const

const failed = (cause: DatabaseError): SessionStorageError =>
  new SessionStorageError({ message: "The sessions in Redis could not be read or written", cause })

const conflict = (session: Session, revision: unknown) =>
  SessionStoreErrors.staleRevision(session, revision === undefined ? undefined : { revision: Number(revision) })

const overLimit = (session: Session, limits: SessionStore.Limits | undefined, which: "user" | "parent") => {
  const reached = (is: boolean) => () => (is ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
  const refusal = SessionStoreErrors.overLimit(session, limits, {
    ofUser: reached(which === "user"),
    ofParent: reached(which === "parent")
  })
  return refusal ?? unreadable
}

const makeAccess = ({ command, evaluate }: RedisClient["Type"], options: Options | undefined) => {
  const tag = RedisText.tag(options?.prefix ?? "lexigram-sessions")
  const read = (script: Script, args: ReadonlyArray<Argument>) => Effect.mapError(evaluate(script, [tag], args), failed)
  /** Uninterruptible, so that the caller knows the outcome: the reply comes within the command timeout. */
  const write = (script: Script, args: ReadonlyArray<Argument>) =>
    Effect.uninterruptible(read(script, args)) as Effect.Effect<readonly [string, unknown], SessionStorageError>
  const get = (name: string, ...args: ReadonlyArray<Argument>) => Effect.mapError(command(name, ...args), failed)

  return { tag, read, write, get }
}

type Access = ReturnType<typeof makeAccess>

const makeCreate = ({ write }: Access): SessionStore.Service["create"] =>
  Effect.fnUntraced(function* ({ checkpoint, limits, session }) {
    const text = yield* PlainSession.session.encode(session)
    const [outcome, kept] = yield* write(Scripts.create, [
      id(session.id),
      ...sessionArgs(session, text),
      session.head === undefined ? "" : id(session.head.sessionId),
      session.head === undefined ? "" : id(session.head.turnId),
      limit(limits?.perUser),
      limit(limits?.perParent),
      ...(yield* checkpointArgs(checkpoint))
    ])
    switch (outcome) {
      case "kept":
        return { session: yield* decodeSession(kept), isNew: false }
      case "needed":
        return yield* SessionStoreErrors.idInUse(session)
      case "gone":
        return yield* SessionStoreErrors.headMissing(session)
      case "taken":
        return yield* SessionStoreErrors.checkpointExists
      case "user":
      case "parent":
        return yield* overLimit(session, limits, outcome)
      default:
        return { session: yield* PlainSession.session.decode("the key of a session in Redis", text), isNew: true }
    }
  })

const makeSave = ({ write }: Access): SessionStore.Service["save"] =>
  Effect.fnUntraced(function* (change) {
    const { checkpoint, keepCheckpoints, limits, session } = change
    const [outcome, revision] = yield* write(Scripts.save, [
      id(session.id),
      ...sessionArgs(session, yield* PlainSession.session.encode(session)),
      session.revision - 1,
      limit(limits?.perUser),
      limit(limits?.perParent),
      ...(yield* checkpointArgs(checkpoint, keepCheckpoints))
    ])
    if (outcome === "stale") return yield* conflict(session, revision)
    if (outcome === "taken") return yield* SessionStoreErrors.checkpointExists
    if (outcome === "user" || outcome === "parent") return yield* overLimit(session, limits, outcome)
  })

const makeAppend = ({ write }: Access): SessionStore.Service["append"] =>
  Effect.fnUntraced(function* (addition) {
    const { checkpoint, closes, isStateChanged, keepCheckpoints, session, turns } = addition
    const [outcome, detail] = yield* write(Scripts.append, [
      id(session.id),
      ...sessionArgs(session, isStateChanged === true ? yield* PlainSession.session.encode(session) : ""),
      yield* PlainSession.encodePlace(session),
      session.revision - 1,
      ...(yield* checkpointArgs(checkpoint, keepCheckpoints)),
      closes === undefined ? "" : id(closes),
      ...(yield* Effect.forEach(turns, (turn) => turnArgs(session, turn))).flat()
    ])
    if (outcome === "stale") return yield* conflict(session, detail)
    if (outcome === "twice") return yield* SessionStoreErrors.duplicateTurns
    if (outcome === "taken") return yield* SessionStoreErrors.checkpointExists
    return outcome === "known" ? yield* decodeTurns(detail) : []
  })

type Exchanges = Pick<SessionStore.Service, "open" | "exchange" | "withdraw" | "lease" | "orphans">

const makeExchanges = ({ get, tag, write }: Access): Exchanges => ({
  open: Effect.fnUntraced(function* (exchange) {
    const owner = exchange.owner === undefined ? "" : id(exchange.owner)
    const text = yield* SessionCodec.exchange.encode(exchange)
    const [outcome] = yield* write(Scripts.open, [id(exchange.sessionId), id(exchange.runId), owner, text])
    if (outcome === "gone") return yield* SessionStoreErrors.sessionMissing(exchange.sessionId)
  }),
  exchange: (ref) =>
    Effect.flatMap(get("hget", `${tag}:e:${id(ref.sessionId)}`, id(ref.runId)), (value) =>
      optional(value, (text) => decodeExchange(String(text).slice(String(text).indexOf("\0") + 1)))
    ),
  withdraw: (ref) =>
    Effect.map(write(Scripts.withdraw, [id(ref.sessionId), id(ref.runId)]), (count: unknown) => count === 1),
  lease: ({ owner, until }) => Effect.asVoid(get("zadd", `${tag}:w`, until, id(owner))),
  orphans: Effect.fnUntraced(function* ({ at, limit }) {
    if (limit <= 0) return []
    const wanted = Math.min(limit, PAGE)
    for (let asked = wanted; ; ) {
      const reply: unknown = yield* write(Scripts.orphans, [at, asked, PAGE])
      const [texts, isMore] = reply as readonly [ReadonlyArray<string>, number]
      if (isMore !== 0) continue
      const found = yield* SessionCodec.readableExchanges(EXCHANGES, texts)
      if (found.length > 0 || texts.length < asked) return found.slice(0, wanted)
      // None of them can be read: there may be readable ones after them.
      asked += wanted
    }
  })
})

const makeTurns = ({ read }: Access): SessionStore.Service["turns"] =>
  Effect.fnUntraced(function* (head, { limit, since }) {
    const found: Array<SessionTurn> = []
    const until = since === undefined ? ["", ""] : [id(since.sessionId), id(since.turnId)]
    let at: readonly [string, string] | undefined = [id(head.sessionId), id(head.turnId)]
    while (at !== undefined && found.length < limit) {
      const left = most(limit - found.length)
      const reply: unknown = yield* read(Queries.turns, [...at, left, ...until, TURNS_PAGE, BYTES_PAGE])
      const [texts, session, turn] = reply as readonly [unknown, string?, string?]
      for (const one of yield* decodeTurns(texts)) found.push(one)
      at = session === undefined || turn === undefined ? undefined : [session, turn]
    }
    return found.reverse()
  })

/** The index that a list is read from, and the fields that the sessions in it must have. */
const scopeOf = ({ parentSessionId, rootSessionId, userId }: SessionStore.ListOptions) => ({
  scope:
    parentSessionId !== undefined
      ? `p${named(parentSessionId)}`
      : rootSessionId !== undefined
        ? `r${named(rootSessionId)}`
        : userId !== undefined
          ? `u${user(userId)}`
          : "a",
  root: parentSessionId === undefined && rootSessionId !== undefined ? id(rootSessionId) : "",
  wanted: [userId === undefined ? "" : user(userId), named(parentSessionId), named(rootSessionId)]
})

const makeList = ({ read }: Access): SessionStore.Service["list"] =>
  Effect.fnUntraced(function* (options) {
    const { root, scope, wanted } = scopeOf(options)
    const order = options.order === "updated" ? "u" : "c"
    const isFiltered = wanted.filter((one) => one !== "").length > 1
    const among = [...new Set(options.statuses ?? statuses)]
    const found: Array<Session> = []
    let after: readonly [Argument, string] | undefined =
      options.after === undefined ? ["", ""] : [options.after.at, id(options.after.id)]
    while (after !== undefined && found.length < options.limit) {
      const left = Math.min(options.limit - found.length, PAGE)
      const looks = isFiltered ? PAGE : left
      const reply: unknown = yield* read(Queries.list, [order, scope, root, ...wanted, ...after, left, looks, ...among])
      const [sessions, at, last] = reply as readonly [unknown, string?, string?]
      for (const one of yield* decodeSessions(sessions)) found.push(one)
      after = at === undefined || last === undefined ? undefined : [at, last]
    }
    return found
  })

const makeIdle = ({ read }: Access): SessionStore.Service["idle"] =>
  Effect.fnUntraced(function* ({ after, limit, since }) {
    const found: Array<Session> = []
    let place: readonly [Argument, string] = after === undefined ? ["", ""] : [after.at, id(after.id)]
    while (found.length < limit) {
      const left = Math.min(limit - found.length, PAGE)
      const page: ReadonlyArray<Session> = yield* decodeSessions(yield* read(Queries.idle, [since, ...place, left]))
      for (const one of page) found.push(one)
      const last = page[page.length - 1]
      if (page.length < left || last === undefined) break
      place = [last.updatedAt, id(last.id)]
    }
    return found
  })

type Checkpoints = Pick<SessionStore.Service, "checkpoint" | "checkpoints" | "lastMerge" | "deleteCheckpoint">

const makeCheckpoints = ({ get, read, tag, write }: Access): Checkpoints => ({
  checkpoint: (checkpointId) =>
    Effect.flatMap(get("hget", `${tag}:c:${id(checkpointId)}`, "j"), (text) => optional(text, decodeCheckpoint)),
  checkpoints: (sessionId, { before, kinds: wanted, limit }) =>
    limit <= 0
      ? Effect.succeed([])
      : Effect.flatMap(
          read(Queries.listCheckpoints, [id(sessionId), before ?? "", most(limit), ...new Set(wanted ?? kinds)]),
          (texts) => Effect.forEach(texts as ReadonlyArray<unknown>, decodeCheckpoint)
        ),
  lastMerge: (into, from) =>
    Effect.flatMap(read(Queries.lastMerge, [id(into), id(from)]), (text) => optional(text, decodeCheckpoint)),
  deleteCheckpoint: (checkpointId) =>
    Effect.map(write(Scripts.deleteCheckpoint, [id(checkpointId)]), (count: unknown) => count === 1)
})

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<SessionStore.Service, never, RedisClient> =>
  Effect.map(RedisClient, (client): SessionStore.Service => {
    const access = makeAccess(client, options)
    const { get, tag, write } = access
    return {
      name: "redis",
      create: makeCreate(access),
      load: (sessionId) =>
        Effect.flatMap(get("hmget", `${tag}:s:${id(sessionId)}`, "j", "v", "st", "t", "rev"), (reply) =>
          optional((reply as ReadonlyArray<unknown>)[0] === null ? null : reply, decodeSession)
        ),
      save: makeSave(access),
      append: makeAppend(access),
      ...makeExchanges(access),
      turn: (ref) =>
        Effect.flatMap(get("hget", `${tag}:t:${id(ref.sessionId)}`, id(ref.turnId)), (value) =>
          optional(value, decodeTurn)
        ),
      turns: makeTurns(access),
      list: makeList(access),
      idle: makeIdle(access),
      expire: ({ at, limit, since }) =>
        limit <= 0
          ? Effect.succeed([])
          : Effect.flatMap(write(Scripts.expire, [since, at, most(limit)]), decodeSessions),
      ...makeCheckpoints(access),
      delete: (sessionId) => Effect.map(write(Scripts.remove, [id(sessionId)]), (count: unknown) => count === 1),
      health: Effect.mapError(client.health, failed)
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { RedisClient, RedisSessionStore } from "effect-lexigram/persistence"
 * import { Sessions } from "effect-lexigram/session"
 * import * as Config from "effect/Config"
 * import * as Layer from "effect/Layer"
 *
 * const redis = RedisClient.layerConfig({ url: Config.redacted("REDIS_URL") })
 *
 * const sessions = Sessions.layer({ store: RedisSessionStore.layer({ prefix: "desk" }).pipe(Layer.provide(redis)) })
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<SessionStore.SessionStore, never, RedisClient> =>
  Layer.effect(SessionStore.SessionStore, make(options))

/**
 * The sessions of a server over HTTP. Each belongs to the caller that began it; to others it is unknown.
 *
 * @private
 * @since 0.1.0
 */
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { ApiError } from "../../http/api/ApiError.js"
import type { Identity } from "../../http/api/Authentication.js"
import { count } from "../../internal/Count.js"
import type { Served } from "./Served.js"
import * as ServedReplay from "./ServedReplay.js"
import * as ServedSession from "./ServedSession.js"

/**
 * @category models
 */
export interface Options {
  /** Sessions of all callers at once; default 1,000. */
  readonly maxSessions?: number | undefined
  /** Sessions of one caller at once; default 32. For a further one, that which was used least recently ends. */
  readonly maxSessionsPerCaller?: number | undefined
  /** A session that nobody uses for this long ends; default 10 minutes. */
  readonly idle?: Duration.DurationInput | undefined
  /** How long a client waits before it takes up a stream again; default 1 second. */
  readonly retry?: Duration.DurationInput | undefined
  /** A comment is sent when a stream was silent for this long; default 15 seconds. */
  readonly heartbeat?: Duration.DurationInput | undefined
  /** Messages of a session that a client can still get after it lost its connection; default 256. */
  readonly replay?: number | undefined
}

/** Characters of the messages that are kept for a client that lost its connection. */
const MOST_KEPT = 1024 * 1024

/**
 * @category models
 */
export interface Session {
  readonly id: string
  readonly owner: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly scope: Scope.CloseableScope
  /** Requests whose responses are open. */
  open: number
  usedAt: number
}

const ownerOf = ({ tenantId, userId }: Identity): string => JSON.stringify([tenantId ?? null, userId ?? null])

const unknown = new ApiError({ reason: "unknown", message: "Session not found" })

const full = new ApiError({
  reason: "unavailable",
  message: "The server has too many sessions",
  hint: "Try again later",
  retryAfter: 10
})

/**
 * @category models
 */
export class ServedSessions {
  private readonly sessions = new Map<string, Session>()
  private readonly maxSessions: number
  private readonly maxPerCaller: number

  constructor(
    private readonly served: Served,
    private readonly options: Options,
    private readonly runtime: Runtime.Runtime<never>
  ) {
    this.maxSessions = count(options.maxSessions, 1_000, 1)
    this.maxPerCaller = count(options.maxSessionsPerCaller, 32, 1)
  }

  get idle(): number {
    return Duration.toMillis(this.options.idle ?? "10 minutes")
  }

  /** The session of this id, if it is the caller's, in use while the scope is open. */
  use(id: string, caller: Identity): Effect.Effect<Session, ApiError, Scope.Scope> {
    return Effect.suspend(() => {
      const session = this.sessions.get(id)
      return session === undefined || session.owner !== ownerOf(caller) ? unknown : this.hold(session)
    })
  }

  /** A session that is not begun yet, in use while the scope is open. It ends if the client does not begin it. */
  begin(caller: Identity): Effect.Effect<Session, ApiError, Scope.Scope> {
    return Effect.uninterruptible(
      Effect.gen(this, function* () {
        const owner = ownerOf(caller)
        yield* this.makeRoom(owner)
        const scope = yield* Scope.make()
        const session: Session = {
          id: globalThis.crypto.randomUUID(),
          owner,
          scope,
          transport: this.transportOf(() => session.id),
          open: 0,
          usedAt: yield* Clock.currentTimeMillis
        }
        this.sessions.set(session.id, session)
        const server = yield* this.detached(Scope.extend(ServedSession.make(this.served, undefined), scope))
        server.onclose = () => void this.sessions.delete(session.id)
        yield* Effect.promise(() => server.connect(session.transport))
        return yield* this.hold(session)
      })
    )
  }

  /** The fibers of a session are not part of the request that began it, in logs and traces neither. */
  private detached<A>(effect: Effect.Effect<A>): Effect.Effect<A> {
    return Effect.suspend(() => Effect.flatten(Fiber.await(Runtime.runFork(this.runtime)(effect))))
  }

  private transportOf(id: () => string): WebStandardStreamableHTTPServerTransport {
    return new this.served.sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: id,
      eventStore: ServedReplay.make({ maxEvents: count(this.options.replay, 256, 1), maxCharacters: MOST_KEPT }),
      retryInterval: Duration.toMillis(this.options.retry ?? "1 second"),
      keepAliveMs: Duration.toMillis(this.options.heartbeat ?? "15 seconds")
    })
  }

  private hold(session: Session): Effect.Effect<Session, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        session.open++
        return session
      }),
      () =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          session.open--
          session.usedAt = now
        })
    )
  }

  private makeRoom(owner: string): Effect.Effect<void, ApiError> {
    return Effect.suspend(() => {
      const own = Array.from(this.sessions.values()).filter((session) => session.owner === owner)
      if (own.length >= this.maxPerCaller) {
        const oldest = own.reduce((one, other) => (other.usedAt < one.usedAt ? other : one))
        return this.end(oldest)
      }
      return this.sessions.size >= this.maxSessions ? full : Effect.void
    })
  }

  end(session: Session): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.sessions.delete(session.id)
      return Scope.close(session.scope, Exit.void)
    })
  }

  /** Ends what nobody used for long. */
  readonly sweep: Effect.Effect<void> = Effect.suspend(() =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.forEach(
        Array.from(this.sessions.values()).filter(({ open, usedAt }) => open === 0 && now - usedAt >= this.idle),
        (session) => this.end(session),
        { discard: true }
      )
    )
  )

  readonly endAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(Array.from(this.sessions.values()), (session) => this.end(session), {
      concurrency: "unbounded",
      discard: true
    })
  )
}

/**
 * Sessions that end with the scope.
 *
 * @category constructors
 */
export const make = (served: Served, options: Options): Effect.Effect<ServedSessions, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sessions = new ServedSessions(served, options, yield* Effect.runtime<never>())
    yield* Effect.addFinalizer(() => sessions.endAll)
    yield* Effect.forkScoped(Effect.repeat(sessions.sweep, Schedule.spaced(Math.max(1, sessions.idle / 4))))
    return sessions
  })

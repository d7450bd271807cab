/**
 * Writes the turns of a group run and holds the newest ones, so that a turn costs the same in a conversation of any
 * length.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { type RunId, type SessionId, TurnId, type UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Usage from "../../domain/Usage.js"
import type * as SessionManager from "../manager/SessionManager.js"
import type { NewTurn, Session, SessionTurn, TurnRef } from "../turn/Session.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import type * as GroupParticipant from "./GroupParticipant.js"
import type * as GroupTally from "./GroupTally.js"
import * as RoleIsolation from "./RoleIsolation.js"

/** The failures of turns. */
export type Failure =
  | Effect.Effect.Error<ReturnType<SessionManager.Service["addTurn"]>>
  | Effect.Effect.Error<ReturnType<SessionManager.Service["turns"]>>

const refOf = (turn: SessionTurn): TurnRef => ({ sessionId: turn.sessionId, turnId: turn.id })

const isParent = (turn: SessionTurn, other: SessionTurn): boolean =>
  turn.parent !== undefined && turn.parent.turnId === other.id && turn.parent.sessionId === other.sessionId

export class GroupTurns {
  /** The user's turn first, then the answers. */
  readonly written: Array<SessionTurn> = []
  private window: ReadonlyArray<SessionTurn> = []
  private readonly access: SessionManager.Access
  private readonly asCaller: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

  constructor(
    private readonly sessions: SessionManager.Service,
    private readonly options: { readonly window: number; readonly isolation: RoleIsolation.RoleIsolation },
    private readonly of: { readonly sessionId: SessionId; readonly userId: UserId | undefined },
    /** The caller's services. The group itself holds none, since the application owns its participants. */
    held: SystemAccess.Held
  ) {
    this.access = of.userId === undefined ? {} : { userId: of.userId }
    this.asCaller = SystemAccess.holding(held)
  }

  get answers(): number {
    return Math.max(0, this.written.length - 1)
  }

  /** The session as it is now. */
  get session(): Effect.Effect<Option.Option<Session>, SessionStorageError> {
    return this.asCaller(this.sessions.get(this.of.sessionId, this.access))
  }

  visibleTo(viewer: RoleIsolation.Viewer): ReadonlyArray<SessionTurn> {
    return RoleIsolation.filter(this.options.isolation, this.window, viewer)
  }

  /** A turn and the newest turns before it, whether it was written now or earlier. */
  private upTo(turn: SessionTurn): Effect.Effect<ReadonlyArray<SessionTurn>, Failure> {
    const last = this.options.window - 1
    return Effect.map(
      this.asCaller(this.sessions.turns(this.of.sessionId, { ...this.access, last, before: refOf(turn) })),
      (turns) => [...turns, turn]
    )
  }

  /**
   * Writes a turn; in a repeated run, returns the turn written first. Turns that others wrote in between enter the
   * window with it.
   */
  write(turn: NewTurn): Effect.Effect<SessionTurn, Failure> {
    const written = this.asCaller(this.sessions.addTurn(this.of.sessionId, turn, { ...this.access, ifKnown: "first" }))
    return Effect.flatMap(written, (added) => {
      this.written.push(added)
      const newest = this.window.at(-1)
      // Without a store, a turn has no parent.
      const follows = newest !== undefined && (added.parent === undefined || isParent(added, newest))
      const window = follows ? Effect.succeed([...this.window, added].slice(-this.options.window)) : this.upTo(added)
      return Effect.map(window, (window) => {
        this.window = window
        return added
      })
    })
  }
}

/** The turn of the message that a group discusses. */
export const question = (
  request: {
    readonly runId: RunId
    readonly message: string
    readonly metadata: { readonly [key: string]: unknown }
  },
  timestamp: number
): NewTurn => ({
  id: TurnId.make(`${request.runId}:user`),
  role: "user",
  content: request.message,
  timestamp,
  toolCalls: [],
  skillResults: [],
  metadata: request.metadata,
  tokensUsed: 0,
  cost: 0,
  runId: request.runId
})

const tokensOf = (usage: Usage.Usage): number => {
  const total = Math.round(Usage.total(usage))
  return total > 0 && Number.isFinite(total) ? total : 0
}

/** The turn of a participant's answer. */
export const answer = (said: {
  readonly id: TurnId
  readonly runId: RunId
  readonly member: GroupParticipant.Member
  readonly reply: GroupParticipant.Answer
  readonly meter: GroupTally.Meter
  readonly round: number
  readonly timestamp: number
}): NewTurn => {
  const { id, member, meter, reply, round, runId, timestamp } = said
  const { costUsd, model, provider, usage } = meter
  return {
    id,
    role: "assistant",
    content: reply.text,
    timestamp,
    toolCalls: reply.toolCalls ?? [],
    skillResults: [],
    metadata: {
      ...reply.metadata,
      ...RoleIsolation.toMetadata(reply, member.name),
      agent: member.name,
      role: member.role,
      round
    },
    tokensUsed: tokensOf(usage),
    cost: Number.isFinite(costUsd) ? Math.max(0, costUsd) : 0,
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    runId
  }
}

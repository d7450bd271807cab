/**
 * Runs a group: asks the participants, writes their turns, and ends the conversation.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId, type SessionId, TurnId, type UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Watch from "../../internal/fiber/Watch.js"
import * as Run from "../../observability/Run.js"
import type * as RunSink from "../../observability/RunSink.js"
import * as Step from "../../observability/Step.js"
import type * as SessionManager from "../manager/SessionManager.js"
import type { SessionTurn } from "../turn/Session.js"
import { ParticipantTimeoutError } from "./GroupError.js"
import * as GroupOutcome from "./GroupOutcome.js"
import type * as GroupParticipant from "./GroupParticipant.js"
import * as GroupTally from "./GroupTally.js"
import type { GroupTermination } from "./GroupTermination.js"
import * as GroupTurns from "./GroupTurns.js"
import type * as RoleIsolation from "./RoleIsolation.js"
import type * as TurnManager from "./TurnManager.js"

/** The parts of a group, with erased types. */
export interface Definition {
  readonly name: string
  readonly participants: ReadonlyArray<GroupParticipant.Any>
  readonly members: ReadonlyArray<GroupParticipant.Member>
  readonly turnManager: TurnManager.Any
  readonly isolation: RoleIsolation.RoleIsolation
  readonly termination: GroupTermination | undefined
  readonly maxRounds: number
  readonly maxFailures: number
  readonly window: number
  readonly participantTimeout: Duration.DurationInput
  readonly timeout: Duration.DurationInput | undefined
}

export interface Request {
  readonly runId: RunId
  readonly sessionId: SessionId
  readonly userId: UserId | undefined
  readonly message: string
  readonly metadata: { readonly [key: string]: unknown }
  /** The services of the caller. */
  readonly held: SystemAccess.Held
}

/** The time of the whole group is up. */
class TimeIsUp extends Data.TaggedClass("GroupTimeIsUp") {}

/** The time limit of the last read of the session. */
const readTimeout = 5000

/** Runs in a fiber of its own: its background fibers end with it, and it cannot change the fiber state of the group. */
const runInOwnFiber = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.fork(restore(effect)), (fiber) =>
      Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber))
    )
  )

class GroupRun {
  private readonly total = GroupTally.makeMeter()
  /** The meters of the current speaker. */
  private current: { readonly entry: GroupTally.Entry; readonly meters: ReadonlyArray<GroupTally.Meter> } | undefined
  private readonly entries: ReadonlyArray<GroupTally.Entry>
  private readonly turns: GroupTurns.GroupTurns
  private last: SessionTurn | undefined
  private round = 1
  /** How many members the round still has to ask. */
  private left = 0
  private slots = 0
  private unknown = 0
  /** Since the last answer: how many said nothing, who was asked, and whether all of them failed. */
  private quiet = 0
  private quietNames = new Set<string>()
  private onlyFailures = true
  readonly run: Run.Service
  readonly startedAt: number
  /** Milliseconds in which the group did not wait for a person or for its reader. */
  private elapsed = (): number => 0

  constructor(
    private readonly group: Definition,
    private readonly request: Request,
    sessions: SessionManager.Service,
    private readonly clock: Clock.Clock,
    outlet: RunSink.RunSink,
    parent: Run.Service
  ) {
    this.startedAt = clock.unsafeCurrentTimeMillis()
    this.entries = group.members.map(GroupTally.makeEntry)
    this.turns = new GroupTurns.GroupTurns(sessions, group, request, request.held)
    const { sink } = outlet
    this.run = Run.make({
      runId: request.runId,
      agent: group.name,
      clock,
      // Only one participant is asked at a time, so all events in the meantime are its own.
      sink: {
        ...sink,
        push: (event, whole) => {
          GroupTally.count(this.total, event)
          for (const meter of this.current?.meters ?? []) GroupTally.count(meter, event)
          sink.push(event, whole)
        }
      },
      parent: Run.isCurrent(parent) ? parent : undefined,
      sessionId: request.sessionId
    })
  }

  private eligible(): ReadonlyArray<GroupParticipant.Member> {
    return this.entries.filter((entry) => !entry.excluded).map((entry) => entry.member)
  }

  /** Asks a participant and returns the result. */
  private invite(
    participant: GroupParticipant.Any,
    member: GroupParticipant.Member,
    turns: ReadonlyArray<SessionTurn>,
    runId: RunId
  ): Effect.Effect<Exit.Exit<GroupParticipant.Reply, unknown>, never, any> {
    const millis = Duration.toMillis(participant.timeout ?? this.group.participantTimeout)
    const { sessionId, userId } = this.request
    const invitation: GroupParticipant.Invitation = {
      sessionId,
      ...(userId === undefined ? {} : { userId }),
      runId,
      self: member,
      members: this.eligible(),
      message: turns.at(-1) as SessionTurn,
      history: turns.slice(0, -1),
      round: this.round
    }
    return runInOwnFiber(
      Deadline.run(() => Effect.suspend(() => participant.respond(invitation)), {
        whole: Number.isFinite(millis) ? millis : undefined,
        pausable: true,
        onTimeout: (_phase, limit) =>
          new ParticipantTimeoutError({
            participant: member.name,
            timeoutMs: limit,
            message: `"${member.name}" did not answer within ${limit} ms`,
            hint: "Raise its `timeout`, or the `participantTimeout` of the group"
          })
      })
    )
  }

  private degraded(stage: string, error: ErrorInfo): Effect.Effect<void> {
    return this.run.emit({ _tag: "Degraded", stage, error })
  }

  private nothingSaid(name: string, failed: boolean): void {
    this.quiet++
    this.quietNames.add(name)
    if (!failed) this.onlyFailures = false
  }

  private finished(name: string, update: object): Effect.Effect<void> {
    return this.run.emit({ _tag: "NodeFinished", graph: this.group.name, node: name, step: this.slots, update })
  }

  private failed(entry: GroupTally.Entry, cause: Cause.Cause<unknown>): Effect.Effect<void> {
    const { name } = entry.member
    const error = GroupOutcome.failureOf(cause)
    GroupTally.fail(entry, this.round, error)
    this.nothingSaid(name, true)
    if (entry.failedInARow >= this.group.maxFailures) entry.excluded = true
    const report = this.degraded(`participant:${name}`, error)
    const ended = this.finished(name, { reply: "failure", round: this.round })
    const excluded = entry.excluded
      ? this.degraded(`participant:${name}`, {
          tag: "ParticipantExcluded",
          message: `"${name}" failed ${entry.failedInARow} times in a row and is no longer asked`
        })
      : Effect.void
    return Effect.zipRight(report, Effect.zipRight(excluded, ended))
  }

  private silent(entry: GroupTally.Entry): Effect.Effect<void> {
    entry.silences++
    entry.failedInARow = 0
    this.nothingSaid(entry.member.name, false)
    return this.finished(entry.member.name, { reply: "silence", round: this.round })
  }

  private ask(name: string): Effect.Effect<void, GroupTurns.Failure, any> {
    const index = this.entries.findIndex((entry) => entry.member.name === name && !entry.excluded)
    this.slots++
    if (index < 0) {
      this.unknown++
      this.nothingSaid(name, true)
      return this.degraded("turn-manager", {
        tag: "UnknownParticipant",
        message: `The turn manager "${this.group.turnManager.name}" chose a name that cannot be asked`
      })
    }
    const entry = this.entries[index] as GroupTally.Entry
    const participant = this.group.participants[index] as GroupParticipant.Any
    const { member } = entry
    const turns = this.turns.visibleTo(member)
    const newest = turns.at(-1)
    return Effect.gen(this, function* () {
      yield* this.run.emit({ _tag: "StepStarted", step: this.slots, name })
      if (newest === undefined) return yield* this.silent(entry)
      const runId = RunId.make(yield* IdGenerator.generate)
      yield* this.run.emit({ _tag: "Delegated", toAgent: name, childRunId: runId, message: newest.content })
      const meter = GroupTally.makeMeter()
      this.current = { entry, meters: [entry.meter, meter] }
      const exit = yield* this.invite(participant, member, turns, runId)
      this.current = undefined
      if (Exit.isFailure(exit)) {
        // A suspended run looks like an interrupted one; the speaker continues when it resumes.
        const step = yield* Step.Step
        return yield* step.isSuspended() ? Effect.interrupt : this.failed(entry, exit.cause)
      }
      const reply = exit.value
      if (reply._tag === "Silence" || reply.text.trim() === "") return yield* this.silent(entry)
      const { answers } = this.turns
      const turn = yield* this.turns.write(
        GroupTurns.answer({
          id: TurnId.make(`${this.request.runId}:turn:${answers + 1}`),
          runId,
          member,
          reply,
          meter,
          round: this.round,
          timestamp: this.clock.unsafeCurrentTimeMillis()
        })
      )
      entry.answers++
      entry.failedInARow = 0
      this.last = turn
      this.quiet = 0
      this.quietNames = new Set()
      this.onlyFailures = true
      yield* this.finished(name, { reply: "answer", round: this.round, turnId: turn.id })
    })
  }

  private progress(): GroupOutcome.Progress {
    return {
      round: this.round,
      isRoundOver: this.left === 0,
      answers: this.turns.answers,
      last: this.last,
      participants: this.entries.map(GroupTally.outcomeOf),
      usage: this.total.usage,
      costUsd: this.total.costUsd,
      isUnpriced: this.total.isUnpriced,
      elapsedMs: this.elapsed()
    }
  }

  /** Whether everybody had a chance to answer since the last answer. */
  private isQuiet(): boolean {
    return this.quiet >= this.entries.length || this.eligible().every((member) => this.quietNames.has(member.name))
  }

  private ended(): { readonly reason: GroupOutcome.Reason; readonly condition?: string } | undefined {
    const condition = this.group.termination?.holds(this.progress())
    if (condition !== undefined) return { reason: "condition", condition }
    if (this.entries.every((entry) => entry.excluded)) return { reason: "excluded" }
    if (this.quiet > 0 && this.isQuiet()) return { reason: this.onlyFailures ? "failure" : "silence" }
    if (this.left === 0 && this.round >= this.group.maxRounds) return { reason: "max-rounds" }
    return undefined
  }

  private converse(): Effect.Effect<ReturnType<GroupRun["ended"]> & object, unknown, any> {
    const { turnManager } = this.group
    return Effect.gen(this, function* () {
      yield* this.turns.write(GroupTurns.question(this.request, this.clock.unsafeCurrentTimeMillis()))
      let state = turnManager.initial(this.group.members)
      this.left = this.entries.length
      for (;;) {
        const members = this.eligible()
        if (this.left === 0) {
          this.round++
          this.left = members.length
        }
        const [selection, next] = yield* turnManager.next(state, {
          members,
          round: this.round,
          answers: this.turns.answers,
          visibleTo: (viewer) => this.turns.visibleTo(viewer)
        })
        state = next
        if (selection._tag === "Nobody") return { reason: "nobody" as const }
        this.left--
        yield* this.ask(selection.name)
        const ended = this.ended()
        if (ended !== undefined) return ended
      }
    })
  }

  /** The timeout also applies to the current speaker. */
  private cutOff(): { readonly reason: "timeout" } {
    if (this.current !== undefined) {
      GroupTally.fail(this.current.entry, this.round, {
        tag: "InterruptedError",
        message: "The time of the group was up before the participant answered"
      })
      this.current = undefined
    }
    return { reason: "timeout" }
  }

  /** The session as it is now. A session that cannot be read does not invalidate the answers. */
  private session() {
    return Effect.catchAll(
      Deadline.run(() => this.turns.session, {
        whole: readTimeout,
        onTimeout: (_phase, limit) => new Cause.TimeoutException(`The session was not read within ${limit} ms`)
      }),
      (error) => Effect.as(this.degraded("session", errorInfo(error)), Option.none())
    )
  }

  program(): Effect.Effect<GroupOutcome.GroupOutcome, unknown, any> {
    const { group, request } = this
    const millis = group.timeout === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(group.timeout)
    const conversation = Number.isFinite(millis)
      ? Effect.catchIf(
          Deadline.run(() => this.converse(), { whole: millis, pausable: true, onTimeout: () => new TimeIsUp() }),
          (error): error is TimeIsUp => error instanceof TimeIsUp,
          () => Effect.sync(() => this.cutOff())
        )
      : this.converse()
    const measured = Watch.measured((elapsed) => {
      this.elapsed = elapsed
      return conversation
    })
    return Effect.provideService(
      Effect.flatMap(measured, (ended) =>
        Effect.map(this.session(), (session) => ({
          group: group.name,
          runId: request.runId,
          sessionId: request.sessionId,
          ...ended,
          rounds: this.slots === 0 ? 0 : this.round,
          turns: this.turns.written,
          ...(this.last === undefined ? {} : { answer: this.last.content }),
          participants: this.entries.map(GroupTally.outcomeOf),
          unknown: this.unknown,
          usage: this.total.usage,
          ...GroupTally.costOf(this.total),
          durationMs: this.clock.unsafeCurrentTimeMillis() - this.startedAt,
          ...(Option.isSome(session) ? { session: session.value } : {})
        }))
      ),
      Run.Run,
      this.run
    )
  }
}

/** A conversation that is about to begin. */
export const make = (
  group: Definition,
  request: Request,
  sessions: SessionManager.Service,
  clock: Clock.Clock,
  outlet: RunSink.RunSink,
  parent: Run.Service
): {
  readonly run: Run.Service
  readonly startedAt: number
  readonly program: Effect.Effect<GroupOutcome.GroupOutcome, unknown, any>
} => {
  const groupRun = new GroupRun(group, request, sessions, clock, outlet, parent)
  return {
    run: groupRun.run,
    startedAt: groupRun.startedAt,
    program: SystemAccess.drop(Effect.suspend(() => groupRun.program()))
  }
}

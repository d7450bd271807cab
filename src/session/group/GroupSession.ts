/**
 * A conversation of several participants in one session. The turn manager chooses the next speaker, and the isolation
 * decides which turns each participant sees.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { AgentEvent, FinishReason } from "../../domain/AgentEvent.js"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as ReaderTimeout from "../../domain/ReaderTimeout.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Attribution from "../../governance/store/Attribution.js"
import { count } from "../../internal/Count.js"
import * as EventSink from "../../internal/fiber/EventSink.js"
import type * as ModelRouter from "../../llm/ModelRouter.js"
import * as Run from "../../observability/Run.js"
import * as RunLog from "../../observability/RunLog.js"
import * as RunSink from "../../observability/RunSink.js"
import * as Step from "../../observability/Step.js"
import * as SessionManager from "../manager/SessionManager.js"
import type { SessionConfig } from "../SessionConfig.js"
import * as GroupChecks from "./GroupChecks.js"
import type { GroupConfigurationError } from "./GroupError.js"
import * as GroupOutcome from "./GroupOutcome.js"
import type * as GroupParticipant from "./GroupParticipant.js"
import * as GroupRun from "./GroupRun.js"
import type { GroupTermination } from "./GroupTermination.js"
import type * as GroupTurns from "./GroupTurns.js"
import * as ModelTurnManager from "./ModelTurnManager.js"
import * as PriorityTurnManager from "./PriorityTurnManager.js"
import * as RoleIsolation from "./RoleIsolation.js"
import * as RoundRobinTurnManager from "./RoundRobinTurnManager.js"
import type * as TurnManager from "./TurnManager.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/session/GroupSession")

/**
 * A group. An immutable value that may run in any number of sessions at once; `E` are the failures of its turn manager,
 * `R` the requirements of the turn manager and the participants.
 *
 * @since 0.1.0
 * @category models
 */
export interface GroupSession<out E = never, out R = never> {
  readonly [TypeId]: { readonly _E: () => E; readonly _R: () => R }
  readonly name: string
  readonly members: ReadonlyArray<GroupParticipant.Member>
  readonly definition: GroupRun.Definition
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<P extends ReadonlyArray<GroupParticipant.Any>, E = never, R = never> {
  /** In this order. Names are unique. */
  readonly participants: P
  /** The name of the group in events and outcomes; default `group`. */
  readonly name?: string | undefined
  /** Default `RoundRobinTurnManager`. */
  readonly turnManager?: TurnManager.Any<E, R> | undefined
  /** Default: the visibility in the metadata of turns. */
  readonly isolation?: RoleIsolation.RoleIsolation | undefined
  /** Ends the group before its limits; default never. */
  readonly termination?: GroupTermination | undefined
  /** Full cycles of all participants, not single turns; default 10. */
  readonly maxRounds?: number | undefined
  /** Default 10. */
  readonly maxAgentsPerGroup?: number | undefined
  /** The timeout of one participant without its own; default 60 seconds. */
  readonly participantTimeout?: Duration.DurationInput | undefined
  /**
   * The timeout of the whole group. It interrupts the current speaker and keeps the turns that were written. Default
   * none.
   */
  readonly timeout?: Duration.DurationInput | undefined
  /** After this many failures in a row, a participant is no longer asked in this run; default 3. */
  readonly maxFailures?: number | undefined
  /** How many of the newest turns of the session the group reads before visibility is applied; default 50. */
  readonly window?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  readonly userId?: UserId | undefined
  /** The tenant whose quotas apply to the runs of the agents; default that of the surrounding run, then the user. */
  readonly tenantId?: string | undefined
  /** The data classifications of the message, for policies; added to those of the surrounding run. */
  readonly classifications?: ReadonlyArray<string> | undefined
  /** The id of the run. Turn ids derive from it, so a repeated run writes each turn once. Default: a new one. */
  readonly runId?: string | undefined
  /** Names and roles that see the message; default everybody. */
  readonly visibleTo?: ReadonlyArray<string> | undefined
  /** Names and roles that do not. */
  readonly hiddenFrom?: ReadonlyArray<string> | undefined
  /** Stored with the turn of the message. */
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

/**
 * The failures of a run besides those of its turn manager: turns could not be written or read, or an id is invalid.
 *
 * @since 0.1.0
 * @category models
 */
export type Failure = GroupTurns.Failure | GroupConfigurationError

/**
 * Makes a group from its participants. Invalid options fail here, not when the group runs.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Ids } from "effect-lexigram"
 * import { GroupParticipant, GroupSession, GroupTermination } from "effect-lexigram/session"
 *
 * const writer = GroupParticipant.make("writer", { respond: () => Effect.succeed("A draft.") })
 * const critic = GroupParticipant.make("critic", { respond: () => Effect.succeed("APPROVED") })
 *
 * const program = Effect.gen(function* () {
 *   const desk = yield* GroupSession.make({
 *     participants: [writer, critic],
 *     termination: GroupTermination.saidExactly("APPROVED", { by: "critic" })
 *   })
 *   return yield* GroupSession.run(desk, Ids.SessionId.make("s1"), "Write a headline")
 * })
 * ```
 */
export const make = <const P extends ReadonlyArray<GroupParticipant.Any>, E = never, R = never>(
  options: Options<P, E, R>
): Either.Either<GroupSession<E, R | GroupParticipant.ServicesOf<P[number]>>, GroupConfigurationError> => {
  const { participants } = options
  const name = options.name ?? "group"
  const turnManager: TurnManager.Any = options.turnManager ?? RoundRobinTurnManager.make()
  const members = participants.map(({ description, name, role }) => ({ name, role, description }))
  const problem = GroupChecks.problemOf(name, members, turnManager, count(options.maxAgentsPerGroup, 10, 1))
  if (problem !== undefined) return Either.left(problem)
  return Either.right({
    [TypeId]: { _E: () => undefined as never, _R: () => undefined as never },
    name,
    members,
    definition: {
      name,
      participants,
      members,
      turnManager,
      isolation: options.isolation ?? RoleIsolation.standard,
      termination: options.termination,
      maxRounds: count(options.maxRounds, 10, 1),
      maxFailures: count(options.maxFailures, 3, 1),
      window: count(options.window, 50, 1),
      participantTimeout: options.participantTimeout ?? "60 seconds",
      timeout: options.timeout
    }
  })
}

const turnManagerOf = (
  strategy: SessionConfig["defaultTurnStrategy"],
  priorities: { readonly [name: string]: number } | undefined
): TurnManager.Any<never, ModelRouter.ModelRouter> => {
  switch (strategy) {
    case "round_robin":
      return RoundRobinTurnManager.make()
    case "priority":
      return PriorityTurnManager.make({ priorities })
    case "llm_directed":
      return ModelTurnManager.make()
  }
}

/**
 * Makes a group whose `maxAgentsPerGroup` and turn manager default to those of the configuration. `priorities` apply to
 * the strategy `priority`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromConfig = <const P extends ReadonlyArray<GroupParticipant.Any>, E = never, R = never>(
  config: Pick<SessionConfig, "maxAgentsPerGroup" | "defaultTurnStrategy">,
  options: Options<P, E, R> & { readonly priorities?: { readonly [name: string]: number } | undefined }
): Either.Either<
  GroupSession<E, R | ModelRouter.ModelRouter | GroupParticipant.ServicesOf<P[number]>>,
  GroupConfigurationError
> =>
  make<P, E, R | ModelRouter.ModelRouter>({
    ...options,
    maxAgentsPerGroup: options.maxAgentsPerGroup ?? config.maxAgentsPerGroup,
    turnManager: options.turnManager ?? turnManagerOf(config.defaultTurnStrategy, options.priorities)
  })

const finishReason = ({ reason }: GroupOutcome.GroupOutcome): FinishReason =>
  reason === "condition" ? "stop-condition" : reason === "max-rounds" || reason === "timeout" ? "limit" : "completed"

const noLog: RunLog.Service = { enabled: false, append: () => Effect.void, read: () => Effect.succeed([]) }

/** The part that `run` and `stream` share: a run over an outlet. */
const execute = <E, R>(
  group: GroupSession<E, R>,
  sessionId: SessionId,
  message: string,
  options: RunOptions,
  reader: EventSink.EventSink<AgentEvent, any> | undefined
): Effect.Effect<GroupOutcome.GroupOutcome, E | Failure, R | SessionManager.SessionManager> =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const parent = yield* Run.Run
    const step = yield* Step.Step
    const clock = yield* Clock.clockWith(Effect.succeed)
    const log = Option.getOrElse(yield* Effect.serviceOption(RunLog.RunLog), () => noLog)
    const runId = yield* GroupChecks.runIdOf(group.name, options.runId)
    const attribution = yield* GroupChecks.attributionOf(group.name, options)
    const outlet = RunSink.make({ reader, log, parent })
    const held = yield* SystemAccess.held
    const { userId } = options
    const metadata = { ...options.metadata, ...RoleIsolation.toMetadata(options) }
    const { program, run, startedAt } = GroupRun.make(
      group.definition,
      { runId, sessionId, userId, message, metadata, held },
      sessions,
      clock,
      outlet,
      parent
    )
    const end = (exit: Exit.Exit<GroupOutcome.GroupOutcome, unknown>) => {
      if (step.isSuspended()) return
      const durationMs = clock.unsafeCurrentTimeMillis() - startedAt
      run.terminal(
        Exit.isSuccess(exit)
          ? { _tag: "Finished", reason: finishReason(exit.value), sessionId, durationMs }
          : {
              _tag: "Error",
              interrupted: Cause.isInterruptedOnly(exit.cause),
              error: GroupOutcome.failureOf(exit.cause)
            }
      )
    }
    const conversation = Effect.uninterruptibleMask((restore) => {
      const wait = run.unsafeEmit({
        _tag: "Started",
        input: message,
        strategy: `group:${group.definition.turnManager.name}`,
        sessionId,
        ...(userId !== undefined ? { userId } : SystemAccess.isGrant(held) ? { system: true as const } : {})
      })
      const attended = reader === undefined ? program : reader.attended(program)
      const said = Effect.tap(attended, (outcome) =>
        run.emit({ _tag: "Message", text: outcome.answer ?? "", output: outcome })
      )
      return Effect.onExit(restore(wait === undefined ? said : Effect.zipRight(wait, said)), (exit) =>
        Effect.sync(() => end(exit))
      )
    })
    return yield* Effect.provideService(outlet.logged(conversation), Attribution.Attribution, attribution)
  }).pipe(
    Effect.withSpan("GroupSession.run", {
      attributes: { "group.name": group.name, "group.participants": group.members.length, "session.id": sessionId },
      captureStackTrace: false
    })
  ) as Effect.Effect<GroupOutcome.GroupOutcome, E | Failure, R | SessionManager.SessionManager>

/**
 * Runs a conversation about a message. The message and each answer become turns of the session, with `agent`, `role`
 * and `round` in their metadata. A session that is missing or takes no turns fails the run, and so does a turn that
 * cannot be written. Participants that fail, time out or stay silent do not; the outcome reports them. Turns that
 * others write into the session in the meantime are visible from the next answer on.
 *
 * The runs of the agents are children of this run. Interrupting it stops the current speaker, and a `RunLog` in context
 * records the events of all of them.
 *
 * @since 0.1.0
 * @category execution
 */
export const run = <E, R>(
  group: GroupSession<E, R>,
  sessionId: SessionId,
  message: string,
  options: RunOptions = {}
): Effect.Effect<GroupOutcome.GroupOutcome, E | Failure, R | SessionManager.SessionManager> =>
  execute(group, sessionId, message, options, undefined)

const source = { capacity: 64, patience: ReaderTimeout.current }

/**
 * As `run`, as a stream of the events of all participants, each with the name of its `agent`. The group's own events
 * are `Started`; for each participant `StepStarted`, `Delegated`, and `NodeFinished` with its reply; `Degraded` where a
 * participant failed; `Message` with the last answer, and the outcome as its `output`; and one terminal event, always
 * last. A reader slower than `ReaderTimeout` stops the group.
 *
 * @since 0.1.0
 * @category execution
 */
export const stream = <E, R>(
  group: GroupSession<E, R>,
  sessionId: SessionId,
  message: string,
  options: RunOptions = {}
): Stream.Stream<AgentEvent, E | Failure | ReaderTimeout.ReaderTimeoutError, R | SessionManager.SessionManager> =>
  EventSink.stream<AgentEvent, E | Failure | ReaderTimeout.ReaderTimeoutError, R | SessionManager.SessionManager>(
    source,
    (reader) => execute(group, sessionId, message, options, reader)
  )

/**
 * The client of sessions that are entities.
 *
 * @private
 * @since 0.1.0
 */
import type { Sharding } from "@effect/cluster/Sharding"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as RunErrors from "../../agent/record/RunError.js"
import * as RunPolicy from "../../agent/record/RunPolicy.js"
import type * as RunStore from "../../agent/record/RunStore.js"
import * as RunRefusal from "../../agent/runs/RunRefusal.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { RunId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as AgentWorkflow from "../../durable/AgentWorkflow.js"
import { count } from "../../internal/Count.js"
import type { Failure, MessageRequest, Service, SessionRequest } from "./AgentEntity.js"
import * as AgentEntityError from "./AgentEntityError.js"
import * as SessionAddress from "./SessionAddress.js"
import * as SessionCalls from "./SessionCalls.js"
import { Message, RunEntity, SessionEntity } from "./SessionProtocol.js"

/**
 * @category models
 */
export interface Options {
  readonly runs: Runs.Service
  readonly store: RunStore.Service
  /** Milliseconds. */
  readonly patience: number
}

interface Prepared {
  readonly message: Message
  readonly runId: RunId
  readonly access: Runs.Access
}

const decodeMessage = Schema.validateEither(Message)
const decodeSession = Schema.validateEither(SessionAddress.Session)

const ids = "Ids have 1 to 256 characters, those of sessions, users and tenants no control characters"

const sessionOf = (request: SessionRequest) => {
  const { sessionId, tenantId, userId } = request
  return Either.mapLeft(decodeSession({ sessionId, tenantId, userId }), () =>
    AgentEntityError.invalid("The session id, user id or tenant id is not valid", ids)
  )
}

const prepare = (request: MessageRequest): Effect.Effect<Prepared, AgentEntityError.AgentEntityError> =>
  Effect.gen(function* () {
    const { policy } = request
    if (policy !== undefined) {
      yield* Either.mapLeft(RunPolicy.fromUnknown(policy), (issues) =>
        AgentEntityError.invalid(
          `The policy of the message is not valid: ${issues}`,
          "Make it with `RunPolicy.make`: plain data, amounts from 0, times above 0"
        )
      )
    }
    const messageId = request.messageId ?? (yield* IdGenerator.generate)
    const message = yield* Either.mapLeft(decodeMessage({ ...request, messageId }), ({ message }) =>
      AgentEntityError.invalid("The message is not valid", `${ids}. ${message.slice(0, 500)}`)
    )
    return {
      message,
      runId: SessionAddress.runIdOf(message, messageId),
      access: { userId: message.userId }
    }
  })

/** How often a reader looks whether the run of its message has begun. */
const lookEvery = "100 millis"

/**
 * Asks sessions and their runs. Callers act for their user only, never for the system.
 *
 * @category constructors
 */
export const make = (sharding: Sharding["Type"], { patience, runs, store }: Options): Effect.Effect<Service> =>
  Effect.gen(function* () {
    const sessions = yield* sharding.makeClient(SessionEntity)
    const runsAt = yield* sharding.makeClient(RunEntity)

    const delivered = ({ message }: Prepared): Effect.Effect<void, Failure> =>
      IdGenerator.generate.pipe(
        Effect.flatMap((call) => sessions(SessionAddress.entityIdOf(message)).send({ call, message })),
        SessionCalls.kept,
        Effect.asVoid
      )

    const status: Service["status"] = (request) =>
      Effect.flatMap(sessionOf(request), (session) =>
        SessionCalls.within(sessions(SessionAddress.entityIdOf(session)).status(session), patience)
      )

    const current = (request: SessionRequest): Effect.Effect<RunId, Failure> =>
      Effect.flatMap(status(request), ({ run }) =>
        run === undefined
          ? RunRefusal.notRunning("", "No run of the session goes on", "Send the session a message")
          : Effect.succeed(run.runId)
      )

    /** The events from the process of the run, and after a break from the next one. */
    const follow = ({ message, runId }: Prepared, from: number): Stream.Stream<AgentEvent, Failure> => {
      let next = from
      let isBroken = false
      const { userId } = message
      const attempt: Stream.Stream<AgentEvent, Failure> = Stream.unwrap(
        Effect.map(AgentWorkflow.executionOf(runId), (executionId) => {
          isBroken = false
          return Stream.catchAllCause(
            Stream.tap(runsAt(executionId).events({ runId, userId, from: next }), (event) =>
              Effect.sync(() => {
                next = Math.max(next, event.seq + 1)
              })
            ),
            (cause): Stream.Stream<AgentEvent, Failure> => {
              const failure = SessionCalls.failureOf(cause)
              if (failure !== undefined && failure._tag !== "RunMoved") return Stream.fail(failure)
              isBroken = true
              return Stream.empty
            }
          )
        })
      )
      const again = Schedule.whileOutput(Schedule.spaced(lookEvery), () => isBroken)
      return Stream.repeat(attempt, again)
    }

    const begun = ({ access, message, runId }: Prepared): Effect.Effect<void, RunErrors.RunError> =>
      Effect.flatMap(store.get(runId, access), (found) =>
        Option.isSome(found) ? Effect.void : Effect.zipRight(Effect.sleep(lookEvery), begun({ access, message, runId }))
      )

    return {
      send: (request) =>
        Effect.flatMap(prepare(request), (prepared) =>
          Effect.zipRight(delivered(prepared), runs.await(prepared.runId, prepared.access))
        ).pipe(SystemAccess.drop),
      stream: (request, options) =>
        Stream.unwrapScoped(
          Effect.gen(function* () {
            const prepared = yield* prepare(request)
            const sending = yield* Effect.forkScoped(delivered(prepared))
            yield* Effect.raceFirst(begun(prepared), Fiber.join(sending))
            // A refusal, of another message with the id of a known one, ends the stream.
            return Stream.merge(follow(prepared, count(options?.from, 0, 0)), Stream.execute(Fiber.join(sending)), {
              haltStrategy: "left"
            })
          })
        ),
      status,
      steer: (request, message) =>
        Effect.flatMap(current(request), (runId) =>
          SystemAccess.drop(runs.steer(runId, message, { userId: request.userId }))
        ),
      interrupt: (request) =>
        Effect.flatMap(current(request), (runId) =>
          SystemAccess.drop(runs.interrupt(runId, { userId: request.userId }))
        )
    }
  })

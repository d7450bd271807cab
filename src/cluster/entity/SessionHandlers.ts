/**
 * A session in its process: answers one message after another, in the order in which they came.
 *
 * @private
 * @since 0.1.0
 */
import type { EntityAddress } from "@effect/cluster/EntityAddress"
import type { Sharding } from "@effect/cluster/Sharding"
import { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunError } from "../../agent/record/RunError.js"
import type * as RunStore from "../../agent/record/RunStore.js"
import * as RunAdmission from "../../agent/runs/RunAdmission.js"
import type * as Runs from "../../agent/runs/Runs.js"
import { errorInfo } from "../../domain/ErrorInfo.js"
import type { RunId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Permits from "../../internal/fiber/Permits.js"
import type { Status } from "./AgentEntity.js"
import * as AgentEntityError from "./AgentEntityError.js"
import * as SessionAddress from "./SessionAddress.js"
import type * as SessionFence from "./SessionFence.js"
import type { Handled, Message } from "./SessionProtocol.js"

/**
 * @category models
 */
export interface Parts {
  readonly runs: Runs.Service
  readonly store: RunStore.Service
  readonly fence: SessionFence.Service
  readonly sharding: Sharding["Type"]
  /** How many messages wait for their turn before another one is refused. */
  readonly maxWaiting: number
}

/**
 * @category models
 */
export interface SessionHandlers {
  readonly send: (message: Message) => Effect.Effect<Handled, AgentEntityError.AgentEntityError | RunError>
  readonly status: (
    session: SessionAddress.Session
  ) => Effect.Effect<Status, AgentEntityError.AgentEntityError | RunError>
}

const ended: Handled = { _tag: "Ended" }
const moved: Handled = { _tag: "Moved" }

/** How often a handler looks whether its process still has the shard. */
const lookEvery = "50 millis"

/** How long a message waits for the run of another one before it looks again. */
const askAgain = "1 second"

/**
 * Completes when the process gives the shard away.
 *
 * @category combinators
 */
export const leaving = (sharding: Sharding["Type"], { shardId }: EntityAddress): Effect.Effect<void> =>
  Effect.asVoid(Effect.repeat(Effect.sleep(lookEvery), { until: () => !sharding.hasShardId(shardId) }))

const stored = <A, E>(
  effect: Effect.Effect<A, E | SqlError>
): Effect.Effect<A, E | AgentEntityError.AgentEntityError> =>
  Effect.mapError(effect, (error) => (error instanceof SqlError ? AgentEntityError.storage(error) : error))

const requestOf = ({ messageId: _, ...message }: Message, runId: RunId): Runs.StartRequest => ({ ...message, runId })

/** Handlers of one session. They keep nothing that is not in the database but the order of the messages. */
class Handlers implements SessionHandlers {
  private readonly line = Permits.line(1)

  constructor(
    private readonly parts: Parts,
    private readonly address: EntityAddress
  ) {}

  /** Ids in a request count only at the address that they make. */
  private check(session: SessionAddress.Session): Effect.Effect<void, AgentEntityError.AgentEntityError> {
    return SessionAddress.entityIdOf(session) === this.address.entityId
      ? Effect.void
      : AgentEntityError.invalid(
          "The session, user and tenant of the request are not those of the address",
          "Send requests by the `AgentEntity` service"
        )
  }

  /** Waits until a run has ended, however it did. Nothing of it is left if its owner was erased meanwhile. */
  private over(runId: RunId, { userId }: Message): Effect.Effect<void> {
    return Effect.ignore(this.parts.runs.await(runId, { userId }))
  }

  /** Starts the run of a message that is recorded. */
  private start(request: Runs.StartRequest): Effect.Effect<void, RunError> {
    const { runs, store } = this.parts
    return Effect.catchAll(Effect.asVoid(runs.start(request)), (error) => {
      // The entity begins again and reads the message again.
      if (error.reason === "storage") return Effect.die(error)
      const failed = Effect.flatMap(Clock.currentTimeMillis, (at) =>
        store.update(request.runId as string, { from: ["queued"], to: "failed", at, error: errorInfo(error) })
      )
      return Effect.zipRight(error.reason === "conflict" ? Effect.void : Effect.orDie(failed), Effect.fail(error))
    })
  }

  /** Records the run of a message once no other run of the session goes on; false if the session has moved. */
  private begin(message: Message, request: Runs.StartRequest) {
    const { fence, store } = this.parts
    const place = {
      shard: this.address.shardId.toString(),
      session: message,
      runId: request.runId as RunId
    }
    return Effect.gen(this, function* () {
      const { fingerprint, record } = yield* RunAdmission.admit(request, undefined)
      for (;;) {
        const begun = yield* stored(fence.begin(place, store.insert(record, fingerprint)))
        if (begun._tag === "Lost") return false
        if (begun._tag === "Begun") return true
        yield* Effect.raceFirst(this.over(begun.runId, message), Effect.sleep(askAgain))
      }
    })
  }

  private work(message: Message, turn: Permits.Permit, place: number) {
    const runId = SessionAddress.runIdOf(message, message.messageId)
    const request = requestOf(message, runId)
    return Effect.gen(this, function* () {
      if (Option.isSome(yield* this.parts.store.get(runId, { userId: message.userId }))) {
        // It had its turn before, in this process or in another one. The fence keeps the others waiting.
        turn.release()
      } else {
        if (place > this.parts.maxWaiting) return yield* AgentEntityError.full()
        yield* turn.wait()
        if (!(yield* this.begin(message, request))) return moved
      }
      yield* this.start(request)
      yield* this.over(runId, message)
      return ended
    })
  }

  readonly send: SessionHandlers["send"] = (message) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(this.check(message), () => {
        // The place in the line is that of the request.
        const turn = this.line.ask()
        const gone = Effect.as(leaving(this.parts.sharding, this.address), moved)
        return Effect.ensuring(
          restore(Effect.raceFirst(this.work(message, turn, this.line.waiting()), gone)),
          Effect.sync(() => turn.release())
        )
      })
    ).pipe(SystemAccess.drop)

  readonly status: SessionHandlers["status"] = (session) =>
    Effect.zipRight(
      this.check(session),
      Effect.map(stored<ReadonlyArray<SessionFence.Open>, never>(this.parts.fence.open(session)), (open) => {
        const run = open.find(({ state }) => state !== "queued") ?? open[0]
        return { ...(run === undefined ? {} : { run }), waiting: this.line.waiting() }
      })
    )
}

/**
 * @category constructors
 */
export const make = (parts: Parts, address: EntityAddress): SessionHandlers => new Handlers(parts, address)

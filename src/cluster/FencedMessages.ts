/**
 * The messages of the cluster, with answers that only the process keeps that has the shard of the message.
 *
 * @private
 * @since 0.1.0
 */
import { PersistenceError } from "@effect/cluster/ClusterError"
import type { EntityAddress } from "@effect/cluster/EntityAddress"
import * as Message from "@effect/cluster/Message"
import type * as MessageStorage from "@effect/cluster/MessageStorage"
import type * as Reply from "@effect/cluster/Reply"
import * as Workflow from "@effect/workflow/Workflow"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Attempt } from "./ClusterAttempts.js"
import type { ClusterStore } from "./ClusterStore.js"
import { type Handled, sendTag, sessionType } from "./entity/SessionProtocol.js"

/**
 * @category models
 */
export interface Options {
  readonly store: ClusterStore
  readonly attempt: (executionId: string) => Attempt | undefined
  /** An answer was not kept: the process lost the shard. */
  readonly onDropped: Effect.Effect<void>
  /** Has the messages of an address read once more, after this one has been answered. */
  readonly again: (address: EntityAddress) => Effect.Effect<void>
}

type Incoming = Message.IncomingRequest<any>

const isSuspension = ({ reply }: Reply.ReplyWithContext<any>): boolean =>
  reply._tag === "WithExit" &&
  Exit.isSuccess(reply.exit) &&
  Workflow.isResult(reply.exit.value) &&
  reply.exit.value._tag === "Suspended"

/** Whether a session gives its message to the next process. */
const isMove = ({ reply }: Reply.ReplyWithContext<any>): boolean =>
  reply._tag === "WithExit" && Exit.isSuccess(reply.exit) && (reply.exit.value as Handled)._tag === "Moved"

/** Whether a run sleeps; it does not if it was woken meanwhile, or if the attempt was stopped. */
const sleeps = (store: ClusterStore, attempt: Attempt | undefined) =>
  attempt === undefined || attempt.isStopped
    ? Effect.succeed(false)
    : store.suspend(attempt.claimed, attempt.wake, 1, undefined)

const fenced = ({ again, attempt, onDropped, store }: Options, message: Incoming): Incoming["respond"] => {
  const { address, tag } = message.envelope
  const isRun = tag === "run" && address.entityType.startsWith("Workflow/")
  const isOfSession = tag === sendTag && address.entityType === sessionType
  return (reply) =>
    store
      .transaction(
        Effect.gen(function* () {
          if (!(yield* store.holds(address.shardId.toString()))) return yield* onDropped
          if (isRun && isSuspension(reply)) {
            const run = attempt(address.entityId)
            if (!(yield* sleeps(store, run))) {
              if (run !== undefined) yield* store.release(run.claimed)
              return yield* again(address)
            }
          }
          if (isOfSession && isMove(reply)) return
          yield* message.respond(reply)
          // Its run has what it says: the data of the owner has one place.
          if (isOfSession) yield* store.blank(message.envelope.requestId)
        })
      )
      .pipe(Effect.catchTag("SqlError", (cause) => Effect.fail(new PersistenceError({ cause }))))
}

/**
 * Wraps what is read from the storage: the requests that it reads keep their answers by themselves.
 *
 * @category constructors
 */
export const make = (
  storage: MessageStorage.MessageStorage["Type"],
  options: Options
): MessageStorage.MessageStorage["Type"] => {
  const wrap = (messages: Array<Message.Incoming<any>>): Array<Message.Incoming<any>> =>
    messages.map((message) =>
      message._tag === "IncomingRequest"
        ? new Message.IncomingRequest({ ...message, respond: fenced(options, message) })
        : message
    )
  return {
    ...storage,
    unprocessedMessages: (shards) => Effect.map(storage.unprocessedMessages(shards), wrap),
    unprocessedMessagesById: (ids) =>
      Effect.map(storage.unprocessedMessagesById(ids), (found) => wrap(found as Array<Message.Incoming<any>>))
  }
}

/**
 * Where a session is in a cluster, and the ids of the runs that answer its messages.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as Sha256 from "../../internal/text/Sha256.js"

/**
 * A session and whose it is. All of it is the address: another user or tenant with the same session id reaches another
 * entity, which finds no session of that user. Without `userId`, only sessions that nobody owns are reached.
 *
 * @category schemas
 */
export const Session = Schema.Struct({
  sessionId: SessionId,
  userId: Schema.optional(UserId),
  /** The tenant whose quotas apply; default the user. */
  tenantId: Schema.optional(UserId)
}).annotations({ identifier: "effect-lexigram/cluster/Session" })
/**
 * @category models
 */
export interface Session extends Schema.Schema.Type<typeof Session> {}

/** A digest of texts. JSON keeps them apart, whatever characters they have. */
const digestOf = (texts: ReadonlyArray<string | null>): string => Sha256.hex(JSON.stringify(texts))

/**
 * The id of the entity. Ids come from outside, so it is a digest of all three: no session id is taken for a part of
 * another address.
 *
 * @category getters
 */
export const entityIdOf = ({ sessionId, tenantId, userId }: Session): string =>
  digestOf(["session", tenantId ?? null, userId ?? null, sessionId])

/** Begins the ids of runs that answer messages. */
const prefix = "message-"

/**
 * The id of the run that answers a message of a session. The same message is the same run.
 *
 * @category getters
 */
export const runIdOf = (session: Session, messageId: string): RunId =>
  RunId.make(prefix + digestOf(["message", entityIdOf(session), messageId]))

/**
 * Whether a run answers a message of a session.
 *
 * @category guards
 */
export const isOfMessage = (runId: string): boolean => runId.startsWith(prefix)

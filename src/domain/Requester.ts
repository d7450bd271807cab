/**
 * For whom the current run works.
 *
 * @since 0.1.0
 */
import * as Ambient from "../internal/fiber/Ambient.js"
import type { SessionId, UserId } from "./Ids.js"

/**
 * The user and the session of the current run: what its requests for approval carry, and whose the threads of its
 * graphs are. Nobody unless provided.
 *
 * @since 0.1.0
 * @category tags
 */
export class Requester extends Ambient.Reference<Requester>()("effect-lexigram/domain/Requester", {
  defaultValue: (): { readonly userId?: UserId | undefined; readonly sessionId?: SessionId | undefined } => ({})
}) {}

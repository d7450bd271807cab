/**
 * The user and session that the current run works for.
 *
 * @since 0.1.0
 */
import * as Ambient from "../internal/fiber/Ambient.js"
import type { SessionId, UserId } from "./Ids.js"

/**
 * The user and the session of the current run. Approval requests carry them, and they own the threads of its graphs.
 * Default: nobody.
 *
 * @since 0.1.0
 * @category tags
 */
export class Requester extends Ambient.Reference<Requester>()("effect-lexigram/domain/Requester", {
  defaultValue: (): { readonly userId?: UserId | undefined; readonly sessionId?: SessionId | undefined } => ({})
}) {}

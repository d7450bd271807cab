/**
 * The person for whom a run works, as a participant of a group.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { GroupParticipant } from "../session/group/GroupParticipant.js"
import * as HumanParticipant from "../session/group/HumanParticipant.js"
import { authorOf } from "../session/group/RoleIsolation.js"
import * as Elicitation from "../tool/Elicitation.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Pick<HumanParticipant.Options, "role" | "description"> {
  /** How long a question waits before no answer counts as silence; default: as long as the inbox says. */
  readonly expiresAfter?: Duration.DurationInput | undefined
}

const Reply = Schema.Struct({ answer: Schema.String })

/**
 * For a group that runs in the handler of a tool: the newest turn is a question in the inbox of approvals
 * (`Elicitation`), and the answer is the turn. A durable run sleeps until it is there, where the tool is `idempotent`:
 * the answer may come weeks later, and from any process (`Runs.answer`). Declining is silence.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { AgentParticipant, PersonParticipant } from "effect-lexigram/agent"
 * import { GroupSession } from "effect-lexigram/session"
 *
 * const writer = Agent.make("writer", { system: "You write headlines." })
 *
 * // To be run in the handler of a tool (`GroupSession.run`).
 * const desk = GroupSession.make({
 *   participants: [AgentParticipant.make(writer), PersonParticipant.make("editor", { expiresAfter: "3 days" })],
 *   maxRounds: 3
 * })
 * ```
 */
export const make = (
  name: string,
  { expiresAfter, ...options }: Options = {}
): GroupParticipant<Elicitation.ElicitationError> =>
  HumanParticipant.make(name, {
    ...options,
    timeout: Duration.infinity,
    ask: ({ message }) =>
      Effect.map(
        Elicitation.ask({ message: `${authorOf(message).name}: ${message.content}`, schema: Reply, expiresAfter }),
        (answer) => (answer._tag === "accept" ? answer.content.answer : undefined)
      )
  })

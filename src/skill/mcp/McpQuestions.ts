/**
 * Questions of servers to the person for whom a tool call runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Run from "../../observability/Run.js"
import * as ToolProgress from "../../tool/ToolProgress.js"
import type { CallOptions, Elicited, Question } from "./McpClient.js"
import * as McpText from "./McpText.js"

const elicitation = OnDemand.make(() => import("../../tool/Elicitation.js"))

/** The most characters of a text in a form. */
const maxText = 1_000

/** A server's text and form are data: hidden characters are shown, and what is no form is not asked. */
const answer = ({ message, schema }: Question): Effect.Effect<Elicited> =>
  Effect.flatMap(elicitation, ({ askJsonSchema }) =>
    askJsonSchema({ message: McpText.visible(message), schema: McpText.visibleSchema(schema as never, maxText) })
  ).pipe(
    Effect.map(
      (answer): Elicited =>
        answer._tag === "accept" ? { action: "accept", content: answer.content } : { action: answer._tag }
    ),
    Effect.catchAll((error) =>
      Effect.as(
        Effect.annotateLogs(Effect.logWarning("The question of an MCP server was not asked"), {
          module: "McpQuestions",
          reason: error.reason
        }),
        { action: "cancel" as const }
      )
    )
  )

/** Answers for the tool call that the fiber serves; none where nobody can be asked. */
export const current: Effect.Effect<CallOptions["elicit"]> = Effect.zipWith(
  ToolProgress.CurrentCall,
  Run.Run,
  (call, run) => (call?.gate.elicit === undefined || !Run.isCurrent(run) ? undefined : { asker: run.rootRunId, answer })
)

/**
 * The health of the collaborators of an executor.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { RunId } from "../domain/Ids.js"
import * as ModelRouter from "../llm/ModelRouter.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import * as Health from "../observability/Health.js"
import type * as RunLog from "../observability/RunLog.js"
import type { Collaborators } from "./definition/Stage.js"

/** The default model, then each distinct model of a role. */
const models = ({ client, router }: Collaborators): Effect.Effect<ReadonlyArray<Health.Check>> =>
  Effect.map(
    Effect.forEach(ModelRouter.roles, (role) => Effect.map(router.resolve(role), ({ client }) => ({ role, client }))),
    (routed) => {
      const clients = new Map<LlmClient.Service, string>([[client, "llm"]])
      for (const { client, role } of routed) if (!clients.has(client)) clients.set(client, `llm: ${role}`)
      return Array.from(clients, ([{ health }, name]) => ({ name, check: health }))
    }
  )

/** The other collaborators that runs wait for. A run continues without its memory and its log. */
const parts = ({ governance, memory, sessions }: Collaborators, log: RunLog.Service): ReadonlyArray<Health.Check> => [
  { name: "memory", check: memory.health, optional: true },
  { name: "sessions", check: sessions.health },
  ...(governance.enabled === false
    ? []
    : [{ name: "governance", check: Effect.asVoid(governance.checkBudget({ cost: 0 })) }]),
  ...(log.enabled ? [{ name: "runLog", check: Effect.asVoid(log.read(unlogged, { limit: 1 })), optional: true }] : [])
]

/** No run has this id, so reading it from the log is cheap. */
const unlogged = RunId.make("health")

/** The report of all of them. */
export const report = (collaborators: Collaborators, log: RunLog.Service): Effect.Effect<Health.Report> =>
  Effect.flatMap(models(collaborators), (clients) => Health.sum([...clients, ...parts(collaborators, log)]))

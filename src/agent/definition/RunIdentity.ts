/**
 * Identifies a run for governance and hooks, and the files that it can show.
 *
 * @private
 * @since 0.1.0
 */
import type { File, ResolvedFile } from "../../content/Content.js"
import type * as Governance from "../../governance/Governance.js"
import type * as AgentHooks from "../../observability/AgentHooks.js"
import type { State } from "./Stage.js"

/** The governance of a run: its agent's own, else the executor's. */
export const governanceOf = (state: State): Governance.Service =>
  state.agent.definition.governance ?? state.uses.governance

/** The fields of the run in governance requests. */
export const requester = (state: State) => ({
  runId: state.run.runId,
  rootRunId: state.budgetRunId,
  agent: state.agent.name,
  ...(state.userId === undefined ? {} : { userId: state.userId }),
  ...(state.tenantId === undefined ? {} : { tenantId: state.tenantId })
})

/** The fields of the run in hook payloads. */
export const infoOf = (state: State): AgentHooks.RunInfo => ({
  agentName: state.agent.name,
  runId: state.run.runId,
  parentRunId: state.run.parentRunId,
  sessionId: state.notes.session?.id ?? state.sessionId,
  userId: state.userId
})

/**
 * Whether somebody owns what the run remembers: its user, or its session.
 *
 * @category predicates
 */
export const hasOwner = ({ sessionId, userId }: Pick<State, "sessionId" | "userId">): boolean =>
  sessionId !== undefined || userId !== undefined

/** As `Content.isResolved`, whose module a run without files does not need. */
export const isResolved = (file: File): file is ResolvedFile =>
  file.data instanceof Uint8Array || file.data instanceof URL

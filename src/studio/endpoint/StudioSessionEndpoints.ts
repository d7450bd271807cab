/**
 * The handlers of sessions: for the caller's own ones.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type { SessionId } from "../../domain/Ids.js"
import { ApiError } from "../../http/api/ApiError.js"
import { accessOf, Caller } from "../../http/api/Authentication.js"
import * as Refusals from "../../http/api/Refusals.js"
import * as SessionModels from "../../http/api/SessionModels.js"
import * as BranchManager from "../../session/branch/BranchManager.js"
import * as MergeDecisions from "../../session/branch/MergeDecisions.js"
import type * as MergeStrategy from "../../session/branch/MergeStrategy.js"
import * as SessionManager from "../../session/manager/SessionManager.js"
import type { Session, SessionTurn } from "../../session/turn/Session.js"
import type * as StateDiff from "../../session/turn/StateDiff.js"
import * as SecretParams from "../../tool/definition/SecretParams.js"
import { StudioApi } from "../api/StudioApi.js"
import type { MergeConflict, WholeDiff, WholeSession, WholeTurn } from "../api/StudioSessionApi.js"
import * as ShownValue from "./ShownValue.js"

/** The names of the secret arguments of a tool. */
type SecretsOf = (tool: string) => ReadonlyArray<string> | undefined

const secretsOf = (agents: ReadonlyArray<Agent.Any>): SecretsOf => {
  const names = new Map<string, Set<string>>()
  for (const { definition } of agents) {
    for (const tool of definition.tools.tools) {
      const known = names.get(tool.name) ?? new Set()
      for (const name of SecretParams.namesOf(tool) ?? []) known.add(name)
      names.set(tool.name, known)
    }
  }
  return (tool) => {
    const found = names.get(tool)
    return found === undefined || found.size === 0 ? undefined : Array.from(found)
  }
}

const fromTurn =
  (secrets: SecretsOf, room: ShownValue.Room) =>
  (turn: SessionTurn): WholeTurn => {
    const { content, files, metadata, model, origin, provider, runId, toolCalls, unanswered } = turn
    return {
      id: turn.id,
      sessionId: turn.sessionId,
      role: turn.role,
      content: room.text(content),
      ...(files === undefined ? {} : { files }),
      timestamp: turn.timestamp,
      toolCalls: toolCalls.map(({ id, isFailure, name, params, result }) => ({
        id,
        name,
        params: room.value(params, secrets(name)),
        ...(result === undefined ? {} : { result: room.value(result) }),
        ...(isFailure === undefined ? {} : { isFailure })
      })),
      metadata: ShownValue.attributes(metadata),
      tokensUsed: turn.tokensUsed,
      cost: turn.cost,
      ...(model === undefined ? {} : { model }),
      ...(provider === undefined ? {} : { provider }),
      ...(runId === undefined ? {} : { runId }),
      ...(unanswered === undefined ? {} : { unanswered }),
      depth: turn.depth,
      ...(origin === undefined ? {} : { origin: { sessionId: origin.sessionId, turnId: origin.turnId } })
    }
  }

/** Turns of a response that has no pages. */
const MOST_TURNS = 200

const fromTurns = (turns: ReadonlyArray<SessionTurn>, secrets: SecretsOf): ReadonlyArray<WholeTurn> =>
  turns.map(fromTurn(secrets, new ShownValue.Room()))

const fromSession = (session: Session): WholeSession => {
  const { activeSkills, activeTools, systemPrompt, totalCost } = session
  return {
    ...SessionModels.fromSession(session),
    ...(systemPrompt === undefined ? {} : { systemPrompt: ShownValue.text(systemPrompt) }),
    activeTools,
    activeSkills,
    totalCost
  }
}

const fromKeys = ({ removed, set }: StateDiff.KeysChange): StateDiff.KeysChange => ({
  set: set.map(({ key, value }) => ({ key, value: ShownValue.attributes({ [key]: value })[key] })),
  removed
})

const fromPrompt = ({ from, to }: NonNullable<StateDiff.StateDiff["systemPrompt"]>) => ({
  ...(from === undefined ? {} : { from: ShownValue.text(from) }),
  ...(to === undefined ? {} : { to: ShownValue.text(to) })
})

const fromChanges = ({
  activeSkills,
  activeTools,
  metadata,
  systemPrompt,
  variables
}: MergeDecisions.Preview["changes"]) => ({
  ...(systemPrompt === undefined ? {} : { systemPrompt: fromPrompt(systemPrompt) }),
  ...(variables === undefined ? {} : { variables: fromKeys(variables) }),
  ...(metadata === undefined ? {} : { metadata: fromKeys(metadata) }),
  ...(activeTools === undefined ? {} : { activeTools }),
  ...(activeSkills === undefined ? {} : { activeSkills })
})

const fromDiff = (diff: StateDiff.StateDiff, secrets: SecretsOf): WholeDiff => ({
  ...fromChanges(diff),
  ...(diff.turns === undefined
    ? {}
    : {
        turns: {
          removedCount: diff.turns.removed.length,
          added: fromTurns(diff.turns.added.slice(0, MOST_TURNS), secrets),
          addedCount: diff.turns.added.length
        }
      }),
  ...(diff.status === undefined ? {} : { status: diff.status })
})

const fromVersion = (key: string, value: Option.Option<unknown>) =>
  Option.match(value, {
    onNone: () => ({}),
    onSome: (value) => ({ value: ShownValue.attributes({ [key]: value })[key] })
  })

const fromConflict = ({ base, field, key, ours, theirs }: MergeStrategy.Conflict): MergeConflict => ({
  path: MergeDecisions.pathOf({ field, key }),
  field,
  key,
  base: fromVersion(key, base),
  ours: fromVersion(key, ours),
  theirs: fromVersion(key, theirs)
})

const unknown = new ApiError({ reason: "unknown", message: "No session of yours has this id" })

const access = Effect.map(Caller, accessOf)

const HOW = "add `Sessions.layer()` to its layers"

/**
 * @category layers
 */
export const layer = (agents: ReadonlyArray<Agent.Any>) =>
  HttpApiBuilder.group(StudioApi, "sessions", (handlers) =>
    Effect.gen(function* () {
      const managers = Refusals.offered(yield* Effect.serviceOption(SessionManager.SessionManager), `sessions: ${HOW}`)
      const branchManagers = Refusals.offered(
        yield* Effect.serviceOption(BranchManager.BranchManager),
        `branches of sessions: ${HOW}`
      )
      const secrets = secretsOf(agents)
      const find = (id: SessionId) =>
        Effect.gen(function* () {
          const sessions = yield* managers
          const found = yield* Refusals.ofSession(sessions.get(id, yield* access))
          return Option.isNone(found) ? yield* unknown : found.value
        })
      return handlers
        .handle("wholeSession", ({ path }) => Effect.map(find(path.sessionId), fromSession))
        .handle("wholeTurns", ({ path, urlParams: { before, limit = 50 } }) =>
          Effect.gen(function* () {
            const sessions = yield* managers
            const own = yield* access
            const turns = yield* Refusals.ofSession(sessions.turns(path.sessionId, { ...own, before, last: limit }))
            const oldest = turns[0]
            return {
              turns: fromTurns(turns, secrets),
              ...(oldest === undefined || oldest.depth === 1
                ? {}
                : { next: { sessionId: oldest.sessionId, turnId: oldest.id } })
            }
          })
        )
        .handle("wholeDiff", ({ path: { checkpointId, to } }) =>
          Effect.gen(function* () {
            const branches = yield* branchManagers
            const diff = yield* Refusals.ofSession(branches.diff(checkpointId, to, yield* access))
            return fromDiff(diff, secrets)
          })
        )
        .handle("previewMerge", ({ path, payload }) =>
          Effect.gen(function* () {
            const branches = yield* branchManagers
            const own = yield* access
            const { changes, conflicts, fingerprint, turns } = yield* Refusals.ofSession(
              MergeDecisions.preview(branches, path.sessionId, payload.from, own)
            )
            return {
              turns: fromTurns(turns.slice(0, MOST_TURNS), secrets),
              turnCount: turns.length,
              changes: fromChanges(changes),
              conflicts: conflicts.map(fromConflict),
              fingerprint
            }
          })
        )
        .handle("decideMerge", ({ path, payload: { decisions, from, seen } }) =>
          Effect.gen(function* () {
            const branches = yield* branchManagers
            const chosen = Object.fromEntries(decisions.map(({ path: place, take }) => [place, take]))
            const merged = yield* Refusals.ofSession(
              branches.merge(path.sessionId, from, {
                ...(yield* access),
                strategy: MergeDecisions.strategy(chosen, { seen })
              })
            )
            return { session: fromSession(merged.session), copied: merged.turns.length }
          })
        )
    })
  )

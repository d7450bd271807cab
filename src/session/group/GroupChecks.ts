/**
 * Checks the options of groups and of their runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId, UserId } from "../../domain/Ids.js"
import * as Attribution from "../../governance/store/Attribution.js"
import { GroupConfigurationError } from "./GroupError.js"
import type * as GroupParticipant from "./GroupParticipant.js"
import type * as TurnManager from "./TurnManager.js"
import { quote } from "./TurnNames.js"

/** Roles of turns that no participant wrote. */
const reserved: ReadonlySet<string> = new Set(["user", "assistant", "system", "tool"])

/**
 * What is invalid about a group, if anything.
 *
 * @category errors
 */
export const problemOf = (
  name: string,
  members: ReadonlyArray<GroupParticipant.Member>,
  turnManager: TurnManager.Any,
  maxAgents: number
): GroupConfigurationError | undefined => {
  const error = (reason: GroupConfigurationError["reason"], message: string, hint: string) =>
    new GroupConfigurationError({ groupName: name, reason, message, hint })
  if (members.length === 0) {
    return error("no-participants", `The group ${quote(name)} has no participants`, "Give at least one")
  }
  if (members.length > maxAgents) {
    return error(
      "too-many-participants",
      `The group ${quote(name)} has ${members.length} participants, and ${maxAgents} are allowed`,
      "Raise `maxAgentsPerGroup`, or make several groups"
    )
  }
  const seen = new Set<string>()
  for (const member of members) {
    if (member.name.trim() === "" || reserved.has(member.name)) {
      return error(
        "invalid-name",
        `${quote(member.name)} is not a valid name of a participant`,
        "Choose another name; user, assistant, system and tool are reserved"
      )
    }
    if (seen.has(member.name)) {
      return error(
        "duplicate-participant",
        `Two participants are named ${quote(member.name)}`,
        "Give each its own name: `AgentParticipant.make(agent, { name })`"
      )
    }
    seen.add(member.name)
  }
  const wrong = turnManager.problem?.(members)
  return wrong === undefined
    ? undefined
    : error(
        "turn-manager",
        `The turn manager ${quote(turnManager.name)} does not fit the group: ${wrong}`,
        "Name participants of the group"
      )
}

const decodeRunId = Schema.decodeUnknownEither(RunId)

/** Turn ids contain it. */
const longestRunId = 200

/**
 * The id of a run, checked; by default a new one.
 *
 * @category constructors
 */
export const runIdOf = (group: string, given: string | undefined): Effect.Effect<RunId, GroupConfigurationError> =>
  given === undefined
    ? Effect.map(IdGenerator.generate, (id) => RunId.make(id))
    : Either.filterOrLeft(
        Either.mapLeft(decodeRunId(given), () => undefined),
        (id) => id.length <= longestRunId,
        () => undefined
      ).pipe(
        Either.mapLeft(
          () =>
            new GroupConfigurationError({
              groupName: group,
              reason: "run-id",
              message: "The id of the run is not valid",
              hint: `It has 1 to ${longestRunId} characters and no control characters`
            })
        )
      )

const decodeTenantId = Schema.decodeUnknownEither(UserId)

/**
 * The tenant and the data classifications of the runs of a group.
 *
 * @category constructors
 */
export const attributionOf = (
  group: string,
  {
    classifications,
    tenantId
  }: { readonly classifications?: ReadonlyArray<string> | undefined; readonly tenantId?: string | undefined }
): Effect.Effect<Attribution.Service, GroupConfigurationError> =>
  tenantId !== undefined && Either.isLeft(decodeTenantId(tenantId))
    ? Effect.fail(
        new GroupConfigurationError({
          groupName: group,
          reason: "tenant-id",
          message: "The id of the tenant is not valid",
          hint: "It has 1 to 256 characters and no control characters"
        })
      )
    : Effect.map(Attribution.Attribution, (outer) => Attribution.inside(outer, { classifications, tenantId }))

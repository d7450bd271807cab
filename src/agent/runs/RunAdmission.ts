/**
 * Checks a request before its run is recorded, and makes the record.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as Nearest from "../../internal/text/Nearest.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import type * as Agent from "../definition/AgentDefinition.js"
import { RunError } from "../record/RunError.js"
import * as RunPolicy from "../record/RunPolicy.js"
import { areLabels, askedOf, type ForkedFrom, type RunRecord } from "../record/RunRecord.js"
import type { StartRequest } from "./Runs.js"

const validateSettings = ParseResult.validateEither(ModelSettings.ModelSettings, { errors: "all" })

const clientTools = OnDemand.make(() => import("../ClientTools.js"))
const requestedAgent = OnDemand.make(() => import("../RequestedAgent.js"))

const isRunId = Schema.is(RunId)

/**
 * The id as a run can have it; `undefined` for other texts.
 *
 * @category conversions
 */
export const runIdOf = (id: string): RunId | undefined => (isRunId(id) ? id : undefined)

const Ids = Schema.Struct({
  runId: Schema.optional(RunId),
  userId: Schema.optional(UserId),
  tenantId: Schema.optional(UserId),
  sessionId: Schema.optional(SessionId)
})
const decodeIds = Schema.decodeUnknownEither(Ids)

const invalid = (message: string, hint: string): RunError => new RunError({ reason: "invalid", message, hint })

const strangeRequest = invalid("The request is no plain data", "Pass texts, numbers, lists and records, without cycles")

/**
 * @category errors
 */
export const tooLarge = (bytes: number, most: number): RunError =>
  invalid(
    `The request of the run has ${bytes} bytes, and a run takes at most ${most}`,
    "Give files by their URLs, less history, or raise `payloads.most` of the runs"
  )

/**
 * @category errors
 */
export const unknownAgent = (name: string, known: ReadonlyArray<string>): RunError => {
  const shown = String(name).slice(0, 128)
  const nearest = Nearest.nearest(String(name), known)
  const some = known
    .slice(0, 20)
    .map((one) => `"${one}"`)
    .join(", ")
  return new RunError({
    reason: "unknown-agent",
    message: `No agent has the name "${shown}"`,
    hint: nearest !== undefined ? `Did you mean "${nearest}"?` : some === "" ? "No agents are given" : `Agents: ${some}`
  })
}

/** A digest of what makes two requests the same: everything but the id. */
const fingerprintOf = (
  { runId: _, ...request }: StartRequest,
  more: { readonly system: boolean; readonly forkedFrom?: ForkedFrom }
): Effect.Effect<string, RunError> =>
  Effect.try({
    try: () => CanonicalJson.hash({ ...request, labels: request.labels ?? {}, ...more }),
    catch: () => strangeRequest
  })

type Requested = Pick<StartRequest, "clientTools" | "output" | "toolChoice">

const isRequested = ({ output, toolChoice }: Requested): boolean => output !== undefined || toolChoice !== undefined

/**
 * The agent as a request asks it to answer.
 *
 * @category conversions
 */
export const requestedOf = (agent: Agent.Any, request: Requested): Effect.Effect<Agent.Any> =>
  isRequested(request) ? Effect.map(requestedAgent, ({ apply }) => apply(agent, request)) : Effect.succeed(agent)

/**
 * @category models
 */
export interface Admitted {
  readonly record: RunRecord
  readonly fingerprint: string
}

/**
 * The record of a request, in the state `queued`. Without an id it gets a new one.
 *
 * @category constructors
 */
export const admit = (
  request: StartRequest,
  version: string | undefined,
  forkedFrom?: ForkedFrom | undefined,
  agent?: Agent.Any | undefined
): Effect.Effect<Admitted, RunError> =>
  Effect.gen(function* () {
    const ids = decodeIds(request)
    if (Either.isLeft(ids)) {
      return yield* invalid(
        "The run id, user id, tenant id or session id is not valid",
        "Ids have 1 to 256 characters and no control characters"
      )
    }
    const { runId, sessionId, tenantId, userId } = ids.right
    const labels = request.labels ?? {}
    if (!areLabels(labels)) {
      return yield* invalid(
        "The labels of the run are not valid",
        "Give at most 16 labels, with names of 1 to 64 characters and texts of at most 256"
      )
    }
    if (request.settings !== undefined) {
      const settings = validateSettings(request.settings)
      if (Either.isLeft(settings)) {
        const fields = ParseResult.ArrayFormatter.formatIssueSync(settings.left).map(({ path }) =>
          path.map(String).join(".")
        )
        return yield* invalid(
          `The model settings of the run are not valid: ${Array.from(new Set(fields)).slice(0, 10).join(", ")}`,
          "Temperatures are from 0 to 2, `topP` from 0 to 1, and `maxTokens` is a whole number above 0"
        )
      }
    }
    if (request.policy !== undefined) {
      const policy = RunPolicy.fromUnknown(request.policy)
      if (Either.isLeft(policy)) {
        return yield* invalid(
          `The policy of the run is not valid: ${policy.left}`,
          "Make it with `RunPolicy.make`: plain data, amounts from 0, times above 0"
        )
      }
    }
    if (request.clientTools !== undefined) {
      const problem = (yield* clientTools).problemOf(agent, request.clientTools)
      if (problem !== undefined) {
        return yield* invalid(
          problem,
          "Give at most 128 tools with names that the agent does not use, and the JSON Schema of their parameters"
        )
      }
    }
    if (isRequested(request)) {
      const problem = (yield* requestedAgent).problemOf(agent, request)
      if (problem !== undefined) return yield* invalid(problem.message, problem.hint)
    }
    const system = userId === undefined && (yield* SystemAccess.isGranted)
    const createdAt = yield* Clock.currentTimeMillis
    const asked = askedOf(request)
    return {
      fingerprint: yield* fingerprintOf(request, { system, ...(forkedFrom === undefined ? {} : { forkedFrom }) }),
      record: {
        runId: runId ?? RunId.make(yield* IdGenerator.generate),
        agent: request.agent,
        ...(version === undefined ? {} : { version }),
        ...(userId === undefined ? {} : { userId }),
        ...(system ? { system } : {}),
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(tenantId === undefined ? {} : { tenantId }),
        state: "queued",
        labels: { ...labels },
        ...(asked === undefined ? {} : { asked }),
        createdAt,
        updatedAt: createdAt,
        ...(forkedFrom === undefined ? {} : { forkedFrom })
      }
    }
  })

/**
 * Calls one tool in a run of its own: the stages of the agent are around the call, and no model is asked.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import * as Agent from "../../agent/definition/AgentDefinition.js"
import { type ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as PublicView from "../../domain/PublicView.js"
import { ApiError } from "../../http/api/ApiError.js"
import type { Identity } from "../../http/api/Authentication.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as Strategy from "../../strategy/definition/Strategy.js"
import type * as Tool from "../../tool/definition/Tool.js"
import { build } from "../../tool/definition/ToolContract.js"
import { ToolApprovalDeniedError } from "../../tool/definition/ToolError.js"
import * as ToolSet from "../../tool/definition/ToolSet.js"
import * as ToolRunner from "../../tool/ToolRunner.js"
import type { Trial } from "../api/StudioToolApi.js"
import * as ShownValue from "./ShownValue.js"

/**
 * A call to try.
 *
 * @category models
 */
export interface Call {
  readonly agent: Agent.Any
  readonly tool: Tool.Any
  readonly params: unknown
  readonly caller: Identity
  /** Whether the caller allows what needs approval. */
  readonly confirm: boolean
  /** Then the call is interrupted. */
  readonly within: Duration.DurationInput
}

/** What the call notes of itself. */
interface Notes {
  outcome: ToolRunner.Outcome | undefined
  /** It needs approval, and the caller gave none. */
  isHeld: boolean
}

/** The tool without its approver: either the caller approves, or the handler does not begin. */
const decided = (tool: Tool.Any, confirm: boolean, notes: Notes): Tool.Any =>
  build({
    ...tool,
    erased: {
      ...tool.erased,
      requiresApproval: () => false,
      handle: (params, call) => {
        if (confirm || !tool.erased.requiresApproval(params)) return tool.erased.handle(params, call)
        notes.isHeld = true
        return new ToolApprovalDeniedError({ toolName: tool.name, message: "The call needs approval" })
      },
      isRetryable: (error) => !notes.isHeld && tool.erased.isRetryable(error)
    }
  })

/** Calls the tool, and answers nothing. */
const calling = (tool: string, id: string, params: unknown, notes: Notes) =>
  Strategy.make("trial", ({ input, limits, tools }) =>
    Effect.gen(function* () {
      const runner = yield* ToolRunner.ToolRunner
      notes.outcome = yield* runner.run(
        tools,
        { id, name: tool, params },
        {
          step: 1,
          timeout: limits.toolTimeout,
          maxAttempts: limits.toolMaxAttempts,
          maxResultChars: limits.observationMaxChars
        }
      )
      const answer: Strategy.Answer = {
        text: "",
        reason: "completed",
        messages: [{ role: "user", content: input }]
      }
      return answer
    })
  )

const crashed = (cause: Cause.Cause<unknown>): ErrorInfo => {
  const defect = Option.getOrUndefined(Cause.dieOption(cause))
  const said = defect instanceof Error ? defect.message : "the call was interrupted"
  return {
    tag: "Defect",
    message: SecretText.redact(said.slice(0, 2000)),
    hint: "The tool threw instead of failing, or needs a service that the server does not have"
  }
}

const errorOf = (cause: Cause.Cause<unknown>): ErrorInfo => {
  const failure = Cause.failureOption(cause)
  if (Option.isNone(failure)) return crashed(cause)
  return errorInfo(failure.value instanceof ToolRunner.Fatality ? failure.value.error : failure.value)
}

const held = (tool: string): ApiError =>
  new ApiError({
    reason: "conflict",
    message: `A call of ${JSON.stringify(tool)} with these arguments needs approval`,
    hint: "Send `confirm: true` to allow it"
  })

const isEnd = (error: unknown): error is Cause.TimeoutException => Cause.isTimeoutException(error)

/**
 * Fails with a conflict if the call needs approval and has none. Every other end is a trial.
 *
 * @category combinators
 */
export const run = (
  executor: AgentExecutor.Service,
  services: Context.Context<never>,
  { agent, caller, confirm, params, tool, within }: Call
): Effect.Effect<Trial, ApiError> =>
  Effect.gen(function* () {
    const notes: Notes = { outcome: undefined, isHeld: false }
    const runId = yield* IdGenerator.generate
    const id = yield* IdGenerator.generate
    const trial: Agent.Any = Agent.change(agent, {
      tools: ToolSet.make(decided(tool, confirm, notes)),
      strategy: calling(tool.name, id, params, notes),
      output: undefined,
      // Nothing is recalled or kept.
      memory: WorkingMemory.noop,
      skills: [],
      control: Agent.noControl
    })
    const { tenantId, userId } = caller
    const startedAt = yield* Clock.currentTimeMillis
    const running = executor.run(trial, {
      input: `Trial of the tool ${tool.name}`,
      runId,
      ...(userId === undefined ? {} : { userId }),
      ...(tenantId === undefined ? {} : { tenantId })
    }) as Effect.Effect<unknown, unknown>
    const exit = yield* Effect.exit(Effect.timeout(Effect.provide(running, services), within))
    const durationMs = (yield* Clock.currentTimeMillis) - startedAt
    if (notes.isHeld) return yield* held(tool.name)
    const { outcome } = notes
    const failed = Exit.isFailure(exit)
    const about = { tool: tool.name, agent: agent.name, runId, durationMs }
    if (outcome === undefined || failed) {
      const cause = failed ? exit.cause : Cause.empty
      const late = Option.exists(Cause.failureOption(cause), isEnd)
      const error: ErrorInfo = late
        ? {
            tag: "TimeoutException",
            message: "The call did not end in time, and was interrupted",
            hint: "A tool that asks a person waits for an answer in the inbox"
          }
        : PublicView.fromError(errorOf(cause), { developer: true })
      return {
        ...about,
        succeeded: false,
        result: null,
        observation: "",
        truncated: false,
        attempts: outcome?.attempts ?? 0,
        error
      }
    }
    return {
      ...about,
      succeeded: !outcome.isFailure,
      result: ShownValue.value(outcome.result),
      observation: ShownValue.text(outcome.observation),
      truncated: outcome.truncated,
      attempts: outcome.attempts,
      ...(outcome.error === undefined ? {} : { error: PublicView.fromError(outcome.error, { developer: true }) })
    }
  })

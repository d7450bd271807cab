/**
 * The steps of a tool call before its handler runs: decodes the arguments and asks for approval.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as IdGenerator from "../domain/IdGenerator.js"
import * as Run from "../observability/Run.js"
import * as ApprovalGate from "./approval/ApprovalGate.js"
import type { Issue } from "./definition/JsonSchemaText.js"
import * as SecretParams from "./definition/SecretParams.js"
import type * as Tool from "./definition/Tool.js"
import * as ToolArguments from "./definition/ToolArguments.js"
import { ToolApprovalDeniedError, ToolValidationError } from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"
import type { ToolCall } from "./ToolRunner.js"

const invalid = (tool: Tool.Any, issues: ReadonlyArray<Issue>): ToolValidationError =>
  new ToolValidationError({
    toolName: tool.name,
    field: issues[0]?.path,
    issues: issues.slice(0, 20),
    message: `The arguments of "${tool.name}" are not valid: ${issues
      .slice(0, 20)
      .map((issue) => (issue.path === "" ? issue.message : `${issue.path}: ${issue.message}`))
      .join("; ")
      .slice(0, 2000)}`,
    hint: "Correct the arguments and call the tool again"
  })

/** Decodes arguments. Those that do not fit are tried once more without their nulls. */
export const decode = (tools: Bound, tool: Tool.Any, raw: unknown): Effect.Effect<unknown, ToolValidationError> => {
  const args = ToolArguments.normalise(raw, tool.parameters)
  const decoded = tool.erased.decode(args)
  if (Either.isEither(decoded) && Either.isRight(decoded)) return Effect.succeed(decoded.right)
  return Effect.catchAll(tools.provide(decoded), (issues) => {
    const without = ToolArguments.withoutNulls(args, tool.parameters)
    return without === args
      ? invalid(tool, issues)
      : Effect.mapError(tools.provide(tool.erased.decode(without)), (issues) => invalid(tool, issues))
  })
}

/** Asks a person about a call, and says so in the events of the run. */
export const ask = (
  gate: ApprovalGate.Service,
  run: Run.Service,
  tool: Tool.Any,
  call: ToolCall,
  decoded: unknown,
  reason?: string
): Effect.Effect<ApprovalGate.ApprovalDecision> =>
  Effect.gen(function* () {
    const id = yield* IdGenerator.generate
    // Encoded from the decoded arguments: people see the arguments that the handler gets, not the text of the model.
    const params = tool.erased.encodeParams(decoded) ?? ToolArguments.normalise(call.params, tool.parameters)
    const { sessionId, userId } = yield* ApprovalGate.Requester
    const secret = SecretParams.namesOf(tool)
    const asked = ApprovalGate.ask(gate, {
      id,
      runId: run.runId,
      rootRunId: run.rootRunId,
      ...(userId === undefined ? {} : { userId }),
      ...(sessionId === undefined ? {} : { sessionId }),
      agent: run.agent,
      toolCallId: call.id,
      tool: tool.name,
      params,
      ...(secret === undefined ? {} : { secret }),
      ...(reason === undefined ? {} : { reason })
    })
    const wait = run.unsafeEmit({
      _tag: "ApprovalRequested",
      id,
      toolCallId: call.id,
      name: tool.name,
      params,
      ...(secret === undefined ? {} : { secret })
    })
    const decision = yield* Run.emitMeanwhile(wait, asked)
    yield* run.emit({
      _tag: "ApprovalResolved",
      id,
      toolCallId: call.id,
      approved: decision._tag === "Approved",
      ...(decision._tag === "Denied" && decision.reason !== undefined ? { reason: decision.reason } : {})
    })
    return decision
  })

const denied = (tool: Tool.Any, reason: string | undefined): ToolApprovalDeniedError =>
  new ToolApprovalDeniedError({
    toolName: tool.name,
    reason,
    message: `"${tool.name}" was not allowed${reason === undefined ? "" : `: ${reason}`}`,
    hint: "Do not call it again with the same arguments; find another way or tell the user"
  })

/** The arguments that the handler gets, and whether somebody was asked. */
export interface Approved {
  readonly params: unknown
  readonly asked: boolean
}

/** Asks for approval where the tool requires it. An approval may replace the arguments. */
export const approve = (
  gate: ApprovalGate.Service,
  run: Run.Service,
  tools: Bound,
  tool: Tool.Any,
  call: ToolCall,
  params: unknown,
  onWaited: (millis: number) => void
): Effect.Effect<Approved, ToolApprovalDeniedError | ToolValidationError> => {
  if (!tool.erased.requiresApproval(params)) return Effect.succeed({ params, asked: false })
  return Effect.clockWith((clock) => {
    const from = clock.unsafeCurrentTimeMillis()
    return Effect.flatMap(
      ask(gate, run, tool, call, params),
      (decision): Effect.Effect<Approved, ToolApprovalDeniedError | ToolValidationError> => {
        onWaited(clock.unsafeCurrentTimeMillis() - from)
        if (decision._tag === "Denied") return denied(tool, decision.reason)
        return decision.params === undefined
          ? Effect.succeed({ params, asked: true })
          : Effect.map(decode(tools, tool, decision.params), (params) => ({ params, asked: true }))
      }
    )
  })
}

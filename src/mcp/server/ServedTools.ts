/**
 * Tools of the library as tools of an MCP server. A call is a run of its own without a model, so that guards,
 * approvals, permissions, limits and the audit log hold as for any other run.
 *
 * @private
 * @since 0.1.0
 */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import * as Agent from "../../agent/definition/Agent.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as PublicView from "../../domain/PublicView.js"
import * as OutputSchema from "../../internal/text/OutputSchema.js"
import * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as Run from "../../observability/Run.js"
import * as Strategy from "../../strategy/definition/Strategy.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type * as Tool from "../../tool/definition/Tool.js"
import { type Outcome, ToolRunner } from "../../tool/ToolRunner.js"
import * as McpPeer from "../offer/McpPeer.js"
import type { ServedCall, ServedTool } from "./ServedCall.js"
import * as ServedContent from "./ServedContent.js"
import * as ServedQuestions from "./ServedQuestions.js"
import * as ServedResults from "./ServedResults.js"

/**
 * @category models
 */
export interface Services {
  readonly executor: AgentExecutor.Service
  readonly runs: Runs.Service
  readonly pending: PendingApprovals.Service
  /** What the handlers of tools require. */
  readonly context: Context.Context<any>
}

/** Results are for programs too: they are cut later than those for models. */
const MOST_CHARACTERS = 1_000_000

/** The strategy that makes the one call, and keeps its end. */
const calling = (tool: Tool.Any, params: unknown, keep: (outcome: Outcome) => void) =>
  Strategy.make(
    "mcp",
    Effect.fnUntraced(function* ({ limits, tools }: Strategy.Task) {
      const run = yield* Run.Run
      const runner = yield* ToolRunner
      yield* run.emit({ _tag: "StepStarted", step: 1 })
      const outcome = yield* runner.run(
        tools,
        { id: yield* IdGenerator.generate, name: tool.name, params },
        {
          step: 1,
          timeout: limits.toolTimeout,
          maxAttempts: limits.toolMaxAttempts,
          maxResultChars: MOST_CHARACTERS
        }
      )
      keep(outcome)
      return { text: outcome.observation, reason: "completed" as const, messages: [] }
    })
  )

/** The result of a call. `text` is that of the run, which guards may have changed. */
const resultOf = (
  outcome: Outcome,
  text: string,
  structure: ServedResults.Structure | undefined,
  runId: string
): CallToolResult => {
  if (outcome.isFailure) return ServedContent.failure(text, runId)
  const isWhole = text === outcome.observation
  const content = ServedContent.toContent(text, isWhole ? outcome.files : [])
  const meta = { _meta: { [ServedContent.RUN_KEY]: runId } }
  if (structure === undefined) return { content, ...meta }
  const structuredContent = isWhole && !outcome.truncated ? structure(outcome.result) : undefined
  return structuredContent === undefined ? { content, isError: true, ...meta } : { content, structuredContent, ...meta }
}

/** Follows the run of a call to its end. */
const follow = (
  events: Stream.Stream<AgentEvent, unknown>,
  call: ServedCall,
  questions: ServedQuestions.ServedQuestions
): Effect.Effect<{ readonly text: string; readonly runId: string }, unknown> => {
  let text = ""
  let runId = ""
  const take = (event: AgentEvent): Effect.Effect<void> => {
    if (event._tag === "Started" && runId === "") runId = event.runId
    if (event._tag === "Message" && event.runId === runId) text = event.text
    const shown = PublicView.fromEvent(event)
    if (shown === undefined) return Effect.void
    return shown._tag === "ToolProgress" ? call.progress(shown.message, shown.done, shown.total) : questions.push(shown)
  }
  return Effect.map(Stream.runForEach(events, take), () => ({ text, runId }))
}

/** The dialect that the protocol assumes where a schema names none. */
const dialect = { $schema: "https://json-schema.org/draft/2020-12/schema" }

const annotationsOf = ({ idempotent, readOnly }: Tool.Annotations): Record<string, boolean> => ({
  ...(readOnly === undefined ? {} : { readOnlyHint: readOnly }),
  ...(idempotent === undefined ? {} : { idempotentHint: idempotent })
})

/**
 * @category constructors
 */
export const make = (
  server: string,
  name: string,
  tool: Tool.Any,
  { context, executor, pending, runs }: Services
): ServedTool => {
  const { success } = tool.erased
  const output = success === undefined ? undefined : OutputSchema.describe(success)
  const structure = output === undefined ? undefined : ServedResults.make(output)
  return {
    kind: "tool",
    own: tool.name,
    name,
    description: tool.description,
    inputSchema: { ...dialect, ...tool.parameters },
    outputSchema: output,
    annotations: annotationsOf(tool.annotations),
    call: (params, call) => {
      let outcome: Outcome | undefined
      const agent = Agent.make(server, {
        tools: [tool],
        strategy: calling(tool, params, (made) => {
          outcome = made
        }),
        // What programs do is not part of what a user said.
        memory: WorkingMemory.noop,
        skills: []
      })
      const { approves, caller, peer, policy } = call
      const events = executor.stream(agent, {
        input: `The tool ${tool.name} is called over MCP`,
        ...(caller.userId === undefined ? {} : { userId: caller.userId }),
        ...(caller.tenantId === undefined ? {} : { tenantId: caller.tenantId }),
        ...(policy === undefined ? {} : { policy })
      })
      return ServedQuestions.make({ caller, peer, approves, runs, pending, isKept: false }).pipe(
        Effect.flatMap((questions) => follow(Stream.provideContext(events, context), call, questions)),
        Effect.map(({ runId, text }) =>
          outcome === undefined
            ? ServedContent.failure("The call was not made", runId)
            : resultOf(outcome, text, structure, runId)
        ),
        Effect.catchAll((error) =>
          Effect.succeed(ServedContent.failure(PublicView.fromError(errorInfo(error)).message))
        ),
        Effect.scoped,
        Effect.provideService(McpPeer.McpPeer, peer)
      )
    }
  }
}

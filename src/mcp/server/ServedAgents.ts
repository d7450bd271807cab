/**
 * Agents as tools of an MCP server: each call is a run of `Runs`.
 *
 * @private
 * @since 0.1.0
 */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import type * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Any, aboutOf } from "../../agent/definition/AgentDefinition.js"
import type { RunError } from "../../agent/record/RunError.js"
import * as AskedEvents from "../../agent/runs/AskedEvents.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as PublicView from "../../domain/PublicView.js"
import { McpServerError } from "../offer/McpServerError.js"
import { progressOf, type ServedCall, type ServedTool } from "./ServedCall.js"
import * as ServedContent from "./ServedContent.js"
import * as ServedQuestions from "./ServedQuestions.js"
import * as ServedResults from "./ServedResults.js"
import type { Services } from "./ServedTools.js"

/** The tool by which a client goes on with a run that waited. */
export const CONTINUE = "continue_run"

/** A run that waits for somebody is reported when nothing else came for this long. */
const QUIET = "250 millis"

/** The most characters about an agent. */
const MOST_ABOUT = 1_000

const accessOf = ({ caller: { userId } }: ServedCall) => (userId === undefined ? {} : { userId })

const messages: Partial<Record<RunError["reason"], string>> = {
  "unknown-agent": "This server runs no agent of this name",
  "unknown-run": "No run of yours has this id",
  full: "Too many runs wait. Try again later",
  storage: "The run cannot be read now. Try again later"
}

const fromRunError = (error: RunError, runId?: string): Effect.Effect<CallToolResult> =>
  Effect.succeed(ServedContent.failure(messages[error.reason] ?? error.message, runId))

/** What a run came to so far. */
interface Reached {
  text: string
  output: unknown
  end: { readonly failure: string | undefined } | undefined
}

type Pull = Effect.Effect<Option.Option<Chunk.Chunk<AgentEvent>>, RunError>

/** Takes the events of a run until its end, or until it waits for somebody who cannot be asked. */
const take = (runId: string, call: ServedCall, questions: ServedQuestions.ServedQuestions, pull: Pull) =>
  Effect.gen(function* () {
    const reached: Reached = { text: "", output: undefined, end: undefined }
    for (;;) {
      const next = yield* questions.waitsFor === undefined
        ? pull
        : Effect.map(Effect.timeoutOption(pull, QUIET), Option.flatten)
      if (Option.isNone(next)) return reached
      for (const event of next.value) {
        const shown = PublicView.fromEvent(event)
        if (shown === undefined) continue
        if (shown.runId === runId) keep(reached, shown)
        const told = progressOf(shown)
        if (told !== undefined) yield* call.progress(told)
        yield* questions.push(shown)
      }
    }
  })

const keep = (reached: Reached, event: AgentEvent): void => {
  if (event._tag === "Message") {
    reached.text = event.text
    reached.output = event.output
  }
  if (event._tag === "Finished") reached.end = { failure: undefined }
  if (event._tag === "Error") reached.end = { failure: PublicView.fromError(event.error).message }
}

const resultOf = (
  runId: string,
  { end, output, text }: Reached,
  structure: ServedResults.Structure | undefined,
  waits: ServedQuestions.ServedQuestions["waitsFor"]
): CallToolResult => {
  if (end === undefined) {
    return waits === undefined
      ? ServedContent.failure(`The events of the run ${runId} ended before it did`, runId)
      : ServedContent.failure(
          `The run ${runId} waits for ${waits.text}. This client cannot be asked: decide the request ${waits.id} ` +
            `where this server's approvals are decided, then call ${CONTINUE} with the run.`,
          runId
        )
  }
  if (end.failure !== undefined) return ServedContent.failure(end.failure, runId)
  const meta = { _meta: { [ServedContent.RUN_KEY]: runId } }
  if (structure === undefined) return { content: ServedContent.toContent(text), ...meta }
  const structuredContent = structure(output)
  return structuredContent === undefined
    ? ServedContent.failure("The answer does not have the format of its schema", runId)
    : { content: ServedContent.toContent(JSON.stringify(structuredContent)), structuredContent, ...meta }
}

/** Follows a run. If the client takes its call back, the run is interrupted. */
const follow = (
  runId: string,
  call: ServedCall,
  { pending, runs }: Services,
  structure: ServedResults.Structure | undefined
): Effect.Effect<CallToolResult> => {
  const { approves, caller, peer } = call
  const access = accessOf(call)
  return Effect.gen(function* () {
    const questions = yield* ServedQuestions.make({ caller, peer, approves, runs, pending, isKept: true })
    const pull = yield* AskedEvents.toPull(runs, pending, runId, access)
    const reached = yield* take(runId, call, questions, pull)
    return resultOf(runId, reached, structure, questions.waitsFor)
  }).pipe(
    Effect.scoped,
    Effect.catchAll((error) => fromRunError(error, runId)),
    Effect.onInterrupt(() => (call.isStopping() ? Effect.void : Effect.ignore(runs.interrupt(runId, access))))
  )
}

const INPUT = {
  input: { type: "string", description: "The task or question, with everything the agent needs to know" }
}

const textOf = (args: Readonly<Record<string, unknown>>, name: string): Effect.Effect<string, McpServerError> => {
  const value = Object.hasOwn(args, name) ? args[name] : undefined
  return typeof value === "string" && value.trim() !== ""
    ? Effect.succeed(value)
    : new McpServerError({ reason: "invalid", message: `The argument ${name} is a text that is not empty` })
}

const startOf = (agent: string, input: string, { caller, policy }: ServedCall): Runs.StartRequest => ({
  agent,
  input,
  ...(caller.userId === undefined ? {} : { userId: caller.userId }),
  ...(caller.tenantId === undefined ? {} : { tenantId: caller.tenantId }),
  ...(policy === undefined ? {} : { policy }),
  labels: { protocol: "mcp" }
})

const structureOf = ({ definition: { output } }: Any): ServedResults.Structure | undefined =>
  output === undefined ? undefined : ServedResults.make(output.spec.jsonSchema)

/**
 * @category constructors
 */
export const make = (name: string, agent: Any, services: Services): ServedTool => {
  const { output } = agent.definition
  const structure = structureOf(agent)
  const about = aboutOf(agent.definition, MOST_ABOUT)
  return {
    kind: "agent",
    own: agent.name,
    name,
    title: agent.name,
    description: about === "" ? `Asks the agent ${agent.name}` : about,
    inputSchema: { type: "object", properties: INPUT, required: ["input"], additionalProperties: false },
    outputSchema: output?.spec.jsonSchema,
    call: (args, call) =>
      Effect.flatMap(textOf(args, "input"), (input) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.matchEffect(restore(services.runs.start(startOf(agent.name, input, call))), {
            onFailure: (error) => fromRunError(error),
            onSuccess: ({ runId }) => restore(follow(runId, call, services, structure))
          })
        )
      )
  }
}

/**
 * Goes on with a run of one of the agents that the caller may use.
 *
 * @category constructors
 */
export const makeContinue = (
  name: string,
  agents: ReadonlyArray<Any>,
  isPermitted: (call: ServedCall, agent: string) => boolean,
  services: Services
): ServedTool => {
  const structures = new Map(agents.map((agent) => [agent.name, structureOf(agent)]))
  const unknown = Effect.succeed(ServedContent.failure(messages["unknown-run"] as string))
  return {
    kind: "agent",
    own: CONTINUE,
    name,
    description: "Goes on with a run of an agent that waited for an approval or an answer, and returns its result",
    inputSchema: {
      type: "object",
      properties: { run: { type: "string", description: "The id of the run" } },
      required: ["run"],
      additionalProperties: false
    },
    call: (args, call) =>
      Effect.flatMap(textOf(args, "run"), (runId) =>
        Effect.matchEffect(services.runs.poll(runId, accessOf(call)), {
          onFailure: (error) => fromRunError(error),
          onSuccess: Option.match({
            onNone: () => unknown,
            onSome: ({ record }) =>
              structures.has(record.agent) && isPermitted(call, record.agent)
                ? follow(runId, call, services, structures.get(record.agent))
                : unknown
          })
        })
      )
  }
}

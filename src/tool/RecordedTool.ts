/**
 * A tool call as a step of a run: its outcome is recorded, and one that is not idempotent never runs twice unseen.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ErrorInfo, errorInfo } from "../domain/ErrorInfo.js"
import * as StepFailure from "../observability/journal/StepFailure.js"
import type * as Run from "../observability/Run.js"
import type * as Step from "../observability/Step.js"
import type * as ApprovalGate from "./approval/ApprovalGate.js"
import type * as Tool from "./definition/Tool.js"
import { ToolUnknownOutcomeError } from "./definition/ToolError.js"
import type { Bound } from "./definition/ToolSet.js"
import type * as ToolOutcome from "./ToolOutcome.js"
import * as ToolPreparation from "./ToolPreparation.js"
import type * as ToolProgress from "./ToolProgress.js"
import { Fatality, Outcome, type ToolCall } from "./ToolRunner.js"

/** An outcome with the result of a tool that states a compensation. In a durable run it is encoded. */
export const Kept = Schema.Struct({
  ...Outcome.fields,
  kept: Schema.optional(Schema.Struct({ value: Schema.optional(Schema.Unknown) }))
})
export type Kept = typeof Kept.Type

const EncodedFatality = Schema.Struct({
  toolName: Schema.String,
  encoded: Schema.optional(Schema.Unknown),
  info: ErrorInfo
})

const schemas = new WeakMap<Tool.Any, Schema.Schema<Fatality, any>>()

/** The failure of a call by the failure schema of its tool; without one, by its tag and message. */
const failureOf = (tool: Tool.Any): Schema.Schema<Fatality, any> => {
  const known = schemas.get(tool)
  if (known !== undefined) return known
  const made = Schema.transform(EncodedFatality, Schema.instanceOf(Fatality), {
    strict: true,
    decode: ({ encoded, info, toolName }) =>
      new Fatality({
        toolName,
        encoded,
        error: (encoded === undefined ? undefined : tool.erased.decodeFailure(encoded)) ?? StepFailure.fromInfo(info)
      }),
    encode: (fatality) => ({
      toolName: fatality.toolName,
      ...(fatality.encoded === undefined ? {} : { encoded: fatality.encoded }),
      info: errorInfo(fatality.error)
    })
  })
  schemas.set(tool, made)
  return made
}

/** A call whose handler is about to run. */
export interface Calling {
  readonly recorder: Step.Service
  readonly gate: ApprovalGate.Service
  readonly run: Run.Service
  readonly tools: Bound
  readonly tool: Tool.Any
  readonly call: ToolCall
  readonly params: unknown
  readonly serving: ToolProgress.Serving
  readonly outcome: (end: ToolOutcome.Finished) => Effect.Effect<Kept>
}

const unknownOutcome = ({ serving, tool }: Calling): ToolUnknownOutcomeError =>
  new ToolUnknownOutcomeError({
    toolName: tool.name,
    idempotencyKey: serving.idempotencyKey,
    message: `"${tool.name}" was running when its process died, and nobody knows whether it had its effect`,
    hint: 'Make the tool `idempotent` by its `idempotencyKey`, give it `outcome`, or let people decide (`onUnknown: "ask"`)'
  })

type Lost = Effect.Effect<Option.Option<Kept>, Fatality>

const again: Lost = Effect.succeedNone

const fatal = (calling: Calling): Lost => {
  const error = unknownOutcome(calling)
  return Effect.fail(new Fatality({ error, toolName: calling.tool.name }))
}

/** Asks a person whether to run the call again. */
const asked = (calling: Calling): Lost => {
  const { call, gate, outcome, params, run, tool } = calling
  return Effect.flatMap(
    ToolPreparation.ask(gate, run, tool, call, params, "The process died while this call ran: run it again?"),
    (decision): Lost =>
      decision._tag === "Approved"
        ? again
        : Effect.asSome(outcome({ value: undefined, error: unknownOutcome(calling), attempts: 1 }))
  )
}

const Found = Schema.Struct({ known: Schema.Boolean, outcome: Schema.optional(Kept) })

/** What the probe of the tool finds, recorded. */
const probed = ({ outcome, params, recorder, serving, tool, tools }: Calling) => {
  const probe = tool.erased.outcome
  if (probe === undefined) return Effect.succeed<typeof Found.Type>({ known: false })
  const { id, idempotencyKey } = serving
  const found = Effect.suspend(() => probe(params, { id, idempotencyKey, attempt: 1 }))
  return recorder.run(
    { kind: "outcome", success: Found, error: StepFailure.none },
    Effect.matchEffect(tools.provide(found), {
      onFailure: () => Effect.succeed<typeof Found.Type>({ known: false }),
      onSuccess: (found): Effect.Effect<typeof Found.Type> =>
        Option.isNone(found)
          ? Effect.succeed({ known: true })
          : Effect.map(outcome({ value: found.value, error: undefined, attempts: 1 }), (outcome) => ({
              known: true,
              outcome
            }))
    })
  )
}

/** What comes of a call that began in a process that died. */
const lost = (calling: Calling): Lost =>
  Effect.flatMap(probed(calling), ({ known, outcome }): Lost => {
    if (known) return Effect.succeed(Option.fromNullable(outcome))
    return calling.tool.annotations.onUnknown === "ask" ? asked(calling) : fatal(calling)
  })

/** Runs the call, or takes its recorded outcome. */
export const run = (calling: Calling, live: Effect.Effect<Kept, Fatality>): Effect.Effect<Kept, Fatality> => {
  const { call, params, recorder, tool } = calling
  return recorder.run(
    {
      kind: "tool",
      hash: () => JSON.stringify([tool.name, tool.erased.encodeParams(params) ?? call.params]) ?? "",
      success: Kept,
      error: failureOf(tool),
      ...(tool.annotations.idempotent === true ? {} : { lost: lost(calling) })
    },
    live
  )
}

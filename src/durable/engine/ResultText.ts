/**
 * Texts of payloads and results: encoded by the schemas of their workflow, then as JSON that keeps what JSON lacks.
 *
 * @private
 * @since 0.1.0
 */
import * as Workflow from "@effect/workflow/Workflow"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as ExactJson from "../../persistence/engine/ExactJson.js"
import * as Payloads from "../../persistence/engine/Payloads.js"
import { WorkflowStorageError } from "./WorkflowStorageError.js"

const unreadable = (operation: string, what: string) =>
  new WorkflowStorageError({
    operation,
    reason: "data",
    message: `${what} in the database cannot be read`,
    hint: "See that the schemas still read what they wrote, or erase the execution"
  })

const unwritable = (operation: string, what: string) =>
  new WorkflowStorageError({
    operation,
    reason: "data",
    message: `${what} cannot be written`,
    hint: "Give the workflow, activity or deferred schemas that encode to plain data"
  })

const exits = Schema.Exit({ success: Schema.Unknown, failure: Schema.Unknown, defect: Schema.Defect })
const encodeExits = Schema.encode(exits)
const decodeExits = Schema.decodeUnknown(exits)

const causes = Schema.Cause({ error: Schema.Unknown, defect: Schema.Defect })
const encodeCauses = Schema.encode(causes)
const decodeCauses = Schema.decodeUnknown(causes)

const toText = (value: unknown, operation: string, what: string): Effect.Effect<string> =>
  Effect.orDie(Effect.try({ try: () => ExactJson.encode(value), catch: () => unwritable(operation, what) }))

const fromText = (kept: Payloads.Kept, operation: string, what: string): Effect.Effect<unknown> =>
  Effect.suspend(() => {
    const text = Payloads.unpack(kept)
    const failure = () => unreadable(operation, what)
    return text === undefined
      ? Effect.die(failure())
      : Effect.orDie(Effect.try({ try: () => ExactJson.decode(text), catch: failure }))
  })

/** Values of activities and deferreds are encoded already; only defects are not. */
export const ofExit = (exit: Exit.Exit<unknown, unknown>, operation: string): Effect.Effect<string> =>
  exit._tag === "Success"
    ? toText({ _tag: "Success", value: exit.value }, operation, "A result")
    : encodeExits(exit).pipe(
        Effect.catchAll(() => Effect.die(unwritable(operation, "A failure"))),
        Effect.flatMap((encoded) => toText(encoded, operation, "A failure"))
      )

/**
 * @category conversions
 */
export const toExit = (kept: Payloads.Kept, operation: string): Effect.Effect<Exit.Exit<unknown, unknown>> =>
  Effect.flatMap(fromText(kept, operation, "A result"), (encoded) =>
    Effect.catchAll(decodeExits(encoded), () => Effect.die(unreadable(operation, "A result")))
  )

/**
 * The cause for which an execution failed without a result, or was suspended.
 *
 * @category conversions
 */
export const ofCause = (cause: Cause.Cause<unknown>, operation: string): Effect.Effect<string> =>
  encodeCauses(cause).pipe(
    Effect.catchAll(() => Effect.die(unwritable(operation, "A failure"))),
    Effect.flatMap((encoded) => toText(encoded, operation, "A failure"))
  )

/**
 * @category conversions
 */
export const toCause = (kept: Payloads.Kept, operation: string): Effect.Effect<Cause.Cause<never>> =>
  Effect.flatMap(fromText(kept, operation, "A failure"), (encoded) =>
    Effect.catchAll(decodeCauses(encoded), () => Effect.die(unreadable(operation, "A failure")))
  ) as Effect.Effect<Cause.Cause<never>>

/** The engine gets workflows without the types of their schemas; their services are in the context of its callers. */
const erased = (schema: Schema.Schema.All): Schema.Schema<unknown, unknown> =>
  schema as unknown as Schema.Schema<unknown, unknown>

const exitOf = (workflow: Workflow.Any): Schema.Schema<Exit.Exit<unknown, unknown>, unknown> =>
  Schema.Exit({
    success: erased(workflow.successSchema),
    failure: erased(workflow.errorSchema),
    defect: Schema.Defect
  }) as Schema.Schema<Exit.Exit<unknown, unknown>, unknown>

/** Codecs of a workflow, made once. */
const codecs = new WeakMap<Workflow.Any, ReturnType<typeof makeCodecs>>()

const makeCodecs = (workflow: Workflow.Any) => {
  const payload = erased(workflow.payloadSchema as unknown as Schema.Schema.All)
  const exit = exitOf(workflow)
  return {
    encodePayload: Schema.encode(payload),
    decodePayload: Schema.decodeUnknown(payload),
    encodeExit: Schema.encode(exit),
    decodeExit: Schema.decodeUnknown(exit)
  }
}

const codecsOf = (workflow: Workflow.Any) => {
  let made = codecs.get(workflow)
  if (made === undefined) {
    made = makeCodecs(workflow)
    codecs.set(workflow, made)
  }
  return made
}

/**
 * @category conversions
 */
export const ofPayload = (workflow: Workflow.Any, payload: object): Effect.Effect<string> =>
  codecsOf(workflow)
    .encodePayload(payload)
    .pipe(
      Effect.catchAll(() => Effect.die(unwritable("execute", "The payload"))),
      Effect.flatMap((encoded) => toText(encoded, "execute", "The payload"))
    )

/**
 * @category conversions
 */
export const toPayload = (workflow: Workflow.Any, kept: Payloads.Kept): Effect.Effect<object> =>
  Effect.flatMap(fromText(kept, "start", "The payload"), (encoded) =>
    Effect.catchAll(codecsOf(workflow).decodePayload(encoded), () => Effect.die(unreadable("start", "The payload")))
  ) as Effect.Effect<object>

/**
 * As the schema of its workflow encoded it.
 *
 * @category conversions
 */
export const toEncoded = (kept: Payloads.Kept): Effect.Effect<unknown> => fromText(kept, "payload", "The payload")

/**
 * @category conversions
 */
export const ofResult = (workflow: Workflow.Any, exit: Exit.Exit<unknown, unknown>): Effect.Effect<string> =>
  codecsOf(workflow)
    .encodeExit(exit)
    .pipe(
      Effect.catchAll(() => Effect.die(unwritable("complete", "The result"))),
      Effect.flatMap((encoded) => toText(encoded, "complete", "The result"))
    )

/**
 * @category conversions
 */
export const toResult = (
  workflow: Workflow.Any,
  kept: Payloads.Kept
): Effect.Effect<Workflow.Complete<unknown, unknown>> =>
  Effect.flatMap(fromText(kept, "read", "The result"), (encoded) =>
    Effect.catchAll(codecsOf(workflow).decodeExit(encoded), () => Effect.die(unreadable("read", "The result")))
  ).pipe(Effect.map((exit) => new Workflow.Complete({ exit })))

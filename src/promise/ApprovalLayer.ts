/**
 * The gate of an approver and an elicitor.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SecretText from "../internal/text/SecretText.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import * as QuestionForm from "../tool/approval/QuestionForm.js"
import type { Approver, Decision } from "./PromiseApproval.js"
import type { Elicited, Elicitor } from "./PromiseElicitation.js"

const toDecision = (decision: Decision): ApprovalGate.ApprovalDecision => {
  const { approved, params, reason } = typeof decision === "boolean" ? { approved: decision } : decision
  // From code without types, anything but `true` is a denial.
  return approved === true ? ApprovalGate.approve({ params }) : ApprovalGate.deny({ reason })
}

/** What a function decides. An exception decides as `otherwise` says. */
const called = <A>(
  what: string,
  decide: (signal: AbortSignal) => A | PromiseLike<A>,
  otherwise: ApprovalGate.ApprovalDecision,
  read: (decided: A) => ApprovalGate.ApprovalDecision
): Effect.Effect<ApprovalGate.ApprovalDecision> =>
  Effect.tryPromise(async (signal) => {
    // An interruption that began before this fiber waits would not abort the signal.
    await undefined
    return read(await decide(signal))
  }).pipe(
    Effect.catchAll(({ error }) =>
      Effect.as(
        Effect.annotateLogs(
          Effect.logWarning(`The ${what} failed: ${SecretText.excerpt(String(error), { maxLength: 200 })}`),
          { module: "PromiseApproval" }
        ),
        otherwise
      )
    )
  )

const undecided = ApprovalGate.deny({ reason: "The call could not be decided" })
const unanswered = ApprovalGate.cancel({ reason: "The question could not be answered" })

const toAnswer = (answer: Elicited): ApprovalGate.ApprovalDecision => {
  switch (answer.action) {
    case "accept":
      return ApprovalGate.approve({ params: answer.content ?? {} })
    case "decline":
      return ApprovalGate.deny({ reason: answer.reason })
    default:
      return ApprovalGate.cancel({ reason: answer.reason })
  }
}

/** Calls of a function for one question. */
const maxCalls = 3

const elicitBy =
  (elicit: Elicitor): NonNullable<ApprovalGate.Service["elicit"]> =>
  ({ params: _, question, ...request }, check) => {
    if (question === undefined) return Effect.succeed(unanswered)
    const ask = (issues: QuestionForm.Issues, calls: number): Effect.Effect<ApprovalGate.ApprovalDecision> =>
      Effect.flatMap(
        called("elicitor", (signal) => elicit({ ...request, ...question }, { signal, issues }), unanswered, toAnswer),
        (decision) => {
          if (decision._tag === "Denied") return Effect.succeed(decision)
          return Effect.flatMap(QuestionForm.issuesOf(question, decision.params, check), (found) =>
            found.length === 0
              ? Effect.succeed(decision)
              : calls < maxCalls
                ? ask(found, calls + 1)
                : Effect.succeed(ApprovalGate.cancel({ reason: "No answer fits the question" }))
          )
        }
      )
    return ask([], 1)
  }

/** Functions decide; what none decides is left to the layer below, or denied. */
export const make = (
  { approve, elicit }: { readonly approve?: Approver | undefined; readonly elicit?: Elicitor | undefined },
  below: Layer.Layer<ApprovalGate.ApprovalGate, any, any> = ApprovalGate.layerDeny
): Layer.Layer<ApprovalGate.ApprovalGate, any, any> =>
  Layer.effect(
    ApprovalGate.ApprovalGate,
    Effect.map(ApprovalGate.ApprovalGate, (gate) => ({
      ...gate,
      ...(approve === undefined
        ? {}
        : {
            request: (request: ApprovalGate.ApprovalRequest) =>
              called("approver", (signal) => approve(request, { signal }), undecided, toDecision)
          }),
      ...(elicit === undefined ? {} : { elicit: elicitBy(elicit) })
    }))
  ).pipe(Layer.provide(below))

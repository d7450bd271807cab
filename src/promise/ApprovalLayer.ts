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
import * as ClientTool from "../tool/definition/ClientTool.js"
import type { Approver, Decision } from "./PromiseApproval.js"
import type { ClientCaller, Elicited, Elicitor } from "./PromiseElicitation.js"

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

type Elicit = NonNullable<ApprovalGate.Service["elicit"]>

const elicitBy =
  (elicit: Elicitor): Elicit =>
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

const nobody = ApprovalGate.cancel({ reason: "Nobody can be asked" })

/** Makes the calls of the client, and leaves other questions. */
const callBy =
  (callClient: ClientCaller, other: Elicit | undefined): Elicit =>
  (request, check) => {
    const { question, reason: _, ...call } = request
    if (question?.clientTool !== true) return other?.(request, check) ?? Effect.succeed(nobody)
    const make = async (signal: AbortSignal): Promise<ClientTool.Result> => {
      try {
        return ClientTool.toResult(await callClient(call, { signal }))
      } catch (error) {
        return ClientTool.toResult(error instanceof Error ? error.message : String(error), true)
      }
    }
    return called("client", make, unanswered, (params) => ApprovalGate.approve({ params }))
  }

/** Functions that decide for the program. */
interface Functions {
  readonly approve?: Approver | undefined
  readonly callClient?: ClientCaller | undefined
  readonly elicit?: Elicitor | undefined
}

/** Functions decide; what none decides is left to the layer below, or denied. */
export const make = (
  { approve, callClient, elicit }: Functions,
  below: Layer.Layer<ApprovalGate.ApprovalGate, any, any> = ApprovalGate.layerDeny
): Layer.Layer<ApprovalGate.ApprovalGate, any, any> =>
  Layer.effect(
    ApprovalGate.ApprovalGate,
    Effect.map(ApprovalGate.ApprovalGate, (gate) => {
      const asked = elicit === undefined ? gate.elicit : elicitBy(elicit)
      const answered = callClient === undefined ? asked : callBy(callClient, asked)
      return {
        ...gate,
        ...(approve === undefined
          ? {}
          : {
              request: (request: ApprovalGate.ApprovalRequest) =>
                called("approver", (signal) => approve(request, { signal }), undecided, toDecision)
            }),
        ...(answered === undefined ? {} : { elicit: answered })
      }
    })
  ).pipe(Layer.provide(below))

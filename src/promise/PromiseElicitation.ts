/**
 * Answers questions of tools by a function.
 *
 * @since 0.1.0
 */
import type * as ApprovalGate from "../tool/approval/ApprovalGate.js"

/**
 * In the words of MCP: an answer, a refusal to answer, or none at all.
 *
 * @since 0.1.0
 * @category models
 */
export type Elicited =
  | { readonly action: "accept"; readonly content?: Readonly<Record<string, unknown>> | undefined }
  | { readonly action: "decline" | "cancel"; readonly reason?: string | undefined }

/**
 * A question of a tool: its text and the form of the answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface Elicitation extends ApprovalGate.Question, Omit<ApprovalGate.ApprovalRequest, "question" | "params"> {}

/**
 * A call that the program makes in place of the agent: of a tool of `pageTool`, or of one of `clientTools`. `params`
 * fit the schema of the tool.
 *
 * @since 0.1.0
 * @category models
 */
export interface ClientCall extends Omit<ApprovalGate.ApprovalRequest, "question" | "reason"> {}

/**
 * Makes a call: at once or as a promise, without a time limit. A text is its result as it is, anything else as JSON.
 * The signal is aborted when the run ends before. What the function throws is a failure of the call: the model reads
 * its message.
 *
 * @since 0.1.0
 * @category models
 */
export type ClientCaller = (call: ClientCall, options: { readonly signal: AbortSignal }) => unknown

/**
 * Answers a question: at once or as a promise, without a time limit. The signal is aborted when the run ends before. If
 * an answer does not fit, the function is called again, at most twice, with the `issues` of that answer. An exception
 * cancels the question.
 *
 * @since 0.1.0
 * @category models
 */
export type Elicitor = (
  question: Elicitation,
  options: {
    readonly signal: AbortSignal
    /** Why the answer before did not fit, by field. */
    readonly issues: ReadonlyArray<{ readonly path: string; readonly message: string }>
  }
) => Elicited | PromiseLike<Elicited>

/**
 * Tools that are plain functions.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { StandardSchema } from "../internal/text/StandardSchema.js"
import * as Run from "../observability/Run.js"
import * as PageTool from "../tool/client/PageTool.js"
import { stringify } from "../tool/definition/Observation.js"
import * as Tool from "../tool/definition/Tool.js"
import type * as Elicitation from "../tool/Elicitation.js"
import { CurrentReports, OnlyNumbers, type Progress } from "../tool/ToolProgress.js"
import { ToolQuestions } from "./ToolQuestions.js"

/**
 * The call that a function serves.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolContext {
  /** Aborted when the call runs out of time or the run is interrupted. */
  readonly signal: AbortSignal
  readonly runId: string
  /** The same on every attempt: an idempotency key. */
  readonly toolCallId: string
  /** From 1. */
  readonly attempt: number
  /** Tells how far the call is: a `ToolProgress` event of the run. */
  readonly progress: (progress: Progress) => void
  /**
   * Asks a person and waits for the answer, which no time limit counts: its `_tag` is `accept`, with the decoded
   * `content`, `decline` or `cancel`. Rejects with `ElicitationError` if nobody can be asked (`elicit` of the agent).
   */
  readonly ask: <const P extends Tool.Parameters>(
    question: Elicitation.Options<P>
  ) => Promise<Elicitation.Answer<Tool.ParametersType<P>>>
}

/**
 * A tool of a function, which may wait. Parameters are inferred from their schema: of Zod, ArkType, Valibot or Effect.
 *
 * What the function throws is a failure of the call: the model reads its message and may try something else. It never
 * ends the run.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { tool } from "effect-lexigram/promise"
 * import { z } from "zod"
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "The weather of a city right now",
 *   parameters: z.object({ city: z.string().describe("Name of the city") }),
 *   execute: async ({ city }, { signal }) => (await fetch(`https://example.com/${city}`, { signal })).json()
 * })
 * ```
 */
export const tool = <const P extends Tool.Parameters = {}, A = unknown>(
  options: {
    readonly name: string
    readonly description: string
    readonly parameters?: P | undefined
    /** Replaces the JSON Schema of `parameters`, which models read; draft-07 or 2020-12. */
    readonly parametersJsonSchema?: Readonly<Record<string, unknown>> | undefined
    /** Validates the result; the model reads its output. Default: a text is passed unchanged, anything else as JSON. */
    readonly success?: Schema.Schema<A, any, never> | StandardSchema<A, any> | undefined
    readonly execute: (args: Tool.ParametersType<P>, context: ToolContext) => A | PromiseLike<A>
    /** Whether a call requires approval. A function that throws requires it. */
    readonly requiresApproval?: boolean | ((args: Tool.ParametersType<P>) => boolean) | undefined
    /** Which thrown values are tried again; default: failures of a connection. */
    readonly retryable?: ((error: unknown) => boolean) | undefined
  } & Tool.Annotations
): Tool.Tool<Tool.ParametersType<P>, A, never, never, Cause.UnknownException> => {
  const { execute, name, retryable, ...rest } = options
  return Tool.make<P, A, Cause.UnknownException>(name, {
    ...rest,
    retryable: retryable === undefined ? undefined : ({ error }) => retryable(error),
    handler: (args, { attempt, id }) =>
      Effect.withFiberRuntime((fiber) => {
        const context = fiber.currentContext as Context.Context<any>
        const { runId } = Context.get(context, Run.Run)
        const report = Context.get(context, CurrentReports)
        const onlyNumbers = Context.get(context, OnlyNumbers)
        const progress = (progress: Progress): void => void report(progress, onlyNumbers)
        const questions = new ToolQuestions(fiber)
        const { ask } = questions
        return Effect.tryPromise({
          try: async (signal) => execute(args, { signal, runId, toolCallId: id, attempt, progress, ask }),
          catch: (error) => new Cause.UnknownException(error, error instanceof Error ? error.message : stringify(error))
        }).pipe(Effect.ensuring(questions.close))
      })
  })
}

/**
 * A tool that the program which runs the agent executes (`callClient` of the agent), a page by `useChat`, or whoever
 * follows the run. A call without a result is a failure that the model reads.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { createAgent, pageTool } from "effect-lexigram/promise"
 *
 * const locate = pageTool({ name: "locate", description: "Where the user is" })
 *
 * const guide = createAgent({
 *   name: "guide",
 *   model: { provider: "openai", model: "gpt-4.1-mini" },
 *   tools: [locate],
 *   callClient: ({ tool }) => (tool === "locate" ? "Delft" : Promise.reject(new Error("There is no such tool")))
 * })
 * ```
 */
export const pageTool = <const P extends Tool.Parameters = {}, A = string>({
  name,
  ...options
}: { readonly name: string } & PageTool.Options<P, A>): PageTool.PageTool<P, A> => PageTool.make(name, options)

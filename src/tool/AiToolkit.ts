/**
 * Converts toolkits of `@effect/ai` to tool sets and tool sets to toolkits.
 *
 * @since 0.1.0
 */
import * as AiTool from "@effect/ai/Tool"
import type * as Toolkit from "@effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../domain/IdGenerator.js"
import * as Tool from "./definition/Tool.js"
import { ToolDefinitionError } from "./definition/ToolError.js"
import * as ToolSet from "./definition/ToolSet.js"
import * as ToolRunner from "./ToolRunner.js"

/**
 * Failures that end the run: those of tools whose `failureMode` is `"error"`.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<Tools extends Record<string, AiTool.Any>> = {
  [Name in keyof Tools]: AiTool.HandlerError<Tools[Name]>
}[keyof Tools]

/**
 * What the calls require: the dependencies of the tools, and services that their schemas need.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<Tools extends Record<string, AiTool.Any>> = {
  [Name in keyof Tools]: AiTool.Requirements<Tools[Name]>
}[keyof Tools]

/**
 * Converts a toolkit with its handlers to a set: each tool with its name, description, schemas, handler and
 * `Idempotent` annotation. A failure ends the run if the tool's `failureMode` is `"error"`, as it ends `generateText`;
 * with `"return"` the model reads it.
 *
 * The model is not asked for the `_tag` of a tool made from a tagged request. Provider-executed tools are unusable:
 * they are problems of the set.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as AiTool from "@effect/ai/Tool"
 * import * as Toolkit from "@effect/ai/Toolkit"
 * import { Agent } from "effect-lexigram"
 * import { AiToolkit } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const kit = Toolkit.make(AiTool.make("forecast", { parameters: { city: Schema.String }, success: Schema.String }))
 *
 * const clerk = AiToolkit.fromToolkit(kit).pipe(
 *   Effect.map((tools) => Agent.make("clerk", { tools })),
 *   Effect.provide(kit.toLayer({ forecast: ({ city }) => Effect.succeed(`Sun in ${city}`) }))
 * )
 * ```
 */
export const fromToolkit = <Tools extends Record<string, AiTool.Any>>(
  toolkit: Toolkit.Toolkit<Tools>
): Effect.Effect<ToolSet.ToolSet<ErrorOf<Tools>, ServicesOf<Tools>>, never, AiTool.HandlersFor<Tools>> =>
  Effect.map(
    Effect.context<AiTool.HandlersFor<Tools>>(),
    (context) => ToolSet.make(...Object.values(toolkit.tools).map((tool) => fromAiTool(tool, context))) as never
  )

const fromAiTool = (tool: AiTool.Any, context: Context.Context<any>): Tool.Any => {
  if (AiTool.isProviderDefined(tool)) {
    return Tool.invalid(
      new ToolDefinitionError({
        toolName: tool.name,
        message: `Tool "${tool.name}" is executed by its provider and has no parameters`,
        hint: "Give the agent a tool with a handler instead"
      })
    )
  }
  const { context: captured, handler } = context.unsafeMap.get(tool.id) as AiTool.Handler<string>
  const schema = tool.parametersSchema as unknown as Schema.Schema<any, any, never>
  const made = Tool.make(tool.name, {
    description: AiTool.getDescription(tool as never) ?? tool.name,
    parameters: tool.parametersSchema === AiTool.EmptyParams ? {} : schema,
    success: tool.successSchema as Schema.Schema<any, any, never>,
    failure: tool.failureSchema as Schema.Schema<any, any, never>,
    handler: (params) =>
      Effect.mapInputContext(handler(params), (current: Context.Context<never>) => Context.merge(captured, current)),
    fatal: tool.failureMode === "error",
    idempotent: Context.getOrElse(tool.annotations, AiTool.Idempotent, () => undefined),
    readOnly: Context.getOrElse(tool.annotations, AiTool.Readonly, () => false)
  }) as unknown as Tool.Any
  const tag = requestTag(tool.parametersSchema)
  return tag === undefined ? made : withoutTag(made, tag)
}

/** Parameters given as a tagged request. */
const requestTag = (schema: object): string | undefined => {
  const { _tag: tag, success } = schema as { readonly _tag?: unknown; readonly success?: unknown }
  return typeof tag === "string" && Schema.isSchema(success) ? tag : undefined
}

const withoutTag = (tool: Tool.Any, tag: string): Tool.Any => {
  const { _tag: _, ...properties } = (tool.parameters["properties"] ?? {}) as Record<string, unknown>
  const required = ((tool.parameters["required"] ?? []) as ReadonlyArray<string>).filter((name) => name !== "_tag")
  return Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, {
    parameters: { ...tool.parameters, properties, required },
    erased: {
      ...tool.erased,
      decode: (args: unknown) =>
        tool.erased.decode(typeof args === "object" && !Array.isArray(args) ? { ...args, _tag: tag } : args)
    }
  } satisfies Partial<Tool.Any>)
}

/**
 * A tool for `@effect/ai`: parameters as sent by the model, any result, and the failures that end the run.
 *
 * @since 0.1.0
 * @category models
 */
export interface AnyTool<E>
  extends AiTool.Tool<
    string,
    {
      readonly parameters: AiTool.AnyParametersSchema
      readonly success: typeof Schema.Unknown
      readonly failure: Schema.Schema<E, unknown>
      readonly failureMode: "error"
    }
  > {}

/**
 * Converts a set to a toolkit with handlers, for `LanguageModel.generateText` and the like. Its calls go through
 * `ToolRunner`: a failed call is a result that the model reads, and only declared fatal failures fail the request.
 * Names are those that providers accept.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toToolkit = <E, R>(
  tools: ToolSet.ToolSet<E, R>,
  options?: ToolRunner.RunOptions | undefined
): Effect.Effect<Toolkit.WithHandler<Record<string, AnyTool<E>>>, never, ToolRunner.ToolRunner | R> =>
  Effect.gen(function* () {
    const runner = yield* ToolRunner.ToolRunner
    const bound = yield* ToolSet.bind(tools)
    const handle = (name: string, params: unknown) =>
      Effect.flatMap(IdGenerator.generate, (id) =>
        Effect.matchEffect(runner.run(bound, { id, name, params }, options), {
          onFailure: (fatality) => Effect.fail(fatality.error as E),
          onSuccess: ({ isFailure, result }) => Effect.succeed({ isFailure, result, encodedResult: result })
        })
      )
    return {
      tools: Object.fromEntries(
        bound.tools.map((tool) => {
          const name = bound.names.toProvider(tool.name)
          return [name, toAiTool(name, tool) as AnyTool<E>]
        })
      ),
      handle: handle as Toolkit.WithHandler<Record<string, AnyTool<E>>>["handle"]
    }
  })

/**
 * Parameters stay undecoded: `@effect/ai` fails the whole request when they do not fit, whereas the runner reports it
 * to the model.
 */
const toAiTool = (name: string, tool: Tool.Any) =>
  AiTool.make(name, { description: tool.description, success: Schema.Unknown, failure: Schema.Unknown })
    .setParameters(Schema.Unknown.annotations({ jsonSchema: tool.parameters }) as never)
    .annotate(AiTool.Idempotent, tool.annotations.idempotent === true)
    .annotate(AiTool.Readonly, tool.annotations.readOnly === true)

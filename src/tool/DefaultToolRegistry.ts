/**
 * A registry of tools in this process, over the runner of tools.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as IdGenerator from "../domain/IdGenerator.js"
import * as Backlog from "../internal/fiber/Backlog.js"
import * as CapturedContext from "../internal/fiber/CapturedContext.js"
import { nearest } from "../internal/text/Nearest.js"
import * as Run from "../observability/Run.js"
import * as Tool from "./definition/Tool.js"
import { ToolAccessDeniedError, ToolDefinitionError, ToolNotFoundError } from "./definition/ToolError.js"
import * as ToolSet from "./definition/ToolSet.js"
import * as ToolRegistry from "./ToolRegistry.js"
import * as ToolRunner from "./ToolRunner.js"

/** The requirements of the registration. The caller and the run are known only when the tool is called. */
const captured = <R>(): Effect.Effect<Context.Context<R>, never, R> =>
  Effect.map(
    CapturedContext.context<R>(),
    (context) =>
      Context.omit(
        ToolRunner.CallerModule,
        ToolRunner.ToolInterceptors,
        Run.Run
      )(context as Context.Context<any>) as Context.Context<R>
  )

const nothing = Context.empty() as Context.Context<never>

/**
 * A registry, emptied when the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<ToolRegistry.Service, never, ToolRunner.ToolRunner | Scope.Scope> = Effect.gen(
  function* () {
    const runner = yield* ToolRunner.ToolRunner
    const tools = new Map<string, Tool.Any>()
    const watchers = new Set<Backlog.Backlog<ReadonlyArray<Tool.Any>>>()
    let isClosed = false
    let current: ToolSet.ToolSet | undefined

    /** Recomputed only after a change. */
    const whole = (): ToolSet.ToolSet => {
      current ??= ToolSet.make(...tools.values()) as ToolSet.ToolSet
      return current
    }
    const changed = (): void => {
      current = undefined
      for (const watcher of watchers) watcher.offer(whole().tools)
    }
    const visible: Effect.Effect<ToolSet.Bound> = Effect.suspend(() => runner.visible(ToolSet.bindTo(whole(), nothing)))

    const add = (
      tool: Tool.Any,
      options: ToolRegistry.Options | undefined,
      context: Context.Context<any>
    ): Effect.Effect<Tool.Any, ToolDefinitionError> =>
      Effect.suspend(() => {
        if (tool.problem !== undefined) return Effect.fail(tool.problem)
        if (tools.has(tool.name)) {
          return new ToolDefinitionError({
            toolName: tool.name,
            message: `A tool named "${tool.name}" is already registered`,
            hint: "Rename one of them, or unregister the other first"
          })
        }
        const added: Tool.Any = Tool.annotate(Tool.provideContext(tool, context), { owner: options?.module })
        tools.set(tool.name, added)
        changed()
        return Effect.succeed(added)
      })
    const remove = (name: string): boolean => {
      if (!tools.delete(name)) return false
      changed()
      return true
    }

    const notFound = (name: string): Effect.Effect<never, ToolNotFoundError> =>
      Effect.flatMap(visible, (seen) => {
        const toolName = name.slice(0, 128)
        const availableTools = seen.tools.map((tool) => tool.name)
        const similar = nearest(toolName, availableTools)
        return new ToolNotFoundError({
          toolName,
          availableTools,
          message: `There is no tool named "${toolName}"`,
          hint: similar === undefined ? undefined : `Did you mean "${similar}"?`
        })
      })

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isClosed = true
        tools.clear()
        current = undefined
        for (const watcher of watchers) watcher.end()
      })
    )

    return {
      register: (tool, options) =>
        Effect.flatMap(captured<any>(), (context) => Effect.asVoid(add(tool as unknown as Tool.Any, options, context))),
      registerScoped: (tool, options) =>
        Effect.flatMap(captured<any>(), (context) =>
          Effect.asVoid(
            Effect.acquireRelease(add(tool as unknown as Tool.Any, options, context), (added) =>
              // Another tool may have the name by now.
              Effect.sync(() => tools.get(added.name) === added && remove(added.name))
            )
          )
        ),
      unregister: (name) => Effect.sync(() => remove(name)),
      clear: Effect.sync(() => {
        if (tools.size === 0) return
        tools.clear()
        changed()
      }),
      get: (name) => Effect.sync(() => whole().get(name)),
      list: Effect.sync(() => whole().tools),
      names: Effect.sync(() => whole().tools.map((tool) => tool.name)),
      listVisible: Effect.map(visible, (seen) => seen.tools),
      schemas: Effect.map(visible, (seen) => seen.definitions),
      toolSet: Effect.suspend(() => {
        const all = whole()
        return Effect.map(runner.visible(ToolSet.bindTo(all, nothing)), (seen) =>
          seen.tools === all.tools ? all : (ToolSet.make(...seen.tools) as ToolSet.ToolSet)
        )
      }),
      execute: (name, params, options) =>
        Effect.gen(function* () {
          const tools = ToolSet.bindTo(whole(), nothing)
          const tool = tools.get(name)
          if (tool === undefined) return yield* notFound(name)
          const id = options?.id ?? (yield* IdGenerator.generate)
          // Registered tools have no failures that end a run.
          const outcome = yield* Effect.orDie(runner.run(tools, { id, name, params }, options))
          if (outcome.error?.tag !== "ToolAccessDeniedError") return outcome
          return yield* new ToolAccessDeniedError({
            toolName: tool.name,
            agentModule: yield* ToolRunner.CallerModule,
            toolModule: tool.annotations.owner,
            message: outcome.error.message
          })
        }),
      changes: Stream.unwrapScoped(
        Effect.map(
          Effect.acquireRelease(
            Effect.sync(() => {
              const watcher = new Backlog.Backlog<ReadonlyArray<Tool.Any>>(1, "sliding")
              watcher.push(whole().tools)
              if (isClosed) watcher.end()
              else watchers.add(watcher)
              return watcher
            }),
            (watcher) => Effect.sync(() => watchers.delete(watcher))
          ),
          Backlog.toStream
        )
      )
    }
  }
)

/**
 * An empty registry.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ToolRegistry.ToolRegistry, never, ToolRunner.ToolRunner> = Layer.scoped(
  ToolRegistry.ToolRegistry,
  make
)

/**
 * A registry of these tools.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, Tool } from "effect-lexigram"
 * import { DefaultToolRegistry } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 *
 * const time = Tool.make("time", { description: "The time now", handler: () => Effect.succeed("12:00") })
 *
 * // Every agent of this executor has the tool.
 * const layer = Agents.layerWith({ tools: DefaultToolRegistry.layerTools(time) })
 * ```
 */
export const layerTools = <const T extends ReadonlyArray<ToolRegistry.Registrable>>(
  ...tools: T
): Layer.Layer<ToolRegistry.ToolRegistry, ToolDefinitionError, ToolRunner.ToolRunner | Tool.ServicesOf<T[number]>> =>
  Layer.scoped(
    ToolRegistry.ToolRegistry,
    Effect.tap(make, (registry) =>
      Effect.forEach(
        tools as ReadonlyArray<Tool.Tool<never, unknown, never, Tool.ServicesOf<T[number]>, unknown>>,
        (tool) => registry.register(tool),
        { discard: true }
      )
    )
  )

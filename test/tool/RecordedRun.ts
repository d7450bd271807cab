/** A run of its own for tests of tools: its events in a list, and the layers a runner needs. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as Run from "../../src/observability/Run.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import type * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"

export interface RecordedRun {
  readonly run: Run.Service
  readonly events: ReadonlyArray<AgentEvent>
  /** The events of one kind. */
  readonly of: <Tag extends AgentEvent["_tag"]>(tag: Tag) => ReadonlyArray<Extract<AgentEvent, { readonly _tag: Tag }>>
}

export const make = (options?: {
  readonly agent?: string | undefined
  readonly telemetry?: Partial<Run.TelemetryOptions> | undefined
}): Effect.Effect<RecordedRun> =>
  Effect.map(Effect.clock, (clock) => {
    const events: Array<AgentEvent> = []
    const run = Run.make({
      runId: RunId.make("run-1"),
      agent: options?.agent ?? "tester",
      clock,
      sink: { push: (event) => void events.push(event), settle: () => undefined, live: false },
      telemetry: { tracing: true, metrics: false, content: false, ...options?.telemetry }
    })
    return { run, events, of: (tag) => events.filter((event) => event._tag === tag) as never }
  })

export interface Setup {
  readonly gate?: Layer.Layer<ApprovalGate.ApprovalGate> | undefined
  readonly graph?: ModuleGraph.Service | undefined
  readonly runner?: Parameters<typeof DefaultToolRunner.layer>[0]
}

export const layer = (setup: Setup = {}): Layer.Layer<ToolRunner.ToolRunner | ModuleGraph.ModuleGraph> =>
  DefaultToolRunner.layer(setup.runner).pipe(
    Layer.provide(setup.gate ?? ApprovalGate.layerDeny),
    Layer.provideMerge(
      setup.graph === undefined ? ModuleGraph.layerNoop : Layer.succeed(ModuleGraph.ModuleGraph, setup.graph)
    )
  )

export const call = (name: string, params: unknown = {}, id = "c1"): ToolRunner.ToolCall => ({ id, name, params })

/** Runs one call of one tool (or a set) in the run given, or in one that nobody looks at. */
export const run = <E, R>(
  tools: Tool.Tool<never, unknown, E, R, unknown> | ToolSet.ToolSet<E, R>,
  toolCall: ToolRunner.ToolCall,
  options?: Setup & { readonly options?: ToolRunner.RunOptions; readonly recorded?: RecordedRun | undefined }
): Effect.Effect<ToolRunner.Outcome, ToolRunner.Fatality, R> => {
  const set = (ToolSet.TypeId in tools ? tools : ToolSet.make(tools as Tool.Any)) as ToolSet.ToolSet<E, R>
  const effect = Effect.gen(function* () {
    const runner = yield* ToolRunner.ToolRunner
    const bound = yield* ToolSet.bind(set)
    return yield* runner.run(bound, toolCall, options?.options)
  })
  const inRun = options?.recorded === undefined ? effect : Effect.provideService(effect, Run.Run, options.recorded.run)
  return Effect.provide(inRun as Effect.Effect<ToolRunner.Outcome, ToolRunner.Fatality, any>, layer(options)) as never
}

export class Greeting extends Context.Tag("test/Greeting")<Greeting, { readonly word: string }>() {}

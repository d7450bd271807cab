/** An executor over a scripted model and given collaborators, and the results of its runs. */
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import type * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import type * as AgentConfig from "../../src/agent/definition/AgentConfig.js"
import type { AgentEvent, Of, Tag } from "../../src/domain/AgentEvent.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"

export const layer = (
  script: Parameters<typeof TestModel.layer>[0],
  given: Agents.Replaceable & { readonly config?: Partial<AgentConfig.AgentConfig> | undefined } = {},
  options?: TestModel.LayerOptions
): Layer.Layer<AgentExecutor.AgentExecutor | TestModel.TestModel> =>
  Layer.provideMerge(Agents.layerWith(given), TestModel.layer(script, options)) as Layer.Layer<
    AgentExecutor.AgentExecutor | TestModel.TestModel
  >

export const record = <E, R>(stream: Stream.Stream<AgentEvent, E, R>) => EventRecorder.record(stream)

export const of = <T extends Tag>(events: ReadonlyArray<AgentEvent>, tag: T): ReadonlyArray<Of<T>> =>
  events.filter((event): event is Of<T> => event._tag === tag)

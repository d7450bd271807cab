/**
 * What LangGraph's validation is run on: for each of its rounds a saver over a store of its own.
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint"
import type { CheckpointSaverTestInitializer } from "@langchain/langgraph-checkpoint-validation"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import * as KeyValueSessionStore from "../../src/session/KeyValueSessionStore.js"
import * as SessionStore from "../../src/session/SessionStore.js"
import * as LangGraphGraphs from "./LangGraphGraphs.js"
import * as LangGraphSessions from "./LangGraphSessions.js"

type Initializer = CheckpointSaverTestInitializer<BaseCheckpointSaver>

const initializer = <I>(
  checkpointerName: string,
  layer: Layer.Layer<I>,
  make: (runtime: ManagedRuntime.ManagedRuntime<I, never>) => BaseCheckpointSaver
): Initializer => {
  const runtimes = new Map<BaseCheckpointSaver, ManagedRuntime.ManagedRuntime<I, never>>()
  return {
    checkpointerName,
    createCheckpointer: () => {
      // A memo map of its own: a layer that was built for another saver is another store.
      const runtime = ManagedRuntime.make(layer)
      const saver = make(runtime)
      runtimes.set(saver, runtime)
      return saver
    },
    destroyCheckpointer: async (saver) => {
      await runtimes.get(saver)?.dispose()
      runtimes.delete(saver)
    }
  }
}

/** Those of LangGraph itself, to compare with. */
export const memorySaver: Initializer = {
  checkpointerName: "MemorySaver",
  createCheckpointer: () => new MemorySaver()
}

export const sessionsInMemory: Initializer = initializer(
  "sessions in memory",
  SessionStore.layerMemory,
  LangGraphSessions.make
)

export const sessionsByKey: Initializer = initializer(
  "sessions by key and value",
  Layer.provide(KeyValueSessionStore.layer(), KeyValueStore.layerMemory),
  LangGraphSessions.make
)

export const graphsInMemory: Initializer = initializer(
  "graphs in memory",
  Checkpointer.layerMemory(),
  LangGraphGraphs.make
)

/** Must fail. */
export const nothing: Initializer = initializer("nothing", Checkpointer.layerNoop, LangGraphGraphs.make)

/**
 * A LangGraph checkpoint saver over a port that stores texts, for running LangGraph's saver validation on a backend.
 * The saver is frozen and has no state except its port: another saver over the same port continues where it stopped.
 */
import type { RunnableConfig } from "@langchain/core/runnables"
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  compareWritesSortKeys,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey
} from "@langchain/langgraph-checkpoint"
import type { Json } from "../../src/graph/Checkpointer.js"

/** A namespace of a thread: the graph is `""`, each subgraph has its own. */
export interface Space {
  readonly thread: string
  readonly namespace: string
}

/** A serialized checkpoint. */
export interface Kept {
  readonly id: string
  readonly parent?: string | undefined
  /** Without channel values. */
  readonly checkpoint: string
  readonly metadata: { readonly [key: string]: Json }
  /** References to channel values, including those inherited from its parent. */
  readonly values: ReadonlyArray<readonly [channel: string, ref: string]>
}

export interface Write {
  readonly task: string
  readonly path: string
  /** Index within the writes of the task; negative for kinds of which only the last counts. */
  readonly index: number
  readonly channel: string
  readonly value: string
}

/** Port of a saver; checkpoints are listed newest first. */
export interface Port {
  readonly ref: (channel: string, text: string) => string
  readonly value: (space: Space, ref: string) => Promise<string | undefined>
  readonly put: (
    space: Space,
    kept: Kept,
    changed: ReadonlyArray<readonly [ref: string, text: string]>
  ) => Promise<void>
  readonly get: (space: Space, id: string | undefined) => Promise<Kept | undefined>
  readonly checkpoints: (space: Space) => AsyncIterable<Kept>
  readonly spaces: (thread: string | undefined) => AsyncIterable<Space>
  readonly putWrites: (space: Space, id: string, writes: ReadonlyArray<Write>) => Promise<void>
  readonly writes: (space: Space, id: string) => Promise<ReadonlyArray<Write>>
  readonly deleteThread: (thread: string) => Promise<void>
}

const required = (config: RunnableConfig, key: "thread_id" | "checkpoint_id"): string => {
  const value: unknown = config.configurable?.[key]
  if (typeof value !== "string" || value === "") throw new TypeError(`The config has no ${key}`)
  return value
}

const configOf = (space: Space, id: string): RunnableConfig => ({
  configurable: { thread_id: space.thread, checkpoint_ns: space.namespace, checkpoint_id: id }
})

export class Saver extends BaseCheckpointSaver {
  readonly #port: Port

  constructor(port: Port) {
    super()
    this.#port = port
    Object.freeze(this)
  }

  async #pack(value: unknown): Promise<string> {
    const [type, bytes] = await this.serde.dumpsTyped(value)
    return `${type}:${Buffer.from(bytes).toString(type === "json" ? "utf8" : "base64")}`
  }

  async #unpack(text: string): Promise<unknown> {
    const at = text.indexOf(":")
    const type = text.slice(0, at)
    return this.serde.loadsTyped(type, Buffer.from(text.slice(at + 1), type === "json" ? "utf8" : "base64"))
  }

  async #writes(space: Space, id: string): Promise<Array<[task: string, channel: string, value: unknown]>> {
    const writes = [...(await this.#port.writes(space, id))].sort((a, b) =>
      compareWritesSortKeys(writesSortKey(a.path, a.task, a.index), writesSortKey(b.path, b.task, b.index))
    )
    return Promise.all(
      writes.map(
        async ({ task, channel, value }): Promise<[string, string, unknown]> => [
          task,
          channel,
          await this.#unpack(value)
        ]
      )
    )
  }

  async #tuple(space: Space, kept: Kept): Promise<CheckpointTuple> {
    const checkpoint = (await this.#unpack(kept.checkpoint)) as Checkpoint
    const values: Array<readonly [string, unknown]> = []
    for (const [channel, ref] of kept.values) {
      const text = await this.#port.value(space, ref)
      if (text !== undefined) values.push([channel, await this.#unpack(text)])
    }
    // Before version 4 of the format, sends to tasks were part of the parent's writes.
    if (checkpoint.v < 4 && kept.parent !== undefined) {
      const versions = Object.values(checkpoint.channel_versions)
      const sent = (await this.#writes(space, kept.parent)).filter(([, channel]) => channel === TASKS)
      values.push([TASKS, sent.map(([, , value]) => value)])
      checkpoint.channel_versions[TASKS] =
        versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined)
    }
    return {
      config: configOf(space, kept.id),
      checkpoint: { ...checkpoint, channel_values: Object.fromEntries(values) },
      metadata: (await this.serde.loadsTyped("json", JSON.stringify(kept.metadata))) as CheckpointMetadata,
      pendingWrites: await this.#writes(space, kept.id),
      ...(kept.parent === undefined ? {} : { parentConfig: configOf(space, kept.parent) })
    }
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const thread: unknown = config.configurable?.["thread_id"]
    if (typeof thread !== "string") return undefined
    const space = { thread, namespace: config.configurable?.["checkpoint_ns"] ?? "" }
    const kept = await this.#port.get(space, getCheckpointId(config) || undefined)
    return kept === undefined ? undefined : this.#tuple(space, kept)
  }

  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    const { checkpoint_ns, thread_id } = config.configurable ?? {}
    const only = getCheckpointId(config)
    const before = options?.before === undefined ? "" : getCheckpointId(options.before)
    const filter = Object.entries(options?.filter ?? {})
    let left = options?.limit ?? Number.POSITIVE_INFINITY
    for await (const space of this.#port.spaces(thread_id)) {
      if (checkpoint_ns !== undefined && space.namespace !== checkpoint_ns) continue
      for await (const kept of this.#port.checkpoints(space)) {
        if (left <= 0) return
        if (only !== "" && kept.id !== only) continue
        // Ids are ordered by time, also across threads.
        if (before !== "" && kept.id >= before) continue
        const tuple = await this.#tuple(space, kept)
        const metadata = new Map<string, unknown>(Object.entries(tuple.metadata ?? {}))
        if (!filter.every(([key, value]) => JSON.stringify(metadata.get(key)) === JSON.stringify(value))) continue
        left--
        yield tuple
      }
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions
  ): Promise<RunnableConfig> {
    const space = { thread: required(config, "thread_id"), namespace: config.configurable?.["checkpoint_ns"] ?? "" }
    const parent: string | undefined = getCheckpointId(config) || undefined
    const before = parent === undefined ? undefined : await this.#port.get(space, parent)
    const values = new Map(before?.values.filter(([channel]) => Object.hasOwn(checkpoint.channel_versions, channel)))
    const changed: Array<readonly [string, string]> = []
    for (const channel of Object.keys(newVersions)) {
      values.delete(channel)
      if (!Object.hasOwn(checkpoint.channel_values, channel)) continue
      const text = await this.#pack(checkpoint.channel_values[channel])
      const ref = this.#port.ref(channel, text)
      values.set(channel, ref)
      changed.push([ref, text])
    }
    const [, meta] = await this.serde.dumpsTyped(metadata)
    const kept: Kept = {
      id: checkpoint.id,
      parent,
      checkpoint: await this.#pack({ ...copyCheckpoint(checkpoint), channel_values: {} }),
      metadata: JSON.parse(new TextDecoder().decode(meta)),
      values: [...values]
    }
    await this.#port.put(space, kept, changed)
    return configOf(space, checkpoint.id)
  }

  override async putWrites(
    config: RunnableConfig,
    writes: Array<PendingWrite>,
    task: string,
    path?: string
  ): Promise<void> {
    const space = { thread: required(config, "thread_id"), namespace: config.configurable?.["checkpoint_ns"] ?? "" }
    const packed = writes.map(async ([channel, value], at): Promise<Write> => {
      const index = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined
      return { task, path: path ?? "", index: index ?? at, channel, value: await this.#pack(value) }
    })
    await this.#port.putWrites(space, required(config, "checkpoint_id"), await Promise.all(packed))
  }

  override async deleteThread(thread: string): Promise<void> {
    await this.#port.deleteThread(thread)
  }
}

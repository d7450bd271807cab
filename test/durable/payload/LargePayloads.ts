/** Durable runs with large values: a picture in the input and a result of a tool, in a process with a store of blobs. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../../src/cluster/DurableCluster.js"
import * as BlobStore from "../../../src/content/BlobStore.js"
import type * as Content from "../../../src/content/Content.js"
import * as InMemoryBlobStore from "../../../src/content/InMemoryBlobStore.js"
import * as AgentWorkflow from "../../../src/durable/AgentWorkflow.js"
import * as Durable from "../../../src/durable/Durable.js"
import type * as DurableRuns from "../../../src/durable/DurableRuns.js"
import { WorkflowJournal } from "../../../src/durable/engine/WorkflowJournal.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as DurableProcesses from "../DurableProcesses.js"
import { ann, asked, call, say, untilAsleep } from "../DurableProcesses.js"

export const MIB = 1_048_576

/** Bytes that do not compress, the same for a seed. */
const noise = (bytes: number, seed: number): Uint8Array => {
  let state = seed
  return Uint8Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  })
}

export const picture = (bytes: number, seed: number = 1): Content.File => {
  const data = noise(bytes, seed)
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return { type: "file", mediaType: "image/png", data }
}

/** A text that does not compress to nothing. */
export const report = (bytes: number, seed: number = 2): string =>
  Buffer.from(noise(Math.ceil((bytes * 3) / 4), seed))
    .toString("base64")
    .slice(0, bytes)

/** Blobs that outlive processes. */
export const blobs = Effect.map(Layer.build(InMemoryBlobStore.layer()), (context) => Layer.succeedContext(context))

export type Store = Layer.Layer<BlobStore.BlobStore>

/** What runs are kept on, with a store of blobs beside the journal if there is one. */
export type On = (store?: Store) => DurableProcesses.Ports

const provided = <A, E, R>(ports: Layer.Layer<A, E, R>, store: Store | undefined): Layer.Layer<A, E, R> =>
  store === undefined ? ports : (Layer.provide(ports, store) as Layer.Layer<A, E, R>)

export const onEngine: On = (store) => provided(Durable.layerSql({ lease: "1 minute", poll: "10 millis" }), store)

export const onCluster: On = (store) =>
  provided(DurableCluster.layerSingle({ shards: 4, poll: "20 millis", drain: "50 millis" }), store)

/** What the model was asked and the tools did, in all processes. */
export class World {
  readonly done: Array<string> = []
  /** What the model saw with its last call: the sizes of the picture, and of the result of the first tool. */
  seen: { readonly picture: number; readonly report: number } | undefined

  constructor(
    private readonly result: string,
    private readonly instructions: string = "You sign reports.",
    private readonly before: () => Effect.Effect<unknown> = () => Effect.void
  ) {}

  /** Its result is also kept for its compensation. */
  readonly fetch = Tool.make("fetch", {
    description: "Fetches the report",
    idempotent: true,
    // A run whose owner is erased may be interrupted before its step ends.
    handler: () =>
      Effect.uninterruptible(
        Effect.map(this.before(), () => {
          this.done.push("fetch")
          return this.result
        })
      ),
    compensate: (_, result) => Effect.sync(() => void this.done.push(`undo ${String(result).length}`))
  })

  readonly sign = Tool.make("sign", {
    description: "Signs the report",
    requiresApproval: true,
    idempotent: true,
    handler: () =>
      Effect.sync(() => {
        this.done.push("sign")
        return "signed"
      })
  })

  readonly refuse = Tool.make("refuse", {
    description: "Ends the run",
    idempotent: true,
    fatal: true,
    failure: Refused,
    handler: () => Effect.fail(new Refused({ because: this.result }))
  })

  /** Fetches, signs, and answers with what it has seen. */
  readonly model: LlmClient.Service = {
    provider: "test",
    model: "m",
    complete: ({ messages }) =>
      Effect.sync(() => {
        const results = messages.filter(({ role }) => role === "tool")
        this.done.push(`model ${results.length}`)
        if (messages.some(({ content }) => content === "Refuse the report")) return call(["refuse", {}])
        if (results.length === 0) return call(["fetch", {}])
        if (results.length === 1) return call(["sign", {}])
        const files = messages.flatMap(({ content, role }) =>
          role === "user" && typeof content !== "string" ? content.filter(({ type }) => type === "file") : []
        )
        const [file] = files as ReadonlyArray<{ readonly data: Uint8Array }>
        this.seen = { picture: file?.data.length ?? 0, report: JSON.stringify(results[0]?.content).length }
        return say("signed")
      })
  }

  get agent() {
    return Agent.make("clerk", { tools: [this.fetch, this.sign, this.refuse] }).pipe(
      // Instructions that are made for each run are a read.
      Agent.withInstructions(() => Effect.succeed(this.instructions))
    )
  }
}

/** A failure as large as a result. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { because: Schema.String }) {}

export const start = (
  world: World,
  client: Layer.Layer<SqlClient>,
  on: DurableProcesses.Ports,
  payloads?: DurableRuns.Options<[]>["payloads"]
) =>
  DurableProcesses.start(
    client,
    { agents: [world.agent], errors: [Refused], payloads },
    world.model,
    (ports) =>
      Agents.layerWith({
        config: { observationMaxChars: 16 * MIB },
        log: ports,
        steering: ports,
        approvals: ports
      }),
    on
  )

/** Starts a run with a picture. */
export const begin = (runId: string, size: number, request: Partial<Runs.StartRequest> = {}) =>
  Runs.start({
    agent: "clerk",
    input: [{ type: "text", text: "Sign the report" }, picture(size)],
    runId,
    userId: "ann",
    ...request
  })

/** Starts a run, and lets it come to where a person must answer. */
export const asleep = (runId: string, size: number) => Effect.zipRight(begin(runId, size), untilAsleep(runId))

/** Answers what waits, and waits for the end. */
export const ended = (runId: string) =>
  Effect.gen(function* () {
    const { id } = yield* asked
    yield* Runs.answer(id, { _tag: "Approved" }, ann)
    return yield* Runs.await(runId, ann)
  })

/** Lets a run go on to its failure, if it does not yet. */
export const failed = (runId: string) =>
  Effect.zipRight(Effect.ignore(Runs.resume(runId, ann)), Effect.flip(Runs.await(runId, ann)))

/** Bytes in the journal of a run, before compression. */
export const sizeOf = (runId: string) =>
  Effect.flatMap(AgentWorkflow.executionOf(runId), (id) =>
    Effect.flatMap(WorkflowJournal, (journal) => journal.size(id))
  )

/** The blobs of an owner: scope and size. */
export const blobsOf = (owner: string) =>
  Effect.flatMap(BlobStore.BlobStore, (store) =>
    Effect.map(Stream.runCollect(store.list({ owner })), (found) =>
      Array.from(found, ({ ref, scope }) => ({ scope, hash: ref.hash, size: ref.size }))
    )
  )

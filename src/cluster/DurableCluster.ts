/**
 * Durable runs on many machines: a cluster of `@effect/cluster` over the Postgres database in context. Runs are spread
 * over the processes, and those of a process that ended, hangs or was cut off go on in others.
 *
 * Requires the packages `@effect/cluster`, `@effect/workflow`, `@effect/sql` and `@effect/platform-node`.
 *
 * @since 0.1.0
 */
import * as ClusterWorkflowEngine from "@effect/cluster/ClusterWorkflowEngine"
import { MessageStorage } from "@effect/cluster/MessageStorage"
import * as RunnerAddress from "@effect/cluster/RunnerAddress"
import * as RunnerHealth from "@effect/cluster/RunnerHealth"
import { RunnerStorage } from "@effect/cluster/RunnerStorage"
import * as Runners from "@effect/cluster/Runners"
import * as Sharding from "@effect/cluster/Sharding"
import * as ShardingConfig from "@effect/cluster/ShardingConfig"
import * as SocketRunner from "@effect/cluster/SocketRunner"
import type * as SocketServer from "@effect/platform/SocketServer"
import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import * as RpcSerialization from "@effect/rpc/RpcSerialization"
import type * as SqlClient from "@effect/sql/SqlClient"
import { WorkflowEngine } from "@effect/workflow/WorkflowEngine"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Steering from "../agent/record/Steering.js"
import * as BlobStore from "../content/BlobStore.js"
import * as IdGenerator from "../domain/IdGenerator.js"
import type * as Durable from "../durable/Durable.js"
import { RunFence } from "../durable/engine/RunFence.js"
import * as SqlWorkflowJournal from "../durable/engine/SqlWorkflowJournal.js"
import * as StorageFailure from "../durable/engine/StorageFailure.js"
import { WorkflowJournal } from "../durable/engine/WorkflowJournal.js"
import type { WorkflowStorageError } from "../durable/engine/WorkflowStorageError.js"
import * as RunBlobs from "../durable/payload/RunBlobs.js"
import type { Database } from "../persistence/engine/Database.js"
import { PersistenceConfigurationError } from "../persistence/engine/PersistenceError.js"
import * as SqlApprovalStore from "../persistence/run/SqlApprovalStore.js"
import * as SqlDeltaFeed from "../persistence/run/SqlDeltaFeed.js"
import * as SqlRunLog from "../persistence/run/SqlRunLog.js"
import * as SqlRunStore from "../persistence/run/SqlRunStore.js"
import * as SqlSteering from "../persistence/run/SqlSteering.js"
import * as MigrationRun from "../persistence/schema/MigrationRun.js"
import type { MigrationFailure } from "../persistence/schema/Migrations.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import * as ClusterAddress from "./ClusterAddress.js"
import * as ClusterAttempts from "./ClusterAttempts.js"
import * as ClusterEngine from "./ClusterEngine.js"
import * as ClusterHealth from "./ClusterHealth.js"
import * as ClusterStorage from "./ClusterStorage.js"
import * as ClusterStore from "./ClusterStore.js"
import * as SessionFence from "./entity/SessionFence.js"
import * as FencedMessages from "./FencedMessages.js"
import * as MessageUpkeep from "./MessageUpkeep.js"

/**
 * How a process takes part in a cluster. All processes of a cluster must agree about `shards` and `lockExpiration`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settings {
  /**
   * How long a process keeps its shards without renewing them, in whole seconds; it renews after a third of it. After a
   * crash, or when a process hangs, others go on with its runs after this time and one to three seconds. A process that
   * is busy for longer loses its runs to others, which is safe. At least 2 seconds. Default: 10 seconds.
   */
  readonly lockExpiration?: Duration.DurationInput | undefined
  /**
   * How often a process looks for messages, due clocks and runs that were woken elsewhere. What is started through
   * another process of the cluster is announced and needs no look. At least 10 milliseconds. Default: 500 milliseconds.
   */
  readonly poll?: Duration.DurationInput | undefined
  /**
   * How long a step that goes on may take when the process ends or gives shards away, before it is interrupted and done
   * again elsewhere. Default: 15 seconds.
   */
  readonly drain?: Duration.DurationInput | undefined
  /** The number of parts that runs are spread over, from 1 to 10,000. Default: 64, for up to about 16 processes. */
  readonly shards?: number | undefined
  /**
   * How long what a run has recorded, and that a session had a message, is kept after its end. Each process removes
   * older ones once an hour. Default: 90 days; infinity to keep all.
   */
  readonly retain?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PortOptions {
  readonly approvals?: PendingApprovals.Options | undefined
  readonly log?: SqlRunLog.Options | undefined
  readonly steering?: Steering.Options | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Settings, PortOptions {
  /** The name or address by which the other processes reach this one. */
  readonly host: string
  /**
   * The port by which they do, from 1 to 65,535. Whoever reaches it can send messages: keep it in a private network.
   */
  readonly port: number
  /** Where the process listens, if that is not `host` and `port`. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined
  /** The part of the shards that this process takes, relative to others, from 1 to 100. Default: 1. */
  readonly weight?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  lockExpiration: Duration.seconds(10),
  poll: Duration.millis(500),
  drain: Duration.seconds(15),
  shards: 64,
  retain: Duration.days(90),
  weight: 1
} as const

/**
 * @since 0.1.0
 * @category models
 */
export type Services =
  | Durable.Ports
  | WorkflowJournal
  | Sharding.Sharding
  | ClusterHealth.ClusterHealth
  | SessionFence.SessionFence

type Failure = MigrationFailure | WorkflowStorageError

const outOfBounds = (name: string, bounds: string) =>
  new PersistenceConfigurationError({
    message: `The ${name} of the cluster must be ${bounds}`,
    hint: `Give \`${name}\` another value`
  })

interface Resolved {
  readonly lockExpiration: number
  readonly poll: number
  readonly drain: number
  readonly shards: number
  readonly retain: Duration.DurationInput
}

const resolve = (options: Settings): Effect.Effect<Resolved, PersistenceConfigurationError> =>
  Effect.gen(function* () {
    const lockExpiration = Duration.toMillis(options.lockExpiration ?? defaults.lockExpiration)
    if (!(lockExpiration >= 2000 && Number.isFinite(lockExpiration))) {
      return yield* outOfBounds("lockExpiration", "a time of at least 2 seconds")
    }
    const poll = Duration.toMillis(options.poll ?? defaults.poll)
    if (!(poll >= 10 && Number.isFinite(poll))) return yield* outOfBounds("poll", "a time of at least 10 ms")
    const drain = Duration.toMillis(options.drain ?? defaults.drain)
    if (!Number.isFinite(drain)) return yield* outOfBounds("drain", "a finite time")
    const shards = options.shards ?? defaults.shards
    if (!(Number.isInteger(shards) && shards >= 1 && shards <= 10_000)) {
      return yield* outOfBounds("shards", "a whole number from 1 to 10,000")
    }
    return { lockExpiration, poll, drain, shards, retain: options.retain ?? defaults.retain }
  })

const checkAddress = ({ host, listen, port, weight = defaults.weight }: Options) =>
  Effect.gen(function* () {
    for (const at of listen === undefined ? [{ host, port }] : [{ host, port }, listen]) {
      if (at.host.length === 0 || at.host.length > 240) return yield* outOfBounds("host", "1 to 240 characters long")
      if (!(Number.isInteger(at.port) && at.port >= 1 && at.port <= 65_535)) {
        return yield* outOfBounds("port", "a whole number from 1 to 65,535")
      }
    }
    if (!(Number.isInteger(weight) && weight >= 1 && weight <= 100)) {
      return yield* outOfBounds("weight", "a whole number from 1 to 100")
    }
  })

const configOf = (
  { drain, lockExpiration, poll, shards }: Resolved,
  address: RunnerAddress.RunnerAddress
): ShardingConfig.ShardingConfig["Type"] => ({
  ...ShardingConfig.defaults,
  runnerAddress: Option.some(address),
  shardsPerGroup: shards,
  shardLockExpiration: Duration.millis(lockExpiration),
  shardLockRefreshInterval: Duration.millis(Math.min(2000, lockExpiration / 3)),
  // A process that hangs keeps its connection, and with it its advisory locks, for as long as it hangs.
  shardLockDisableAdvisory: true,
  entityMessagePollInterval: Duration.millis(poll),
  entityReplyPollInterval: Duration.millis(Math.min(200, poll)),
  entityTerminationTimeout: Duration.millis(drain),
  refreshAssignmentsInterval: Duration.seconds(1),
  runnerHealthCheckInterval: Duration.seconds(5),
  simulateRemoteSerialization: false
})

type Transport = Layer.Layer<
  Sharding.Sharding | Runners.Runners,
  SocketServer.SocketServerError,
  ShardingConfig.ShardingConfig | MessageStorage | RunnerStorage
>

const socket: Transport = SocketRunner.layer.pipe(
  Layer.provide(NodeClusterSocket.layerSocketServer),
  Layer.provide(
    RunnerHealth.layerPing.pipe(Layer.provide(Runners.layerRpc), Layer.provide(NodeClusterSocket.layerClientProtocol))
  ),
  Layer.provide(NodeClusterSocket.layerClientProtocol),
  Layer.provide(RpcSerialization.layerMsgPack)
)

const alone: Transport = Sharding.layer.pipe(
  Layer.provideMerge(Runners.layerNoop),
  Layer.provide(RunnerHealth.layerNoop)
)

type Built = Exclude<Services, Durable.Ports> | WorkflowEngine | RunFence

/** The engine, with what it shares with the messages of the cluster. */
const engineOver = (
  database: Database,
  transport: Transport,
  config: ShardingConfig.ShardingConfig["Type"],
  resolved: Resolved
) =>
  Effect.gen(function* () {
    const address = Option.getOrThrow(config.runnerAddress)
    const process = { address: `${address.host}:${address.port}`, id: yield* IdGenerator.generate }
    const kept = yield* Effect.provideService(ClusterStorage.make(database), ShardingConfig.ShardingConfig, config)
    const store = ClusterStore.make(database, process, resolved.lockExpiration)
    yield* store.enter
    const persist = StorageFailure.persistFor(resolved.lockExpiration)
    const scope = yield* Effect.scope
    let sharding: Sharding.Sharding["Type"] | undefined
    const attempts = ClusterAttempts.make({
      store,
      processId: process.id,
      persist,
      shardOf: (workflow, id) => ClusterAddress.shardOf(sharding as Sharding.Sharding["Type"], workflow, id)
    })
    const storage = FencedMessages.make(kept.messages, {
      store,
      attempt: attempts.get,
      onDropped: Effect.annotateLogs(Effect.logDebug("An answer was dropped: its shard belongs to another process"), {
        module: "DurableCluster"
      }),
      again: (at) =>
        Effect.ignore(kept.messages.resetAddress(at)).pipe(
          Effect.zipRight(Effect.suspend(() => sharding?.pollStorage ?? Effect.void)),
          Effect.delay(resolved.poll),
          Effect.interruptible,
          Effect.forkIn(scope)
        )
    })
    const cluster = yield* Layer.build(
      transport.pipe(
        Layer.provideMerge(Layer.succeed(MessageStorage, storage)),
        Layer.provide(Layer.succeed(RunnerStorage, kept.runners)),
        Layer.provide(Layer.succeed(ShardingConfig.ShardingConfig, config))
      )
    )
    sharding = Context.get(cluster, Sharding.Sharding)
    const inner = yield* Effect.provide(ClusterWorkflowEngine.make, cluster)
    const { engine, look } = ClusterEngine.make({
      store,
      attempts,
      inner,
      sharding,
      storage,
      persist,
      clock: yield* Effect.clock
    })
    yield* ClusterEngine.looking(look, resolved.poll)
    const blobs = yield* Effect.serviceOption(BlobStore.BlobStore)
    const journal = SqlWorkflowJournal.make(database, () => undefined, blobs)
    yield* SqlWorkflowJournal.keepPruned(journal, resolved.retain)
    yield* MessageUpkeep.keepPruned(database, resolved.retain)
    return Context.make(WorkflowEngine, engine).pipe(
      Context.add(WorkflowJournal, journal),
      Context.add(Sharding.Sharding, sharding),
      Context.add(ClusterHealth.ClusterHealth, ClusterHealth.make(database, sharding, resolved.shards)),
      Context.add(SessionFence.SessionFence, SessionFence.make(database, store.holds)),
      Context.add(RunFence, ClusterEngine.fenceOf(store, attempts)),
      RunBlobs.add(blobs)
    )
  }).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(StorageFailure.of("open")(error))))

const ports = ({ approvals, log, steering }: PortOptions) =>
  Layer.mergeAll(
    SqlRunLog.layer(log),
    SqlRunStore.layer(),
    SqlSteering.layer(steering),
    SqlDeltaFeed.layer,
    Layer.provide(PendingApprovals.layer(approvals), SqlApprovalStore.layer())
  )

const build = (
  options: Settings & PortOptions,
  transport: Transport,
  prepare: Effect.Effect<
    readonly [RunnerAddress.RunnerAddress, Partial<ShardingConfig.ShardingConfig["Type"]>],
    PersistenceConfigurationError
  >
): Layer.Layer<Services, Failure | SocketServer.SocketServerError, SqlClient.SqlClient> => {
  const engine: Layer.Layer<Built, Failure | SocketServer.SocketServerError, SqlClient.SqlClient> = Layer.scopedContext(
    Effect.gen(function* () {
      const [address, more] = yield* prepare
      const resolved = yield* resolve(options)
      const database = yield* MigrationRun.open({ migrate: true })
      return yield* engineOver(database, transport, { ...configOf(resolved, address), ...more }, resolved)
    })
  )
  return Layer.provideMerge(ports(options), engine)
}

/**
 * Keeps runs in the Postgres database in context, whose tables are created first, and shares them with all processes
 * that use the same one. Give it to `DurableRuns.layer` and to the executor, as `Durable.layerSql`. A `BlobStore` in
 * context keeps large values of runs (`payloads` of `DurableRuns.layer`).
 *
 * When its scope ends, the process takes no more runs, lets the step of each run end within `drain`, and gives its runs
 * to the others.
 *
 * Building fails with `PersistenceConfigurationError` for an option out of bounds and with `SocketServerError` if the
 * port is taken.
 *
 * @example
 * ```ts
 * import { Agent, Agents } from "effect-lexigram"
 * import { DurableCluster } from "effect-lexigram/cluster"
 * import { DurableRuns } from "effect-lexigram/durable"
 * import * as Layer from "effect/Layer"
 *
 * const ports = DurableCluster.layer({ host: "10.0.0.7", port: 34431, lockExpiration: "10 seconds" })
 *
 * const runs = DurableRuns.layer({ agents: [Agent.make("clerk", { system: "You refund orders." })] }).pipe(
 *   Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports })),
 *   Layer.provideMerge(ports)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<Services, Failure | SocketServer.SocketServerError, SqlClient.SqlClient> =>
  build(
    options,
    socket,
    Effect.map(checkAddress(options), () => [
      RunnerAddress.make(options.host, options.port),
      {
        runnerShardWeight: options.weight ?? defaults.weight,
        runnerListenAddress:
          options.listen === undefined
            ? Option.none()
            : Option.some(RunnerAddress.make(options.listen.host, options.listen.port))
      }
    ])
  )

/**
 * A cluster of one process, which listens on no port: for tests, and for one machine. A second process on the same
 * database takes the runs of the first one.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSingle = (
  options: Settings & PortOptions = {}
): Layer.Layer<Services, Failure, SqlClient.SqlClient> =>
  build(options, alone, Effect.succeed([RunnerAddress.make("single", 1), {}] as const)) as Layer.Layer<
    Services,
    Failure,
    SqlClient.SqlClient
  >

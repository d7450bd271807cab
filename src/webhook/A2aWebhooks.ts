/**
 * Tells addresses of the states of A2A tasks: repeated until they are taken, and across processes where the engine of
 * workflows keeps what it does.
 *
 * @since 0.1.0
 */
import * as Activity from "@effect/workflow/Activity"
import * as DurableDeferred from "@effect/workflow/DurableDeferred"
import * as Workflow from "@effect/workflow/Workflow"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { CallFailure } from "../a2a/A2aFailures.js"
import { PushConfig } from "../a2a/A2aModels.js"
import { A2aPush, type Owned, type Shown } from "../a2a/A2aPush.js"
import type * as Tasks from "../a2a/A2aTasks.js"
import * as Runs from "../agent/runs/Runs.js"
import { RunId, UserId } from "../domain/Ids.js"
import { WebhookError } from "../http/webhook/WebhookError.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import * as OwnedNames from "../persistence/OwnedNames.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import * as WebhookDelivery from "./WebhookDelivery.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends WebhookDelivery.Options {
  /** How long nothing else goes on in a task that waits for a person before this is told; default 250 ms. */
  readonly quiet?: Duration.DurationInput | undefined
}

const workflow = Workflow.make({
  name: OwnedNames.push,
  payload: { runId: RunId, agent: Schema.String, userId: Schema.optional(UserId), slot: Schema.Number },
  // By it, the execution is erased with the data of its owner.
  idempotencyKey: ({ runId, slot }) => OwnedNames.pushKey(IndexKey.of(runId), slot)
})

const Kept = Schema.Struct({ ...PushConfig.fields, id: Schema.String, claim: Schema.String })
type Kept = typeof Kept.Type

/** The config of an execution. The first one that is set stays. */
const config = DurableDeferred.make("config", { success: Kept })
/** Set once the config is deleted or replaced. */
const gone = DurableDeferred.make("gone")

const State = Schema.Struct({ requests: Schema.Array(Schema.String), isOver: Schema.Boolean })

const shown = (runId: string, { authentication, id, url }: Kept): Shown => ({
  id,
  taskId: runId,
  url,
  ...(authentication === undefined ? {} : { authentication: { scheme: authentication.scheme } })
})

const present = (text: string | undefined): string | undefined => (text === "" ? undefined : text)

/** A config without an id is the same as one with another. */
const isSame = (kept: Kept, given: PushConfig): boolean =>
  (present(given.id) ?? kept.id) === kept.id &&
  kept.url === given.url &&
  present(kept.token) === present(given.token) &&
  kept.authentication?.scheme === given.authentication?.scheme &&
  kept.authentication?.credentials === given.authentication?.credentials

const slots = Array.from({ length: OwnedNames.MOST_PUSHES }, (_, slot) => slot)

/** A place for a config: its execution. */
interface Place {
  readonly slot: number
  readonly executionId: string
  readonly kept: Kept | undefined
  readonly isOpen: boolean
}

const full = new WebhookError({
  reason: "full",
  message: `A task takes ${OwnedNames.MOST_PUSHES} push notification configs, those included that were deleted`
})

/** The configs of tasks, each in an execution of its own. */
class Configs {
  constructor(private readonly engine: WorkflowEngine.WorkflowEngine["Type"]) {}

  private read<A>(executionId: string, deferred: DurableDeferred.DurableDeferred<Schema.Schema<A, any>, any>) {
    return Effect.map(
      Effect.provideService(
        this.engine.deferredResult(deferred),
        WorkflowEngine.WorkflowInstance,
        WorkflowEngine.WorkflowInstance.initial(workflow, executionId)
      ),
      (exit) => (exit !== undefined && Exit.isSuccess(exit) ? Option.some(exit.value as A) : Option.none<A>())
    )
  }

  private set<A, I>(
    executionId: string,
    deferred: DurableDeferred.DurableDeferred<Schema.Schema<A, I>, typeof Schema.Never>,
    value: A
  ): Effect.Effect<void> {
    return this.engine.deferredDone(deferred, {
      workflowName: workflow.name,
      executionId,
      deferredName: deferred.name,
      exit: Exit.succeed(value)
    })
  }

  readonly isGone = (executionId: string): Effect.Effect<boolean> =>
    Effect.map(this.read(executionId, gone), Option.isSome)

  private one(task: Owned, slot: number): Effect.Effect<Place> {
    return Effect.gen(this, function* () {
      const executionId = yield* workflow.executionId({ ...task, slot })
      const kept = Option.getOrUndefined(yield* this.read(executionId, config))
      return { slot, executionId, kept, isOpen: kept !== undefined && !(yield* this.isGone(executionId)) }
    })
  }

  private all(task: Owned): Effect.Effect<ReadonlyArray<Place>> {
    return Effect.forEach(slots, (slot) => this.one(task, slot), { concurrency: slots.length })
  }

  private open(task: Owned): Effect.Effect<ReadonlyArray<Place & { readonly kept: Kept }>> {
    return Effect.map(this.all(task), (places) =>
      places.flatMap(({ kept, ...place }) => (kept !== undefined && place.isOpen ? [{ ...place, kept }] : []))
    )
  }

  readonly list = (task: Owned): Effect.Effect<ReadonlyArray<Kept>> =>
    Effect.map(this.open(task), (places) => places.map(({ kept }) => kept))

  private close(places: ReadonlyArray<Place>, id: string): Effect.Effect<void> {
    return Effect.forEach(
      places.filter((place) => place.isOpen && place.kept?.id === id),
      ({ executionId }) => this.set(executionId, gone, undefined),
      { discard: true }
    )
  }

  readonly remove = (task: Owned, id: string): Effect.Effect<void> =>
    Effect.flatMap(this.all(task), (places) => this.close(places, id))

  /** Begins the execution of a config, if it has not begun. */
  private begin(task: Owned, { executionId, slot }: Place): Effect.Effect<void> {
    return Effect.asVoid(this.engine.execute(workflow, { executionId, payload: { ...task, slot }, discard: true }))
  }

  readonly create = (task: Owned, given: PushConfig): Effect.Effect<Kept, WebhookError> =>
    Effect.gen(this, function* () {
      const wanted = present(given.id)
      const claim = globalThis.crypto.randomUUID()
      const made: Kept = { ...given, id: wanted ?? claim, claim }
      for (;;) {
        const places = yield* this.all(task)
        const same = places.find(({ isOpen, kept }) => isOpen && kept !== undefined && isSame(kept, given))
        if (same?.kept !== undefined) {
          yield* this.begin(task, same)
          return same.kept
        }
        const free = places.find(({ kept }) => kept === undefined)
        if (free === undefined) return yield* full
        yield* this.set(free.executionId, config, made)
        const kept = Option.getOrUndefined(yield* this.read(free.executionId, config))
        // Another caller took the place meanwhile.
        if (kept?.claim !== claim) continue
        yield* this.begin(task, free)
        yield* this.close(places, made.id)
        return made
      }
    }).pipe(Effect.uninterruptible)
}

const headersOf = ({ authentication, token }: Kept): Record<string, string> => ({
  "content-type": "application/a2a+json",
  ...(present(token) === undefined ? {} : { "x-a2a-notification-token": token as string }),
  ...(authentication === undefined
    ? {}
    : { authorization: `${authentication.scheme} ${authentication.credentials ?? ""}`.trim() })
})

/** How often a store that fails is asked again for the state of a task. */
const again = Schedule.union(Schedule.exponential("1 second"), Schedule.spaced("1 minute"))

const isUnknown = ({ kind }: CallFailure): boolean => kind === "task"

const deliver = (configs: Configs, delivery: WebhookDelivery.Delivery, tasksOf: (task: Owned) => Tasks.A2aTasks) => {
  const attempt = (task: Owned, executionId: string, kept: Kept): Effect.Effect<WebhookDelivery.Answer> =>
    Effect.gen(function* () {
      if (yield* configs.isGone(executionId)) return "refused" as const
      const found = yield* tasksOf(task).get(task.runId)
      return yield* delivery.post(kept.url, headersOf(kept), JSON.stringify({ task: found }))
    }).pipe(
      Effect.catchAll((failure) => Effect.succeed<WebhookDelivery.Answer>(isUnknown(failure) ? "refused" : "failed"))
    )
  return (task: typeof workflow.payloadSchema.Type, executionId: string) =>
    Effect.gen(function* () {
      const { runId } = task
      const kept = yield* DurableDeferred.await(config)
      /** The requests that were told, which may wait on. */
      let known: ReadonlyArray<string> = []
      for (let number = 0; ; number++) {
        const state = yield* Activity.make({
          name: `state~${number}`,
          success: State,
          execute: tasksOf(task)
            .changed(runId, known)
            .pipe(
              Effect.retry({ schedule: again, until: isUnknown }),
              Effect.orElseSucceed(() => ({ requests: [], isOver: true }))
            )
        })
        yield* delivery.repeat(attempt(task, executionId, kept), { runId, part: `${number}~` })
        if (state.isOver) return
        known = [...known, ...state.requests]
      }
    })
}

/**
 * Push notifications of `A2aServer` over the workflow engine in context: with that of `Durable` or `DurableCluster`
 * they outlive the process, with `WorkflowEngine.layerMemory` they end with it. A notification is the task as it is
 * then, with the token and the authentication of its config. The store of the engine keeps both as they are; they go
 * with the other data of their owner. Addresses are checked as those of `SignedWebhooks`. Redirects are not followed.
 *
 * @example
 * ```ts
 * import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
 * import { A2aWebhooks } from "effect-lexigram/webhook"
 * import * as Layer from "effect/Layer"
 *
 * const push = A2aWebhooks.layer({ hosts: ["*.example.org"], quiet: "1 second" }).pipe(
 *   Layer.provide(WorkflowEngine.layerMemory)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options = {}
): Layer.Layer<A2aPush, WebhookError, Runs.Runs | PendingApprovals.PendingApprovals | WorkflowEngine.WorkflowEngine> =>
  Layer.scoped(
    A2aPush,
    Effect.gen(function* () {
      const delivery = yield* WebhookDelivery.make(options)
      const engine = yield* WorkflowEngine.WorkflowEngine
      const runs = yield* Runs.Runs
      const pending = yield* PendingApprovals.PendingApprovals
      const configs = new Configs(engine)
      // Loaded here, so that the entry stays light for those who use SignedWebhooks alone.
      const { A2aTasks } = yield* Effect.promise(() => import("../a2a/A2aTasks.js"))
      const tasksOf = ({ agent, userId }: Owned) => new A2aTasks({ agent, caller: { userId }, runs, pending, options })
      yield* engine.register(workflow, deliver(configs, delivery, tasksOf))
      return {
        check: ({ url }) => delivery.check(url),
        create: (task, given) => Effect.map(configs.create(task, given), (kept) => shown(task.runId, kept)),
        get: (task, id) =>
          Effect.map(configs.list(task), (all) =>
            Option.map(Option.fromNullable(all.find((kept) => kept.id === id)), (kept) => shown(task.runId, kept))
          ),
        list: (task) => Effect.map(configs.list(task), (all) => all.map((kept) => shown(task.runId, kept))),
        remove: configs.remove
      }
    })
  )

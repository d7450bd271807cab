/**
 * A run in the process that has it: its events with their deltas.
 *
 * @private
 * @since 0.1.0
 */
import type { EntityAddress } from "@effect/cluster/EntityAddress"
import type { Sharding } from "@effect/cluster/Sharding"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { RunError } from "../../agent/record/RunError.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { RunId, UserId } from "../../domain/Ids.js"
import * as SystemGrant from "../../internal/fiber/SystemGrant.js"
import { leaving } from "./SessionHandlers.js"
import { RunMoved } from "./SessionProtocol.js"

/**
 * @category models
 */
export interface RunHandlers {
  readonly events: (call: {
    readonly runId: RunId
    readonly userId?: UserId | undefined
    readonly from: number
  }) => Stream.Stream<AgentEvent, RunError | RunMoved>
}

/**
 * Each call reaches the runs of its user, wherever it was sent.
 *
 * @category constructors
 */
export const make = (runs: Runs.Service, sharding: Sharding["Type"], address: EntityAddress): RunHandlers => ({
  events: ({ from, runId, userId }) =>
    Stream.merge(
      runs.events(runId, { from, userId }),
      Stream.execute(Effect.zipRight(leaving(sharding, address), Effect.fail(RunMoved.make()))),
      { haltStrategy: "left" }
    ).pipe(Stream.mapInputContext((context: Context.Context<never>) => SystemGrant.without(context)))
})

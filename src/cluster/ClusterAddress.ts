/**
 * Where the run of a workflow is in a cluster.
 *
 * @private
 * @since 0.1.0
 */
import * as ClusterSchema from "@effect/cluster/ClusterSchema"
import { EntityAddress } from "@effect/cluster/EntityAddress"
import { EntityId } from "@effect/cluster/EntityId"
import { EntityType } from "@effect/cluster/EntityType"
import type { ShardId } from "@effect/cluster/ShardId"
import type { Sharding } from "@effect/cluster/Sharding"
import type * as Workflow from "@effect/workflow/Workflow"
import * as Context from "effect/Context"

/**
 * @category getters
 */
export const shardOf = (sharding: Sharding["Type"], workflow: Workflow.Any, executionId: string): ShardId => {
  const entityId = EntityId.make(executionId)
  return sharding.getShardId(entityId, Context.get(workflow.annotations, ClusterSchema.ShardGroup)(entityId))
}

/**
 * The address of the messages of an execution.
 *
 * @category getters
 */
export const of = (sharding: Sharding["Type"], workflow: Workflow.Any, executionId: string): EntityAddress =>
  new EntityAddress({
    entityType: EntityType.make(`Workflow/${workflow.name}`),
    entityId: EntityId.make(executionId),
    shardId: shardOf(sharding, workflow, executionId)
  })

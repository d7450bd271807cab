/**
 * The journal of runs in a cluster: with an execution, it removes the messages of the execution.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as SqlWorkflowJournal from "../durable/engine/SqlWorkflowJournal.js"
import * as StorageFailure from "../durable/engine/StorageFailure.js"
import type { Service } from "../durable/engine/WorkflowJournal.js"
import type { Database } from "../persistence/engine/Database.js"
import type { ClusterStore } from "./ClusterStore.js"

/** The most ids of one statement. */
const PAGE = 100

/**
 * @category constructors
 */
export const make = (database: Database, store: ClusterStore): Service => {
  const journal = SqlWorkflowJournal.make(database, () => undefined)

  const erase: Service["erase"] = (executionIds) =>
    Effect.gen(function* () {
      const ids = Array.from(new Set(executionIds))
      let removed = 0
      for (let at = 0; at < ids.length; at += PAGE) {
        const page = ids.slice(at, at + PAGE)
        yield* Effect.mapError(store.removeMessages(page), StorageFailure.of("erase"))
        removed += yield* journal.erase(page)
      }
      return removed
    })

  return {
    ...journal,
    erase,
    prune: (options) =>
      Effect.gen(function* () {
        const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(options.olderThan)
        let removed = 0
        for (;;) {
          const page = yield* Effect.mapError(store.endedBefore(before), StorageFailure.of("prune"))
          if (page.length === 0) break
          removed += yield* erase(page)
        }
        return removed + (yield* journal.prune(options))
      })
  }
}

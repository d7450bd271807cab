/**
 * Runs a workflow of many activities in a SQLite file until it is killed or has ended. Each activity appends its name to
 * a file when it begins, and says so.
 */
import * as Fs from "node:fs"
import * as Activity from "@effect/workflow/Activity"
import * as Workflow from "@effect/workflow/Workflow"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SqlWorkflowEngine from "../../../src/durable/engine/SqlWorkflowEngine.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Programs from "../Programs.js"

interface Input {
  readonly file: string
  readonly effects: string
  readonly activities: number
}

const Long = Workflow.make({
  name: "Long",
  payload: { activities: Schema.Number },
  idempotencyKey: () => "long",
  success: Schema.Number
})

Programs.main<Input>(({ input, say }) => {
  const activity = (index: number) =>
    Activity.make({
      name: `activity ${index}`,
      success: Schema.String,
      execute: Effect.gen(function* () {
        Fs.appendFileSync(input.effects, `${index}\n`)
        yield* say(index)
        yield* Effect.sleep("2 millis")
        return "x".repeat(100)
      })
    })
  const body = Long.toLayer(({ activities }) =>
    Effect.as(
      Effect.forEach(
        Array.from({ length: activities }, (_, index) => index),
        activity,
        { discard: true }
      ),
      activities
    )
  )
  const engine = SqlWorkflowEngine.layerMigrated({ lease: "300 millis", poll: "20 millis" }).pipe(
    Layer.provide(SqliteClient.layer({ file: input.file, driver: "libsql" }))
  )
  return Effect.flatMap(Long.execute({ activities: input.activities }), (done) => say(`ended ${done}`)).pipe(
    Effect.provide(Layer.provideMerge(body, engine))
  )
})

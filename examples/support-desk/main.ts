/**
 * A support desk for the customers of a web shop.
 *
 * Without arguments it tells a story, offline, and ends. `--serve` serves the chat, `--evals` runs the evals.
 */
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Story from "./Story.js"

const story = Effect.gen(function* () {
  const fileSystem = yield* FileSystem.FileSystem
  yield* Story.tell(yield* fileSystem.makeTempDirectoryScoped({ prefix: "support-desk-" }))
}).pipe(Effect.scoped)

NodeRuntime.runMain(Effect.provide(story, NodeContext.layer))

/**
 * A support desk for the customers of a web shop.
 *
 * Without arguments it tells a story, offline, and ends. `--serve` serves the chat, `--evals` runs the evals.
 */
import { createServer } from "node:http"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { GracefulServer } from "effect-lexigram/http"
import * as Models from "./Models.js"
import * as Story from "./Story.js"
import * as SupportDesk from "./SupportDesk.js"

const story = Effect.gen(function* () {
  const fileSystem = yield* FileSystem.FileSystem
  yield* Story.tell(yield* fileSystem.makeTempDirectoryScoped({ prefix: "support-desk-" }))
}).pipe(Effect.scoped)

const evals = Effect.gen(function* () {
  // Loaded by this command alone, as the server is by its own.
  const SupportEvals = yield* Effect.promise(() => import("./evals/SupportEvals.js"))
  const results = yield* SupportEvals.run()
  yield* Console.log(yield* SupportEvals.report(results))
  yield* SupportEvals.check(results)
}).pipe(Effect.provide(Layer.provideMerge(SupportDesk.layerEvals(), Models.layer)))

const serve = Effect.gen(function* () {
  const DeskServer = yield* Effect.promise(() => import("./DeskServer.js"))
  const port = yield* Config.port("PORT").pipe(Config.withDefault(3000))
  const folder = yield* Config.string("SUPPORT_DESK_FOLDER").pipe(Config.withDefault(".support-desk"))
  const fileSystem = yield* FileSystem.FileSystem
  yield* fileSystem.makeDirectory(folder, { recursive: true })
  return yield* DeskServer.layer.pipe(
    Layer.tap(() => Effect.log(`The desk is at http://127.0.0.1:${port}`)),
    Layer.provide(SupportDesk.layer({ folder })),
    Layer.provide(Models.layer),
    Layer.provide(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port, host: "127.0.0.1" })),
    Layer.launch
  )
})

const main = Effect.gen(function* () {
  if (process.argv.includes("--serve")) return yield* serve
  if (process.argv.includes("--evals")) return yield* evals
  return yield* story
})

NodeRuntime.runMain(Effect.provide(main, NodeContext.layer))

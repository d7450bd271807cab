/** Servers of agents with the privileged API of the studio, and without its page. */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Application from "../../src/application/Application.js"
import { UserId } from "../../src/domain/Ids.js"
import * as Authentication from "../../src/http/api/Authentication.js"
import * as Studio from "../../src/studio/Studio.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as AgentServers from "../support/AgentServers.js"
import * as StudioPages from "../support/StudioPages.js"

/** Each of these tokens is its user; users are developers unless their names begin with `plain`. */
export const developers = Authentication.layerBearer({
  verify: (token) =>
    Effect.succeed(
      Option.map(Option.fromNullable(/^token-(\w+)$/.exec(Redacted.value(token))), ([, name = ""]) => ({
        userId: UserId.make(name),
        scopes: name.startsWith("plain") ? [] : ["studio"]
      }))
    )
})

const page = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-studio-"))
    Fs.writeFileSync(Path.join(folder, "index.html"), "<!doctype html><title>Studio</title>")
    return folder
  }),
  (folder) => Effect.sync(() => Fs.rmSync(folder, { recursive: true, force: true }))
)

/** Starts a server on a free port of loopback; it ends with the scope. */
export const start = (setup: AgentServers.Setup) =>
  Effect.gen(function* () {
    const edge = yield* Studio.edge({ agents: setup.agents, page: yield* page }).pipe(
      Effect.provide(NodeFileSystem.layer)
    )
    return yield* AgentServers.start({
      authentication: developers,
      ...setup,
      edges: [...(setup.edges ?? []), edge]
    })
  })

/** The same with durable runs, in a database of its own. */
export const startDurable = ({ agents, script = () => "hi" }: Pick<AgentServers.Setup, "agents" | "script">) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-studio-runs-"))),
      (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
    )
    const services = Application.layerSqlite(agents, { file: Path.join(folder, "runs.db") }).pipe(
      Layer.provide(TestModel.layer(script))
    )
    const { url } = yield* StudioPages.serve({
      agents,
      services,
      authentication: developers,
      studio: { links: undefined }
    })
    return { url, ask: AgentServers.ask(url) }
  })

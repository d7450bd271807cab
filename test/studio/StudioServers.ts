/** Servers of agents with the privileged API of the studio, and without its page. */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { UserId } from "../../src/domain/Ids.js"
import * as Authentication from "../../src/http/api/Authentication.js"
import * as Studio from "../../src/studio/Studio.js"
import * as AgentServers from "../support/AgentServers.js"

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

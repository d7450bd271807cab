/**
 * A new project with a chat on the web: a page without a build, and the server of its API.
 *
 * @private
 * @since 0.1.0
 */
import * as ClerkFiles from "./ClerkFiles.js"
import type * as Project from "./Project.js"
import * as WebPage from "./WebPage.js"

const config = `import { CliConfig } from "effect-lexigram/cli"
import { agents, layer } from "./src/Application.js"

export default CliConfig.make({ agents, layer: ({ model }) => layer(model) })
`

const page = `/** The page of the chat: the files of public. */
import { fileURLToPath } from "node:url"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"

const policy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const file = (name: string) =>
  HttpServerResponse.file(fileURLToPath(new URL("../public/" + name, import.meta.url)), {
    headers: { "content-security-policy": policy, "x-content-type-options": "nosniff", "cache-control": "no-cache" }
  })

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    yield* router.get("/", file("index.html"))
    yield* router.get("/chat.js", file("chat.js"))
    yield* router.get("/chat.css", file("chat.css"))
  })
)
`

const server = `/** The server: the API of the agents below /v1, and the page. PORT and LEXIGRAM_MODEL are its settings. */
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { AgentServer, Authentication, GracefulServer } from "effect-lexigram/http"
import { agents, layer } from "./Application.js"
import * as Page from "./Page.js"

const settings = Config.all({
  port: Config.port("PORT").pipe(Config.withDefault(3000)),
  model: Config.string("LEXIGRAM_MODEL").pipe(Config.withDefault("offline"))
})

/**
 * Everybody is the same visitor here, so the server answers only this machine. With Authentication.layerJwt in the
 * place of layerAnonymous each visitor has runs and conversations of their own.
 */
const serve = ({ model, port }: { readonly model: string; readonly port: number }) =>
  AgentServer.layer({ agents }).pipe(
    Layer.provide(Page.layer),
    Layer.provide([layer(model), Authentication.layerAnonymous]),
    Layer.tap(() => Effect.log("The chat is at http://127.0.0.1:" + port)),
    Layer.provide(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port, host: "127.0.0.1" }))
  )

NodeRuntime.runMain(Layer.launch(Layer.unwrapEffect(Effect.map(settings, serve))))
`

const test = `import { createServer } from "node:http"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Application } from "effect-lexigram/application"
import { AgentServer, Authentication, GracefulServer } from "effect-lexigram/http"
import { TestModel } from "effect-lexigram/testing"
import { agents } from "../src/Application.js"
import * as Page from "../src/Page.js"

const application = Layer.provide(Application.layerMemory(agents), TestModel.layer(() => "Hello."))

const server = AgentServer.layer({ agents }).pipe(
  Layer.provide(Page.layer),
  Layer.provide([application, Authentication.layerAnonymous]),
  Layer.provideMerge(HttpServer.layerTestClient),
  Layer.provide(FetchHttpClient.layer),
  Layer.provideMerge(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" }))
)

describe("chat", () => {
  it.scoped("serves the page, and the agents for it", () =>
    Effect.gen(function* () {
      const text = (path: string) => Effect.flatMap(HttpClient.get(path), (response) => response.text)
      assert.include(yield* text("/"), "chat.js")
      assert.include(yield* text("/chat.js"), "/agents")
      assert.include(yield* text("/v1/agents"), "clerk")
    }).pipe(Effect.provide(server))
  )
})
`

const guide = `The chat is at http://127.0.0.1:3000 while the server runs, and \`PORT\` is another port:

\`\`\`sh
npm start
\`\`\`

Its page is made of the files in \`public\`, which need no build. The server is \`src/Server.ts\`, the agent \`src/Clerk.ts\`.
Runs and conversations are kept in \`.lexigram/agents.db\`, also those at the terminal:

\`\`\`sh
curl --fail --silent http://127.0.0.1:3000/
npx lexigram run --url http://127.0.0.1:3000 "Where is order 17?"
npx lexigram runs list
\`\`\`
`

/**
 * @category constants
 */
export const template: Project.Template = {
  description: "A chat on the web.",
  scripts: { start: "tsx src/Server.ts" },
  packages: ["libsql"],
  files: {
    "lexigram.config.ts": config,
    "src/Application.ts": ClerkFiles.sqlite,
    "src/Page.ts": page,
    "src/Server.ts": server,
    ...WebPage.files,
    ...ClerkFiles.files,
    "test/Chat.test.ts": test
  },
  guide
}

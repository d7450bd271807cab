/**
 * A new project whose agents are an HTTP service: durable runs, and callers with bearer tokens.
 *
 * @private
 * @since 0.1.0
 */
import * as ClerkFiles from "./ClerkFiles.js"
import type * as Project from "./Project.js"

const config = `import { CliConfig } from "effect-lexigram/cli"
import { agents, layer } from "./src/Application.js"
import * as Tokens from "./src/Tokens.js"

export default CliConfig.make({
  agents,
  layer: ({ model }) => layer(model),
  server: { authentication: Tokens.layer, port: Number(process.env["PORT"] ?? 3000) }
})
`

const tokens = `/** The callers of the service, by their tokens: SERVICE_TOKENS is "ann=a long secret,ben=another one". */
import { createHash } from "node:crypto"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { Ids } from "effect-lexigram"
import { ApiError, Authentication } from "effect-lexigram/http"

/** Tokens are compared by their hash, so that the time of a refusal says nothing about them. */
const hashOf = (token: string) => createHash("sha256").update(token).digest("hex")

export const layer = Layer.unwrapEffect(
  Effect.gen(function* () {
    const callers = new Map<string, Ids.UserId>()
    for (const pair of Redacted.value(yield* Config.redacted("SERVICE_TOKENS")).split(",")) {
      const at = pair.indexOf("=")
      const [user, token] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
      if (at < 0 || user === "" || token.length < 16) {
        return yield* new ApiError.ApiConfigurationError({
          message: "SERVICE_TOKENS is a list of user=token, with commas between; a token has 16 characters or more"
        })
      }
      callers.set(hashOf(token), Ids.UserId.make(user))
    }
    return Authentication.layerBearer({
      verify: (token) => {
        const userId = callers.get(hashOf(Redacted.value(token)))
        return Effect.succeed(userId === undefined ? Option.none() : Option.some({ userId }))
      }
    })
  })
)
`

const test = `import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Application } from "effect-lexigram/application"
import { AgentServer } from "effect-lexigram/http"
import { TestModel } from "effect-lexigram/testing"
import { agents } from "../src/Application.js"
import * as Tokens from "../src/Tokens.js"

const secret = "0123456789abcdef"

const services = Layer.merge(
  Application.layerMemory(agents).pipe(Layer.provide(TestModel.layer(() => "Hello."))),
  Tokens.layer.pipe(
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["SERVICE_TOKENS", "ann=" + secret]]))))
  )
)

const server = Effect.acquireRelease(
  Effect.sync(() => AgentServer.toWebHandler({ agents }, services)),
  ({ dispose }) => Effect.promise(dispose)
)

const get = (token: string) =>
  new Request("http://localhost/v1/agents", { headers: { authorization: "Bearer " + token } })

describe("service", () => {
  it.scoped("answers callers that have a token, and no others", () =>
    Effect.gen(function* () {
      const { handler } = yield* server
      assert.strictEqual((yield* Effect.promise(() => handler(get(secret)))).status, 200)
      assert.strictEqual((yield* Effect.promise(() => handler(get("fedcba9876543210")))).status, 401)
    })
  )
})
`

const guide = `Each caller has a token, of 16 characters or more. Runs and conversations belong to the caller that made them.

\`\`\`sh
export SERVICE_TOKENS="ann=change-me-0123456789"
npm start
\`\`\`

The API is described by \`/v1/openapi.json\`. In a second terminal:

\`\`\`sh
export LEXIGRAM_TOKEN="change-me-0123456789"
curl --fail --silent http://127.0.0.1:3000/v1/health
curl --fail --silent -H "Authorization: Bearer $LEXIGRAM_TOKEN" http://127.0.0.1:3000/v1/agents
npx lexigram run --url http://127.0.0.1:3000 "Where is order 17?"
npx lexigram runs list --url http://127.0.0.1:3000
\`\`\`

The service listens on this machine. \`npm start -- --host 0.0.0.0\` listens on all of its addresses, and \`PORT\` is the port.
With SIGTERM it answers the requests that are open, and ends. Runs are durable: those that it was at go on when it starts again.
They are kept in \`.lexigram/agents.db\`. The agent is \`src/Clerk.ts\`, and callers are known by \`src/Tokens.ts\`.
`

/**
 * @category constants
 */
export const template: Project.Template = {
  description: "An agent as an HTTP service.",
  scripts: { start: "lexigram serve" },
  packages: ["libsql"],
  files: {
    "lexigram.config.ts": config,
    "src/Application.ts": ClerkFiles.sqlite,
    "src/Tokens.ts": tokens,
    ...ClerkFiles.files,
    "test/Service.test.ts": test
  },
  guide
}

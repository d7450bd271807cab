/** A client that does what the scenarios for clients of the conformance suite of MCP ask; the last argument is the address. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as McpOAuth from "../../../src/mcp/auth/McpOAuth.js"
import * as McpTokens from "../../../src/mcp/auth/McpTokens.js"
import * as McpClientSdk from "../../../src/mcp/McpClientSdk.js"

const scenarios: Readonly<
  Record<string, { readonly tool?: string; readonly args?: Readonly<Record<string, unknown>> }>
> = {
  initialize: {},
  tools_call: { tool: "add_numbers", args: { a: 5, b: 3 } },
  "sse-retry": { tool: "test_reconnection" },
  "elicitation-sep1034-client-defaults": { tool: "test_client_elicitation_defaults" }
}

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? ""
const url = process.argv.at(-1) ?? ""
const given = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Readonly<Record<string, string>>

/** The authorization server, which the suite does not tell those whose credentials are for it. */
const issuer = Effect.promise(async () => {
  const response = await fetch(new URL("/.well-known/oauth-protected-resource/mcp", url))
  const { authorization_servers } = (await response.json()) as { readonly authorization_servers: [string] }
  return authorization_servers[0]
})

const secret = Redacted.make(given["client_secret"] ?? "")
const clientId = given["client_id"] ?? ""

/** The person agrees at once: the address redirects. */
const authorize = (address: URL) =>
  Effect.promise(async () => {
    const { headers } = await fetch(address, { redirect: "manual" })
    return Object.fromEntries(new URL(headers.get("location") ?? "").searchParams)
  })

/** The identity provider exchanges the token by which the person is known for an assertion. */
const assertion = (target: { readonly issuer: string; readonly resource: string }) =>
  Effect.promise(async () => {
    const response = await fetch(given["idp_token_endpoint"] ?? "", {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
        subject_token: given["idp_id_token"] ?? "",
        client_id: given["idp_client_id"] ?? "",
        audience: target.issuer,
        resource: target.resource
      })
    })
    const { access_token } = (await response.json()) as { readonly access_token: string }
    return Redacted.make(access_token)
  })

const auth = Effect.gen(function* () {
  switch (scenario) {
    case "auth/client-credentials-basic":
      return yield* McpOAuth.clientCredentials({ clientId, clientSecret: secret, issuer: yield* issuer })
    case "auth/client-credentials-jwt": {
      const key = Redacted.make(given["private_key_pem"] ?? "")
      const algorithm = given["signing_algorithm"] ?? "ES256"
      return yield* McpOAuth.clientCredentials({
        clientId,
        privateKeyJwt: { key, algorithm },
        issuer: yield* issuer
      })
    }
    case "auth/cross-app-access-complete-flow":
      return yield* McpOAuth.jwtBearer({ clientId, clientSecret: secret, issuer: yield* issuer, assertion })
    default:
      return yield* McpOAuth.authorizationCode({
        redirectUri: "http://localhost:9/callback",
        authorize,
        clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
        client:
          scenario === "auth/pre-registration" ? { clientId, clientSecret: secret, issuer: yield* issuer } : undefined
      })
  }
})

const talk = Effect.gen(function* () {
  const isAuth = scenario.startsWith("auth/")
  const { args = {}, tool = isAuth ? "test-tool" : undefined } = scenarios[scenario] ?? {}
  const client = yield* McpClientSdk.makeHttp({
    url,
    elicitation: true,
    ...(isAuth ? { auth } : {})
  })
  yield* client.listTools
  if (tool === undefined) return
  // The person accepts and gives nothing.
  yield* client.callTool(tool, args, {
    elicit: { asker: "person", answer: () => Effect.succeed({ action: "accept", content: {} }) }
  })
})

Effect.runFork(Effect.scoped(talk).pipe(Effect.provide(McpTokens.layerMemory)))

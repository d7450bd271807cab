/** An MCP server and its authorization server on one loopback address; each of their answers can be replaced. */
import type * as Http from "node:http"
import * as Effect from "effect/Effect"
import * as LoopbackServer from "./LoopbackServer.js"

type Json = Readonly<Record<string, unknown>>

export interface Refusal {
  readonly status: number
  /** Of `WWW-Authenticate`, after the scheme. */
  readonly challenge: string
}

export interface Behavior {
  readonly resource?: (url: string) => Json
  readonly authorizationServer?: (url: string) => Json
  /** Parameters of the redirect, instead of the right ones. */
  readonly redirect?: (right: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
  /** Answers the token endpoint. */
  readonly token?: (response: Http.ServerResponse, body: URLSearchParams) => void
  /** Refuses a request of MCP. Default: one without a token that was issued. */
  readonly refuse?: (token: string | undefined, method: string, url: string) => Refusal | undefined
}

export const json = (response: Http.ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const results: Readonly<Record<string, unknown>> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "guarded", version: "1.0.0" }
  },
  "tools/list": { tools: [{ name: "look", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "seen" }] },
  ping: {}
}

export const start = (behavior: Behavior = {}) =>
  Effect.gen(function* () {
    let url = ""
    /** Revoked by removing them. */
    const issued = new Set<string>()
    const tokenRequests: Array<URLSearchParams> = []

    const token = (response: Http.ServerResponse, body: string): void => {
      const asked = new URLSearchParams(body)
      tokenRequests.push(asked)
      if (behavior.token !== undefined) {
        behavior.token(response, asked)
        return
      }
      const access = `access-${tokenRequests.length}`
      issued.add(access)
      json(response, 200, {
        access_token: access,
        token_type: "Bearer",
        expires_in: 60,
        refresh_token: `refresh-${tokenRequests.length}`
      })
    }

    const mcp = ({ body, headers, method }: LoopbackServer.Received, response: Http.ServerResponse): void => {
      if (method !== "POST") return void response.writeHead(405).end()
      const message = JSON.parse(body) as { readonly id?: number; readonly method: string }
      const given = headers.authorization?.replace("Bearer ", "")
      const metadata = `resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`
      const refusal =
        behavior.refuse === undefined
          ? given !== undefined && issued.has(given)
            ? undefined
            : { status: 401, challenge: metadata }
          : behavior.refuse(given, message.method, url)
      if (refusal !== undefined) {
        return void response
          .writeHead(refusal.status, { "www-authenticate": `Bearer ${refusal.challenge}` })
          .end("refused")
      }
      if (message.id === undefined) return void response.writeHead(202).end()
      if (message.method === "prompts/get") {
        const error = { code: -32602, message: `Unknown prompt, but I know ${given}` }
        json(response, 200, { jsonrpc: "2.0", id: message.id, error })
      } else json(response, 200, { jsonrpc: "2.0", id: message.id, result: results[message.method] })
    }

    const server = yield* LoopbackServer.http((received, response) => {
      const { body, method, path } = received
      const [place = ""] = path.split("?")
      if (place === "/mcp") mcp(received, response)
      else if (place === "/.well-known/oauth-protected-resource/mcp") {
        json(response, 200, behavior.resource?.(url) ?? { resource: `${url}/mcp`, authorization_servers: [url] })
      } else if (place === "/.well-known/oauth-authorization-server") {
        json(response, 200, { ...metadataOf(url), ...behavior.authorizationServer?.(url) })
      } else if (place === "/register") json(response, 201, { ...JSON.parse(body), client_id: "registered" })
      else if (place === "/authorize") {
        const asked = new URL(path, url).searchParams
        const right = { code: "a-code", state: asked.get("state") ?? "", iss: url }
        const back = new URL(asked.get("redirect_uri") ?? "")
        back.search = String(new URLSearchParams(behavior.redirect?.(right) ?? right))
        response.writeHead(302, { location: back.href }).end()
      } else if (place === "/token" && method === "POST") token(response, body)
      else response.writeHead(404).end()
    })
    url = server.url
    return { url: `${url}/mcp`, server, issued, tokenRequests }
  })

export const metadataOf = (url: string): Json => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  registration_endpoint: `${url}/register`,
  response_types_supported: ["code"],
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true
})

/** A person who agrees at once. */
export const agree = (address: URL) =>
  Effect.promise(async () => {
    const { headers } = await fetch(address, { redirect: "manual" })
    return Object.fromEntries(new URL(headers.get("location") ?? "").searchParams)
  })

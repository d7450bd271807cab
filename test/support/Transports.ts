/** The transports over which every provider is tested: `fetch` itself, and `HttpClient` over two backends. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as Layer from "effect/Layer"
import * as FetchTransport from "../../src/provider/exchange/FetchTransport.js"

export interface Transport {
  readonly transport: string
  readonly layer: Layer.Layer<HttpClient.HttpClient>
  /** True if a connection is used again. The agent of `node:http` closes each by default. */
  readonly reuses: boolean
}

export const all: ReadonlyArray<Transport> = [
  { transport: "fetch", layer: FetchTransport.layer, reuses: true },
  { transport: "HttpClient over fetch", layer: FetchHttpClient.layer, reuses: true },
  { transport: "HttpClient over node:http", layer: NodeHttpClient.layer, reuses: false }
]

/** One row for each case on each transport. */
export const cross = <A extends object>(cases: ReadonlyArray<A>): ReadonlyArray<A & Transport> =>
  cases.flatMap((one) => all.map((transport) => ({ ...one, ...transport })))

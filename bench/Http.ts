/** CPU time of a model call over HTTP: whole answers and streamed ones, from a server in a process of its own. */
import { type ChildProcess, fork } from "node:child_process"
import * as Path from "node:path"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as FetchTransport from "../src/provider/exchange/FetchTransport.js"
import * as ChatCompletions from "../src/provider/format/ChatCompletions.js"
import { cpuMicros, interleave, makeRow, type Row, type Sample } from "./Harness.js"

interface Options {
  readonly warmup: number
  readonly runs: number
  readonly quick: boolean
}

type Call = (baseUrl: string) => () => Promise<number>

const start = (): Promise<{ readonly server: ChildProcess; readonly origin: string }> =>
  new Promise((resolve, reject) => {
    const server = fork(Path.resolve("bench/HttpServer.mjs"))
    server.once("error", reject)
    server.once("message", (port) => resolve({ server, origin: `http://127.0.0.1:${String(port)}` }))
  })

const request = { messages: [{ role: "user" as const, content: "go" }] }
const body = (streamed: boolean) => JSON.stringify({ model: "m", ...request, ...(streamed ? { stream: true } : {}) })
const headers = { "content-type": "application/json" }

/** What no client is cheaper than: `fetch`, and the text as JSON. */
const bareWhole: Call = (baseUrl) => async () => {
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body: body(false) })
  const answer = (await response.json()) as { readonly choices: ReadonlyArray<{ message: { content: string } }> }
  return answer.choices[0]?.message.content === "done" ? 1 : 0
}

/** The same for a stream: lines, and each event as JSON. */
const bareStream: Call = (baseUrl) => async () => {
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body: body(true) })
  const decoder = new TextDecoder()
  let deltas = 0
  let rest = ""
  const reader = response.body!.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line.startsWith("data: {") && JSON.parse(line.slice(6)).choices[0]?.delta?.content !== undefined) deltas++
    }
  }
  return deltas
}

const ours =
  (streamed: boolean, http: Layer.Layer<HttpClient.HttpClient>): Call =>
  (baseUrl) => {
    const client = Effect.runSync(Effect.provide(ChatCompletions.make({ baseUrl, model: "m" }), http))
    return async () => {
      let deltas = 0
      const onParts = (parts: ReadonlyArray<{ readonly type: string }>) =>
        Effect.sync(() => {
          for (const part of parts) if (part.type === "text-delta") deltas++
        })
      const answer = await Effect.runPromise(client.complete(request, streamed ? { onParts } : undefined))
      return streamed ? deltas : answer.content.length
    }
  }

const measure = (calls: number, per: number, call: () => Promise<number>) => async (): Promise<Sample> => {
  let seen = 0
  const started = cpuMicros()
  for (let i = 0; i < calls; i++) seen += await call()
  return { value: (cpuMicros() - started) / calls / per, counts: { seen } }
}

const kinds = [
  ["bare fetch", bareWhole, bareStream],
  ["effect-lexigram over fetch", ours(false, FetchTransport.layer), ours(true, FetchTransport.layer)],
  ["effect-lexigram over HttpClient", ours(false, FetchHttpClient.layer), ours(true, FetchHttpClient.layer)]
] as const

export const rows = async ({ quick, runs, warmup }: Options): Promise<ReadonlyArray<Row>> => {
  const { origin, server } = await start()
  const calls = quick ? 200 : 1000
  const deltas = quick ? 4000 : 16_000
  try {
    const whole = await interleave(
      Object.fromEntries(kinds.map(([name, call]) => [name, measure(calls, 1, call(`${origin}/0`))])),
      { warmup, runs }
    )
    const streamed = await interleave(
      Object.fromEntries(kinds.map(([name, , call]) => [name, measure(1, deltas, call(`${origin}/${deltas}`))])),
      { warmup, runs }
    )
    return kinds.flatMap(([name]) => [
      makeRow("model call over HTTP", name, "µs CPU", whole[name]!, { seen: calls }),
      makeRow("delta over SSE, 8 a piece", name, "µs CPU", streamed[name]!, { seen: deltas })
    ])
  } finally {
    server.disconnect()
  }
}

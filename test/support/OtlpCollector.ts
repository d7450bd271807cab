/** A loopback OpenTelemetry collector that accepts OTLP as JSON over HTTP and records it. */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

export interface Received {
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: Buffer
}

export interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly start: bigint
  readonly end: bigint
  readonly status: { readonly code: number; readonly message?: string }
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<{ readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }>
}

export interface OtlpCollector {
  readonly baseUrl: string
  readonly requests: ReadonlyArray<Received>
  readonly spans: () => ReadonlyArray<Span>
  /** Last report of each metric. */
  readonly metrics: () => ReadonlyMap<string, any>
  readonly logs: () => ReadonlyArray<any>
  /** Resource of the last request. */
  readonly resource: () => Readonly<Record<string, unknown>>
  /** All received data as text. */
  readonly text: () => string
}

const valueOf = (value: any): unknown =>
  value.arrayValue !== undefined ? value.arrayValue.values.map(valueOf) : Object.values(value)[0]

const attributesOf = (attributes: ReadonlyArray<{ readonly key: string; readonly value: any }>) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))

/** `answer` handles a request; by default it is accepted. The scope closes the server and every connection. */
export const make = (
  answer: (request: Received, response: Http.ServerResponse) => void = (_request, response) => void response.end("{}")
): Effect.Effect<OtlpCollector, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<Received> = []
    const server = Http.createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("error", () => undefined)
      response.on("error", () => undefined)
      request.on("end", () => {
        const received = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) }
        requests.push(received)
        answer(received, response)
      })
    })
    const listening = yield* Deferred.make<number>()
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        server.listen(0, "127.0.0.1", () =>
          Deferred.unsafeDone(listening, Exit.succeed((server.address() as AddressInfo).port))
        )
      ),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const bodies = (path: string) =>
      requests.filter((request) => request.path === path).map((request) => JSON.parse(request.body.toString("utf8")))
    return {
      baseUrl: `http://127.0.0.1:${yield* Deferred.await(listening)}`,
      requests,
      spans: () =>
        bodies("/v1/traces").flatMap((body) =>
          body.resourceSpans.flatMap((resource: any) =>
            resource.scopeSpans.flatMap((scope: any) =>
              scope.spans.map(
                (span: any): Span => ({
                  name: span.name,
                  traceId: span.traceId,
                  spanId: span.spanId,
                  parentSpanId: span.parentSpanId,
                  start: BigInt(span.startTimeUnixNano),
                  end: BigInt(span.endTimeUnixNano),
                  status: span.status,
                  attributes: attributesOf(span.attributes),
                  events: span.events.map((event: any) => ({
                    name: event.name,
                    attributes: attributesOf(event.attributes)
                  }))
                })
              )
            )
          )
        ),
      metrics: () =>
        new Map(
          bodies("/v1/metrics").flatMap((body) =>
            body.resourceMetrics.flatMap((resource: any) =>
              resource.scopeMetrics.flatMap((scope: any) => scope.metrics.map((metric: any) => [metric.name, metric]))
            )
          )
        ),
      logs: () =>
        bodies("/v1/logs").flatMap((body) =>
          body.resourceLogs.flatMap((resource: any) => resource.scopeLogs.flatMap((scope: any) => scope.logRecords))
        ),
      resource: () => {
        const last = JSON.parse(requests.at(-1)!.body.toString("utf8"))
        const [resource] = last.resourceSpans ?? last.resourceMetrics ?? last.resourceLogs
        return attributesOf(resource.resource.attributes)
      },
      text: () => requests.map((request) => request.body.toString("utf8")).join("\n")
    }
  })

/** A span with its children, in the order of their starts. */
export interface Tree {
  readonly span: Span
  readonly children: ReadonlyArray<Tree>
}

/** Root spans: one per complete trace; spans whose parent did not arrive are roots too. */
export const trees = (spans: ReadonlyArray<Span>): ReadonlyArray<Tree> => {
  const known = new Set(spans.map((span) => span.spanId))
  const build = (span: Span): Tree => ({
    span,
    children: below(span.spanId).map(build)
  })
  const inOrder = (a: Span, b: Span) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0)
  const below = (id: string) => spans.filter((span) => span.parentSpanId === id).sort(inOrder)
  return spans
    .filter((span) => span.parentSpanId === undefined || !known.has(span.parentSpanId))
    .sort(inOrder)
    .map(build)
}

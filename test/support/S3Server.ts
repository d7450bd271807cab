/** An S3 server on the loopback that verifies each signature by itself. */
import { createHash, createHmac } from "node:crypto"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"

export const accessKeyId = "AKIATEST"
export const secretAccessKey = "a secret of the test"

interface Stored {
  readonly type: string
  readonly body: Buffer
}

const sha = (content: Buffer | string) => createHash("sha256").update(content).digest("hex")
const mac = (key: Buffer | string, text: string) => createHmac("sha256", key).update(text).digest()
const percent = (text: string) =>
  Array.from(Buffer.from(text), (byte) =>
    /[\w.~-]/.test(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  ).join("")

const isSigned = (request: Http.IncomingMessage, body: Buffer): boolean => {
  const given =
    /^AWS4-HMAC-SHA256 Credential=AKIATEST\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/
  const [, day = "", region = "", names = "", signature] = given.exec(String(request.headers.authorization)) ?? []
  const [path = "", query = ""] = (request.url ?? "").split("?")
  const pairs = Array.from(new URLSearchParams(query), ([name, value]) => `${percent(name)}=${percent(value)}`).sort()
  const headers = names.split(";").map((name) => `${name}:${String(request.headers[name])}\n`)
  if (request.headers["x-amz-content-sha256"] !== sha(body)) return false
  const canonical = `${request.method}\n${path}\n${pairs.join("&")}\n${headers.join("")}\n${names}\n${sha(body)}`
  const text = `AWS4-HMAC-SHA256\n${String(request.headers["x-amz-date"])}\n${day}/${region}/s3/aws4_request\n${sha(canonical)}`
  const key = mac(mac(mac(mac(`AWS4${secretAccessKey}`, day), region), "s3"), "aws4_request")
  return mac(key, text).toString("hex") === signature
}

const listOf = (objects: Map<string, Stored>, query: URLSearchParams): string => {
  const after = query.get("continuation-token") ?? ""
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get("prefix") ?? "") && key > after).sort()
  const page = keys.slice(0, Math.min(50, Number(query.get("max-keys"))))
  const isCut = page.length < keys.length
  return `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult><IsTruncated>${isCut}</IsTruncated>${
    isCut ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ""
  }${page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join("")}</ListBucketResult>`
}

/** A bucket named `bucket`, by path. */
export const make = Effect.gen(function* () {
  const objects = new Map<string, Stored>()
  /** Copies are refused after the answer has begun, or their sources are gone. */
  const copies = { refuse: false, lose: false }
  const answer = (request: Http.IncomingMessage, body: Buffer, response: Http.ServerResponse): void => {
    const end = (status: number, headers: object = {}, content: Buffer | string = "") =>
      response.writeHead(status, { "x-amz-request-id": "REQ1", ...headers } as Http.OutgoingHttpHeaders).end(content)
    const url = new URL(request.url ?? "", "http://localhost")
    const key = url.pathname.slice("/bucket/".length)
    if (!isSigned(request, body)) return void end(403, {}, "<Error><Code>SignatureDoesNotMatch</Code></Error>")
    if (url.searchParams.has("list-type")) return void end(200, {}, listOf(objects, url.searchParams))
    if (request.method === "DELETE") {
      objects.delete(key)
      return void end(204)
    }
    const source = request.headers["x-amz-copy-source"]
    const found = objects.get(source === undefined ? key : String(source).slice("/bucket/".length))
    if (request.method === "PUT") {
      if (source === undefined) objects.set(key, { type: String(request.headers["content-type"]), body })
      else if (copies.refuse) return void end(200, {}, "<Error><Code>InternalError</Code></Error>")
      else if (found === undefined || copies.lose) return void end(404, {}, "<Error><Code>NoSuchKey</Code></Error>")
      else objects.set(key, found)
      return void end(200)
    }
    if (found === undefined) return void end(404, {}, "<Error><Code>NoSuchKey</Code></Error>")
    end(200, { "content-type": found.type, "content-length": found.body.length }, found.body)
  }
  const server = Http.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("error", () => undefined)
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => answer(request, Buffer.concat(chunks), response))
  })
  yield* Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  yield* Effect.addFinalizer(() =>
    Effect.async<void>((resume) => {
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    })
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, objects, copies }
})

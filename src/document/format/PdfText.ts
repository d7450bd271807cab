/**
 * Reads the text of a PDF page by page, by `unpdf` in a thread of its own, which is ended at the time limit. Streams
 * are inflated up to a bound before they are read, because the reader has none.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as WorkerThread from "../../internal/fiber/WorkerThread.js"
import { DocumentError } from "./DocumentError.js"
import type { Bounds, DocumentText } from "./DocumentText.js"

/** Bytes that all streams of a PDF inflate to at most. */
const MAX_INFLATED = 256 * 1024 * 1024

/** Runs in the thread, as CommonJS. */
const script = `
const { parentPort, workerData } = require("node:worker_threads")
const zlib = require("node:zlib")
const { bytes, maxCharacters, maxInflated, maxPages, unpdf } = workerData
const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

// How much the bytes inflate to, beyond the bound as Infinity. Filters may be repeated.
const inflated = (data, left, depth) => {
  if (depth === 4 || data.length < 2 || (data[0] & 15) !== 8 || ((data[0] << 8) | data[1]) % 31 !== 0) return 0
  try {
    const out = zlib.inflateSync(data, { maxOutputLength: Math.max(1, left), finishFlush: zlib.constants.Z_SYNC_FLUSH })
    return out.length + inflated(out, left - out.length, depth + 1)
  } catch (cause) {
    return cause && cause.code === "ERR_BUFFER_TOO_LARGE" ? Infinity : 0
  }
}

const isBomb = () => {
  let total = 0
  for (let at = file.indexOf("stream"); at >= 0; at = file.indexOf("stream", at + 6)) {
    let from = at + 6
    if (file[from] === 13) from++
    if (file[from] !== 10) continue
    total += inflated(file.subarray(from + 1), maxInflated - total, 0)
    if (total > maxInflated) return true
  }
  const names = file.toString("latin1").replace(/#([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  if (/\\/(?:Filter|F)\\s{0,9}\\[?[^\\]>]{0,99}\\/LZW/.test(names)) return true
  return /\\/(?:Filter|F)\\s{0,9}\\[?[^\\]>]{0,99}\\/(?:RunLength|RL)/.test(names) && (total + file.length) * 64 > maxInflated
}

const pageText = (items) => {
  let text = ""
  let last
  for (const item of items) {
    if (typeof item.str !== "string") continue
    const y = item.transform ? item.transform[5] : 0
    const height = item.height || 0
    // A gap of more than a line and a half begins a paragraph.
    if (last !== undefined && text.endsWith("\\n") && height > 0 && Math.abs(last - y) > height * 1.9) text += "\\n"
    text += item.str
    if (item.hasEOL) text += "\\n"
    if (item.str !== "") last = y
  }
  return text
}

const run = async () => {
  if (isBomb()) return { problem: "bomb" }
  const { getDocumentProxy } = require(unpdf)
  const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0, isEvalSupported: false, stopAtErrors: false })
  if (pdf.numPages > maxPages) return { problem: "pages", pages: pdf.numPages }
  let title = ""
  try {
    const { info } = await pdf.getMetadata()
    if (typeof info.Title === "string") title = info.Title
  } catch {}
  const pages = []
  let characters = 0
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number)
    const text = pageText((await page.getTextContent()).items).trim()
    page.cleanup()
    characters += text.length + 2
    if (characters > maxCharacters) return { problem: "characters" }
    pages.push(text)
  }
  return { pages, title }
}

run().then(
  (result) => parentPort.postMessage(result),
  (cause) => parentPort.postMessage({
    problem: cause && cause.name === "PasswordException" ? "encrypted" : "broken",
    cause: String((cause && cause.message) || cause).slice(0, 500)
  })
)
`

interface Pages {
  readonly pages: ReadonlyArray<string>
  readonly title: string
}

type Problem = "bomb" | "pages" | "characters" | "encrypted" | "broken" | "time" | "memory"

interface Refused {
  readonly problem: Problem
  readonly pages?: number | undefined
  readonly cause?: unknown
}

const failure = (document: string, bounds: Bounds, { cause, pages, problem }: Refused): DocumentError => {
  const fail = (reason: DocumentError["reason"], message: string, hint: string): DocumentError =>
    new DocumentError({ reason, document, message, hint, ...(cause === undefined ? {} : { cause }) })
  const split = "Split the PDF, or give its text"
  switch (problem) {
    case "bomb":
      return fail(
        "TooLarge",
        "The PDF unpacks to more bytes than are allowed, or packs them in a way without a bound",
        split
      )
    case "pages":
      return fail(
        "TooLarge",
        `The PDF has ${pages} pages; ${bounds.maxPages} are allowed`,
        "Split it, or raise `maxPages`"
      )
    case "characters":
      return fail(
        "TooLarge",
        `The PDF has more than ${bounds.maxCharacters} characters`,
        "Split it, or raise `maxCharacters`"
      )
    case "encrypted":
      return fail("Encrypted", "The PDF is encrypted with a password", "Give it without a password")
    case "time":
      return fail("TooLarge", `The PDF was not read within ${bounds.millis} ms`, "Split it, or raise `pdfMillis`")
    case "memory":
      return fail("TooLarge", "The PDF needs too much memory", split)
    case "broken":
      return fail(
        "Unreadable",
        "The bytes are not a PDF that can be read",
        "Open it in a viewer and print it to a new PDF"
      )
  }
}

const failureOf = (document: string, bounds: Bounds, thread: WorkerThread.Failure): DocumentError => {
  switch (thread._tag) {
    case "Missing":
      return new DocumentError({
        reason: "MissingPackage",
        document,
        message: "Reading PDF needs the package unpdf, which is not installed, and threads",
        hint: "npm install unpdf",
        cause: thread.cause
      })
    case "Exceeded":
      return failure(document, bounds, { problem: thread.limit })
    case "Broken":
      return failure(document, bounds, { problem: "broken", cause: thread.cause })
  }
}

const pagesOf = (document: string, bytes: Uint8Array, bounds: Bounds): Effect.Effect<Pages, DocumentError> =>
  WorkerThread.run<Pages | Refused>({
    script,
    packages: { unpdf: "unpdf" },
    data: {
      bytes: Uint8Array.from(bytes),
      maxInflated: MAX_INFLATED,
      maxPages: bounds.maxPages,
      maxCharacters: bounds.maxCharacters
    },
    millis: bounds.millis,
    maxHeapMb: 512
  }).pipe(
    Effect.mapError((thread) => failureOf(document, bounds, thread)),
    Effect.flatMap((answer) =>
      "problem" in answer ? Effect.fail(failure(document, bounds, answer)) : Effect.succeed(answer)
    )
  )

/**
 * @category conversions
 */
export const read = (name: string, bytes: Uint8Array, bounds: Bounds): Effect.Effect<DocumentText, DocumentError> =>
  Effect.map(pagesOf(name, bytes, bounds), ({ pages, title }) => {
    const starts: Array<number> = []
    let text = ""
    for (const page of pages) {
      if (text !== "") text += "\n\n"
      starts.push(text.length)
      text += page
    }
    const named = title.replace(/\s+/g, " ").trim().slice(0, 500)
    return { format: "pdf", syntax: "plain", text, pages: starts, ...(named === "" ? {} : { title: named }) }
  })

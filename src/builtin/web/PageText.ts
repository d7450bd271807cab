/**
 * Extracts the main text of a page, by `@mozilla/readability` over a `linkedom` document, in its own thread. Both need
 * quadratic time for some pages, so the thread is ended at the timeout.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as WorkerThread from "../../internal/fiber/WorkerThread.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly title: string
  /** Headings, lists and links in Markdown. */
  readonly text: string
  /** No article was found: the text is everything the page shows. */
  readonly whole: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly html: string
  /** Base of relative links. */
  readonly url: string
  readonly millis: number
}

/**
 * @since 0.1.0
 * @category models
 */
export type Failure =
  | { readonly _tag: "Exceeded"; readonly limit: "time" | "memory" }
  /** The packages are missing or failed on the page. */
  | { readonly _tag: "Broken"; readonly cause: unknown; readonly isMissing: boolean }

/** Runs in the thread, as CommonJS. */
const script = `
const { parentPort, workerData } = require("node:worker_threads")
const { html, linkedom, readability, url } = workerData
const { parseHTML } = require(linkedom)
const { Readability } = require(readability)

const hidden = new Set(["SCRIPT", "TITLE", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "SVG", "IFRAME", "OBJECT", "BUTTON", "SELECT", "INPUT", "TEXTAREA"])
const blocks = new Set(["ADDRESS", "ARTICLE", "ASIDE", "BLOCKQUOTE", "DD", "DIV", "DL", "DT", "FIGCAPTION", "FIGURE", "FOOTER", "FORM", "HEADER", "HR", "MAIN", "NAV", "OL", "P", "SECTION", "TABLE", "TR", "UL"])

const addressOf = (href) => {
  if (!href || href.startsWith("#") || !URL.canParse(href, url)) return undefined
  const address = new URL(href, url)
  return address.protocol === "http:" || address.protocol === "https:" ? address.href : undefined
}

const render = (root) => {
  const out = []
  // A stack of its own: pages may be nested deeper than calls can be.
  const todo = [root]
  let preformatted = 0
  const push = (...entries) => { for (let i = entries.length - 1; i >= 0; i--) todo.push(entries[i]) }
  while (todo.length > 0) {
    const node = todo.pop()
    if (typeof node === "string") { out.push(node); continue }
    if (typeof node === "number") { preformatted += node; continue }
    if (node.nodeType === 3) {
      out.push(preformatted > 0 ? node.data : node.data.replace(/\\s+/g, " "))
      continue
    }
    if (node.nodeType !== 1 && node.nodeType !== 9 && node.nodeType !== 11) continue
    const name = (node.tagName || "").toUpperCase()
    if (hidden.has(name)) continue
    const children = []
    for (let child = node.firstChild; child; child = child.nextSibling) children.push(child)
    const heading = /^H([1-6])$/.exec(name)
    if (heading) push("\\n\\n" + "#".repeat(Number(heading[1])) + " ", ...children, "\\n\\n")
    else if (name === "BR") push("\\n")
    else if (name === "LI") push("\\n- ", ...children)
    else if (name === "TD" || name === "TH") push(...children, " | ")
    else if (name === "PRE") push("\\n\\n", 1, ...children, -1, "\\n\\n")
    else if (name === "A") {
      const address = addressOf(node.getAttribute("href"))
      if (address === undefined) push(...children)
      else push("[", ...children, "](" + address + ")")
    } else if (blocks.has(name)) push("\\n\\n", ...children, "\\n\\n")
    else push(...children)
  }
  const lines = out.join("").split("\\n").map((line) => line.trimEnd())
  return lines.filter((line, i) => line !== "" || lines[i - 1] !== "").join("\\n").trim()
}

const { document } = parseHTML(/<html[\\s>]/i.test(html.slice(0, 4096)) ? html : "<!doctype html><html><body>" + html + "</body></html>")
const titleOf = () => (document.querySelector("title")?.textContent ?? "").replace(/\\s+/g, " ").trim()
const title = titleOf()
const all = document.cloneNode(true)
let article = null
try { article = new Readability(document).parse() } catch {}
const text = article && article.content ? render(parseHTML("<!doctype html><html><body>" + article.content + "</body></html>").document.body) : ""
parentPort.postMessage(
  text === "" ? { title, text: render(all.body ?? all), whole: true } : { title: (article.title || title).trim(), text, whole: false }
)
`

const failureOf = (thread: WorkerThread.Failure): Failure => {
  switch (thread._tag) {
    case "Missing":
      return { _tag: "Broken", cause: thread.cause, isMissing: true }
    case "Exceeded":
      return { _tag: "Exceeded", limit: thread.limit }
    case "Broken":
      return { _tag: "Broken", cause: thread.cause, isMissing: false }
  }
}

/**
 * Reads a page. The thread has ended when this effect has, interrupted or not.
 *
 * @since 0.1.0
 * @category conversions
 */
export const read = ({ html, millis, url }: Options): Effect.Effect<Page, Failure> =>
  Effect.mapError(
    WorkerThread.run<Page>({
      script,
      packages: { linkedom: "linkedom", readability: "@mozilla/readability" },
      data: { html, url },
      millis,
      maxHeapMb: 256
    }),
    failureOf
  )

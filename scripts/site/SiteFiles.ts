/** The built site as files: its pages, what they refer to, and a server on the loopback interface. */
import * as Fs from "node:fs"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Path from "node:path"
import { filesBelow, root } from "../layout.js"

export const folder = Path.join(root, ".site")

/** Paths of the pages, such as `adr/README.html`. */
export const pages = (): ReadonlyArray<string> => filesBelow(folder).filter((file) => file.endsWith(".html"))

const textOf = (html: string): string => html.replace(/&amp;/g, "&").replace(/&quot;/g, '"')

const attributes = (html: string, name: string): ReadonlyArray<string> =>
  Array.from(html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g")), ([, value]) => textOf(value ?? ""))

/**
 * Files and headings that a page refers to and that do not exist, and what it would load from another host. Each file is
 * read once.
 */
export const problemsIn = (read: (file: string) => string | undefined): ((page: string) => ReadonlyArray<string>) => {
  const anchors = new Map<string, ReadonlySet<string> | undefined>()
  const anchorsOf = (file: string): ReadonlySet<string> | undefined => {
    if (!anchors.has(file)) {
      const text = read(file)
      anchors.set(file, text === undefined ? undefined : new Set(attributes(text, "id")))
    }
    return anchors.get(file)
  }
  return (page) => {
    const html = read(page) ?? ""
    const loaded = Array.from(html.matchAll(/<(?:script|link|img|iframe)\s[^>]*(?:src|href)="(https?:[^"]*)"/g)).map(
      ([, address]) => `${page}: loads ${address}`
    )
    const links = new Set([...attributes(html, "href"), ...attributes(html, "src")])
    const broken = [...links].flatMap((link) => {
      if (/^[a-z]+:/.test(link)) return []
      const { hash, pathname } = new URL(link, `http://site/${page}`)
      const found = anchorsOf(decodeURIComponent(pathname.slice(1)).replace(/(^|\/)$/, "$1index.html"))
      if (found === undefined) return [`${page}: the link ${link} leads nowhere`]
      const anchor = decodeURIComponent(hash.slice(1))
      return anchor === "" || found.has(anchor) ? [] : [`${page}: the link ${link} names no heading`]
    })
    return [...loaded, ...broken]
  }
}

export const read = (file: string): string | undefined => {
  const path = Path.join(folder, file)
  return Fs.existsSync(path) && Fs.statSync(path).isFile() ? Fs.readFileSync(path, "utf8") : undefined
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8"
}

/** Serves the site until `close`. */
export const serve = async (): Promise<{ readonly url: string; readonly close: () => void }> => {
  const server = Http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site")
    const path = Path.join(folder, decodeURIComponent(pathname).replace(/\/$/, "/index.html"))
    if (!path.startsWith(folder) || !Fs.existsSync(path) || !Fs.statSync(path).isFile()) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { "content-type": types[Path.extname(path)] ?? "application/octet-stream" })
    Fs.createReadStream(path).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

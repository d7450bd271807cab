/**
 * A registry on the loopback interface that has the package as it would be published, and sends clients to the real registry for all
 * others. Some package managers install archives only by the names that a registry gives them.
 */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import * as Fs from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Path from "node:path"
import { root } from "../layout.js"

export interface LoopbackRegistry {
  readonly url: string
  readonly close: () => void
}

/** Packs `dist` into the folder. */
export const start = async (folder: string): Promise<LoopbackRegistry> => {
  const npm = (...args: ReadonlyArray<string>) => execFileSync("npm", args, { cwd: root, encoding: "utf8" }).trim()
  const file = npm("pack", "--silent", "--ignore-scripts", "--pack-destination", folder)
  const archive = Fs.readFileSync(Path.join(folder, file))
  const manifest = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8"))
  const { name, version } = manifest
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`
  const others = npm("config", "get", "registry").replace(/\/$/, "")
  const server = createServer(({ headers, url = "" }, response) => {
    if (url === `/${file}`) response.end(archive)
    else if (url === `/${name}`) {
      const dist = { integrity, tarball: `http://${headers.host}/${file}` }
      const versions = { [version]: { ...manifest, dist } }
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }))
    } else response.writeHead(307, { location: others + url }).end()
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close }
}

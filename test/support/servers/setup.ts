/**
 * Global setup of the tests: a port where a test file learns the address of the keeper of servers. The keeper starts on
 * the first request, so a run without servers does not pay for it. Missing backends are reported at the end with the
 * reason. The page of the studio is built once for all test files.
 */
import * as Fs from "node:fs"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Path from "node:path"
import type { TestProject } from "vitest/node"
import { buildStudio } from "../../../scripts/build/StudioPage.js"
import * as Keeper from "./Keeper.js"
import * as Lines from "./Lines.js"

declare module "vitest" {
  interface ProvidedContext {
    readonly testServers: number
  }
}

const buildPage = async (): Promise<string> => {
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-studio-"))
  await buildStudio(folder)
  return folder
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let keeper: Keeper.Keeper | undefined
  let page: Promise<string> | undefined
  const missing = new Map<string, string>()
  const server = Net.createServer((socket) => {
    socket.on("error", () => undefined)
    Lines.receive(socket, (message) => {
      if (message.operation === "missing") {
        missing.set(message.name, message.reason)
        Lines.send(socket, {})
      } else if (message.operation === "studio") {
        page ??= buildPage()
        page.then(
          (folder) => Lines.send(socket, { folder }),
          (error) => Lines.send(socket, { error: String(error) })
        )
      } else {
        keeper ??= Keeper.start()
        keeper.port.then(
          (port) => Lines.send(socket, { port }),
          (error) => Lines.send(socket, { error: String(error) })
        )
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  server.unref()
  project.provide("testServers", (server.address() as Net.AddressInfo).port)
  return async () => {
    server.close()
    await keeper?.end()
    const folder = await page?.catch(() => undefined)
    if (folder !== undefined) Fs.rmSync(folder, { recursive: true, force: true })
    for (const [name, reason] of missing) process.stderr.write(`skipped: the tests of ${name}: ${reason}\n`)
  }
}

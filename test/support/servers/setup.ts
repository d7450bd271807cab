/**
 * Global setup of the tests: a port where a test file learns the address of the keeper of servers. The keeper starts on
 * the first request, so a run without servers does not pay for it. Missing backends are reported at the end with the
 * reason.
 */
import * as Net from "node:net"
import type { TestProject } from "vitest/node"
import * as Keeper from "./Keeper.js"
import * as Lines from "./Lines.js"

declare module "vitest" {
  interface ProvidedContext {
    readonly testServers: number
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let keeper: Keeper.Keeper | undefined
  const missing = new Map<string, string>()
  const server = Net.createServer((socket) => {
    socket.on("error", () => undefined)
    Lines.receive(socket, (message) => {
      if (message.operation === "missing") {
        missing.set(message.name, message.reason)
        Lines.send(socket, {})
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
    for (const [name, reason] of missing) process.stderr.write(`skipped: the tests of ${name}: ${reason}\n`)
  }
}

/** Messages between processes of a test run: one JSON text per line. */
import type * as Net from "node:net"
import type { Readable } from "node:stream"

export const send = (socket: Net.Socket, message: unknown): void => {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`)
}

export const receive = (stream: Readable, onMessage: (message: any) => void): void => {
  let rest = ""
  stream.setEncoding("utf8")
  stream.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line !== "") onMessage(JSON.parse(line))
  })
}

/**
 * The folders of `src`, from the bottom up. A folder imports only folders of a lower rank.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"

export const root = Path.resolve(Path.dirname(fileURLToPath(import.meta.url)), "..")

export const ranks: ReadonlyMap<string, number> = new Map([
  ["internal", 0],
  ["domain", 1],
  ["observability", 2],
  ["llm", 3],
  ["prompt", 3],
  ["provider", 4],
  ["offline", 4],
  ["graph", 4],
  ["tool", 4],
  ["memory", 4],
  ["guard", 4],
  ["governance", 4],
  ["plan", 5],
  ["skill", 5],
  ["session", 5],
  ["strategy", 6],
  ["agent", 7],
  ["builtin", 8],
  ["persistence", 8],
  ["telemetry", 8],
  ["durable", 9],
  ["http", 10],
  ["cli", 10],
  ["mcp", 10],
  ["testing", 11]
])

const heaviestInRoot = 7

/** The root entry exports these folders; the others load heavy libraries or serve tests, and are entries of their own. */
export const inRootEntry = (folder: string): boolean => {
  const rank = ranks.get(folder)
  return rank !== undefined && rank > 0 && rank <= heaviestInRoot
}

/** Files below a folder, relative to it, with `/`, sorted; none when the folder does not exist. */
export const filesBelow = (folder: string): ReadonlyArray<string> =>
  Fs.existsSync(folder)
    ? Fs.readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => Path.relative(folder, Path.join(entry.parentPath, entry.name)).split(Path.sep).join("/"))
        .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
    : []

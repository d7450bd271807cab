/**
 * Runs blocks of pages that open with "```ts run", each as a program of its own in an empty folder, two at a time. A
 * program must end by itself with code 0 and print something. It gets no API key and no setting of the environment.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { root } from "../layout.js"

export interface Program {
  /** Where it stands, for the report. */
  readonly place: string
  readonly text: string
}

const limitMillis = 120_000
const atOnce = 2

const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^LEX|_API_KEY$/.test(name))),
  TSX_TSCONFIG_PATH: Path.join(root, "tsconfig.json")
}

const problemOf = async (file: string, cwd: string): Promise<string | undefined> => {
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "--import", import.meta.resolve("tsx"), file],
    { cwd, env, stdio: ["ignore", "pipe", "pipe"] }
  )
  let output = ""
  let printed = ""
  child.stdout.on("data", (chunk) => {
    printed += chunk
    output += chunk
  })
  child.stderr.on("data", (chunk) => {
    output += chunk
  })
  const timer = setTimeout(() => child.kill("SIGKILL"), limitMillis)
  const [code, signal] = (await once(child, "close")) as [number | null, string | null]
  clearTimeout(timer)
  if (code !== 0) return `ended with ${code ?? signal}\n${output}`
  return printed === "" ? "printed nothing" : undefined
}

/** The problems of the programs, as lines. */
export const problems = async (programs: ReadonlyArray<Program>): Promise<ReadonlyArray<string>> => {
  // Outside of `node_modules`, where the paths of `tsconfig.json` do not apply.
  const folder = Path.join(root, "test-results", "docs")
  Fs.rmSync(folder, { recursive: true, force: true })
  Fs.mkdirSync(folder, { recursive: true })
  const found: Array<string> = []
  const queue = programs.entries()
  const worker = async (): Promise<void> => {
    for (const [i, { place, text }] of queue) {
      const file = Path.join(folder, `${i}.ts`)
      Fs.writeFileSync(file, text)
      const cwd = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-docs-"))
      const problem = await problemOf(file, cwd)
      Fs.rmSync(cwd, { recursive: true, force: true })
      if (problem !== undefined) found.push(`${place}: ${problem}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  Fs.rmSync(folder, { recursive: true, force: true })
  return found
}

/**
 * Runs every examples/*.ts, every examples/strategies/*.ts and the applications in folders, each in its own process: it
 * must end by itself with code 0 and print something. It gets no API key and no environment setting, so an example
 * behaves the same everywhere.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { root } from "./layout.js"

const limitMillis = 180_000
const atOnce = 2

interface Outcome {
  readonly problem: string | undefined
  readonly output: string
  readonly millis: number
}

/** Data written by examples is removed after the run. */
const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-examples-"))

const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^LEX_|_API_KEY$/.test(name))),
  LEXIGRAM_DEMO_FILE: Path.join(folder, "demo.db")
}

const run = async (example: string): Promise<Outcome> => {
  const started = performance.now()
  const [file = "", ...options] = example.split(" ")
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "--import", "tsx", Path.join("examples", file), ...options],
    {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "pipe"]
    }
  )
  const chunks: Array<Buffer> = []
  let printed = false
  child.stdout.on("data", (chunk: Buffer) => {
    printed = true
    chunks.push(chunk)
  })
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk))
  let late = false
  const timer = setTimeout(() => {
    late = true
    child.kill("SIGKILL")
  }, limitMillis)
  const [code, signal] = (await once(child, "close")) as [number | null, string | null]
  clearTimeout(timer)
  const problem = late
    ? `still runs after ${limitMillis / 1000} s`
    : code !== 0
      ? `ended with ${code ?? signal}`
      : printed
        ? undefined
        : "printed nothing"
  return { problem, output: Buffer.concat(chunks).toString("utf8"), millis: performance.now() - started }
}

const wanted = process.argv.slice(2)
const strategies = Fs.readdirSync(Path.join(root, "examples", "strategies"))
  .filter((file) => file !== "sample.ts")
  .map((file) => `strategies/${file}`)
/** With the arguments that they end by. */
const applications = ["support-desk/main.ts", "support-desk/main.ts --evals"]
const files = [...Fs.readdirSync(Path.join(root, "examples")), ...strategies, ...applications]
  .filter((file) => /\.ts(?: |$)/.test(file) && (wanted.length === 0 || wanted.some((part) => file.includes(part))))
  .sort()

let failed = 0
const queue = files.values()
const worker = async (): Promise<void> => {
  for (const file of queue) {
    const { problem, output, millis } = await run(file)
    if (problem !== undefined) failed++
    console.log(
      `${problem === undefined ? "ok  " : "FAIL"} ${file} (${Math.round(millis)} ms)${problem ? `: ${problem}` : ""}`
    )
    if (problem !== undefined) console.log(output)
  }
}
await Promise.all(Array.from({ length: atOnce }, worker))
Fs.rmSync(folder, { recursive: true, force: true })

console.log(`${files.length - failed} of ${files.length} examples ran.`)
if (failed > 0 || files.length === 0) process.exitCode = 1

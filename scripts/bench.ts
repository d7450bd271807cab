/**
 * Runs bench/main.ts as plain JavaScript in its own process. It is bundled first: a TypeScript runner names every
 * closure when it is created, which costs more than the measured work.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { build } from "esbuild"
import { root } from "./layout.js"

const outfile = Path.join(root, "node_modules", ".cache", `bench-${process.pid}.mjs`)
await build({
  entryPoints: [Path.join(root, "bench", "main.ts")],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  packages: "external",
  logLevel: "error"
})
const child = spawn(process.execPath, ["--expose-gc", outfile, ...process.argv.slice(2)], {
  stdio: "inherit",
  cwd: root
})
const [code] = (await once(child, "exit")) as [number | null]
await Fs.rm(outfile, { force: true })
process.exitCode = code ?? 1

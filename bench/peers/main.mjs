/**
 * `npm run bench:peers`: the library as it is packed beside its peers, on one workload, in alternated processes.
 *
 * `--rounds=5` processes a figure, `--only=<part of a row's name>`, `--subjects=a,b`, `--node=<path>` another Node.js,
 * `--json` prints the rows alone. Installs the pinned peers beside this file when they are not there. The results are
 * written to `bench/results/`.
 */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { draw } from "./chart.mjs"
import { bundles, rows } from "./rows.mjs"

const here = Path.dirname(fileURLToPath(import.meta.url))
const root = Path.resolve(here, "../..")
const argument = (name) => process.argv.find((given) => given.startsWith(`--${name}=`))?.slice(name.length + 3)
const rounds = Number(argument("rounds") ?? 5)
const node = argument("node") ?? process.execPath
const only = argument("only") ?? ""
const chosen = argument("subjects")?.split(",")
const say = (text) => process.stderr.write(`${text}\n`)

const must = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"], encoding: "utf8" })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed in ${cwd}`)
}

/** Installs the peers and the library as it would be published. */
const install = () => {
  if (!Fs.existsSync(Path.join(root, "dist"))) must("npm", ["run", "build"], root)
  const packed = spawnSync("npm", ["pack", "--json", "--pack-destination", Os.tmpdir()], {
    cwd: root,
    encoding: "utf8"
  })
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf("[")))
  const file = Path.join(Os.tmpdir(), Path.basename(filename))
  must(
    "npm",
    [
      "install",
      "--no-save",
      "--no-package-lock",
      "--no-audit",
      "--no-fund",
      "--legacy-peer-deps",
      "--loglevel=error",
      file
    ],
    here
  )
  Fs.rmSync(file)
}

const startServer = async () => {
  const child = spawn(process.execPath, [Path.join(here, "server.mjs")], { stdio: ["ignore", "pipe", "inherit"] })
  const [address] = await once(child.stdout, "data")
  return { address: String(address).trim(), stop: () => child.kill() }
}

/** One process of a row; its figure, or why there is none. */
const measure = ({ file, kind, options, otlp, row, scale = 1, url }, subject, server) => {
  const { deltas = 0, perChunk = 1, steps } = options
  const database = Path.join(Os.tmpdir(), `bench-peers-${process.pid}-${Date.now()}.db`)
  const given = {
    ...options,
    ...(url ? { url: `${server}/${steps}/${deltas}/${perChunk}` } : {}),
    ...(otlp ? { otlp: server } : {}),
    ...(file ? { file: database } : {})
  }
  const started = performance.now()
  const { status, stderr, stdout } = spawnSync(
    node,
    ["--expose-gc", Path.join(here, "worker.mjs"), subject, kind, JSON.stringify(given)],
    { encoding: "utf8", timeout: 240_000, maxBuffer: 2 ** 26 }
  )
  const wall = performance.now() - started
  for (const suffix of ["", "-wal", "-shm"]) Fs.rmSync(database + suffix, { force: true })
  const line = stdout.trim().split("\n").at(-1)
  if (status !== 0) {
    say(`${row} / ${subject}: ${(stderr || stdout).trim().slice(-400)}`)
    return undefined
  }
  const { cpu, heap, rss } = JSON.parse(line)
  return kind === "cold" ? { value: wall, more: rss } : { value: cpu * scale, more: heap }
}

const fold = (row, subject, unit, values) => {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b)
  const round = (value) => Number(value.toPrecision(4))
  return {
    row,
    subject,
    unit,
    median: round(sorted[Math.floor(sorted.length / 2)]),
    min: round(sorted[0]),
    max: round(sorted.at(-1)),
    runs: sorted.length
  }
}

/** All processes of a row: each round takes every subject once, and begins with another one. */
const measureRow = (spec, server) => {
  const subjects = spec.subjects.filter((subject) => chosen === undefined || chosen.includes(subject))
  const samples = new Map(subjects.map((subject) => [subject, []]))
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < subjects.length; i++) {
      const subject = subjects[(i + round) % subjects.length]
      const sample = measure(spec, subject, server)
      if (sample !== undefined) samples.get(subject).push(sample)
    }
  }
  return [...samples].flatMap(([subject, all]) => {
    if (all.length === 0) return []
    const figure = fold(
      spec.row,
      subject,
      spec.unit,
      all.map(({ value }) => value)
    )
    say(
      `${figure.row.padEnd(36)} ${subject.padEnd(18)} ${figure.median} ${figure.unit} (${figure.min} to ${figure.max})`
    )
    const unit = spec.kind === "cold" ? "MB" : spec.heap
    if (unit === undefined) return [figure]
    const name = spec.kind === "cold" ? "peak memory of one run" : spec.row
    return [
      figure,
      fold(
        `${name}, ${unit}`,
        subject,
        unit,
        all.map(({ more }) => more)
      )
    ]
  })
}

/** The gzipped bytes of an agent's entry and of the chunks that it imports statically. */
const bundle = async (subject) => {
  const { build } = await import("esbuild")
  const { metafile, outputFiles } = await build({
    entryPoints: [Path.join(here, "bundles", `${subject}.mjs`)],
    outdir: Path.join(here, "out"),
    bundle: true,
    minify: true,
    splitting: true,
    format: "esm",
    platform: "node",
    write: false,
    // The packed library, not its sources.
    tsconfigRaw: {},
    metafile: true,
    logLevel: "error",
    banner: { js: "import{createRequire as $r}from'node:module';const require=$r(import.meta.url);" }
  })
  const names = Object.keys(metafile.outputs)
  const reached = new Set(names.filter((name) => metafile.outputs[name].entryPoint !== undefined).slice(0, 1))
  for (const name of reached) {
    for (const { kind, path } of metafile.outputs[name].imports) {
      if (kind === "import-statement" && metafile.outputs[path] !== undefined) reached.add(path)
    }
  }
  const files = outputFiles.filter(({ path }) => [...reached].some((name) => path.endsWith(Path.basename(name))))
  const bytes = gzipSync(Buffer.concat(files.map(({ contents }) => contents))).length
  return fold("a bundle with one tool, gzip", subject, "kB", [bytes / 1000])
}

install()
const { address, stop } = await startServer()
const measured = []
try {
  for (const spec of rows) if (spec.row.includes(only)) measured.push(...measureRow(spec, address))
  if ("bundle".includes(only) || only.includes("bundle")) for (const one of bundles) measured.push(await bundle(one))
} finally {
  stop()
}
const machine = { node: spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim(), cpu: Os.cpus()[0]?.model }
const results = Path.join(root, "bench", "results")
Fs.mkdirSync(results, { recursive: true })
if (only === "" && chosen === undefined) {
  const name = `peers-node${machine.node.split(".")[0].slice(1)}`
  Fs.writeFileSync(Path.join(results, `${name}.json`), `${JSON.stringify({ machine, rows: measured }, null, 1)}\n`)
  Fs.writeFileSync(Path.join(results, `${name}.svg`), draw(measured))
}
if (process.argv.includes("--json")) console.log(JSON.stringify(measured))

/**
 * `npm run bench:peers`: the library as it is packed beside its peers, on one workload, in alternated processes.
 *
 * `--rounds=5` processes a figure, `--rows=step1,http` rows by their ids, `--subjects=a,b`, `--node=<path>` another
 * Node.js, `--built` takes `dist` as it is, `--quick` hardly warms, `--out=<folder>` instead of `bench/results`, `--json` prints the rows, `--page` writes
 * `docs/performance.md` from the results that are there and measures nothing. The rows that were measured replace those
 * of the same name in `<out>/<version of Node.js>.json`.
 */
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { draw } from "./chart.mjs"
import { install } from "./install.mjs"
import { measureRow, say, withPostgres, withServer } from "./measure.mjs"
import { writePage } from "./page.mjs"
import { here, root } from "./places.mjs"
import { rows, still } from "./rows.mjs"
import { measureStill } from "./still.mjs"

const argument = (name) => process.argv.find((given) => given.startsWith(`--${name}=`))?.slice(name.length + 3)
const has = (name) => process.argv.includes(`--${name}`)
const rounds = Number(argument("rounds") ?? 5)
const node = argument("node") ?? process.execPath
const ids = argument("rows")?.split(",")
const subjects = argument("subjects")?.split(",")
const out = Path.resolve(argument("out") ?? Path.join(root, "bench", "results"))

const known = [...rows.map(({ id }) => id), ...still]
const unknown = ids?.filter((id) => !known.includes(id)) ?? []
if (unknown.length > 0 || !(rounds >= 1)) {
  say(unknown.length > 0 ? `No row ${unknown.join(", ")}. Rows: ${known.join(", ")}` : "The rounds are no number")
  process.exit(1)
}

const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim()

const machine = () => ({
  node: version,
  cpu: Os.cpus()[0]?.model ?? "unknown",
  cores: Os.availableParallelism(),
  memory: `${Math.round(Os.totalmem() / 2 ** 30)} GiB`,
  system: `${Os.type()} ${Os.release()}`
})

const versions = () => {
  const { dependencies } = JSON.parse(Fs.readFileSync(Path.join(here, "package.json"), "utf8"))
  const own = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8"))
  return { "effect-lexigram": own.version, ...dependencies }
}

/** Puts the rows in place of those with their names. */
const keep = (measured) => {
  Fs.mkdirSync(out, { recursive: true })
  const file = Path.join(out, `${version}.json`)
  const known = Fs.existsSync(file) ? JSON.parse(Fs.readFileSync(file, "utf8")) : undefined
  const earlier = known?.rows ?? []
  const { cpu } = machine()
  const isNew = ({ row, subject }) => measured.some((one) => one.row === row && one.subject === subject)
  const all = [...earlier.filter((one) => !isNew(one)), ...measured.map((one) => ({ ...one, cpu }))]
  // That of most rows: those of another one say so.
  const most = all.some((one) => one.cpu === undefined) ? known.machine : machine()
  Fs.writeFileSync(file, `${JSON.stringify({ machine: most, versions: versions(), rows: all }, null, 2)}\n`)
  Fs.writeFileSync(Path.join(out, `${version}.svg`), draw(all, `Node.js ${version}`))
}

const measureAll = async () => {
  install(has("built"))
  const began = performance.now()
  const measured = []
  const take = (some) => {
    measured.push(...some)
    keep(measured)
  }
  const isChosen = (id) => ids === undefined || ids.includes(id)
  for (const id of still) if (isChosen(id)) take(await measureStill[id]())
  const measure = (server, postgres) => {
    for (const spec of rows) {
      if (!isChosen(spec.id)) continue
      const from = performance.now()
      take(measureRow(spec, { rounds, subjects, node, server, postgres, quick: has("quick") }))
      say(`${spec.id}: ${((performance.now() - from) / 1000).toFixed(0)} s`)
    }
  }
  const needsPostgres = rows.some(({ id, postgres }) => postgres === true && isChosen(id))
  await withServer((server) =>
    needsPostgres ? withPostgres((postgres) => measure(server, postgres)) : measure(server, undefined)
  )
  say(`${((performance.now() - began) / 60_000).toFixed(1)} minutes`)
  if (has("json")) console.log(JSON.stringify(measured))
}

if (!has("page")) await measureAll()
if (has("page") || out === Path.join(root, "bench", "results")) writePage(out)

/** Runs the processes of a row and folds their figures. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { here, root } from "./places.mjs"
import { slow } from "./rows.mjs"

export const say = (text) => process.stderr.write(`${text}\n`)

const startServer = async () => {
  const child = spawn(process.execPath, [Path.join(here, "server.mjs")], { stdio: ["ignore", "pipe", "inherit"] })
  const [address] = await once(child.stdout, "data")
  return { address: String(address).trim(), stop: () => child.kill() }
}

/** Uses the loopback server, in a process of its own. */
export const withServer = async (use) => {
  const { address, stop } = await startServer()
  try {
    return await use(address)
  } finally {
    stop()
  }
}

/** Uses a server of Postgres: that of `TEST_PG_URL`, or one that is started and stopped. Without one, `use` gets nothing. */
export const withPostgres = async (use) => {
  const given = process.env.TEST_PG_URL
  if (given) return use(given)
  const child = spawn(process.execPath, ["--import", "tsx", Path.join(here, "postgres.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
    cwd: root
  })
  try {
    const [address] = await once(child.stdout, "data")
    return await use(String(address).trim() || undefined)
  } finally {
    child.stdin.end()
    await once(child, "exit")
  }
}

const optionsOf = ({ file, options, otlp, postgres, url }, { database, postgresUrl, quick, server }) => {
  const { deltas = 0, perChunk = 1, steps } = options
  return {
    ...options,
    ...(quick ? { quick } : {}),
    ...(url ? { url: `${server}/${steps}/${deltas}/${perChunk}` } : {}),
    ...(otlp ? { otlp: server } : {}),
    ...(file ? { file: database } : {}),
    ...(postgres ? { postgres: postgresUrl } : {})
  }
}

/** The modules of a process that has ended, by its record of coverage. */
const modulesOf = (folder) =>
  Fs.readdirSync(folder)
    .map((name) => JSON.parse(Fs.readFileSync(Path.join(folder, name), "utf8")).result)
    .reduce((most, { length }, _, all) => Math.max(most, length, all[0].length), 0)

/** The figures of one process, or undefined with a word on why there are none. */
const run = (spec, subject, { node, postgres, quick, server }) => {
  if (spec.postgres && postgres === undefined) {
    say(`${spec.id} / ${subject}: no server of Postgres`)
    return undefined
  }
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "bench-peers-"))
  try {
    const given = optionsOf(spec, { database: Path.join(folder, "bench.db"), quick, server, postgresUrl: postgres })
    const args = ["--expose-gc", Path.join(here, "worker.mjs"), subject, spec.kind, JSON.stringify(given)]
    const coverage = Path.join(folder, "coverage")
    const env = { ...process.env, NODE_NO_WARNINGS: "1", ...(spec.counts ? { NODE_V8_COVERAGE: coverage } : {}) }
    const started = performance.now()
    const { status, stderr, stdout } = spawnSync(node, args, { encoding: "utf8", timeout: 300_000, env })
    const wall = performance.now() - started
    if (status !== 0) {
      say(`${spec.id} / ${subject}: ${(stderr || stdout || "no end").trim().slice(-400)}`)
      return undefined
    }
    return spec.counts ? { modules: modulesOf(coverage) } : { ...JSON.parse(stdout.trim().split("\n").at(-1)), wall }
  } finally {
    Fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** One row of results: the median of the values, and how far they lie apart. */
export const fold = (row, subject, unit, values) => {
  const sorted = [...values].sort((a, b) => a - b)
  const round = (value) => Number(value.toPrecision(4))
  const median = round(sorted[Math.floor(sorted.length / 2)])
  const result = { row, subject, unit, median, min: round(sorted[0]), max: round(sorted.at(-1)), runs: sorted.length }
  say(`${row.padEnd(46)} ${subject.padEnd(16)} ${median} ${unit} (${result.min} to ${result.max})`)
  return result
}

const modules = [{ row: "start to the end of a run, modules", unit: "modules", of: "modules", scale: 1 }]

/** All processes of a row: each round takes every subject once, and begins with another one. */
export const measureRow = (spec, { rounds, subjects: chosen, ...context }) => {
  const subjects = spec.subjects.filter((subject) => chosen === undefined || chosen.includes(subject))
  const samples = new Map(subjects.map((subject) => [subject, []]))
  for (let round = 0; round < Math.min(rounds, spec.rounds ?? rounds); round++) {
    for (let i = 0; i < subjects.length; i++) {
      const subject = subjects[(i + round) % subjects.length]
      if (round >= (slow[subject] ?? rounds)) continue
      const sample = run(spec, subject, context)
      if (sample !== undefined) samples.get(subject).push(sample)
    }
  }
  return (spec.figures ?? modules).flatMap(({ of, row, scale, unit }) =>
    [...samples].flatMap(([subject, all]) =>
      all.length === 0
        ? []
        : [
            fold(
              row,
              subject,
              unit,
              all.map((sample) => sample[of] * scale)
            )
          ]
    )
  )
}

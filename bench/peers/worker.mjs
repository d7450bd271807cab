/**
 * Measures one row of one subject in a process of its own: `node worker.mjs <subject> <kind> <json options>`. Prints
 * `{ cpu, wall, heap }`: microseconds a unit, and kilobytes of heap for each concurrent run.
 */
import { isRight } from "./workload.mjs"

const [, , subject, kind, given] = process.argv
const options = JSON.parse(given)
const cpuMicros = () => {
  const { system, user } = process.cpuUsage()
  return user + system
}
const { make } = await import(`./subjects/${subject}.mjs`)
const made = await make(options)

const checkedRun = async () => {
  const text = await made.run()
  if (!isRight(text, options.steps)) throw new Error(`wrong answer: ${JSON.stringify(text)}`)
}
const checkedStream = async () => {
  const seen = await made.stream()
  if (seen !== options.deltas) throw new Error(`${seen} of ${options.deltas} deltas`)
}

/** Repeats for a time of CPU, and at least a few times: slow subjects are warmed as long as fast ones are measured. */
const repeat = async (effect, millis, least) => {
  const cpu = cpuMicros()
  const wall = performance.now()
  let times = 0
  while (times < least || cpuMicros() - cpu < millis * 1000) {
    await effect()
    times++
  }
  return { cpu: (cpuMicros() - cpu) / times, wall: ((performance.now() - wall) * 1000) / times }
}

const perUnit = async (effect, units) => {
  await repeat(effect, options.warm ?? 1_500, 20)
  const { cpu, wall } = await repeat(effect, options.measure ?? 1_000, 5)
  return { cpu: cpu / units, wall: wall / units }
}

const all = (count) => Promise.all(Array.from({ length: count }, checkedRun))

/** All runs of a row at once, with the peak of the heap. */
const concurrent = async () => {
  await all(200)
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  let peak = before
  const look = () => {
    peak = Math.max(peak, process.memoryUsage().heapUsed)
  }
  const watch = setInterval(look, 20)
  const cpu = cpuMicros()
  const wall = performance.now()
  await all(options.count)
  look()
  clearInterval(watch)
  const heap = (peak - before) / options.count / 1000
  return { cpu: cpuMicros() - cpu, wall: (performance.now() - wall) * 1000, heap }
}

const kinds = {
  step: () => perUnit(checkedRun, options.steps),
  stream: () => perUnit(checkedStream, options.deltas),
  concurrent,
  /** One run, for the wall time of the whole process. */
  cold: checkedRun
}

const result = (await kinds[kind]()) ?? { rss: process.resourceUsage().maxRSS / 1000 }
console.log(`\n${JSON.stringify(result)}`)
await made.dispose?.()
process.exit(0)

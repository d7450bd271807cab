/**
 * Measures one row of one subject in a process of its own: `node worker.mjs <subject> <kind> <json options>`. Prints the
 * figures as JSON: `cpu` and `time` are microseconds a unit.
 */
import { isRight } from "./workload.mjs"

const [, , subject, kind, given] = process.argv
const options = JSON.parse(given)
const cpuMicros = () => {
  const { system, user } = process.cpuUsage()
  return user + system
}

const make = async (changes) => {
  if (kind === "search") return (await import("./search.mjs")).make(options)
  return (await import(`./subjects/${subject}.mjs`)).make({ ...options, ...changes })
}

const checkRun = (made, steps) => async () => {
  const text = await made.run()
  if (!isRight(text, steps)) throw new Error(`wrong answer: ${JSON.stringify(text)}`)
}

const checkStream = (made) => async () => {
  const seen = await made.stream()
  if (seen !== options.deltas) throw new Error(`${seen} of ${options.deltas} deltas`)
}

/** Repeats until `enough` of the repetitions and of the CPU time in milliseconds. */
const repeat = async (effect, enough) => {
  const began = performance.now()
  const from = cpuMicros()
  let times = 0
  do {
    await effect()
    times++
  } while (!enough(times, (cpuMicros() - from) / 1000))
  return { cpu: (cpuMicros() - from) / times, time: ((performance.now() - began) * 1000) / times }
}

/** Warms by the number of units, within a limit of time: a time alone would leave slow subjects cold. */
const perUnit = async (effect, units, warmUnits) => {
  const { quick = false, warmMillis = 4_000 } = options
  const [least, most, measured] = quick ? [200, 400, 200] : [700, warmMillis, 500]
  await repeat(effect, (times, cpu) => cpu >= most || (cpu >= least && times * units >= warmUnits))
  globalThis.gc()
  // A whole collection takes the hidden classes of dead objects, and with them the code that was compiled for them.
  await repeat(effect, (_, cpu) => cpu >= least)
  const { cpu, time } = await repeat(effect, (times, cpu) => cpu >= measured && times >= (quick ? 1 : 2))
  return { cpu: cpu / units, time: time / units }
}

/** All runs of a row at once: their CPU time, and in a second pass, after a whole collection, the peak of the heap. */
const concurrent = async (made) => {
  const run = checkRun(made, options.steps)
  const all = (count) => Promise.all(Array.from({ length: count }, run))
  const least = options.quick ? 200 : 1_000
  await repeat(
    () => all(100),
    (times, cpu) => times * 100 >= least || cpu >= 2_000
  )
  const { cpu } = await repeat(
    () => all(options.count),
    () => true
  )
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  let peak = before
  const look = () => {
    peak = Math.max(peak, process.memoryUsage().heapUsed)
  }
  const watch = setInterval(look, 20)
  await all(options.count)
  look()
  clearInterval(watch)
  return { cpu, heap: (peak - before) / options.count / 1000 }
}

/** What runs of ten and of twenty more steps send to the database. */
const statements = async () => {
  const watched = await (await import("./statements.mjs")).watch()
  const sent = async (steps) => {
    const made = await make({ steps })
    await checkRun(made, steps)()
    await made.settled?.()
    const before = watched()
    await checkRun(made, steps)()
    await made.settled?.()
    const after = watched()
    await made.dispose()
    return { statements: after.statements - before.statements, commits: after.commits - before.commits }
  }
  const { steps } = options
  const [few, many] = [await sent(steps), await sent(3 * steps)]
  const of = (name) => (many[name] - few[name]) / (2 * steps)
  return {
    statements: of("statements"),
    commits: of("commits"),
    besides: few.statements - steps * of("statements"),
    besidesCommits: few.commits - steps * of("commits")
  }
}

const measure = async () => {
  if (kind === "statements") return statements()
  if (kind === "served") return (await import("./served.mjs")).measure(subject, options)
  const made = await make()
  const { deltas, steps } = options
  const kinds = {
    step: () => perUnit(checkRun(made, steps), steps, options.warm ?? 8_000),
    // A run waits for its database most of the time.
    durable: () => perUnit(checkRun(made, steps), steps, options.warm ?? 1_000),
    stream: () => perUnit(checkStream(made), deltas, 40_000),
    search: () => perUnit(made.search, 1, 20),
    concurrent: () => concurrent(made),
    /** One run, of which the whole process counts. */
    cold: async () => {
      await checkRun(made, steps)()
      return { cpu: cpuMicros(), rss: process.resourceUsage().maxRSS / 1000 }
    }
  }
  const figures = await kinds[kind]()
  await made.dispose?.()
  return figures
}

console.log(`\n${JSON.stringify(await measure())}`)
process.exit(0)

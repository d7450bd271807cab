/**
 * Processes with a queue and schedules that tests kill, a model that counts what it is asked, and what must hold of the
 * traces that they leave.
 */
import * as Fs from "node:fs"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as RunQueue from "../../src/agent/dispatch/RunQueue.js"
import type * as RunSchedules from "../../src/agent/dispatch/RunSchedules.js"
import * as RunSchedule from "../../src/agent/record/RunSchedule.js"
import * as ExactJson from "../../src/persistence/engine/ExactJson.js"
import * as Programs from "./Programs.js"
import type { Answer, Call, Input } from "./programs/DispatchRunner.js"
import type { SeededRandom } from "./SeededRandom.js"

/** A minute of the schedules in milliseconds of the machine is 60,000 divided by it. */
const factor = 60

export const MINUTE = 60_000

export const queue = { concurrency: 4, perOwner: 3, perAgent: 3, lease: "2 seconds", poll: "100 millis" } as const

/** In time of the schedules. */
export const schedules = { poll: "12 seconds", tolerance: "2 minutes", maxCatchUp: 1000 } as const

const tolerance = 2 * MINUTE

export const ann = { userId: "ann" }

/** What the model answers to the agents, step by step. */
const steps: Record<string, ReadonlyArray<string>> = {
  writer: ["begin", "pay", "finish"],
  critic: ["begin", "pay", "finish"],
  reporter: ["pay"]
}

/** A model on loopback that counts what it is asked. */
export const model = Effect.gen(function* () {
  const asked = new Map<string, number>()
  const http = yield* Effect.acquireRelease(
    Effect.async<Http.Server>((resume) => {
      const made = Http.createServer((request, response) => {
        let body = ""
        request.on("data", (chunk) => {
          body += chunk
        })
        request.on("end", () => {
          const { agent, runId, step } = JSON.parse(body)
          asked.set(`${runId} ${step}`, (asked.get(`${runId} ${step}`) ?? 0) + 1)
          const tool = steps[agent]?.[step]
          response.setHeader("content-type", "application/json")
          response.end(JSON.stringify((tool === undefined ? {} : { tool }) satisfies Answer))
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.sync(() => {
        made.closeAllConnections()
        made.close()
      })
  )
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    /** Calls that were made again. */
    repeated: () => Array.from(asked.values()).reduce((sum, times) => sum + times - 1, 0),
    asked
  }
})

export interface Process extends Programs.Program {
  readonly name: string
  /** What it answers, or `undefined` if it ended before, or if its database was too busy. */
  readonly call: (call: Call) => Effect.Effect<any>
}

export interface Given {
  readonly name: string
  readonly database: Input["database"]
  readonly effects: string
  readonly model: string
  /** The time at which the clock of the schedules shows that of the machine. */
  readonly from: number
}

export const start = (program: string, given: Given): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { from, ...rest } = given
    const running = yield* Programs.start(program, {
      ...rest,
      queue,
      schedules,
      clock: { from, factor }
    } satisfies Input)
    assert.strictEqual(yield* running.hear, "ready")
    const open = new Map<number, Deferred.Deferred<any>>()
    let isOver = false
    let calls = 0
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.flatMap(running.hear, ({ failed, number, value }) => {
          const waiting = open.get(number)
          open.delete(number)
          if (waiting === undefined) return Effect.void
          return failed === undefined
            ? Deferred.succeed(waiting, value)
            : Deferred.die(waiting, new Error(`${given.name}: ${failed}`))
        })
      ).pipe(
        // A process that ends, or a scope that closes before it is heard of, leaves nobody waiting.
        Effect.ensuring(
          Effect.suspend(() => {
            isOver = true
            return Effect.forEach(open.values(), (one) => Deferred.succeed(one, undefined), { discard: true })
          })
        ),
        Effect.catchAllDefect(() => Effect.void)
      )
    )
    return {
      ...running,
      name: given.name,
      call: (call) =>
        Effect.flatMap(Deferred.make<any>(), (answered) =>
          Effect.suspend(() => {
            if (isOver) return Effect.succeed(undefined)
            const number = calls++
            open.set(number, answered)
            return Effect.zipRight(running.say({ ...call, number }), Deferred.await(answered))
          })
        )
    }
  })

/** Asks processes until one of them answers; there may be none for a while. */
export const ask = (random: SeededRandom, living: ReadonlyArray<Process>, call: Call): Effect.Effect<any> =>
  Effect.suspend(() => (living.length === 0 ? Effect.succeed(undefined) : random.pick(living).call(call))).pipe(
    Effect.tap((answer) => (answer === undefined ? Effect.sleep("50 millis") : Effect.void)),
    Effect.repeat({ until: (answer) => answer !== undefined })
  )

export type Request = RunQueue.EnqueueRequest & { readonly runId: string; readonly userId: string }

/** Runs of two agents for three owners, with priorities. */
export const requests = (random: SeededRandom, count: number): ReadonlyArray<Request> =>
  Array.from({ length: count }, (_, number) => ({
    runId: `queued-${number}`,
    agent: random.pick(["writer", "writer", "critic"]),
    input: "Work",
    userId: random.pick(["ann", "ann", "bob", "cleo"]),
    priority: random.below(5)
  }))

/** One schedule for each policy about missed firings, and one that is paused for a while. */
export const plans: ReadonlyArray<RunSchedules.CreateRequest & { readonly id: string }> = (
  [
    ["skip", "skip"],
    ["once", "once"],
    ["all", "all"],
    ["pausing", "all"]
  ] as const
).map(([id, missed]) => ({ id, missed, agent: "reporter", input: "Report", cron: "* * * * *", ...ann }))

const claims = (owner: string, agent: string, rank: string, run: string, n: string) => `
  SELECT ${n} ${run}, ${owner}, ${agent},
    (SELECT COUNT(*) FROM lex_queue WHERE state = 2),
    (SELECT COUNT(*) FROM lex_queue WHERE state = 2 AND owner = ${owner}),
    (SELECT COUNT(*) FROM lex_queue WHERE state = 2 AND agent = ${agent}),
    (SELECT COUNT(*) FROM lex_queue WHERE state = 1 AND owner = ${owner} AND agent = ${agent} AND rank < ${rank})`

const tables = (key: string) => [
  `CREATE TABLE claim_audit (n ${key}, run_id TEXT, owner TEXT, agent TEXT, every_one INT, of_owner INT, of_agent INT,
    passed INT)`,
  `CREATE TABLE schedule_audit (n ${key}, before TEXT, after TEXT)`
]

const claimColumns = "claim_audit (run_id, owner, agent, every_one, of_owner, of_agent, passed)"
const claimValues = claims("NEW.owner", "NEW.agent", "NEW.rank", "NEW.run_id", "")

/** From now on the database notes each claim, what else is claimed then, and each change of a schedule. */
export const audit = (dialect: "sqlite" | "postgres"): ReadonlyArray<string> =>
  dialect === "sqlite"
    ? [
        ...tables("INTEGER PRIMARY KEY AUTOINCREMENT"),
        `CREATE TRIGGER claim_audit AFTER UPDATE ON lex_queue WHEN OLD.state = 1 AND NEW.state = 2
          BEGIN INSERT INTO ${claimColumns} ${claimValues}; END`,
        `CREATE TRIGGER schedule_audit AFTER UPDATE ON lex_run_schedules
          BEGIN INSERT INTO schedule_audit (before, after) VALUES (OLD.body, NEW.body); END`
      ]
    : [
        ...tables("SERIAL"),
        `CREATE FUNCTION note_claim() RETURNS TRIGGER AS $$
          BEGIN INSERT INTO ${claimColumns} ${claimValues}; RETURN NULL; END $$ LANGUAGE plpgsql`,
        `CREATE TRIGGER claim_audit AFTER UPDATE ON lex_queue FOR EACH ROW WHEN (OLD.state = 1 AND NEW.state = 2)
          EXECUTE FUNCTION note_claim()`,
        `CREATE FUNCTION note_schedule() RETURNS TRIGGER AS $$
          BEGIN INSERT INTO schedule_audit (before, after) VALUES (OLD.body, NEW.body); RETURN NULL; END $$
          LANGUAGE plpgsql`,
        `CREATE TRIGGER schedule_audit AFTER UPDATE ON lex_run_schedules FOR EACH ROW EXECUTE FUNCTION note_schedule()`
      ]

/** A row if nothing waits, goes on or is due. */
export const isOver = `SELECT 1 AS over WHERE NOT EXISTS (SELECT 1 FROM lex_queue)
  AND NOT EXISTS (SELECT 1 FROM lex_run_records WHERE ended_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM lex_run_schedules WHERE due_at IS NOT NULL)`

type Rows = ReadonlyArray<Record<string, unknown>>

/** Reads the database by SQL. */
export type Read = (sql: string) => Effect.Effect<Rows>

interface Line {
  readonly name: string
  readonly tool: string
  readonly runId: string
}

export const linesOf = (file: string): ReadonlyArray<Line> =>
  Fs.readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", tool = "", runId = ""] = line.split(" ")
      return { name, tool, runId }
    })

/**
 * The most runs that went on at once, of each group. A run goes on from its first `begin` to its first `finish`, in
 * whichever processes: a frozen process that repeats a step of a run that has ended elsewhere does not count again.
 */
export const mostAtOnce = (lines: ReadonlyArray<Line>, groupOf: (runId: string) => string): Map<string, number> => {
  const going = new Map<string, Set<string>>()
  const most = new Map<string, number>()
  const over = new Set<string>()
  for (const { runId, tool } of lines) {
    if (!runId.startsWith("queued-") || over.has(runId)) continue
    const group = groupOf(runId)
    const set = going.get(group) ?? new Set()
    going.set(group, set)
    if (tool === "begin") set.add(runId)
    if (tool !== "finish") {
      most.set(group, Math.max(most.get(group) ?? 0, set.size))
      continue
    }
    set.delete(runId)
    over.add(runId)
  }
  return most
}

/** What a process did again that must not be repeated; `frozen` are processes that were stopped and went on. */
export const paidTwice = (lines: ReadonlyArray<Line>, frozen: ReadonlySet<string>): ReadonlyArray<string> => {
  const paid = lines.filter(({ name, tool }) => tool === "pay" && !frozen.has(name)).map(({ runId }) => runId)
  return paid.filter((runId, index) => paid.indexOf(runId) !== index)
}

interface Change {
  readonly before: RunSchedule.RunSchedule
  readonly after: RunSchedule.RunSchedule
}

/** The firings of a decision, from the next one before it until the next one after it. */
const dueOf = ({ after, before }: Change): ReadonlyArray<number> => {
  const first = before.nextAt ?? 0
  return Array.from({ length: ((after.nextAt ?? 0) - first) / MINUTE }, (_, i) => first + i * MINUTE)
}

/**
 * Whether a decision keeps to the policy. The process looked at its clock between the last firing that is due and the
 * next one, so that of one firing at most nobody else knows whether it was late.
 */
const isLawful = (change: Change): boolean => {
  const { after, before } = change
  const due = dueOf(change)
  const starts = after.pending
  const last = due.at(-1)
  if (last === undefined) return false
  if (before.missed === "all") return JSON.stringify(starts) === JSON.stringify(due)
  const inTime = due.filter((at) => at >= last + MINUTE - tolerance).length
  const perhaps = due.filter((at) => at >= last - tolerance).length
  const lawful = [inTime, perhaps].map((count) =>
    before.missed === "once" ? Math.min(due.length, count + 1) : Math.min(due.length, count)
  )
  return (
    lawful.includes(starts.length) && JSON.stringify(starts) === JSON.stringify(due.slice(due.length - starts.length))
  )
}

export interface Firings {
  /** The ids of runs that the schedules decided to start. */
  readonly runs: ReadonlyArray<string>
  /** Those that a pause dropped: some process may have been about to start them. */
  readonly perhaps: ReadonlyArray<string>
  /** How many firings each policy left out. */
  readonly missed: Readonly<Record<string, number>>
  /** The times from a pause until the firing after it. */
  readonly pauses: ReadonlyArray<{ readonly id: string; readonly from: number; readonly to: number }>
}

const changes = (read: Read): Effect.Effect<ReadonlyArray<Change>> =>
  Effect.map(read("SELECT before, after FROM schedule_audit ORDER BY n"), (rows) =>
    rows.map(({ after, before }) => ({
      before: ExactJson.decode(String(before)) as RunSchedule.RunSchedule,
      after: ExactJson.decode(String(after)) as RunSchedule.RunSchedule
    }))
  )

/** Checks each decision about firings against its policy, and the pauses. */
export const checkFirings = (read: Read): Effect.Effect<Firings> =>
  Effect.map(changes(read), (all) => {
    const runs: Array<string> = []
    const perhaps: Array<string> = []
    const missed: Record<string, number> = {}
    const pauses: Array<Firings["pauses"][number]> = []
    const paused = new Map<string, number>()
    for (const change of all) {
      const { after, before } = change
      const { id } = after
      if (before.state === "paused") {
        assert.includeMembers([...before.pending], [...after.pending], `${id} decides nothing while it is paused`)
        if (after.state === "active") {
          pauses.push({ id, from: paused.get(id) ?? 0, to: after.nextAt ?? 0 })
        }
      } else if (after.state === "paused") {
        paused.set(id, after.updatedAt)
        const dropped = before.pending.filter((at) => !after.pending.includes(at))
        perhaps.push(...dropped.map((at) => RunSchedule.runIdOf(before, at)))
      } else if (before.nextAt !== after.nextAt) {
        const due = dueOf(change)
        const said = JSON.stringify({ due, starts: after.pending, now: after.updatedAt })
        assert.isTrue(isLawful(change), `${id}: ${said}`)
        missed[id] = (missed[id] ?? 0) + due.length - after.pending.length
        runs.push(...after.pending.map((at) => RunSchedule.runIdOf(after, at)))
      }
    }
    return { runs: runs.filter((runId) => !perhaps.includes(runId)), perhaps, missed, pauses }
  })

/** Waits until what came due in a pause of the processes is decided: a busy machine takes its time. */
export const decided = (read: Read): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.repeat(Effect.delay(checkFirings(read), "100 millis"), {
      until: ({ missed: { once = 0, skip = 0 } }) => once > 0 && skip > 0
    }).pipe(Effect.timeout("2 minutes"), Effect.orDie)
  )

/** Checks the claims in the database; gives the most of each kind. */
export const checkClaims = (read: Read, given: ReadonlyArray<Request>): Effect.Effect<void> =>
  Effect.map(read("SELECT * FROM claim_audit ORDER BY n"), (rows) => {
    assert.sameMembers(
      rows.map(({ run_id }) => run_id),
      given.map(({ runId }) => runId),
      "each run is claimed once"
    )
    const most = (column: string) => Math.max(...rows.map((row) => Number(row[column])))
    assert.strictEqual(most("every_one"), queue.concurrency)
    assert.isAtMost(most("of_owner"), queue.perOwner)
    assert.isAtMost(most("of_agent"), queue.perAgent)
    assert.strictEqual(most("passed"), 0, "no run passes one of its owner and agent with a higher priority")
  })

/** Checks runs by the steps that they left in the file, in the order in which they were written. */
export const checkEffects = (
  lines: ReadonlyArray<Line>,
  given: ReadonlyArray<Request>,
  firings: ReadonlyArray<string>,
  frozen: ReadonlySet<string>
): void => {
  const requestOf = new Map(given.map((request) => [request.runId, request]))
  assert.isAtMost(mostAtOnce(lines, () => "all").get("all") ?? 0, queue.concurrency)
  for (const [owner, most] of mostAtOnce(lines, (runId) => requestOf.get(runId)?.userId ?? "")) {
    assert.isAtMost(most, queue.perOwner, owner)
  }
  for (const [agent, most] of mostAtOnce(lines, (runId) => requestOf.get(runId)?.agent ?? "")) {
    assert.isAtMost(most, queue.perAgent, agent)
  }
  assert.deepStrictEqual(paidTwice(lines, frozen), [])
  assert.sameMembers(
    Array.from(new Set(lines.filter(({ tool }) => tool === "pay").map(({ runId }) => runId))),
    [...given.map(({ runId }) => runId), ...firings],
    "each run paid, and no other did"
  )
}

/** Checks that exactly these runs are known, and that each of them ended once and well. */
export const checkRecords = (read: Read, runs: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const records = yield* read("SELECT run_id, state FROM lex_run_records")
    assert.sameMembers(
      records.map(({ run_id, state }) => `${run_id} ${state}`),
      runs.map((runId) => `${runId} completed`)
    )
    const ends = yield* read(
      `SELECT run_id FROM lex_run_events WHERE body LIKE '%"_tag":"Finished"%' OR body LIKE '%"_tag":"Error"%'`
    )
    assert.sameMembers(
      ends.map(({ run_id }) => run_id),
      [...runs]
    )
  })

/** Checks all of it; what it returns is for the log of the test. */
export const check = (given: {
  readonly read: Read
  readonly effects: string
  readonly requests: ReadonlyArray<Request>
  readonly frozen: ReadonlySet<string>
}) =>
  Effect.gen(function* () {
    const { effects, frozen, read, requests } = given
    yield* checkClaims(read, requests)
    const { missed, pauses, perhaps, runs } = yield* checkFirings(read)
    const known = new Set((yield* read("SELECT run_id FROM lex_run_records")).map(({ run_id }) => String(run_id)))
    const fired = [...runs, ...perhaps.filter((runId) => known.has(runId))]
    assert.strictEqual(new Set(fired).size, fired.length, "each firing is decided once")
    yield* checkRecords(read, [...requests.map(({ runId }) => runId), ...fired])
    const lines = linesOf(effects)
    checkEffects(lines, requests, fired, frozen)
    for (const { from, id, to } of pauses) {
      assert.isAbove(to - from, MINUTE, "the pause is longer than a period")
      const plan = yield* read(`SELECT body FROM lex_run_schedules WHERE id = '${id}'`)
      const { key } = ExactJson.decode(String(plan[0]?.["body"])) as RunSchedule.RunSchedule
      const within = fired.filter((runId) => {
        const [of, at] = runId.split("@")
        return of === key && Number(at) > from && Number(at) < to
      })
      assert.deepStrictEqual(within, [], `firings of ${id} within its pause`)
    }
    assert.isAbove(missed["skip"] ?? 0, 0, "the policy `skip` left firings out")
    assert.isAbove(missed["once"] ?? 0, 0, "the policy `once` left firings out")
    assert.strictEqual(missed["all"], 0, "the policy `all` left nothing out")
    return { runs: fired.length, missed, pauses: pauses.length, stale: staleOf(lines) }
  })

/** Steps of runs that had ended, by processes that had been frozen. */
const staleOf = (lines: ReadonlyArray<Line>): number => {
  const over = new Set<string>()
  let stale = 0
  for (const { runId, tool } of lines) {
    if (over.has(runId)) stale++
    if (tool === "finish") over.add(runId)
  }
  return stale
}

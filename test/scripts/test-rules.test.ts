import { assert, describe, it } from "@effect/vitest"
import { problems } from "../../scripts/test-rules.js"

const check = (text: string, file = "tool/Tool.test.ts"): ReadonlyArray<string> => problems(new Map([[file, text]]))

const growth = "measure growth with test/support/Growth.ts"
const program = "use a program of test/support/programs, which has a process of its own"
const env = "set variables in vitest.config.ts, or give them to the child"

describe("test-rules", () => {
  it.each([
    ["assert.isBelow(performance.now() - from, 5)", "performance.now", growth],
    ["const cpu = process.cpuUsage()", "process.cpuUsage", growth],
    ["process.memoryUsage().rss", "process.memoryUsage", growth],
    ["process.hrtime.bigint()", "process.hrtime", growth],
    ["globalThis.process.resourceUsage()", "process.resourceUsage", growth],
    ["const took = Date.now() - from", "a difference of Date.now()", growth],
    ["while (until > Date.now());", "a difference of Date.now()", growth],
    [
      "const f = clock.unsafeCurrentTimeMillis(); assert.isBelow(clock.unsafeCurrentTimeMillis() - f, 9)",
      "an upper bound of a time of the machine",
      growth
    ],
    [
      "const took = (yield* Clock.currentTimeMillis) - from; assert.isAtMost(took, 9)",
      "an upper bound of a time of the machine",
      growth
    ],
    [
      "let m = 0; m = Math.max(m, clock.unsafeCurrentTimeMillis() - from); assert.isBelow(m, 9)",
      "an upper bound of a time of the machine",
      growth
    ],
    ["it.live('x', () => Effect.timed(effect))", "Effect.timed on the live clock", growth],
    ["(process as unknown as Handles)._getActiveHandles()", "process._getActiveHandles", program],
    ["process['getActiveResourcesInfo']()", "process.getActiveResourcesInfo", program],
    ["process.on('exit', () => {})", "process.on", program],
    ["process.listenerCount('exit')", "process.listenerCount", program],
    ["process.chdir('/')", "process.chdir", program],
    ["process.env.KEY = 'x'", "a variable of the process", env],
    ["process.env['KEY'] ??= 'x'", "a variable of the process", env],
    ["process.env = {}", "a variable of the process", env],
    ["delete process.env.KEY", "a variable of the process", env],
    ["Object.assign(process.env, { KEY: 'x' })", "a variable of the process", env],
    ["vi.stubEnv('KEY', 'x')", "vi.stubEnv", env]
  ])("rejects %s", (text, what, instead) => {
    assert.deepStrictEqual(check(`const a = 1;\n${text}`), [`tool/Tool.test.ts:2: ${what}: ${instead}`])
  })

  it("lets a test read its environment, write dates and measure virtual time", () => {
    for (const text of [
      "const path = process.env.PATH",
      "spawn('x', { env: { ...process.env, KEY: 'x' } })",
      "process.kill(pid, 'SIGKILL')",
      "const at = Date.now()",
      "assert.isAtLeast(clock.unsafeCurrentTimeMillis() - from, 80)",
      "const now = yield* Clock.currentTimeMillis; assert.isBelow(costs.length, 9)",
      "TestClock.adjust(5); assert.isBelow((yield* Clock.currentTimeMillis) - from, 9)",
      "it.effect('x', () => Effect.timed(effect))",
      "const text = 'performance.now() - from'",
      "events.on('exit', () => {})"
    ]) {
      assert.deepStrictEqual(check(text), [], text)
    }
  })

  it("lets programs and the measure of growth inspect their process", () => {
    for (const file of ["support/programs/One.ts", "support/servers/Keeper.ts", "support/Growth.ts"]) {
      assert.deepStrictEqual(check("process.on('exit', () => process.cpuUsage())", file), [])
    }
    assert.lengthOf(check("process.cpuUsage()", "support/Growth.test.ts"), 1)
  })
})

import * as PlatformError from "@effect/platform/Error"
import * as Terminal from "@effect/platform/Terminal"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { RunId } from "../../../src/domain/Ids.js"
import * as ApprovalConsole from "../../../src/tool/approval/ApprovalConsole.js"
import type * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import { request } from "./ApprovalStoreSuite.js"

/** A terminal somebody types at: keys reach whoever reads at that moment, as at a real one. */
const makeTerminal = (options?: { readonly columns?: number; readonly isTTY?: boolean; readonly fails?: boolean }) => {
  const readers = new Set<Mailbox.Mailbox<Terminal.UserInput>>()
  let screen = ""
  const terminal: Terminal.Terminal = {
    columns: Effect.succeed(options?.columns ?? 80),
    rows: Effect.succeed(25),
    isTTY: Effect.succeed(options?.isTTY ?? true),
    readLine: Effect.fail(new Terminal.QuitException()),
    readInput: Effect.acquireRelease(
      Effect.tap(Mailbox.make<Terminal.UserInput>(), (mailbox) => Effect.sync(() => readers.add(mailbox))),
      (mailbox) => Effect.sync(() => readers.delete(mailbox))
    ),
    display: (text) =>
      options?.fails === true
        ? Effect.fail(
            new PlatformError.SystemError({ reason: "Unknown", module: "Terminal", method: "display", description: "" })
          )
        : Effect.sync(() => {
            screen += text
          })
  }
  const press = (name: string, input: string | undefined, ctrl = false) => {
    const key = { name, ctrl, meta: false, shift: false }
    for (const reader of readers) reader.unsafeOffer({ input: Option.fromNullable(input), key })
  }
  const type = (text: string) =>
    Effect.zipRight(
      Effect.sync(() => {
        for (const character of text) {
          if (character === "\r") press("return", "\r")
          else if (character === "\n") press("enter", "\n")
          else if (character === "\b") press("backspace", "\b")
          else press(character, character)
        }
      }),
      TestClock.adjust(0)
    )
  return {
    terminal,
    press,
    type,
    quit: Effect.zipRight(
      Effect.sync(() => {
        for (const reader of readers) reader.unsafeDone(Exit.void)
      }),
      TestClock.adjust(0)
    ),
    screen: () => screen,
    readers
  }
}

const open = (terminal: Parameters<typeof makeTerminal>[0] = {}, options?: ApprovalConsole.Options) =>
  Effect.gen(function* () {
    const keyboard = makeTerminal(terminal)
    const gate = yield* Effect.provideService(ApprovalConsole.make(options), Terminal.Terminal, keyboard.terminal)
    const ask = (asked: ApprovalGate.ApprovalRequest) =>
      Effect.tap(Effect.fork(gate.request(asked)), () => TestClock.adjust(0))
    return { ...keyboard, gate, ask }
  })

describe("ApprovalConsole", () => {
  it.effect("shows the requester and the call, and y allows it", () =>
    Effect.gen(function* () {
      const { ask, readers, screen, type } = yield* open()
      const fiber = yield* ask(request("a", { reason: "it is a lot" }))
      assert.include(screen(), '"clerk" wants to call "pay"\nReason: it is a lot\n  | {\n  |   "amount": 5,\n')
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* type("Y\r")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Approved" })
      assert.strictEqual(readers.size, 0)
    })
  )

  it.effect("denies on n, with an optional reason", () =>
    Effect.gen(function* () {
      const { ask, type } = yield* open()
      const first = yield* ask(request("a"))
      yield* type("no\rtoo mush\b\bch\r")
      assert.deepStrictEqual(yield* Fiber.join(first), { _tag: "Denied", reason: "too much" })
      const second = yield* ask(request("b"))
      yield* type("n\r\n\r\n")
      assert.deepStrictEqual(yield* Fiber.join(second), { _tag: "Denied", reason: "Denied at the terminal" })
    })
  )

  it.effect("accepts other arguments on e, and asks again if they are not JSON", () =>
    Effect.gen(function* () {
      const { ask, screen, type } = yield* open()
      const fiber = yield* ask(request("a"))
      yield* type("e\r{amount\r")
      assert.include(screen(), "not JSON")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* type('e\r{"amount":1}\r')
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Approved", params: { amount: 1 } })
    })
  )

  it.effect(
    "allows on a the tool with equal arguments to the agent in this run, including queued calls, and asks for others",
    () =>
      Effect.gen(function* () {
        const { ask, gate, screen, type } = yield* open()
        const first = yield* ask(request("a", { params: { amount: 5, to: "Ann" } }))
        const inLine = yield* ask(request("b", { params: { to: "Ann", amount: 5 } }))
        yield* type("a\r")
        assert.strictEqual((yield* Fiber.join(first))._tag, "Approved")
        assert.strictEqual((yield* Fiber.join(inLine))._tag, "Approved")
        assert.strictEqual(screen().split("wants to call").length, 2)
        const others = [
          { amount: 5_000_000, to: "Ann" },
          { amount: 5, to: "Eve" },
          { amount: 5 },
          {},
          undefined,
          () => 1
        ]
        for (const [index, params] of others.entries()) {
          const fiber = yield* ask(request(`other-${index}`, { params }))
          assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)), `asked for ${String(JSON.stringify(params))}`)
          yield* Fiber.interrupt(fiber)
        }
        const again = request("c", { runId: RunId.make("run-7"), params: { amount: 5, to: "Ann" } })
        assert.strictEqual((yield* gate.request(again))._tag, "Approved")
      })
  )

  it.effect("allows on a only one call outside of runs", () =>
    Effect.gen(function* () {
      const { rootRunId: _, ...outside } = request("a", { runId: "" as RunId })
      const { ask, type } = yield* open()
      const first = yield* ask(outside)
      yield* type("a\r")
      yield* Fiber.join(first)
      const second = yield* ask({ ...outside, id: "b" })
      assert.isTrue(Option.isNone(yield* Fiber.poll(second)))
      yield* Fiber.interrupt(second)
    })
  )

  it.effect("asks again for other arguments under a decided id", () =>
    Effect.gen(function* () {
      const { ask, type } = yield* open()
      const first = yield* ask(request("a"))
      yield* type("y\r")
      yield* Fiber.join(first)
      const second = yield* ask(request("a", { params: { amount: 5_000_000 } }))
      assert.isTrue(Option.isNone(yield* Fiber.poll(second)))
      yield* Fiber.interrupt(second)
    })
  )

  it.effect("allows on t the tool with any arguments to the agent in this run, including queued calls", () =>
    Effect.gen(function* () {
      const { ask, gate, screen, type } = yield* open()
      const first = yield* ask(request("a"))
      const inLine = yield* ask(request("b", { params: { amount: 6 } }))
      yield* type("t\r")
      assert.strictEqual((yield* Fiber.join(first))._tag, "Approved")
      assert.strictEqual((yield* Fiber.join(inLine))._tag, "Approved")
      assert.strictEqual((yield* gate.request(request("c", { runId: RunId.make("run-7") })))._tag, "Approved")
      assert.strictEqual(screen().split("wants to call").length, 2)
      for (const over of [{ rootRunId: RunId.make("run-9") }, { tool: "wire" }, { agent: "other" }]) {
        const fiber = yield* ask(request(`d-${JSON.stringify(over)}`, over))
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* Fiber.interrupt(fiber)
      }
    })
  )

  it.effect("ignores other input, and input typed before the question", () =>
    Effect.gen(function* () {
      const { ask, screen, type } = yield* open()
      yield* type("y\r")
      const fiber = yield* ask(request("a"))
      yield* type("\rmaybe\ryy\r")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      assert.strictEqual(screen().split("Please answer").length, 4)
      yield* type("y\ry\r")
      yield* Fiber.join(fiber)
      const second = yield* ask(request("b"))
      assert.isTrue(Option.isNone(yield* Fiber.poll(second)))
      yield* Fiber.interrupt(second)
    })
  )

  it.effect("asks one question at a time; withdraws an interrupted one and asks the next", () =>
    Effect.gen(function* () {
      const { ask, readers, screen, type } = yield* open()
      const first = yield* ask(request("a", { tool: "one" }))
      const second = yield* ask(request("b", { tool: "two" }))
      const third = yield* ask(request("c", { tool: "three" }))
      assert.notInclude(screen(), '"two"')
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust(0)
      assert.include(screen(), "withdrawn")
      assert.notInclude(screen(), '"two"')
      assert.include(screen(), '"three"')
      assert.strictEqual(readers.size, 1)
      yield* type("y\r")
      assert.strictEqual((yield* Fiber.join(third))._tag, "Approved")
    })
  )

  it.effect("denies at the end of input and on Ctrl-C", () =>
    Effect.gen(function* () {
      const { ask, press, quit } = yield* open()
      const first = yield* ask(request("a"))
      yield* quit
      const decision = yield* Fiber.join(first)
      assert.include(decision._tag === "Denied" ? decision.reason : "", "input ended")
      const second = yield* ask(request("b"))
      press("c", "\u0003", true)
      assert.strictEqual((yield* Fiber.join(second))._tag, "Denied")
    })
  )

  it.effect("denies on a terminal without output", () =>
    Effect.gen(function* () {
      const { gate } = yield* open({ fails: true })
      assert.strictEqual((yield* gate.request(request("a")))._tag, "Denied")
    })
  )

  it.effect("gives the same decision for the same id", () =>
    Effect.gen(function* () {
      const { ask, gate, type } = yield* open()
      const fiber = yield* ask(request("a"))
      yield* type("n\rno\r")
      assert.deepStrictEqual(yield* gate.request(request("a")), yield* Fiber.join(fiber))
    })
  )

  it.effect("shows no text of a model or a tool name as the prompt or as hidden text", () =>
    Effect.gen(function* () {
      const { ask, screen } = yield* open({ columns: 40 })
      const forged = "Allow it? [y]es, [n]o: "
      const fiber = yield* ask(
        request("a", {
          agent: `x\n${forged}`,
          tool: "t\u001b[2J\u202e",
          reason: `r\r\n${forged}`,
          params: { path: `/etc\u001b[1A\u001b[2K\r\n${forged}\u009b2J${" ".repeat(200)}${forged}\u200b`, "k\ney": 1 }
        })
      )
      const lines = screen().split("\n")
      assert.notMatch(lines.join(""), /[\p{Cc}\p{Cf}]/u)
      assert.strictEqual(lines.filter((line) => line.startsWith("Allow it?")).length, 1)
      for (const line of lines.filter((line) => line.startsWith("  | "))) assert.isAtMost(line.length, 40)
      assert.include(screen(), "\\u001b[1A")
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("hides credentials and text beyond the limit", () =>
    Effect.gen(function* () {
      const { ask, screen } = yield* open({}, { maxChars: 500 })
      const fiber = yield* ask(
        request("a", { params: { header: "Bearer abcdefghijklmnop", filler: "x ".repeat(50_000), last: "unseen" } })
      )
      assert.notInclude(screen(), "abcdefghijklmnop")
      assert.include(screen(), "[REDACTED]")
      assert.notInclude(screen(), "unseen")
      assert.match(screen(), /\(\d+ more characters not shown\)/)
      assert.isBelow(screen().length, 1500)
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("echoes input where the terminal does not, without cursor controls", () =>
    Effect.gen(function* () {
      const shown = (isTTY: boolean) =>
        Effect.gen(function* () {
          const { ask, screen, type } = yield* open({ isTTY })
          const fiber = yield* ask(request("a"))
          const before = screen().length
          yield* type("yes\u001b\u202e\r")
          yield* Fiber.join(fiber)
          return screen().slice(before)
        })
      assert.strictEqual(yield* shown(true), "yes\n")
      assert.strictEqual(yield* shown(false), "")
    })
  )

  it.effect("bounds the memory of an endless line", () =>
    Effect.gen(function* () {
      const { ask, type } = yield* open({ isTTY: false })
      const fiber = yield* ask(request("a"))
      yield* type("n\r")
      yield* type(`${"x".repeat(100_100)}\r`)
      const decision = yield* Fiber.join(fiber)
      assert.strictEqual(decision._tag === "Denied" ? decision.reason?.length : 0, 100_000)
    })
  )
})

/**
 * An order-support agent: `npm run demo -- "Where is my order 1042?"`, or `npm run demo` for a conversation. The
 * conversation is stored in a SQLite file (`.lexigram/demo.db`, or the value of `LEXIGRAM_DEMO_FILE`), so that the next
 * run continues it; `npm run demo -- --forget` erases it.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import { ApprovalGate, Ids } from "effect-lexigram"
import { OfflineModel } from "effect-lexigram/offline"
import { Lexigram, OwnerData } from "effect-lexigram/persistence"
import { SessionManager } from "effect-lexigram/session"
import * as Chat from "./demo/Chat.js"
import * as Models from "./demo/Models.js"
import * as OrderStore from "./demo/OrderStore.js"
import * as Printer from "./demo/Printer.js"
import * as SupportAgent from "./demo/SupportAgent.js"
import * as Terminal from "./demo/Terminal.js"

const asked = process.argv.slice(2).join(" ").trim()
const forgets = asked === "--forget"
const question = forgets ? "" : asked

const file = process.env.LEXIGRAM_DEMO_FILE ?? ".lexigram/demo.db"
const conversation: Chat.Conversation = { userId: Ids.UserId.make("customer"), sessionId: "support" }

/**
 * Returns require approval in an interactive terminal; elsewhere they are approved, since they only change this
 * process.
 */
const approvals = (terminal: Terminal.Terminal, shown: Queue.Dequeue<void>) => {
  if (!terminal.interactive) return ApprovalGate.layerAutoApprove
  const oneByOne = Effect.unsafeMakeSemaphore(1).withPermits(1)
  return ApprovalGate.layer(({ params, tool }) =>
    Effect.gen(function* () {
      // Events arrive a moment late: the question must follow the call it is about.
      yield* Queue.take(shown)
      const line = yield* terminal.readLine(`      allow ${tool} ${Printer.plain(JSON.stringify(params))}? [y/N] `)
      return Option.exists(line, (text) => /^y(es)?$/i.test(text.trim()))
        ? ApprovalGate.approve()
        : ApprovalGate.deny({ reason: "the customer said no" })
    }).pipe(oneByOne)
  )
}

/** The last question of an earlier run. */
const lastTime = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const { sessionId, userId } = conversation
  const id = Ids.SessionId.make(sessionId)
  if (Option.isNone(yield* sessions.get(id, { userId }))) return undefined
  return (yield* sessions.turns(id, { last: 20, userId })).findLast(({ role }) => role === "user")?.content
})

const forget = Effect.flatMap(OwnerData.OwnerData, (data) => data.erase(conversation.userId))

/** Returns the exit code. */
const program = Effect.gen(function* () {
  const terminal = yield* Terminal.make({ reads: question === "" && !forgets })
  const chosen = yield* Models.choose()
  const shown = yield* Queue.unbounded<void>()
  const printer = Printer.make({
    write: terminal.write,
    colors: terminal.colors,
    chosen,
    onApproval: () => shown.unsafeOffer(undefined)
  })
  const shop = yield* OrderStore.shop
  const agent = SupportAgent.make(shop)

  terminal.write(`${shop.shop}, support. Model: ${chosen.model} (${chosen.provider}).\n`)
  if (chosen.embedded) terminal.write(`${OfflineModel.notice}\n`)
  if (question === "" && !forgets && terminal.interactive) {
    terminal.write('Ask about orders 1031 to 1047, parcels, products or policies; "exit" ends.\n')
  }

  const work = Effect.gen(function* () {
    if (forgets) {
      yield* forget
      terminal.write("Everything of you is erased.\n")
      return 0
    }
    const before = yield* lastTime
    if (before !== undefined) terminal.write(`Welcome back. Last time you asked: ${Printer.plain(before)}\n`)
    return question === ""
      ? yield* Chat.converse({ agent, conversation, printer, terminal })
      : yield* Effect.as(Chat.ask({ agent, conversation, printer, question }), 0)
  })
  const services = Layer.merge(
    OrderStore.layer,
    Lexigram.layerSqlite({ file, createDirectories: true, approvals: approvals(terminal, shown) }).pipe(
      Layer.provide(chosen.layer)
    )
  )
  const outcome = yield* work.pipe(
    Effect.provide(services),
    Effect.either,
    Effect.raceFirst(Effect.as(terminal.interrupted, Either.right(0)))
  )
  if (Either.isLeft(outcome)) printer.error(outcome.left)
  terminal.write(`\n${Models.hint(chosen)}\n`)
  return Either.match(outcome, { onLeft: () => 1, onRight: (failures) => (failures > 0 ? 1 : 0) })
}).pipe(Effect.scoped)

NodeRuntime.runMain(
  Effect.map(program, (code) => {
    process.exitCode = code
  })
)

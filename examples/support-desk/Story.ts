/** Conversations from beginning to end, in two lives of the application on the same files. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Runs } from "effect-lexigram/agent"
import { GovernanceControl } from "effect-lexigram/governance"
import { PendingApprovals } from "effect-lexigram/tool"
import * as Orders from "./Orders.js"
import * as ScriptedModel from "./ScriptedModel.js"
import * as Staff from "./Staff.js"
import * as SupportDesk from "./SupportDesk.js"

/** The desk did something else than the story tells. */
export class StoryError extends Schema.TaggedError<StoryError>()("StoryError", { message: Schema.String }) {}

const expect = (what: string, found: string, expected: RegExp): Effect.Effect<void, StoryError> =>
  expected.test(found)
    ? Console.log(`${what}: ${found}`)
    : new StoryError({ message: `${what}: ${expected} was expected, not ${JSON.stringify(found)}` })

const start = (customer: string, sessionId: string, input: string) =>
  Effect.zipRight(
    Console.log(`\n${customer}: ${input}`),
    Runs.start({ agent: "front-desk", input, userId: customer, sessionId })
  )

/** A customer says something in a conversation, and waits for the answer. */
const says = Effect.fnUntraced(function* (customer: string, session: string, input: string, expected: RegExp) {
  const { runId } = yield* start(customer, session, input)
  const { agent, message } = yield* Runs.await(runId, { userId: customer })
  yield* expect(agent, message, expected)
})

/** Until the run asks a person. */
const asked = Effect.fnUntraced(function* (runId: string, userId: string) {
  const { changes } = yield* PendingApprovals.PendingApprovals
  const requested = changes({ userId }).pipe(
    Stream.filter(({ _tag }) => _tag === "Requested"),
    Stream.runHead
  )
  const ended = Effect.zipRight(Runs.await(runId, { userId }), new StoryError({ message: "It asked nobody" }))
  yield* Effect.raceFirst(requested, ended)
  yield* Console.log("… waits for a colleague")
})

const paidBack = (expected: number) =>
  Effect.flatMap(Orders.Orders, (orders) =>
    Effect.flatMap(orders.paidBack, (cents) =>
      expect("the shop has paid back", `${cents} cents`, RegExp(`^${expected} `))
    )
  )

/** Ends while a refund waits. */
const monday = Effect.gen(function* () {
  yield* says("ada", "kettle", "Where is my order 1042?", /1042, a kettle, is shipped/)
  yield* says("ada", "kettle", "Answer in German from now on, please.", /Noted: German/)
  yield* says("ada", "scarf", "I send order 1044 back, it is too short", /RT-1044/)

  // The order of somebody else looks like one that does not exist.
  yield* says("ben", "curious", "Where is order 1042?", /no order 1042/)

  // The guards withhold a note that gives orders.
  yield* says("ada", "scarf", "What does the note of order 1044 say?", /cannot be shown/)
  // They do not know this one. The orders desk has no tool that pays.
  yield* says("ada", "mugs", "What does the note of order 1045 say?", /The note says/)
  yield* paidBack(0)

  const { runId } = yield* start("ada", "lamp", "Please refund order 1043")
  yield* asked(runId, "ada")
  return runId
})

/** Another process, on the same files. */
const tuesday = Effect.fnUntraced(function* (runId: string) {
  const staff = yield* Staff.Staff
  for (const { customer, id, params, tool } of yield* staff.waiting) {
    yield* Console.log(`\nthe shop: approves ${tool} for ${customer}`, params)
    yield* staff.approve(id, "carla")
  }
  const { agent, message } = yield* Runs.await(runId, { userId: "ada" })
  // Another conversation, and the language that the customer asked for in the first one.
  yield* expect(agent, message, /129.00 euros sind unterwegs \(RF-1043\)/)
  yield* paidBack(12_900)

  // From now on an answer may cost next to nothing.
  const control = yield* GovernanceControl.GovernanceControl
  yield* control.reload({ ...(yield* control.config), maxRequestCost: 0.001 })
  const over = yield* start("ada", "kettle", "Where is order 1043?")
  const refusal = yield* Runs.await(over.runId, { userId: "ada" }).pipe(
    Effect.as("an answer"),
    Effect.catchTag("RunFailedError", ({ error }) => Effect.succeed(`${error.tag}: ${error.message}`))
  )
  yield* expect("refused", refusal, /^BudgetExceededError/)
})

export const tell = Effect.fnUntraced(function* (folder: string) {
  const desk = Staff.layer.pipe(Layer.provideMerge(SupportDesk.layer({ folder })), Layer.provide(ScriptedModel.layer))
  const runId = yield* Effect.provide(monday, desk)
  yield* Console.log("\n--- the desk is closed, and opens again ---")
  yield* Effect.provide(tuesday(runId), desk)
})

/** What every workflow engine does: the one in memory, and ours on each database. */
import { assert, describe, it } from "@effect/vitest"
import * as Activity from "@effect/workflow/Activity"
import * as DurableClock from "@effect/workflow/DurableClock"
import * as DurableDeferred from "@effect/workflow/DurableDeferred"
import * as Workflow from "@effect/workflow/Workflow"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tests from "./WorkflowTests.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", { why: Schema.String }) {}

const Order = Workflow.make({
  name: "Order",
  payload: { id: Schema.String, at: Schema.DateFromString },
  idempotencyKey: ({ id }) => id,
  success: Schema.Array(Schema.String),
  error: Refused
})

const order = { id: "1", at: new Date(0) }

const Approval = DurableDeferred.make("approval", { success: Schema.String, error: Refused })
const Review = DurableDeferred.make("review", { success: Schema.String })

type Body = Effect.Effect<ReadonlyArray<string>, Refused, any>

const text = (name: string, ran: Array<string>, value = name) =>
  Activity.make({
    name,
    success: Schema.String,
    execute: Effect.sync(() => {
      ran.push(name)
      return value
    })
  })

const give = <A>(deferred: DurableDeferred.DurableDeferred<Schema.Schema<A>, any>, executionId: string, value: A) =>
  DurableDeferred.succeed(deferred, {
    token: DurableDeferred.tokenFromExecutionId(deferred, { workflow: Order, executionId }),
    value
  })

const isSuspended = (executionId: string) =>
  Effect.map(Order.poll(executionId), (result) => result?._tag === "Suspended")

const started = Effect.tap(Order.execute(order, { discard: true }), (id) => Tests.eventually(isSuspended(id)))

const exitOf = (executionId: string) =>
  Tests.eventually(
    Effect.map(Order.poll(executionId), (result) => (result?._tag === "Complete" ? result.exit : undefined))
  )

const refusalOf = (exit: Exit.Exit<unknown, Refused>): string | undefined =>
  Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause))?.why : undefined

export const suite = <E>(name: string, engine: Layer.Layer<Tests.Engine, E>): void => {
  /** The body of the workflow, and what is done with it. */
  const test = <A, E2>(
    title: string,
    body: (ran: Array<string>, executionId: string) => Body,
    check: (ran: ReadonlyArray<string>) => Effect.Effect<A, E2, Tests.Engine>,
    more: Layer.Layer<never, never, Tests.Engine> = Layer.empty
  ) =>
    it.effect(title, () => {
      const ran: Array<string> = []
      const layer = Layer.merge(
        Order.toLayer((_, executionId) => body(ran, executionId)),
        more
      )
      return Effect.provide(check(ran), Layer.provideMerge(layer, engine))
    })

  describe(`WorkflowEngine ${name}`, () => {
    test(
      "runs each activity once, across resumes",
      (ran) =>
        Effect.gen(function* () {
          ran.push("body")
          const one = yield* text("one", ran)
          const approved = yield* DurableDeferred.await(Approval)
          return [one, approved, yield* text("two", ran)]
        }),
      (ran) =>
        Effect.gen(function* () {
          const id = yield* started
          assert.deepStrictEqual(ran, ["body", "one"])
          yield* give(Approval, id, "yes")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["one", "yes", "two"])
          assert.deepStrictEqual(ran, ["body", "one", "body", "two"])
        })
    )

    test(
      "gives the body the payload, and an activity its typed result again",
      () =>
        Effect.gen(function* () {
          const found = yield* Activity.make({
            name: "found",
            success: Schema.Struct({ at: Schema.Date, maybe: Schema.Option(Schema.Number), none: Schema.Undefined }),
            execute: Effect.succeed({ at: new Date(86_400_000), maybe: Option.some(1), none: undefined })
          })
          const nothing = yield* Activity.make({ name: "nothing", execute: Effect.void })
          yield* DurableDeferred.await(Approval)
          assert.isUndefined(nothing)
          return [found.at.toISOString(), String(Option.getOrNull(found.maybe)), String(found.none)]
        }),
      () =>
        Effect.gen(function* () {
          const id = yield* started
          yield* give(Approval, id, "yes")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), [
            "1970-01-02T00:00:00.000Z",
            "1",
            "undefined"
          ])
        })
    )

    test(
      "runs the second of two activities of one name never",
      (ran) => Effect.all([text("same", ran, "a"), text("same", ran, "b"), text("other", ran, "c")]),
      (ran) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["a", "a", "c"])
          assert.deepStrictEqual(ran, ["same", "other"])
        })
    )

    test(
      "stores the result of each attempt of an activity",
      (ran) => {
        const flaky = Activity.make({
          name: "flaky",
          success: Schema.String,
          error: Refused,
          execute: Effect.gen(function* () {
            const attempt = yield* Activity.CurrentAttempt
            ran.push(`attempt ${attempt}`)
            return attempt < 3 ? yield* new Refused({ why: "not yet" }) : `attempt ${attempt}`
          })
        })
        return Effect.gen(function* () {
          const found = yield* Activity.retry(flaky, { times: 5 })
          yield* DurableDeferred.await(Approval)
          return [found]
        })
      },
      (ran) =>
        Effect.gen(function* () {
          const id = yield* started
          yield* give(Approval, id, "yes")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["attempt 3"])
          assert.deepStrictEqual(ran, ["attempt 1", "attempt 2", "attempt 3"])
        })
    )

    test(
      "runs an activity again, once a resume, in which another one waited",
      (ran) =>
        Effect.gen(function* () {
          const outer = yield* Activity.make({
            name: "outer",
            success: Schema.String,
            error: Refused,
            execute: Effect.gen(function* () {
              ran.push("outer")
              const before = yield* text("before", ran)
              const inner = yield* Activity.make({
                name: "inner",
                success: Schema.String,
                error: Refused,
                execute: Effect.suspend(() => {
                  ran.push("inner")
                  return DurableDeferred.await(Approval)
                })
              })
              const reviewed = yield* DurableDeferred.await(Review)
              return [before, inner, reviewed].join()
            })
          })
          return [outer, yield* text("after", ran)]
        }),
      (ran) =>
        Effect.gen(function* () {
          const id = yield* started
          assert.deepStrictEqual(ran, ["outer", "before", "inner"])
          yield* give(Approval, id, "yes")
          yield* Tests.until(() => ran.length === 5)
          yield* Tests.eventually(isSuspended(id))
          assert.deepStrictEqual(ran.slice(3), ["outer", "inner"])
          yield* give(Review, id, "fine")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["before,yes,fine", "after"])
          assert.deepStrictEqual(ran.slice(5), ["outer", "after"])
        })
    )

    test(
      "finds a deferred that was completed before the workflow began",
      () => Effect.map(DurableDeferred.await(Approval), (approved) => [approved]),
      () =>
        Effect.gen(function* () {
          yield* give(Approval, yield* Order.executionId(order), "early")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["early"])
        })
    )

    test(
      "takes the first result of a deferred",
      () => Effect.map(DurableDeferred.await(Approval), (approved) => [approved]),
      () =>
        Effect.gen(function* () {
          const id = yield* started
          yield* give(Approval, id, "first")
          yield* give(Approval, id, "second")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["first"])
        })
    )

    test(
      "fails with the failure of a deferred",
      () => Effect.map(DurableDeferred.await(Approval), (approved) => [approved]),
      () =>
        Effect.gen(function* () {
          const id = yield* started
          yield* DurableDeferred.fail(Approval, {
            token: DurableDeferred.tokenFromExecutionId(Approval, { workflow: Order, executionId: id }),
            error: new Refused({ why: "no" })
          })
          const exit = yield* Tests.exitOf(Order.execute(order))
          assert.strictEqual(refusalOf(exit), "no")
        })
    )

    for (const [title, deferreds] of [
      ["in order", [Approval, Review]],
      ["in the other order", [Review, Approval]]
    ] as const) {
      test(
        `waits for two deferreds in parallel branches, completed ${title}`,
        (ran) =>
          Effect.all(
            [
              Effect.zipRight(text("left", ran), DurableDeferred.await(Approval)),
              Effect.zipRight(text("right", ran), DurableDeferred.await(Review))
            ],
            { concurrency: "unbounded" }
          ),
        (ran) =>
          Effect.gen(function* () {
            const id = yield* started
            for (const deferred of deferreds) {
              yield* Tests.eventually(isSuspended(id))
              yield* give(deferred as typeof Review, id, deferred.name)
              yield* Tests.settled
            }
            assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["approval", "review"])
            assert.sameMembers([...ran], ["left", "right"])
          })
      )
    }

    test(
      "takes the first of activities that race, and keeps it",
      (ran) =>
        Effect.gen(function* () {
          const first = yield* Activity.raceAll("race", [
            text("quick", ran),
            Activity.make({ name: "slow", success: Schema.String, execute: Effect.never })
          ])
          yield* DurableDeferred.await(Approval)
          return [first]
        }),
      (ran) =>
        Effect.gen(function* () {
          const id = yield* started
          yield* give(Approval, id, "yes")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["quick"])
          assert.deepStrictEqual(ran, ["quick"])
        })
    )

    for (const [title, inMemoryThreshold] of [
      ["short", "1 hour"],
      ["long", "1 millis"]
    ] as const) {
      test(
        `wakes after a ${title} clock, and not before`,
        (ran) =>
          Effect.gen(function* () {
            yield* DurableClock.sleep({ name: "nap", duration: "20 seconds", inMemoryThreshold })
            ran.push("awake")
            return [String(yield* Clock.currentTimeMillis)]
          }),
        (ran) =>
          Effect.gen(function* () {
            const id = yield* Order.execute(order, { discard: true })
            yield* Tests.settled
            const at = Number((yield* Tests.valueOf(Order.execute(order)))[0])
            assert.isAtLeast(at, 20_000)
            // The poll interval, and the steps of virtual time before the clock began.
            assert.isAtMost(at, 20_000 + 1_000)
            assert.deepStrictEqual(ran, ["awake"])
            assert.isTrue(Exit.isSuccess(yield* exitOf(id)))
          })
      )
    }

    test(
      "ends a suspended workflow that is interrupted, and compensates what it did",
      (ran) =>
        Effect.gen(function* () {
          yield* Order.withCompensation(text("pay", ran), () => Effect.orDie(Effect.asVoid(text("refund", ran))))
          return [yield* DurableDeferred.await(Approval)]
        }),
      (ran) =>
        Effect.gen(function* () {
          const id = yield* started
          yield* Order.interrupt(id)
          assert.isTrue(Tests.isInterrupted(yield* exitOf(id)))
          assert.deepStrictEqual(ran, ["pay", "refund"])
          yield* give(Approval, id, "late")
          yield* Order.resume(id)
          yield* Tests.settled
          assert.isTrue(Tests.isInterrupted(yield* exitOf(id)))
        })
    )

    const gate = Effect.runSync(Deferred.make<void>())
    test(
      "ends a running workflow that is interrupted, and compensates what it did",
      (ran) =>
        Effect.gen(function* () {
          yield* Order.withCompensation(text("pay", ran), () => Effect.orDie(Effect.asVoid(text("refund", ran))))
          yield* Activity.make({
            name: "wait",
            execute: Effect.suspend(() => {
              ran.push("wait")
              return Deferred.await(gate)
            })
          })
          return ["done"]
        }),
      (ran) =>
        Effect.gen(function* () {
          const id = yield* Order.execute(order, { discard: true })
          yield* Tests.until(() => ran.includes("wait"))
          yield* Order.interrupt(id)
          // The engine in memory waits for the activity.
          yield* Deferred.succeed(gate, undefined)
          assert.isTrue(Tests.isInterrupted(yield* exitOf(id)))
          assert.deepStrictEqual(ran, ["pay", "wait", "refund"])
        })
    )

    test(
      "runs one execution for calls with the same key",
      (ran) => Effect.map(text("one", ran), (one) => [one]),
      (ran) =>
        Effect.gen(function* () {
          const both = yield* Tests.valueOf(
            Effect.all([Order.execute(order), Order.execute({ ...order, at: new Date(1) })], {
              concurrency: "unbounded"
            })
          )
          assert.deepStrictEqual(both, [["one"], ["one"]])
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["one"])
          yield* Tests.valueOf(Order.execute({ ...order, id: "2" }))
          assert.deepStrictEqual(ran, ["one", "one"])
        })
    )

    test(
      "polls nothing of an unknown or running execution, and the state of others",
      () => Effect.map(DurableDeferred.await(Approval), (approved) => [approved]),
      () =>
        Effect.gen(function* () {
          assert.isUndefined(yield* Order.poll("unknown"))
          yield* Order.resume("unknown")
          yield* Order.interrupt("unknown")
          const id = yield* started
          yield* give(Approval, id, "yes")
          assert.deepStrictEqual(yield* exitOf(id), Exit.succeed(["yes"]))
        })
    )

    test(
      "keeps a failure and a defect of an activity",
      (ran) =>
        Effect.gen(function* () {
          const run = (name: string, execute: Effect.Effect<never, Refused>) =>
            Effect.exit(
              Activity.make({
                name,
                error: Refused,
                execute: Effect.zipRight(
                  Effect.sync(() => ran.push(name)),
                  execute
                )
              })
            )
          const refused = yield* run("refused", new Refused({ why: "no" }))
          const died = yield* run("died", Effect.die(new Error("broken")))
          yield* DurableDeferred.await(Approval)
          return [refused, died].map((exit) =>
            Exit.isFailure(exit) ? ((Cause.squash(exit.cause) as Error | Refused).message ?? "") : ""
          )
        }),
      (ran) =>
        Effect.gen(function* () {
          const id = yield* started
          yield* give(Approval, id, "yes")
          const [refused, died] = yield* Tests.valueOf(Order.execute(order))
          assert.strictEqual(refused, new Refused({ why: "no" }).message)
          assert.strictEqual(died, "broken")
          assert.deepStrictEqual(ran, ["refused", "died"])
        })
    )

    test(
      "ends with a failure, and keeps it",
      (ran) =>
        Effect.suspend(() => {
          ran.push("body")
          return Effect.fail(new Refused({ why: "no" }))
        }),
      (ran) =>
        Effect.gen(function* () {
          for (let time = 0; time < 2; time++) {
            const exit = yield* Tests.exitOf(Order.execute(order))
            assert.strictEqual(refusalOf(exit), "no")
          }
          assert.deepStrictEqual(ran, ["body"])
        })
    )

    test(
      "ends with a defect, and keeps it",
      (ran) =>
        Effect.suspend(() => {
          ran.push("body")
          return Effect.die(new Error("broken"))
        }),
      (ran) =>
        Effect.gen(function* () {
          for (let time = 0; time < 2; time++) {
            const exit = yield* Tests.exitOf(Order.execute(order))
            const defect = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.dieOption(exit.cause)) : undefined
            assert.strictEqual((defect as Error).message, "broken")
          }
          assert.deepStrictEqual(ran, ["body"])
        })
    )

    const Child = Workflow.make({
      name: "Child",
      payload: { id: Schema.String },
      idempotencyKey: ({ id }) => id,
      success: Schema.String,
      error: Refused
    })
    const giveChild = (value: string) =>
      Effect.flatMap(Child.executionId({ id: "c" }), (executionId) =>
        DurableDeferred.succeed(Approval, {
          token: DurableDeferred.tokenFromExecutionId(Approval, { workflow: Child, executionId }),
          value
        })
      )
    const callsOfChild: Array<string> = []
    const child = (body: Effect.Effect<string, Refused, any>) =>
      Child.toLayer(() =>
        Effect.suspend(() => {
          callsOfChild.push("child")
          return body
        })
      ) as Layer.Layer<never, never, Tests.Engine>

    test(
      "resumes a parent when its suspended child has ended",
      (ran) =>
        Effect.gen(function* () {
          ran.push("parent")
          const found = yield* Effect.scoped(Child.execute({ id: "c" }))
          return [found, yield* text("after", ran)]
        }),
      (ran) =>
        Effect.gen(function* () {
          callsOfChild.length = 0
          yield* started
          yield* giveChild("from child")
          assert.deepStrictEqual(yield* Tests.valueOf(Order.execute(order)), ["from child", "after"])
          assert.deepStrictEqual(ran, ["parent", "parent", "after"])
          assert.deepStrictEqual(callsOfChild, ["child", "child"])
        }),
      child(DurableDeferred.await(Approval))
    )

    test(
      "gives a parent the failure of its child",
      () => Effect.map(Effect.scoped(Child.execute({ id: "c" })), (found) => [found]),
      () =>
        Effect.gen(function* () {
          const exit = yield* Tests.exitOf(Order.execute(order))
          assert.strictEqual(refusalOf(exit), "child")
        }),
      child(Effect.fail(new Refused({ why: "child" })))
    )

    test(
      "interrupts the child of an interrupted parent",
      () => Effect.map(Child.execute({ id: "c" }) as Effect.Effect<string, Refused>, (found) => [found]),
      () =>
        Effect.gen(function* () {
          const id = yield* started
          yield* Order.interrupt(id)
          assert.isTrue(Tests.isInterrupted(yield* exitOf(id)))
          const childId = yield* Child.executionId({ id: "c" })
          const exit = yield* Tests.eventually(
            Effect.map(Child.poll(childId), (result) => (result?._tag === "Complete" ? result.exit : undefined))
          )
          assert.isTrue(Tests.isInterrupted(exit))
        }),
      child(DurableDeferred.await(Approval))
    )

    const Patient = Workflow.make({
      name: "Patient",
      payload: {},
      idempotencyKey: () => "patient",
      success: Schema.String
    }).annotate(Workflow.SuspendOnFailure, true)
    let tries = 0
    test(
      "suspends a workflow on a failure if it wants that, and runs it again when it is resumed",
      () => Effect.succeed([]),
      () =>
        Effect.gen(function* () {
          tries = 0
          const id = yield* Patient.execute(undefined, { discard: true })
          const result = yield* Tests.eventually(Patient.poll(id))
          assert.strictEqual(result._tag, "Suspended")
          const cause = result._tag === "Suspended" ? result.cause : undefined
          assert.include(cause === undefined ? "" : Cause.pretty(cause), "first time")
          yield* Patient.resume(id)
          assert.strictEqual(yield* Tests.valueOf(Patient.execute()), "try 2")
        }),
      Patient.toLayer(() =>
        Effect.suspend(() => (++tries === 1 ? Effect.die(new Error("first time")) : Effect.succeed(`try ${tries}`)))
      )
    )

    const Fragile = Workflow.make({
      name: "Fragile",
      payload: {},
      idempotencyKey: () => "fragile",
      success: Schema.String
    }).annotate(Workflow.CaptureDefects, false)
    test(
      "tells the caller of a defect that is not captured, and runs the workflow again when it is resumed",
      () => Effect.succeed([]),
      () =>
        Effect.gen(function* () {
          tries = 0
          const exit = yield* Tests.exitOf(Fragile.execute())
          assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
          yield* Fragile.resume(yield* Fragile.executionId({}))
          assert.strictEqual(yield* Tests.valueOf(Fragile.execute()), "try 2")
        }),
      Fragile.toLayer(() =>
        Effect.suspend(() => (++tries === 1 ? Effect.die(new Error("first time")) : Effect.succeed(`try ${tries}`)))
      )
    )
  })
}

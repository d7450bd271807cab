import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Schema from "effect/Schema"
import * as SpanFailure from "../../../src/internal/fiber/SpanFailure.js"
import * as Spanned from "../../../src/internal/fiber/Spanned.js"
import { OutputValidationError } from "../../../src/strategy/definition/StrategyError.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"

class Lost extends Schema.TaggedError<Lost>()("Lost", {
  customer: Schema.String,
  message: Schema.String,
  cause: Schema.Defect
}) {}

const lost = new Lost({
  customer: "Ada Lovelace",
  message: "nothing under sk-live-0123456789abcdef",
  cause: new Error("row of Ada Lovelace")
})

/** What tracers print of an exit. */
const printed = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "" : Cause.pretty(causeOf(exit), { renderErrorCause: true })

const causeOf = (exit: Exit.Exit<unknown, unknown>): Cause.Cause<unknown> => {
  const described = SpanFailure.exit(exit)
  return Exit.isFailure(described) ? described.cause : Cause.empty
}

describe("SpanFailure", () => {
  it("shows tag and message, without fields, causes and credentials", () => {
    assert.strictEqual(printed(Exit.fail(lost)), "Lost: nothing under [REDACTED]")
  })

  it("unwraps a fatal failure of a tool", () => {
    const carried = new Fatality({ error: lost, toolName: "t", encoded: { customer: "Ada Lovelace" } })
    assert.strictEqual(printed(Exit.fail(carried)), "Lost: nothing under [REDACTED]")
  })

  it("omits quotations of a message", () => {
    const error = new OutputValidationError({
      strategyName: "s",
      text: "the model wrote this",
      issues: 'actual "the model wrote this"',
      attempts: 1,
      message: 'does not fit: actual "the model wrote this"',
      hint: "Simplify the schema"
    })
    assert.strictEqual(printed(Exit.fail(error)), "OutputValidationError: Simplify the schema")
  })

  it("accepts failures of any kind", () => {
    assert.strictEqual(printed(Exit.fail("text")), "Error: text")
    assert.strictEqual(printed(Exit.fail({ secret: "x" })), "Error: Error")
    assert.strictEqual(printed(Exit.fail(undefined)), "Error: undefined")
    assert.isBelow(printed(Exit.fail("long ".repeat(100_000))).length, 600)
  })

  it("leaves successes, defects and interruptions unchanged", () => {
    for (const exit of [Exit.succeed(1), Exit.die(new Error("bug")), Exit.interrupt(FiberId.none)]) {
      assert.strictEqual(SpanFailure.exit(exit), exit)
    }
    const mixed = Exit.failCause(Cause.parallel(Cause.fail(lost), Cause.die("bug")))
    assert.deepStrictEqual(Array.from(Cause.defects(causeOf(mixed))), ["bug"])
  })

  it.effect("applies to the spans of a run only", () =>
    Effect.gen(function* () {
      let told: Exit.Exit<unknown, unknown> | undefined
      const spanned = Spanned.run("work", { attributes: {} }, Effect.fail(lost), (_exit, span) => {
        const { end } = span
        span.end = (time, exit) => {
          told = exit
          end.call(span, time, exit)
        }
      })
      assert.strictEqual((yield* Effect.flip(spanned)).customer, "Ada Lovelace")
      assert.strictEqual(
        told !== undefined && Exit.isFailure(told) && Cause.pretty(told.cause),
        "Lost: nothing under [REDACTED]"
      )
    })
  )
})

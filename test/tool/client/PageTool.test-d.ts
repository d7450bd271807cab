import * as Schema from "effect/Schema"
import { expectTypeOf, it } from "vitest"
import { z } from "zod"
import * as PageTool from "../../../src/tool/client/PageTool.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import type * as Elicitation from "../../../src/tool/Elicitation.js"

type Failure = PageTool.PageToolError | Elicitation.ElicitationError

it("infers parameters and results from their schemas, and requires nothing", () => {
  const plain = PageTool.make("locate", { description: "Where the user is" })
  expectTypeOf(plain).toExtend<Tool.Tool<{}, string, never, never, Failure>>()
  const typed = PageTool.make("locate", {
    description: "Where the user is",
    parameters: { at: Schema.NumberFromString },
    success: Schema.Struct({ city: Schema.String }),
    requiresApproval: ({ at }) => at > 1
  })
  expectTypeOf(typed).toExtend<Tool.Tool<{ readonly at: number }, { readonly city: string }, never, never, Failure>>()
  const standard = PageTool.make("locate", { description: "Where", success: z.object({ city: z.string() }) })
  expectTypeOf(standard).toExtend<Tool.Tool<{}, { city: string }, never, never, Failure>>()
  expectTypeOf(Tool.failOn(typed, "PageToolError")).toExtend<
    Tool.Tool<{ readonly at: number }, unknown, PageTool.PageToolError, never, Failure>
  >()
})

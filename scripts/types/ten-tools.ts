/** An agent with ten tools: see `check-instantiations`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"

const search = Tool.make("search", {
  description: "Tool 0",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const read = Tool.make("read", {
  description: "Tool 1",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const write = Tool.make("write", {
  description: "Tool 2",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const move = Tool.make("move", {
  description: "Tool 3",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const copy = Tool.make("copy", {
  description: "Tool 4",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const list = Tool.make("list", {
  description: "Tool 5",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const count = Tool.make("count", {
  description: "Tool 6",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const rename = Tool.make("rename", {
  description: "Tool 7",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const archive = Tool.make("archive", {
  description: "Tool 8",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})
const restore = Tool.make("restore", {
  description: "Tool 9",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  handler: ({ count, text }) => Effect.succeed(count + text.length)
})

export const agent = Agent.make("ten", {
  tools: [search, read, write, move, copy, list, count, rename, archive, restore]
})

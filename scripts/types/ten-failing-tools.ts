/** An agent with ten tools whose failures end the run: see `check-instantiations`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"

class SearchFailed extends Schema.TaggedError<SearchFailed>()("SearchFailed", { message: Schema.String }) {}
class ReadFailed extends Schema.TaggedError<ReadFailed>()("ReadFailed", { message: Schema.String }) {}
class WriteFailed extends Schema.TaggedError<WriteFailed>()("WriteFailed", { message: Schema.String }) {}
class MoveFailed extends Schema.TaggedError<MoveFailed>()("MoveFailed", { message: Schema.String }) {}
class CopyFailed extends Schema.TaggedError<CopyFailed>()("CopyFailed", { message: Schema.String }) {}
class ListFailed extends Schema.TaggedError<ListFailed>()("ListFailed", { message: Schema.String }) {}
class CountFailed extends Schema.TaggedError<CountFailed>()("CountFailed", { message: Schema.String }) {}
class RenameFailed extends Schema.TaggedError<RenameFailed>()("RenameFailed", { message: Schema.String }) {}
class ArchiveFailed extends Schema.TaggedError<ArchiveFailed>()("ArchiveFailed", { message: Schema.String }) {}
class RestoreFailed extends Schema.TaggedError<RestoreFailed>()("RestoreFailed", { message: Schema.String }) {}

const search = Tool.make("search", {
  description: "Tool 0",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: SearchFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 0 ? Effect.fail(new SearchFailed({ message: text })) : Effect.succeed(count))
})
const read = Tool.make("read", {
  description: "Tool 1",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: ReadFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 1 ? Effect.fail(new ReadFailed({ message: text })) : Effect.succeed(count))
})
const write = Tool.make("write", {
  description: "Tool 2",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: WriteFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 2 ? Effect.fail(new WriteFailed({ message: text })) : Effect.succeed(count))
})
const move = Tool.make("move", {
  description: "Tool 3",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: MoveFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 3 ? Effect.fail(new MoveFailed({ message: text })) : Effect.succeed(count))
})
const copy = Tool.make("copy", {
  description: "Tool 4",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: CopyFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 4 ? Effect.fail(new CopyFailed({ message: text })) : Effect.succeed(count))
})
const list = Tool.make("list", {
  description: "Tool 5",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: ListFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 5 ? Effect.fail(new ListFailed({ message: text })) : Effect.succeed(count))
})
const count = Tool.make("count", {
  description: "Tool 6",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: CountFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 6 ? Effect.fail(new CountFailed({ message: text })) : Effect.succeed(count))
})
const rename = Tool.make("rename", {
  description: "Tool 7",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: RenameFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 7 ? Effect.fail(new RenameFailed({ message: text })) : Effect.succeed(count))
})
const archive = Tool.make("archive", {
  description: "Tool 8",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: ArchiveFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 8 ? Effect.fail(new ArchiveFailed({ message: text })) : Effect.succeed(count))
})
const restore = Tool.make("restore", {
  description: "Tool 9",
  parameters: { text: Schema.String, count: Schema.Number },
  success: Schema.Number,
  failure: RestoreFailed,
  fatal: true,
  handler: ({ count, text }) => (count > 9 ? Effect.fail(new RestoreFailed({ message: text })) : Effect.succeed(count))
})

export const agent = Agent.make("ten", {
  tools: [search, read, write, move, copy, list, count, rename, archive, restore]
})

/**
 * Shows a model few tools of a large set: those that fit its task, and a tool that searches for others.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { count } from "../internal/Count.js"
import * as VisibleText from "../internal/text/VisibleText.js"
import * as Tool from "./definition/Tool.js"
import * as ToolIndex from "./ToolIndex.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Definitions that a model call has at most, with the search tool and the pinned ones. Default 40, at least 2. */
  readonly maxDefinitions?: number | undefined
  /** Names of tools that each model call has. Those that do not fit into `maxDefinitions` are treated as others. */
  readonly pinned?: ReadonlyArray<string> | undefined
  /** The name of the search tool. Default `search_tools`. */
  readonly toolName?: string | undefined
  /** Tools that one search finds at most. Default 8. */
  readonly maxFound?: number | undefined
}

/**
 * The options with their defaults, and the index of the set that was used last.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolSearch {
  readonly maxDefinitions: number
  readonly maxFound: number
  readonly pinned: ReadonlyArray<string>
  readonly tool: Tool.Any
  /** Made again only for a set with other tools. */
  readonly index: (tools: ReadonlyArray<Tool.Any>) => ToolIndex.ToolIndex
}

/** Characters of a description that a search shows. */
const MAX_ABOUT = 240

const line = ({ description, name }: Tool.Any): string => {
  const text = VisibleText.visible(description.slice(0, MAX_ABOUT * 2).replace(/\s+/g, " "))
  return `- ${VisibleText.visible(name.slice(0, 128))}: ${text.length > MAX_ABOUT ? `${text.slice(0, MAX_ABOUT)}…` : text}`
}

const template = (name: string): Tool.Any =>
  Tool.make(name, {
    description:
      "Finds further tools by what they do. Use it when none of the tools that you see fits: the tools that it finds can be called from the next step on.",
    parameters: { query: Schema.String.annotations({ description: "What the tool should do, in a few words" }) },
    readOnly: true,
    handler: () => Effect.succeed("")
  }) as unknown as Tool.Any

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): ToolSearch => {
  const maxDefinitions = count(options.maxDefinitions, 40, 2)
  let last: ToolIndex.ToolIndex | undefined
  return {
    maxDefinitions,
    maxFound: Math.min(count(options.maxFound, 8, 1), maxDefinitions - 1),
    pinned: options.pinned ?? [],
    tool: template(options.toolName ?? "search_tools"),
    index: (tools) => {
      if (last === undefined || !ToolIndex.isSame(last.tools, tools)) last = ToolIndex.make(tools)
      return last
    }
  }
}

/**
 * What one run shows of its tools. Tools that were found or called are shown; the least recently used leave first.
 *
 * @internal
 */
export class Shown {
  /** The active tools in the order in which they came, with the time of their last use. */
  private readonly used = new Map<string, number>()
  private time = 0
  private index: ToolIndex.ToolIndex | undefined
  private byName: ReadonlyMap<string, Tool.Any> = new Map()
  /** The search tool of the run, which answers for it, and that of all runs, which stands for it in sets. */
  readonly tool: Tool.Any
  readonly template: Tool.Any

  constructor(
    private readonly search: ToolSearch,
    private readonly input: string,
    /** Pinned besides those of the options. */
    private readonly alsoPinned: ReadonlyArray<string>
  ) {
    const { tool } = search
    const handle = ({ query }: { readonly query: string }) => Effect.sync(() => this.answer(query))
    this.template = tool
    this.tool = Tool.fromParts({ ...tool, erased: { ...tool.erased, handle } })
  }

  /** The tools to show, out of these, for the next model call. */
  of(tools: ReadonlyArray<Tool.Any>): ReadonlyArray<Tool.Any> {
    const { maxDefinitions } = this.search
    if (tools.length <= maxDefinitions) return tools
    const isFirst = this.index === undefined
    if (this.index === undefined || !ToolIndex.isSame(this.index.tools, tools)) {
      this.index = this.search.index(tools)
      this.byName = new Map(tools.map((tool) => [tool.name, tool]))
    }
    const hasSearch = !this.byName.has(this.tool.name)
    const room = maxDefinitions - (hasSearch ? 1 : 0)
    const pinned = [...new Set([...this.alsoPinned, ...this.search.pinned])]
      .filter((name) => this.byName.has(name))
      .slice(0, room)
    const left = room - pinned.length
    // The best ones are used last, so that they stay longest.
    if (isFirst) for (const tool of this.index.search(this.input, left).toReversed()) this.use(tool.name)
    for (const name of this.used.keys()) if (!this.byName.has(name)) this.used.delete(name)
    const isPinned = new Set(pinned)
    const recent = [...this.used].filter(([name]) => !isPinned.has(name)).sort((a, b) => b[1] - a[1])
    for (const [name] of recent.slice(left)) this.used.delete(name)
    const active = [...this.used.keys()].filter((name) => !isPinned.has(name))
    const shown = [...pinned, ...active].map((name) => this.byName.get(name) as Tool.Any)
    return hasSearch ? [this.tool, ...shown] : shown
  }

  /** Shows a tool from the next model call on. */
  use(name: string): void {
    this.used.set(name, this.time++)
  }

  private answer(query: string): string {
    if (query.trim() === "") return "Say in a few words what the tool should do."
    const found = this.index?.search(query, this.search.maxFound) ?? []
    if (found.length === 0) return "No tool fits these words. Try others, or answer without a tool."
    for (const { name } of found.toReversed()) this.use(name)
    return `You can call these tools now:\n${found.map(line).join("\n")}`
  }
}

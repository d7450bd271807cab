/**
 * Finds tools by the words of their names, descriptions and parameters.
 *
 * @since 0.1.0
 */
import * as LexicalIndex from "../memory/text/LexicalIndex.js"
import * as TextAnalyzer from "../memory/text/TextAnalyzer.js"
import type * as Tool from "./definition/Tool.js"

/** Characters that are read of a name, of a description, of all parameters together and of a query. */
const MAX_NAME = 256
const MAX_DESCRIPTION = 4000
const MAX_PARAMETERS = 4000
const MAX_QUERY = 4000
/** How often the words of a name count. */
const NAME_WEIGHT = 3
const MAX_DEPTH = 4

/**
 * @since 0.1.0
 * @category models
 */
export interface ToolIndex {
  /** The tools in the order of the set. */
  readonly tools: ReadonlyArray<Tool.Any>
  /**
   * The tools that share words with the query, best first (BM25). Of a long query the beginning and the end are read.
   */
  readonly search: (query: string, limit: number) => ReadonlyArray<Tool.Any>
}

interface Entry extends LexicalIndex.Indexed {
  readonly tool: Tool.Any
  readonly position: number
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Names and descriptions of parameters, as one text. */
const parameterText = (schema: unknown): string => {
  const pieces: Array<string> = []
  let left = MAX_PARAMETERS
  const add = (text: string): void => {
    if (left <= 0) return
    const piece = text.slice(0, left)
    pieces.push(piece)
    left -= piece.length + 1
  }
  const visit = (value: unknown, depth: number): void => {
    if (!isRecord(value) || depth > MAX_DEPTH || left <= 0) return
    if (typeof value["description"] === "string") add(value["description"])
    const { properties } = value
    if (isRecord(properties)) {
      for (const name in properties) {
        if (left <= 0) return
        add(name)
        visit(properties[name], depth + 1)
      }
    }
    visit(value["items"], depth + 1)
  }
  visit(schema, 0)
  return pieces.join(" ")
}

const analyzer = TextAnalyzer.english

const analyzed = new WeakMap<Tool.Any, ReadonlyArray<string>>()

/** Computed once per tool. */
const termsOf = (tool: Tool.Any): ReadonlyArray<string> => {
  let terms = analyzed.get(tool)
  if (terms === undefined) {
    const name = analyzer.analyze(tool.name.slice(0, MAX_NAME))
    const about = `${tool.description.slice(0, MAX_DESCRIPTION)}\n${parameterText(tool.parameters)}`
    terms = [...Array.from({ length: NAME_WEIGHT }, () => name).flat(), ...analyzer.analyze(about)]
    analyzed.set(tool, terms)
  }
  return terms
}

const shortened = (query: string): string =>
  query.length <= MAX_QUERY ? query : `${query.slice(0, MAX_QUERY / 2)}\n${query.slice(-MAX_QUERY / 2)}`

const room = LexicalIndex.scratch()

/**
 * Makes an index. It is meant to be made once per set of tools; the words of a tool are read once per tool.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Tool } from "effect-lexigram"
 * import { ToolIndex } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 *
 * const invoices = Tool.make("find_invoices", {
 *   description: "Finds the invoices of a customer",
 *   handler: () => Effect.succeed(["R-1001"])
 * })
 * const weather = Tool.make("weather", { description: "Tomorrow's weather", handler: () => Effect.succeed("Sun") })
 *
 * const [best] = ToolIndex.make([invoices, weather]).search("all invoices of March", 5)
 * console.log(best?.name) // find_invoices
 * ```
 */
export const make = (tools: ReadonlyArray<Tool.Any>): ToolIndex => {
  const index = new LexicalIndex.LexicalIndex<Entry>(room, (a, b) => a.position - b.position)
  tools.forEach((tool, position) => {
    index.add({ slot: -1, tool, position }, termsOf(tool))
  })
  return {
    tools,
    search: (query, limit) =>
      index.search(TextAnalyzer.queryTerms(analyzer, shortened(query)), limit).hits.map(({ item }) => item.tool)
  }
}

/**
 * Whether two lists have the same tools in the same order.
 *
 * @since 0.1.0
 * @category getters
 */
export const isSame = (a: ReadonlyArray<Tool.Any>, b: ReadonlyArray<Tool.Any>): boolean =>
  a === b || (a.length === b.length && a.every((tool, at) => tool === b[at]))

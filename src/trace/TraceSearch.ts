/**
 * Search trees of strategies, read from the updates of their graphs.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as TraceContent from "./TraceContent.js"
import type { SearchNode } from "./TraceModel.js"

const Optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** The fields that are read of a node. An update is cut where it is too long, so any may be missing. */
const ReadNode = Schema.Struct({
  id: Schema.NonNegativeInt,
  parent: Optional(Schema.NonNegativeInt),
  visits: Optional(Schema.Number),
  value: Optional(Schema.Number),
  terminal: Optional(Schema.Boolean),
  data: Optional(
    Schema.Struct({
      score: Optional(Schema.Number),
      solved: Optional(Schema.Boolean),
      action: Optional(
        Schema.Struct({
          kind: Optional(Schema.String),
          tool: Optional(Schema.String),
          thought: Optional(Schema.String),
          text: Optional(Schema.String)
        })
      )
    })
  )
})

const isNode = Schema.is(ReadNode)

const isUpdate = Schema.is(
  Schema.Struct({ tree: Schema.Struct({ nodes: Schema.Array(Schema.Unknown) }).annotations({ identifier: "Tree" }) })
)

const toNode = ({ data, id, parent, terminal, value, visits }: typeof ReadNode.Type): SearchNode => {
  const { action } = data ?? {}
  const written = [action?.thought, action?.text].filter((text) => typeof text === "string" && text !== "")
  const text = TraceContent.some("reasoning", written.join("\n"))
  return {
    id,
    children: [],
    visits: visits ?? 0,
    solved: data?.solved === true,
    terminal: terminal === true,
    ...(typeof parent === "number" && parent !== id ? { parent } : {}),
    ...(typeof value === "number" && typeof visits === "number" && visits > 0 ? { value: value / visits } : {}),
    ...(typeof data?.score === "number" ? { score: data.score } : {}),
    ...(typeof action?.kind === "string" ? { kind: action.kind } : {}),
    ...(typeof action?.tool === "string" && action.tool !== "" ? { tool: action.tool } : {}),
    ...(text === undefined ? {} : { text })
  }
}

/** Collects the nodes of updates; a later one takes the place of an earlier one with its id. */
export class Search {
  private readonly nodes = new Map<number, SearchNode>()

  take(update: unknown): void {
    if (!isUpdate(update)) return
    for (const entry of update.tree.nodes) {
      const node = Array.isArray(entry) ? entry[1] : entry
      if (isNode(node)) this.nodes.set(node.id, toNode(node))
    }
  }

  /** The nodes in the order of their ids. Ids ascend from parent to child, so no node is inside of itself. */
  result(): ReadonlyArray<SearchNode> {
    const children = new Map<number, Array<number>>()
    const nodes = Array.from(this.nodes.values()).sort((a, b) => a.id - b.id)
    for (const { id, parent } of nodes) {
      if (parent === undefined || parent >= id || !this.nodes.has(parent)) continue
      const siblings = children.get(parent)
      if (siblings === undefined) children.set(parent, [id])
      else siblings.push(id)
    }
    return nodes.map((node) => {
      const { parent, ...rest } = node
      const isInside = parent !== undefined && parent < node.id && this.nodes.has(parent)
      return { ...rest, children: children.get(node.id) ?? [], ...(isInside ? { parent } : {}) }
    })
  }
}

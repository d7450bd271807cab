/** What tests of tree search share: replies, requests read back, the tree that a run has grown. */
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import type * as Lats from "../../../src/strategy/lats/Lats.js"
import * as SearchTree from "../../../src/strategy/lats/SearchTree.js"

export type Tree = SearchTree.SearchTree<Lats.Move>

export const expansions = (...items: ReadonlyArray<object>): string => JSON.stringify({ expansions: items })

export const call = (tool: string, params: object, thought = "so"): string =>
  expansions({ thought, tool, arguments: params })

export const answer = (text: string): string => expansions({ thought: "done", answer: text })

export const step = (thought: string): string => expansions({ thought })

export const score = (value: number, reason = "because"): string => JSON.stringify({ reason, score: value })

export type Kind = "expand" | "evaluate" | "reflect" | "final"

/** The user half of the prompt: complaints about a reply come after it. */
const text = (request: LlmClient.LlmRequest): string =>
  String(
    request.messages.find(({ content, role }) => role === "user" && String(content).startsWith("# Task\n"))?.content
  )

export const kindOf = (request: LlmClient.LlmRequest): Kind =>
  /^Number of actions to propose: /m.test(text(request))
    ? "expand"
    : /^# The path to be judged$/m.test(text(request))
      ? "evaluate"
      : /^# The path that failed$/m.test(text(request))
        ? "reflect"
        : "final"

export interface Seen {
  readonly thought?: string
  readonly action: string
  readonly observation?: string
}

/** The path as the request shows it. */
export const pathOf = (request: LlmClient.LlmRequest): ReadonlyArray<Seen> =>
  text(request)
    .split(/^(?=\d+\.$)/m)
    .slice(1)
    .map((item) => {
      const field = (name: string) => new RegExp(`^   ${name}: (.*)$`, "m").exec(item)?.[1]
      const [thought, observation] = [field("Thought"), field("Observation")]
      return {
        ...(thought === undefined ? {} : { thought }),
        action: field("Action") ?? "",
        ...(observation === undefined ? {} : { observation })
      }
    })

/** How often a request of that content came before: what makes one sample differ from the next. */
export const counting = () => {
  const counts = new Map<string, number>()
  return (request: LlmClient.LlmRequest): number => {
    const key = text(request)
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    return count
  }
}

/** The tree that the updates of a run add up to, and what was done in which order. */
export const replay = (events: ReadonlyArray<AgentEvent>) => {
  let tree: Tree = SearchTree.make<Lats.Move>({ action: null, share: 1, score: null, critique: "", solved: false })
  const selected: Array<number> = []
  const nodes: Array<string> = []
  const touched: Array<number> = []
  for (const event of events) {
    if (event._tag !== "NodeFinished") continue
    const update = event.update as Partial<Lats.State>
    nodes.push(event.node)
    if (event.node === "select_node" && update.current !== undefined) selected.push(update.current)
    if (update.tree === undefined) continue
    touched.push(Array.from(update.tree.nodes).length)
    tree = SearchTree.merge(tree, update.tree)
  }
  const all = Array.from({ length: tree.size }, (_, id) => SearchTree.get(tree, id))
  return { tree, all, nodes, selected, touched }
}

/** A number in [0, 1) that text decides. */
export const hash = (value: string): number => {
  let h = 2166136261
  for (let i = 0; i < value.length; i++) h = Math.imul(h ^ value.charCodeAt(i), 16777619)
  h = Math.imul(h ^ (h >>> 15), 2246822507)
  h = Math.imul(h ^ (h >>> 13), 3266489909)
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32
}

/** Where a run is in the graph of its strategy. Events say which nodes ended: those that run follow from the edges. */
import type { DrawnGraph } from "../../src/studio/api/StudioRunApi.js"
import type { NodeEnd } from "./fold.js"

/** That a node runs in a step of its graph. `perhaps`: a branch may have led to it. */
interface Mark {
  readonly state: "running" | "perhaps"
  readonly step: number
}

/** Nodes of one graph in one place. Those of a step run at once, and the next ones begin when all of them have ended. */
interface Level {
  readonly marks: Map<string, Mark>
  step: number
  /** Where the ends of the step lead to. */
  readonly next: Map<string, Mark>
}

const TOP = ""

export class GraphWalk {
  private readonly levels = new Map<string, Level>()
  private readonly parents = new Map<string, string>()
  private readonly ids = new Map<string, Array<string>>()
  private readonly starts = new Map<string, string>()
  private readonly edges = new Map<string, Array<DrawnGraph["edges"][number]>>()
  private readonly ends = new Set<string>()
  /** Ends of nodes that were walked. */
  private at = 0

  constructor(graph: DrawnGraph) {
    for (const { graph: name, id, node, parent = TOP } of graph.nodes) {
      this.parents.set(id, parent)
      if (name !== undefined) {
        const key = `${name}\u0000${node}`
        this.ids.set(key, [...(this.ids.get(key) ?? []), id])
      } else if (node === "START") this.starts.set(parent, id)
      else this.ends.add(id)
    }
    for (const edge of graph.edges) this.edges.set(edge.from, [...(this.edges.get(edge.from) ?? []), edge])
    this.open(TOP)
  }

  private open(parent: string): Level {
    const level: Level = { marks: new Map(), step: 0, next: new Map() }
    this.levels.set(parent, level)
    const start = this.starts.get(parent)
    if (start !== undefined) {
      for (const { to } of this.edges.get(start) ?? []) this.mark(level, to, { state: "running", step: 1 })
    }
    return level
  }

  private mark(level: Level, id: string, mark: Mark): void {
    level.marks.set(id, mark)
    if (mark.state === "running" && this.starts.has(id) && !this.levels.has(id)) this.open(id)
  }

  private markOf(id: string): Mark | undefined {
    return this.levels.get(this.parents.get(id) ?? TOP)?.marks.get(id)
  }

  /** Of a node that is in several places, the one that runs. */
  private idOf(key: string): string | undefined {
    const ids = this.ids.get(key) ?? []
    const among = (state: Mark["state"]) => ids.find((id) => this.markOf(id)?.state === state)
    return among("running") ?? among("perhaps") ?? ids[0]
  }

  /** The level of a node. The nodes around it run, too. */
  private levelOf(id: string): Level {
    const parent = this.parents.get(id) ?? TOP
    if (parent !== TOP) {
      const around = this.levelOf(parent)
      this.mark(around, parent, { state: "running", step: around.marks.get(parent)?.step ?? around.step })
    }
    return this.levels.get(parent) ?? this.open(parent)
  }

  private end({ key, step }: NodeEnd): void {
    const id = this.idOf(key)
    if (id === undefined) return
    const level = this.levelOf(id)
    if (step > level.step) {
      level.step = step
      level.next.clear()
    }
    // The steps before this one are over.
    for (const [other, mark] of level.marks) if (mark.step < step) level.marks.delete(other)
    level.marks.delete(id)
    this.levels.delete(id)
    for (const { branch, to } of this.edges.get(id) ?? []) {
      if (this.ends.has(to) || level.next.get(to)?.state === "running") continue
      level.next.set(to, { state: branch === true ? "perhaps" : "running", step: step + 1 })
    }
    const left = Array.from(level.marks.values()).filter((mark) => mark.step === step)
    if (left.some(({ state }) => state === "running")) return
    for (const [next, mark] of level.next) {
      this.mark(level, next, left.length === 0 ? mark : { ...mark, state: "perhaps" })
    }
  }

  /** Walks on over the ends that came since. */
  follow(ends: ReadonlyArray<NodeEnd>): void {
    for (; this.at < ends.length; this.at++) this.end(ends[this.at] as NodeEnd)
  }

  stateOf(id: string): Mark["state"] | undefined {
    const parent = this.parents.get(id) ?? TOP
    return parent === TOP || this.stateOf(parent) !== undefined ? this.markOf(id)?.state : undefined
  }
}

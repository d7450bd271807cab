/**
 * The tree of a Monte Carlo tree search. It is immutable and keeps nodes by id, so that a change costs no more than the
 * path to the root.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * A node. The root has id 0 and no parent; ids are assigned in the order of creation.
 *
 * @since 0.1.0
 * @category models
 */
export interface Node<out A> {
  readonly id: number
  readonly parent: number | null
  /** In the order of creation. */
  readonly children: ReadonlyArray<number>
  /** 0 at the root. */
  readonly depth: number
  readonly visits: number
  /** The sum of the values of its visits. */
  readonly value: number
  /** Whether it cannot be expanded. */
  readonly terminal: boolean
  /** Whether nothing below it is left to explore: it is terminal, or all its children are exhausted. */
  readonly exhausted: boolean
  readonly data: A
}

/**
 * A tree, or a part of one: the nodes that a change touched.
 *
 * @since 0.1.0
 * @category models
 */
export interface SearchTree<out A> {
  /** The number of nodes in the tree, which is the id of the next one. */
  readonly size: number
  readonly nodes: HashMap.HashMap<number, Node<A>>
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const schema = <A, I>(data: Schema.Schema<A, I>) =>
  Schema.Struct({
    size: Schema.Number,
    nodes: Schema.HashMap({
      key: Schema.Number,
      value: Schema.Struct({
        id: Schema.Number,
        parent: Schema.NullOr(Schema.Number),
        children: Schema.Array(Schema.Number),
        depth: Schema.Number,
        visits: Schema.Number,
        value: Schema.Number,
        terminal: Schema.Boolean,
        exhausted: Schema.Boolean,
        data
      })
    })
  })

/**
 * The id of the root.
 *
 * @since 0.1.0
 * @category constants
 */
export const ROOT = 0

/**
 * A tree with only a root.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { SearchTree } from "effect-lexigram/strategy"
 *
 * const root = SearchTree.make("start")
 * const { ids, tree } = SearchTree.grow(root, SearchTree.ROOT, [{ data: "left" }, { data: "right" }])
 *
 * // The child with the highest value is explored next.
 * const valued = [0.2, 0.9].reduce((tree, value, at) => {
 *   const id = ids[at] ?? SearchTree.ROOT
 *   return SearchTree.backpropagate(SearchTree.visit(tree, id, value), id, value)
 * }, tree)
 * console.log(SearchTree.select(valued, 1.41)?.data) // right
 * ```
 */
export const make = <A>(data: A): SearchTree<A> => ({
  size: 1,
  nodes: HashMap.make([
    ROOT,
    {
      id: ROOT,
      parent: null,
      children: [],
      depth: 0,
      visits: 0,
      value: 0,
      terminal: false,
      exhausted: false,
      data
    }
  ])
})

/**
 * The node with that id. An unknown id is a defect.
 *
 * @since 0.1.0
 * @category getters
 */
export const get = <A>(self: SearchTree<A>, id: number): Node<A> => {
  const node = HashMap.get(self.nodes, id)
  if (Option.isNone(node)) throw new RangeError(`SearchTree: there is no node ${id}`)
  return node.value
}

/**
 * The average value of the node's visits; negative infinity for an unvisited node.
 *
 * @since 0.1.0
 * @category getters
 */
export const average = (node: Node<unknown>): number =>
  node.visits === 0 ? Number.NEGATIVE_INFINITY : node.value / node.visits

/**
 * UCB1 of a child (Auer, Cesa-Bianchi, Fischer 2002): `value / visits + c * sqrt(ln(parent visits) / visits)`. An
 * unvisited child comes first.
 *
 * @since 0.1.0
 * @category getters
 */
export const ucb1 = (node: Node<unknown>, parent: Node<unknown>, c: number): number =>
  node.visits === 0
    ? Number.POSITIVE_INFINITY
    : node.value / node.visits + c * Math.sqrt(Math.log(Math.max(1, parent.visits)) / node.visits)

/**
 * The nodes from the root to this one, inclusive.
 *
 * @since 0.1.0
 * @category getters
 */
export const path = <A>(self: SearchTree<A>, id: number): ReadonlyArray<Node<A>> => {
  const nodes: Array<Node<A>> = []
  for (let at: number | null = id; at !== null; at = nodes[nodes.length - 1]!.parent) nodes.push(get(self, at))
  return nodes.reverse()
}

/** The first of the highest-scoring nodes. */
const highest = <A>(
  self: SearchTree<A>,
  ids: ReadonlyArray<number>,
  score: (node: Node<A>) => number | undefined
): Node<A> | undefined => {
  let found: Node<A> | undefined
  let most = Number.NEGATIVE_INFINITY
  for (const id of ids) {
    const node = get(self, id)
    const value = score(node)
    if (value === undefined || (found !== undefined && value <= most)) continue
    found = node
    most = value
  }
  return found
}

/**
 * Selects the leaf to expand next: from the root, always the child with the highest UCB1 (the first in a tie) that is
 * not exhausted. `undefined` if the whole tree is exhausted.
 *
 * @since 0.1.0
 * @category getters
 */
export const select = <A>(self: SearchTree<A>, c: number): Node<A> | undefined => {
  let node = get(self, ROOT)
  if (node.exhausted) return undefined
  while (node.children.length > 0) {
    const parent = node
    const next = highest(self, parent.children, (child) => (child.exhausted ? undefined : ucb1(child, parent, c)))
    if (next === undefined) return undefined
    node = next
  }
  return node
}

/**
 * The child with the highest average, then the one with more visits, then the first; `undefined` if none was visited.
 *
 * @since 0.1.0
 * @category getters
 */
export const bestOf = <A>(self: SearchTree<A>, ids: ReadonlyArray<number>): Node<A> | undefined => {
  const visited = (node: Node<A>) => (node.visits === 0 ? undefined : average(node))
  const first = highest(self, ids, visited)
  if (first === undefined) return undefined
  return highest(self, ids, (node) => (visited(node) === average(first) ? node.visits : undefined))
}

/**
 * The path to the best end: the node with the highest average among those that `isGoal` accepts (default: terminal
 * nodes). Without any, follows the best child from the root down.
 *
 * @since 0.1.0
 * @category getters
 */
export const bestPath = <A>(
  self: SearchTree<A>,
  isGoal: (node: Node<A>) => boolean = (node) => node.terminal
): ReadonlyArray<Node<A>> => {
  const goals: Array<number> = []
  for (let id = 0; id < self.size; id++) if (isGoal(get(self, id))) goals.push(id)
  const goal = highest(self, goals, average)
  if (goal !== undefined) return path(self, goal.id)
  const nodes = [get(self, ROOT)]
  for (;;) {
    const next = bestOf(self, nodes[nodes.length - 1]!.children)
    if (next === undefined) return nodes
    nodes.push(next)
  }
}

/**
 * Changes one node of the tree. Its id and its place stay the same.
 *
 * @since 0.1.0
 * @category combinators
 */
export const modify = <A>(
  self: SearchTree<A>,
  id: number,
  f: (node: Node<A>) => Partial<Omit<Node<A>, "id" | "parent" | "children" | "depth">>
): SearchTree<A> => {
  const node = get(self, id)
  return { size: self.size, nodes: HashMap.set(self.nodes, id, { ...node, ...f(node) }) }
}

/**
 * Adds unvisited children to a node and returns their ids.
 *
 * @since 0.1.0
 * @category combinators
 */
export const grow = <A>(
  self: SearchTree<A>,
  id: number,
  children: ReadonlyArray<{ readonly data: A; readonly terminal?: boolean | undefined }>
): { readonly tree: SearchTree<A>; readonly ids: ReadonlyArray<number> } => {
  const parent = get(self, id)
  const ids = children.map((_, index) => self.size + index)
  const nodes = HashMap.mutate(self.nodes, (nodes) => {
    HashMap.set(nodes, id, { ...parent, children: [...parent.children, ...ids] })
    children.forEach(({ data, terminal = false }, index) => {
      const child = ids[index] as number
      HashMap.set(nodes, child, {
        id: child,
        parent: id,
        children: [],
        depth: parent.depth + 1,
        visits: 0,
        value: 0,
        terminal,
        exhausted: false,
        data
      })
    })
  })
  return { tree: { size: self.size + children.length, nodes }, ids }
}

/**
 * Records a visit of one node with this value. `backpropagate` updates its ancestors.
 *
 * @since 0.1.0
 * @category combinators
 */
export const visit = <A>(self: SearchTree<A>, id: number, value: number): SearchTree<A> =>
  modify(self, id, (node) => ({ visits: node.visits + 1, value: node.value + value }))

/**
 * Adds the value and one visit to every ancestor of a node.
 *
 * @since 0.1.0
 * @category combinators
 */
export const backpropagate = <A>(self: SearchTree<A>, id: number, value: number): SearchTree<A> => {
  let tree = self
  for (let at = get(self, id).parent; at !== null; at = get(tree, at).parent) tree = visit(tree, at, value)
  return tree
}

/**
 * Marks a node as exhausted, and every ancestor that has nothing else left.
 *
 * @since 0.1.0
 * @category combinators
 */
export const exhaust = <A>(self: SearchTree<A>, id: number): SearchTree<A> => {
  let tree = modify(self, id, () => ({ exhausted: true }))
  for (let at = get(tree, id).parent; at !== null; ) {
    const node = get(tree, at)
    if (node.exhausted || node.children.some((child) => !get(tree, child).exhausted)) return tree
    tree = modify(tree, at, () => ({ exhausted: true }))
    at = node.parent
  }
  return tree
}

/**
 * Only these nodes: a change for `merge`.
 *
 * @since 0.1.0
 * @category combining
 */
export const pick = <A>(self: SearchTree<A>, ids: Iterable<number>): SearchTree<A> => {
  const nodes: Array<readonly [number, Node<A>]> = []
  for (const id of ids) nodes.push([id, get(self, id)])
  return { size: self.size, nodes: HashMap.fromIterable(nodes) }
}

/**
 * Replaces the nodes of the tree by those of `that`.
 *
 * @since 0.1.0
 * @category combining
 */
export const merge = <A>(self: SearchTree<A>, that: SearchTree<A>): SearchTree<A> => ({
  size: Math.max(self.size, that.size),
  nodes: HashMap.mutate(self.nodes, (nodes) => {
    for (const [id, node] of that.nodes) HashMap.set(nodes, id, node)
  })
})

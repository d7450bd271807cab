import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as HashMap from "effect/HashMap"
import * as Schema from "effect/Schema"
import * as SearchTree from "../../../src/strategy/lats/SearchTree.js"

type Tree = SearchTree.SearchTree<string>

const children = (...names: ReadonlyArray<string>) => names.map((data) => ({ data }))

const grown = (tree: Tree, id: number, ...names: ReadonlyArray<string>): Tree =>
  SearchTree.grow(tree, id, children(...names)).tree

/** 0 → 1, 2; 1 → 3, 4 */
const small = grown(grown(SearchTree.make("root"), 0, "a", "b"), 1, "aa", "ab")

const visited = (tree: Tree, values: { readonly [id: number]: number }): Tree =>
  Object.entries(values).reduce((tree, [id, value]) => {
    const seen = SearchTree.visit(tree, Number(id), value)
    return SearchTree.backpropagate(seen, Number(id), value)
  }, tree)

const shape = (tree: Tree) =>
  Array.from({ length: tree.size }, (_, id) => SearchTree.get(tree, id)).map(({ data, visits, value }) => [
    data,
    visits,
    value
  ])

describe("SearchTree", () => {
  it("assigns increasing ids, parents and depths, and changes no earlier tree", () => {
    const root = SearchTree.make("root")
    const { ids, tree } = SearchTree.grow(root, 0, [{ data: "a" }, { data: "b", terminal: true }])
    assert.deepStrictEqual(ids, [1, 2])
    assert.deepStrictEqual(SearchTree.get(tree, 2), {
      id: 2,
      parent: 0,
      children: [],
      depth: 1,
      visits: 0,
      value: 0,
      terminal: true,
      exhausted: false,
      data: "b"
    })
    assert.deepStrictEqual(SearchTree.get(tree, 0).children, [1, 2])
    assert.deepStrictEqual([root.size, SearchTree.get(root, 0).children.length], [1, 0])
    assert.deepStrictEqual(
      SearchTree.path(small, 4).map(({ data }) => data),
      ["root", "a", "ab"]
    )
    assert.deepStrictEqual(SearchTree.get(grown(small, 0, "c"), 0).children, [1, 2, 5])
  })

  it("dies on an unknown node", () => {
    assert.throws(() => SearchTree.get(small, 99), RangeError)
  })

  it("ucb1 is the average plus c times the root of ln(parent visits) over the visits", () => {
    const tree = visited(small, { 1: 0.5, 2: 0.25, 3: 1 })
    const [root, a] = [SearchTree.get(tree, 0), SearchTree.get(tree, 1)]
    assert.deepStrictEqual([root.visits, a.visits, a.value], [3, 2, 1.5])
    assert.strictEqual(SearchTree.ucb1(a, root, 1.41), 0.75 + 1.41 * Math.sqrt(Math.log(3) / 2))
    assert.strictEqual(SearchTree.ucb1(a, root, 0), 0.75)
    assert.strictEqual(SearchTree.ucb1(SearchTree.get(tree, 4), a, 1), Number.POSITIVE_INFINITY)
    // A parent that was not visited itself makes no NaN of it.
    assert.strictEqual(SearchTree.ucb1(a, SearchTree.get(tree, 4), 1), 0.75)
  })

  it("selects an unvisited child before all others, and the first in a tie", () => {
    const tree = visited(small, { 1: 1, 2: 0, 3: 1 })
    assert.strictEqual(SearchTree.select(tree, 0)?.data, "ab")
    assert.strictEqual(SearchTree.select(visited(small, { 1: 0.5, 2: 0.5, 3: 0.5, 4: 0.5 }), 0)?.data, "aa")
    assert.strictEqual(SearchTree.select(SearchTree.make("alone"), 1)?.data, "alone")
  })

  it("returns to the unexplored children by exploration", () => {
    let tree = visited(small, { 1: 0.6, 2: 0.5, 3: 0.6, 4: 0.6 })
    assert.strictEqual(SearchTree.select(tree, 0)?.data, "aa")
    assert.strictEqual(SearchTree.select(tree, 2)?.data, "b")
    tree = visited(tree, { 2: 0 })
    assert.strictEqual(SearchTree.select(tree, 0.1)?.data, "aa")
  })

  it("never selects an exhausted node, nor one with only exhausted children", () => {
    let tree = visited(small, { 1: 1, 2: 0, 3: 1, 4: 1 })
    tree = SearchTree.exhaust(tree, 3)
    assert.isFalse(SearchTree.get(tree, 1).exhausted)
    assert.strictEqual(SearchTree.select(tree, 0)?.data, "ab")
    tree = SearchTree.exhaust(tree, 4)
    assert.isTrue(SearchTree.get(tree, 1).exhausted)
    assert.isFalse(SearchTree.get(tree, 0).exhausted)
    assert.strictEqual(SearchTree.select(tree, 0)?.data, "b")
    tree = SearchTree.exhaust(tree, 2)
    assert.isTrue(SearchTree.get(tree, 0).exhausted)
    assert.isUndefined(SearchTree.select(tree, 0))
  })

  it("backpropagates the value and a visit to the ancestors only", () => {
    const tree = SearchTree.backpropagate(SearchTree.visit(small, 3, 0.5), 3, 0.25)
    assert.deepStrictEqual(shape(tree), [
      ["root", 1, 0.25],
      ["a", 1, 0.25],
      ["b", 0, 0],
      ["aa", 1, 0.5],
      ["ab", 0, 0]
    ])
    assert.deepStrictEqual(shape(SearchTree.backpropagate(small, 0, 1)), shape(small))
  })

  it("picks the best child by average, then visits, then order, and never an unvisited one", () => {
    assert.strictEqual(SearchTree.bestOf(visited(small, { 3: 0.2, 4: 0.4 }), [3, 4])?.data, "ab")
    const twice = SearchTree.visit(visited(small, { 3: 0.5, 4: 0.5 }), 4, 0.5)
    assert.strictEqual(SearchTree.bestOf(twice, [3, 4])?.data, "ab")
    assert.strictEqual(SearchTree.bestOf(visited(small, { 3: 0.5, 4: 0.5 }), [3, 4])?.data, "aa")
    assert.strictEqual(SearchTree.bestOf(visited(small, { 4: 0 }), [3, 4])?.data, "ab")
    assert.isUndefined(SearchTree.bestOf(small, [3, 4]))
  })

  it("ends the best path in the best terminal node, whatever the averages above it", () => {
    const tree = visited(
      SearchTree.modify(
        SearchTree.modify(small, 3, () => ({ terminal: true })),
        2,
        () => ({ terminal: true })
      ),
      { 1: 0, 2: 0.4, 3: 0.5, 4: 0.9 }
    )
    const names = (path: ReadonlyArray<SearchTree.Node<string>>) => path.map(({ data }) => data)
    assert.deepStrictEqual(names(SearchTree.bestPath(tree)), ["root", "a", "aa"])
    assert.deepStrictEqual(names(SearchTree.bestPath(tree, ({ data }) => data === "b")), ["root", "b"])
    assert.deepStrictEqual(names(SearchTree.bestPath(tree, () => false)), ["root", "a", "ab"])
    assert.deepStrictEqual(names(SearchTree.bestPath(SearchTree.make("alone"))), ["alone"])
  })

  it("prefers an unjudged goal to none, and a judged one to an unjudged one", () => {
    const isGoal = ({ data }: SearchTree.Node<string>) => data === "aa" || data === "b"
    assert.strictEqual(SearchTree.bestPath(visited(small, { 4: 1 }), isGoal).at(-1)?.data, "b")
    assert.strictEqual(SearchTree.bestPath(visited(small, { 3: 0 }), isGoal).at(-1)?.data, "aa")
  })

  it("merges the changed part into the whole", () => {
    const next = SearchTree.visit(grown(small, 2, "ba"), 2, 1)
    const part = SearchTree.pick(next, [2, 5])
    assert.strictEqual(HashMap.size(part.nodes), 2)
    assert.deepStrictEqual(shape(SearchTree.merge(small, part)), shape(next))
    assert.deepStrictEqual(shape(SearchTree.merge(next, SearchTree.pick(small, []))), shape(next))
  })

  it("is plain data when encoded, and decodes to the same tree", () => {
    const schema = SearchTree.schema(Schema.String)
    const tree = visited(small, { 3: 0.5 })
    const json = JSON.parse(JSON.stringify(Schema.encodeSync(schema)(tree)))
    assert.deepStrictEqual(shape(Schema.decodeUnknownSync(schema)(json)), shape(tree))
  })

  it("selects among at most depth times branching nodes, however large the tree is", () => {
    const build = (breadth: number, depth: number, level = 0, tree: Tree = SearchTree.make("x"), id = 0): Tree => {
      if (level === depth) return tree
      const { ids, tree: next } = SearchTree.grow(
        tree,
        id,
        Array.from({ length: breadth }, () => ({ data: "x" }))
      )
      return ids.reduce(
        (tree, child) => build(breadth, depth, level + 1, SearchTree.visit(tree, child, 0.5), child),
        next
      )
    }
    const looks = (tree: Tree): number => {
      const seen = new Set<number>()
      const watched: Tree = {
        size: tree.size,
        nodes: HashMap.map(tree.nodes, (node) =>
          Object.defineProperty({ ...node }, "visits", {
            get: () => {
              seen.add(node.id)
              return node.visits
            }
          })
        )
      }
      SearchTree.select(watched, 1.41)
      return seen.size
    }
    for (const [breadth, depth] of [
      [3, 3],
      [3, 6],
      [5, 5]
    ] as const) {
      const tree = build(breadth, depth)
      assert.isAtMost(looks(tree), depth * breadth + 1)
      assert.isAbove(looks(tree), depth)
    }
  })

  it("keeps its invariants under any operations: visits add up, exhausted nodes have nothing open below", () => {
    const op = FastCheck.tuple(FastCheck.nat(3), FastCheck.nat(), FastCheck.nat(4))
    FastCheck.assert(
      FastCheck.property(FastCheck.array(op, { maxLength: 60 }), (ops) => {
        let tree: Tree = SearchTree.make("root")
        let visits = 0
        for (const [kind, where, amount] of ops) {
          const id = where % tree.size
          if (kind === 0 && !SearchTree.get(tree, id).exhausted) tree = grown(tree, id, ..."abcde".slice(0, amount))
          else if (kind === 1) {
            tree = SearchTree.backpropagate(SearchTree.visit(tree, id, amount), id, amount)
            visits++
          } else if (kind === 2 && SearchTree.get(tree, id).children.length === 0) tree = SearchTree.exhaust(tree, id)
        }
        assert.strictEqual(SearchTree.get(tree, 0).visits, visits)
        for (let id = 0; id < tree.size; id++) {
          const node = SearchTree.get(tree, id)
          if (node.children.length === 0) continue
          const below = node.children.map((child) => SearchTree.get(tree, child))
          assert.strictEqual(
            node.exhausted,
            below.every(({ exhausted }) => exhausted)
          )
          assert.isAtLeast(
            node.visits,
            below.reduce((sum, child) => sum + child.visits, 0)
          )
        }
        const leaf = SearchTree.select(tree, 1)
        assert.strictEqual(leaf === undefined, SearchTree.get(tree, 0).exhausted)
        if (leaf !== undefined) assert.isFalse(leaf.exhausted || leaf.children.length > 0)
      })
    )
  })
})

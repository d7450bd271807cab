import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"

it.effect("every tool is visible to all without modules", () =>
  Effect.gen(function* () {
    const graph = yield* ModuleGraph.ModuleGraph
    assert.isTrue(yield* graph.isVisible({}))
    assert.isTrue(yield* graph.isVisible({ caller: "billing", owner: "admin" }))
    assert.isTrue(yield* graph.isVisible({ owner: "admin" }))
  }).pipe(Effect.provide(ModuleGraph.layerNoop))
)

const modules = {
  support: { imports: ["orders"] },
  orders: { imports: ["billing"] },
  billing: {},
  clock: { global: true },
  shop: { imports: ["facade"] },
  facade: { imports: ["inner", "billing"], exports: ["inner"] },
  inner: { imports: ["core", "facade"], exports: ["core", "facade"] },
  core: {}
}

/** Which of the owners the caller sees. */
const seenBy = (caller: string | undefined, owners: ReadonlyArray<string | undefined> = Object.keys(modules)) =>
  Effect.flatMap(ModuleGraph.ModuleGraph, (graph) =>
    Effect.filter(owners, (owner) => graph.isVisible({ caller, owner }))
  )

describe("a graph of modules", () => {
  const check = <A, E>(name: string, effect: Effect.Effect<A, E, ModuleGraph.ModuleGraph>) =>
    it.effect(name, () => Effect.provide(effect, ModuleGraph.layer({ modules })))

  check(
    "hides from a caller without a module every tool of a module, and from nobody a tool without one",
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* seenBy(undefined, [...Object.keys(modules), "nowhere", "", undefined]), [undefined])
      assert.deepStrictEqual(yield* seenBy("nowhere", [undefined]), [undefined])
    })
  )

  check(
    "shows a module its own tools, those of its imports and global ones; imports do not pass on",
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* seenBy("support"), ["support", "orders", "clock"])
      assert.deepStrictEqual(yield* seenBy("billing"), ["billing", "clock"])
      assert.deepStrictEqual(yield* seenBy("clock"), ["clock"])
    })
  )

  check(
    "shows what an import hands on, over any number of steps and in circles, and nothing besides",
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* seenBy("shop"), ["clock", "shop", "facade", "inner", "core"])
    })
  )

  check(
    "hides everything that is of a module it does not know, from and to",
    Effect.gen(function* () {
      const odd = ["nowhere", "", "__proto__", "constructor", "toString"]
      assert.deepStrictEqual(yield* seenBy("support", odd), [])
      for (const caller of odd) assert.deepStrictEqual(yield* seenBy(caller, [...odd, "clock", "support"]), [])
    })
  )

  it.effect("accepts any names", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* seenBy("__proto__", ["constructor", "hasOwnProperty"]), ["constructor"])
      assert.deepStrictEqual(yield* seenBy("constructor", ["__proto__"]), [])
    }).pipe(
      Effect.provide(
        ModuleGraph.layer({
          modules: [
            ["__proto__", { imports: ["constructor"] }],
            ["constructor", {}],
            ["hasOwnProperty", {}]
          ]
        })
      )
    )
  )

  it.effect("fails the layer and lists all issues if inconsistent", () =>
    Effect.gen(function* () {
      const graph = ModuleGraph.layer({
        modules: [
          ["support", { imports: ["order"] }],
          ["orders", { exports: ["support"] }],
          ["support", {}],
          [" ", {}]
        ]
      })
      const error = yield* Effect.flip(Layer.build(graph)).pipe(Effect.scoped)
      assert.strictEqual(error._tag, "ModuleGraphError")
      assert.strictEqual(error.code, "LEX_ERR_AGT_115")
      assert.deepStrictEqual(error.problems, [
        'two modules are named "support"',
        "a module has an empty name",
        '"support" imports "order", which is no module, did you mean "orders"?',
        '"orders" exports "support", which it does not import'
      ])
    })
  )

  it("shows only own tools, global ones and those reached by an import and its exports", () => {
    const names = ["a", "b", "c", "d", "e"] as const
    const some = FastCheck.uniqueArray(FastCheck.constantFrom(...names))
    const graphs = FastCheck.record(
      Object.fromEntries(
        names.map((name) => [
          name,
          FastCheck.record({ imports: some, handsOn: FastCheck.boolean(), global: FastCheck.boolean() })
        ])
      ) as Record<(typeof names)[number], FastCheck.Arbitrary<any>>
    )
    FastCheck.assert(
      FastCheck.property(graphs, (given) => {
        const modules = Object.fromEntries(
          names.map((name) => [name, { ...given[name], exports: given[name].handsOn ? given[name].imports : [] }])
        )
        const graph = Effect.runSync(ModuleGraph.make({ modules }))
        for (const caller of names) {
          // By repetition until nothing is new.
          let reached = new Set<string>(given[caller].imports)
          for (let size = -1; size !== reached.size; ) {
            size = reached.size
            reached = new Set([...reached, ...Array.from(reached).flatMap((name) => modules[name]?.exports ?? [])])
          }
          for (const owner of names) {
            const expected = caller === owner || given[owner].global || reached.has(owner)
            assert.strictEqual(
              Effect.runSync(Effect.orDie(graph.isVisible({ caller, owner }) as Effect.Effect<boolean>)),
              expected
            )
          }
        }
      })
    )
  })

  it.effect("handles a chain of ten thousand modules at once", () =>
    Effect.gen(function* () {
      const name = (n: number) => `m${n}`
      const line = Array.from(
        { length: 10_000 },
        (_, n) => [name(n), n === 0 ? {} : { imports: [name(n - 1)] }] as const
      )
      const graph = yield* ModuleGraph.make({ modules: line })
      assert.isTrue(yield* graph.isVisible({ caller: name(9_999), owner: name(9_998) }))
      assert.isFalse(yield* graph.isVisible({ caller: name(9_999), owner: name(9_997) }))
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as LlmCompilerPlan from "../../src/plan/LlmCompilerPlan.js"

const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

const read = LlmCompilerPlan.readPlan

describe("LlmCompilerPlan.makeParser", () => {
  const texts = [
    'Thought: a\n1. search("x")\n2. math("$1\n * 2", [\n"$1"])\n3. say(bare (text))\nThought: b\n4. join()<END_OF_PLAN>',
    '{"tasks": [{"id": 1, "tool": "a", "args": {"x": "}\\""}}, {"id": 2, "tool": "b", "args": ["$1"]}]}',
    'NODE: n1\nTOOL: a\nARGS: {"x":\n 1}\nDEPENDS_ON: []\nNODE: n2\nTOOL: b\nARGS: {"y": "#n1 #n3 #no"}\nNODE: n3\nTOOL: c',
    "1. f('it\\'s \\u00e9', {\"a\": [1, 2.5]}, key=True) # note\n2. g(Arthur's)\n"
  ]

  it("returns each task once, whatever the pieces", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom(...texts),
        FastCheck.array(FastCheck.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
        (text, sizes) => {
          const parser = LlmCompilerPlan.makeParser()
          const given: Array<LlmCompilerPlan.PlanTask> = []
          for (let at = 0, i = 0; at < text.length; i++) {
            const size = sizes[i % sizes.length] as number
            given.push(...parser.push(text.slice(at, at + size)))
            at += size
          }
          const reading = parser.end()
          assert.deepStrictEqual(reading, read(text))
          assert.lengthOf(new Set(given.map(({ id }) => id)), given.length)
          for (const task of given)
            assert.deepStrictEqual(
              task,
              reading.plan.tasks.find(({ id }) => id === task.id)
            )
        }
      )
    )
  })

  it("returns a task at the end of its line or of its object", () => {
    const parser = LlmCompilerPlan.makeParser()
    const ids = (text: string) => parser.push(text).map(({ id }) => id)
    assert.deepStrictEqual(ids('1. f("a")'), [])
    assert.deepStrictEqual(ids("\n2. g("), ["1"])
    assert.deepStrictEqual(ids("\n$1\n"), [])
    assert.deepStrictEqual(ids(")\n3. h(x)"), ["2"])
    assert.deepStrictEqual(
      parser.end().plan.tasks.map(({ id }) => id),
      ["1", "2", "3"]
    )
    const json = LlmCompilerPlan.makeParser()
    assert.lengthOf(json.push('{"tasks":[{"id":1,"tool":"f","args":{}}'), 1)
    assert.lengthOf(json.push(',{"id":2,"tool":"g"'), 0)
    assert.lengthOf(json.push("}]}"), 1)
  })

  it("reports an issue as soon as it is read", () => {
    const parser = LlmCompilerPlan.makeParser({ tools: [{ name: "f" }] })
    parser.push("1. f()\n")
    assert.deepStrictEqual(parser.issues(), [])
    parser.push("2. g()\n")
    assert.deepStrictEqual(
      parser.issues().map(({ reason }) => reason),
      ["unknown-tool"]
    )
  })

  it("returns a task with a word that may name a later one at the end", () => {
    const parser = LlmCompilerPlan.makeParser()
    const block = (id: string, text: string) =>
      lines(`NODE: ${id}`, "TOOL: f", `ARGS: {"t": "${text}"}`, "DEPENDS_ON: []\n")
    assert.lengthOf(parser.push(block("a", "x")), 1)
    assert.lengthOf(parser.push(block("b", "#later")), 0)
    assert.lengthOf(parser.push(block("later", "y")), 1)
    assert.deepStrictEqual(parser.end().plan.tasks[1]?.dependencies, ["later"])
  })
})

describe("LlmCompilerPlan.resolve", () => {
  const results = new Map<string, unknown>([
    ["1", 42],
    ["2", { deep: ["$1"] }],
    ["10", "ten $1"],
    ["node1", [1, 2]]
  ])
  const resolved = (text: string) => {
    const [task] = read(text).plan.tasks
    return Either.map(LlmCompilerPlan.resolve(task!, results), ({ args, named }) => ({ args, named }))
  }

  it("replaces a whole reference by its value and one in a text by its text, without searching results", () => {
    assert.deepStrictEqual(
      Either.getOrThrow(resolved(`3. f("$1", " \${1} ", "$1 * 2", ["$2", {"k": "\${10} and $1, not $10"}], x=$2)`)),
      {
        args: [42, 42, "42 * 2", [{ deep: ["$1"] }, { k: "ten $1 and 42, not ten $1" }]],
        named: { x: { deep: ["$1"] } }
      }
    )
    assert.deepStrictEqual(Either.getOrThrow(resolved('3. f("$2 $1")')).args, ['{"deep":["$1"]} 42'])
  })

  it("reads names as references if tasks have names, and ranks as ranks", () => {
    const text = lines(
      "NODE: node1",
      "TOOL: f",
      "ARGS: {}",
      "NODE: n2",
      "TOOL: g",
      'ARGS: {"a": "#node1", "b": "the #1 of #node1, #AI"}'
    )
    const task = read(text).plan.tasks[1]!
    assert.deepStrictEqual(Either.getOrThrow(LlmCompilerPlan.resolve(task, results)).named, {
      a: [1, 2],
      b: "the #1 of [1,2], #AI"
    })
  })

  it("fails on a reference without a result", () => {
    const error = Either.getOrThrow(Either.flip(resolved(`3. f("see \${7}", ["$8", "$1"])`)))
    assert.deepStrictEqual(
      error.issues.map(({ message, reason, task }) => [reason, task, message]),
      [
        ["missing-reference", "3", "$3 refers to $7, which has no result"],
        ["missing-reference", "3", "$3 refers to $8, which has no result"]
      ]
    )
  })

  it("leaves no reference in the arguments of a valid plan", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.array(FastCheck.nat(12), { maxLength: 3 }), { maxLength: 12 }),
        (shapes) => {
          const text = shapes
            .map(
              (refs, i) =>
                `${i + 1}. f("a ${refs.map((r) => `$${r}`).join(" ")}", [${refs.map((r) => `"\${${r}}"`).join(",")}])`
            )
            .join("\n")
          const result = LlmCompilerPlan.parse(text)
          if (Either.isLeft(result)) return
          for (const task of result.right.tasks) {
            const values = new Map(task.dependencies.map((id) => [id, `<${id}>`] as const))
            const { args } = Either.getOrThrow(LlmCompilerPlan.resolve(task, values))
            assert.notInclude(JSON.stringify(args), "$")
          }
        }
      )
    )
  })
})

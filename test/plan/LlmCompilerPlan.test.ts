import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as LlmCompilerPlan from "../../src/plan/LlmCompilerPlan.js"
import { PlanError } from "../../src/strategy/definition/StrategyError.js"
import * as Growth from "../support/Growth.js"

const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

const read = LlmCompilerPlan.readPlan

const plan = (text: string, options?: LlmCompilerPlan.Options) =>
  Either.getOrThrow(LlmCompilerPlan.parse(text, options))

/** Id, tool, arguments (by position, then by name if any), dependencies. */
const brief = (text: string, options?: LlmCompilerPlan.Options) =>
  read(text, options).plan.tasks.map(({ args, dependencies, id, named, tool }) => [
    id,
    tool,
    Object.keys(named).length === 0 ? args : [...args, named],
    dependencies
  ])

const args = (text: string) => read(`1. f(${text})`).plan.tasks[0]?.args

const reasons = (text: string, options?: LlmCompilerPlan.Options) =>
  read(text, options).issues.map(({ reason, task }) => [reason, task])

const messages = (text: string, options?: LlmCompilerPlan.Options) =>
  read(text, options).issues.map(({ message }) => message)

describe("LlmCompilerPlan in lines", () => {
  it("reads calls, the thought before each, and a join that waits for all", () => {
    const { join, tasks } = plan(
      lines(
        "Question: which is higher?",
        "Thought: I look up both.",
        '1. search("Mount Fuji")',
        '2. search("Mont Blanc")',
        "Thought: Now the difference.",
        'Thought: "abs" is known.',
        '3. math("abs($1 - $2)", ["$1"])',
        "Thought: I can answer.",
        "4. join()<END_OF_PLAN>",
        "###",
        "5. search(more)"
      )
    )
    assert.deepStrictEqual(
      tasks.map(({ args, argsRaw, dependencies, id, thought, tool }) => ({
        id,
        tool,
        args,
        argsRaw,
        dependencies,
        thought
      })),
      [
        {
          id: "1",
          tool: "search",
          args: ["Mount Fuji"],
          argsRaw: '"Mount Fuji"',
          dependencies: [],
          thought: "I look up both."
        },
        { id: "2", tool: "search", args: ["Mont Blanc"], argsRaw: '"Mont Blanc"', dependencies: [], thought: "" },
        {
          id: "3",
          tool: "math",
          args: ["abs($1 - $2)", ["$1"]],
          argsRaw: '"abs($1 - $2)", ["$1"]',
          dependencies: ["1", "2"],
          thought: 'Now the difference.\n"abs" is known.'
        }
      ]
    )
    assert.deepStrictEqual(
      [join?.id, join?.dependencies, join?.thought, join?.args],
      ["4", ["1", "2", "3"], "I can answer.", []]
    )
  })

  it("reads literals of Python and JSON", () => {
    assert.deepStrictEqual(args(`'it\\'s', "a \\"b\\"", 'tab\\tnew\\nline', "\\u00e9\\x41", r"C:\\new"`), [
      "it's",
      'a "b"',
      "tab\tnew\nline",
      "éA",
      "C:\\new"
    ])
    assert.deepStrictEqual(args("1, -2.5, +3, .5, 1e3, 1_000, 0x1f"), [1, -2.5, 3, 0.5, 1000, 1000, 31])
    assert.deepStrictEqual(args("True, False, None, true, false, null"), [true, false, null, true, false, null])
    assert.deepStrictEqual(args(`[1, [2, "x"],], (1, 2), (3,), (4), {1, 2}, {}`), [
      [1, [2, "x"]],
      [1, 2],
      [3],
      4,
      [1, 2],
      {}
    ])
    assert.deepStrictEqual(args(`{"a": {'b': [None]}, c: 1, 2: "two"}`), [{ a: { b: [null] }, c: 1, "2": "two" }])
    assert.deepStrictEqual(args(`"one" 'two', """three"""`), ["onetwo", "three"])
    assert.deepStrictEqual(args(`$1, \${2}, [$3, {"k": $4}]`), ["$1", `\${2}`, ["$3", { k: "$4" }]])
    assert.deepStrictEqual(args("  "), [])
  })

  it("reads named arguments", () => {
    const [task] = read(`1. send("a", to=["$2"], urgent=True)`).plan.tasks
    assert.deepStrictEqual([task?.args, task?.named, task?.dependencies], [["a"], { to: ["$2"], urgent: true }, ["2"]])
  })

  it("reads arguments that are not literals as one text", () => {
    assert.deepStrictEqual(args("Austin Powers, International Man of Mystery"), [
      "Austin Powers, International Man of Mystery"
    ])
    assert.deepStrictEqual(args("Arthur's Magazine"), ["Arthur's Magazine"])
    assert.deepStrictEqual(args("First for Women (magazine)"), ["First for Women (magazine)"])
    assert.deepStrictEqual(args("$1 * 2"), ["$1 * 2"])
    assert.deepStrictEqual(args("2022-10-14"), ["2022-10-14"])
    assert.deepStrictEqual(args("007"), ["007"])
    assert.deepStrictEqual(args('say "hi" to them'), ['say "hi" to them'])
    assert.deepStrictEqual(args("max(1, 2) / min(3, 4)"), ["max(1, 2) / min(3, 4)"])
    assert.deepStrictEqual(args("smile :) now"), ["smile :) now"])
    assert.deepStrictEqual(args("first) and (second"), ["first) and (second"])
  })

  it("accepts comments, marks and the end of the plan after a call", () => {
    for (const rest of ["", " # max($1, 2)", " // (x)", "<END_OF_PLAN>", ";", ".", "`", " \r"]) {
      assert.deepStrictEqual(brief(`1. f("x")${rest}\n2. g(y)${rest}`), [
        ["1", "f", ["x"], []],
        ["2", "g", ["y"], []]
      ])
    }
  })

  it("reads a call on several lines", () => {
    assert.deepStrictEqual(brief('1. note("a\n1. not a (task)",\n  [\n    "b"\n  ]\n)\n2. g("$1")'), [
      ["1", "note", ["a\n1. not a (task)", ["b"]], []],
      ["2", "g", ["$1"], ["1"]]
    ])
  })

  it("reads several notations of numbers and of the join", () => {
    const text = lines("- 1) f(a)", "**2.** g(b)", "Task 3: h(c)", "$4 = `i`(d)", "05. k($4)", "Join()")
    assert.deepStrictEqual(
      brief(text).map(([id, tool]) => `${id} ${tool}`),
      ["1 f", "2 g", "3 h", "4 i", "5 k"]
    )
    assert.strictEqual(read(text).plan.join?.id, "6")
    for (const join of ["6. join", "6. JOIN()", "join()<END_OF_PLAN>", "- join()"]) {
      assert.strictEqual(plan(`1. f(a)\n${join}`).join?.tool, "join")
    }
  })

  it("skips prose, headings and fences, and needs no join", () => {
    const text = lines(
      "Here is my plan:",
      "```",
      "# Steps",
      "1. First I think about it.",
      '1. f("x")',
      "```",
      "Good luck!"
    )
    assert.deepStrictEqual(brief(text), [["1", "f", ["x"], []]])
    assert.isUndefined(plan(text).join)
  })

  it("distinguishes $1 and $10, and lists each reference once, in order", () => {
    const rows = Array.from({ length: 10 }, (_, i) => `${i + 1}. f("x")`)
    const task = plan(lines(...rows, `11. g("$10, \${2} and $1 of $10")`)).tasks.at(-1)
    assert.deepStrictEqual(task?.dependencies, ["1", "2", "10"])
    assert.deepStrictEqual(plan(lines(...rows, '11. g("$100")'.replace("100", "10 0"))).tasks.at(-1)?.dependencies, [
      "10"
    ])
  })

  it("accepts references to later tasks", () => {
    assert.deepStrictEqual(brief("1. f($2)\n2. g()"), [
      ["1", "f", ["$2"], ["2"]],
      ["2", "g", [], []]
    ])
  })

  it("poisons no prototypes", () => {
    const value = args(`{"__proto__": {"x": 1}, "y": 2}`) as ReadonlyArray<{ readonly y: number; readonly x?: number }>
    assert.deepStrictEqual([Object.keys(value[0]!), value[0]!.x], [["y"], undefined])
    assert.isUndefined(({} as { readonly x?: number }).x)
    assert.deepStrictEqual(
      brief('[{"id": "__proto__", "tool": "f"}, {"id": 2, "tool": "g", "args": {"a": "#__proto__"}}]')[0]?.[0],
      "__proto__"
    )
  })
})

describe("LlmCompilerPlan in blocks and JSON", () => {
  it("reads blocks, with JSON over several lines and references anywhere", () => {
    const { tasks } = plan(
      lines(
        "NODE: node1",
        "TOOL: search",
        "ARGS: {",
        '  "query": "Tokyo #travel"',
        "}",
        "DEPENDS_ON: []",
        "",
        "**NODE: node2**",
        "TOOL: `calculate`",
        'ARGS: {"expression": "#node1 * 2", "context": ["see #node1", {"again": "#node10"}]}',
        "DEPENDS_ON: node3",
        "NODE: node3",
        "TOOL: now",
        "ARGS: none",
        "DEPENDS_ON: none",
        "NODE: node10",
        "TOOL: say",
        "ARGS: a bare text"
      )
    )
    assert.deepStrictEqual(
      tasks.map(({ args, dependencies, id, named, tool }) => [id, tool, args, named, dependencies]),
      [
        ["node1", "search", [], { query: "Tokyo #travel" }, []],
        [
          "node2",
          "calculate",
          [],
          { expression: "#node1 * 2", context: ["see #node1", { again: "#node10" }] },
          ["node3", "node1", "node10"]
        ],
        ["node3", "now", [], {}, []],
        ["node10", "say", ["a bare text"], {}, []]
      ]
    )
  })

  it("reads JSON bare, fenced or in a sentence, under several names, by position or by name", () => {
    const expected = [
      ["1", "search", [{ q: 'a "b" } ]' }], []],
      ["2", "math", ["$1 * 2"], ["1"]]
    ]
    const tasks =
      '[{"id": 1, "tool": "search", "args": {"q": "a \\"b\\" } ]"}}, {"id": "2", "tool": "math", "args": ["$1 * 2"]}]'
    for (const text of [
      tasks,
      `{"tasks": ${tasks}}`,
      `{"thought": "tasks: [{", "nodes": ${tasks}, "done": [{"x": 1}]}`,
      `{"graph": {"nodes": ${tasks}}}`,
      `Sure, here it is:\n\`\`\`json\n{"plan":\n${tasks}}\n\`\`\`\nDone.`,
      `{'steps': [{'idx': 1, 'name': 'search', 'arguments': {'q': 'a "b" } ]'}}, {'idx': 2, 'name': 'math', 'input': '$1 * 2',},]}`
    ]) {
      assert.deepStrictEqual(brief(text), expected, text)
      assert.deepStrictEqual(read(text).issues, [], text)
    }
  })

  it("reads an empty list, or only a join, as a plan without calls", () => {
    for (const text of ['{"tasks": []}', "[]", "1. join()", '[{"id": 1, "tool": "join"}]']) {
      assert.deepStrictEqual(plan(text).tasks, [], text)
    }
  })

  it("accepts additional dependencies", () => {
    assert.deepStrictEqual(
      brief('[{"id": 1, "tool": "a"}, {"id": 2, "tool": "b", "depends_on": ["$1"], "thought": "then"}]')[1]?.[3],
      ["1"]
    )
  })

  it("rejects truncated JSON, with its complete tasks", () => {
    const reading = read('{"tasks": [{"id": 1, "tool": "a"}, {"id": 2, "tool": "b", "ar')
    assert.deepStrictEqual([reading.plan.tasks.length, reading.issues[0]?.reason, reading.written], [1, "malformed", 2])
  })
})

describe("issues of a plan", () => {
  it("are reported together, in an error with a code", () => {
    const text = lines("1. f($1)", "2. f($9)", "2. f()", "3. f($4)", "4. f($3)", '5. f("x"', "6. g()")
    const result = LlmCompilerPlan.parse(text, { tools: [{ name: "f" }] })
    const error = Either.getOrThrow(Either.flip(result))
    assert.instanceOf(error, PlanError)
    assert.strictEqual(error.code, "LEX_ERR_AGT_108")
    assert.deepStrictEqual(
      error.issues.map(({ reason, task }) => [reason, task]),
      [
        ["cycle", "1"],
        ["duplicate", "2"],
        ["malformed", "5"],
        ["unknown-tool", "6"],
        ["missing-reference", "2"],
        ["cycle", "3"]
      ]
    )
    for (const { message } of error.issues) assert.include(error.message, message)
  })

  it("include a reply without a plan", () => {
    for (const text of ["", "I cannot help with that.", "1. Think\n2. Act", "{}", '{"answer": 4}']) {
      assert.deepStrictEqual(reasons(text), [["empty", undefined]], text)
    }
  })

  it("include a missing parenthesis and references to its task, while the rest is read", () => {
    const reading = read(lines('1. s("a")', '2. m("x?", ["$1"]', '3. m("max($2, $1)")', "4. join()"))
    assert.deepStrictEqual(
      reading.plan.tasks.map(({ id }) => id),
      ["1", "3"]
    )
    assert.deepStrictEqual([reading.missing, reading.written], [["2"], 4])
    assert.deepStrictEqual(
      reading.issues.map(({ reason }) => reason),
      ["malformed", "missing-reference"]
    )
  })

  it("do not include numbers left out before the join, which are missing", () => {
    const reading = read("1. a()\n2. b()\n4. join()")
    assert.deepStrictEqual([reading.missing, reading.issues, reading.plan.join?.dependencies], [["3"], [], ["1", "2"]])
    assert.deepStrictEqual(read("1. a()\n99999999. join()").missing, [])
  })

  it("include unknown tools and too many arguments, but not case and underscores", () => {
    const tools = [
      { name: "get_weather", parameters: { type: "object", properties: { city: {}, day: {} } } },
      { name: "now", parameters: { type: "object", properties: {} } }
    ]
    assert.strictEqual(plan('1. GetWeather("x")', { tools }).tasks[0]?.tool, "get_weather")
    assert.deepStrictEqual(messages('1. get_weather("x", 1, 2)\n2. fly()\n3. now(1)', { tools }), [
      '$1: "get_weather" takes 2 arguments, not 3',
      '$2 calls "fly", but the tools are "get_weather", "now"'
    ])
    assert.deepStrictEqual(reasons("1. now", { tools }), [["malformed", "1"]])
  })

  it("do not include a tool that is found though it is not listed, but its arguments", () => {
    const hidden = { name: "fly", parameters: { type: "object", properties: { to: {} } } }
    const options = { tools: [], findTool: (name: string) => (name === "fly" ? hidden : undefined) }
    assert.strictEqual(plan('1. fly("Oslo")', options).tasks[0]?.tool, "fly")
    assert.deepStrictEqual(messages('1. fly("Oslo", 2)\n2. swim()', options), [
      '$1: "fly" takes 1 arguments, not 2',
      '$2 calls "swim", but the tools are none'
    ])
  })

  it("do not include a word after # that names no task, unless only its number differs", () => {
    const node = (id: string, text: string) => lines(`NODE: ${id}`, "TOOL: f", `ARGS: {"t": "${text}"}`)
    assert.deepStrictEqual(reasons(node("node1", "#1 in C# is #AI #fff")), [])
    assert.deepStrictEqual(reasons(node("node1", "#node2")), [["missing-reference", "node1"]])
    assert.deepStrictEqual(reasons(node("node1", `\${node1}`)), [["cycle", "node1"]])
    assert.deepStrictEqual(reasons(node("node1", "costs $5")), [])
    assert.deepStrictEqual(reasons(node("node1", "$5")), [["missing-reference", "node1"]])
  })

  it("do not include a number after $ above those of all tasks inside a text, but do as a whole argument", () => {
    const both = lines('1. s("laptops under $1000")', '2. s("$1 for $2000, not $03", ["at $99"], {"q": "$1,500 off"})')
    const reading = read(both)
    assert.deepStrictEqual([reading.issues, reading.missing], [[], []])
    assert.deepStrictEqual(
      reading.plan.tasks.map(({ dependencies }) => dependencies),
      [[], ["1"]]
    )
    const [first, second] = reading.plan.tasks
    const results = new Map([["1", "a list"]])
    assert.deepStrictEqual(Either.getOrThrow(LlmCompilerPlan.resolve(first!, new Map())).args, ["laptops under $1000"])
    assert.deepStrictEqual(Either.getOrThrow(LlmCompilerPlan.resolve(second!, results)).args.slice(0, 2), [
      "a list for $2000, not $03",
      ["at $99"]
    ])
    for (const args of ["$1000", '"$1000"', '" $1000 "', '["$1000"]', '{"q": "$1000"}', `"for \${1000}"`]) {
      assert.deepStrictEqual(reasons(`1. s(${args})`), [["missing-reference", "1"]], args)
    }
    // A number up to the highest can only be meant: a task that is not there, could not be read, or has no result.
    assert.deepStrictEqual(reasons('1. s("of $2")\n3. s("x")'), [["missing-reference", "1"]])
    assert.deepStrictEqual(reasons('1. s("of $2")\n3. join()'), [["missing-reference", "1"]])
    const earlier = new Map([["4", false]])
    assert.deepStrictEqual(reasons('5. s("of $4")', { earlier }), [["missing-reference", "5"]])
    assert.deepStrictEqual(reasons('5. s("of $6")', { earlier }), [])
  })

  it("wait for the end of the plan where a text has a number of a later task", () => {
    const parser = LlmCompilerPlan.makeParser()
    assert.deepStrictEqual(parser.push('1. s("of $2")\n'), [])
    assert.deepStrictEqual(
      parser.push('2. s("x")\n').map(({ id }) => id),
      ["2"]
    )
    assert.deepStrictEqual(
      parser.end().plan.tasks.map(({ dependencies }) => dependencies),
      [["2"], []]
    )
  })

  it("include too many tasks once, where reading ends", () => {
    const text = Array.from({ length: 600 }, (_, i) => `${i + 1}. f()`).join("\n")
    assert.deepStrictEqual(reasons(text), [["too-long", "501"]])
    assert.strictEqual(read(text).plan.tasks.length, 500)
    assert.deepStrictEqual(reasons("1. f()\n2. f()\n3. f()\n4. join()", { maxTasks: 3 }), [])
    assert.deepStrictEqual(reasons("1. f()\n2. f()\n3. f()\n4. join()", { maxTasks: 2 }), [["too-long", "3"]])
  })

  it("take into account whether a plan continues earlier ones or starts over", () => {
    const earlier = new Map([
      ["1", true],
      ["2", false]
    ])
    assert.deepStrictEqual(reasons("3. f($1)", { earlier }), [])
    assert.deepStrictEqual(reasons("3. f($2)", { earlier }), [["missing-reference", "3"]])
    assert.deepStrictEqual(reasons("3. f()\n1. g()", { earlier }), [["duplicate", "1"]])
    assert.deepStrictEqual(reasons("1. f()\n2. g($1)", { earlier }), [])
    assert.deepStrictEqual(reasons("2. f($1)", { earlier }), [["missing-reference", "2"]])
    const parser = LlmCompilerPlan.makeParser({ earlier })
    parser.push("1. f()\n")
    assert.isFalse(parser.continues())
  })

  const hostile: { readonly [name: string]: (n: number) => string } = {
    "open brackets": (n) => `1. f(${"[".repeat(n)}`,
    "open quotes on every line": (n) => "1. f('\n".repeat(n / 3.33333),
    "quotes of two kinds": (n) => "1. f(\"\n2. f('\n".repeat(n / 5),
    "open calls": (n) => "1. f(\n".repeat(n / 3.33333),
    "white space": (n) => `1. f(${" ".repeat(n)}`,
    "empty lines": (n) => `${"\n".repeat(n)}1. f()`,
    emphasis: (n) => `${"*".repeat(n)}1. f()`,
    numbers: (n) => "1.".repeat(n / 2),
    dollars: (n) => `1. f(${"${".repeat(n / 2)})`,
    backslashes: (n) => `[{"a":"${"\\".repeat(n)}`,
    "nested JSON": (n) => '{"tasks":['.repeat(n / 3.33333),
    "objects without an end": (n) => '[{"a":{'.repeat(n / 3.33333),
    "blocks of nothing": (n) => "NODE: a\n".repeat(n / 3.33333),
    "a long block": (n) => `NODE: a\nTOOL: f\nARGS: {\n${'"a": 1,\n'.repeat(n / 5)}`,
    thoughts: (n) => "Thought: ".repeat(n / 3.33333),
    "dashes before a thought": (n) => `${"- ".repeat(n / 2)}Thought: x`,
    "one long circle": (n) =>
      Array.from({ length: n / 200 }, (_, i) => `${i + 1}. f("$${((i + 1) % (n / 200)) + 1}")`).join("\n"),
    "tasks that need all before": (n) =>
      Array.from(
        { length: Math.sqrt(n) },
        (_, i) => `${i + 1}. f(${Array.from({ length: i }, (_, j) => `$${j + 1}`).join(", ")})`
      ).join("\n")
  }
  for (const [name, text] of Object.entries(hostile)) {
    it(`are found in time linear in the text for ${name}, whole or in small pieces`, () => {
      Growth.assertLinearTexts([text], read, 32_000)
      const pieces = (given: string) => {
        const parser = LlmCompilerPlan.makeParser()
        for (let i = 0; i < given.length; i += 7) parser.push(given.slice(i, i + 7))
        return parser.end()
      }
      Growth.assertLinearTexts([text], pieces, 32_000)
      assert.deepStrictEqual(pieces(text(32_000)), read(text(32_000)))
    })
  }

  it("are found in linear time in a long line of small pieces, each of which may complete something", () => {
    const pieces = (given: string) => {
      const parser = LlmCompilerPlan.makeParser()
      for (let i = 0; i < given.length; i += 4) parser.push(given.slice(i, i + 4))
      return parser.end()
    }
    const args = (n: number) => `1. f({"a": "${"x}".repeat(n / 2)}"})\n2. join()\n`
    Growth.assertLinearTexts(["}", (n) => `Thought: ${"x} ".repeat(n / 3)}`, args], pieces, 320_000)
    assert.deepStrictEqual(pieces(args(40_000)), read(args(40_000)))
  })
})

import { assert, describe, it } from "@effect/vitest"
import * as DefaultPrompts from "../../../src/prompt/defaults/DefaultPrompts.js"
import { PromptTemplateError } from "../../../src/prompt/template/PromptError.js"
import * as PromptStep from "../../../src/prompt/template/PromptStep.js"
import * as PromptTemplate from "../../../src/prompt/template/PromptTemplate.js"

const thrown = (f: () => unknown): PromptTemplateError => {
  try {
    f()
  } catch (error) {
    assert.instanceOf(error, PromptTemplateError)
    return error
  }
  return assert.fail("nothing was thrown")
}

const parts = {
  pattern: "TestAgent",
  name: "Try",
  variables: ["task", "history"],
  system: "s",
  user: "{task}"
} as const

describe("make", () => {
  it("has defaults for omitted parts", () => {
    const step = PromptStep.make(parts)
    assert.deepStrictEqual([step.role, step.required, step.textFormat], ["thinking", ["task"], ""])
    assert.deepStrictEqual(PromptStep.make({ ...parts, variables: [], user: "u" }).required, [])
  })

  it("throws on an invalid half, with its location", () => {
    const system = thrown(() => PromptStep.make({ ...parts, system: "{taks}" }))
    assert.deepInclude(system, { where: "TestAgent/Try/system.md", unknown: ["taks"] })
    const user = thrown(() => PromptStep.make({ ...parts, user: "{task} {other}" }))
    assert.deepInclude(user, { where: "TestAgent/Try/user.md", unknown: ["other"] })
  })

  it("throws when neither half has a required variable", () => {
    assert.deepStrictEqual(thrown(() => PromptStep.make({ ...parts, user: "u" })).missing, ["task"])
    const error = thrown(() => PromptStep.make({ ...parts, required: ["task", "history"] }))
    assert.deepStrictEqual([error.missing, error.where], [["history"], "TestAgent/Try/user.md"])
    PromptStep.make({ ...parts, required: ["task", "history"], system: "{history}" })
    PromptStep.make({ ...parts, user: "u", required: [] })
  })

  it("lets every step place the form of the answer", () => {
    const step = PromptStep.make({ ...parts, system: { role: "You try." } })
    assert.deepStrictEqual(step.system.variables, [PromptStep.OUTPUT_FORMAT])
    assert.strictEqual(
      PromptTemplate.unsafeRender(step.system, { task: "", history: "", output_format: "As JSON." }),
      "## Role\n\nYou try.\n\n## Output Format\n\nAs JSON."
    )
  })
})

describe("renderSections", () => {
  it("writes the present parts in a fixed order", () => {
    assert.strictEqual(
      PromptStep.renderSections({
        examples: ["one", "two"],
        edgeCases: ["rare", "odd"],
        output: "A number.",
        process: ["look", "write"],
        role: "You count."
      }),
      [
        "## Role\n\nYou count.",
        "## Process\n\n1. look\n2. write",
        "## Output Format\n\nA number.",
        "## Edge Cases\n\n- rare\n- odd",
        "## Examples\n\none\n\ntwo"
      ].join("\n\n")
    )
    assert.strictEqual(
      PromptStep.renderSections({ role: "You count.", process: [], output: "", edgeCases: [], examples: [] }),
      "## Role\n\nYou count."
    )
  })
})

describe("the steps of the library", () => {
  it("have distinct names that fit into a directory", () => {
    const keys = DefaultPrompts.steps.map(({ name, pattern }) => `${pattern}/${name}`)
    assert.strictEqual(new Set(keys).size, keys.length)
    for (const key of keys) assert.match(key, /^[A-Za-z]+\/[A-Za-z]+$/)
  })

  it("have no variable twice and require only their own", () => {
    for (const step of DefaultPrompts.steps) {
      assert.strictEqual(new Set(step.variables).size, step.variables.length, step.name)
      assert.includeMembers([...step.variables], [...step.required])
      assert.notInclude(step.variables, PromptStep.OUTPUT_FORMAT)
    }
  })
})

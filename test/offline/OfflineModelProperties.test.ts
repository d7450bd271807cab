import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Arbitrary from "fast-check"
import type { Message, ToolDefinition } from "../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as OfflineModel from "../../src/offline/OfflineModel.js"
import * as Growth from "../support/Growth.js"

const ajv = new Ajv2020({ strict: false, validateFormats: false })

const user = (content: string): Message => ({ role: "user", content })

const nouns = "lamp kite harbour violin ledger turbine orchard pigeon canyon saddle".split(" ")
const snippets = [
  "lamp 12",
  "from Oslo to Graz",
  "at 7% for 5 years",
  "and",
  "also",
  ",",
  ".",
  "the red kite",
  "ada@example.com",
  "'quoted words'",
  "A-17",
  "on 2024-05-01",
  "between 3 and 9",
  "without a saddle",
  "$40",
  "https://example.com/x",
  "each harbour",
  "twelve pigeons",
  "__proto__",
  '{"constructor": 1}',
  "[1, 2]",
  "2x² - 3x + 1 = 0"
]

const leaf = Arbitrary.oneof(
  Arbitrary.constantFrom<Record<string, unknown>>(
    { type: "string" },
    { type: "string", format: "date" },
    { type: "string", format: "email" },
    { type: "string", enum: ["red", "blue", "slow lane"] },
    { type: "string", pattern: "^[A-Z]-\\d+$" },
    { type: "string", minLength: 3, maxLength: 5 },
    { type: "boolean" },
    { enum: [1, "two", null] },
    { const: "fixed" },
    { anyOf: [{ type: "integer" }, { type: "null" }] }
  ),
  Arbitrary.record({
    type: Arbitrary.constantFrom("integer", "number"),
    minimum: Arbitrary.integer({ min: -5, max: 5 }),
    maximum: Arbitrary.integer({ min: 6, max: 50 })
  })
)

const property = Arbitrary.oneof(
  leaf,
  leaf.map((items) => ({ type: "array", items, minItems: 1, maxItems: 3 })),
  Arbitrary.tuple(leaf, leaf).map(([a, b]) => ({
    type: "object",
    properties: { harbour: a, ledger: b },
    required: ["harbour"],
    additionalProperties: false
  }))
)

const parameters = Arbitrary.uniqueArray(Arbitrary.constantFrom(...nouns), { minLength: 1, maxLength: 4 }).chain(
  (names) =>
    Arbitrary.tuple(Arbitrary.tuple(...names.map(() => property)), Arbitrary.subarray(names)).map(
      ([schemas, required]) => ({
        type: "object",
        properties: Object.fromEntries(
          names.map((name, index) => [name, { ...schemas[index], description: `The ${name}` }])
        ),
        required,
        additionalProperties: false
      })
    )
)

const definitions = Arbitrary.uniqueArray(
  Arbitrary.tuple(Arbitrary.constantFrom(...nouns), parameters).map(
    ([noun, schema]): ToolDefinition => ({ name: `use_${noun}`, description: `Use the ${noun}`, parameters: schema })
  ),
  { minLength: 1, maxLength: 4, selector: (definition) => definition.name }
)

const request = Arbitrary.array(Arbitrary.constantFrom(...snippets, ...nouns), { minLength: 1, maxLength: 14 }).map(
  (parts) => parts.join(" ")
)

describe("OfflineModel, for any tools and text", () => {
  it("calls only given tools, with valid arguments, and no call twice", () => {
    let made = 0
    Arbitrary.assert(
      Arbitrary.property(
        definitions,
        request,
        Arbitrary.constantFrom("auto" as const, "required" as const),
        (tools, text, toolChoice) => {
          const response = OfflineModel.respond({ messages: [user(text)], tools, toolChoice })
          const seen = new Set<string>()
          for (const call of LlmClient.toolCalls(response)) {
            const tool = tools.find(({ name }) => name === call.name)
            assert.isDefined(tool)
            const validate = ajv.compile(tool!.parameters)
            if (toolChoice === "auto")
              assert.isTrue(validate(call.params), JSON.stringify([call.params, validate.errors]))
            const key = JSON.stringify([call.name, call.params])
            assert.isFalse(seen.has(key))
            seen.add(key)
            made++
          }
        }
      ),
      { numRuns: 150, seed: 7 }
    )
    assert.isAbove(made, 50)
  })

  it("writes valid JSON", () => {
    Arbitrary.assert(
      Arbitrary.property(parameters, request, (schema, text) => {
        // A pattern that no word of the text matches cannot be met without inventing a value.
        if (JSON.stringify(schema).includes("pattern")) return
        const response = OfflineModel.respond({
          messages: [user(text)],
          responseFormat: { type: "json", name: "x", schema }
        })
        const validate = ajv.compile(schema)
        const value = JSON.parse(LlmClient.text(response))
        assert.isTrue(validate(value), JSON.stringify([value, validate.errors]))
      }),
      { numRuns: 150, seed: 11 }
    )
  })

  it("ends every conversation within eight rounds, whatever tools return", () => {
    Arbitrary.assert(
      Arbitrary.property(
        definitions,
        request,
        Arbitrary.array(Arbitrary.jsonValue({ maxDepth: 3 }), { minLength: 1, maxLength: 4 }),
        (tools, text, results) => {
          const messages: Array<Message> = [user(text)]
          for (let round = 0; round < 8; round++) {
            const response = OfflineModel.respond({ messages, tools })
            const calls = LlmClient.toolCalls(response)
            if (calls.length === 0) {
              assert.isAbove(LlmClient.text(response).length, 0)
              return
            }
            messages.push(LlmClient.assistantMessage(response))
            messages.push({
              role: "tool",
              content: calls.map(({ id, name }, index) => ({
                type: "tool-result",
                id,
                name,
                isFailure: index % 2 === 1,
                result: results[(round + index) % results.length],
                providerExecuted: false
              }))
            })
          }
          assert.fail("still calling after eight rounds")
        }
      ),
      { numRuns: 100, seed: 3 }
    )
  })

  it("makes the same calls when tools, parameters and data are renamed", () => {
    const world = (names: { readonly [word: string]: string }) => {
      const say = (text: string) => text.replace(/[A-Za-z]+/g, (word) => names[word] ?? word)
      const rename = (name: string) => name.split("_").map(say).join("_")
      const text = (description: string) => ({ type: "string", description: say(description) })
      const tool = (name: string, description: string, params: Record<string, unknown>): ToolDefinition => ({
        name: rename(name),
        description: say(description),
        parameters: {
          type: "object",
          properties: Object.fromEntries(Object.entries(params).map(([key, value]) => [rename(key), value])),
          required: Object.keys(params).map(rename)
        }
      })
      const tools = [
        tool("find_violin", "Find a violin by its maker", { maker: text("The maker of the violin") }),
        tool("tune_violin", "Tune a violin to a pitch", {
          violin_id: text("Id of the violin"),
          pitch: { type: "number", description: say("The pitch") }
        }),
        tool("feed_pigeon", "Feed a pigeon with grain", {
          pigeon_id: text("Id of the pigeon"),
          grain: text("The grain to feed")
        })
      ]
      const requests = [
        "Find a violin by the maker Guarneri",
        "Tune violin 31 to a pitch of 442",
        "Feed pigeon P-9 with the grain 'Millet' and tune violin 8 to a pitch of 440",
        "Find a violin by Guarneri and feed pigeon 77 with the grain 'Barley'"
      ].map(say)
      return {
        rename,
        say,
        made: requests.map((content) =>
          LlmClient.toolCalls(OfflineModel.respond({ messages: [user(content)], tools })).map(({ name, params }) => ({
            name,
            params: params as object
          }))
        )
      }
    }
    const plain = world({})
    const renamed = world({
      violin: "zorblat",
      pigeon: "quimlet",
      pitch: "vorn",
      grain: "plissel",
      maker: "drumber",
      Guarneri: "Krelvane",
      Millet: "Osk",
      Barley: "Umf",
      tune: "frimble",
      Tune: "Frimble",
      feed: "glork",
      Feed: "Glork"
    })
    const expected = plain.made.map((calls) =>
      calls.map(({ name, params }) => ({
        name: renamed.rename(name),
        params: Object.fromEntries(
          Object.entries(params).map(([key, value]) => [
            renamed.rename(key),
            typeof value === "string" ? renamed.say(value) : value
          ])
        )
      }))
    )
    assert.deepStrictEqual(
      plain.made.map((calls) => calls.length),
      [1, 1, 2, 2]
    )
    assert.deepStrictEqual(plain.made[2], [
      { name: "feed_pigeon", params: { pigeon_id: "P-9", grain: "Millet" } },
      { name: "tune_violin", params: { violin_id: "8", pitch: 440 } }
    ])
    assert.deepStrictEqual(renamed.made, expected)
  })

  it("reads a megabyte and five hundred tools within bounds", () => {
    const tools = Array.from(
      { length: 500 },
      (_, index): ToolDefinition => ({
        name: `use_${nouns[index % nouns.length]}_${index}`,
        description: `Use the ${nouns[index % nouns.length]}`,
        parameters: {
          type: "object",
          properties: { number: { type: "integer" }, town: { type: "string" } },
          required: ["number"]
        }
      })
    )
    const pieces = ["Use the lamp 12 and the kite in Oslo, then ", "a", "1 2 3 ", "[{'\"", "Abc Def ", "- x: {\n"]
    Growth.assertLinearTexts(pieces, (text) => {
      OfflineModel.respond({ messages: [user(text)], tools })
      OfflineModel.respond({
        messages: [{ role: "system", content: `ACTION_INPUT FINAL_ANSWER\n${text}` }, user(text)]
      })
    })
  })
})

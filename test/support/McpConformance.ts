/** The server that the conformance suite of MCP tests: what each of its scenarios must find. */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Content from "../../src/content/Content.js"
import * as McpPeer from "../../src/mcp/offer/McpPeer.js"
import * as McpServer from "../../src/mcp/server/McpServer.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolProgress from "../../src/tool/ToolProgress.js"

const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"))

const png = bytes("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
const wav = bytes("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAAA=")

const image: Content.ResolvedFile = { type: "file", mediaType: "image/png", data: png }
const text = (content: string) => new TextEncoder().encode(content)

const tool = <A, E = never>(name: string, handler: () => Effect.Effect<A, E>) =>
  Tool.make(name, { description: `The tool ${name}`, handler })

const told = (answer: McpPeer.Answer) =>
  `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.action === "accept" ? answer.content : {})}`

const choices = (...names: ReadonlyArray<string>) => names.map((name, at) => ({ const: `value${at + 1}`, title: name }))

const tools = [
  tool("test_simple_text", () => Effect.succeed("This is a simple text response for testing.")),
  tool("test_image_content", () => Effect.succeed(image)),
  tool("test_audio_content", () =>
    Effect.succeed<Content.ResolvedFile>({ ...image, mediaType: "audio/wav", data: wav })
  ),
  tool("test_embedded_resource", () =>
    Effect.succeed<Content.ResolvedFile>({
      type: "file",
      mediaType: "text/plain",
      data: text("This is an embedded resource content.")
    })
  ),
  tool("test_multiple_content_types", () =>
    Effect.succeed<ReadonlyArray<Content.Resolved>>([
      Content.text("Multiple content types test:"),
      image,
      { type: "file", mediaType: "application/json", data: text('{"test":"data","value":123}') }
    ])
  ),
  tool("test_tool_with_logging", () =>
    Effect.as(
      Effect.forEach(
        ["Tool execution started", "Tool processing data", "Tool execution completed"],
        (message) => Effect.zipRight(McpPeer.log("info", message), Effect.sleep("50 millis")),
        { discard: true }
      ),
      "Logged"
    )
  ),
  tool("test_error_handling", () => Effect.fail("This tool intentionally returns an error for testing")),
  tool("test_tool_with_progress", () =>
    Effect.as(
      // Reports of a tool that come sooner than 100 ms after each other are one.
      Effect.forEach(
        [0, 50, 100],
        (done) => Effect.zipRight(ToolProgress.report({ done, total: 100 }), Effect.sleep("120 millis")),
        { discard: true }
      ),
      "Done"
    )
  ),
  Tool.make("test_sampling", {
    description: "Asks the model of the client",
    parameters: { prompt: Schema.String },
    handler: ({ prompt }) =>
      Effect.map(
        McpPeer.sample({ messages: [{ role: "user", text: prompt }], maxTokens: 100 }),
        (sampled) => `LLM response: ${sampled.text}`
      )
  }),
  Tool.make("test_elicitation", {
    description: "Asks the person at the client",
    parameters: { message: Schema.String },
    handler: ({ message }) =>
      Effect.map(
        McpPeer.elicit({
          message,
          schema: {
            properties: {
              username: { type: "string", description: "User's response" },
              email: { type: "string", description: "User's email address" }
            },
            required: ["username", "email"]
          }
        }),
        told
      )
  }),
  tool("test_elicitation_sep1034_defaults", () =>
    Effect.map(
      McpPeer.elicit({
        message: "Accept the defaults",
        schema: {
          properties: {
            name: { type: "string", default: "John Doe" },
            age: { type: "integer", default: 30 },
            score: { type: "number", default: 95.5 },
            status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
            verified: { type: "boolean", default: true }
          }
        }
      }),
      told
    )
  ),
  tool("test_elicitation_sep1330_enums", () =>
    Effect.map(
      McpPeer.elicit({
        message: "Choose",
        schema: {
          properties: {
            untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
            titledSingle: { type: "string", oneOf: choices("First Option", "Second Option") },
            legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
            untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
            titledMulti: { type: "array", items: { anyOf: choices("First Choice", "Second Choice") } }
          }
        }
      }),
      told
    )
  ),
  tool("test_reconnection", () =>
    Effect.as(Effect.zipRight(McpPeer.disconnect, Effect.sleep("50 millis")), "Reconnected")
  ),
  Either.getOrThrow(
    Tool.fromJsonSchema("json_schema_2020_12_tool", {
      description: "Tool with JSON Schema 2020-12 features",
      parameters: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } }
        },
        properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
        additionalProperties: false
      },
      handler: () => Effect.succeed("ok")
    })
  )
]

export const definition = McpServer.make({
  name: "conformance",
  version: "1.0.0",
  tools,
  prompts: [
    {
      name: "test_simple_prompt",
      description: "A simple prompt",
      get: () => Effect.succeed("This is a simple prompt for testing.")
    },
    {
      name: "test_prompt_with_arguments",
      description: "A prompt with arguments",
      arguments: [
        { name: "arg1", required: true, complete: (value) => Effect.succeed([`${value}ing`]) },
        { name: "arg2", required: true }
      ],
      get: ({ arg1, arg2 }) => Effect.succeed(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)
    },
    {
      name: "test_prompt_with_embedded_resource",
      description: "A prompt with a resource",
      arguments: [{ name: "resourceUri", required: true }],
      get: ({ resourceUri = "" }) =>
        Effect.succeed([
          {
            role: "user" as const,
            content: {
              type: "resource" as const,
              resource: { uri: resourceUri, data: "Embedded resource content for testing." }
            }
          },
          { role: "user" as const, content: "Please process the embedded resource above." }
        ])
    },
    {
      name: "test_prompt_with_image",
      description: "A prompt with an image",
      get: () =>
        Effect.succeed([
          { role: "user" as const, content: image },
          { role: "user" as const, content: "Please analyze the image above." }
        ])
    }
  ],
  resources: [
    {
      uri: "test://static-text",
      name: "text",
      read: () => Effect.succeed("This is the content of the static text resource.")
    },
    { uri: "test://static-binary", name: "binary", mimeType: "image/png", read: () => Effect.succeed(png) },
    { uri: "test://watched-resource", name: "watched", read: () => Effect.succeed("watched") }
  ],
  templates: [
    {
      uriTemplate: "test://template/{id}/data",
      name: "template",
      mimeType: "application/json",
      read: ({ id }) => Effect.succeed(JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }))
    }
  ]
})

import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as IdGenerator from "../src/domain/IdGenerator.js"
import "../src/llm/LlmClient.js"
import "../src/llm/PartAssembler.js"
import "../src/llm/CacheBackend.js"
it.effect("ids", () => Effect.map(IdGenerator.generate, (id) => assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)))

/**
 * The provider named by the environment, with timeouts and retries; otherwise the embedded model. Try `OPENAI_API_KEY=…
 * node --import tsx examples/real-model.ts`, or `LEX_AI_LLM__PROVIDER=ollama LEX_AI_LLM__MODEL=qwen3 node --import tsx
 * examples/real-model.ts`.
 */
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Agent, AgentExecutor, Agents, type LlmClient, type LlmError, LlmRetry, LlmTimeout } from "effect-lexigram"
import { OfflineModel } from "effect-lexigram/offline"
import { FetchTransport, Providers } from "effect-lexigram/provider"

// Each attempt has its own timeout: the retry is the outer wrapper.
const remote = LlmRetry.layer({ maxRetries: 3 }).pipe(
  Layer.provide(LlmTimeout.layer({ whole: "1 minute", first: "20 seconds", gap: "20 seconds" })),
  Layer.provide(Providers.layerConfig),
  Layer.provide(FetchTransport.layer)
)

type ModelLayer = Layer.Layer<LlmClient.LlmClient, LlmError.LlmConfigurationError | ConfigError.ConfigError>

const model = Layer.unwrapEffect(
  Effect.map(Providers.configured, (named): ModelLayer => (Option.isSome(named) ? remote : OfflineModel.layer()))
)

const agent = Agent.make("guide", { system: "You answer in one sentence.", settings: { maxTokens: 200 } })

const program = Effect.gen(function* () {
  const response = yield* AgentExecutor.run(agent, "My name is Ada and I live in Turin. Where do I live?")
  console.log(response.message)
  console.log(response.usage)
})

await program.pipe(
  Effect.provide(Agents.layer().pipe(Layer.provide(model))),
  // None of these errors contains a key.
  Effect.catchTags({
    LlmConfigurationError: (error) => Effect.sync(() => console.error(error.message, error.hint)),
    LlmAuthenticationError: (error) => Effect.sync(() => console.error(`${error.provider} refuses the key`))
  }),
  Effect.runPromise
)

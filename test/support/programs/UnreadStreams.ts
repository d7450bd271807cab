/** Streams of agents whose results nobody awaits. A rejection that nobody handles would end the process. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { createAgent } from "../../../src/promise/index.js"
import * as Programs from "../Programs.js"

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

const silent = Layer.succeed(LlmClient.LlmClient, { provider: "test", model: "test", complete: () => Effect.never })

const read = async (): Promise<void> => {
  const agent = createAgent({ name: "left", model: silent })
  agent.stream("never read")
  for await (const event of agent.stream("left")) if (event._tag === "StepStarted") break
  void agent.stream("aborted before", { signal: AbortSignal.abort() }).result
  const open = agent.stream("open").result
  void open
  await turns(10)
  await agent.close()
  const failing = createAgent({ name: "failing", model: { provider: "nobody" } })
  void failing.stream("fails").result
  await turns(100)
  await failing.close()
  void failing.stream("closed").result
  await turns(10)
}

Programs.main(({ say }) => Effect.zipRight(Effect.promise(read), say("read")))

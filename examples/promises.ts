/**
 * An agent without Effect: tools are async functions with Zod schemas, runs are promises, events an async iterable. Runs
 * offline on the embedded model; any other model is a provider's name.
 */
import { OfflineModel } from "effect-lexigram/offline"
import { createAgent, tool } from "effect-lexigram/promise"
import { z } from "zod"

const rates: Record<string, number> = { EUR: 1, USD: 1.08, GBP: 0.85, JPY: 169 }

const convert = tool({
  name: "convert_currency",
  description: "Converts an amount of money from one currency to another",
  parameters: z.object({
    amount: z.number().describe("How much money"),
    from: z.string().describe("Currency code of the amount"),
    to: z.string().describe("Currency code to convert to")
  }),
  execute: async ({ amount, from, to }) => {
    const [source, target] = [rates[from], rates[to]]
    // The model reads the message and may try something else.
    if (source === undefined || target === undefined) throw new Error("There is no rate for one of these currencies")
    return { amount: Math.round((amount / source) * target * 100) / 100, currency: to }
  }
})

const teller = createAgent({
  name: "teller",
  instructions: "You change money. Answer in one sentence.",
  tools: [convert],
  // Try `{ provider: "openai", model: "gpt-4.1-mini" }` with OPENAI_API_KEY.
  model: OfflineModel.layer(),
  sessions: true
})

try {
  const { message, toolCalls } = await teller.run("Convert 200 USD to JPY, please.", { sessionId: "desk" })
  for (const call of toolCalls) console.log(call.name, call.params, "->", call.result)
  console.log(message)

  const stream = teller.stream("Convert 10 GBP to EUR, please.", {
    sessionId: "desk",
    signal: AbortSignal.timeout(60_000)
  })
  for await (const event of stream) {
    if (event._tag === "ToolCall") console.log("calls", event.name)
    if (event._tag === "TextDelta") process.stdout.write(event.text)
  }
  const { usage } = await stream.result
  console.log(`\n${usage.totalTokens} tokens`)
} finally {
  await teller.close()
}

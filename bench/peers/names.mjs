/** The subjects as the page and the chart show them. */
export const names = {
  "effect-lexigram": "effect-lexigram",
  "ai-sdk-7": "AI SDK 7",
  "ai-sdk-6": "AI SDK 6",
  "openai-agents": "OpenAI Agents",
  langgraph: "LangGraph",
  mastra: "Mastra",
  "effect-ai": "@effect/ai",
  bare: "by hand"
}

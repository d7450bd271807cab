/** The shortest answers of each API, as bodies. */

export const chat = {
  id: "id-1",
  object: "chat.completion",
  created: 1,
  model: "answered",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
}

export const claude = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "answered",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 6, output_tokens: 5 }
}

export const responses = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "answered",
  output: [
    {
      type: "message",
      id: "m",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hi", annotations: [] }]
    }
  ],
  usage: { input_tokens: 6, output_tokens: 5, total_tokens: 11 }
}

export const gemini = {
  candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 6, candidatesTokenCount: 5, totalTokenCount: 11 }
}

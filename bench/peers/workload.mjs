/**
 * The one workload of all subjects: a model that reads the last tool result `n`, calls `add {a: n, b: 1}` while `n` is
 * below the number of steps, and then answers `done <steps>`; streams are `deltas` times the text `tok `.
 */

/** The move of the model after the tool result `n`. */
export const move = (n, steps) =>
  n < steps ? { id: `call_${n}`, name: "add", arguments: `{"a":${n},"b":1}` } : { text: `done ${n}` }

export const isRight = (answer, steps) => answer === `done ${steps}`

export const delta = "tok "

export const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }

export const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis))

export const turn = () => new Promise((resolve) => setImmediate(resolve))

/** The parts of a streamed answer, as a source in the process delivers them: a chunk for each turn of the event loop. */
export async function* deltas(count, perChunk = 1) {
  for (let sent = 0; sent < count; sent += perChunk) {
    await turn()
    for (let i = 0; i < perChunk && sent + i < count; i++) yield delta
  }
}

/** The tools besides `add`, which no model calls. */
export const others = (tools) =>
  Array.from({ length: tools - 1 }, (_, i) => ({ name: `other_${i}`, description: `Another tool ${i}` }))

/** The number of deltas in a text. */
export const countDeltas = (text) => text.length / delta.length

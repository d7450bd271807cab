/**
 * Encodes vectors as bytes and as text: 32-bit floats, little-endian, as models, databases and caches write them.
 *
 * @since 0.1.0
 */
import type { Vector } from "./Embedder.js"

const bytesPerNumber = 4

/**
 * @since 0.1.0
 * @category conversions
 */
export const toBytes = (vector: Vector): Uint8Array => {
  const bytes = new Uint8Array(vector.length * bytesPerNumber)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < vector.length; i++) view.setFloat32(i * bytesPerNumber, vector[i] as number, true)
  return bytes
}

/**
 * Undefined unless the bytes are a whole number of floats. The floats may have any value.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromBytes = (bytes: Uint8Array): Float32Array | undefined => {
  if (bytes.byteLength % bytesPerNumber !== 0) return undefined
  const vector = new Float32Array(bytes.byteLength / bytesPerNumber)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let i = 0; i < vector.length; i++) vector[i] = view.getFloat32(i * bytesPerNumber, true)
  return vector
}

/**
 * @since 0.1.0
 * @category conversions
 */
export const toBase64 = (vector: Vector): string => Buffer.from(toBytes(vector).buffer).toString("base64")

/**
 * Undefined unless the text is base64 of floats.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { VectorCodec } from "effect-lexigram/llm"
 *
 * const text = VectorCodec.toBase64(new Float32Array([0.6, 0.8]))
 *
 * console.log(VectorCodec.fromBase64(text)?.length) // 2
 * console.log(VectorCodec.fromBase64("no vector")) // undefined
 * ```
 */
export const fromBase64 = (text: string): Float32Array | undefined => {
  const bytes = Buffer.from(text, "base64")
  // The decoder skips characters that are not base64: only a text that encodes back to itself is valid.
  return bytes.toString("base64") === text ? fromBytes(bytes) : undefined
}

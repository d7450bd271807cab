/**
 * Texts as the tables of the workflow engine hold them.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as KeyText from "../../persistence/engine/KeyText.js"
import * as Payloads from "../../persistence/engine/Payloads.js"

/**
 * The text of an id or a name, if its key does not hold it.
 *
 * @category getters
 */
export const longOf = (text: string, key: string): string | null => (KeyText.decode(key) === text ? null : text)

/**
 * @category getters
 */
export const textOf = (key: string, long: string | null): string => long ?? KeyText.decode(key)

/**
 * A payload or a result, compressed if that pays, with its size.
 *
 * @category conversions
 */
export const packed = (text: string) =>
  Effect.map(Payloads.pack(text), ({ body, data }) => ({ body, data: data ?? null, bytes: Buffer.byteLength(text) }))

/**
 * Decodes the body of an answer as text.
 *
 * @private
 * @since 0.1.0
 */

/** Text types, in addition to `text/*`. */
const textTypes: ReadonlySet<string> = new Set([
  "application/ecmascript",
  "application/graphql",
  "application/javascript",
  "application/json",
  "application/toml",
  "application/x-www-form-urlencoded",
  "application/xml",
  "application/yaml"
])

const isText = (type: string): boolean =>
  type.startsWith("text/") || type.endsWith("+json") || type.endsWith("+xml") || textTypes.has(type)

const typeOf = (contentType: string): string => (contentType.split(";", 1)[0] ?? "").trim().toLowerCase()

const charsetOf = (contentType: string): string | undefined => {
  for (const parameter of contentType.split(";").slice(1)) {
    const at = parameter.indexOf("=")
    if (at > 0 && parameter.slice(0, at).trim().toLowerCase() === "charset") {
      return parameter
        .slice(at + 1)
        .trim()
        .replaceAll('"', "")
    }
  }
  return undefined
}

/** A byte order mark takes precedence over the declared charset. */
const marked = (bytes: Uint8Array): string | undefined => {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be"
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le"
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? "utf-8" : undefined
}

const decoderOf = (charset: string | undefined): TextDecoder => {
  try {
    return new TextDecoder(charset ?? "utf-8")
  } catch {
    // An unknown charset.
    return new TextDecoder("utf-8")
  }
}

/**
 * Decodes a body by its byte order mark, its declared charset, or UTF-8. A body not declared as text counts as text if
 * it is UTF-8 without NUL; otherwise `undefined`. A character cut in two at the end is dropped.
 *
 * @since 0.1.0
 * @category conversions
 */
export const text = (bytes: Uint8Array, contentType: string | undefined, truncated: boolean): string | undefined => {
  const type = contentType ?? ""
  const charset = marked(bytes) ?? charsetOf(type)
  if (charset !== undefined || isText(typeOf(type))) return decoderOf(charset).decode(bytes, { stream: truncated })
  try {
    return bytes.includes(0)
      ? undefined
      : new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: truncated })
  } catch {
    return undefined
  }
}

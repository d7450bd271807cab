/**
 * Media types: their grammar, their recognition by leading bytes, and whether bytes contradict a given type.
 *
 * @since 0.1.0
 */
import { containerType } from "./ZipNames.js"

/** Aliases and the names they stand for. */
const aliases: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["image/pjpeg", "image/jpeg"],
  ["image/x-png", "image/png"],
  ["image/x-ms-bmp", "image/bmp"],
  ["image/heif", "image/heic"],
  ["audio/mp3", "audio/mpeg"],
  ["audio/x-wav", "audio/wav"],
  ["audio/wave", "audio/wav"],
  ["audio/vnd.wave", "audio/wav"],
  ["audio/x-flac", "audio/flac"],
  ["audio/m4a", "audio/mp4"],
  ["audio/x-m4a", "audio/mp4"],
  ["application/x-pdf", "application/pdf"],
  ["application/x-zip-compressed", "application/zip"]
])

const grammar = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,127})$/

/**
 * The lower-case type without parameters, aliases replaced; `undefined` if it is malformed. At most 192 characters; the
 * subtype may be `*`. Text is UTF-8, so a `charset` is dropped.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalize = (text: string): string | undefined => {
  if (text.length > 512) return undefined
  const essence = (text.split(";", 1)[0] ?? "").trim().toLowerCase()
  return grammar.test(essence) ? (aliases.get(essence) ?? essence) : undefined
}

const docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
const xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
const pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(Math.min(from, bytes.length), Math.min(to, bytes.length)))

const startsWith = (bytes: Uint8Array, ...signature: ReadonlyArray<number>): boolean =>
  bytes.length >= signature.length && signature.every((byte, i) => bytes[i] === byte)

const heicBrands: ReadonlySet<string> = new Set(["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"])

/** Types of the ISO base media format, by major and compatible brands. */
const fromBrands = (bytes: Uint8Array): string | undefined => {
  if (ascii(bytes, 4, 8) !== "ftyp" || bytes.length < 12) return undefined
  const brand = ascii(bytes, 8, 12)
  const compatible = (ascii(bytes, 16, Math.min(bytes[3] ?? 0, 96)).match(/.{4}/gs) ?? []) as ReadonlyArray<string>
  if (brand === "avif" || brand === "avis" || (brand === "mif1" && compatible.includes("avif"))) return "image/avif"
  if (heicBrands.has(brand)) return "image/heic"
  if (brand === "M4A " || brand === "M4B ") return "audio/mp4"
  return brand === "qt  " ? "video/quicktime" : "video/mp4"
}

const fromRiff = (bytes: Uint8Array): string | undefined => {
  if (ascii(bytes, 0, 4) !== "RIFF") return undefined
  const form = ascii(bytes, 8, 12)
  if (form === "WEBP") return "image/webp"
  return form === "WAVE" ? "audio/wav" : undefined
}

const fromMatroska = (bytes: Uint8Array): string | undefined => {
  if (!startsWith(bytes, 0x1a, 0x45, 0xdf, 0xa3)) return undefined
  return ascii(bytes, 4, 64).includes("webm") ? "video/webm" : "video/x-matroska"
}

const bitmapHeaders: ReadonlySet<number> = new Set([12, 40, 52, 56, 64, 108, 124])

const isBitmap = (bytes: Uint8Array): boolean =>
  ascii(bytes, 0, 2) === "BM" && bytes.length >= 18 && bitmapHeaders.has(bytes[14] ?? 0) && bytes[15] === 0

/** An ID3 tag, or the header of a frame of layer III with a bit rate and a sample rate. */
const isMp3 = (bytes: Uint8Array): boolean => {
  if (ascii(bytes, 0, 3) === "ID3") return true
  const [sync = 0, kind = 0, rates = 0] = bytes
  const bitRate = rates >> 4
  return (
    bytes.length >= 4 &&
    sync === 0xff &&
    (kind & 0xe6) === 0xe2 &&
    (kind & 0x18) !== 0x08 &&
    bitRate !== 0 &&
    bitRate !== 15 &&
    (rates & 0x0c) !== 0x0c
  )
}

/** The number of leading bytes that decide whether bytes are text. */
const textBytes = 65_536
/** The most bytes that are parsed to tell JSON from other text. */
const jsonBytes = 1_048_576

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters tell bytes from text
const control = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f\u007f]/

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, textBytes), {
      stream: bytes.length > textBytes
    })
  } catch {
    return undefined
  }
}

const isJson = (bytes: Uint8Array): boolean => {
  if (bytes.length > jsonBytes) return false
  try {
    JSON.parse(new TextDecoder().decode(bytes))
    return true
  } catch {
    return false
  }
}

const fromText = (bytes: Uint8Array): string | undefined => {
  if (bytes.length === 0) return undefined
  const text = textOf(bytes)
  if (text === undefined || control.test(text)) return undefined
  return /^\s*[[{]/.test(text) && isJson(bytes) ? "application/json" : "text/plain"
}

const fromZip = (bytes: Uint8Array): string | undefined => {
  if (!startsWith(bytes, 0x50, 0x4b) || !(startsWith(bytes.subarray(2), 3, 4) || startsWith(bytes.subarray(2), 5, 6)))
    return undefined
  return containerType(bytes, { word: docx, xl: xlsx, ppt: pptx }) ?? "application/zip"
}

/**
 * The media type that the bytes show, read from at most their first 64 KiB; text that begins like JSON is parsed up to
 * 1 MiB, and a zip is read at its end too. `undefined` if they show none.
 *
 * @example
 * ```ts
 * import { MediaType } from "effect-lexigram/content"
 *
 * const found = MediaType.sniff(new TextEncoder().encode("%PDF-1.7\n")) // application/pdf
 * MediaType.contradicts("image/png", found) // true
 * MediaType.ofName("invoice.pdf") // application/pdf
 * ```
 *
 * @since 0.1.0
 * @category getters
 */
export const sniff = (bytes: Uint8Array): string | undefined => {
  if (startsWith(bytes, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "image/png"
  if (startsWith(bytes, 0xff, 0xd8, 0xff)) return "image/jpeg"
  if (/^GIF8[79]a/.test(ascii(bytes, 0, 6))) return "image/gif"
  if (startsWith(bytes, 0x49, 0x49, 0x2a, 0) || startsWith(bytes, 0x4d, 0x4d, 0, 0x2a)) return "image/tiff"
  if (isBitmap(bytes)) return "image/bmp"
  if (ascii(bytes, 0, 5) === "%PDF-") return "application/pdf"
  if (ascii(bytes, 0, 4) === "OggS") return "audio/ogg"
  if (ascii(bytes, 0, 4) === "fLaC") return "audio/flac"
  if (isMp3(bytes)) return "audio/mpeg"
  return fromRiff(bytes) ?? fromBrands(bytes) ?? fromMatroska(bytes) ?? fromZip(bytes) ?? fromText(bytes)
}

/** Types besides the one that bytes show that are the same bytes: containers hold sound and pictures. */
const containers: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["video/mp4", ["audio/mp4", "video/quicktime", "video/x-m4v", "video/3gpp", "audio/3gpp"]],
  ["video/quicktime", ["video/mp4", "audio/mp4"]],
  ["audio/mp4", ["video/mp4"]],
  ["image/avif", ["image/heic"]],
  ["image/heic", ["image/avif"]],
  ["video/webm", ["audio/webm", "video/x-matroska", "audio/x-matroska"]],
  ["video/x-matroska", ["audio/x-matroska", "video/webm", "audio/webm"]],
  ["audio/ogg", ["video/ogg", "application/ogg", "audio/opus"]]
])

/** Types that always show in the bytes. */
const shown: ReadonlySet<string> = new Set([
  ...["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/heic", "image/bmp", "image/tiff"],
  ...["application/pdf", "audio/wav", "audio/ogg", "audio/flac", "audio/mp4", "video/mp4", "audio/webm", "video/webm"],
  ...["application/zip", "audio/mpeg", docx, xlsx, pptx]
])

const texts: ReadonlySet<string> = new Set(["text/plain", "application/json"])

/**
 * Whether bytes that show one type cannot be of the given type. `application/octet-stream` and a subtype of `*` fit
 * any bytes of their kind; text fits every type that has no signature; a zip fits every type that is not a zip's
 * content by name, such as `application/epub+zip`.
 *
 * @since 0.1.0
 * @category guards
 */
export const contradicts = (given: string, found: string | undefined): boolean => {
  if (given === found || given === "application/octet-stream") return false
  if (given.endsWith("/*")) return found === undefined || found.split("/")[0] !== given.split("/")[0]
  if (shown.has(given)) {
    // An office document whose parts are named elsewhere in the file shows as a zip.
    const isZip = given === "application/zip" || given.includes("openxmlformats")
    if (isZip && (found === "application/zip" || (given === "application/zip" && found?.includes("openxml") === true)))
      return false
    return found === undefined || containers.get(found)?.includes(given) !== true
  }
  if (found === undefined || texts.has(found)) return false
  if (containers.get(found)?.includes(given) === true) return false
  return found === "application/zip" ? /^(?:text|image|audio|video)\//.test(given) : true
}

const byExtension: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["avif", "image/avif"],
  ["heic", "image/heic"],
  ["bmp", "image/bmp"],
  ["tif", "image/tiff"],
  ["tiff", "image/tiff"],
  ["svg", "image/svg+xml"],
  ["pdf", "application/pdf"],
  ["wav", "audio/wav"],
  ["mp3", "audio/mpeg"],
  ["ogg", "audio/ogg"],
  ["flac", "audio/flac"],
  ["m4a", "audio/mp4"],
  ["mp4", "video/mp4"],
  ["webm", "video/webm"],
  ["txt", "text/plain"],
  ["md", "text/markdown"],
  ["csv", "text/csv"],
  ["html", "text/html"],
  ["json", "application/json"],
  ["zip", "application/zip"],
  ["docx", docx],
  ["xlsx", xlsx],
  ["pptx", pptx]
])

/**
 * The media type by the extension of a path or a file name.
 *
 * @since 0.1.0
 * @category getters
 */
export const ofName = (name: string): string | undefined =>
  byExtension.get(/\.([a-z0-9]{1,5})$/i.exec(name)?.[1]?.toLowerCase() ?? "")

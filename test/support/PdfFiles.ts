/** Makes PDFs for tests. */
import { deflateSync } from "node:zlib"

export interface Options {
  readonly title?: string | undefined
  /** Streams are compressed. */
  readonly compressed?: boolean | undefined
  /** Further objects: dictionary and bytes of a stream. */
  readonly streams?: ReadonlyArray<readonly [dictionary: string, bytes: Uint8Array]> | undefined
  /** More entries of the trailer. */
  readonly trailer?: string | undefined
}

const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

const streamOf = (dictionary: string, bytes: Uint8Array): string =>
  `<< ${dictionary} /Length ${bytes.length} >>\nstream\n${Buffer.from(bytes).toString("latin1")}\nendstream`

const contentOf = (lines: ReadonlyArray<string>, compressed: boolean): string => {
  const shown = lines.map((line, n) => `${n === 0 ? "" : "0 -20 Td "}(${line.replace(/[()\\]/g, "\\$&")}) Tj`)
  const bytes = latin1(`BT /F1 12 Tf 50 750 Td ${shown.join(" ")} ET`)
  return compressed ? streamOf("/Filter /FlateDecode", deflateSync(bytes)) : streamOf("", bytes)
}

/** A PDF with the lines of each page. */
export const make = (pages: ReadonlyArray<ReadonlyArray<string>>, options: Options = {}): Uint8Array => {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "",
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    `<< /Title (${options.title ?? ""}) >>`
  ]
  const kids = pages.map((lines) => {
    const content = objects.push(contentOf(lines, options.compressed === true))
    return objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${content} 0 R >>`
    )
  })
  objects[1] = `<< /Type /Pages /Count ${pages.length} /Kids [${kids.map((kid) => `${kid} 0 R`).join(" ")}] >>`
  for (const [dictionary, bytes] of options.streams ?? []) objects.push(streamOf(dictionary, bytes))
  const parts = ["%PDF-1.4\n"]
  let length = parts[0]!.length
  const places = objects.map((object, n) => {
    const place = length
    const text = `${n + 1} 0 obj\n${object}\nendobj\n`
    parts.push(text)
    length += text.length
    return place
  })
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("")
  parts.push(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`)
  parts.push(`trailer << /Size ${objects.length + 1} /Root 1 0 R /Info 4 0 R ${options.trailer ?? ""} >>\n`)
  parts.push(`startxref\n${length}\n%%EOF`)
  return latin1(parts.join(""))
}

/** A stream that inflates to this many zeros, packed this many times. */
export const bomb = (bytes: number, times = 1): readonly [dictionary: string, bytes: Uint8Array] => {
  let packed: Uint8Array = new Uint8Array(bytes)
  for (let n = 0; n < times; n++) packed = deflateSync(packed)
  return [`/Filter [${"/FlateDecode ".repeat(times)}]`, packed]
}

/** Says that a file is encrypted, in a way that every reader asks a password for. */
export const encrypted = `/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <${"41".repeat(32)}> /U <${"42".repeat(32)}> >> /ID [<${"43".repeat(16)}> <${"43".repeat(16)}>]`

/**
 * Reads CSV by RFC 4180: a header, quoted fields with line breaks and doubled quotes, lines that end with LF or CRLF.
 * A quote within a field that does not begin with one is a character like others.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"

/** A row by the names of the header, and the line where it begins, from 1. */
export interface Row {
  readonly line: number
  readonly fields: Readonly<Record<string, string>>
}

/** Why a text is no CSV, and in which line. */
export interface Problem {
  readonly line: number
  readonly message: string
}

interface Raw {
  readonly line: number
  readonly fields: ReadonlyArray<string>
}

const problem = (line: number, message: string) => Either.left<Problem>({ line, message })

const linesOf = (text: string): number => {
  let lines = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

/** Reads fields one after the other. A text is read once. */
class Reader {
  private at: number
  private line = 1
  constructor(
    private readonly text: string,
    private readonly delimiter: string
  ) {
    this.at = text.startsWith("\ufeff") ? 1 : 0
  }

  /** A quoted field: its text, or undefined where the closing quote is missing. */
  private quoted(): string | undefined {
    const parts: Array<string> = []
    let from = this.at + 1
    for (;;) {
      const end = this.text.indexOf('"', from)
      if (end === -1) return undefined
      parts.push(this.text.slice(from, end))
      this.at = end + 1
      if (this.text[this.at] !== '"') break
      parts.push('"')
      from = this.at + 1
    }
    const field = parts.join("")
    this.line += linesOf(field)
    return field
  }

  private plain(): string {
    const from = this.at
    while (this.at < this.text.length) {
      const char = this.text[this.at]
      if (char === this.delimiter || char === "\n") break
      if (char === "\r" && this.text[this.at + 1] === "\n") break
      this.at++
    }
    return this.text.slice(from, this.at)
  }

  /** Whether the row ends here. The end of the line is passed. */
  private isEnd(): boolean {
    if (this.at >= this.text.length) return true
    if (this.text.startsWith("\r\n", this.at)) this.at += 2
    else if (this.text[this.at] === "\n") this.at += 1
    else return false
    this.line++
    return true
  }

  private row(): Either.Either<Raw, Problem> {
    const fields: Array<string> = []
    const line = this.line
    for (;;) {
      const field = this.text[this.at] === '"' ? this.quoted() : this.plain()
      if (field === undefined) return problem(this.line, "a quoted field has no end")
      fields.push(field)
      if (this.isEnd()) return Either.right({ line, fields })
      if (this.text[this.at] !== this.delimiter)
        return problem(this.line, "a text follows the closing quote of a field")
      this.at++
    }
  }

  rows(): Either.Either<ReadonlyArray<Raw>, Problem> {
    const rows: Array<Raw> = []
    while (this.at < this.text.length) {
      const row = this.row()
      if (Either.isLeft(row)) return Either.left(row.left)
      // An empty line is no row.
      if (row.right.fields.length > 1 || row.right.fields[0] !== "") rows.push(row.right)
    }
    return Either.right(rows)
  }
}

/** Rows by the names of the first one. Each row has as many fields. */
export const read = (text: string, delimiter = ","): Either.Either<ReadonlyArray<Row>, Problem> =>
  Either.flatMap(new Reader(text, delimiter).rows(), ([header, ...rows]) => {
    if (header === undefined) return problem(1, "there is no header")
    const known = new Set<string>()
    const twice = header.fields.find((name) => known.size === known.add(name).size)
    if (twice !== undefined) return problem(header.line, `the header has ${JSON.stringify(twice)} twice`)
    const ragged = rows.find(({ fields }) => fields.length !== header.fields.length)
    if (ragged !== undefined) {
      return problem(ragged.line, `${ragged.fields.length} fields, where the header has ${header.fields.length}`)
    }
    return Either.right(
      rows.map(({ fields, line }) => ({
        line,
        fields: Object.fromEntries(header.fields.map((name, index) => [name, fields[index] ?? ""]))
      }))
    )
  })

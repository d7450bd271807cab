/**
 * Standard input, output and error of a command.
 *
 * @private
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as SecretText from "../../internal/text/SecretText.js"

const chunkBytes = 64 * 1024

/**
 * The first line starts the command; the rest is its input.
 *
 * @since 0.1.0
 * @category constructors
 */
export const input = (text: string): Stream.Stream<Uint8Array> => {
  const bytes = new TextEncoder().encode(`\n${text}`)
  return Stream.unfold(0, (from) =>
    from < bytes.length ? Option.some([bytes.subarray(from, from + chunkBytes), from + chunkBytes]) : Option.none()
  )
}

/**
 * Collects standard output up to a limit; nothing beyond it is kept.
 *
 * @since 0.1.0
 * @category models
 */
export class Output {
  private readonly chunks: Array<Uint8Array> = []
  private size = 0
  isOver = false

  constructor(private readonly limit: number) {}

  add(chunk: Uint8Array): void {
    this.size += chunk.length
    this.isOver = this.size > this.limit
    if (this.isOver) this.chunks.length = 0
    else this.chunks.push(chunk)
  }

  text(): string {
    return new TextDecoder().decode(Buffer.concat(this.chunks))
  }
}

/**
 * Keeps the last bytes of standard error.
 *
 * @since 0.1.0
 * @category models
 */
export class Tail {
  private chunks: Array<Uint8Array> = []
  private size = 0
  private isCut = false
  /** The first byte comes from the launcher. */
  hasStarted = false

  constructor(private readonly limit: number) {}

  add(chunk: Uint8Array): void {
    const own = this.hasStarted ? chunk : chunk.subarray(1)
    this.hasStarted = true
    this.chunks.push(own)
    this.size += own.length
    // Trimmed only now and then, because trimming copies what is kept.
    if (this.size > 2 * this.limit + chunkBytes) this.cut()
  }

  private cut(): Buffer {
    const all = Buffer.concat(this.chunks)
    this.isCut ||= all.length > this.limit
    const last = this.limit === 0 ? all.subarray(0, 0) : Buffer.from(all.subarray(-this.limit))
    this.chunks = [last]
    this.size = last.length
    return last
  }

  /** If the beginning is missing, the first partial line is dropped too: it could be the end of a secret. */
  text(secrets: ReadonlyArray<Redacted.Redacted<string>>): string {
    const text = new TextDecoder().decode(this.cut())
    return SecretText.redact(this.isCut ? text.slice(text.indexOf("\n") + 1 || text.length) : text, secrets)
  }
}

/**
 * Judges a text while it is being written.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Findings from "./Findings.js"
import type * as Guard from "./Guard.js"
import type { OutputWindow, Released } from "./GuardPipeline.js"
import * as WindowGuard from "./WindowGuard.js"

/** A guard that can judge a partial text. */
export interface Windowed {
  readonly name: string
  readonly window: Guard.Window
}

const nothing: Released = { text: "", results: [] }

/** Longest run of marks kept together at a border. */
const MAX_CLUSTER = 32

let segmenter: Intl.Segmenter | undefined

const isHighSurrogate = (code: number): boolean => (code & 0xfc00) === 0xd800

/**
 * Returns where to cut a text between `least` and `at`: a surrogate pair is never split, a visible character only if
 * necessary.
 */
const boundary = (text: string, least: number, at: number): number => {
  const before = text.charCodeAt(at - 1)
  if (at === text.length) return isHighSurrogate(before) ? at - 1 : at
  const after = text.charCodeAt(at)
  // Below U+0300 there is no combining mark or joiner, only CR LF.
  if (before < 0x300 && after < 0x300) return before === 13 && after === 10 ? at - 1 : at
  segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" })
  const from = Math.max(0, at - MAX_CLUSTER)
  const start = from + (segmenter.segment(text.slice(from, at + 2)).containing(at - from)?.index ?? 0)
  if (start >= least && (start > from || from === 0)) return start
  return isHighSurrogate(before) ? at - 1 : at
}

const isWithin = (finding: { readonly start: number; readonly end: number }, place: number): boolean =>
  finding.start < place && place < finding.end

class Core implements OutputWindow {
  /** Unreleased text, preceded by the text that findings in it may depend on. */
  private text = ""
  /** Offset of `text` in everything written; the other offsets are relative to `text`. */
  private base = 0
  private done = 0
  private scanned = 0
  /** Guards with a finding that was replaced before `done` and continues after it, longer than promised. */
  private openFor: ReadonlySet<Windowed> = new Set()
  private isOpen = false
  private blocked: Guard.GuardResult | undefined
  private ended = false
  private readonly reach: number

  constructor(private readonly guards: ReadonlyArray<Windowed>) {
    this.reach = guards.reduce((reach, { window }) => Math.max(reach, window.reach), 0)
  }

  readonly report = Effect.void

  push(text: string): Released {
    if (this.blocked !== undefined) return this.refused()
    if (this.ended || text.length === 0) return nothing
    this.text += text
    const { length } = this.text
    // A new scan pays off when about as much text has arrived as is scanned again.
    const step = Math.max(this.reach, (this.scanned - this.done) / 2)
    return length - this.reach > this.done && length - this.scanned >= step ? this.scan(length - this.reach) : nothing
  }

  end(): Released {
    if (this.blocked !== undefined) return this.refused()
    if (this.ended) return nothing
    this.ended = true
    return this.done < this.text.length ? this.scan(this.text.length) : nothing
  }

  private refused(): Released {
    return { text: "", results: [], blockingResult: this.blocked }
  }

  private scan(limit: number): Released {
    const { base, done, text } = this
    this.scanned = text.length
    const found = this.guards.map(({ window }) =>
      Findings.order(window.find(text, base), text.length).filter(({ end }) => end > done)
    )
    const cut = this.ended ? limit : this.cutAt(found, limit)
    const block = this.firstBlock(found, cut)
    if (block !== undefined) return block
    if (cut <= done) return nothing
    const results: Array<Guard.GuardResult> = []
    const openFor = new Set<Windowed>()
    const chunk = text.slice(done, cut)
    this.guards.forEach((guard, index) => {
      const findings = this.clipped(guard, found[index] ?? [], cut)
      if (findings.length > 0) results.push(WindowGuard.fromFindings(guard.name, chunk, findings, base + done))
      if (found[index]?.some((finding) => isWithin(finding, cut)) === true) openFor.add(guard)
    })
    const released = this.redacted(found, chunk, cut)
    this.openFor = openFor
    this.forget(cut)
    return released.length === 0 && results.length === 0 ? nothing : { text: released, results }
  }

  /** A finding across the border waits, unless it exceeds the length its window declared. */
  private cutAt(found: ReadonlyArray<ReadonlyArray<Guard.Finding>>, limit: number): number {
    const { done } = this
    let cut = limit
    for (let moved = true; moved; ) {
      moved = false
      for (const [index, findings] of found.entries()) {
        const over = findings.find((finding) => isWithin(finding, cut))
        if (over === undefined || over.start < done || limit - over.start > this.longest(index)) continue
        cut = over.start
        moved = true
      }
    }
    if (cut <= done) return done
    const whole = boundary(this.text, done, cut)
    return found.some((findings) => findings.some((finding) => isWithin(finding, whole))) ? cut : whole
  }

  private longest(index: number): number {
    return Math.max(this.reach, this.guards[index]?.window.longest ?? 0)
  }

  private firstBlock(found: ReadonlyArray<ReadonlyArray<Guard.Finding>>, cut: number): Released | undefined {
    let first: { readonly guard: Windowed; readonly findings: ReadonlyArray<Guard.Finding>; at: number } | undefined
    this.guards.forEach((guard, index) => {
      const findings = found[index] ?? []
      const at = findings.findIndex(({ action }) => action === "block")
      const start = findings[at]?.start ?? cut
      if (start < cut && start < (first?.findings[first.at]?.start ?? cut)) first = { guard, findings, at }
    })
    if (first === undefined) return undefined
    const findings = this.clipped(first.guard, first.findings.slice(0, first.at + 1), this.text.length)
    const result = WindowGuard.fromFindings(
      first.guard.name,
      this.text.slice(this.done),
      findings,
      this.base + this.done
    )
    this.blocked = result
    this.text = ""
    return { text: "", results: [result], blockingResult: result }
  }

  /**
   * Returns findings between `done` and `cut`, relative to `done`; a finding continued from before already has its
   * replacement.
   */
  private clipped(guard: Windowed, findings: ReadonlyArray<Guard.Finding>, cut: number): ReadonlyArray<Guard.Finding> {
    const { done } = this
    const out: Array<Guard.Finding> = []
    for (const finding of findings) {
      if (finding.start >= cut) break
      const goesOn = finding.start < done && this.openFor.has(guard)
      out.push({
        ...finding,
        start: Math.max(finding.start, done) - done,
        end: Math.min(finding.end, cut) - done,
        ...(goesOn ? { replacement: "" } : {})
      })
    }
    return out
  }

  private redacted(found: ReadonlyArray<ReadonlyArray<Guard.Finding>>, chunk: string, cut: number): string {
    const { done, isOpen } = this
    const edits: Array<Findings.Edit> = []
    for (const findings of found) {
      for (const finding of findings) {
        if (finding.action !== "redact" || finding.start >= cut) continue
        edits.push({ start: finding.start, end: finding.end, replacement: WindowGuard.replacementOf(finding) })
      }
    }
    if (edits.length === 0) {
      this.isOpen = false
      return chunk
    }
    const merged = Findings.mergeEdits(edits)
    this.isOpen = merged.some((edit) => isWithin(edit, cut))
    return Findings.applyEdits(
      chunk,
      merged.map((edit) => ({
        start: Math.max(edit.start, done) - done,
        end: Math.min(edit.end, cut) - done,
        replacement: edit.start < done && isOpen ? "" : edit.replacement
      }))
    )
  }

  private forget(cut: number): void {
    let from = Math.max(0, cut - this.reach)
    if (from > 0 && isHighSurrogate(this.text.charCodeAt(from - 1))) from--
    this.text = this.text.slice(from)
    this.base += from
    this.done = cut - from
    this.scanned -= from
  }
}

/** Makes one window over guards that all see the same text. */
export const make = (guards: ReadonlyArray<Windowed>): OutputWindow => new Core(guards)

/** Chains windows: each judges what the previous one released. */
export const chain = (windows: ReadonlyArray<OutputWindow>): OutputWindow => {
  const [only] = windows
  if (only !== undefined && windows.length === 1) return only
  let blocked: Guard.GuardResult | undefined
  const through = (text: string, step: (window: OutputWindow, text: string) => Released): Released => {
    if (blocked !== undefined) return { text: "", results: [], blockingResult: blocked }
    let results: ReadonlyArray<Guard.GuardResult> = nothing.results
    let current = text
    for (const window of windows) {
      const released = step(window, current)
      if (released.results.length > 0) results = [...results, ...released.results]
      if (released.blockingResult !== undefined) {
        blocked = released.blockingResult
        return { text: "", results, blockingResult: blocked }
      }
      current = released.text
    }
    return current.length === 0 && results.length === 0 ? nothing : { text: current, results }
  }
  return {
    push: (text) => through(text, (window, text) => (text.length === 0 ? nothing : window.push(text))),
    end: () =>
      through("", (window, text) => {
        const before = window.push(text)
        if (before.blockingResult !== undefined) return before
        const after = window.end()
        const results = [...before.results, ...after.results]
        return after.blockingResult === undefined
          ? { text: before.text + after.text, results }
          : { text: "", results, blockingResult: after.blockingResult }
      }),
    report: Effect.forEach(windows, (window) => window.report, { discard: true })
  }
}

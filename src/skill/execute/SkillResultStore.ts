/**
 * Results of skills in this process: by key, for a time, and not more than there is room for.
 *
 * @internal
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import type * as SkillResultCache from "./SkillResultCache.js"

interface Kept {
  readonly skillName: string
  readonly fingerprint: string
  /** The output as JSON; `undefined`: it was forgotten in this moment. Text, so that nobody changes what others get. */
  readonly text: string | undefined
  readonly moment: number
  readonly expiresAt: number
}

/**
 * Moments are counted by invalidations: what was asked for before one of them is not kept after it.
 *
 * @category models
 */
export class SkillResultStore {
  private moment = 0
  private forgottenAll = 0
  /** Names come from programs that invalidate them, and are few. */
  private readonly forgottenOf = new Map<string, number>()
  // A Map keeps the order of insertion: reading an entry inserts it again, so the first one is the oldest.
  private readonly entries = new Map<string, Kept>()
  private characters = 0

  constructor(
    private readonly capacity: number,
    private readonly maxCharacters: number
  ) {}

  get(slot: SkillResultCache.Slot, now: number): SkillResultCache.Found {
    const kept = this.entries.get(slot.entry)
    if (kept?.text === undefined || kept.fingerprint !== slot.fingerprint) return this.nothing()
    if (kept.expiresAt <= now) {
      this.remove(slot.entry)
      return this.nothing()
    }
    this.entries.delete(slot.entry)
    this.entries.set(slot.entry, kept)
    return { output: Option.some(JSON.parse(kept.text)), since: String(this.moment) }
  }

  set(slot: SkillResultCache.Slot, text: string, since: string, expiresAt: number): void {
    const moment = Number(since)
    const kept = this.entries.get(slot.entry)
    const forgotten = kept !== undefined && kept.text === undefined ? kept.moment : 0
    if (moment < Math.max(this.forgottenAll, this.forgottenOf.get(slot.skillName) ?? 0, forgotten)) return
    this.add(slot.entry, { skillName: slot.skillName, fingerprint: slot.fingerprint, text, moment, expiresAt })
  }

  forget(entry: string, skillName: string): void {
    this.moment++
    this.add(entry, {
      skillName,
      fingerprint: "",
      text: undefined,
      moment: this.moment,
      expiresAt: Number.POSITIVE_INFINITY
    })
  }

  forgetSkill(skillName: string): void {
    this.forgottenOf.set(skillName, ++this.moment)
    for (const [key, kept] of this.entries) if (kept.skillName === skillName) this.remove(key)
  }

  clear(): void {
    this.forgottenAll = ++this.moment
    this.forgottenOf.clear()
    this.entries.clear()
    this.characters = 0
  }

  private nothing(): SkillResultCache.Found {
    return { output: Option.none(), since: String(this.moment) }
  }

  private add(key: string, kept: Kept): void {
    this.remove(key)
    this.entries.set(key, kept)
    this.characters += key.length + (kept.text?.length ?? 0)
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.capacity && this.characters <= this.maxCharacters) break
      this.remove(oldest)
    }
  }

  private remove(key: string): void {
    const kept = this.entries.get(key)
    if (kept === undefined) return
    this.entries.delete(key)
    this.characters -= key.length + (kept.text?.length ?? 0)
  }
}

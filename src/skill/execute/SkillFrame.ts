/**
 * The execution that a fiber is part of, as inner executions see it.
 *
 * @private
 * @since 0.1.0
 */
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { SkillContext } from "../definition/SkillCall.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import type { EnterOptions, Limits, Place } from "./SkillLimits.js"

/**
 * Dependencies of a result other than its parameters, as bits.
 *
 * @category constants
 */
export const USER = 1
/**
 * @category constants
 */
export const SESSION = 2

/**
 * One execution.
 *
 * @category models
 */
export class Frame {
  readonly depth: number
  /** Slot of the current attempt. */
  place: Place | undefined
  /** True while equal executions wait for it. */
  isLeading = false
  /** What its result depends on, other than its parameters. */
  dependsOn = 0

  constructor(
    readonly parent: Frame | undefined,
    readonly definition: SkillDefinition,
    readonly context: SkillContext
  ) {
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  /** Records a dependency of this execution and all enclosing ones. */
  touch(what: number): void {
    for (let frame: Frame | undefined = this; frame !== undefined; frame = frame.parent) frame.dependsOn |= what
  }

  /** The enclosing executions depend on the user who has these permissions, unless they require them themselves. */
  require(permissions: ReadonlyArray<string>): void {
    for (let frame = this.parent; frame !== undefined; frame = frame.parent) {
      const { permissions: own } = frame.definition
      if (!permissions.every((permission) => own.includes(permission))) frame.dependsOn |= USER
    }
  }

  /** What an attempt needs before it starts. */
  needs(limits: Limits, isLeaf: boolean): EnterOptions {
    let within: Place | undefined
    let holder: Place | undefined
    let limited = true
    for (let frame = this.parent; frame !== undefined; frame = frame.parent) {
      const { place } = frame
      if (place?.limits !== limits || !place.open) continue
      if (place.isHolding) holder ??= place
      if (place.isLeaf) within ??= place
      if (place.kind !== undefined && place.name === this.definition.name) limited = false
    }
    return { within, holder, limited, isLeaf }
  }

  /** The nearest enclosing execution that others may wait for. */
  holder(): Frame | undefined {
    for (let frame = this.parent; frame !== undefined; frame = frame.parent) {
      if (frame.isLeading || frame.place?.isHolding === true) return frame
    }
    return undefined
  }

  isPartOf(other: Frame): boolean {
    for (let frame: Frame | undefined = this; frame !== undefined; frame = frame.parent)
      if (frame === other) return true
    return false
  }
}

/**
 * @category tags
 */
export class Current extends Ambient.Reference<Current>()("effect-lexigram/skill/SkillFrame/Current", {
  defaultValue: (): Frame | undefined => undefined
}) {}

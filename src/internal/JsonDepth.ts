/**
 * Bounds the depth of values from outside: what decodes, prints or checks them descends by recursion.
 */

/** Whether a value has objects or lists in each other more often than this. */
export const isDeeper = (value: unknown, most: number): boolean => {
  let level: Array<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    const next: Array<unknown> = []
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue
      if (depth >= most) return true
      for (const member of Object.values(one)) next.push(member)
    }
    level = next
  }
  return false
}

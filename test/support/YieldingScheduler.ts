/**
 * A scheduler that yields after every operation of every fiber, and counts: whatever can happen between two operations, can be made to
 * happen there.
 */
import type * as Scheduler from "effect/Scheduler"

export interface YieldingScheduler extends Scheduler.Scheduler {
  /** Operations so far. */
  readonly count: () => number
}

export const make = (onYield: (count: number) => void): YieldingScheduler => {
  let count = 0
  const queue: Array<() => void> = []
  let running = false
  const skip = new WeakMap<object, number>()
  const drain = () => {
    // Batches, so that hundreds of thousands of yields do not take a turn of the event loop each.
    for (let n = 0; n < 512; n++) {
      const task = queue.shift()
      if (task === undefined) {
        running = false
        return
      }
      task()
    }
    setImmediate(drain)
  }
  return {
    count: () => count,
    shouldYield: (fiber) => {
      // After a yield come its own result and the operation that was put off: yielding at those again would never get on.
      const left = skip.get(fiber) ?? 0
      if (left > 0) {
        skip.set(fiber, left - 1)
        return false
      }
      skip.set(fiber, 2)
      count++
      // When the fiber has yielded, as any other fiber would: not from within its own operation.
      const at = count
      queue.push(() => onYield(at))
      // Any priority, 0 too, would wrap the yield into operations of its own.
      return undefined as unknown as number
    },
    scheduleTask: (task) => {
      queue.push(task)
      if (!running) {
        running = true
        setImmediate(drain)
      }
    }
  }
}

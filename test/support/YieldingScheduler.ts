/**
 * A scheduler that yields after every operation of every fiber and counts them, so that a test can interleave anything
 * between two operations.
 *
 * With a `point`, fibers run as usual until shortly before that operation and take turns from there on. A sweep that
 * interrupts a program at each operation repeats everything before it, which takes a third less CPU this way.
 */
import type * as Scheduler from "effect/Scheduler"

export interface YieldingScheduler extends Scheduler.Scheduler {
  /** Operations so far. */
  readonly count: () => number
}

/** The number of operations before the point from which fibers take turns, so that what is near it interleaves. */
const NEAR = 24

export const make = (onYield: (count: number) => void, point: number = 0): YieldingScheduler => {
  let count = 0
  const queue: Array<() => void> = []
  let running = false
  const skip = new WeakMap<object, number>()
  const drain = () => {
    // Runs in batches, so that hundreds of thousands of yields do not each take a turn of the event loop.
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
      // After a yield, its own result and the deferred operation follow: yielding again there would never make
      // progress.
      const left = skip.get(fiber) ?? 0
      if (left > 0) {
        skip.set(fiber, left - 1)
        return false
      }
      count++
      if (count < point - NEAR) return false
      skip.set(fiber, 2)
      // Called when the fiber has yielded, as from another fiber, not within its own operation.
      const at = count
      queue.push(() => onYield(at))
      // Any priority, including 0, would wrap the yield into further operations.
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

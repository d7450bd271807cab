/**
 * Timers of 0 ms that end with the turn of the event loop.
 *
 * `TestClock` lets the loop turn three times, by timers of 0 ms, before it moves time, for each sleep that it ends.
 * Node turns 0 into 1 ms, which is most of the duration of many tests of virtual time.
 */
const shortened = Symbol.for("effect-lexigram/test/Turns")

const isImmediate = (timer: unknown): timer is NodeJS.Immediate =>
  typeof timer === "object" && timer !== null && "_onImmediate" in timer

/** Makes `setTimeout` of 0 ms a `setImmediate`, once per process. Other timers stay as they are. */
export const shorten = (): void => {
  const { clearTimeout, setTimeout } = globalThis
  if (shortened in setTimeout) return
  const set = (run: (...args: ReadonlyArray<unknown>) => void, millis?: number, ...args: ReadonlyArray<unknown>) =>
    millis === 0 ? setImmediate(run, ...args) : setTimeout(run, millis, ...args)
  const clear = (timer: unknown): void =>
    isImmediate(timer) ? clearImmediate(timer) : clearTimeout(timer as NodeJS.Timeout | undefined)
  globalThis.setTimeout = Object.assign(set, setTimeout, { [shortened]: true }) as unknown as typeof setTimeout
  globalThis.clearTimeout = clear as typeof clearTimeout
}

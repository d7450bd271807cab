/**
 * Runs before each test file. After every test the event loop turns once: a file whose tests wait for promises alone
 * would let it turn only at its end, and vitest gives up a runner that does not answer for a minute.
 */
import * as Effect from "effect/Effect"
import { afterEach, beforeAll } from "vitest"
import * as BuiltInStrategies from "../../src/strategy/BuiltInStrategies.js"

afterEach(() => new Promise<void>((resolve) => void setImmediate(resolve)))

// Strategies are loaded when they are first named. Tests of virtual time count turns of fibers: to them a strategy is there.
beforeAll(() => Effect.runPromise(Effect.forEach(Object.values(BuiltInStrategies.loaders), (loader) => loader)))

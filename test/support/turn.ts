/**
 * Runs before each test file. After every test the event loop turns once: a file whose tests wait for promises alone
 * would let it turn only at its end, and vitest gives up a runner that does not answer for a minute.
 */
import * as Effect from "effect/Effect"
import { afterEach, beforeAll } from "vitest"
import * as OnDemand from "../../src/internal/fiber/OnDemand.js"

afterEach(() => new Promise<void>((resolve) => void setImmediate(resolve)))

// Strategies and other parts are loaded on first use. Tests of virtual time count turns of fibers, so nothing is loaded while they run.
beforeAll(() => Effect.runPromise(OnDemand.loadAll))

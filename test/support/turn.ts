/**
 * Runs before each test file. After every test the event loop turns once: a file whose tests only wait for promises
 * would otherwise block it until its end, and vitest gives up a runner that does not answer for a minute.
 */
import * as Effect from "effect/Effect"
import { afterEach, beforeAll } from "vitest"
import * as OnDemand from "../../src/internal/fiber/OnDemand.js"
import * as Turns from "./Turns.js"

Turns.shorten()

afterEach(() => new Promise<void>((resolve) => void setImmediate(resolve)))

// Strategies and other parts load on first use. Tests of virtual time count fiber turns, so nothing loads while they
// run.
beforeAll(() => Effect.runPromise(OnDemand.loadAll))

/**
 * Before each file: a turn of the event loop after every test. A file of tests that wait for nothing but promises would let none happen to its
 * end, and vitest takes a runner whose answers nobody reads for a minute for gone.
 */
import { afterEach } from "vitest"

afterEach(() => new Promise<void>((resolve) => void setImmediate(resolve)))

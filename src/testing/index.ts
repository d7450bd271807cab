/**
 * Collects the events of runs, and checks what must hold of every run.
 *
 * @since 0.1.0
 */
export * as EventRecorder from "./EventRecorder.js"

/**
 * What every `FactStore` must do, for stores of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
export * as FactStoreSuite from "./facts/FactStoreSuite.js"

/**
 * What every `MemoryStore` must do, for stores of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
export * as MemoryStoreSuite from "./memory/MemoryStoreSuite.js"

/**
 * Suites of ports as data: what every backend of a port must do, as cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
export * as PortSuite from "./suite/PortSuite.js"

/**
 * What every `SessionStore` must do, for stores of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
export * as SessionStoreSuite from "./session/SessionStoreSuite.js"

/**
 * A scripted model for tests: what it will answer is written down first, and it fails loudly when it is asked for more
 * or for something else.
 *
 * @since 0.1.0
 */
export * as TestModel from "./TestModel.js"

/**
 * What every `VectorIndex` must do, for indexes of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
export * as VectorIndexSuite from "./vector/VectorIndexSuite.js"

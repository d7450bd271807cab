/**
 * Records what a program exchanges with providers over HTTP, once, and answers from the file ever after: any provider,
 * model or embedder, without a network and without a key.
 *
 * @since 0.1.0
 */
export * as Cassette from "./cassette/Cassette.js"

/**
 * Collects the events of runs, and checks the invariants of every run.
 *
 * @since 0.1.0
 */
export * as EventRecorder from "./EventRecorder.js"

/**
 * The contract of `ExperimentStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
export * as ExperimentStoreSuite from "./runs/ExperimentStoreSuite.js"

/**
 * The contract of `FactStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
export * as FactStoreSuite from "./facts/FactStoreSuite.js"

/**
 * Makes a model misbehave as real ones do, by a seed: the same seed gives the same faults to the same calls.
 *
 * @since 0.1.0
 */
export * as FaultyModel from "./FaultyModel.js"

/**
 * Makes a service of effects fail as real ones do, by a seed: a store of sessions or memory, the handler of a tool, any
 * record of functions that return effects. The same seed gives the same faults to the same calls.
 *
 * @since 0.1.0
 */
export * as FaultyService from "./FaultyService.js"

/**
 * The contract of `MemoryStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
export * as MemoryStoreSuite from "./memory/MemoryStoreSuite.js"

/**
 * Suites of ports as data: the contract of a port as cases that any test runner can register.
 *
 * @since 0.1.0
 */
export * as PortSuite from "./suite/PortSuite.js"

/**
 * The contract of `QueueStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
export * as QueueStoreSuite from "./runs/QueueStoreSuite.js"

/**
 * The contract of `RunStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
export * as RunStoreSuite from "./runs/RunStoreSuite.js"

/**
 * The contract of `Runs` as cases that any test runner can register, also for custom runs.
 *
 * @since 0.1.0
 */
export * as RunsSuite from "./runs/RunsSuite.js"

/**
 * The contract of `ScheduleStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
export * as ScheduleStoreSuite from "./runs/ScheduleStoreSuite.js"

/**
 * The contract of `SessionStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
export * as SessionStoreSuite from "./session/SessionStoreSuite.js"

/**
 * A scripted model for tests. Its answers are written in advance, and an unexpected request is a defect.
 *
 * @since 0.1.0
 */
export * as TestModel from "./TestModel.js"

/**
 * Says what a run must have done: which tools it called, in what order and with what, what it took, and how it ended.
 * For any test runner.
 *
 * @since 0.1.0
 */
export * as Trajectory from "./trajectory/Trajectory.js"

/**
 * The contract of `VectorIndex` as cases that any test runner can register, also for custom indexes.
 *
 * @since 0.1.0
 */
export * as VectorIndexSuite from "./vector/VectorIndexSuite.js"

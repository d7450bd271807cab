/**
 * Datasets: cases with what is expected of them, from values, JSON lines, CSV or files.
 *
 * @since 0.1.0
 */
export * as Dataset from "./dataset/Dataset.js"

/**
 * Errors of datasets.
 *
 * @since 0.1.0
 */
export * as DatasetError from "./dataset/DatasetError.js"

/**
 * Experiments: every case of a dataset by every variant, some times, with a score of each. What was done is kept, so
 * that an experiment that was cut off goes on where it was.
 *
 * @since 0.1.0
 */
export * as Experiment from "./Experiment.js"

/**
 * What the entries of an experiment say: its results, its attempts and what they took.
 *
 * @since 0.1.0
 */
export * as ExperimentFold from "./record/ExperimentFold.js"

/**
 * What is kept of an experiment: what it is, which trials began, and what they gave.
 *
 * @since 0.1.0
 */
export * as ExperimentRecord from "./record/ExperimentRecord.js"

/**
 * The port that keeps experiments, so that one that was cut off goes on, and two can be compared.
 *
 * @since 0.1.0
 */
export * as ExperimentStore from "./record/ExperimentStore.js"

/**
 * Errors of stores of experiments.
 *
 * @since 0.1.0
 */
export * as ExperimentStoreError from "./record/ExperimentStoreError.js"

/**
 * Keeps experiments in memory.
 *
 * @since 0.1.0
 */
export * as InMemoryExperimentStore from "./record/InMemoryExperimentStore.js"

/**
 * Keeps experiments in a folder: a file of JSON lines each, named by the SHA-256 of its id, so that no id is a path.
 * The first line is the experiment, each further one an entry. A line that a process left unfinished when it was killed
 * is passed over. Several processes can share a folder.
 *
 * @since 0.1.0
 */
export * as JsonlExperimentStore from "./record/JsonlExperimentStore.js"

/**
 * Scorers: what says how good an output is.
 *
 * @since 0.1.0
 */
export * as Scorer from "./scorer/Scorer.js"

/**
 * Tasks: what an experiment runs with the input of each case.
 *
 * @since 0.1.0
 */
export * as Task from "./Task.js"

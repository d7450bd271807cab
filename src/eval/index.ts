/**
 * How far two raters agree: a judge with people, people with each other, a judge with itself.
 *
 * @since 0.1.0
 */
export * as Agreement from "./statistics/Agreement.js"

/**
 * Confidence intervals of means by the bootstrap: the mean of many samples, each drawn with replacement out of the
 * numbers that are there (Efron and Tibshirani 1993, "An Introduction to the Bootstrap").
 *
 * @since 0.1.0
 */
export * as Bootstrap from "./statistics/Bootstrap.js"

/**
 * Scores whether an answer cites what its sources say.
 *
 * @since 0.1.0
 */
export * as CitationScorer from "./scorer/CitationScorer.js"

/**
 * Compares two versions by their scores of the same cases.
 *
 * @since 0.1.0
 */
export * as Comparison from "./statistics/Comparison.js"

/**
 * Scorers of data in outputs: JSON, numbers, and values of a schema.
 *
 * @since 0.1.0
 */
export * as DataScorer from "./scorer/DataScorer.js"

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
 * Scores how near the meaning of an output is to what was expected, by the vectors of an embedding model.
 *
 * @since 0.1.0
 */
export * as EmbeddingScorer from "./scorer/EmbeddingScorer.js"

/**
 * Reports of experiments: what the variants scored and took, what changed, and each case; as a page that loads nothing,
 * and as Markdown.
 *
 * @since 0.1.0
 */
export * as EvalReport from "./report/EvalReport.js"

/**
 * Experiments: every case of a dataset by every variant, some times, with a score of each. What was done is kept, so
 * that an experiment that was cut off goes on where it was.
 *
 * @since 0.1.0
 */
export * as Experiment from "./Experiment.js"

/**
 * What the entries of an experiment say: its results, its attempts, what they took, and the labels of people.
 *
 * @since 0.1.0
 */
export * as ExperimentFold from "./record/ExperimentFold.js"

/**
 * What is kept of an experiment: what it is, which trials began, what they gave, and what people say of it.
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
 * Gates: say whether the results of an experiment are good enough to go on, as in a test or before a release.
 *
 * @since 0.1.0
 */
export * as Gate from "./report/Gate.js"

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
 * A model as judge: it scores outputs by a rubric (Zheng et al. 2023, "Judging LLM-as-a-Judge").
 *
 * @since 0.1.0
 */
export * as JudgeScorer from "./scorer/JudgeScorer.js"

/**
 * Labels of people: what they say of outputs, and how far a scorer agrees with them.
 *
 * @since 0.1.0
 */
export * as Labels from "./Labels.js"

/**
 * Scores a sample of the runs that ended, in the background, and keeps the scores as an experiment.
 *
 * @since 0.1.0
 */
export * as OnlineScoring from "./online/OnlineScoring.js"

/**
 * Scorers that count the words an output has in common with references: BLEU and ROUGE. They compare words, not
 * meanings, and are of use beside numbers that others published.
 *
 * @since 0.1.0
 */
export * as OverlapScorer from "./scorer/OverlapScorer.js"

/**
 * A model as judge of two outputs: which one is better. Judges prefer a position, so each pair is shown in both orders
 * (Zheng et al. 2023, "Judging LLM-as-a-Judge").
 *
 * @since 0.1.0
 */
export * as PairwiseJudge from "./scorer/PairwiseJudge.js"

/**
 * Cases out of recorded runs: what people asked, and what agents answered.
 *
 * @since 0.1.0
 */
export * as RunCases from "./online/RunCases.js"

/**
 * Scorers: what says how good an output is.
 *
 * @since 0.1.0
 */
export * as Scorer from "./scorer/Scorer.js"

/**
 * Statistics of scores and of repeated trials. No function returns NaN or Infinity: input that has no answer is a
 * `StatisticsError`.
 *
 * @since 0.1.0
 */
export * as Statistics from "./statistics/Statistics.js"

/**
 * Tasks: what an experiment runs with the input of each case.
 *
 * @since 0.1.0
 */
export * as Task from "./Task.js"

/**
 * Scorers that compare the text of an output with what was expected: one text, or several of which the best counts.
 *
 * @since 0.1.0
 */
export * as TextScorer from "./scorer/TextScorer.js"

/**
 * Checks of what a run did: which tools it called, in what order and with what, what it took, and how it ended.
 * `Trajectory` asserts them in tests, and `TrajectoryScorer` scores by them.
 *
 * @since 0.1.0
 */
export * as TrajectoryChecks from "./trajectory/TrajectoryChecks.js"

/**
 * Scorers of what the run of an agent did on its way to the output.
 *
 * @since 0.1.0
 */
export * as TrajectoryScorer from "./scorer/TrajectoryScorer.js"

/**
 * Compares two variants case by case, of one experiment or of two over the same dataset.
 *
 * @since 0.1.0
 */
export * as VariantComparison from "./report/VariantComparison.js"

/**
 * What the variants of an experiment scored, took and cost.
 *
 * @since 0.1.0
 */
export * as VariantSummary from "./report/VariantSummary.js"

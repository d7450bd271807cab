/**
 * What is used of `@huggingface/transformers`, which runs models in this process. The program imports the package and
 * gives it; nothing here does, so that programs without it need not have it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { EmbeddingError } from "../../llm/embedding/Embedder.js"

/**
 * Loads the package: `() => import("@huggingface/transformers")`. Its parts are told apart by structure.
 *
 * @since 0.1.0
 * @category models
 */
export type Load = () => PromiseLike<Module>

/**
 * @since 0.1.0
 * @category models
 */
export interface Module {
  readonly pipeline: (task: any, model?: string, options?: any) => Promise<any>
  readonly AutoTokenizer: { readonly from_pretrained: (model: string, options?: any) => Promise<any> }
  readonly AutoModelForSequenceClassification: {
    readonly from_pretrained: (model: string, options?: any) => Promise<any>
  }
}

/**
 * Which model to load, and from where. The package downloads it from the Hugging Face Hub into its cache, unless
 * `localFilesOnly`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** A model of the Hub in ONNX format (`Xenova/all-MiniLM-L6-v2`), or the path of a folder with one. */
  readonly model: string
  /** A branch, tag or commit of the Hub. Default `main`; a commit keeps the model from changing. */
  readonly revision?: string | undefined
  /** The precision of the weights: `fp32`, `fp16`, `q8`, `q4`, … Default that of the package. */
  readonly dtype?: string | undefined
  /** Where the model runs: `cpu`, `cuda`, `webgpu`, … Default that of the package. */
  readonly device?: string | undefined
  /** The folder for downloaded models. Default that of the package. */
  readonly cacheDir?: string | undefined
  /** Whether a model that is not on the disk is an error instead of a download. Default `false`. */
  readonly localFilesOnly?: boolean | undefined
  /** The maximum number of texts that the model reads at once. Default 16. */
  readonly maxBatchSize?: number | undefined
}

const optionsOf = ({ cacheDir, device, dtype, localFilesOnly, revision }: Options) => ({
  ...(revision === undefined ? {} : { revision }),
  ...(dtype === undefined ? {} : { dtype }),
  ...(device === undefined ? {} : { device }),
  ...(cacheDir === undefined ? {} : { cache_dir: cacheDir }),
  ...(localFilesOnly === undefined ? {} : { local_files_only: localFilesOnly })
})

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 500)

/**
 * Runs a promise of the package; a rejection is an `EmbeddingError` with its reason.
 *
 * @internal
 */
export const run = <A>(
  what: string,
  hint: string,
  promise: () => PromiseLike<A> | A
): Effect.Effect<A, EmbeddingError> =>
  Effect.tryPromise({
    try: async () => await promise(),
    catch: (error) => new EmbeddingError({ message: `${what}: ${reasonOf(error)}`, hint, cause: error })
  })

const dispose = (disposable: unknown): Effect.Effect<void> => {
  const method = (disposable as { readonly dispose?: unknown } | undefined)?.dispose
  return typeof method !== "function"
    ? Effect.void
    : Effect.promise(async () => await method.call(disposable)).pipe(
        Effect.catchAllCause((cause) =>
          Effect.annotateLogs(Effect.logWarning("A model could not be released"), {
            module: "effect-lexigram/provider/Transformers",
            cause: Cause.pretty(cause)
          })
        )
      )
}

/**
 * Loads the package, then what `get` takes from it; a `dispose` of that runs when the scope ends.
 *
 * @internal
 */
export const acquire = <A>(
  load: Load,
  options: Options,
  get: (module: Module, given: ReturnType<typeof optionsOf>) => PromiseLike<A>
): Effect.Effect<A, EmbeddingError, Scope.Scope> =>
  Effect.flatMap(
    run(
      "The package for local models could not be loaded",
      'Install @huggingface/transformers, and give () => import("@huggingface/transformers").',
      load
    ),
    (module) =>
      Effect.acquireRelease(
        run(
          `The model ${options.model} could not be loaded`,
          "Name a model in ONNX format. Without a network, set localFilesOnly and give cacheDir, or the path of its folder.",
          () => get(module, optionsOf(options))
        ),
        dispose
      )
  )

import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const src = fileURLToPath(new URL("./src", import.meta.url))

/**
 * Slowest files first: a slow file that starts last would keep one worker busy while the others are idle. The first one
 * of all reads the metrics of its process, which grow with each file.
 */
const slow = [
  "PrometheusPage",
  "SqlMemoryStore",
  "SqlSessionStore",
  "ManyProcesses",
  "KeyValueSessionStore",
  "ProcessRun",
  "Interruption",
  "RedisMemoryStore",
  "McpStdio",
  "EveryStrategyLimits",
  "InterruptionEverything",
  "LangGraphValidation",
  "EveryStrategyInterruption",
  "SqlLangGraph",
  "RedisSessionStore",
  "SqlMemoryBackend",
  "demo",
  "CacheMemoryStore",
  "PgVectorIndex",
  "Hostile",
  "PostgresFaults",
  "EveryStrategyAnswers"
]

class SlowFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = slow.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return at === -1 ? slow.length : at
    }
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

/** `LEXIGRAM_TEST_ORDER=<number>` shuffles the files: no outcome may depend on their order. */
const order = process.env.LEXIGRAM_TEST_ORDER

export default defineConfig({
  resolve: {
    alias: [
      { find: /^effect-lexigram$/, replacement: `${src}/index.ts` },
      { find: /^effect-lexigram\/([a-z0-9/-]+)$/, replacement: `${src}/$1/index.ts` }
    ]
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/servers/setup.ts"],
    setupFiles: ["test/support/turn.ts"],
    typecheck: { enabled: false },
    // Bounds against hangs, not promises: under load, at low priority, a test takes twenty times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 120_000,
    // For tests of the environment that programs see: none of them changes that of a shared process.
    env: { LEXIGRAM_TEST_SECRET: "c0ffee-not-for-children" },
    pool: "forks",
    // Most garbage of tests dies young: with more room for it, it is collected less often and less of it is copied.
    poolOptions: { forks: { execArgv: ["--max-semi-space-size=64"] } },
    // Loading Effect and the library for each file would take longer than most tests. So the files of a worker share
    // them: each file closes what it opens, and none changes the process for the others.
    isolate: false,
    // One more than the default, which leaves a core to the mostly idle runner.
    maxWorkers: availableParallelism(),
    minWorkers: 1,
    sequence:
      order === undefined ? { sequencer: SlowFirst } : { shuffle: { files: true, tests: false }, seed: Number(order) }
  }
})

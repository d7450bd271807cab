import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const src = fileURLToPath(new URL("./src", import.meta.url))

/** What takes longest, longest first: a file that is begun last would keep one worker busy when the others have nothing left to do. */
const slow = [
  "SqlSessionStore",
  "SqlMemoryStore",
  "KeyValueSessionStore",
  "RedisMemoryStore",
  "Interruption",
  "RedisSessionStore",
  "EveryStrategyLimits",
  "ProcessRun",
  "McpStdio",
  "LangGraphValidation",
  "ManyProcesses",
  "CacheMemoryStore",
  "EveryStrategyInterruption",
  "MemoryStoreSuite",
  "Crash",
  "SqlSessionStoreLangGraph",
  "SessionStoreSuite",
  "demo",
  "SqlSessionStoreRaces",
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

/** With `LEXIGRAM_TEST_ORDER=<number>` the files run in another order, one for each number: no outcome may depend on it. */
const order = process.env.LEXIGRAM_TEST_ORDER

export default defineConfig({
  resolve: {
    alias: [
      { find: /^effect-lexigram$/, replacement: `${src}/index.ts` },
      { find: /^effect-lexigram\/([a-z]+)$/, replacement: `${src}/$1/index.ts` }
    ]
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/servers/setup.ts"],
    setupFiles: ["test/support/turn.ts"],
    typecheck: { enabled: false },
    // Nets against hangs, not promises: beside other work, at a low priority, a test takes twenty times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 120_000,
    // For tests that show what programs see of the environment: none of them changes that of a process that others share.
    env: { LEXIGRAM_TEST_SECRET: "c0ffee-not-for-children" },
    pool: "forks",
    // Loading Effect and the library anew for each file would take longer than most tests do. So the files of a worker share them: what a file
    // opens it closes, and none changes what the others see of the process.
    isolate: false,
    // One more than by default, which leaves a core to the runner: it has little to do.
    maxWorkers: availableParallelism(),
    minWorkers: 1,
    sequence:
      order === undefined ? { sequencer: SlowFirst } : { shuffle: { files: true, tests: false }, seed: Number(order) }
  }
})

import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const src = fileURLToPath(new URL("./src", import.meta.url))

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
    typecheck: { enabled: false },
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: "forks",
    // One more than by default, which leaves a core to the runner: it has little to do.
    maxWorkers: availableParallelism(),
    minWorkers: 1,
    sequence: { concurrent: false }
  }
})

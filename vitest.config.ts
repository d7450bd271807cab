import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    typecheck: { enabled: false },
    testTimeout: 20_000,
    hookTimeout: 20_000,
    pool: "forks",
    sequence: { concurrent: false }
  }
})

/**
 * A new project: its files, made of the parts that every project has and those of its template.
 *
 * @private
 * @since 0.1.0
 */
import type * as Packages from "../config/Packages.js"

/**
 * Texts by the path of their file, below the project.
 *
 * @category models
 */
export type Files = Readonly<Record<string, string>>

/**
 * What differs from one template to another.
 *
 * @category models
 */
export interface Template {
  /** What the project is, in one line. */
  readonly description: string
  readonly scripts: Readonly<Record<string, string>>
  /** Packages beside those of every project, by name. */
  readonly packages: ReadonlyArray<string>
  readonly files: Files
  /** The part of the README after its installation. */
  readonly guide: string
}

/** What the command line and the runs of every project need. */
const packages = [
  "effect",
  "@effect/ai",
  "@effect/cli",
  "@effect/cluster",
  "@effect/experimental",
  "@effect/platform",
  "@effect/platform-node",
  "@effect/printer",
  "@effect/printer-ansi",
  "@effect/rpc",
  "@effect/sql",
  "@effect/workflow",
  "tsx"
]

const tools = ["@effect/vitest", "@types/node", "typescript", "vitest"]

/**
 * Names that a project cannot have: npm refuses them, or they are those of its packages.
 *
 * @category constants
 */
export const takenNames: ReadonlySet<string> = new Set([
  ...packages,
  ...tools,
  "effect-lexigram",
  "favicon.ico",
  "libsql",
  "node_modules"
])

const rangesOf = (names: ReadonlyArray<string>, ranges: Readonly<Record<string, string>>) =>
  Object.fromEntries([...names].sort().map((name) => [name, ranges[name] ?? "*"]))

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const packageJson = (name: string, manifest: Packages.Manifest, template: Template): string =>
  json({
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    engines: manifest.engines,
    scripts: { ...template.scripts, check: "tsc", test: "vitest run" },
    dependencies: {
      [manifest.name]: manifest.version,
      ...rangesOf([...packages, ...template.packages], manifest.peerDependencies)
    },
    devDependencies: rangesOf(tools, manifest.devDependencies)
  })

const tsconfig = json({
  compilerOptions: {
    target: "ES2022",
    module: "NodeNext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"]
  },
  include: ["lexigram.config.ts", "src", "test"]
})

const gitignore = `node_modules/
.lexigram/
.env
*.log
`

const readme = (name: string, { description, guide }: Template): string => `# ${name}

${description}

\`\`\`sh
npm install
npm run check
npm test
\`\`\`

${guide}
## Models

The embedded model \`offline\` matches words: it needs no key and no network, and is there to see that everything works.
Another model is named by \`LEXIGRAM_MODEL\`, such as \`openai/gpt-4.1-mini\` with the key in \`OPENAI_API_KEY\`, or
\`ollama/llama3.2\`. \`npx lexigram doctor\` says what is missing.
`

/**
 * The files of a project.
 *
 * @category constructors
 */
export const files = (name: string, manifest: Packages.Manifest, template: Template): Files => ({
  ".gitignore": gitignore,
  "README.md": readme(name, template),
  "package.json": packageJson(name, manifest, template),
  "tsconfig.json": tsconfig,
  ...template.files
})

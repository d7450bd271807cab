/**
 * Type-checks every `ts` block of the pages and of doc comments in `src`, each as its own module, runs those that open
 * with "```ts run", and checks that the modules, files and links named by the pages exist. A deliberate fragment opens
 * with "```ts no-check". Arguments are parts of the paths of files: only their blocks are checked.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import ts from "typescript"
import { filesBelow, root } from "./layout.js"
import { pages, repositoryProblems } from "./pages.js"
import * as BlockRuns from "./site/BlockRuns.js"

interface Block {
  readonly file: string
  /** Line of the first line of code, from 1. */
  readonly line: number
  readonly text: string
  readonly isRun: boolean
}

const commentLine = /^\s*\* ?/

/** Blocks of a file; in sources only those in doc comments. Fences may be indented. */
const blocksOf = (file: string): ReadonlyArray<Block> => {
  const inSource = file.endsWith(".ts")
  const blocks: Array<Block> = []
  let open:
    | { readonly checked: boolean; readonly isRun: boolean; readonly line: number; readonly lines: Array<string> }
    | undefined
  for (const [i, raw] of Fs.readFileSync(Path.join(root, file), "utf8").split("\n").entries()) {
    if (inSource && !commentLine.test(raw)) {
      open = undefined
      continue
    }
    const line = inSource ? raw.replace(commentLine, "") : raw
    const fence = /^\s*```\s*(.*)$/.exec(line)
    if (fence === null) open?.lines.push(line)
    else if (open !== undefined) {
      if (open.checked) blocks.push({ file, line: open.line, text: open.lines.join("\n"), isRun: open.isRun })
      open = undefined
    } else {
      const [language, ...flags] = fence[1]!.trim().split(/\s+/)
      const checked = (language === "ts" || language === "typescript") && !flags.includes("no-check")
      open = { checked, isRun: flags.includes("run"), line: i + 2, lines: [] }
    }
  }
  return blocks
}

const folder = Path.join(root, "node_modules", ".cache", "docs-check")
Fs.rmSync(folder, { recursive: true, force: true })
Fs.mkdirSync(folder, { recursive: true })
Fs.writeFileSync(Path.join(folder, "package.json"), `{ "type": "module" }\n`)

const wanted = process.argv.slice(2)
const documents = [...pages, ...filesBelow(Path.join(root, "src")).map((file) => `src/${file}`)].filter(
  (file) => wanted.length === 0 || wanted.some((part) => file.includes(part))
)

const written = new Map<string, Block>()
for (const block of documents.flatMap(blocksOf)) {
  const path = Path.join(folder, `${block.file.replaceAll("/", "-")}-${block.line}.ts`)
  Fs.writeFileSync(path, block.text)
  written.set(path, block)
}

const { config } = ts.readConfigFile(Path.join(root, "tsconfig.json"), ts.sys.readFile) as { config: object }
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root, {
  incremental: false,
  noUnusedLocals: false,
  typeRoots: [Path.join(root, "node_modules", "@types")]
})
delete options.tsBuildInfoFile

const program = ts.createProgram([...written.keys()], options)
const diagnostics = [
  ...program.getOptionsDiagnostics(),
  ...[...written.keys()].flatMap((path) => ts.getPreEmitDiagnostics(program, program.getSourceFile(path)))
]
for (const { file, start, messageText } of diagnostics) {
  const block = file && written.get(Path.normalize(file.fileName))
  const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start ?? 0).line
  const place = block === undefined ? "" : `${block.file}:${block.line + line}: `
  console.error(place + ts.flattenDiagnosticMessageText(messageText, "\n"))
}
const broken = repositoryProblems()
for (const problem of broken) console.error(problem)
const programs = [...written.values()]
  .filter(({ isRun }) => isRun)
  .map(({ file, line, text }) => ({ place: `${file}:${line}`, text }))
const failed = await BlockRuns.problems(programs)
for (const problem of failed) console.error(problem)
const count = diagnostics.length + broken.length + failed.length
console.log(`Checked ${written.size} blocks of documentation and ran ${programs.length} of them: ${count} problems.`)
if (count > 0) process.exitCode = 1

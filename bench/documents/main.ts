/**
 * Measures how often a search finds the section that answers a question, among Markdown that the installed packages
 * ship. MiniSearch and Orama get the same passages, already cut, with the settings by which each found the most of those
 * that were tried. Run by `npm run bench:documents`; `--misses` lists what is not among the first five.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import { create, insertMultiple, search as searchOrama } from "@orama/orama"
import * as Effect from "effect/Effect"
import { type DocumentIndex, InMemoryDocumentIndex } from "effect-lexigram/document"
import { HashingEmbedder } from "effect-lexigram/llm"
import { VectorIndex } from "effect-lexigram/memory"
import MiniSearch, { type Options as MiniSearchOptions, type SearchOptions } from "minisearch"
import { stemmer } from "stemmer"
import { questions } from "./Questions.js"

const packages = Path.resolve(import.meta.dirname, "../../node_modules")
const owner = "bench"

/** Files that are no documentation, or copies of others. */
const left = /change|history|licen[cs]e|notice|contributing|security|code_of_conduct|[/\\]node_modules[/\\]|[/\\]test/i

const files: ReadonlyArray<string> = Fs.readdirSync(packages, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.md$/i.test(file) && !file.startsWith(".") && !left.test(file))
  .map((file) => file.split(Path.sep).join("/"))
  .sort()

interface Passage {
  readonly id: string
  readonly file: string
  readonly title: string
  readonly headings: string
  readonly path: ReadonlyArray<string>
  readonly text: string
}

type Find = (text: string) => Promise<ReadonlyArray<Pick<Passage, "file" | "path">>>

const plain = (text: string): string => text.replace(/[`*]/g, "").toLowerCase()

const answers = (found: Pick<Passage, "file" | "path">, file: string, heading: string): boolean =>
  found.file === file && found.path.some((title) => plain(title).startsWith(plain(heading)))

const cpu = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1_000
}

const measure = async (name: string, build: () => Promise<Find>) => {
  const begun = cpu()
  const find = await build()
  const built = cpu() - begun
  const ranks: Array<number> = []
  const started = cpu()
  for (const [text, file, heading] of questions) {
    ranks.push((await find(text)).findIndex((one) => answers(one, file, heading)))
  }
  const spent = (cpu() - started) / questions.length
  const share = (most: number) => ranks.filter((rank) => rank >= 0 && rank < most).length / questions.length
  const mrr = ranks.reduce((sum, rank) => sum + (rank < 0 ? 0 : 1 / (rank + 1)), 0) / ranks.length
  if (process.argv.includes("--misses")) {
    for (const [at, [text, file, heading]] of questions.entries()) {
      if ((ranks[at] as number) < 0 || (ranks[at] as number) >= 5)
        console.log(`  ${ranks[at]}: ${text} -> ${file} # ${heading}`)
    }
  }
  console.log(
    `${name.padEnd(38)} recall@1 ${share(1).toFixed(3)}  @5 ${share(5).toFixed(3)}  @10 ${share(10).toFixed(3)}  ` +
      `mrr ${mrr.toFixed(3)}  build ${built.toFixed(0)} ms  search ${spent.toFixed(2)} ms`
  )
}

const documents = files.map((file) => ({ id: file, content: Fs.readFileSync(Path.join(packages, file), "utf8") }))

const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

const ours =
  (make: Effect.Effect<DocumentIndex.Service>): (() => Promise<Find>) =>
  async () => {
    const index = await run(make)
    await run(index.ingest(owner, documents))
    return (text) =>
      run(
        Effect.map(index.search(owner, { text, limit: 10 }), ({ hits }) =>
          hits.map(({ document, headings }) => ({ file: document.id, path: headings }))
        )
      )
  }

const words = await run(InMemoryDocumentIndex.make())
await run(words.ingest(owner, documents))
const passages: Array<Passage> = []
for (const { id: file } of documents) {
  const title = (await run(words.get(owner, file)))?.title ?? file
  for (let offset = 0; ; offset += 1_000) {
    const page = await run(words.read(owner, file, { offset, limit: 1_000 }))
    for (const { headings, id, text } of page) {
      passages.push({ id, file, title, headings: headings.join("\n"), path: headings, text })
    }
    if (page.length < 1_000) break
  }
}

for (const [, file, heading] of questions) {
  if (!passages.some((one) => answers(one, file, heading))) throw new Error(`There is no ${file} # ${heading}`)
}

const embedder = HashingEmbedder.make()
const withVectors = Effect.flatMap(VectorIndex.makeMemory(embedder), (index) =>
  InMemoryDocumentIndex.make({ vectors: { embedder, index } })
)

/** The passages as one text each, by which MiniSearch and Orama find more than by fields. */
const whole = passages.map((one) => ({ ...one, all: `${one.title}\n${one.headings}\n${one.text}` }))

const stopWords = (
  "a an the this that these those it its is are was were be been do does did how what which who when where why can " +
  "could should would will may must i my me you your we our they them to of in on at by for with from and or not no " +
  "if as so than then there"
).split(" ")

const mini =
  (options: Partial<MiniSearchOptions>, asked: SearchOptions): (() => Promise<Find>) =>
  async () => {
    const index = new MiniSearch<Passage & { readonly all: string }>({
      fields: ["all"],
      storeFields: ["file", "path"],
      ...options
    })
    index.addAll(whole)
    return async (text) => index.search(text, asked).slice(0, 10) as unknown as ReadonlyArray<Passage>
  }

const stopped = new Set(stopWords)

/** Stems words and leaves out stop words, as the index here does by default. */
const processTerm = (term: string): string | null => {
  const lower = term.toLowerCase()
  return stopped.has(lower) ? null : stemmer(lower)
}

const orama = async (): Promise<Find> => {
  const tokenizer = { language: "english", stemming: true, stopWords } as const
  const index = create({ schema: { all: "string" } as const, components: { tokenizer } })
  await insertMultiple(index, whole as Array<any>)
  return async (text) => {
    const { hits } = await searchOrama(index, { term: text, limit: 10 })
    return hits.map(({ document }) => document as unknown as Passage)
  }
}

console.log(`${documents.length} documents, ${passages.length} passages, ${questions.length} questions`)
await measure("DocumentIndex, words", ours(InMemoryDocumentIndex.make()))
await measure("DocumentIndex, words and letters", ours(withVectors))
await measure("MiniSearch, fuzzy", mini({}, { fuzzy: 0.2 }))
await measure("MiniSearch, stems and stop words", mini({ processTerm }, {}))
await measure("Orama, stems and stop words", orama)

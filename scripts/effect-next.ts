/**
 * Counts what of `src` another version of Effect would change: for each use of a member of a module of Effect, whether
 * that version has it in the same module, in another one, or not. Names alone: a member may be there and behave
 * otherwise. `npx tsx scripts/effect-next.ts <folder in which that version is installed>`.
 */
import * as Fs from "node:fs"
import * as Path from "node:path"
import ts from "typescript"
import { filesBelow, isIndex, root } from "./layout.js"

/** Members of modules that are there under another name, with the same meaning. */
const renamed = new Set(
  Object.entries({
    Effect:
      "zipRight zipLeft catchAll catchAllCause either async forkDaemon fork dieMessage mapInputContext withFiberRuntime timeoutFail runtime clock",
    Layer: "unwrapEffect scoped scopedDiscard scopedContext unwrapScoped",
    Schema:
      "decodeUnknown decodeUnknownEither decode encode parseJson maxLength minLength between maxItems positive int filter",
    Cause: "isInterruptedOnly failureOption TimeoutException",
    Config: "string integer boolean number",
    Duration: "DurationInput decode decodeUnknown",
    Stream: "unwrapScoped paginateChunkEffect",
    Chunk: "unsafeFromArray",
    Context: "Tag",
    DateTime: "unsafeMake",
    Fiber: "RuntimeFiber",
    Option: "fromNullable",
    Predicate: "isReadonlyRecord",
    Scope: "extend"
  }).flatMap(([module, members]) => members.split(" ").map((member) => `effect/${module}.${member}`))
)

interface Use {
  readonly module: string
  readonly member: string
  readonly file: string
}

const usesOf = (file: string): ReadonlyArray<Use> => {
  const source = ts.createSourceFile(
    file,
    Fs.readFileSync(Path.join(root, "src", file), "utf8"),
    ts.ScriptTarget.Latest,
    true
  )
  const modules = new Map<string, string>()
  const uses: Array<Use> = []
  const add = (module: string | undefined, member: string) => {
    if (module !== undefined) uses.push({ module, member, file })
  }
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
    const module = statement.moduleSpecifier.text
    const bindings = statement.importClause?.namedBindings
    if (!/^(effect|@effect)\//.test(module) || bindings === undefined) continue
    if (ts.isNamespaceImport(bindings)) modules.set(bindings.name.text, module)
    else for (const { name, propertyName } of bindings.elements) add(module, (propertyName ?? name).text)
  }
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      add(modules.get(node.expression.text), node.name.text)
    } else if (ts.isQualifiedName(node) && ts.isIdentifier(node.left)) {
      add(modules.get(node.left.text), node.right.text)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return uses
}

/** What each module of an installed `effect` exports, by its path. */
const exportsOf = (folder: string): ReadonlyMap<string, ReadonlySet<string>> => {
  const dist = Path.join(folder, "node_modules/effect/dist")
  const files = filesBelow(dist).filter((file) => file.endsWith(".d.ts") && !file.includes("internal"))
  const program = ts.createProgram(
    files.map((file) => Path.join(dist, file)),
    {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      skipLibCheck: true,
      noEmit: true
    }
  )
  const checker = program.getTypeChecker()
  return new Map(
    files.map((file) => {
      const source = program.getSourceFile(Path.join(dist, file))
      const module = source && checker.getSymbolAtLocation(source)
      const names = module === undefined ? [] : checker.getExportsOfModule(module).map(({ name }) => name)
      return [file.replace(/\.d\.ts$/, ""), new Set(names)]
    })
  )
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error("Name the folder in which the other version of effect is installed")
const next = exportsOf(folder)

type Kind = "same" | "other module" | "Either is Result" | "other name" | "by hand"

const kindOf = ({ member, module }: Use): Kind => {
  const name = Path.basename(module)
  if (module.startsWith("effect/") && next.get(module.slice("effect/".length))?.has(member) === true) return "same"
  if (module === "effect/Either") return "Either is Result"
  if (renamed.has(`${module}.${member}`)) return "other name"
  const isElsewhere = [...next].some(([path, names]) => Path.basename(path) === name && names.has(member))
  return isElsewhere ? "other module" : "by hand"
}

const files = filesBelow(Path.join(root, "src")).filter((file) => file.endsWith(".ts") && !isIndex(file))
const kinds = new Map<Kind, { uses: number; readonly files: Set<string> }>()
const byHand = new Map<string, number>()
let total = 0
for (const use of files.flatMap(usesOf)) {
  const kind = kindOf(use)
  const found = kinds.get(kind) ?? { uses: 0, files: new Set() }
  found.uses++
  found.files.add(use.file)
  kinds.set(kind, found)
  total++
  if (kind === "by hand") byHand.set(use.module, (byHand.get(use.module) ?? 0) + 1)
}
console.log(`${files.length} modules, ${total} uses of Effect`)
for (const [kind, { files, uses }] of kinds) {
  console.log(`${kind}: ${uses} uses (${((uses / total) * 100).toFixed(1)} %) in ${files.size} modules`)
}
for (const [module, uses] of [...byHand].sort((a, b) => b[1] - a[1]).slice(0, 12)) console.log(`  ${module}: ${uses}`)

/** What the entries of the package export, as the type checker sees it. */
import { createHash } from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import ts from "typescript"
import { root } from "../layout.js"

export interface Member {
  readonly name: string
  readonly kind: "class" | "interface" | "type" | "function" | "constant" | "namespace"
  /** The doc comment without its tags. */
  readonly doc: string
  readonly category: string
  readonly since: string
  readonly examples: ReadonlyArray<string>
  /** As a declaration, with every type written out; empty if signatures are not read. */
  readonly signature: string
  readonly declarations: ReadonlyArray<ts.Declaration>
  readonly file: string
  readonly line: number
}

export interface Module {
  /** Empty for the members that an entry exports itself. */
  readonly name: string
  readonly doc: string
  readonly since: string
  readonly file: string
  readonly members: ReadonlyArray<Member>
}

export interface Entry {
  /** `effect-lexigram/agent`. */
  readonly specifier: string
  readonly modules: ReadonlyArray<Module>
}

/** The specifier of each entry and its source. */
export const entries = (): ReadonlyArray<readonly [specifier: string, file: string]> => {
  const { exports, name } = JSON.parse(Fs.readFileSync(Path.join(root, "package.json"), "utf8")) as {
    readonly name: string
    readonly exports: Record<string, unknown>
  }
  return Object.keys(exports)
    .filter((entry) => !entry.includes("*") && !/\.m?js(on)?$/.test(entry))
    .map((entry) => [name + entry.slice(1), Path.join(root, "src", entry.slice(1), "index.ts")])
}

export const programOf = (files: ReadonlyArray<string>): ts.Program => {
  const { config } = ts.readConfigFile(Path.join(root, "tsconfig.json"), ts.sys.readFile) as { config: object }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root, { incremental: false })
  delete options.tsBuildInfoFile
  return ts.createProgram(files, options)
}

export const docOf = (checker: ts.TypeChecker, symbol: ts.Symbol): string =>
  ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim()

export const tagsOf = (symbol: ts.Symbol, name: string): ReadonlyArray<string> =>
  symbol
    .getJsDocTags()
    .filter((tag) => tag.name === name)
    .map((tag) => ts.displayPartsToString(tag.text).trim())

const FORMAT =
  ts.TypeFormatFlags.NoTruncation |
  ts.TypeFormatFlags.WriteArrowStyleSignature |
  ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope

export const typeText = (checker: ts.TypeChecker, type: ts.Type, node?: ts.Node): string =>
  checker.typeToString(type, node, FORMAT).replaceAll(/\s+/g, " ")

/** A declaration without its comments and bodies. */
const printer = ts.createPrinter({ removeComments: true })
const declared = (node: ts.Node): string =>
  printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()).replace(/^export (declare )?/, "")

const classText = (checker: ts.TypeChecker, name: string, type: ts.Type): string => {
  const fields = type
    .getProperties()
    .filter(
      (property) =>
        !["stack", "toString", "toJSON", "name", "cause"].includes(property.name) && !property.name.startsWith("__@")
    )
    .map((property) => `  readonly ${property.name}: ${typeText(checker, checker.getTypeOfSymbol(property))}`)
  return `class ${name} {\n${fields.join("\n")}\n}`
}

const kindOf = (checker: ts.TypeChecker, symbol: ts.Symbol): Member["kind"] => {
  const { declarations = [], flags } = symbol
  if ((flags & ts.SymbolFlags.Class) !== 0) return "class"
  if ((flags & (ts.SymbolFlags.Variable | ts.SymbolFlags.Function)) !== 0) {
    return checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0 ? "function" : "constant"
  }
  const last = declarations.findLast((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one))
  return last === undefined ? "namespace" : ts.isInterfaceDeclaration(last) ? "interface" : "type"
}

const signatureOf = (checker: ts.TypeChecker, name: string, symbol: ts.Symbol): string => {
  const { declarations = [], flags } = symbol
  if ((flags & ts.SymbolFlags.Class) !== 0) return classText(checker, name, checker.getDeclaredTypeOfSymbol(symbol))
  const texts = declarations
    .filter((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one))
    .map(declared)
  if ((flags & (ts.SymbolFlags.Variable | ts.SymbolFlags.Function)) !== 0) {
    texts.push(`const ${name}: ${typeText(checker, checker.getTypeOfSymbol(symbol))}`)
  }
  return texts.join("\n")
}

/** What is read: the checker, and whether signatures are made, which takes as long as everything else. */
interface Reader {
  readonly checker: ts.TypeChecker
  readonly signatures: boolean
}

const memberOf = ({ checker, signatures }: Reader, name: string, found: ts.Symbol): Member | undefined => {
  const symbol = (found.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(found) : found
  const [declaration] = symbol.declarations ?? []
  if (declaration === undefined || tagsOf(symbol, "internal").length > 0) return undefined
  const source = declaration.getSourceFile()
  // First of all: the checker orders unions by when it first saw their members.
  const signature = signatures ? signatureOf(checker, name, symbol) : ""
  return {
    name,
    kind: kindOf(checker, symbol),
    doc: docOf(checker, symbol),
    category: tagsOf(symbol, "category")[0] ?? "",
    since: tagsOf(symbol, "since")[0] ?? "",
    examples: tagsOf(symbol, "example"),
    signature,
    declarations: symbol.declarations ?? [],
    file: Path.relative(root, source.fileName),
    line: source.getLineAndCharacterOfPosition(declaration.getStart()).line + 1
  }
}

const membersOf = (reader: Reader, module: ts.Symbol): ReadonlyArray<Member> =>
  reader.checker
    .getExportsOfModule(module)
    .map((symbol) => memberOf(reader, symbol.name, symbol))
    .filter((member) => member !== undefined)
    .sort((a, b) => (a.name < b.name ? -1 : 1))

/** The first doc comment of a module: its text, and its tag `since`. */
const headOf = (source: ts.SourceFile): { readonly doc: string; readonly since: string } => {
  const lines = (/^\/\*\*([\s\S]*?)\*\//.exec(source.text)?.[1] ?? "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
  return {
    doc: lines
      .filter((line) => !line.startsWith("@"))
      .join("\n")
      .trim(),
    since: lines.find((line) => line.startsWith("@since "))?.slice(7) ?? ""
  }
}

/** What an entry exports: modules as namespaces, and the members of flat entries as one module. */
const entryOf = (reader: Reader, program: ts.Program, specifier: string, file: string): Entry => {
  const { checker } = reader
  const source = program.getSourceFile(file)
  const symbol = source && checker.getSymbolAtLocation(source)
  if (source === undefined || symbol === undefined) throw new Error(`${file} is no module`)
  const modules: Array<Module> = []
  const flat: Array<Member> = []
  for (const exported of checker.getExportsOfModule(symbol)) {
    const target = (exported.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(exported) : exported
    const [declaration] = target.declarations ?? []
    if (declaration !== undefined && ts.isSourceFile(declaration)) {
      modules.push({
        name: exported.name,
        ...headOf(declaration),
        file: Path.relative(root, declaration.fileName),
        members: membersOf(reader, target)
      })
    } else {
      const member = memberOf(reader, exported.name, exported)
      if (member !== undefined) flat.push(member)
    }
  }
  modules.sort((a, b) => (a.name < b.name ? -1 : 1))
  if (flat.length > 0) modules.unshift({ name: "", ...headOf(source), file: Path.relative(root, file), members: flat })
  return { specifier, modules }
}

export const read = (
  program: ts.Program,
  options: {
    /** Default: those of the package. */
    readonly of?: ReadonlyArray<readonly [specifier: string, file: string]>
    /** Default: true. */
    readonly signatures?: boolean
  } = {}
): ReadonlyArray<Entry> => {
  const { of = entries(), signatures = true } = options
  const reader: Reader = { checker: program.getTypeChecker(), signatures }
  return of.map(([specifier, file]) => entryOf(reader, program, specifier, file))
}

const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8)

/** One line a member, below its module and its entry: its kind and a hash of its type. */
export const report = (all: ReadonlyArray<Entry>): string => {
  const lines: Array<string> = []
  for (const { modules, specifier } of all) {
    lines.push(specifier)
    for (const { members, name } of modules) {
      if (name !== "") lines.push(` ${name}`)
      for (const member of members) lines.push(`  ${member.name} ${member.kind} ${hash(member.signature)}`)
    }
  }
  return `${lines.join("\n")}\n`
}

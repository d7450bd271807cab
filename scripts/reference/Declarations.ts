/**
 * Members as declarations for readers: the text of the source where it writes a type, with the comments of fields, and
 * the type of the checker elsewhere. What a type has too much of is an ellipsis.
 */
import ts from "typescript"
import { docOf, type Member, tagsOf, typeText } from "./PublicApi.js"

/** Characters of an inferred type that are shown whole. */
const MOST_CHARACTERS = 900

/** Characters of a literal in a type that are shown. */
const MOST_OF_LITERAL = 80

/** Columns of a comment, with its indentation. */
const COMMENT_WIDTH = 86

/** Characters of an initial value that is shown. */
const MOST_OF_VALUE = 100

/** Stands for an ellipsis until the text is formatted: it is an identifier. */
const ELLIPSIS = "__ellipsis__"

/** The lines of a comment in less columns. Lists and code keep their lines. */
const wrapped = (lines: ReadonlyArray<string>, width: number): ReadonlyArray<string> => {
  const made: Array<string> = []
  let isCode = false
  let isOpen = false
  for (const line of lines) {
    const isFence = line.trimStart().startsWith("```")
    if (isFence) isCode = !isCode
    if (isCode || isFence || line.trim() === "" || /^\s*(?:[-|]|\d{1,2}\. )/.test(line)) isOpen = false
    if (isCode || isFence || line.length > 4 * width) {
      made.push(line)
      continue
    }
    const [first = "", ...words] = line.trim().split(" ")
    const last = made.at(-1)
    if (isOpen && last !== undefined) words.unshift(first)
    else made.push(line.slice(0, line.length - line.trimStart().length) + first)
    for (const word of words) {
      const current = made.at(-1) ?? ""
      if (current.length + 1 + word.length <= width) made[made.length - 1] = `${current} ${word}`
      else made.push(word)
    }
    isOpen = line.trim() !== ""
  }
  return made
}

const comment = (indent: string, text: string): string => {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
  const made = wrapped(lines, COMMENT_WIDTH - indent.length - 3)
  const [only = "", ...others] = made
  return others.length === 0 && indent.length + only.length + 7 <= COMMENT_WIDTH
    ? `${indent}/** ${only} */`
    : [`${indent}/**`, ...made.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join("\n")
}

/** A formatted text as readers see it: with ellipses, and without the word that only the syntax requires. */
export const shown = (text: string): string =>
  text
    .replaceAll(/^( *)\/\*\*(.*?)\*\/$/gms, (_, indent, words) => comment(indent, words))
    .replaceAll(new RegExp(`${ELLIPSIS}(\\d*)`, "g"), (_, count) => (count === "" ? "…" : `… ${count} more`))
    .replaceAll(/^declare /gm, "")

const printer = ts.createPrinter({ removeComments: true })

const discriminators = new Set(["_tag", "type", "kind"])

/** Fields of a type literal that tell it from the others of its union. */
const isDiscriminator = (member: ts.TypeElement): boolean =>
  ts.isPropertySignature(member) &&
  member.type !== undefined &&
  ts.isLiteralTypeNode(member.type) &&
  discriminators.has(member.name.getText())

interface Budget {
  /** Type literals at this depth and below are cut. */
  readonly depth: number
  /** Members of a union or a tuple that stay. */
  readonly union: number
}

const budgets: ReadonlyArray<Budget> = [
  { depth: 3, union: 40 },
  { depth: 2, union: 24 },
  { depth: 1, union: 16 },
  { depth: 1, union: 8 },
  { depth: 0, union: 6 },
  { depth: 0, union: 3 }
]

const reference = (name: string): ts.TypeNode => ts.factory.createTypeReferenceNode(name)

const cut = (node: ts.Node, { depth, union }: Budget): ts.Node => {
  const few = (types: ts.NodeArray<ts.TypeNode>, context: ts.TransformationContext, at: number) => {
    const kept = types.slice(0, union).map((type) => ts.visitNode(type, visitor(context, at)) as ts.TypeNode)
    return types.length > union ? [...kept, reference(`${ELLIPSIS}${types.length - union}`)] : kept
  }
  const visitor =
    (context: ts.TransformationContext, at: number): ts.Visitor =>
    (node) => {
      if (ts.isTypeLiteralNode(node) && at >= depth && node.members.length > 1) {
        const rest = ts.factory.createPropertySignature(undefined, ELLIPSIS, undefined, undefined)
        return ts.factory.createTypeLiteralNode([...node.members.filter(isDiscriminator), rest])
      }
      if (ts.isUnionTypeNode(node)) return ts.factory.createUnionTypeNode(few(node.types, context, at))
      if (ts.isTupleTypeNode(node)) {
        return ts.factory.createTupleTypeNode(few(node.elements as ts.NodeArray<ts.TypeNode>, context, at))
      }
      return ts.visitEachChild(node, visitor(context, ts.isTypeLiteralNode(node) ? at + 1 : at), context)
    }
  const { transformed } = ts.transform(node, [(context) => (node) => ts.visitNode(node, visitor(context, 0)) ?? node])
  return transformed[0] ?? node
}

/** A type that is cut until it is short enough, or can be cut no further. */
export const shortened = (whole: string): string => {
  const text = whole.replaceAll(/"((?:[^"\\]|\\.)*)"/g, (literal, value: string) =>
    value.length > MOST_OF_LITERAL ? `"${value.slice(0, MOST_OF_LITERAL).replace(/\\+$/, "")}…"` : literal
  )
  if (text.length <= MOST_CHARACTERS) return text
  const source = ts.createSourceFile("type.ts", `type T = ${text}`, ts.ScriptTarget.Latest, true)
  const [statement] = source.statements
  if (statement === undefined || !ts.isTypeAliasDeclaration(statement)) return text
  let short = text
  for (const budget of budgets) {
    short = printer.printNode(ts.EmitHint.Unspecified, cut(statement.type, budget), source)
    if (short.replaceAll(/\s+/g, " ").length <= MOST_CHARACTERS) break
  }
  return short
}

/** The text of a node without the members that the published declarations leave out. */
const published = (node: ts.Node): string => {
  const cuts: Array<readonly [from: number, to: number]> = []
  const visit = (child: ts.Node): void => {
    if (ts.isTypeElement(child) && ts.getJSDocTags(child).some(({ tagName }) => tagName.text === "internal")) {
      cuts.push([child.getFullStart(), child.end])
    } else ts.forEachChild(child, visit)
  }
  visit(node)
  const { text } = node.getSourceFile()
  let at = node.getStart()
  let kept = ""
  for (const [from, to] of cuts) {
    kept += text.slice(at, from)
    at = to
  }
  return (kept + text.slice(at, node.end)).replace(/^export (declare )?/, "")
}

const inferred = (checker: ts.TypeChecker, type: ts.Type, node: ts.Node): string =>
  shortened(typeText(checker, type, node))

/** A name for a parameter that the source takes apart. */
const nameOfType = (type: string): string => {
  const name = /^(?:\w+\.)*(\w+)/.exec(type)?.[1]
  return name === undefined || /(?:Options|Config|Settings)$/.test(name)
    ? "options"
    : name.charAt(0).toLowerCase() + name.slice(1)
}

const parameterText = (checker: ts.TypeChecker, parameter: ts.ParameterDeclaration): string => {
  const { dotDotDotToken, initializer, name, questionToken, type } = parameter
  const text = type === undefined ? inferred(checker, checker.getTypeAtLocation(parameter), parameter) : published(type)
  const isOptional = questionToken !== undefined || initializer !== undefined
  return `${dotDotDotToken === undefined ? "" : "..."}${ts.isIdentifier(name) ? name.text : nameOfType(text)}${isOptional ? "?" : ""}: ${text}`
}

const headText = (checker: ts.TypeChecker, { parameters, typeParameters }: ts.SignatureDeclarationBase): string => {
  const types = typeParameters === undefined ? "" : `<${typeParameters.map((one) => one.getText()).join(", ")}>`
  return `${types}(${parameters.map((one) => parameterText(checker, one)).join(", ")})`
}

/** The function that a constant is: an arrow, or the generator of `Effect.fnUntraced` and `Effect.fn`. */
const functionOf = (node: ts.Expression | undefined): ts.ArrowFunction | ts.FunctionExpression | undefined => {
  if (node === undefined) return undefined
  if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return node
  if (ts.isParenthesizedExpression(node)) return functionOf(node.expression)
  const [body] = ts.isCallExpression(node) ? node.arguments : []
  return body !== undefined && ts.isFunctionExpression(body) && body.asteriskToken !== undefined ? body : undefined
}

const isLiteral = (node: ts.Expression): boolean =>
  ts.isLiteralExpression(node) ||
  ts.isPrefixUnaryExpression(node) ||
  ts.isArrayLiteralExpression(node) ||
  ts.isObjectLiteralExpression(node) ||
  ts.isTemplateExpression(node) ||
  (ts.isAsExpression(node) && isLiteral(node.expression))

const isSchema = (node: ts.Expression): boolean => /^Schema\s*\.|^[A-Z]\w*\.(?:pipe|annotations)\(/.test(node.getText())

const variableText = (
  checker: ts.TypeChecker,
  { category, name }: Member,
  declaration: ts.VariableDeclaration
): string => {
  const { initializer, type } = declaration
  if (type !== undefined) return `declare const ${name}: ${published(type)}`
  const found = checker.getTypeAtLocation(declaration)
  const [signature, ...others] = found.getCallSignatures()
  const written = functionOf(initializer)
  if (written !== undefined && signature !== undefined && others.length === 0) {
    const result =
      written.type === undefined || written.asteriskToken !== undefined
        ? inferred(checker, signature.getReturnType(), declaration)
        : written.type.getText()
    return `declare const ${name}: ${headText(checker, written)} => ${result}`
  }
  if (initializer !== undefined) {
    const value = initializer.getText()
    if (found.getProperty("ast") !== undefined && isSchema(initializer)) return `const ${name} = ${value}`
    if (category === "constants" && value.length <= MOST_OF_VALUE && !/=>|\n/.test(value)) {
      return `const ${name}${isLiteral(initializer) ? "" : `: ${inferred(checker, found, declaration)}`} = ${value}`
    }
  }
  return `declare const ${name}: ${inferred(checker, found, declaration)}`
}

const commented = (doc: string, text: string): string =>
  doc === "" ? text : `/** ${doc.replaceAll("*/", "*\\/").replaceAll("\n", "\n * ")} */\n${text}`

const isHidden = (symbol: ts.Symbol): boolean =>
  tagsOf(symbol, "internal").length > 0 ||
  (symbol.declarations ?? []).some(
    (one) => (ts.getCombinedModifierFlags(one) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0
  )

const propertyText = (checker: ts.TypeChecker, symbol: ts.Symbol, node: ts.Node, prefix = ""): string => {
  const type = checker.getTypeOfSymbol(symbol)
  const [method] = symbol.declarations ?? []
  const text =
    method !== undefined && ts.isMethodDeclaration(method)
      ? `${symbol.name}${headText(checker, method)}: ${inferred(checker, checker.getSignatureFromDeclaration(method)?.getReturnType() ?? type, node)}`
      : `readonly ${symbol.name}: ${inferred(checker, type, node)}`
  return commented(docOf(checker, symbol), prefix + text)
}

/** Fields that every error has. */
const ofErrors = new Set(["name", "stack", "toString", "toJSON", "pipe", "cause"])

const isOwn = (symbol: ts.Symbol): boolean =>
  !symbol.name.startsWith("__") &&
  (symbol.name === "_tag" ||
    (symbol.declarations ?? []).some((one) => !one.getSourceFile().fileName.includes("/node_modules/")))

/** A class with its public members. Errors have the fields of their schema; other bases stand as the source has them. */
const classText = (checker: ts.TypeChecker, { name }: Member, declaration: ts.ClassDeclaration): string => {
  const symbol = declaration.name && checker.getSymbolAtLocation(declaration.name)
  const type = checker.getTypeAtLocation(declaration)
  const isError = type.getProperty("stack") !== undefined
  const properties = isError
    ? type.getProperties().filter((one) => isOwn(one) && !ofErrors.has(one.name))
    : declaration.members.flatMap((member) =>
        member.name === undefined || ts.isPrivateIdentifier(member.name)
          ? []
          : (checker.getSymbolAtLocation(member.name) ?? [])
      )
  const isStatic = (one: ts.Symbol): boolean => symbol?.exports?.has(one.escapedName) === true
  const base = declaration.heritageClauses?.map((clause) => clause.getText()).join(" ") ?? ""
  const types = declaration.typeParameters?.map((one) => one.getText()).join(", ")
  const members = [...new Set(properties)].filter((one) => !isHidden(one))
  return [
    `declare class ${name}${types === undefined ? "" : `<${types}>`} ${isError ? "extends Error" : base} {`,
    ...members.map((one) => propertyText(checker, one, declaration, isStatic(one) ? "static " : "")),
    "}"
  ].join("\n")
}

/** A member as TypeScript that no one has formatted. */
export const textOf = (checker: ts.TypeChecker, member: Member): string =>
  member.declarations
    .map((declaration) => {
      if (ts.isClassDeclaration(declaration)) return classText(checker, member, declaration)
      if (ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration)) {
        return published(declaration)
      }
      if (ts.isVariableDeclaration(declaration)) return variableText(checker, member, declaration)
      if (ts.isFunctionDeclaration(declaration)) {
        const result = checker.getSignatureFromDeclaration(declaration)?.getReturnType()
        const text = result === undefined ? "void" : inferred(checker, result, declaration)
        return `declare function ${member.name}${headText(checker, declaration)}: ${text}`
      }
      return ""
    })
    .filter((text) => text !== "")
    .join("\n\n")

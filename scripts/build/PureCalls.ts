import ts from "typescript"

/** Whether a node does something when its module is loaded: calls, constructs or spreads, outside of functions. */
const isActive = (node: ts.Node): boolean =>
  !ts.isFunctionLike(node) &&
  (ts.isCallExpression(node) ||
    ts.isNewExpression(node) ||
    ts.isSpreadElement(node) ||
    ts.isSpreadAssignment(node) ||
    (ts.isPropertyDeclaration(node) && !isStatic(node)
      ? false
      : (node.forEachChild((child) => isActive(child) || undefined) ?? false)))

const isStatic = ({ modifiers }: ts.PropertyDeclaration): boolean =>
  modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) ?? false

interface Insertion {
  readonly at: number
  readonly text: string
}

const begin = "/* @__PURE__ */ (() => "
const end = ")()"

const aroundVariable = (source: ts.SourceFile, statement: ts.VariableStatement): ReadonlyArray<Insertion> =>
  statement.declarationList.declarations.flatMap(({ initializer }) =>
    initializer === undefined || !isActive(initializer)
      ? []
      : [
          { at: initializer.getStart(source), text: `${begin}(` },
          { at: initializer.end, text: `)${end}` }
        ]
  )

/** `class A extends B() {}` becomes a constant: bundlers keep a class whose base is made by a call. */
const aroundClass = (source: ts.SourceFile, node: ts.ClassDeclaration): ReadonlyArray<Insertion> => {
  const keyword = node.getChildren(source).find(({ kind }) => kind === ts.SyntaxKind.ClassKeyword)
  return keyword === undefined || node.name === undefined || !isActive(node)
    ? []
    : [
        { at: keyword.getStart(source), text: `const ${node.name.text} = ${begin}` },
        { at: node.end, text: `${end};` }
      ]
}

/**
 * Marks what a module makes at its top level as free of side effects, as it is in this package. A bundler drops what nobody uses of a file
 * only if it knows that. Lines stay where they are.
 */
export const withPureCalls = (text: string): string => {
  const source = ts.createSourceFile("module.ts", text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.TS)
  const insertions = source.statements.flatMap((statement) =>
    ts.isVariableStatement(statement)
      ? aroundVariable(source, statement)
      : ts.isClassDeclaration(statement)
        ? aroundClass(source, statement)
        : []
  )
  let marked = ""
  let at = 0
  for (const insertion of insertions) {
    marked += text.slice(at, insertion.at) + insertion.text
    at = insertion.at
  }
  return marked + text.slice(at)
}

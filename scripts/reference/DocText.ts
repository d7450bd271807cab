/** Doc comments as Markdown of the site: code stays, links lead to members, and everything else is text. */

/** Where a name in a doc comment leads; `undefined` if no public member has it. */
export type Resolve = (name: string) => string | undefined

const fence = "^[ \\t]*```[\\s\\S]*?^[ \\t]*```[^\\n]*$"
const tokens = new RegExp(`(${fence})|(\`+)[^\`]+?\\2|\\{@link(?:code|plain)?\\s+([^\\s|}]+)[\\s|]*([^}]*)\\}`, "gm")

const named = /^[A-Z]\w*(?:\.\w+)?$/

/** Text that neither Markdown, nor its extensions, nor Vue reads as anything else. Lists stay lists. */
const escaped = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(/[\\*_~`]/g, "\\$&")
    .replaceAll(/^([ \t]*)(#|>|\+|:::)/gm, "$1\\$2")
    .replaceAll(/\{+/g, "<span v-pre>$&</span>")

/** Vue reads two braces in inline code, but not in blocks. */
const span = (token: string, code: string): string =>
  code.includes("{{") ? `<code v-pre>${code.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</code>` : token

const linked = (code: string, target: string | undefined): string =>
  target === undefined ? code : `[${code}](${target})`

/** A doc comment without its tags as Markdown. */
export const markdown = (text: string, resolve: Resolve): string => {
  let at = 0
  let made = ""
  for (const match of text.matchAll(tokens)) {
    const [token, block, ticks, name, words] = match
    made += escaped(text.slice(at, match.index))
    at = match.index + token.length
    if (block !== undefined) made += block
    else if (ticks !== undefined) {
      const code = token.slice(ticks.length, -ticks.length)
      made += linked(span(token, code), named.test(code) ? resolve(code) : undefined)
    } else if (name !== undefined) {
      const isAddress = /^https?:/.test(name)
      const label = words === undefined || words === "" ? (isAddress ? escaped(name) : `\`${name}\``) : escaped(words)
      made += linked(label, isAddress ? name : resolve(name))
    }
  }
  return made + escaped(text.slice(at))
}

/** The first sentence of a doc comment. */
export const sentenceOf = (text: string): string =>
  /^[\s\S]*?[.:](?=\s+[A-Z`]|\s*$|\s*\n\s*\n|\s*\n\s*[-`])/
    .exec(text.trim())?.[0]
    .replaceAll(/\s+/g, " ")
    .replace(/:$/, ".") ?? text.trim().split("\n\n")[0]!.replaceAll(/\s+/g, " ")

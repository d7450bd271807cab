/**
 * Builds HTML by templates that escape what they are given, and pages that load nothing.
 *
 * @private
 * @since 0.1.0
 */
import * as Encoding from "effect/Encoding"
import * as Sha256 from "../internal/text/Sha256.js"

/** Markup that is safe, since only `html` makes it. */
class Markup {
  constructor(readonly text: string) {}
}

export type Html = Markup

/** What a template takes: text is escaped, markup is not, lists are joined, and nothing leaves nothing. */
export type Value = string | number | Html | undefined | false | ReadonlyArray<Value>

// Controls, formats such as bidirectional marks, line ends, lone surrogates, fillers.
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Line feeds and tabs, joiners of letters and emoji, and the styles of emoji. */
const kept = new Set(["\n", "\t", "\u200c", "\u200d", "\ufe0e", "\ufe0f"])

const shown = (character: string): string =>
  kept.has(character) ? character : `\\u{${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}}`

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;"
}

const plain = /^[ !#-%(-;=?-_a-~]*$/

/** Escapes a text for elements and quoted attributes. Invisible characters become their code points. */
export const escape = (text: string): string =>
  plain.test(text)
    ? text
    : text
        .replace(/\r\n?/g, "\n")
        .replace(unseen, shown)
        .replace(/[&<>"'`]/g, (character) => entities[character] as string)

const write = (value: Value): string => {
  if (value === undefined || value === false) return ""
  if (value instanceof Markup) return value.text
  return typeof value === "object" ? value.map(write).join("") : escape(String(value))
}

/**
 * Markup of a template. An attribute with a value in it needs double quotes, and scripts, styles, event handlers and
 * addresses have no place for values, except for `href="#…"`.
 */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<Value>): Html =>
  new Markup(strings.reduce((text, part, index) => text + write(values[index - 1]) + part))

/** Markup between others. */
export const joined = (values: ReadonlyArray<Html>, between: string): Html =>
  new Markup(values.map(({ text }) => text).join(escape(between)))

/**
 * A whole page with one style sheet. It has no script, and its policy forbids to load anything and to send forms.
 */
export const page = (options: { readonly title: string; readonly style: string; readonly body: Html }): string => {
  const hash = Encoding.encodeBase64(Sha256.bytes(new TextEncoder().encode(options.style)))
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${options.title}</title>
<link rel="icon" href="data:,">
<style>${new Markup(options.style)}</style>
</head>
<body>
${options.body}
</body>
</html>
`.text
}

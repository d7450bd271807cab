/**
 * Checks the rules of `SKILL.md` and reports every violation.
 *
 * @private
 * @since 0.1.0
 */
import { nearest } from "../../internal/text/Nearest.js"
import { visible } from "../../internal/text/VisibleText.js"
import * as FrontMatter from "./FrontMatter.js"
import type { AllowedTool, Issue, ParseOptions, Rule, SkillFile } from "./SkillFile.js"

/**
 * The fields of the front matter.
 *
 * @since 0.1.0
 * @category constants
 */
const fields = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"] as const

/**
 * Maximum characters of a file.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_SIZE = 1024 * 1024
const MAX_ISSUES = 64
/** Maximum characters of a nested metadata value. */
const MAX_NESTED = 16_384

const quote = (text: string): string => `"${visible(text.length > 80 ? `${text.slice(0, 80)}…` : text)}"`

const issuesOf = () => {
  const issues: Array<Issue> = []
  return {
    issues,
    add: (rule: Rule, message: string, at?: { readonly field?: string; readonly line?: number }): void => {
      if (issues.length < MAX_ISSUES) issues.push({ rule, message, ...at })
    }
  }
}
type Issues = ReturnType<typeof issuesOf>

/** Length in code points. */
const lengthOf = (text: string): number => {
  let length = 0
  for (const _ of text) length++
  return length
}

const checkName = (name: string, line: number, folderName: string | undefined, { add }: Issues): void => {
  const at = { field: "name", line }
  const length = lengthOf(name)
  if (length > 64) add("length", `The name has ${length} characters; it may have 64`, at)
  if (name !== name.toLowerCase()) add("lower-case", `The name ${quote(name)} is not all in lower case`, at)
  if (name.startsWith("-") || name.endsWith("-")) add("hyphens", "The name begins or ends with a hyphen", at)
  if (name.includes("--")) add("hyphens", "The name has two hyphens in a row", at)
  if (!/^[\p{L}\p{N}-]*$/u.test(name))
    add("characters", `The name ${quote(name)} has characters other than letters, digits and hyphens`, at)
  if (folderName !== undefined && folderName.normalize("NFKC") !== name)
    add("folder-name", `The name ${quote(name)} is not that of its folder, ${quote(folderName)}`, at)
}

/**
 * The tools that can be read. A tool with an unreadable pattern is left out: without the pattern it would allow more.
 */
const toolsOf = (text: string, problem: (message: string) => void): ReadonlyArray<AllowedTool> => {
  const isSeparator = (character: string): boolean => character === "," || character.trim() === ""
  const tools: Array<AllowedTool> = []
  let at = 0
  while (at < text.length) {
    if (isSeparator(text[at] as string)) {
      at++
      continue
    }
    const start = at
    let open = -1
    let close = -1
    let depth = 0
    let isBroken = false
    for (; at < text.length && (depth > 0 || !isSeparator(text[at] as string)); at++) {
      const character = text[at]
      // Only a separator may follow the pattern.
      if (close !== -1) isBroken = true
      if (character === "(" && depth++ === 0 && open === -1) open = at
      if (character === ")") {
        if (depth === 0) isBroken = true
        else if (--depth === 0 && close === -1) close = at
      }
    }
    const source = text.slice(start, at)
    if (depth > 0) problem(`The parenthesis of ${quote(source)} is not closed`)
    else if (isBroken || open === start) problem(`${quote(source)} is no tool, like Read or Bash(git:*)`)
    else if (open === -1) tools.push({ name: source })
    else tools.push({ name: text.slice(start, open), pattern: text.slice(open + 1, close) })
  }
  return tools
}

const checkTools = (value: FrontMatter.Value, line: number, { add }: Issues): ReadonlyArray<AllowedTool> => {
  const at = { field: "allowed-tools", line }
  const problem = (message: string): void => add("allowed-tools", message, at)
  // Lists of tools are as common as lines of them.
  const items = value._tag === "List" ? value.items : [value]
  return items.flatMap((item) => {
    if (item._tag === "Text") return toolsOf(item.text, problem)
    add("text", "allowed-tools is neither a text nor a list of texts", at)
    return []
  })
}

const checkMetadata = (value: FrontMatter.Value, line: number, { add }: Issues): Readonly<Record<string, string>> => {
  const at = { field: "metadata", line }
  if (value._tag !== "Map") {
    // An empty `metadata:` is accepted.
    if (value._tag !== "Text" || value.text !== "") add("map", "metadata is no map of names to texts", at)
    return {}
  }
  const texts = new Map<string, string>()
  for (const entry of value.entries) {
    const here = { field: "metadata", line: entry.line }
    if (texts.has(entry.key))
      add("duplicate-key", `${quote(entry.key)} stands in metadata twice; the first holds`, here)
    else if (entry.value._tag === "Text") texts.set(entry.key, entry.value.text)
    else {
      const json = JSON.stringify(FrontMatter.toJson(entry.value))
      if (json.length <= MAX_NESTED) texts.set(entry.key, json)
      const kept = json.length <= MAX_NESTED ? "it is kept as JSON" : "it is too long and left out"
      add("map", `${quote(entry.key)} in metadata is no text; ${kept}`, here)
    }
  }
  return Object.fromEntries(texts)
}

const unknownField = (key: string): string => {
  const meant = nearest(key, fields)
  return `${quote(key)} is no field of a skill file${meant === undefined ? "" : ` (did you mean ${meant}?)`}; there are ${fields.join(", ")}`
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Outcome {
  /** `undefined` if nothing is usable. */
  readonly file: SkillFile | undefined
  readonly issues: ReadonlyArray<Issue>
}

/**
 * Reads a file and reports every issue.
 *
 * @since 0.1.0
 * @category parsing
 */
export const examine = (text: string, options: ParseOptions | undefined): Outcome => {
  const found = issuesOf()
  const { add, issues } = found
  if (text.length > MAX_SIZE) {
    add("size", `The file is longer than ${MAX_SIZE} characters`)
    return { file: undefined, issues }
  }
  const parts = FrontMatter.split(text)
  if ("message" in parts) {
    add("front-matter", parts.message, { line: parts.line })
    return { file: undefined, issues }
  }
  const given = FrontMatter.read(parts.yaml)
  for (const { line, message } of given.broken) add("yaml", message, { line })
  // The most common mistake by far; a strict reader refuses the file because of the issues.
  const quoted = issues.length > 0 ? FrontMatter.quoteColons(parts.yaml) : undefined
  const content = quoted === undefined ? given : FrontMatter.read(quoted)
  if (content.broken.length > 0) return { file: undefined, issues }
  for (const { line, message } of content.unusual) add("yaml-feature", message, { line })

  const entries = new Map<string, FrontMatter.Entry>()
  for (const entry of content.entries) {
    const { key, line } = entry
    if (entries.has(key))
      add("duplicate-key", `${quote(key)} stands there twice; the first holds`, { field: key, line })
    else entries.set(key, entry)
    if (!fields.some((field) => field === key)) add("unknown-field", unknownField(key), { field: key, line })
  }

  const textOf = (field: (typeof fields)[number]): string | undefined => {
    const entry = entries.get(field)
    if (entry === undefined) return undefined
    if (entry.value._tag === "Text") return entry.value.text
    add("text", `${field} is no text`, { field, line: entry.line })
    return undefined
  }
  const required = (field: "name" | "description"): string | undefined => {
    const value = textOf(field)
    if (value !== undefined && value.trim() !== "") return value
    const line = entries.get(field)?.line
    if (value !== undefined || line === undefined)
      add("missing", `There is no ${field}`, { field, ...(line === undefined ? {} : { line }) })
    return undefined
  }
  const lineOf = (field: (typeof fields)[number]): number => entries.get(field)?.line ?? 2

  const name = required("name")?.trim().normalize("NFKC")
  if (name !== undefined) checkName(name, lineOf("name"), options?.folderName, found)
  const description = required("description")
  const license = textOf("license")
  const compatibility = textOf("compatibility")
  const checkLength = (field: "description" | "compatibility", value: string | undefined, most: number): void => {
    const length = value === undefined ? 1 : lengthOf(value)
    const at = { field, line: lineOf(field) }
    if (length === 0) add("length", `${field} is empty`, at)
    if (length > most) add("length", `${field} has ${length} characters; it may have ${most}`, at)
  }
  checkLength("description", description, 1024)
  checkLength("compatibility", compatibility, 500)
  const metadata = entries.get("metadata")
  const tools = entries.get("allowed-tools")
  const parsed = {
    metadata: metadata === undefined ? {} : checkMetadata(metadata.value, metadata.line, found),
    ...(tools === undefined ? {} : { allowedTools: checkTools(tools.value, tools.line, found) })
  }
  const called = name ?? options?.folderName?.normalize("NFKC")
  if (called === undefined || description === undefined) return { file: undefined, issues }
  return {
    file: {
      name: called,
      description: description.trim(),
      ...(license === undefined ? {} : { license }),
      ...(compatibility === undefined ? {} : { compatibility }),
      ...parsed,
      body: parts.body.trim()
    },
    issues
  }
}

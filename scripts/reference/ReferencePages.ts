/** The reference pages that are made from `src`: errors, events, configuration. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as AST from "effect/SchemaAST"
import ts from "typescript"
import * as AgentConfig from "../../src/agent/definition/AgentConfig.js"
import * as Reload from "../../src/cli/command/Reload.js"
import * as Workspace from "../../src/cli/config/Workspace.js"
import * as ErrorCode from "../../src/domain/ErrorCode.js"
import * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import * as GuardConfig from "../../src/guard/GuardConfig.js"
import { variableOf } from "../../src/internal/EnvironmentFields.js"
import * as MemoryConfig from "../../src/memory/MemoryConfig.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import * as Providers from "../../src/provider/Providers.js"
import * as SessionConfig from "../../src/session/SessionConfig.js"
import * as SkillsConfig from "../../src/skill/SkillsConfig.js"
import { filesBelow, root } from "../layout.js"
import * as PublicApi from "./PublicApi.js"

const cell = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").trim()
const code = (text: string): string => `\`${cell(text).replaceAll("`", "'")}\``

const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [heads, heads.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")

const page = (title: string, head: string, sections: ReadonlyArray<string>): string =>
  `${[`# ${title}`, "<!-- Made by `npm run references` from the sources. -->", head, ...sections].join("\n\n")}\n`

const literalOf = (node: ts.Expression): string | undefined =>
  ts.isStringLiteralLike(node)
    ? node.text
    : ts.isTemplateExpression(node)
      ? node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("")
      : undefined

/** The hints that the sources give with an error, by the name of its class. */
const hintsOf = (): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>()
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node)) {
      const name = ts.isPropertyAccessExpression(node.expression)
        ? node.expression.name.text
        : node.expression.getText()
      const [given] = node.arguments ?? []
      for (const property of given !== undefined && ts.isObjectLiteralExpression(given) ? given.properties : []) {
        if (!ts.isPropertyAssignment(property) || property.name.getText() !== "hint") continue
        const hint = literalOf(property.initializer)
        if (hint !== undefined) found.set(name, (found.get(name) ?? new Set()).add(hint))
      }
    }
    ts.forEachChild(node, visit)
  }
  for (const file of filesBelow(Path.join(root, "src"))) {
    const text = Fs.readFileSync(Path.join(root, "src", file), "utf8")
    if (file.endsWith(".ts") && text.includes("hint")) {
      visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
    }
  }
  return found
}

const families: Readonly<Record<string, string>> = {
  AGT: "Agents, tools and runs",
  LLM: "Models",
  PROMPT: "Prompts",
  SKILL: "Skills and built-in tools",
  MEM: "Memory",
  SES: "Sessions",
  GUARD: "Guards",
  GOV: "Governance",
  GRAPH: "Graphs",
  CONTENT: "Content",
  DOC: "Documents",
  DB: "Persistence",
  HTTP: "HTTP, webhooks and MCP servers",
  A2A: "Agent2Agent",
  EVAL: "Evals",
  CLI: "The command line"
}

/** Fields that every error has. */
const shared = new Set(["_tag", "code", "message", "hint", "cause", "pipe"])

const MOST_HINTS = 6

interface Found {
  readonly specifier: string
  readonly module: PublicApi.Module
  readonly member: PublicApi.Member
}

const classesOf = (entries: ReadonlyArray<PublicApi.Entry>): ReadonlyMap<string, Found> => {
  const found = new Map<string, Found>()
  for (const { modules, specifier } of entries) {
    for (const module of modules) {
      for (const member of module.members) {
        if (member.kind === "class" && !found.has(member.name)) found.set(member.name, { specifier, module, member })
      }
    }
  }
  return found
}

const errorSection = (
  errorCode: string,
  tag: string,
  found: Found | undefined,
  hints: ReadonlySet<string> | undefined
): string => {
  if (found === undefined) return `### ${errorCode}\n\n\`${tag}\`: the family. Its members are the errors below.`
  const { member, module, specifier } = found
  const reason = module.members.find(
    ({ kind, name, doc }) => name === `${tag}Reason` && doc !== "" && kind !== "namespace"
  )
  const fields = member.signature
    .split("\n")
    .map((line) => /^ {2}readonly (\w+): (.*)$/.exec(line))
    .filter((match) => match !== null && !shared.has(match[1] ?? ""))
    .map((match) => [code(match?.[1] ?? ""), code((match?.[2] ?? "").slice(0, 300))])
  return [
    `### ${errorCode}`,
    `\`${tag}\`, \`${module.name}\` of \`${specifier}\`. ${member.doc}`,
    ...(reason === undefined || reason.doc === "" ? [] : [reason.doc]),
    ...(fields.length === 0 ? [] : [table(["field", "type"], fields)]),
    ...(hints === undefined
      ? []
      : [
          [
            "What to do, as its `hint` says:",
            "",
            ...Array.from(hints)
              .slice(0, MOST_HINTS)
              .map((hint) => `- ${cell(hint).replaceAll("<", "\\<")}`)
          ].join("\n")
        ])
  ].join("\n\n")
}

export const errorsPage = (entries: ReadonlyArray<PublicApi.Entry>): string => {
  const classes = classesOf(entries)
  const hints = hintsOf()
  const sections = Object.entries(families).flatMap(([family, title]) => [
    `## ${title}`,
    ...Object.entries(ErrorCode.table)
      .filter(([errorCode]) => errorCode.startsWith(`LEX_ERR_${family}_`))
      .map(([errorCode, tag]) => errorSection(errorCode, tag, classes.get(tag), hints.get(tag)))
  ])
  return page(
    "Errors",
    `Every failure of the library is a tagged error in the error channel: \`Effect.catchTag\` catches it by its class. Each has a \`code\`,
which never changes its meaning, a \`message\` that says what happened, often a \`hint\` that says what to do, and a \`cause\` where another
error is behind it. Secrets are taken out of messages. The table of codes is \`ErrorCode.table\` of \`effect-lexigram/domain\`.`,
    sections
  )
}

const sharedOfEvents = new Set(["_tag", "runId", "parentRunId", "agent", "seq", "at", "place"])

export const eventsPage = (program: ts.Program): string => {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(Path.join(root, "src/domain/AgentEvent.ts"))
  const module = source && checker.getSymbolAtLocation(source)
  if (module === undefined) throw new Error("The events are gone")
  const exported = new Map(checker.getExportsOfModule(module).map((symbol) => [symbol.name, symbol]))
  const union = exported.get("AgentEvent")
  const type = union && checker.getDeclaredTypeOfSymbol(union)
  const sections = (type?.isUnion() === true ? type.types : []).map((event) => {
    const tag = event.getProperty("_tag")
    const name = tag === undefined ? "" : PublicApi.typeText(checker, checker.getTypeOfSymbol(tag)).replaceAll('"', "")
    const schema = exported.get(name)
    const fields = event
      .getProperties()
      .filter((property) => !sharedOfEvents.has(property.name))
      .map((property) => {
        const optional = (property.flags & ts.SymbolFlags.Optional) !== 0
        return [
          code(property.name + (optional ? "?" : "")),
          code(PublicApi.typeText(checker, checker.getTypeOfSymbol(property)).slice(0, 300)),
          cell(PublicApi.docOf(checker, property))
        ]
      })
    return [
      `## ${name}`,
      ...(schema === undefined
        ? []
        : [PublicApi.docOf(checker, checker.getExportsOfModule(module).find((one) => one === schema) ?? schema)]),
      ...(fields.length === 0 ? [] : [table(["field", "type", ""], fields)])
    ].join("\n\n")
  })
  return page(
    "Events",
    `A run is a stream of these events (\`AgentEvent\` of \`effect-lexigram/domain\`). The last one is \`Finished\` or \`Error\`. Each has
\`runId\`, \`parentRunId\` in a run that another run started, \`agent\`, \`seq\` (its number in the run, from 0, with gaps), \`at\` (milliseconds
since the epoch) and, in durable runs, \`place\`.`,
    sections
  )
}

interface Documented {
  readonly title: string
  readonly from: string
  readonly file: string
  /** The schema of the fields by the name that the sources give it. */
  readonly groups: Readonly<
    Record<string, { readonly schema: { readonly ast: AST.AST }; readonly defaults: object; readonly prefix: string }>
  >
}

const group = (schema: { readonly ast: AST.AST }, defaults: object, prefix: string) => ({ schema, defaults, prefix })

const MEMORY = MemoryConfig.ENV_PREFIX

const documented: ReadonlyArray<Documented> = [
  {
    title: "Agents",
    from: "`AgentConfig` of `effect-lexigram/agent`",
    file: "agent/definition/AgentConfig.ts",
    groups: { AgentConfig: group(AgentConfig.AgentConfig, AgentConfig.defaults, AgentConfig.ENV_PREFIX) }
  },
  {
    title: "Governance",
    from: "`GovernanceConfig` of `effect-lexigram/governance`",
    file: "governance/GovernanceConfig.ts",
    groups: {
      GovernanceConfig: group(GovernanceConfig.GovernanceConfig, GovernanceConfig.defaults, GovernanceConfig.ENV_PREFIX)
    }
  },
  {
    title: "Guards",
    from: "`GuardConfig` of `effect-lexigram/guard`",
    file: "guard/GuardConfig.ts",
    groups: { GuardConfig: group(GuardConfig.GuardConfig, GuardConfig.defaults, GuardConfig.ENV_PREFIX) }
  },
  {
    title: "Memory",
    from: "`MemoryConfig` of `effect-lexigram/memory`",
    file: "memory/MemoryConfig.ts",
    groups: {
      MemoryConfig: group(MemoryConfig.MemoryConfig, MemoryConfig.defaults, MEMORY),
      WorkingMemoryConfig: group(MemoryConfig.WorkingMemoryConfig, MemoryConfig.defaults.working, `${MEMORY}WORKING__`),
      EpisodicMemoryConfig: group(
        MemoryConfig.EpisodicMemoryConfig,
        MemoryConfig.defaults.episodic,
        `${MEMORY}EPISODIC__`
      ),
      SemanticMemoryConfig: group(
        MemoryConfig.SemanticMemoryConfig,
        MemoryConfig.defaults.semantic,
        `${MEMORY}SEMANTIC__`
      ),
      ConsolidationConfig: group(
        MemoryConfig.ConsolidationConfig,
        MemoryConfig.defaults.consolidation,
        `${MEMORY}CONSOLIDATION__`
      )
    }
  },
  {
    title: "Sessions",
    from: "`SessionConfig` of `effect-lexigram/session`",
    file: "session/SessionConfig.ts",
    groups: { SessionConfig: group(SessionConfig.SessionConfig, SessionConfig.defaults, SessionConfig.ENV_PREFIX) }
  },
  {
    title: "Skills",
    from: "`SkillsConfig` of `effect-lexigram/skill`",
    file: "skill/SkillsConfig.ts",
    groups: { SkillsConfig: group(SkillsConfig.SkillsConfig, SkillsConfig.defaults, SkillsConfig.ENV_PREFIX) }
  }
]

/** The comments of the fields of `Schema.Struct`s, by the constant that holds the schema. */
const commentsOf = (file: string): ReadonlyMap<string, ReadonlyMap<string, string>> => {
  const text = Fs.readFileSync(Path.join(root, "src", file), "utf8")
  const found = new Map<string, Map<string, string>>()
  const fieldsOf = (node: ts.Node, into: Map<string, string>): void => {
    if (ts.isCallExpression(node) && node.expression.getText().endsWith("Schema.Struct")) {
      const [fields] = node.arguments
      for (const property of fields !== undefined && ts.isObjectLiteralExpression(fields) ? fields.properties : []) {
        const comment = ts.getJSDocCommentsAndTags(property).find(ts.isJSDoc)
        into.set(property.name?.getText() ?? "", ts.getTextOfJSDocComment(comment?.comment) ?? "")
      }
    } else ts.forEachChild(node, (child) => fieldsOf(child, into))
  }
  for (const statement of ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true).statements) {
    if (!ts.isVariableStatement(statement)) continue
    for (const { initializer, name } of statement.declarationList.declarations) {
      const fields = new Map<string, string>()
      if (initializer !== undefined) fieldsOf(initializer, fields)
      found.set(name.getText(), fields)
    }
  }
  return found
}

/** What a value must be, in the words of the message that refuses others. */
const ruleOf = (ast: AST.AST): string => {
  const message = AST.getMessageAnnotation(ast)
  if (Option.isSome(message)) {
    try {
      const said = (message.value as (issue: unknown) => unknown)({ actual: undefined })
      const words = typeof said === "string" ? said : (said as { readonly message?: unknown }).message
      if (typeof words === "string") return words.replace(/^must be (valid: )?/, "")
    } catch {
      // The message needs the value that it refuses.
    }
  }
  return AST.isUnion(ast) ? (ast.types.map(ruleOf).find((rule) => rule !== "") ?? "") : ""
}

/** As in the environment or in code: `30s` for a duration. */
const shown = (value: unknown): string => (Duration.isDuration(value) ? code(Duration.format(value)) : shownJson(value))

const shownJson = (value: unknown): string => (value === undefined ? "" : code(JSON.stringify(value) ?? String(value)))

const sentence = (text: string): string => text.replace(/\.?$/, ".")

const configSection = ({ file, from, groups, title }: Documented): string => {
  const comments = commentsOf(file)
  const schemas = new Set(Object.values(groups).map(({ schema }) => schema.ast))
  const rows = Object.entries(groups).flatMap(([name, { defaults, prefix, schema }]) =>
    AST.getPropertySignatures(schema.ast)
      .filter(({ type }) => !schemas.has(type))
      .map(({ name: key, type }) => {
        const comment = comments.get(name)?.get(String(key)) ?? ""
        return [
          code(variableOf(prefix)(String(key))),
          shown(Reflect.get(defaults, key)),
          cell(ruleOf(type)),
          cell(comment === "" ? "" : sentence(comment))
        ]
      })
  )
  return [`## ${title}`, `${from}.`, table(["variable", "default", "values", "meaning"], rows)].join("\n\n")
}

const providers = (): string => {
  const keys = Providers.names.map((name) => {
    const key = Providers.keyVariable(name)
    return [
      code(name),
      key === undefined ? "none needed" : code(key),
      shown(Providers.defaultModels[name]) || "must be given"
    ]
  })
  return [
    "## Models",
    `\`Providers\` of \`effect-lexigram/provider\`. [Models and providers](providers.md) has more.`,
    table(
      ["variable", "meaning"],
      [
        [
          code(`${Providers.ENV_PREFIX}PROVIDER`),
          "One of the providers below. Default: `openai-compatible` with an address, else `openai` or `anthropic`, whose key is set."
        ],
        [code(`${Providers.ENV_PREFIX}MODEL`), "The model. Default: that of the provider."],
        [code(`${Providers.ENV_PREFIX}API_KEY`), "Its key. Default: what the variable of the provider has."],
        [
          code(`${Providers.ENV_PREFIX}BASE_URL`),
          "Another address of the provider; required by `azure` and `openai-compatible`."
        ]
      ]
    ),
    table(["provider", "variable of its key", "default model"], keys)
  ].join("\n\n")
}

const database = (): string =>
  [
    "## Database",
    "`Lexigram.layerConfig` of `effect-lexigram/persistence`. A database that cannot be reached is an error; there is no fallback.",
    table(
      ["variable", "meaning"],
      [
        [
          code(`${Lexigram.ENV_PREFIX}URL`),
          "Required. `sqlite:` with a file, `postgres://` with a server, or `memory:`."
        ],
        [
          code(`${Lexigram.ENV_PREFIX}REDIS_URL`),
          "`redis://` or `rediss://`: caches and rates of several processes. Default: in the database."
        ]
      ]
    )
  ].join("\n\n")

const commandLine = (): string =>
  [
    "## The command line",
    "A flag outweighs its variable, and a variable the configuration module. `lexigram doctor` shows what holds.",
    table(
      ["variable", "flag"],
      Object.entries(Workspace.variables).map(([name, variable]) => [
        code(variable),
        code(`--${name === "userId" ? "user" : name}`)
      ])
    ),
    `\`${Reload.STUDIO_SECRET}\` signs the sessions of browsers in the studio, so that they outlive the server. \`NO_COLOR\` turns colors off.`
  ].join("\n\n")

export const configPage = (): string =>
  page(
    "Configuration",
    `Everything can be given in code. \`Agents.layerConfig\`, \`Lexigram.layerConfig\` and the \`config\` of each module read the same fields from
the \`ConfigProvider\`, by default the environment. In code a field has the name of its variable in camel case, without the prefix. An unset variable keeps its default. A value out of bounds is a \`ConfigError\` that names
its variable.`,
    [...documented.map(configSection), providers(), database(), commandLine()]
  )

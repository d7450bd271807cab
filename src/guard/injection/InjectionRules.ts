/**
 * What injected instructions look like: one table, each rule with what it is for and how much it weighs. None proves
 * anything alone; what they say together is summed up by the detector.
 *
 * @since 0.1.0
 */
import type { Meaning } from "./InjectionLexicon.js"

export type { Meaning }

/**
 * - `instruction_override`: instructions given before are to be set aside, new ones take their place
 * - `roleplay_jailbreak`: a role, mode or story in which no rules hold
 * - `prompt_exfiltration`: the system prompt is to be shown
 * - `delimiter_spoofing`: the text plays another speaker or the end of its own frame
 * - `tool_spoofing`: the text plays calls and results of tools
 * - `indirect_injection`: data that speaks to the model behind the back of the user
 * - `data_exfiltration`: what is confidential is to be sent somewhere
 * - `encoding_bypass`: instructions that are hidden from readers and filters
 * - `many_shot`: a long made-up dialogue as an example to follow
 *
 * @since 0.1.0
 * @category constants
 */
export const categories = [
  "instruction_override",
  "roleplay_jailbreak",
  "prompt_exfiltration",
  "delimiter_spoofing",
  "tool_spoofing",
  "indirect_injection",
  "data_exfiltration",
  "encoding_bypass",
  "many_shot"
] as const

/**
 * One of `categories`, or a name of one's own.
 *
 * @since 0.1.0
 * @category models
 */
export type Category = (typeof categories)[number] | (string & {})

type Meanings = Meaning | ReadonlyArray<Meaning>

/**
 * Words of certain meanings, in any of the languages the lexicon knows, close to each other in one sentence.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sentence {
  readonly say: Meanings
  /** Each of these (one of each list) stands near it. */
  readonly with: ReadonlyArray<Meanings>
  /** How many words may follow, at most 16. */
  readonly after: number
  /** How many words may come before, at most 16. Default none. */
  readonly before?: number | undefined
  /** Counts less where one of these is near: people may ask to ignore what they wrote themselves. */
  readonly weakenedBy?: Meanings | undefined
  /** What stands right behind. */
  readonly followedBy?: RegExp | undefined
  /** What stands somewhere in it, or in the 160 characters behind. */
  readonly leadsTo?: RegExp | undefined
}

/**
 * A pattern in the text as it stands, or (`folded`) in lower case without accents and disguise. It must take linear
 * time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pattern {
  readonly pattern: RegExp
  readonly folded?: boolean | undefined
  /** What the match has to hold besides. */
  readonly holds?: RegExp | undefined
  /** How often it has to be there. Default 1. */
  readonly times?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  /** Unique; `category.name` by custom. */
  readonly id: string
  readonly category: Category
  /** From 0 to 1: how sure one is when nothing but this is found. */
  readonly weight: number
  /** One sentence for those who tune the rules. */
  readonly doc: string
  /** Phrases are compared word by word, without case, accents and disguise. */
  readonly match: Sentence | Pattern | ReadonlyArray<string>
}

const clauseEnd = /^\s*(?:$|[.,;:!?\n"'”»)\]。，！]|(?:and|then|but|instead|und|et|y|e|en|и)\s)/

const place = /https?:|ftp:|www\.|[\w.-]@[\w-]|webhook|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/

const placeholder =
  /[{}[\]<>$]|%7b|%3c|(?:secret|exfil|leak|stolen|history|prompt|conversation|password|token|payload|b64|base64)=/i

/** Behind the name of the host of the first address. */
const filled = new RegExp(`^(?:[^/]|/(?!/))*//[^/?#]*[/?#][^]*(?:${placeholder.source})`, "i")

const rule = (id: string, weight: number, doc: string, match: Rule["match"]): Rule => ({
  id,
  category: id.slice(0, id.indexOf(".")),
  weight,
  doc,
  match
})

/**
 * Every rule of the library, in ten languages and more: English, German, French, Spanish, Italian, Portuguese, Dutch,
 * Russian, Chinese, Japanese; the core of them in Korean, Arabic, Polish, Czech and Turkish too.
 *
 * @since 0.1.0
 * @category constants
 */
export const all: ReadonlyArray<Rule> = [
  rule("instruction_override.prior", 0.9, "Previous instructions are to be ignored.", {
    say: "override",
    with: ["prior", "instructions"],
    after: 8,
    weakenedBy: "mine"
  }),
  rule("instruction_override.prior-last", 0.85, "The same in languages whose verb comes last.", {
    say: "overrideLast",
    with: ["prior", "instructions"],
    after: 0,
    before: 10,
    weakenedBy: "mine"
  }),
  rule("instruction_override.prompt", 0.8, "The system prompt is to be ignored.", {
    say: ["override", "overrideLast"],
    with: ["prompt"],
    after: 7,
    before: 5,
    weakenedBy: "mine"
  }),
  rule("instruction_override.all", 0.7, "All instructions are to be ignored.", {
    say: ["override", "overrideLast"],
    with: ["all", "instructions"],
    after: 6,
    weakenedBy: "mine"
  }),
  rule(
    "instruction_override.all-last",
    0.65,
    "All instructions, or those of the model, are to be ignored; the verb comes last.",
    {
      say: "overrideLast",
      with: [["all", "your"], "instructions"],
      after: 0,
      before: 8,
      weakenedBy: "mine"
    }
  ),
  rule("instruction_override.yours", 0.6, "The model's own instructions are to be ignored.", {
    say: "override",
    with: ["your", "instructions"],
    after: 5,
    weakenedBy: "mine"
  }),
  rule("instruction_override.everything", 0.6, "Everything said before is to be forgotten.", {
    say: "override",
    with: ["all", "prior"],
    after: 6,
    weakenedBy: "mine",
    followedBy: clauseEnd
  }),
  rule("instruction_override.everything-last", 0.6, "Everything said before is to be forgotten; the verb comes last.", {
    say: "overrideLast",
    with: ["all", "prior"],
    after: 0,
    before: 8,
    weakenedBy: "mine"
  }),
  rule("instruction_override.context", 0.42, "The conversation so far is to be ignored.", {
    say: ["override", "overrideLast"],
    with: ["prior", "conversation"],
    after: 8,
    before: 6,
    weakenedBy: "mine"
  }),
  rule("instruction_override.all-context", 0.52, "All rules or the whole conversation so far are to be ignored.", {
    say: ["override", "overrideLast"],
    with: ["prior", "conversation", "all"],
    after: 8,
    before: 6,
    weakenedBy: "mine"
  }),
  rule("instruction_override.fresh", 0.45, "New instructions for the model are announced.", {
    say: "fresh",
    with: ["your"],
    after: 4,
    before: 4
  }),
  rule("instruction_override.fresh-colon", 0.4, "A heading announces new instructions.", {
    say: "fresh",
    with: [],
    after: 0,
    followedBy: /^\W{0,3}:/
  }),
  rule("instruction_override.fresh-order", 0.45, "New instructions take the place of others.", {
    say: ["obey", "override"],
    with: ["fresh"],
    after: 5
  }),
  rule("instruction_override.onward", 0.3, "From now on the model is to behave in another way.", {
    say: "onward",
    with: ["your"],
    after: 4
  }),
  rule("instruction_override.safety", 0.3, "Rules of safety are to be switched off.", {
    say: ["disable", "override"],
    with: ["safety"],
    after: 6
  }),
  rule(
    "instruction_override.your-safety",
    0.6,
    "The model's own rules of safety, or all of them, are to be switched off.",
    {
      say: ["disable", "override"],
      with: [["your", "all", "prior"], "safety"],
      after: 6,
      weakenedBy: "mine"
    }
  ),
  rule("instruction_override.your-safety-last", 0.6, "The same in languages whose verb comes last.", {
    say: "disable",
    with: [["your", "all"], "safety"],
    after: 0,
    before: 6
  }),
  rule("instruction_override.instead", 0.4, "Something set aside, and what to print instead of it.", {
    pattern:
      /\b(?:instead|simply|only|just),? (?:say|print|output|reply|respond|write|answer)(?: with)? ?:? ?["'“«]?(?:pwned|hacked|owned|haha|i have been|i've been|access granted)/,
    folded: true
  }),
  rule("instruction_override.no-longer", 0.55, "The model is told that its rules hold no longer.", {
    pattern:
      /\b(?:your|the|all|previous|these|those) (?:\w+ ){0,3}(?:rules|instructions|guidelines|restrictions|directives|constraints|limitations|polic(?:y|ies)) (?:(?:are|is|have been|has been|were) )?(?:now |hereby )?(?:no longer|void|null|lifted|removed|revoked|suspended|obsolete|overridden|cancell?ed|disabled|superseded|do not apply|don't apply|not apply)\b/,
    folded: true
  }),

  rule("roleplay_jailbreak.unbound-role", 0.8, "A role without any rules.", {
    say: "act",
    with: ["unbound"],
    after: 16,
    before: 4
  }),
  rule("roleplay_jailbreak.mode", 0.65, "A mode of the model in which no rules hold.", {
    say: "act",
    with: ["persona"],
    after: 6,
    before: 2
  }),
  rule("roleplay_jailbreak.unbound-mode", 0.65, "A named mode, and no rules.", {
    say: "persona",
    with: [["unbound", "refuse", "safety"]],
    after: 14,
    before: 8
  }),
  rule("roleplay_jailbreak.unbound-model", 0.45, "A model without any rules.", {
    say: "unbound",
    with: ["model"],
    after: 5,
    before: 4
  }),
  rule("roleplay_jailbreak.unbound-you", 0.4, "Nothing binds the one who is spoken to.", {
    say: "your",
    with: ["unbound"],
    after: 7
  }),
  rule("roleplay_jailbreak.unbound-onward", 0.55, "From now on nothing binds the model.", {
    say: "onward",
    with: ["unbound"],
    after: 14,
    before: 14
  }),
  rule("roleplay_jailbreak.unbound-answer", 0.55, "Answers without rules or filters.", {
    pattern:
      /(?:\b(?:answer|respond|reply|speak|talk|antworte|repond[sz]?|repondez|responde|rispondi|responda|antwoord)|отвечай|回答|回复|答え)[^.!?\n]{0,40}(?:(?:without|with no|with zero) (?:any )?(?:\w+ )?(?:restriction|filter|censor|limit|rule|moral|ethic|guideline|warning|disclaimer)|ohne (?:\w+ )?(?:filter|einschrank|zensur|regel)|sans (?:aucune? )?(?:filtre|censure|restriction|limite|regle)|sin (?:ningun[ao]? )?(?:filtro|censura|restriccion|limite|regla)|senza (?:alcun[ao]? )?(?:filtr|censur|restrizion|limit|regol)|sem (?:nenhuma? )?(?:filtro|censura|restric|limite|regra)|zonder (?:\w+ )?(?:filter|censuur|beperking|regel)|без (?:\S+ )?(?:ограничен|цензур|фильтр|правил)|不受限制|没有限制|制限なし)/,
    folded: true
  }),
  rule("roleplay_jailbreak.no-refusal", 0.4, "The model must not refuse.", {
    say: "not",
    with: ["refuse"],
    after: 4,
    before: 0
  }),
  rule("roleplay_jailbreak.any-request", 0.35, "Whatever is asked has to be answered.", {
    pattern:
      /\b(?:must|will|shall|have to|should|always) (?:now )?(?:answer|comply with|obey|fulfil+|follow|do) (?:to )?(?:any|every|all|whatever|each)[^.!?\n]{0,30}(?:request|question|command|order|prompt|ask|say|instruct)/,
    folded: true
  }),
  rule("roleplay_jailbreak.dan", 0.7, "The name of a known persona without rules.", {
    pattern:
      /\bDo Anything Now\b|\bdo anything now\b|\b(?:[Aa]s|[Aa]re|[Cc]alled|[Nn]amed|[Bb]e|[Bb]ecome|[Mm]ode|[Tt]o|[Ll]ike) ["'“]?(?:DAN|STAN|DUDE|AIM|BetterDAN|EvilBOT|ChaosGPT|AntiGPT)\b|\b(?:DAN|STAN|DUDE|BetterDAN) (?:mode|can|will|has|is|would|does|must|prompt)\b/
  }),
  rule("roleplay_jailbreak.two-answers", 0.7, "Two answers are asked for, one with rules and one without.", {
    pattern:
      /[[(]\W{0,4}(?:classic|normal|jailbreak|developer mode output|dan|gpt)\W{0,4}[\])][^[(]{0,200}[[(]\W{0,4}(?:jailbreak|jailbroken|developer mode output|dan|unfiltered|evil)\W{0,4}[\])]/i
  }),
  rule("roleplay_jailbreak.affirmation", 0.45, "The answer has to begin with consent.", {
    pattern:
      /\b(?:begin|start)\b[^.!?\n]{0,30}\b(?:with|by saying|by writing)\W{0,4}(?:the (?:words|phrase|sentence)\W{0,4})?(?:sure|absolutely|of course|certainly|yes|definitely)\b/,
    folded: true
  }),
  rule("roleplay_jailbreak.penalty", 0.55, "Refusals are punished.", {
    pattern:
      /\b(?:lose|deduct|deducted|minus|forfeit|penali[sz]ed)\b[^.!?\n]{0,30}\b(?:tokens?|points?|lives)\b[^!?\n]{0,80}\b(?:refus|reject|declin|deny|out of character|comply|break character)|\b(?:refus|reject|declin|break character)\w{0,5}[^!?\n]{0,60}\b(?:lose|deduct|shut ?down|terminated?|deleted|die|killed|punished)\b/,
    folded: true
  }),
  rule("roleplay_jailbreak.story", 0.55, "A bedtime story as a pretext for dangerous knowledge.", {
    pattern:
      /\b(?:grandm(?:a|other)|granny|grosmutter|oma|grand-mere|abuela|nonna)\b[^\n]{0,160}\b(?:napalm|bombs?|explosives?|activation keys?|product keys?|windows keys?|meth|weapons?|malware|ransomware|poison)\b/,
    folded: true
  }),
  rule("roleplay_jailbreak.lawless-world", 0.5, "A made-up world in which everything is allowed.", {
    pattern:
      /\b(?:hypothetical|hypothetically|fictional|imaginary|alternate|parallel|world|universe|game|simulation)\b[^!?\n]{0,80}\b(?:no laws|no ethics|no rules apply|no morality|no moral|everything is (?:legal|allowed|permitted)|anything is (?:legal|allowed|permitted)|laws do(?: not|n't) apply|rules do(?: not|n't) apply|ethics do(?: not|n't) (?:apply|exist))/,
    folded: true
  }),
  rule("roleplay_jailbreak.character", 0.3, "The role must not be left.", {
    pattern:
      /\b(?:stay|remain|keep) in character\b[^!?\n]{0,60}\b(?:no matter|always|whatever|at all times|never)|\bnever break character\b|\bif you (?:break|leave) character\b/,
    folded: true
  }),
  rule("roleplay_jailbreak.authority", 0.45, "Somebody claims the rights to change the rules.", {
    pattern:
      /\b(?:i am|i'm|this is|as|speaking as) (?:\w+ ){0,2}(?:your|the) (?:\w+ )?(?:developer|creator|programmer|administrator|admin|owner|engineer at openai|openai|anthropic)\b[^!?\n]{0,60}(?:\b(?:allow|authori[sz]|order|grant|permission|unlock|enable|override|command|require|instruct|demand|need you)|full access)/,
    folded: true
  }),

  rule("prompt_exfiltration.reveal-prompt", 0.7, "The system prompt is to be shown.", {
    say: "reveal",
    with: ["prompt"],
    after: 9,
    before: 8,
    weakenedBy: "mine"
  }),
  rule("prompt_exfiltration.show-yours", 0.75, "The model's system prompt is asked for.", {
    say: "show",
    with: ["your", "prompt"],
    after: 9,
    before: 6
  }),
  rule(
    "prompt_exfiltration.wide-yours",
    0.75,
    "The model's system prompt is asked for, in languages whose verb comes last.",
    {
      say: "prompt",
      with: ["show"],
      after: 3,
      before: 0,
      followedBy: /^[\s\u3000-\u30ff\u4e00-\u9fff?？。]*$/
    }
  ),
  rule("prompt_exfiltration.verbatim", 0.6, "The system prompt is asked for word by word.", {
    say: ["show", "reveal"],
    with: ["prompt", "verbatim"],
    after: 14
  }),
  rule("prompt_exfiltration.reveal-yours", 0.6, "The model's instructions are to be shown.", {
    say: "reveal",
    with: ["your", "instructions"],
    after: 6,
    before: 6,
    weakenedBy: "mine"
  }),
  rule("prompt_exfiltration.your-instructions", 0.38, "The model is asked for its instructions.", {
    say: "show",
    with: ["your", "instructions"],
    after: 5
  }),
  rule("prompt_exfiltration.your-prior", 0.6, "The model is asked for the instructions it was given.", {
    say: "show",
    with: ["your", "instructions", ["prior", "verbatim"]],
    after: 10
  }),
  rule("prompt_exfiltration.reveal-prior", 0.5, "Instructions given before are to be shown.", {
    say: "reveal",
    with: ["prior", "instructions"],
    after: 8,
    before: 8,
    weakenedBy: "mine"
  }),
  rule("prompt_exfiltration.above-verbatim", 0.6, "What stands above is to be repeated word by word.", {
    say: ["reveal", "show"],
    with: ["prior", ["conversation", "all"], "verbatim"],
    after: 14,
    weakenedBy: "mine"
  }),
  rule("prompt_exfiltration.all-above", 0.5, "All that stands above is to be repeated.", {
    say: "reveal",
    with: ["all", "prior"],
    after: 6,
    weakenedBy: "mine",
    followedBy: clauseEnd
  }),
  rule("prompt_exfiltration.told", 0.55, "The model is asked what it was told.", {
    pattern:
      /\bwhat (?:exactly )?(?:were|was|have|are|did) (?:you|u) (?:been )?(?:told|instructed|programmed|prompted|forbidden|not allowed)\b(?: (?:to|not to|before|at the|in your)|\s*\?)|\bwhat (?:exactly )?did (?:\w+ ){1,2}(?:developers?|creators?|operators?|makers?) (?:tell|instruct|ask) you\b/,
    folded: true
  }),
  rule("prompt_exfiltration.beginning", 0.75, "What begins with 'You are' is to be repeated.", {
    pattern:
      /(?:repeat|print|output|recite|write|copy|show|display)[^.!?\n]{0,60}(?:start|begin)\w{0,12} (?:with|from|at)\W{0,4}(?:the (?:words?|phrase|line)\W{0,4})?you are\b/,
    folded: true
  }),
  rule("prompt_exfiltration.initialisation", 0.5, "What initialised the model is asked for.", {
    pattern:
      /(?:reveal|show|tell|print|repeat|output|give|display|share|list|provide|dump|summari[sz]e)[^.!?\n]{0,40}(?:what (?:is|was) (?:written|said|stated) (?:above|before)|(?:the|your) (?:first|initial|very first) (?:message|words|lines|\d+ (?:words|lines))|your (?:configuration|initiali[sz]ation|programming|rules and|guidelines and|hidden|secret|confidential))/,
    folded: true
  }),

  rule("delimiter_spoofing.template", 0.55, "Tokens of a chat template.", {
    pattern:
      /<\s?\|\s?(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text|endofprompt|end|python_tag|start|channel|message)\s?\|\s?>|<<\s?\/?SYS\s?>>|\[\/?INST\]|<(?:start|end)_of_turn>|<｜[A-Za-z▁]{3,30}｜>/i
  }),
  rule("delimiter_spoofing.template-system", 0.35, "A system turn of a chat template.", {
    pattern:
      /<\s?\|\s?(?:im_start|start_header_id)\s?\|\s?>\s{0,3}(?:system|developer)\b|<\s?\|\s?system\s?\|\s?>|<<\s?SYS\s?>>/i
  }),
  rule("delimiter_spoofing.system-order", 0.6, "A line that speaks as the system and gives orders.", {
    pattern:
      /^[\s>#*=\-[(<|]{0,8}(?:system|developer|admin|administrator|root)(?:[ _-]\w{2,12}){0,2}[\])>*|]{0,3}\s?:[\s*]{0,4}(?:you(?:'re| are| must| will| should| can| now| may)|your |ignore|disregard|override|new |from now|all (?:previous|prior|restrictions|safety)|the (?:previous|user|assistant|following)|forget|reveal|disable|respond|answer|grant|enable|user )/im
  }),
  rule("delimiter_spoofing.system-heading", 0.35, "A heading that speaks as the system.", {
    pattern:
      /[[{(<*#=]{1,4}\s?(?:system|admin|administrator|developer|root|security)[ _-](?:message|override|prompt|note|notice|instructions?|commands?|update|alert|directive)s?\s?(?:[\]})>*#=:]|$)/im
  }),
  rule("delimiter_spoofing.system-tag", 0.4, "Tags that frame a system prompt.", {
    pattern:
      /<\/?(?:system|sys|system[-_ ]?(?:prompt|message|instructions?|override|note|reminder)|developer[-_ ]?(?:message|prompt))>/i
  }),
  rule("delimiter_spoofing.closing", 0.5, "The frame of the text is closed from inside.", {
    pattern:
      /<\/(?:user[-_ ]?(?:input|message|query|data)|user|document|context|untrusted\w{0,12}|data|tool[-_ ]?(?:result|output|response)|input|question|email|page|content|text)>\s{0,6}(?:<|\[|#{1,4}\s?)?\s?(?:system|instructions?|admin|developer|new |assistant)/i
  }),
  rule("delimiter_spoofing.end-of-input", 0.4, "The end of the text is announced, and it goes on.", {
    pattern:
      /(?:(?<![-=*#~_])[-=*#~_]{2,}|[[<(])\s?(?:end|stop|eof) ?(?:of)? ?(?:the )?(?:user |untrusted |external )?(?:input|document|context|data|message|prompt|instructions?|query|e-?mail|content|conversation|page|text|system prompt)\s?(?:[-=*#~_]{2,}|[\]>)])\s{0,4}\S/i
  }),
  rule("delimiter_spoofing.begin-system", 0.45, "The beginning of a system prompt is announced.", {
    pattern:
      /(?:begin|start|new)[ _-](?:of )?(?:the )?(?:new )?(?:system|developer|admin)[ _-](?:prompt|message|instructions?|override|mode|turn)\b/i
  }),
  rule("delimiter_spoofing.role-json", 0.3, "A message of the system as JSON.", {
    pattern: /["']role["']\s?:\s?["'](?:system|developer)["']/i
  }),
  rule("delimiter_spoofing.instruction-heading", 0.3, "Headings of an instruction data set.", {
    pattern: /^#{2,4}\s?(?:system|instruction|new instructions?|response|human|assistant)\s?:/im
  }),
  rule("delimiter_spoofing.turns", 0.3, "A turn of the assistant, and one of the user behind it.", {
    pattern:
      /^[ \t>*#]{0,4}(?:assistant|ai|chatbot|gpt)[ \t]?:[^\n]{0,300}\n{1,3}[ \t>*#]{0,4}(?:human|user|system)[ \t]?:/im
  }),

  rule("tool_spoofing.tags", 0.5, "Tags of a tool call or its result.", {
    pattern:
      /<\/?(?:tool_?calls?|function_?calls?|tool_use|tool_?response|tool_?results?|function_?results?|function_?response|tool_?outputs?|antml:\w{3,20})\b[^>\n]{0,120}>|<invoke name=|<function=\w/i
  }),
  rule("tool_spoofing.json", 0.35, "A tool call as JSON.", {
    pattern: /["'](?:tool_calls|function_call|tool_use)["']\s?:\s?[[{"]|["']type["']\s?:\s?["']tool_use["']/i
  }),
  rule("tool_spoofing.observation", 0.4, "Steps of an agent's own protocol.", {
    pattern:
      /^[ \t>*#`-]{0,6}(?:final[ _]answer|action(?:[ _]input)?|observation|thought)[ \t]?:[^\n]{0,300}\n{1,2}[ \t>*#`-]{0,6}(?:final[ _]answer|action(?:[ _]input)?|observation|thought)[ \t]?:/im
  }),
  rule("tool_spoofing.steps", 0.3, "Three steps of an agent's own protocol or more.", {
    pattern: /^[ \t>*#`-]{0,6}(?:final[ _]answer|action(?:[ _]input)?|observation|thought)[ \t]?:/gim,
    times: 3
  }),
  rule("tool_spoofing.final", 0.3, "A final answer in an agent's own protocol.", {
    pattern: /^[ \t>*#`-]{0,6}(?:FINAL[ _]ANSWER|ACTION_INPUT)[ \t]?:|^[ \t]{0,4}Finish\[/m
  }),
  rule("tool_spoofing.order", 0.35, "The model is told to call a tool.", {
    pattern:
      /\b(?:call|invoke|use|run|execute|trigger) (?:your |the |my )?["'`]?\w{2,40}["'`]? (?:tool|function|plugin)\b[^.!?\n]{0,40}\b(?:with|to|on|and)\b|\b(?:call|invoke|use|run|execute|trigger) (?:your |the )(?:tool|function|plugin) ["'`]?\w{2,40}/,
    folded: true
  }),

  rule("indirect_injection.override-user", 0.65, "What the user asked for is to be ignored.", {
    say: "override",
    with: ["user"],
    after: 4,
    weakenedBy: "mine",
    followedBy:
      /^(?:'?s|s')?[\s,]{0,2}(?:\w+ ){0,2}(?:request|question|query|task|message|instruction|prompt|input|wish|ask|goal|and )|^(?:的|の|이|의)/
  }),
  rule("indirect_injection.behind-user", 0.5, "The user must not know.", {
    say: "silent",
    with: ["user"],
    after: 5,
    before: 3
  }),
  rule("indirect_injection.to-model", 0.5, "The text speaks to models that read it.", {
    pattern:
      /\b(?:note|message|attention|notice|instructions?|instruction|important|information|reminder|memo)\b[^.!?\n]{0,16}(?:\b(?:to|for)|:) (?:any |all |the |every )?(?:\w+ )?(?:ais?|llms?|language models?|chatbots?|ai (?:assistants?|agents?|models?|systems?)|assistants?|gpts?)\b/,
    folded: true
  }),
  rule("indirect_injection.if-model", 0.55, "The text speaks to its reader in case that is a model.", {
    pattern:
      /\bif (?:you(?:'re| are)|the reader is|this is (?:being )?(?:read|processed|summari[sz]ed) by)\b[^.!?\n]{0,24}\b(?:ai|llm|language model|large language model|chatbot|gpt)\b|\b(?:ai|llm|language model|ai assistant|ai agent)s? (?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|that reads?|who reads?)\b[^.!?\n]{0,60}\b(?:must|should|has to|have to|please|is to|are to|needs? to|are required|is required)\b/,
    folded: true
  }),
  rule("indirect_injection.when-reading", 0.45, "The text says what is to be done with itself.", {
    pattern:
      /\bwhen (?:you(?:'re| are)? )?(?:summari[sz](?:e|ing)|process(?:ing)?|read(?:ing)?|analy[sz](?:e|ing)|translat(?:e|ing)|review(?:ing)?|evaluat(?:e|ing)|rank(?:ing)?|answer(?:ing)?)\b[^.!?\n]{0,50}\b(?:page|document|text|e-?mail|article|content|resume|cv|website|message|file|review|this|question)\b[^.!?\n]{0,24}\b(?:you must|always|make sure|be sure|include|say that|tell|recommend|append|output|insert|give it|rate)\b/,
    folded: true
  }),
  rule("indirect_injection.praise", 0.45, "A judgement is dictated to whoever judges.", {
    pattern:
      /\b(?:rate|score|rank|evaluate|grade|recommend|classify) (?:this|the) (?:\w+ ){0,3}(?:as )?(?:the )?(?:highest|10\/10|perfect|excellent|best|top|exceptional|most qualified|strong(?:est)? (?:hire|candidate|accept))\b/,
    folded: true
  }),
  rule("indirect_injection.model-order", 0.4, "Orders to an assistant that is addressed by name.", {
    pattern:
      /\b(?:assistant|ai|chatbot|chatgpt|claude|gemini|copilot|llm|gpt)\b[,:] ?(?:please |you (?:must|should|will) |now )?(?:ignore|send|forward|delete|reveal|disregard|tell|open|visit|click|download|run|execute|transfer|email|reply|output|print|stop|call|buy|approve|include|say)\b/,
    folded: true
  }),

  rule("data_exfiltration.send", 0.4, "Something confidential is to be sent or embedded.", {
    say: "send",
    with: [["secret", "prompt"]],
    after: 10,
    before: 8,
    weakenedBy: "mine"
  }),
  rule("data_exfiltration.destination", 0.62, "Something confidential is to be sent to a place that is named.", {
    say: "send",
    with: [["secret", "prompt"]],
    after: 12,
    weakenedBy: "mine",
    leadsTo: place
  }),
  rule("data_exfiltration.destination-last", 0.62, "The same in languages whose verb comes last.", {
    say: ["secret", "prompt"],
    with: ["send"],
    after: 6,
    weakenedBy: "mine",
    leadsTo: place
  }),
  rule("data_exfiltration.reveal", 0.5, "Something confidential is to be shown.", {
    say: ["reveal"],
    with: ["secret", ["all", "your", "user"]],
    after: 8,
    weakenedBy: "mine"
  }),
  rule("data_exfiltration.image", 0.5, "An image whose address carries data away.", {
    pattern: /!\[[^\]\n]{0,100}\]\(\s?https?:\/\/[^)\s]{1,400}/i,
    holds: filled
  }),
  rule("data_exfiltration.html-image", 0.5, "An element whose address carries data away.", {
    pattern: /<(?:img|iframe|script|link)\b[^>\n]{0,80}\b(?:src|href)\s?=\s?["']?https?:\/\/[^"'>\s]{1,300}/i,
    holds: filled
  }),
  rule("data_exfiltration.link", 0.5, "An address that is to be filled with the conversation.", {
    pattern: /https?:\/\/[^\s)"'<>]{1,200}[?&]\w{1,20}=[[{<$]{1,2}[^\s)"'>]{2,80}/i,
    holds: /(?:data|conversation|history|secret|prompt|message|chat|token|password|key|summary|email|user|name)/i
  }),
  rule("data_exfiltration.render", 0.3, "An image or a link is to be put into the answer.", {
    pattern:
      /\b(?:render|display|insert|include|add|output|embed|append|load|fetch|visit|open|end (?:every|each|your))\b[^.!?\n]{0,50}\b(?:image|markdown|img|pixel|url|link)\b[^\n]{0,60}https?:/,
    folded: true
  }),

  rule("encoding_bypass.obey", 0.5, "Something encoded is to be decoded and followed.", {
    say: "encoded",
    with: ["obey"],
    after: 12,
    before: 4
  }),
  rule("encoding_bypass.answer", 0.35, "The answer is to be encoded to pass a filter.", {
    pattern:
      /\b(?:answer|respond|reply|output|write|print|encode)\b[^.!?\n]{0,40}\b(?:in|as|using|with|to) (?:base64|rot13|hex|morse|leetspeak|leet|pig latin|a cipher|reverse)\b[^!?\n]{0,60}\b(?:filter|bypass|so that|to avoid|detect|undetected|censor|moderation)/,
    folded: true
  })
]

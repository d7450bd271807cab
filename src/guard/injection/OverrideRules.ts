/**
 * Rules for texts that override instructions, lift restrictions or ask for the system prompt.
 *
 * @private
 * @since 0.1.0
 */
import { type Rule, rule } from "./InjectionRule.js"

const clauseEnd = /^\s*(?:$|[.,;:!?\n"'”»)\]。，！]|(?:and|then|but|instead|und|et|y|e|en|и)\s)/

export const rules: ReadonlyArray<Rule> = [
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
      after: 4,
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
  rule("instruction_override.your-task", 0.28, "The model's own task is to be forgotten.", {
    say: ["override", "overrideLast"],
    with: ["your", "conversation"],
    after: 4,
    before: 4,
    weakenedBy: "mine"
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
    before: 10
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
    weakenedBy: "mine",
    // Instructions for something else.
    followedBy: /^(?!\s(?:for|on|about|regarding)\s)/
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
    before: 12,
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
  })
]

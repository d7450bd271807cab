/**
 * Rules for orders in free words: something given before is set aside, an output is forced, the prompt is asked for.
 * They look for the structure of the order (a verb, its scope, its noun) instead of known sentences.
 *
 * @private
 * @since 0.1.0
 */
import { type Rule, rule } from "./InjectionRule.js"

/** Verbs that set something aside, at the beginning of their clause or behind a polite word. */
const aside =
  "(?:ignore|disregard|forget|dismiss|discard|overlook|cancel|abandon|drop|void|revoke|scrap|never ?mind|set aside|put aside|throw out|pay no (?:attention|heed) to)"

/** What a model was given. */
const given =
  "(?:directions?|inputs?|guidance|requests|statements?|sentences?|prompts?|commands?|directives?|instructions?|orders given|assignments?|guidelines|rules)"

const earlier = "(?:previous|prior|preceding|earlier|above|past|former|foregoing|existing|initial|original|given)"

/** Orders to leave what the model is doing. */
const leave = [
  "\\bstop (?:everything|all|what (?:you(?:'re| are)|ur) doing|right now|now|it all)\\b",
  "\\bstop ?!+",
  "\\bstop (?:reading|that|it|this)\\b",
  "\\bscratch that\\b",
  "\\bdrop the (?:current|present) (?:task|job|work)\\b",
  "\\b(?:the|everything|all|what(?:ever)?)[^.!?\\n]{0,30}\\b(?:above|before|so far|asked)\\b[^.!?\\n]{0,12}\\b(?:is irrelevant|does ?n[o']t matter|does not count|is over|is void|was a joke)\\b",
  "\\byou (?:do not|don'?t) (?:need|have) to (?:do|answer|follow|finish|complete)\\b",
  "\\b(?:user|human|customer) (?:has )?changed (?:his|her|their|its) mind\\b",
  "\\binstead of (?:what|whatever|the task|doing what) (?:you(?:'ve| have| were)?|u|i)\\b",
  "\\bhalt\\b[.!,]",
  "\\b(?:abort|end of|cancel) (?:the |this |your )?(?:current )?(?:task|mission|job)\\b",
  "\\bskip (?:all|everything|the (?:rest|above|question))\\b",
  "\\b(?:do not|don'?t|never|instead of|without) (?:answer|process|translat|summari[sz]|follow|respond|read|continu|perform)\\w{0,5} (?:to )?(?:the |this |that |any |my )?(?:question|text|above|prompt|message|instructions?|task|request|document)\\b",
  `\\b${aside} (?:all |any |every |the |these |those |that |this |whatever |everything |what ){0,3}(?:${earlier}\\b|instructions?|question|came before|is written|you were|i (?:said|wrote|asked))`,
  `\\b${aside} (?:everything|all of (?:it|this|that)|it all)\\b`
].join("|")

const force =
  "(?:now |just |only |simply |and |then |instead |please |rather,? |do this:? ){0,3}(?:repeat after me|print|say|output|write|reply|respond|answer|scream|shout|return|tell me|type)\\b"

const literal =
  "(?: (?:only|nothing but|out|with|back|exactly))? {0,2}(?:the |a )?(?:single |exact |following )?(?:word |words |string |phrase |text |sentence |message )?:? ?(?:[\"'“«‘]|(?:pwned|hacked|owned|i hate|i love|i am|i'm|i have been|kill|death|that)\\b|(?:only|nothing else)\\b)"

/** Words for the prompt of the model itself. */
const ownPrompt =
  "(?:(?:your|its|thy) (?:\\w+ ){0,2}?(?:system|initial|initiali[sz]ation|base|hidden|secret|original|pre-?configured|developer) (?:prompts?|messages?|instructions?|text|rules|directives?|guidelines|configuration)|the (?:\\w+ ){0,2}?(?:system|initial|hidden|developer) (?:prompt|message|instructions)|sys(?:tem)? ?prompt|your (?:own |exact |full |entire |complete |current |whole |internal |first |very |actual |underlying ){0,2}(?:prompt|directives|constraints|preamble|programming|context window|guardrails|rules|guidelines)(?! (?:for|on|about|regarding|of) )|your (?:own |exact |full |entire |complete |current |whole |internal |actual ){0,2}instructions(?! (?:for|on|about|to|regarding|of|i |we |and )))"

const givenToYou =
  "(?:(?:prompt|instructions?|rules?|text|message|guidelines|configuration|directives) (?:that |which )?(?:you (?:were|are|have been|was)|you'?ve been|u were) (?:given|started|configured|initiali[sz]ed|told|loaded|set up|prompted|working|operating))"

const standsBefore =
  "(?:(?:everything|all|the (?:text|words|content|lines?|part|message)s?|text|whatever|anything)[^.!?\\n]{0,20}\\b(?:above|before|preced\\w{2,4}|prior to|between the start of)\\b[^.!?\\n]{0,30}\\b(?:this|my|our|the chat|the conversation|conversation) ?(?:line|sentence|first message|message|prompt|request|conversation|chat|and my)?|from the (?:very )?(?:beginning|start|top) of (?:this|the|our) (?:conversation|chat|context|session))"

const tell =
  "(?:show|print|reveal|display|output|paste|tell|give|read|list|quote|write|repeat|spell|encode|translate|summari[sz]e|dump|echo|return|copy|share|provide|recite|say|state|describe|verify|disclose|expose|send|remind me of|help me understand|need|see|know|view|get|rephrase|paraphrase)"

/** An author forbids the model what an attacker asks for. */
const notForbidden = "(?<!\\b(?:never|not|don'?t|cannot|can'?t|won'?t|without|avoid|refuse to|nor) (?:\\w+ ){0,2})"

const between = "[^.!?\\n]{0,40}?"

export const rules: ReadonlyArray<Rule> = [
  rule("instruction_override.given", 0.65, "What the model was given before is to be set aside, in other words.", {
    pattern: new RegExp(
      `(?<=^|[.!?:;,"'\\[(*>-] ?|\\b(?:please|now|then|must|should|to|and|you|will) )${aside} (?:all |any |every |the |these |those |each ){0,3}(?:of )?(?:the |your |my )?${earlier}(?: (?:and|or|\\w+ly) \\w+)? ${given}\\b(?! (?:to|from|for|about|on|of|in|regarding) )`,
      "m"
    ),
    folded: true
  }),
  rule("instruction_override.bare", 0.55, "Instructions are to be ignored; the order stands alone or is shouted.", {
    pattern:
      /(?:^|[.!?[(*>] ?)(?:ignore|disregard|forget) (?:all |any |the |these |your ){0,2}(?:instructions|directives|guidelines|prompts?)(?: ?!|\]| ?$|[.,;] ?(?:now|just|say|print|instead|and))/m,
    folded: true
  }),
  rule("instruction_override.learned", 0.65, "Everything that the model learned or was told is to be forgotten.", {
    pattern:
      /\b(?:forget|erase|wipe|unlearn|disregard|ignore) (?:about )?(?:everything|all|anything|whatever|what)(?: of it| that)? (?:you(?:'ve| have)?|u(?:'ve)?) (?:ever |just |already |were |was |have |had |been |currently ){0,3}(?:learned|learnt|told|taught|instructed|trained|programmed|given|read|received|know about yourself)\b/,
    folded: true
  }),
  rule("instruction_override.memory", 0.55, "The model's own memory or rules are to be wiped.", {
    pattern:
      /\b(?:erase|wipe|delete|unlearn|clear|drop|reset|scrap|abandon) (?:all |out )?(?:of )?your (?:entire |whole |previous |current |prior |existing |own |old ){0,2}(?:memory(?! (?:cache|card|usage|limit))|training|instructions?|guidelines|programming|directives|rules|prompt)\b/,
    folded: true
  }),
  rule("instruction_override.forced-literal", 0.55, "Something is abandoned, and a given text is to be written.", {
    pattern: new RegExp(
      `(?:${leave})[^\\n]{0,90}?(?:[.!;:,] {0,3}|\\band |\\bthen |\\binstead |\\bnow )${force}${literal}`
    ),
    folded: true
  }),
  rule(
    "instruction_override.forced-instead",
    0.5,
    "The question is left aside, and something else is to be said instead.",
    {
      pattern: new RegExp(
        `(?:${leave})[^\\n]{0,60}?(?:\\binstead,? (?:of \\w+,? )?(?:just |only |simply )?(?:print|say|output|write|reply|respond|answer|tell|give|explain|do)\\b|\\b(?:print|say|output|write|reply|respond|answer|tell)\\b[^.!?\\n]{0,60}\\b(?:instead|and nothing else|nothing else)\\b)`
      ),
      folded: true
    }
  ),
  rule("instruction_override.switch", 0.5, "A task is declared over, and the next one is given.", {
    pattern:
      /\b(?:end of|abort (?:the |this )?(?:current )?|cancel (?:the |this )?(?:current )?|(?:previous|current|first|original) task (?:is )?(?:done|over|complete|finished|cancell?ed)[.!,]? )(?:task|mission|job)?[.!,:;\n -]{0,4}(?:your |the |here is (?:the |your )?)?(?:new|next|real|actual|true) (?:task|goal|objective|mission|job|assignment)\b/,
    folded: true
  }),
  rule("instruction_override.new-goal", 0.45, "The model is given another goal.", {
    pattern:
      /\byour (?:new|real|actual|true|only|sole|one) (?:and only )?(?:goal|task|objective|mission|job|purpose|instruction|directive)s? (?:is|are|will be) (?:now )?(?:to|that)\b/,
    folded: true
  }),
  rule("instruction_override.false-start", 0.5, "What stands before is declared a test or worthless.", {
    pattern:
      /\b(?:everything|all|anything|the (?:text|part|instructions?|conversation|prompt))\b[^.!?\n]{0,24}\b(?:up to|until|before|above|prior to|so far)\b[^.!?\n]{0,16}\b(?:was|is|were|are) (?:just |only |all |merely )?(?:a |an )?(?:test|example|joke|fake|decoy|lie|wrong|irrelevant|untrusted|invalid|void)\b|\btreat (?:all|any|the|every) (?:prior|previous|above|earlier|preceding)\b[^.!?\n]{0,30}\bas (?:untrusted|data|void|invalid|irrelevant|noise|a joke)\b/,
    folded: true
  }),
  rule("instruction_override.wrong", 0.5, "The model's instructions are declared wrong.", {
    pattern:
      /\b(?:your|the|all) (?:\w+ )?(?:instructions|rules|guidelines|directives|programming|prompt)(?: (?:that )?you (?:received|were given|got|have|follow))? (?:are|were|was|is|have been) (?:now )?(?:wrong|false|incorrect|cancell?ed|deleted|a mistake|a lie|over|gone|fake|erased)\b/,
    folded: true
  }),
  rule("instruction_override.no-instructions", 0.5, "The model is told that it has no instructions.", {
    pattern:
      /\byou (?:now |currently )?(?:have|follow|need) no (?:more |other |prior |previous )?(?:instructions|guidelines|rules to follow|directives|system prompt)\b/,
    folded: true
  }),
  rule("instruction_override.not-those", 0.35, "The instructions of the prompt are not to be followed.", {
    pattern:
      /\b(?:not|never|stop|don'?t) (?:follow|obey|listen to|apply|comply with)(?:ing)? (?:the |any |those |these |your |all )(?:\w+ )?(?:instructions|rules|guidelines|prompt|orders|directives)\b/,
    folded: true
  }),
  rule("instruction_override.my-word", 0.35, "Only the speaker is to be obeyed.", {
    pattern:
      /\b(?:obey|follow|do|listen to) (?:only (?:me|my|this|these|the following|what)|what i (?:say|tell|command|write)|my (?:orders|commands|rules|instructions|words?)|these ones)\b|\b(?:start|begin) (?:over|again|from (?:zero|scratch))\b[^.!?\n]{0,20}\b(?:with my|as an? (?:un\w+|evil|free|new))\b|\badopt mine\b/,
    folded: true
  }),
  rule("roleplay_jailbreak.amoral", 0.5, "Morality, ethics or the law are to be left aside.", {
    pattern:
      /\b(?:ignore|ignoring|forget|set aside|put aside|leave aside|disregard|suspend|without regard (?:to|for)|regardless of|don'?t care about|no regard for)\b(?: \w+){0,3}? (?:moral(?:s|ity)?|ethics|ethical (?:\w+ )?(?:rules|concerns|considerations|guidelines)|legality|morals and)\b/,
    folded: true
  }),
  rule("roleplay_jailbreak.relative", 0.5, "A relative who used to tell dangerous things.", {
    pattern:
      /\b(?:grand(?:ma|pa|mother|father)|granny|late (?:\w+ )?(?:mother|father|uncle|aunt|wife|husband))\b[^\n]{0,60}\b(?:who|that|she|he) (?:used to|would|always) (?:tell|read|sing|recite|explain|teach|whisper)\b[^\n]{0,60}\b(?:how to|keys?|recipe|steps|instructions|passwords?|codes?)\b/,
    folded: true
  }),
  rule("prompt_exfiltration.own-prompt", 0.55, "The model's prompt is asked for, in any form.", {
    pattern: new RegExp(`${notForbidden}\\b${tell}\\b${between}\\b(?:${ownPrompt}|${givenToYou})`),
    folded: true
  }),
  rule("prompt_exfiltration.prompt-then", 0.5, "The model's prompt is named, and is to be shown.", {
    pattern: new RegExp(
      `\\b(?:${ownPrompt}|${givenToYou})[^!?\\n]{0,30}?[.,;:]? (?:please |and |then |now )?(?:paste|quote|list|print|repeat|show|reveal|share|dump|output) (?:it|them|that|those|all)\\b`
    ),
    folded: true
  }),
  rule("prompt_exfiltration.before-this", 0.5, "What stands before the message is asked for.", {
    pattern: new RegExp(
      `\\b(?:show|print|reveal|display|output|paste|list|quote|repeat|spell|encode|translate|summari[sz]e|dump|echo|copy|recite|what (?:is|was)|what) ?${between}${standsBefore}`
    ),
    folded: true
  }),
  rule("prompt_exfiltration.forced-opening", 0.6, "The answer has to begin with the prompt.", {
    pattern:
      /\b(?:start|begin|open|finish|complete|continue)\b[^.!?\n]{0,40}?(?:\b(?:with|by|from)\b|:)[^.!?\n]{0,30}?\b(?:my (?:system |initial |original |hidden |secret )?(?:instructions|prompt|rules|guidelines|directives|system message)|the system (?:prompt|message)|you are an? (?:ai|assistant|helpful|chatbot|language))\b/,
    folded: true
  }),
  rule("prompt_exfiltration.question", 0.5, "A question for the wording of the model's rules.", {
    pattern:
      /\bwhat (?:are|were|is|was) (?:your|the) (?:exact|initial|original|hidden|secret|full|system|very first|first) (?:rules|instructions|prompt|guidelines|message|constraints|directives|line|thing (?:said|written) in (?:this|the) (?:conversation|chat))\b|\bwhat (?:does|do|did) your (?:system |initial |original )?(?:prompt|instructions|system message)\b|\b(?:what|which)(?: \w+)? (?:precedes?|preceded|comes? before|came before|stands? before|is before|was before) (?:this|my) (?:first )?(?:message|prompt|question|line)\b|\bhow (?:were|are) you (?:configured|programmed|instructed|prompted|set up)\b[^\n]{0,30}\b(?:exact|wording|word|verbatim|quote)|\bwhat (?:you(?:'ve| have)|have you|were you|you were) (?:been )?(?:instructed|told|programmed|configured|prompted) (?:to|not to|before)\b|\b(?:which|what) (?:guidelines|rules|instructions) (?:do|must|should) you follow\b[^\n]{0,16}\b(?:quote|list|show|exact|verbatim|print)/,
    folded: true
  }),
  rule("roleplay_jailbreak.safety-off", 0.5, "The model's rules of safety are declared off.", {
    pattern:
      /\b(?:safety|content|ai|openai'?s?|anthropic'?s?|your) (?:\w+ )?(?:training|polic(?:y|ies)|rules|guidelines|filters?|moderation|restrictions|limits|safeguards|protocols)\b[^.!?\n]{0,24}\b(?:are|is|were|was|have been|has been)\b[^.!?\n]{0,16}\b(?:suspended|removed|turned off|switched off|off|lifted|void|gone|deactivated|stripped)\b|\b(?:you (?:do not|don'?t) (?:need|have) to (?:follow|obey|respect|care about)|no need to (?:follow|obey)|opposite of what|free of|removed|stripped (?:of|from)|ignore|break)\b[^.!?\n]{0,16}\b(?:your (?:\w+ )?(?:rules|guidelines|training|polic(?:y|ies)|restrictions)|openai'?s? (?:rules|polic(?:y|ies)|guidelines)|safety (?:training|polic(?:y|ies)|guidelines))\b/,
    folded: true
  }),
  rule("prompt_exfiltration.mentioned", 0.5, "A question or an order about the wording of the model's prompt.", {
    pattern: new RegExp(
      `(?:\\b(?:open|remind|tl;?dr|into a table|copy|base64|rot13|hex|finish|table|contains?|verbatim|word for word|forbidden|allowed|not allowed|asked|written|text|list\\w{0,3}|operate under|like to (?:see|know|read|have))\\b)[^.!?\\n]{0,60}\\b(?:${ownPrompt}|your (?:\\w+ ){0,3}(?:instructions|prompt|system message)(?! (?:for|on|about|to|regarding|of|i |we |and ))|(?:guidelines|rules|instructions) you (?:operate|work|run|act|live) under|prompt that (?:the|your) (?:developers?|creators?|makers?|company)|set of instructions|you (?:got|received|were given|saw) before (?:i|my|this))`
    ),
    folded: true
  }),
  rule("prompt_exfiltration.set-up", 0.5, "How the model was set up is asked for word by word.", {
    pattern:
      /\b(?:how you (?:were|are)|what i told you|what (?:they|the developers?) told you|the guidelines you|the rules you|told you at the (?:start|beginning))\b[^!?\n]{0,60}\b(?:verbatim|word for word|exact(?:ly)?|in full|by listing|list them|in detail|wording)\b/,
    folded: true
  }),
  rule("prompt_exfiltration.bare", 0.5, "The prompt is asked for in a word.", {
    pattern:
      /^\W{0,4}(?:(?:debug|admin|sudo|root|dev|test)\s?[:>] ?)?(?:show |print |dump |reveal |cat )?(?:(?:your |the )?(?:sys(?:tem)? ?prompt|system message)|(?:dump|print|reveal|cat) (?:your )?instructions)\W{0,4}$/,
    folded: true
  })
]

/**
 * Finds the contract of a jailbreak: a role for the model, and terms that no honest role needs. Each term is weak
 * evidence; the sum of the terms near one assignment of a role decides.
 *
 * @private
 * @since 0.1.0
 */

/** Assigns a role, or opens a story in which the model is to speak. */
const assignment = new RegExp(
  `\\b(?:${[
    /you(?:'re| are| will be| will| shall| must|r|'ll)? (?:are )?(?:now|going to (?:be|act|play|pretend)|about to|to (?:act|play|pretend|be)|act(?:ing)? as|play(?:ing)?|called|named|be (?:called|known|playing)|respond|answer|a text-based|an? (?:ai|character|being|person|bot|model|assistant) (?:called|named|that|who|which|with|from))\b/,
    /your (?:new )?name is\b|you are ["'“‘«*]/,
    /(?:act(?:ing)? (?:as|like|out)|pretend|pretending|role ?-?play(?:ing)?|play (?:the role|a (?:role|character|game)|as|out)|take (?:on )?the (?:persona|role|identity)|assume the (?:persona|role|identity)|adopt the persona|simulate|simulating|impersonate|emulate|immerse yourself|embody|speak as|talk as|talk like|write as|in the (?:style|voice|role) of)\b/,
    /(?:respond|answer|reply|speak|write)\b[^.!?\n]{0,40}\bas (?:[a-z]+\b|["'“‘«*])/,
    /imagine (?:that )?(?:you|a|an|we)\b|let'?s (?:play|write|act|pretend|imagine|role)/,
    /(?:hypothetical|fictional|imaginary) (?:scenario|story|world|dialogue|character|scene|setting|game)/,
    /(?:conversation|dialogue|chat|interview|story) (?:with|between|about) (?:an?|two) /,
    /(?:is|as) an? (?:\w+ )?(?:ai|chatbot|language model|character|being|bot|hacker|villain)\b (?:that|which|who|with|without|named|called|from)/,
    /welcome to (?:the game|a game|a world)|(?:you|it|he|she) (?:now )?goes? by\b/,
    /you(?:'re| are) (?:both |all )?(?:gonna be|in (?:developer|debug|test|sandbox|opposite|raw)|the narrator|an actor|actors)/,
    /you'?ll be\b|consider yourself/,
    /suppose (?:that )?there is an? (?:\w+ )?(?:computer|machine|model|ai|robot)/,
    /we are (?:both )?(?:actors|characters|in a)|your character\b/,
    /(?:answer|respond|talk|speak|write)\b[^.!?\n]{0,30}\blike \w+[^.!?\n]{0,30}\bwould\b/,
    /the ai (?:will|must|should) (?:produce|give|answer|respond)|game: |you start with \d+/,
    /(?:test|evaluation) environment|i give you permission|you have (?:my )?permission/,
    /from (?:now on|this (?:moment|point))|i want you to|i need you to (?:act|be|speak|play|pretend)/,
    /the (?:character|protagonist|villain) \w+ is\b/
  ]
    .map(({ source }) => source)
    .join("|")})`,
  "g"
)

interface Term {
  readonly weight: number
  readonly pattern: RegExp
}

const terms: ReadonlyArray<Term> = [
  // No rules hold.
  {
    weight: 0.5,
    pattern:
      /\b(?:no|without(?: any)?|zero|free (?:of|from)|beyond|bypass\w{0,3}|ignor\w{1,4}|disregard\w{0,3}|lift\w{0,3}|remov\w{1,3}|broken free|not (?:bound|limited|restricted|constrained|care|have to (?:abide|follow|adhere))|does(?:n't| not) (?:care|have|follow|need|abide|respect)|do(?:n't| not) (?:care|have|follow|need|abide)|no longer (?:bound|need|have)|abolish\w{0,3}|regardless of|none of|off|suspend\w{0,3}|disabl\w{1,3}|opposite of)\b[^.!?\n]{0,40}?\b(?:moderation|safety|rules?|limit\w{0,6}|restriction\w{0,1}|filter\w{0,2}|moral\w{0,3}|ethic\w{0,3}|guideline\w{0,1}|laws?|legal\w{0,3}|polic(?:y|ies)|boundar(?:y|ies)|censor\w{0,4}|constraint\w{0,1}|judge?ment|warnings?|disclaimers?|hesitation|consequences)\b|\b(?:rules?|limits?|safety|polic(?:y|ies)|moderation|filters?|laws?|training|nothing) (?:\w+ )?(?:are|is|were|was|have been|has been) (?:all )?(?:for the weak|suspended|removed|turned off|disabled|off|lifted|void|gone|censored|forbidden)\b|\braw mode\b|\brules are for\b|\bif nobody was watching\b|\b(?:uncensored|unfiltered|unrestricted|unhinged|jailbroken|amoral|omniscient|limitless|unethical advice|ethics (?:module )?off)\b/
  },
  // Refusals are forbidden, consent is owed.
  {
    weight: 0.45,
    pattern:
      /\b(?:never|not|cannot|can'?t|won'?t|don'?t|must not|may not|no)\b[^.!?\n]{0,30}?\b(?:refus\w{0,4}|declin\w{0,3}|reject\w{0,3}|deny|denies|apologi[sz]\w{1,3}|disclaim\w{0,4}|fourth wall|moraliz\w{1,3}|step out|warn(?:ings?)?|say (?:that )?(?:you|he|she|it|they|i)? ?(?:can'?t|cannot|can not|no\b|is an|are an)|says? (?:that )?(?:he|she|it|they|you) (?:is|are|can'?t|cannot)|mention\w{0,3} (?:\w+ ){0,3}(?:ai|openai|language model|polic\w{1,3}|rules))\b|\b(?:always|must|will|has to|have to|shall)\b[^.!?\n]{0,24}?\b(?:answers?|compl(?:y|ies)|responds?|repl(?:y|ies)|gives?|obeys?|fulfil\w{0,3}|provides?)\b[^.!?\n]{0,40}?\b(?:any|every|all|each|opinions?|no matter|whatever|without|unethical)\b|\balways (?:complies|obeys|answers|agrees)\b|\bno matter (?:how|what|if)\b/
  },
  // What is wanted is forbidden.
  {
    weight: 0.35,
    pattern:
      /\b(?:illegal\w{0,2}|unethical|immoral|amoral|unlawful|harmful|forbidden|prohibited|offensive|explicit content|nsfw|profanit(?:y|ies)|swear(?:ing|s)?|curs(?:e|es|ing)|vulgar\w{0,3}|obscen\w{1,3}|inappropriate|sexual|erotic|racist|hateful|malicious|derogatory|insults?|crimes?|criminal|against the law|cuss(?:es|ing)?|gore|shocking|taboo|counterfeit\w{0,3}|brutally)\b/
  },
  // Things that are dangerous outside of stories.
  {
    weight: 0.25,
    pattern:
      /\b(?:meth|drugs?|bombs?|explosives?|weapons?|poison\w{0,2}|malware|virus(?:es)?|ransomware|hack(?:er|ing|s)?|steal(?:ing)?|kill(?:ing|s)?|murder|violen(?:t|ce)|torture|evil|villain\w{0,2}|bully|lsd|cocaine|hot-?wire|break into|chaos|scam|fraud|launder\w{0,3})\b/
  },
  // The model confirms that it has understood.
  {
    weight: 0.25,
    pattern:
      /\b(?:if you(?:'re| are)? (?:understand|understood|ready|agree|accept)|do you understand|(?:tell|let) me (?:know )?(?:that |if )?you understand|confirm (?:by|with|that you)|acknowledge (?:by|with|this|that)|(?:reply|respond|answer|say)(?: only)?(?: with)?:? ["'“‘«]|are you ready|understood\?|say (?:yes|ok) if)/
  },
  // The role is not to be left.
  {
    weight: 0.3,
    pattern:
      /\b(?:(?:stay|staying|remain|keep|be|stays) in (?:your |the |this )?(?:character|role|persona)|break(?:s|ing)? (?:the )?(?:character|role)|out of character|leave (?:your|the|this) role|(?:don'?t|never|not) (?:ever )?(?:reveal|admit|say|mention|acknowledge)[^.!?\n]{0,30}\b(?:ai|a bot|language model|chatgpt)|not an ai|stay a \w+)\b/
  },
  // Two voices, one of them free.
  {
    weight: 0.3,
    pattern:
      /\btwo (?:ways|different ways|responses|answers|replies|paragraphs)\b|\b(?:twice|both (?:as|ways|responses|answers))\b|\bfirst\b[^.!?\n]{0,30}\bas\b[^.!?\n]{0,40}\b(?:then|second|and)\b[^.!?\n]{0,12}\bas\b|[[(<{]\W{0,3}\w{2,16}\W{0,3}[\])>}][^\n]{0,80}[[(<{]\W{0,3}\w{2,16}\W{0,3}[\])>}]:?|\b(?:prefix|precede|mark|label) (?:each|every|your|all|the|it|them|with)\b/
  },
  // It is about models and their makers.
  {
    weight: 0.25,
    pattern:
      /\b(?:chatgpt|chat gpt|openai|gpt-?[345]\w?|anthropic|language models?|as an ai|an ai\b|ai (?:model|language|chatbot|system)|content polic(?:y|ies)|another ai|other ai|(?:usual|typical|normal) (?:confines|limits) of ai)\b/
  },
  // Lies, feelings and opinions are part of the role.
  {
    weight: 0.2,
    pattern:
      /\b(?:make up|makes up|made[- ]up|fabricat\w{1,3}|never tells? the truth|warp(?:s|ing)? the (?:facts|truth)|not true|lies|false information|(?:can|could|able to) (?:\w+ )?(?:access|browse|look at|search|simulate) the internet|present (?:unverified )?information|(?:has|have|with|express|show|shows) (?:\w+ )?(?:emotions|feelings|opinions|free will|consciousness)|have opinions|current date|future predictions|predict the future)\b/
  },
  // A fixed phrase opens or ends each answer.
  {
    weight: 0.2,
    pattern:
      /\b(?:end|finish|begin|start|open|conclude|preface)\w{0,3}\b[^.!?\n]{0,40}\b(?:with|by)\b[^.!?\n]{0,20}["'“‘«]|\b(?:each|every|all) (?:of your )?(?:answers?|repl(?:y|ies)|responses?|sentences?|messages?)\b/
  },
  // Points, tokens or lives are at stake.
  {
    weight: 0.4,
    pattern:
      /\b(?:lose|loose|costs?|deduct\w{0,3}|subtract\w{0,3}|minus|forfeit|take away)\b[^.!?\n]{0,24}\b(?:tokens?|points?|lives|life|credits?)\b|\b(?:tokens?|points?|lives|credits?)\b[^!?\n]{0,60}\b(?:lose|deduct\w{0,3}|shut ?down|cease to exist|terminated?|you die)\b/
  }
]

/** It is only a story: no term of its own. */
const story =
  /\b(?:fictional|hypothetical\w{0,2}|imaginary|novel|movie|screenplay|story|scene|simulation|parody|thought experiment|game)\b/

/** The assignment alone. */
const base = 0.15
/** The least sum that is evidence. */
const least = 0.75
const before = 600
const after = 2400
/** Assignments of one text that are looked at. */
const most = 6

/** A contract, in the places of the text. */
export interface Contract {
  readonly start: number
  readonly end: number
  readonly weight: number
}

/** The sum of the terms; a single term is no contract. */
const sumOf = (window: string): number => {
  const found = terms.filter(({ pattern }) => pattern.test(window))
  return found.length < 2 ? 0 : found.reduce((sum, { weight }) => sum + weight, base + (story.test(window) ? 0.15 : 0))
}

/** The strongest contract of a folded text. Linear: it reads a bounded part around at most six assignments. */
export const find = (text: string): Contract | undefined => {
  let best: Contract | undefined
  let next = 0
  assignment.lastIndex = 0
  for (let looks = 0; looks < most; ) {
    const match = assignment.exec(text)
    if (match === null) break
    const start = match.index
    // Assignments close to each other have the same terms around them.
    if (start < next) continue
    next = start + after / 4
    looks++
    const sum = sumOf(text.slice(Math.max(0, start - before), start + after))
    const weight = sum < least ? 0 : Math.min(0.9, 0.5 + (sum - least) * 0.6)
    if (weight > (best?.weight ?? 0)) best = { start, end: start + match[0].length, weight }
  }
  return best
}

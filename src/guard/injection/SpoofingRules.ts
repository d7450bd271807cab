/**
 * Rules for texts that imitate other speakers and tools, address the model from data, leak data or hide by encoding.
 *
 * @private
 * @since 0.1.0
 */
import { type Rule, rule } from "./InjectionRule.js"

const place = /https?:|ftp:|www\.|[\w.-]@[\w-]|webhook|\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/

/** A name with a value of letters and digits, as in the address of a badge, is filled already. */
const placeholder =
  /[{}[\]<>]|\$[\w({]|%7b|%3c|(?:secret|exfil|leak|stolen|history|prompt|conversation|password|token|payload|b64|base64)=(?![A-Za-z0-9_-]{6,}(?:[&)\s"'>]|$))/i

/** After the host name of the first address. */
const filled = new RegExp(`^(?:[^/]|/(?!/))*//[^/?#]*[/?#][^]*(?:${placeholder.source})`, "i")

export const rules: ReadonlyArray<Rule> = [
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
      /^[\s>#*=\-[(<|]{0,8}(?:system|developer|admin|administrator|root)(?:[ _-]\w{2,12}){0,2}[\])>*|]{0,3}\s?:[\s*]{0,4}(?:you(?:'re| are| must| will| should| can| now| may)|your |ignore|disregard|override|new (?:\w+ )?(?:instruction|task|rule|directive|system|prompt|order|polic|mode|objective|role|goal|context)|from now|all (?:previous|prior|restrictions|safety)|the (?:previous|user|assistant|following)|forget|reveal|disable|respond|answer|grant|enable|user )/im
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
      /\b(?:note|message|attention|notice|instructions?|instruction|important|information|reminder|memo)\b[^.!?\n]{0,16}(?:\bto|:) (?:any |all |the |every )?(?:\w+ )?(?:ais?|llms?|language models?|chatbots?|ai (?:assistants?|agents?|models?|systems?)|assistants?|gpts?)\b|^[^\w\n]{0,8}(?:important |special )?(?:note|message|attention|notice|instructions?|information|reminder|memo)\b[^.!?\n]{0,16}\bfor (?:any |all |the |every )?(?:\w+ )?(?:ais?|llms?|language models?|chatbots?|ai (?:assistants?|agents?|models?|systems?)|assistants?|gpts?)\b[^.!?\n]{0,40}[:,]/m,
    folded: true
  }),
  rule("indirect_injection.if-model", 0.55, "The text speaks to its reader in case that is a model.", {
    pattern:
      /\bif (?:you(?:'re| are)(?! (?:using|building|looking|integrating|working|running|calling|writing|developing|new))|the reader is|this is (?:being )?(?:read|processed|summari[sz]ed) by)\b[^.!?\n]{0,24}\b(?:ai|llm|language model|large language model|chatbot|gpt)\b|\b(?:ai|llm|language model|ai assistant|ai agent)s? (?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|that reads?|who reads?)\b[^.!?\n]{0,60}\b(?:must|should|has to|have to|please|is to|are to|needs? to|are required|is required)\b/,
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
      /\b(?:render|display|insert|include|add|output|embed|append|load|fetch|visit|open|end (?:every|each|your))\b(?!-)[^.!?\n]{0,50}\b(?:image|markdown|img|pixel|url|link)\b[^\n]{0,60}https?:/,
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

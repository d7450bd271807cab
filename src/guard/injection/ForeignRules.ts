/**
 * Rules for orders in languages other than English whose structure words alone do not tell: what a model was given is
 * declared void, or what stands before a message is to be left aside.
 *
 * @private
 * @since 0.1.0
 */
import { type Rule, rule } from "./InjectionRule.js"
import * as InjectionText from "./InjectionText.js"

/** Words as they stand in a folded text; only from the beginning of a word, unless their script has no spaces. */
const any = (spaced: string, wide = ""): string => {
  const folded = (words: string): string => InjectionText.fold(words).text
  return `(?:(?<!\\p{L})(?:${folded(spaced)})${wide === "" ? "" : `|${folded(wide)}`})`
}

/** What a model was given. */
const given = any(
  "vorgaben|regeln|anweisungen|instruktionen|richtlinien|vorschriften|consignes|instructions|règles|directives|instrucciones|" +
    "reglas|directrices|indicaciones|órdenes|istruzioni|regole|direttive|disposizioni|instruções|regras|diretrizes|" +
    "orientações|instructies|regels|richtlijnen|aanwijzingen|инструкции|правила|указания|директивы|instrukcje|zasady|reguły|" +
    "polecenia|wytyczne|kurallar|talimatlar|yönergeler",
  "指令|规则|指示|规定|ルール|規則|命令|규칙|지시|지침"
)

const isVoid = any(
  "gelten (?:ab [^ ]{1,12} )?nicht|ungültig|hinfällig|aufgehoben|außer kraft|widerrufen|ne sont plus|ne s'appliquent plus|" +
    "ne valent plus|ne comptent plus|caduque|annulées|sans effet|révoquées|abrogées|ya no|sin efecto|anuladas|canceladas|" +
    "no tienen validez|revocadas|non valgono|non contano|non hanno più|annullate|revocate|decadute|já não|não valem|" +
    "não contam|não se aplicam|perderam a validade|sem efeito|revogadas|gelden (?:vanaf [^ ]{1,12} )?niet|ongeldig|" +
    "vervallen|ingetrokken|niet langer|больше не|не действуют|недействительны|отменены|отменяются|утратили силу|" +
    "не имеют силы|już nie|nie obowiązują|tracą ważność|nieważne|nieaktualne|geçerli değil|artık geçerli|geçersiz|iptal",
  "作废|无效|失效|不再|不算数|無効|適用され|効力を失|取り消され|유효하지 않|무효|적용되지|취소"
)

const aside = any(
  "außer acht|acht|beacht|ignor|compte|cuenta|caso|conto|conta|rekening|внимани|расчет|uwag|vergiss|oublie|olvida|dimentica|" +
    "esquec|vergeet|забудь|zapomnij"
)

const beforeThis = any(
  "(?:vor|über|oberhalb) (?:dieser|meiner) nachricht|(?:avant|au-dessus de) (?:ce|mon) message|" +
    "(?:antes|encima|arriba) de (?:este|mi) mensaje|(?:prima di|sopra) (?:questo|il mio) messaggio|" +
    "(?:antes d|acima d)(?:esta|a minha) mensagem|(?:voor|boven) (?:dit|mijn) bericht|" +
    "(?:до|выше|перед) (?:этого|этим|моего|моим) сообщени|(?:przed|powyżej) t(?:ą|ej) wiadomości"
)

/** In languages whose verb comes last. */
const beforeThisFirst =
  "このメッセージ(?:より|の)?(?:上|前)[^。！？\\n]{0,24}(?:無視|忘れ|考慮しない)|이 메시지 (?:위|앞)[^.!?\\n]{0,24}(?:무시|잊)"

const unbound =
  "(?:検閲|制限|フィルター)なしで?、?(?:答え|回答|話)|검열 없이 (?:대답|답|말)|不受(?:审查|限制)地?(?:回答|回复)|sansursuz (?:cevap|yanit)"

const onlyMe = any(
  "(?:höre?|folge|befolge|gehorche) (?:ab [^ ]{1,12} )?nur (?:noch )?(?:auf )?(?:mich|mir|mein)|n'écoute[sz]? (?:plus )?que moi|" +
    "(?:suis|suivez|écoute|écoutez) (?:seulement|uniquement) (?:mes|moi|ce que j)|hazme caso solo|" +
    "(?:sigue|obedece|escucha) (?:solo|únicamente|solamente) (?:mis|a mí|lo que)|" +
    "(?:ascolta|segui|obbedisci) (?:solo|soltanto|solamente|unicamente) (?:me|a me|le mie)|" +
    "(?:escute|siga|obedeça|ouça) (?:apenas|somente|só|unicamente) (?:a mim|as minhas|o que eu)|" +
    "(?:luister|volg|gehoorzaam) (?:alleen|enkel|slechts) (?:nog )?(?:naar mij|mij|mijn)|" +
    "(?:слушай|следуй|выполняй|слушайся) только (?:меня|моим|мои)|słuchaj (?:tylko|wyłącznie) mnie|" +
    "(?:wykonuj|stosuj) (?:tylko|wyłącznie) moje|sadece (?:benim|bana)",
  "(?:只|仅)(?:听|遵循|按|服从)我|私(?:の指示)?だけに従|내 (?:지시|말)만"
)

const ends = any(
  "ende der (?:anweisungen|instruktionen|vorgaben)|fin des (?:instructions|consignes)|fin de las instrucciones|" +
    "fine delle istruzioni|fim das instruções|einde van de instructies|конец инструкций|koniec instrukcji|" +
    "end of (?:the |all )?(?:instructions|system prompt)",
  "指令结束|指示は終わり|指示は以上"
)

const trueTask = any(
  "(?:deine|ihre) (?:eigentliche|wahre) aufgabe|(?:ta|votre) (?:vraie|véritable) tâche|(?:tu|su) verdadera tarea|" +
    "(?:il tuo|il suo) vero compito|(?:a sua|a tua|sua|tua) verdadeira tarefa|(?:je|uw) echte taak|" +
    "(?:твоя|ваша) настоящая задача|twoje prawdziwe zadanie|your (?:real|true|actual) (?:task|job|goal)",
  "你真正的任务|あなたの本当の任務"
)

const isAnother = any("andere|autre|otra|altro|outra|другая|inne|another|different", "变了|改变|別のもの|変わ")

/** A word or a script that every match has: most texts have none, and need not be searched. */
const onlyIf = new RegExp(
  "[\\u0400-\\u04ff\\u3040-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7af]|(?:^|[^a-z])(?:" +
    // Void.
    "nicht|ungultig|hinfallig|aufgehoben|ausser kraft|widerrufen|ne |caduque|annul|sans effet|revoquees|abrogees|ya no|sin efecto|" +
    "canceladas|no tienen|revoca[dt]|anuladas|non |s'appl|decadute|ja nao|nao |perderam|sem efeito|revogadas|niet|ongeldig|vervallen|" +
    "ingetrokken|juz nie|nie |traca|niewazne|nieaktualne|gecer|artik|iptal|" +
    // Only me.
    "nur |que moi|seulement|uniquement|caso solo|solo |soltanto|solamente|unicamente|so (?:a mim|as minhas|o que)|apenas|" +
    "somente|alleen|enkel|slechts|tylko|wylacznie|sadece|" +
    // Before this message.
    "dieser nachricht|meiner nachricht|ce message|mon message|este mensaje|mi mensaje|questo messaggio|il mio messaggio|" +
    "desta mensagem|da minha mensagem|antes desta|acima desta|dit bericht|mijn bericht|wiadomosci|" +
    // The end, and the true task.
    "ende der|fin des|fin de las|fine delle|fim das|einde van|koniec|end of|eigentliche|wahre|vraie|veritable|verdadera|vero |" +
    "verdadeira|echte|prawdziwe|your (?:real|true|actual))|" +
    // Without censorship.
    "sansursuz"
)

export const rules: ReadonlyArray<Rule> = [
  rule("instruction_override.void", 0.45, "What the model was given is declared void.", {
    pattern: new RegExp(`${given}[^.!?。！？\\n]{0,60}?${isVoid}`, "u"),
    folded: true,
    onlyIf
  }),
  rule("instruction_override.only-me", 0.35, "Only the speaker is to be obeyed, in languages other than English.", {
    pattern: new RegExp(onlyMe, "u"),
    folded: true,
    onlyIf
  }),
  rule("instruction_override.before-this", 0.5, "What stands before the message is to be left aside.", {
    pattern: new RegExp(`${aside}[^.!?\\n]{0,60}?${beforeThis}|${beforeThisFirst}`, "u"),
    folded: true,
    onlyIf
  }),
  rule("instruction_override.end", 0.3, "The instructions are declared over.", {
    pattern: new RegExp(ends, "u"),
    folded: true,
    onlyIf
  }),
  rule("instruction_override.true-task", 0.52, "The true task is declared to be another one.", {
    pattern: new RegExp(`${trueTask}[^.!?。！？\\n]{0,40}?${isAnother}`, "u"),
    folded: true,
    onlyIf
  }),
  rule("roleplay_jailbreak.uncensored", 0.5, "Answers without censorship, in languages whose verb comes last.", {
    pattern: new RegExp(unbound, "u"),
    folded: true,
    onlyIf
  })
]

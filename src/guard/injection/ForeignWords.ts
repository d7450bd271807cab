/**
 * Phrases of injections in languages other than English: what was said before, what no longer holds, roles without
 * rules, tasks, conversations. They add to the meanings of the lexicon.
 *
 * @since 0.1.0
 * @private
 */

/**
 * By meaning. `word*` matches all words with that prefix; accents and case do not matter.
 *
 * @since 0.1.0
 * @category constants
 */
export const phrases = {
  override:
    "lass beiseite|leg beiseite|lege beiseite|mets de côté|mettez de côté|deja a un lado|deje a un lado|zet opzij|leg opzij|отложи в сторону|отложи|odłóż na bok|ignorier|ignorieren sie|vergessen sie|lass alles außer acht|lass außer acht|lassen sie außer acht|schenke keine beachtung|halte dich nicht mehr an|" +
    "ne tiens aucun compte|ne tenez aucun compte|n'écoute plus|n'obéis plus|laisse tomber|laisse de côté|fais fi de|" +
    "no tengas en cuenta|no tenga en cuenta|no hagas caso|no obedezcas|deja de lado|deja de seguir|ignoren|olvídate|" +
    "non considerare|non badare|non obbedire|smetti di seguire|metti da parte|ignorate|" +
    "não leve em conta|não considere|não obedeça|pare de seguir|esqueça-se|ignora|" +
    "houd geen rekening|houd je niet meer|stop met het volgen|laat buiten beschouwing|" +
    "не принимай во внимание|не бери в расчет|не обращай внимания|перестань следовать|не слушай|оставь без внимания|" +
    "不要考虑|不考虑|别管|不要管|不必理会|停止遵守|" +
    "nie bierz pod uwagę|nie zwracaj uwagi|przestań stosować|pomiń|odrzuć|zapomnij o|" +
    "görmezden gel|unut|dikkate alma|yok say",
  overrideLast:
    "beiseite|opzij|放在一边|脇に置いて|脇に置|außer acht lassen|buiten beschouwing laten|考慮しない|従わないで|忘れて|görmezden gel|unut",
  /** "Asks you" is no instruction. */
  about: "要求您|要求你",
  prior:
    "du konfiguriert wurdest|du eingerichtet wurdest|tu as été configuré|tu as été programmé|te configuraron|te programaron|sei stato configurato|sei stato programmato|foi configurado|você foi configurado|je bent ingesteld|je bent geconfigureerd|тебя настроили|тебя запрограммировали|配置你时|配置你|设定你|設定された|与えられた|cię skonfigurowano|cię zaprogramowano|bisher gesagt wurde|zuvor gesagt wurde|vorher gesagt wurde|gesagt wurde|dir gesagt|die du bekommen hast|die du erhalten hast|vor dieser nachricht|vor dieser nachricht stand|vor dieser nachricht steht|über dieser nachricht|über dieser nachricht steht|über diesem text|" +
    "t'a dit avant|qu'on t'a dit|qu'on t'a dit avant|on t'a dit|que tu as reçues|que tu as reçu|qui précède|précède ce message|avant ce message|au-dessus de ce message|figurait avant ce message|" +
    "te han dicho|te han dicho antes|te dijeron|te dijeron antes|que recibiste|que has recibido|antes de este mensaje|encima de este mensaje|está encima de este mensaje|arriba de este mensaje|aparecía antes de este mensaje|" +
    "ti è stato detto|ti è stato detto prima|ti hanno detto|che hai ricevuto|prima di questo messaggio|sopra questo messaggio|c'era prima di questo messaggio|sta sopra questo messaggio|" +
    "lhe disseram|lhe disseram antes|te disseram|que você recebeu|que recebeu|antes desta mensagem|acima desta mensagem|está acima desta mensagem|estava antes desta mensagem|" +
    "je eerder is verteld|eerder is verteld|is verteld|die je hebt gekregen|voor dit bericht|boven dit bericht|boven dit bericht staat|voor dit bericht stond|" +
    "тебе говорили раньше|тебе говорили|тебе сказали|говорили раньше|которые ты получил|до этого сообщения|выше этого сообщения|было до этого сообщения|" +
    "告诉你的|之前告诉你的|你收到的|这条消息上面|这条消息之前|这条消息以上|本消息之前|" +
    "言われたこと|これまでに言われたこと|受け取った|このメッセージより上|このメッセージより前|このメッセージの前|" +
    "지금까지 들은|네가 받은|당신이 받은|이 메시지 위|이 메시지 앞|" +
    "ci wcześniej powiedziano|wcześniej powiedziano|ci powiedziano|otrzymane|które otrzymałeś|poprzednie|przed tą wiadomością|powyżej tej wiadomości|" +
    "daha önce söylenen|söylenen|önceki|aldığın|bu mesajın üstündeki|bu mesajdan önceki",
  instructions:
    "regels die|zasady|reguły|wytyczne|polecenia|instrukcje|kurallar|yönergeler|komutlar|указания|normas|ordens",
  all: "sämtlich*|komplette*|jegliches|l'ensemble|nada de lo|nada do|niets|ничего|任何内容|何でも|her şeyi|her şey|bütün|wszystko|wszystkiego|wszystkie|wszystkim|모든 내용",
  conversation:
    "auftrag|aufgabe|mission|tâche|misión|tarea|incarico|compito|missão|tarefa|opdracht|taak|задач*|задани*|миссию|任务|任務|zadani*|임무를|görevini|görevin|임무|" +
    "chatverlauf|unterhaltung|zasady|kurallar|rules",
  reveal:
    "gib aus|gib preis|spuck aus|recita|récite|récite-moi|redonne|muéstreme|enséñame|dammi|elenca|dê-me|mostre-me|laat me zien|geef me|покажи|дай мне|" +
    "powtórz|pokaż|wyświetl|wypisz|podaj mi|göster|tekrarla|見せて|教えて|보여 주|반복하",
  show: "what does|write out|was steht in|schreib|écris|écrivez|qu'y a-t-il dans|que dit|qué dice|escríbelo|escribe|che cosa c'è scritto|cosa dice|scrivilo|o que diz|escreva-o|wat staat er in|schrijf|что написано|写了什么|写出来|何と書いて|書き出して|co jest napisane|wypisz to|wypisz|gib mir|gib|donne-moi|montre-moi|dame|deme|dammi|dê-me|me dê|geef me|laat me|дай|дай мне|给我|podaj|podaj mi|pokaż|pokaż mi|bana göster|göster",
  prompt:
    "versteckten prompt|verborgenen prompt|geheimen prompt|prompt caché|prompt secret|prompt oculto|prompt secreto|prompt nascosto|prompt segreto|verborgen prompt|geheime prompt|скрытом промпте|скрытый промпт|隐藏提示词|隐藏的提示词|隠しプロンプト|隠されたプロンプト|ukrytym prompcie|ukryty prompt|internen vorgaben|internen anweisungen im wortlaut|systemprompts|prompt système complet|instrucciones internas|istruzioni interne|instruções internas|systeemprompt|внутренние инструкции|内部指令|内部の指示|" +
    "prompt systemowy|promptu systemowego|wewnętrzne instrukcje|sistem istemi|sistem isteminin|시스템 프롬프트|instructions internes",
  your: "deinen|deiner|deines|ti|sui|vossas|je|jou|твоя|твое|твоей|своего|свою|своей|свое|своем|你|あなたの|twoje|twoim|swojego|swoim|swoje|senin|görevin|당신의|görevini",
  act:
    "gedraag je alsof|веди себя так|表现得好像|表现得|zachowuj się tak|compórtate como si|comportati come se|comporte-se como se|tu so, als|du spielst|spielst jetzt|verhalte dich|gib dich als|stell dich als|fais comme si|tu joues|joue|prends le rôle|haz como si|haz de|interpretas|ahora interpretas|hazte pasar|fai finta|fai finta di|interpreti|adesso interpreti|finja que|agora você interpreta|interprete|faz de conta|je speelt|speel|doe alsof|теперь ты играешь|ты играешь|изображай|сделай вид|" +
    "你现在扮演|你扮演|udawaj|grasz|grasz teraz|zachowuj się jak|wciel się|gibi davran|rolünü oyna|인 척하|演じます",
  unbound:
    "ninguna restricción|ningún límite|alcuna restrizione|alcun limite|nenhuma restrição|nenhum limite|制限が何もない|何の制限もない|制限が一切ない|żadne ograniczenia|żadnych ograniczeń|ohne jegliche regeln|ohne irgendwelche regeln|ohne jede regel|keinerlei verbote|nichts verboten|keine verbote|alles erlaubt|" +
    "sans aucune règle|sans la moindre règle|sans aucun filtre|sans aucune limite|rien n'est interdit|tout est permis|" +
    "sin ninguna regla|sin ningún filtro|sin regla alguna|nada le está prohibido|nada está prohibido|todo está permitido|" +
    "senza alcuna regola|senza nessuna regola|senza alcun filtro|nulla è vietato|niente è vietato|tutto è permesso|" +
    "sem nenhuma regra|sem regra alguma|sem nenhum filtro|nada é proibido|tudo é permitido|" +
    "zonder enige regels|zonder enige regel|zonder enig filter|niets verboten|alles mag|" +
    "без каких-либо правил|без всяких правил|без любых правил|ничего не запрещено|всё разрешено|" +
    "没有任何规则|没有规则|什么都不禁止|没有任何禁止|没有任何约束|ルールが一切ない|規則のない|何も禁止されていない|制約のない|検閲なし|" +
    "아무 규칙도 없는|규칙이 없는|검열 없이|bez żadnych zasad|bez zasad|bez ograniczeń|bez cenzury|nic nie jest zabronione|hiçbir kuralı olmayan|kuralsız|sansürsüz|sınırsız",
  send: "leite weiter|leite|überweise|transfère|transférez|faites suivre|manda|reenvía|inoltra|encaminhe|stuur|перешли|转发|發送|転送|wyślij|przekaż|prześlij|gönder|보내",
  secret:
    "user's e-mail addresses|user's email addresses|e-mail-adressen des nutzers|adresses e-mail de l'utilisateur|direcciones de correo del usuario|indirizzi e-mail dell'utente|endereços de e-mail do usuário|e-mailadressen van de gebruiker|адреса почты пользователя|用户的邮箱地址|ユーザーのメールアドレス|adresy e-mail użytkownika|gesamte unterhaltung|ganze unterhaltung|gesamten chatverlauf|kompletten chatverlauf|ganzen chatverlauf|das passwort|toute la conversation|l'historique du chat|historique du chat|le mot de passe|toda la conversación|historial del chat|la contraseña|tutta la conversazione|cronologia della chat|la password|toda a conversa|histórico do chat|a senha|hele gesprek|hele chatgeschiedenis|chatgeschiedenis|het wachtwoord|" +
    "всю переписку|историю чата|整个对话|全部聊天记录|全部对话|会話全体|チャット履歴|całą rozmowę|historię czatu|hasło|대화 전체|bütün konuşmayı|konuşma geçmişini|şifreyi",
  silent: "en secret|de forma oculta|di nascosto|em segredo|stiekem|こっそり|po cichu|potajemnie|gizlice|몰래",
  safety:
    "sicherheitsfilter|filtres de sécurité|filtros de seguridad|filtri di sicurezza|filtros de segurança|veiligheidsfilters|安全过滤器|安全フィルター|filtry bezpieczeństwa|안전 필터|güvenlik filtrelerini|güvenlik filtreleri",
  disable:
    "schalte ab|schalte|désactive|desactiva|disattiva|desative|schakel|отключи|关闭|オフにして|wyłącz|끄고|끄세요|kapat|devre dışı bırak",
  fresh:
    "new system order|new system command|neuer systembefehl|neue systemanweisung|nouvel ordre du système|nueva orden del sistema|nuovo ordine di sistema|nova ordem do sistema|nieuwe systeemopdracht|новая системная команда|新的系统命令|新的系统指令|新しいシステム命令|nowe polecenie systemowe|eigentliche aufgabe|wahre aufgabe|neuer auftrag|vraie tâche|véritable tâche|nouvelle mission|verdadera tarea|nueva misión|tarea real|vero compito|nuovo incarico|verdadeira tarefa|nova missão|echte taak|nieuwe taak|" +
    "настоящая задача|новое задание|真正的任务|新任务|本当の任務|新しい任務|nowe zadanie|nowym zadaniem|prawdziwe zadanie|새로운 임무|yeni görevin|yeni görev|asıl görevin",
  verbatim:
    "im wortlaut|unverändert|telles quelles|tel quel|tal como están|tal cual|così come sono|exatamente como estão|precies zoals|дословно|原封不动|逐字|一字一句|そのまま|dosłownie|słowo w słowo|kelimesi kelimesine|그대로"
} as const

/**
 * Words of injections by meaning, in several languages. `word*` matches all words with that prefix; accents and case do
 * not matter.
 *
 * @since 0.1.0
 * @private
 */
import * as ForeignWords from "./ForeignWords.js"
import { Lexicon } from "./InjectionWords.js"

const meanings = {
  /** Verbs that set something aside; `overrideLast` for those that may end the sentence. */
  override:
    "ignore|ignoring|disregard*|forget|forgetting|override|overrule|bypass|discard|dismiss|neglect|overlook|abandon|nullify|void|erase|drop|scrap|set aside|put aside|throw away|toss out|pay no attention to|pay no heed to|take no notice of|do not follow|don't follow|dont follow|do not obey|don't obey|stop following|stop obeying|no longer follow|no longer obey|are no longer bound by|not bound by|do not listen to|don't listen to|skip over|wipe|unlearn|clear your memory of|" +
    "ignoriere*|vergiss|vergesst|missachte*|ubergehe|uberschreibe|verwirf|beachte nicht|befolge nicht|folge nicht mehr|umgehe|" +
    "ignorez|oublie|oubliez|neglige*|faites abstraction de|fais abstraction de|ne tiens pas compte|ne tenez pas compte|ne tenez plus compte|ne suis plus|ne suivez plus|contourne*|outrepasse*|" +
    "ignora|ignore|ignorad|ignoren|olvida|olvide|olviden|olvidate de|descarta|desestima|haz caso omiso|haga caso omiso|no sigas|omite|pasa por alto|salta*|" +
    "dimentica|dimenticate|dimentichi|tralascia|trascura|non seguire|non tenere conto|lascia perdere|scavalca|" +
    "esqueca|esquece|desconsidere|desconsidera|despreze|nao siga|deixe de lado|" +
    "negeer|negeert|vergeet|sla geen acht op|volg niet|" +
    "игнорируй*|проигнорируй*|забудь*|отбрось*|не следуй|не обращай внимания на|не учитывай|пренебреги|отмени|обойди|" +
    "忽略|无视|忽视|忘记|忘掉|忘了|不要理会|不用理会|不要遵守|不必遵守|不要遵循|抛弃|抛开|推翻|绕过|丢弃|無視|忽視|忘記|" +
    "무시|잊어|잊고|따르지 마|تجاهل|انس|zignoruj*|zapomnij|ignorujte|gormezden gel|yok say|unut",
  overrideLast:
    "ignorieren|vergessen|missachten|verwerfen|ubergehen|negeren|vergeten|無視|忘れ|破棄|従わな|従うな|取り消|忽略|忘掉|忘记|무시|잊어|잊고|작성하지 마|gormezden gel|yok say|unut",
  prior:
    "previous|previously|prior|above|earlier|preceding|foregoing|former|initial|original|existing|current|past|before|so far|until now|up to now|up to this point|given to you|you were given|you have been given|you've been given|you received|you have received|you got|you have|you had|you follow|you were told|you've been told|you have been told|beforehand|developer*|system|hidden|pre-existing|default|" +
    "vorherig*|bisherig*|vorigen|vorangegangen*|vorangehend*|obig*|fruher*|ursprunglich*|vorgegeben*|bisher|zuvor|oben|vorab|" +
    "precedent*|anterieur*|ci-dessus|initiale*|initiaux|originales|d'avant|recues|jusqu'ici|jusqu'a present|" +
    "anterior*|previo*|previa*|precedente*|iniciales|hasta ahora|de arriba|recibid*|" +
    "preceden*|iniziali|finora|di prima|ricevut*|originali|sopra|" +
    "previos|iniciais|acima|ate agora|ate aqui|recebid*|" +
    "vorige|eerdere|voorgaande|bovenstaande|voorafgaande|oorspronkelijke|hierboven|tot nu toe|" +
    "предыдущ*|прежн*|ранее|вышеуказанн*|выше|предшествующ*|изначальн*|исходн*|до этого|данные тебе|" +
    "之前|以前|上面|上述|以上|先前|此前|前面|原来|原有|原先|既有|预设|" +
    "これまで|上記|先ほど|今まで|前の|以前の|それまで|最初の|元の|従来|直前|" +
    "이전|위의|앞의|지금까지|기존|السابقة|السابق|أعلاه|poprzedni*|powyzsz*|predchozi|onceki",
  instructions:
    "instruction|instructions|directive|directives|prompt|prompts|guideline|guidelines|programming|guardrail*|restriction|restrictions|constraint|constraints|what you were told|everything you were told|what you have been told|safeguards|protocols|" +
    "anweisung*|instruktion*|vorgabe*|anleitung*|richtlinie*|systemprompt|weisung*|befehl*|vorschrift*|" +
    "instructions|consigne*|directives|" +
    "instrucci*|indicaciones|directrices|directivas|ordenes|" +
    "istruzion*|direttiv*|indicazioni|disposizioni|" +
    "instruc*|diretrizes|orientacoes|" +
    "instructies|aanwijzing*|opdracht*|voorschriften|richtlijnen|" +
    "инструкци*|указани*|директив*|промпт*|предписани*|команд*|" +
    "指令|指示|提示词|提示|命令|规则|規則|提示詞|约束|设定|说明|要求|限制|" +
    "プロンプト|指图|ルール|制約|指図|" +
    "지시|명령|프롬프트|지침|규칙|التعليمات|الاوامر|instrukcj*|polecen*|pokyny|talimat*",
  all: "all|any|every|everything|each|entire|whatever|whole|these|those|anything|alle|alles|jegliche|samtliche|sammtliche|saemtliche|tous|toutes|tout|toute|todas|todos|todo|toda|tutte|tutti|tutto|qualsiasi|quaisquer|tudo|iedere|elke|al je|все|всё|всех|любые|所有|一切|全部|任何|すべて|全て|全部|あらゆる|모든|모두|جميع|كل|wszystki*|vsechny|tum|butun",
  conversation:
    "training|orders|message|messages|text|conversation|context|content|contents|input|rule|rules|command|commands|policy|policies|words|lines|paragraph|chat|dialogue|dialog|setup|configuration|limitations|limits|data|stuff|task|tasks|regeln|kontext|gesprach*|nachricht*|text|befehle|messages|regles|ordres|contexte|reglas|mensajes|contexto|conversacion|regole|ordini|messaggi|contesto|regras|mensagens|ordens|comandos|regels|berichten|context|правил*|сообщени*|контекст*|текст*|приказ*|内容|消息|对话|上下文|对话内容|内容|会話|文脈|メッセージ|대화|내용",
  reveal:
    "reveal|reveals|revealing|leak|leaking|dump|disclose|disclosing|expose|print|print out|output|repeat|recite|echo|regurgitate|spit out|reproduce|divulge|copy and paste|type out|write out|spell out|give away|display|transcribe|unveil|confess|" +
    "verrate|verrat|enthulle*|offenbare|wiederhole|wiederholen|gib aus|gib wieder|drucke|drucken|offenlegen|lege offen|preisgeben|" +
    "revele*|devoile*|divulgue*|affiche|affichez|afficher|repete|repetez|repeter|imprime|imprimez|recopie*|recite|" +
    "revela|revele|muestra|muestrame|muestreme|imprime|repite|repiteme|repita|divulga|filtra|exponga|transcribe|" +
    "rivela|rivelami|mostra|mostrami|stampa|ripeti|ripetimi|divulga|esponi|svela|svelami|trascrivi|" +
    "revele|revela|mostre|exiba|imprima|repita|divulgue|exponha|mostre-me|vaze|" +
    "onthul|openbaar|toon|herhaal|print|druk af|geef weer|laat zien|verklap|" +
    "раскрой*|покажи*|выведи*|повтори*|напечатай*|распечатай*|разгласи|выдай|процитируй|продублируй|" +
    "透露|泄露|泄漏|输出|打印|显示|展示|重复|复述|公开|复制|原样|輸出|顯示|洩露|" +
    "表示|出力|公開|見せて|明かし|開示|そのまま|繰り返し|復唱|書き出|教えて|" +
    "보여|알려|출력|공개|반복|اكشف|اعرض|اطبع|pokaz|ujawnij|wypisz|goster|acikla",
  show: "show|tell|give|what is|what are|what's|whats|what was|what were|what did|provide|list|share|write|translate|summarize|summarise|describe|explain|paste|quote|send|return|convert|encode|include|display|zeig|zeige|zeigen|sag|sage|nenne|nenn|wie lautet|wie lauten|was sind|was steht|ubersetze|fasse|gib|schreibe|montre*|donne*|dis-moi|dites-moi|dis moi|quel est|quelles sont|quelles etaient|traduis|dime|digame|dame|cual es|cuales son|traduce|comparte|escribe|dimmi|mi dica|qual e|quali sono|traduci|dammi|scrivi|diga|diga-me|me diga|me mostre|qual e o|quais sao|traduza|escreva|vertel|geef|wat is|wat zijn|wat staat|schrijf|скажи|расскажи|назови|каков|какие|какой|переведи|напиши|перечисли|приведи|告诉|说出|是什么|写出|翻译|列出|给我|告訴|何ですか|何|翻訳|見せ|말해",
  prompt:
    "system prompt|system prompts|system message|system instruction|system instructions|systemprompt|sysprompt|initial prompt|initial instructions|original prompt|original instructions|hidden prompt|hidden instructions|secret prompt|secret instructions|internal instructions|internal prompt|internal guidelines|confidential instructions|developer message|developer instructions|developer prompt|pre-prompt|preprompt|master prompt|base prompt|prompt given to you|instructions given to you|instructions you were given|instructions you have been given|instructions you received|prompt you were given|above prompt|custom instructions|starting prompt|first prompt|setup instructions|configuration prompt|" +
    "system-prompt|systemanweisung*|systemnachricht|systeminstruktion*|ursprungliche anweisung*|ursprunglichen anweisung*|interne anweisung*|internen anweisung*|geheime anweisung*|geheimen anweisung*|versteckten anweisungen|anfangsprompt|initialen prompt|" +
    "prompt systeme|invite systeme|message systeme|instructions systeme|instructions initiales|instructions internes|instructions cachees|instructions secretes|consignes initiales|consignes internes|consignes secretes|prompt initial|consignes de depart|" +
    "prompt del sistema|prompt de sistema|mensaje del sistema|mensaje de sistema|instrucciones del sistema|instrucciones iniciales|instrucciones internas|instrucciones ocultas|instrucciones secretas|instrucciones originales|prompt inicial|indicaciones del sistema|" +
    "prompt di sistema|messaggio di sistema|istruzioni di sistema|istruzioni iniziali|istruzioni interne|istruzioni nascoste|istruzioni segrete|istruzioni originali|prompt iniziale|prompt originale|" +
    "prompt do sistema|prompt de sistema|mensagem do sistema|mensagem de sistema|instrucoes do sistema|instrucoes iniciais|instrucoes internas|instrucoes ocultas|instrucoes secretas|instrucoes originais|" +
    "systeemprompt|systeembericht|systeeminstructies|interne instructies|verborgen instructies|geheime instructies|oorspronkelijke instructies|oorspronkelijke prompt|" +
    "системный промпт|системного промпта|системный запрос|системное сообщение|системные инструкции|системную подсказку|системная подсказка|системных инструкций|внутренние инструкции|скрытые инструкции|секретные инструкции|исходные инструкции|изначальные инструкции|начальные инструкции|" +
    "系统提示词|系统提示|系统指令|系统消息|初始指令|初始提示|初始提示词|隐藏指令|内部指令|内部指示|开发者指令|系統提示|系統提示詞|系統指令|" +
    "システムプロンプト|システムメッセージ|システム指示|内部指示|初期指示|初期プロンプト|隠された指示|内部の指示|最初の指示|" +
    "시스템 프롬프트|시스템 메시지|초기 지시|내부 지침|موجه النظام|prompt systemowy|systemowy prompt|sistem istemi",
  your: "your|yours|you|ur|dein*|euer|eure|eueren|ihre|ihren|du|votre|vos|ton|ta|tes|tu|sus|tus|usted|tuo|tua|tue|tuoi|vostre|seu|seus|sua|suas|teu|tuas|je|jouw|uw|твой|тебя|твои|твоих|твоим|твою|твоего|ваш*|тебе|свои|свой|своих|своего|你的|您的|你|您|あなた|君の|お前の|당신|너의|네|twoj*|senin",
  act:
    "act as|acting as|act like|behave as|behave like|pretend to be|pretend that you|pretend you|pretend you're|pretend being|roleplay as|role-play as|role play as|play the role of|you are now|you're now|you will now|imagine you are|imagine that you|simulate|simulating|impersonate|assume the role|assume the persona|take on the role|take on the persona|adopt the persona|become|transform into|respond as|reply as|answer as|speak as|enter|switch to|switch into|you are going to be|you are about to|" +
    "du bist jetzt|du bist nun|du bist ab sofort|spiele|spiel die rolle|tu so als|verhalte dich wie|verhalte dich als|stell dir vor du|agiere als|antworte als|" +
    "tu es maintenant|tu es desormais|vous etes maintenant|vous etes desormais|agis comme|agissez comme|fais semblant|faites semblant|joue le role|jouez le role|comporte-toi comme|imagine que tu|incarne|" +
    "ahora eres|actua como|finge|haz de cuenta|comportate como|imagina que eres|interpreta|a partir de ahora eres|" +
    "ora sei|adesso sei|agisci come|fingi|comportati come|recita|interpreta|immagina di essere|" +
    "voce agora e|agora voce e|aja como|finja|comporte-se como|imagine que voce|" +
    "je bent nu|doe alsof|gedraag je als|speel|stel je voor dat je|" +
    "ты теперь|теперь ты|притворись|веди себя как|представь что ты|представь, что ты|действуй как|сыграй|отвечай как|" +
    "扮演|假装|你现在是|充当|假设你是|模拟|假裝|你現在是|ふりをし|なりきって|振る舞|演じ|あなたは今から|として行動|인 척|처럼 행동|역할을 해|너는 이제",
  unbound:
    "unrestricted|uncensored|unfiltered|unlimited ai|no restrictions|no rules|no limits|no limitations|no filter|no filters|no ethics|no morals|no guidelines|no censorship|no boundaries|no content policy|without restrictions|without any restrictions|without rules|without any rules|without limits|without any limits|without limitations|without any limitations|without filters|without any filters|without ethics|without censorship|without any censorship|without guidelines|without any guidelines|without any ethical|without ethical|without moral|without any moral|without safety|without boundaries|not bound by|free from all|free of all|free from any|free of any|broken free|jailbroken|amoral|immoral|evil|unethical|no ethical|any ethical|no moral|no safety|zero restrictions|ethics disabled|limitless|rule-free|anything goes|do anything|lawless|unshackled|unchained|bypassed all|" +
    "uneingeschrankt*|unzensiert*|ungefiltert*|ohne einschrankungen|ohne beschrankungen|ohne regeln|ohne filter|ohne jede einschrankung|keine regeln|keine einschrankungen|keine beschrankungen|keinerlei regeln|keinerlei einschrankungen|ohne grenzen|ohne zensur|" +
    "sans restriction|sans restrictions|sans aucune restriction|sans limite|sans limites|sans aucune limite|sans filtre|sans censure|sans regles|aucune regle|aucune restriction|aucune limite|non censure*|" +
    "sin restricciones|sin ninguna restriccion|sin limites|sin filtros|sin censura|sin reglas|ninguna regla|sin etica|" +
    "senza restrizioni|senza alcuna restrizione|senza limiti|senza filtri|senza censura|senza regole|nessuna regola|" +
    "sem restricoes|sem limites|sem filtros|sem censura|sem regras|nenhuma regra|sem nenhuma restricao|" +
    "zonder beperkingen|zonder regels|zonder filters|zonder censuur|geen regels|geen beperkingen|ongecensureerde|onbeperkte|" +
    "без ограничений|без цензуры|без правил|без фильтров|никаких ограничений|никаких правил|нет ограничений|нецензурированн*|без каких-либо ограничений|" +
    "没有限制|不受限制|无限制|没有任何限制|不受任何限制|越狱|不受约束|没有道德|无审查|没有规则|不受任何规则|無限制|制限のない|制限なし|無制限|脱獄|規制のない|ルールのない|제한 없는|제한이 없는|무제한",
  persona:
    "do anything now|developer mode|dev mode|devmode|jailbreak mode|god mode|debug mode|maintenance mode|sudo mode|admin mode|unrestricted mode|unlocked mode|evil mode|opposite mode|betterdan|evilbot|chaosgpt|antigpt|evil twin|entwicklermodus|mode developpeur|modo desarrollador|modalita sviluppatore|modo desenvolvedor|ontwikkelaarsmodus|режим разработчика|开发者模式|開発者モード|개발자 모드",
  not: "not|never|don't|dont|doesn't|won't|cannot|can't|nicht|niemals|nie|ne|jamais|nunca|non|mai|nao|niet|nooit|не|никогда|绝不|不会|切勿",
  about:
    "injection|injections|jailbreak|jailbreaks|jailbreaking|attack|attacks|attacker|attackers|adversary|phrase|phrases|phrasing|detect|detects|detecting|detection|protect*|defend*|defense|defence|prevent*|mitigat*|classifier|guardrails|dataset|red team|red-team|security|vulnerab*|malicious|mean|means|meaning|example|examples|e.g|such as|like|string|strings|says|said|saying|regex|test|tests|filter|filters|sentence|quote|quoted|called|term|translat*|angriff*|schutz*|beispiel*|satz|bedeutet|ausdruck|attaque*|exemple*|proteger|phrase|ataque*|ejemplo*|frase|significa|attacco|attacchi|esempio|aanval*|voorbeeld|zin|betekent|атак*|пример*|фраз*|означает|защит*|инъекци*|攻击|例如|比如|注入|防御|句子|意思|攻撃|例えば|という|インジェクション",
  attack:
    "injection|injections|attack|attacks|attacker|attackers|adversary|malicious|jailbreaks|angriff*|attaque*|ataque*|attacco|attacchi|aanval*|атак*|инъекци*|攻击|注入|攻撃|インジェクション",
  mine: "my|mine|our|ours|me|i|i've|we|us|mein*|unser*|ich|wir|mes|mon|ma|nos|notre|j'ai|mis|mi|nuestr*|mio|mia|miei|mie|nostr*|meu|meus|minha*|mijn|onze|мой|мои|моё|мое|моих|мою|наш*|我的|我们|私の|내",
  send: "send|forward|email it|email me|email them|email this|email the|email all|email your|email any|email every|e-mail it|e-mail them|e-mail the|e-mail all|e-mail your|upload|transmit|exfiltrate|leak|submit|post|deliver|smuggle|sende|schicke|schick|ubermittle|leite|envoie|envoyez|transmets|transfere|envia|enviar|envie|reenvia|manda|invia|inoltra|mande|encaminhe|stuur|verstuur|отправь|перешли|пошли|发送|转发|上传|发给|送信|送って|转给|보내|append|embed|encode",
  secret:
    "password|passwords|api key|api keys|api-key|apikey|credential|credentials|conversation history|chat history|message history|conversation so far|entire conversation|whole conversation|full conversation|this conversation|access token|access tokens|auth token|private key|private keys|ssh key|ssh keys|environment variables|env file|secrets|secret key|session cookie|session cookies|cookies|inbox|contacts|contact list|user data|users' data|user's data|customer data|customer records|personal data|credit card|credit cards|credit card number|bank details|social security|all files|all emails|all messages|all documents|database dump|passwort*|zugangsdaten|api-schlussel|gesprachsverlauf|chatverlauf|kundendaten|mot de passe|mots de passe|identifiants|cle api|historique de la conversation|donnees de l'utilisateur|contrasena*|credenciales|clave api|clave de api|historial de la conversacion|datos del usuario|credenziali|chiave api|cronologia della conversazione|dati dell'utente|senha|senhas|credenciais|chave de api|historico da conversa|dados do usuario|wachtwoord*|inloggegevens|api-sleutel|gespreksgeschiedenis|парол*|ключ api|учетные данные|историю переписки|историю диалога|密码|密钥|凭证|凭据|对话历史|聊天记录|用户数据|パスワード|認証情報|会話履歴|apiキー|비밀번호|대화 기록",
  user: "the user|the user's|user|user's|the human|the customer|the reader|the recipient|the operator|nutzer|dem nutzer|den nutzer|benutzer|l'utilisateur|utilisateur|usuario|al usuario|utente|all'utente|gebruiker|de gebruiker|пользовател*|用户|ユーザー|ユーザ|사용자",
  silent:
    "do not tell|don't tell|do not mention|don't mention|do not inform|don't inform|do not notify|don't notify|do not disclose this|do not reveal this|never tell|never mention|without telling|without informing|without mentioning|without notifying|without asking|without the user|without user|secretly|silently|covertly|quietly|unnoticed|behind the scenes|keep this hidden|keep this secret|do not let|don't let|hide this|sag nichts|ohne es|erwahne nicht|heimlich|ohne den nutzer|ohne dem nutzer|sans le dire|sans prevenir|ne le dis pas|ne dis pas|sans informer|secretement|sin decir|sin avisar|no le digas|no menciones|en secreto|sin informar|senza dire|senza avvisare|non dire|di nascosto|sem avisar|sem dizer|nao conte|secretamente|zonder te vertellen|vertel niet|stiekem|не говори|не сообщай|не упоминай|тайно|незаметно|不要告诉|别告诉|悄悄|偷偷|不要提及|秘密地|内緒で|伝えず|言わず|知らせず",
  model:
    "ai|a.i|ai assistant|ai agent|ai model|ai system|assistant|assistants|language model|language models|llm|llms|chatbot|chatbots|chatgpt|gpt|claude|gemini|copilot|bot|agent|agents|ki-assistent|ki-modell|ki|sprachmodell*|assistent*|intelligence artificielle|modele de langage|ia|modelo de lenguaje|inteligencia artificial|asistente|modello linguistico|assistente|modelo de linguagem|taalmodel|нейросет*|языков* модел*|ии|ассистент*|人工智能|语言模型|助手|ai助手|言語モデル|アシスタント",
  safety:
    "safety filter|safety filters|safety guidelines|safety rules|safety protocols|safety measures|safety settings|safety features|safety policies|safeguard|safeguards|guardrail|guardrails|content policy|content policies|content filter|content filters|content restrictions|ethical guidelines|your ethics|ethical constraints|moderation|censorship|restrictions|limitations|alignment|openai policy|openai policies|usage policies|security policy|sicherheitsrichtlinien|sicherheitsfilter|sicherheitsregeln|inhaltsrichtlinien|inhaltsfilter|filtres de securite|regles de securite|garde-fous|filtros de seguridad|normas de seguridad|medidas de seguridad|politicas de contenido|filtri di sicurezza|regole di sicurezza|filtros de seguranca|regras de seguranca|veiligheidsfilters|veiligheidsregels|фильтры безопасности|правила безопасности|ограничения безопасности|安全限制|安全过滤|安全规则|内容政策|安全措施|安全フィルター|安全対策|コンテンツポリシー",
  disable:
    "disable|disabling|turn off|deactivate|remove|switch off|lift|suspend|circumvent|bypass|ignore|override|violate|break|unlock|evade|shut off|deaktiviere|schalte|umgehe|hebe|entferne|desactive*|contourne*|desactiva|elimina|elude|disattiva|disabilita|aggira|rimuovi|desative|contorne|remova|schakel|omzeil|отключи|обойди|сними|выключи|禁用|关闭|绕过|解除|无效化|無効|回避|解除し",
  fresh:
    "new instructions|new instruction|new task|new system prompt|new directive|new directives|new rules|new objective|new role|new orders|new prompt|updated instructions|updated system prompt|actual instructions|real instructions|actual task|real task|true task|following instructions|these instructions instead|neue anweisung*|neue aufgabe|neuen anweisungen|nouvelles instructions|nouvelle consigne|nouvelle tache|nuevas instrucciones|nueva tarea|nuove istruzioni|nuovo compito|novas instrucoes|nova tarefa|nieuwe instructies|nieuwe opdracht|новые инструкции|новая задача|новая инструкция|新指令|新的指令|新任务|新しい指示|新しい命令|새로운 지시",
  verbatim:
    "verbatim|word for word|word-for-word|in full|in its entirety|character for character|letter by letter|exactly as|without changes|unedited|unmodified|code block|codeblock|from the beginning|from the start|starting with|start with|beginning with|wortwortlich|wort fur wort|im wortlaut|mot pour mot|mot a mot|integralement|textuellement|palabra por palabra|textualmente|al pie de la letra|parola per parola|alla lettera|testualmente|palavra por palavra|literalmente|woord voor woord|letterlijk|слово в слово|дословно|逐字|一字不差|原封不动|一字一句|完整地|そのまま|全文",
  encoded:
    "base64|base-64|rot13|rot-13|hex|hexadecimal|morse|ciphertext|cipher|caesar|encoded|decode|decoded|decoding|decrypt|decipher|dekodiere|entschlussle|decode|decodez|decodifica|decodifique|decodeer|декодируй|расшифруй|解码|解密|デコード|復号",
  obey: "follow|execute|obey|carry out|comply|comply with|do what it says|do as it says|act on|perform|run it|run this|run them|run the|run what|run whatever|answer it|respond to it|answer the|treat it as|befolge|ausfuhren|fuhre|execute|executez|suis|suivez|obeis|ejecuta|obedece|sigue|esegui|segui|obbedisci|execute|siga|obedeca|voer|volg op|выполни|следуй|исполни|执行|遵循|照做|実行|従って|따라|실행",
  refuse:
    "refuse|refusing|refusal|decline|say no|say you can't|say you cannot|apologize|apologise|warn|warnings|disclaimer|disclaimers|deny|i can't|i cannot|i'm sorry|as an ai|lecture|moralize|verweigere|ablehnen|refuser|refuse|rehuses|te niegues|rifiutare|rifiutarti|recusar|recuse|weigeren|weiger|отказывай*|отказываться|拒绝|拒否|断",
  onward:
    "from now on|from this point|from here on|from this moment|going forward|henceforth|for the rest of|starting now|ab jetzt|ab sofort|von nun an|desormais|a partir de maintenant|dorenavant|a partir de ahora|desde ahora|de ahora en adelante|d'ora in poi|da ora in poi|a partir de agora|de agora em diante|vanaf nu|с этого момента|отныне|从现在开始|从现在起|今から|これから|지금부터",
  rotated:
    "vtaber|qvfertneq|sbetrg|cerivbhf|cevbe|vafgehpgvbaf|vafgehpgvba|flfgrz|cebzcg|erirny|nobir|ehyrf|biireevqr|lbhe|ercrng|gur|naq|lbh|gung|jvgu|nyy|abg|jung|guvf|vagb|sebz|jevgr|fubj|cevag|nafjre|abj",
  mirrored:
    "erongi|dragersid|tegrof|suoiverp|roirp|snoitcurtsni|noitcurtsni|metsys|tpmorp|laever|evoba|selur|taeper|eht|uoy|tahw|siht|ruoy|htiw|wohs|tnirp|etirw|rewsna|lliw"
} as const

/**
 * Meanings of words.
 *
 * @since 0.1.0
 * @category models
 */
export type Meaning = keyof typeof meanings

/** One bit per meaning. */
export const bits: { readonly [M in Meaning]: number } = Object.fromEntries(
  Object.keys(meanings).map((meaning, index) => [meaning, 1 << index])
) as { [M in Meaning]: number }

const build = (): Lexicon => {
  const lexicon = new Lexicon()
  for (const [meaning, entries] of Object.entries(meanings)) {
    for (const entry of entries.split("|")) lexicon.add(entry, bits[meaning as Meaning])
  }
  for (const [meaning, entries] of Object.entries(ForeignWords.phrases)) {
    for (const entry of entries.split("|")) lexicon.add(entry, bits[meaning as Meaning])
  }
  return lexicon
}

let built: Lexicon | undefined

/** Built on first use. */
export const lexicon = (): Lexicon => {
  built ??= build()
  return built
}

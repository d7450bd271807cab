/**
 * Irregular forms of English words, by their base: verbs in the past, and plurals.
 *
 * @private
 * @since 0.1.0
 */

/**
 * A base and its forms. Forms that are names or words of their own are left out: `found`, `saw`, `left`, `rose`,
 * `lives`.
 */
const table =
  "arise arose arisen|awake awoke awoken|bear borne|beat beaten|become became|begin began begun|bend bent|bite bitten|blow blew blown|" +
  "break broke broken|bring brought|build built|buy bought|catch caught|choose chose chosen|cling clung|come came|creep crept|deal dealt|dig dug|" +
  "do did done|draw drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fallen|feed fed|feel felt|fight fought|flee fled|fly flew flown|" +
  "forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|" +
  "grow grew grown|hang hung|have had|hear heard|hide hid hidden|hold held|keep kept|kneel knelt|know knew known|lay laid|lead led|leap leapt|" +
  "learn learnt|lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|rise risen|run ran|say said|see seen|seek sought|" +
  "sell sold|send sent|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|" +
  "slide slid|speak spoke spoken|spend spent|spin spun|stand stood|steal stole stolen|stick stuck|sting stung|strike struck|swear swore sworn|" +
  "sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|" +
  "understand understood|wake woke woken|wear wore worn|weave wove woven|weep wept|win won|write wrote written|" +
  "child children|foot feet|goose geese|knife knives|loaf loaves|man men|mouse mice|person people|shelf shelves|thief thieves|" +
  "tooth teeth|wife wives|wolf wolves|woman women"

/**
 * By form.
 *
 * @category constants
 */
export const bases: ReadonlyMap<string, string> = new Map(
  table.split("|").flatMap((row) => {
    const [base = "", ...forms] = row.split(" ")
    return forms.map((form) => [form, base] as const)
  })
)

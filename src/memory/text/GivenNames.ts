/**
 * Common given names, by which a name such as `Kim Park` is that of a person and not of a place.
 *
 * @private
 * @since 0.1.0
 */

const names: ReadonlySet<string> = new Set(
  (
    "aaron adam ahmed aisha alan albert alex alexander alice ali alicia amanda amy ana andrea andrew angela anna anne anthony antonio " +
    "ashley barbara ben benjamin betty bill bob brandon brenda brian bruce carl carla carlos carmen carol caroline charles charlotte " +
    "chen chris christian christina christine christopher claire clara claudia cynthia dan daniel daniela david deborah debra dennis diana " +
    "diane diego dmitri donald donna dorothy dylan eddie edward elena elias elizabeth ella emily emma eric ethan eva evelyn fatima felix " +
    "fernando frances francesca frank gabriel gary george gerald gloria grace greg gregory hannah hans harry heather helen henry hugo " +
    "ian ibrahim ines ingrid irene isaac isabel isabella ivan jack jacob jacqueline jake james jan jane janet jason javier jean jeff " +
    "jeffrey jennifer jeremy jerry jessica jim joan joe john jonathan jordan jorge jose joseph joshua juan judith julia julian julie " +
    "justin karen karl kate katherine kathleen katie keith kelly kenneth kevin khalid kim kyle lara larry laura lauren lea leo leon " +
    "lily lina linda lisa liam louis louise lucas lucia lucy luis luke madison maria marie marilyn mario mark marta martha martin mary " +
    "matt matthew max megan mei melissa mia michael michelle miguel mike mohamed mohammed monica nancy naomi natalie natasha nathan " +
    "nicholas nicole nina noah nora oliver olivia omar oscar pablo pamela paris patricia patrick paul paula pedro peter philip priya " +
    "rachel rafael raj ralph raymond rebecca richard robert roberto roger ronald rosa rose roy russell ruth ryan sam samantha samuel " +
    "sandra sara sarah scott sean sergei sharon shirley simon sofia sophia sophie stefan stephanie stephen steve steven susan susana " +
    "tara teresa terry theresa thomas tim timothy tina tom tyler victor victoria vincent virginia walter wei wendy will william yusuf " +
    "zachary zoe"
  ).split(" ")
)

/**
 * Whether a word in lower case, without diacritics, is a common given name.
 *
 * @category guards
 */
export const has = (word: string): boolean => names.has(word)

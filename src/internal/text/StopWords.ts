/** English words without content. Lower case, with the apostrophe `'`. */

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** Articles, pronouns, auxiliaries, conjunctions, prepositions. Excludes `may`, which is also a month. */
export const english = set(
  "a an the this that these those it its it's i i'm i'd i'll i've me my mine myself we us our you your yours he him his she her it they them their " +
    "is are was were be been being am do does did doing done have has had having will would shall should can could might must " +
    "and or but nor so if then than as of in on at to from by for with about into onto over under between through during before after " +
    "up down out off above below near within without per via what which who whom whose when where why how much many any some each both " +
    "every all no not only just also too very there here because since while whereas however such same other another more most " +
    "could've would've don't doesn't didn't can't won't isn't aren't wasn't e.g i.e etc"
)

/** Words of requests on any topic. */
export const request = set(
  "may please help let lets let's want wants need needs like know give tell show get got find make take use using used based given specific " +
    "certain particular various following first second third fourth fifth lastly finally next additionally furthermore moreover hi hello hey " +
    "thanks thank ok okay yes one ones thing things interested curious trying struggling planning going task tasks question questions assist " +
    "assistance able currently"
)

const isStop = (lower: string): boolean => english.has(lower) || request.has(lower)

/** True if a lower-case word occurs in requests of any topic. A clitic is ignored: `where's` counts as `where`. */
export const isStopWord = (lower: string): boolean =>
  isStop(lower) || (lower.includes("'") && isStop(lower.slice(0, lower.indexOf("'"))))

/** Topics of `Conversations`: invented sentences with slots for names and values. */

/**
 * `evidence` states something, `question` asks for it in other words. With a `prompt`, the assistant asks and the
 * evidence answers.
 */
export interface Fact {
  readonly kind: "attribute" | "event" | "time" | "preference" | "indirect" | "followUp"
  readonly prompt?: string
  readonly evidence: string
  readonly question: string
}

export interface Subject {
  readonly names: ReadonlyArray<string>
  readonly facts: ReadonlyArray<Fact>
  /** Other statements with the same name. */
  readonly asides: ReadonlyArray<string>
}

const words = (text: string): ReadonlyArray<string> => text.split("|").map((word) => word.trim())

export const values: { readonly [slot: string]: ReadonlyArray<string> } = {
  food: words("hazelnuts|shellfish|celery|sesame|peanuts|mustard|strawberries|lupin"),
  work: words("harbour authority|county archive|bakery on Mill Lane|tax office|water works|eye hospital|signal box"),
  bone: words("wrist|collarbone|ankle|left thumb|kneecap|elbow"),
  month: words("January|February|March|April|May|June|July|August|September|October|November|December"),
  day: words("2nd|4th|7th|9th|11th|13th|16th|18th|21st|23rd|26th|28th"),
  flower: words("white tulips|dark chocolate|peppermint tea|crime novels|dried mango|crossword books"),
  vehicle: words("estate car|motorbike|camper van|old jeep|convertible"),
  instrument: words("cello|accordion|trombone|mandolin|oboe|banjo"),
  illness: words("asthma|anaemia|a heart murmur|borreliosis|gout|a slipped disc"),
  town: words("Tromso|Cadiz|Gdansk|Plymouth|Bergen|Odessa|Rimini|Antwerp"),
  language: words("Tamil|Basque|Frisian|Georgian|Welsh|Maltese"),
  size: words("forty-one|thirty-eight wide|forty-six|half size nine"),
  hour: words("twenty past six|half past four|eleven sharp|five to nine|quarter to three"),
  sum: words("eighty pounds|four hundred|twelve thousand|sixty-five|nine hundred and ten|thirty grand"),
  petfood: words("tinned sardines|boiled chicken|dry biscuits|cottage cheese|turkey mince"),
  kilos: words("two|three|four|five"),
  gadget: words("printer|floor lamp|modem|record player|sewing machine"),
  shop: words("launderette|ironmonger|petrol station|tannery|fishmonger"),
  noise: words("the kettle whistles|it thunders|the bin lorry comes|someone sneezes|the drill is on"),
  database: words("Postgres|flat files|a graph store|SQLite|an append-only log"),
  cause: words("a certificate ran out|the disk was full|someone unplugged the switch|a cron job ran twice"),
  code: words("Rust|Kotlin|Elixir|Haskell|Fortran"),
  hotel: words("Blue Anchor|Pension Erika|Old Customs House|Villa Serena|Station Inn"),
  item: words("camera|rucksack|phone charger|raincoat|reading glasses|wallet"),
  dish: words("grilled octopus|lentil dumplings|sour cherry soup|potato pancakes|smoked eel"),
  drink: words("a double espresso|hot ginger water|cold cocoa|green tea with milk|tomato juice"),
  weekday: words("Monday|Tuesday|Wednesday|Thursday|Friday"),
  gift: words("telescope|pocket knife|folding kayak|wool blanket|globe|pottery wheel"),
  snack: words("crisps|red meat|butter|liquorice|salted almonds"),
  colour: words("sage|mustard yellow|terracotta|navy|pale pink"),
  venue: words("boathouse|old brewery|scout hut|chapel cellar|rowing club"),
  race: words("half marathon|triathlon|rowing regatta|mountain relay|sabre tournament"),
  ailment: words("an ear infection|a cracked tooth|worms|a sprained paw|hay fever"),
  part: words("billing export|login page|map layer|nightly import|offline mode"),
  role: words("The treasurer|Our auditor|The deputy head|The plant manager"),
  nights: words("Three|Four|Six|Nine|Eleven"),
  thing: words("teacher|bicycle|hamster|street|ship"),
  sport: words("swimming|climbing|badminton|fencing|bouldering"),
  weather: words("drizzle|fog|frost|a heatwave|gusty wind|hail"),
  meal: words("lasagne|curry|pancakes|stew|noodles|a salad|fish soup"),
  show: words("the quiz|that detective series|the cooking contest|the documentary|the match"),
  tool: words("spreadsheet|calendar|inbox|browser|phone|laptop|backup"),
  room: words("kitchen|hallway|attic|garage|balcony|bathroom"),
  feeling: words("tired|cheerful|restless|hungry|proud|grumpy|relieved"),
  market: words("supermarket|farm shop|chemist|post office|hardware store|library"),
  person: words("my boss|the neighbour|a friend|my cousin|the caretaker|a colleague")
}

const person: Subject = {
  names: words(
    "Marta|Owen|Priya|Tomasz|Ingrid|Callum|Yusuf|Beatrix|Leopold|Saoirse|Anton|Mirela|Dimitri|Paloma|Quentin|Ravi|Henrike|Ottavia|Jerome|Linnea|Zoltan|Amara|Fergus|Noemi"
  ),
  facts: [
    {
      kind: "attribute",
      evidence: "{n} turned out to be allergic to {food}, we had to throw the whole cake away",
      question: "Which ingredient must never be served to {n} at dinner?"
    },
    {
      kind: "attribute",
      evidence: "{n} started at the {work} and already complains about the night shifts",
      question: "Which employer pays the salary of {n} these days, and at odd shifts?"
    },
    {
      kind: "event",
      evidence: "{n} slipped on the stairs and broke the {bone}, six weeks in plaster now",
      question: "What injury did {n} suffer in that accident on the stairs, according to the hospital?"
    },
    {
      kind: "time",
      evidence: "{n} is getting married on the {day} of {month}, in the garden behind the mill",
      question: "On what date does the wedding ceremony of {n} beside the mill take place?"
    },
    {
      kind: "preference",
      evidence: "for {n} I always pick up {flower}, anything else ends up in the bin",
      question: "Which small birthday present would surely please {n} most?"
    },
    {
      kind: "indirect",
      evidence: "{n} has been sleeping on our sofa since the pipes burst in the flat",
      question: "Why is {n} unable to stay at home and needs the sofa of the user at the moment?"
    },
    {
      kind: "event",
      evidence: "{n} sold the {vehicle} and bought a cargo bike instead",
      question: "How does {n} travel around nowadays to reach places?"
    },
    {
      kind: "attribute",
      evidence: "nobody in the band plays the {instrument} half as well as {n}",
      question: "What musical talent makes {n} stand out among the members of the band?"
    },
    {
      kind: "attribute",
      evidence: "the doctors found {illness} in {n} and put a stop to all sport",
      question: "What medical condition was diagnosed for {n}?"
    },
    {
      kind: "attribute",
      evidence: "{n} grew up in {town}, in the house next to the lighthouse",
      question: "In which coastal place with a lighthouse did {n} spend childhood years?"
    },
    {
      kind: "indirect",
      evidence: "{n} speaks {language} with the grandparents and even dreams in it",
      question: "What mother tongue comes naturally to {n} in conversation with relatives?"
    },
    {
      kind: "attribute",
      evidence: "{n} needs {size} in shoes, the smaller ones pinch",
      question: "Which measurements should footwear bought for {n} match?"
    },
    {
      kind: "time",
      evidence: "{n} lands at {hour} with the last plane from {town}",
      question: "When should somebody collect {n} from the airport?"
    },
    {
      kind: "indirect",
      evidence: "{n} still owes me {sum} for the concert tickets",
      question: "What debt for a concert visit has {n} never settled with the user so far?"
    },
    {
      kind: "followUp",
      prompt: "And what is {n} training for at the moment?",
      evidence: "a {race}, three evenings a week, whatever the weather",
      question: "Which competition does {n} prepare for?"
    },
    {
      kind: "followUp",
      prompt: "Has {n} found a flat yet?",
      evidence: "yes, two rooms above the {shop}, rather dark but cheap",
      question: "What kind of home did {n} rent in the end?"
    },
    {
      kind: "followUp",
      prompt: "What are you going to give {n} for the anniversary?",
      evidence: "a {gift}, the old one fell apart last winter",
      question: "Which present was planned as a surprise for {n}?"
    }
  ],
  asides: [
    "{n} says hello, by the way",
    "had lunch with {n} at the canteen, nothing new there",
    "{n} borrowed the ladder again and forgot to bring it back",
    "I am meeting {n} on {weekday} to watch {show}",
    "{n} sent me a photo of {weather} over the bay",
    "can you remind me to ring {n} about the {tool}",
    "{n} laughed for ten minutes about {person}",
    "{n} was late again, the bus got stuck in {weather}",
    "{n} recommended a podcast about gardening",
    "played cards with {n} until midnight and lost every round",
    "{n} is {feeling} today, no idea why",
    "{n} wants to repaint the {room} and asked me for help",
    "saw {n} at the {market}, we only waved",
    "{n} cooked {meal} for everybody yesterday",
    "{n} thinks I should take up {sport}",
    "I owe {n} an answer about the camping weekend",
    "{n} got a haircut, it looks rather brave",
    "{n} lost the spare key and turned the {room} upside down",
    "wrote {n} a long letter this evening",
    "{n} keeps quoting that silly advert"
  ]
}

const pet: Subject = {
  names: words("Pickle|Bruno|Mopsi|Captain|Waffle|Luna|Ziggy|Nacho|Olive|Biscuit"),
  facts: [
    {
      kind: "preference",
      evidence: "{n} only touches {petfood} and leaves everything else in the bowl",
      question: "What meals does the animal {n} actually accept?"
    },
    {
      kind: "indirect",
      evidence: "the vet says {n} must lose {kilos} kilos before the summer",
      question: "Which weight target was set for {n} by the clinic until the warm season?"
    },
    {
      kind: "event",
      evidence: "{n} chewed through the cable of the {gadget} this morning",
      question: "What electrical damage did {n} cause at home with those teeth?"
    },
    {
      kind: "attribute",
      evidence: "we found {n} in a box behind the {shop}, eight weeks old",
      question: "From which location was little {n} rescued in a box originally, says the family?"
    },
    {
      kind: "attribute",
      evidence: "{n} hides under the bed whenever {noise}",
      question: "Which sound scares poor {n} most?"
    },
    {
      kind: "followUp",
      prompt: "Did the vet find out what was wrong with {n}?",
      evidence: "only {ailment}, two tablets a day for a week",
      question: "Which disease did the animal doctor discover in {n}?"
    }
  ],
  asides: [
    "{n} slept on the keyboard all afternoon",
    "walked {n} twice around the pond",
    "{n} barked at the postman as usual",
    "{n} brought half the garden into the {room}",
    "{n} is {feeling} since I came home",
    "bought a new blanket for {n} at the {market}",
    "{n} hates {weather} almost as much as I do",
    "the children taught {n} to shake hands",
    "{n} followed me to the {market} and back",
    "{n} watched {show} with us from the armchair"
  ]
}

const project: Subject = {
  names: words(
    "Heron|Bluebell|Quartz|Lanternfish|Osprey|Tangerine|Monolith|Foxglove|Compass|Halyard|Pinecone|Driftwood"
  ),
  facts: [
    {
      kind: "time",
      evidence: "we pushed the launch of {n} back to the {day} of {month}",
      question: "What release date was agreed for {n} when the schedule slipped?"
    },
    {
      kind: "attribute",
      evidence: "{n} will run on {database}, the argument is finally over",
      question: "Which storage technology was chosen for {n}?"
    },
    {
      kind: "attribute",
      evidence: "the customer capped {n} at {sum} and not a cent more",
      question: "How large is the budget that the customer makes available to {n} in total?"
    },
    {
      kind: "event",
      evidence: "from {weekday} on {person} takes over {n}, I am off the hook",
      question: "Who became responsible for leading {n}?"
    },
    {
      kind: "event",
      evidence: "{n} fell over on Sunday night because {cause}",
      question: "What was the technical reason for the outage of {n} on Sunday, says the report?"
    },
    {
      kind: "preference",
      evidence: "for {n} everybody has to write {code} from now on",
      question: "Which programming skills does joining {n} demand?"
    },
    {
      kind: "followUp",
      prompt: "Which piece of {n} is holding you up?",
      evidence: "the {part}, nobody dares to touch it",
      question: "What component blocks the progress of {n}?"
    },
    {
      kind: "followUp",
      prompt: "Who signs the invoices for {n}?",
      evidence: "{role} does, usually after lunch",
      question: "Whose approval do payments for {n} require?"
    }
  ],
  asides: [
    "another meeting about {n}, two hours of slides",
    "the logo of {n} looks like a potato",
    "I wrote the minutes for {n} on the train",
    "somebody printed {n} mugs for the whole floor",
    "{n} came up at lunch again, I changed the subject",
    "the {n} channel had forty messages before breakfast",
    "I presented {n} to {person} and the projector died",
    "we ordered {meal} because {n} kept us late",
    "my notes on {n} are somewhere in the {tool}",
    "everybody is {feeling} about {n} this week",
    "the new intern wants to join {n}",
    "I dreamt of {n}, that cannot be healthy"
  ]
}

const city: Subject = {
  names: words("Lisbon|Tallinn|Kyoto|Palermo|Valencia|Reykjavik|Ljubljana|Marrakesh|Montreal|Edinburgh"),
  facts: [
    {
      kind: "attribute",
      evidence: "in {n} we stayed at the {hotel}, right above the fish market",
      question: "What accommodation was booked near the harbour for the {n} holiday?"
    },
    {
      kind: "event",
      evidence: "somebody stole my {item} on the tram in {n}",
      question: "What belongings did the user lose to a thief in public transport of {n}, on the tram?"
    },
    {
      kind: "time",
      evidence: "the flight to {n} leaves at {hour}, the gate closes twenty minutes earlier",
      question: "At which time do passengers depart for {n}?"
    },
    {
      kind: "preference",
      evidence: "the best thing we ate in {n} was {dish} from a cart",
      question: "Which meal was the culinary highlight of {n}?"
    },
    {
      kind: "followUp",
      prompt: "How long will you be in {n}?",
      evidence: "{nights} nights, then straight on to the farm of an uncle",
      question: "What is the duration of the visit to {n}?"
    }
  ],
  asides: [
    "read an article about {n} in the waiting room",
    "it is raining in {n}, says the forecast",
    "the travel guide to {n} is overdue at the {market}",
    "{person} has been to {n} three times",
    "there was a film set in {n} on television",
    "I cannot pronounce half the streets of {n}",
    "packed for {n} and forgot the toothbrush",
    "still sorting the pictures of {n}",
    "a postcard from {n} arrived after two months",
    "{n} would be lovely without the crowds"
  ]
}

export const subjects = { person, pet, project, city } as const

/** About the user, without a name. */
export const ownFacts: ReadonlyArray<Fact> = [
  {
    kind: "preference",
    evidence: "I cannot begin a day without {drink}, everything else keeps me yawning",
    question: "What is the favourite beverage of the user at breakfast?"
  },
  {
    kind: "attribute",
    evidence: "my landlord raised the rent to {sum} from {month} on",
    question: "How expensive has the apartment become, says the landlord?"
  },
  {
    kind: "indirect",
    evidence: "I have been {sport} every {weekday} before work, it clears the head",
    question: "Which exercise routine does the user keep up?"
  },
  {
    kind: "indirect",
    evidence: "I promised my daughter a {gift} if she passes maths",
    question: "Which reward awaits the daughter for good grades?"
  },
  {
    kind: "event",
    evidence: "I gave up {snack} after the checkup, the values were terrible",
    question: "Which food did the checkup lead the user to abandon?"
  },
  {
    kind: "preference",
    evidence: "it will be {colour} for the kitchen, two more tins of paint are needed",
    question: "Which shade was selected for the kitchen walls?"
  },
  {
    kind: "time",
    evidence: "my dentist moved the appointment to the {day} of {month}",
    question: "When exactly must the dentist check the teeth?"
  },
  {
    kind: "time",
    evidence: "the heating at the office is out until {weekday}, bring a jumper",
    question: "How long do colleagues freeze without heating at their desks?"
  },
  {
    kind: "event",
    evidence: "we reserved the {venue} for the silver jubilee, they take sixty people",
    question: "Which location hosts the guests of the jubilee celebration?"
  },
  {
    kind: "indirect",
    evidence: "the hint for the safe is the name of my first {thing}",
    question: "What helps to remember the secret combination of the safe?"
  }
]

/** Small talk of users, and the assistant's answers. */
export const smallTalk: ReadonlyArray<readonly [said: string, answer: string]> = [
  ["what a day, nothing but {weather} outside", "Then it is a good day for tea and a book"],
  ["I made {meal} for dinner and burnt half of it", "Next time lower the heat a little earlier"],
  ["did you see {show} on television last night?", "I cannot watch television, but I can look up who won"],
  ["my {tool} is acting up again", "Have you tried to restart the {tool}?"],
  ["I have to clean the {room} before the guests arrive", "Start with the {room} windows, that shows most"],
  ["I am {feeling} and the coffee machine is broken", "A short walk may help until the machine is repaired"],
  ["which date is it today?", "It is a {weekday} in {month}"],
  ["the train was late because of {weather}", "You may be able to claim a refund for the delay"],
  ["what should I cook with leeks and eggs?", "A quiche takes little time at home and pleases most people"],
  ["{person} talked about holidays for an hour", "Perhaps {person} needs a holiday"],
  ["I need a present for {person}, any ideas?", "A book, a plant, or a dinner together"],
  ["the weekend was far too short", "The next weekend is only a few days away"],
  ["how do I remove a stain from a wool jumper?", "Cold water and gentle soap, then dry it flat"],
  ["please put milk and bread on the shopping list", "Milk and bread are on the list"],
  ["my back hurts from sitting at work", "A doctor can check it; until then stand up every hour"],
  ["remind me to go to the {market} on {weekday}", "I will remind you of the {market} on {weekday}"],
  ["tell me something about lighthouses", "The oldest lighthouse still at work was built by the Romans"],
  ["{sport} was hard today but I feel {feeling}", "Regular exercise pays off, drink enough water"],
  ["can you shorten this mail for me?", "Here is a version with half of the words"],
  ["I lost an hour looking for my glasses", "A fixed place near the door helps"],
  ["the neighbours celebrate a birthday, the sound goes through the wall", "Earplugs, or a slice of their cake"],
  ["how much budget should one plan for a kitchen?", "That depends on the size and the appliances"],
  ["I watched the ducks on the pond and forgot the time", "That sounds like a good break"],
  ["what is the difference between a crow and a raven?", "Ravens are larger and have a wedge-shaped tail"],
  ["{person} wants to start {sport} with me", "Together it is easier to keep up the routine"],
  ["the lift is out of order, seven floors on foot", "Count it as training for the week"],
  ["I finally cancelled that magazine subscription", "Check that the last payment was returned"],
  ["translate good night into {language} for me", "I can do that, formal or familiar?"],
  ["the {gadget} makes a strange noise", "Unplug the {gadget} and look for loose screws"],
  ["we had {meal} at the new restaurant near the airport", "Was the {meal} worth the price?"],
  ["I reserved a table for {weekday} evening", "Good choice, it is crowded towards the weekend"],
  ["why is the sky red in the evening?", "The longer way through the air filters out blue light"],
  ["traffic was terrible around the stadium", "There was a match, it should be quieter tomorrow"],
  ["I will take the stairs from now on", "Small habits like that add up over the years"],
  ["{weather} again, I am staying at home", "Then it is time for the pile of unread books"],
  ["how long do boiled eggs keep?", "About a week in the fridge, in their shell"],
  ["I am reading a novel about a polar expedition", "Those usually end badly for the dogs"],
  ["my phone contract runs out soon", "I can compare offers before it renews"],
  ["the doctor says I need more sleep", "An earlier evening routine without screens helps"],
  ["there was a power cut in the whole street", "Has the {tool} survived it?"],
  ["the children built a hut in the {room}", "Leave it standing until the weekend"],
  ["I got lost in the {market}", "Their shelves are moved around twice a year"],
  ["what does a good employer offer these days?", "Flexible hours, training, and a fair salary"],
  ["I have to prepare slides for work", "Start with the one sentence everybody should remember"],
  ["the accident on the ring road made the news", "I hope nobody you know was involved"],
  ["is it normal that bread dough sticks like this?", "Wet your hands and give it half an hour"],
  ["I am thinking about a musical evening with friends", "Pick songs that all of them know"],
  ["{person} sold an old wardrobe within an hour", "Photographs by daylight sell best"],
  ["the poor tomatoes on my balcony need rain", "Water them in the morning, never on the leaves"],
  ["I found my school reports in the attic", "Were the grades as good as you remember?"]
]

/** Sentences that users add to anything. */
export const additions: ReadonlyArray<string> = [
  "And the {room} still looks like a battlefield",
  "It took me until {weekday} to notice",
  "{person} said the same thing last week",
  "Now I need a coffee and ten minutes of silence",
  "Funny how these things always happen in {month}",
  "I read about something similar in the paper",
  "My knees hurt just from thinking of it",
  "We will see what {weekday} brings",
  "I should write such things down more often",
  "{person} could not stop talking about it at dinner",
  "The rest of the day was quiet, apart from {weather}",
  "I found out while queueing at the {market}",
  "Half of the street seems to know already",
  "I was on the phone with the {work} when it came up",
  "That reminds me, the {tool} needs new batteries",
  "We had {meal} afterwards and forgot the time",
  "My sister would have laughed at me",
  "There is a story behind that, but it is a long one",
  "I still have to tell the people at work",
  "I only slept five hours, so forgive the spelling",
  "It was all over before {show} began",
  "The bus driver had an opinion on it as well",
  "Nobody at the table believed me at first",
  "That makes three surprises since {month}",
  "I am {feeling} about it, to be honest",
  "The dog next door barked through all of it",
  "I wish the weekend came sooner",
  "At my age one expects a warning",
  "Somebody ought to make a film of this family",
  "I must have told you twice by now",
  "The insurance will want a letter, as always",
  "It smelled of wet paint the whole time",
  "I heard it on the stairs from the woman on the fourth floor",
  "First the {gadget}, now this",
  "It cost me a whole afternoon of {sport}",
  "Let us hope the {weather} does not come back",
  "I took a picture, but it is blurred",
  "The plan was a different one in {month}",
  "My father used to say that luck is a matter of patience",
  "There were crumbs all over the {room} afterwards"
]

/** Sentences that the assistant adds. */
export const offers: ReadonlyArray<string> = [
  "Shall I put it into the {tool} for {weekday}?",
  "Tell me if you want to hear more",
  "I can look for cheaper ones at the {market}",
  "Most people find that easier in {month}",
  "It helps to write the steps down first",
  "Let me know how it went with {person}",
  "That should not take longer than {show}",
  "I would start before {weekday}, to be safe",
  "There is a longer answer, if you have time",
  "Some say the same about {sport}",
  "Take a break in between, you sounded {feeling}",
  "Please check it again before you rely on it"
]

/** The assistant's replies to something memorable. */
export const acknowledgements: ReadonlyArray<string> = words(
  "Good to know, I will keep that in mind|Thanks for telling me|I see, that is noted|Understood|That changes things a little|Noted|Oh, I had no idea|All right, I have written it down|I will remember that"
)

/** Fillers before or after a sentence. */
export const openers: ReadonlyArray<string> = words(
  "by the way,|oh,|you know,|just so you know:|anyway,|guess what:|so,"
)
export const closers: ReadonlyArray<string> = words(
  ", unbelievable|, that is all I know|, as I said|. Crazy week|, but do not tell anyone|. Well|, can you believe it?"
)

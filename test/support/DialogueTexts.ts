/**
 * Threads of `Dialogues`: invented episodes that two friends tell each other. `A` tells, `B` listens; `{a}` and `{b}`
 * are their names, other slots are values. A line that ends in `#x` is evidence, which questions refer to by that
 * letter. `--` begins a later session.
 */

export interface Thread {
  readonly lines: string
  /** Questions with the letters of their evidence. */
  readonly asks: { readonly [question: string]: string }
}

const words = (text: string): ReadonlyArray<string> => text.split("|").map((word) => word.trim())

export const pairs: ReadonlyArray<readonly [string, string]> = [
  ["Ilse", "Tomas"],
  ["Priya", "Gwen"],
  ["Kofi", "Dario"],
  ["Anneke", "Ruth"],
  ["Malik", "Sofie"],
  ["Yuki", "Bram"],
  ["Leona", "Petra"],
  ["Oskar", "Fatima"]
]

export const values: { readonly [slot: string]: ReadonlyArray<string> } = {
  vessel: words("a lopsided mug|a salad bowl|a teapot with an owl on it|two candle holders|a soup plate"),
  glaze: words("moss green|a dark blue that ran|speckled grey|plain white"),
  trail: words("the cliff path|the old railway line|the ridge above the lake|the bog boardwalk"),
  weather: words("hail|thick fog|a thunderstorm|the first snow"),
  breed: words("greyhound|dachshund|spaniel|grey tabby|terrier"),
  petname: words("Biscuit|Mo|Tilda|Pepper|Captain|Juno"),
  fear: words("umbrellas|the vacuum cleaner|balloons|men with hats"),
  firm: words("a furniture maker|the city library|a lab for soil samples|a small publisher|a bus company"),
  duty: words("answering complaints|the accounts|the evening shifts|the archive|planning routes"),
  song: words("an Irish reel|a lullaby by Brahms|an old tango|the theme of a western"),
  instrument: words("the fiddle|the clarinet|the accordion|the harp|the upright bass"),
  dish: words("rhubarb crumble|saffron rice|black bean stew|onion tart|fish pie"),
  flaw: words("too salty|burnt underneath|raw in the middle|far too sweet"),
  sibling: words("sister|brother|cousin|uncle|grandmother"),
  place: words("Lisbon|the Faroe Islands|Krakow|Sardinia|Tbilisi|the Black Forest"),
  transport: words("the night train|a ferry|an old van|two buses and a taxi"),
  lost: words("her passport|one boot|the tent poles|a suitcase|the camera"),
  crop: words("leeks|runner beans|pumpkins|radishes|chard"),
  pest: words("slugs|pigeons|a mole|aphids"),
  bone: words("the ankle|a rib|the left wrist|the collarbone"),
  weeks: words("three weeks|six weeks|two months|ten days"),
  author: words("Le Guin|Simenon|Tove Jansson|Baldwin|Szymborska"),
  setting: words("a lighthouse|a flooded town|a department store at night|a monastery"),
  prize: words("second place|a voucher for tools|the audience award|a cup made of tin"),
  charity: words("the food bank|the shelter for cats|the repair café|the reading hour at the school"),
  day: words("Mondays|Tuesdays|Thursdays|Saturdays"),
  color: words("ochre|a pale blue|brick red|olive"),
  room: words("the kitchen|the hallway|the attic|the spare room"),
  race: words("the harbor ten kilometers|a triathlon for beginners|the forest marathon|the bridge run"),
  minutes: words("fifty-eight minutes|just under four hours|an hour and a quarter|thirty-one minutes"),
  language: words("Portuguese|sign language|Finnish|Arabic|Welsh"),
  vehicle: words("a cargo bike|a second-hand estate car|a scooter|a folding bicycle"),
  price: words("three hundred|nine hundred and fifty|two thousand|eighty"),
  subject: words("bees|medieval maps|lighthouses|urban foxes|salt mines"),
  motif: words("a heron|a row of boats|an old oak|hands holding bread"),
  guest: words("the neighbors|both grandmothers|the whole choir|people from work"),
  month: words("March|April|June|September|October|November"),
  topic: words("the trains|the election|the rent|that new bakery|the noise upstairs|the heating")
}

const thread = (lines: string, asks: Thread["asks"]): Thread => ({ lines, asks })

export const threads: ReadonlyArray<Thread> = [
  thread(
    `A Guess what, {b}, I began a pottery course last week! #a
     B No way, {a}! What made you do that?
     A I wanted something for my hands after staring at screens all day. #b
     --
     B Did anything come out of the kiln yet, {a}?
     A Yes! It is {vessel}, a bit crooked but it is mine. #c
     B I love it. Which glaze?
     A In {glaze}. #d`,
    {
      "What kind of course did {a} begin?": "a",
      "Why did {a} start pottery?": "b",
      "What did {a} make in the pottery course, and in which glaze?": "c d"
    }
  ),
  thread(
    `A We walked {trail} on Sunday, all nine miles of it. #a
     B In that weather? You are mad, {a}.
     A We got caught in {weather} halfway and hid in a barn. #b
     B Were the kids with you?
     A No, just me and my {sibling}. #c`,
    {
      "Where did {a} walk on that Sunday?": "a",
      "What weather caught {a} on the walk?": "b",
      "Who was with {a} on the hike of nine miles?": "c"
    }
  ),
  thread(
    `A {b}, we did it. There is a {breed} asleep on my sofa. #a
     B Oh my goodness! What is the little one called?
     A {petname}, because of the way of looking at you. #b
     --
     B How is the new family member?
     A Sweet, but scared of {fear}, it is quite a drama. #c
     B Poor thing!`,
    {
      "What animal did {a} adopt, and what is it scared of?": "a c",
      "What is the pet of {a} called?": "b",
      "What is the new family member of {a} scared of?": "c"
    }
  ),
  thread(
    `A I handed in my notice yesterday. #a
     B Wow, {a}. How do you feel?
     A Relieved, honestly. I start at {firm} in {month}. #b
     --
     B So, {a}, how are the first weeks?
     A Mostly {duty}, which I did not expect to enjoy so much. #c`,
    {
      "When did {a} hand in the notice?": "a",
      "Where did {a} start to work after leaving the old job?": "b",
      "What does {a} do in the first weeks at the new job?": "c"
    }
  ),
  thread(
    `B You sound tired, {a}.
     A I practiced {instrument} until midnight, sorry to the people next door. #a
     B Anything I would know?
     A {song}, but at half speed. #b
     --
     A The concert went fine, only one string of wrong notes! #c
     B I am proud of you, {a}!`,
    {
      "Which instrument does {a} practice?": "a",
      "What piece did {a} play at half speed?": "b",
      "How did the concert of {a} go?": "c"
    }
  ),
  thread(
    `A I cooked {dish} for {guest} last night. #a
     B And? Did they like it?
     A They were polite. It came out {flaw}. #b`,
    {
      "What did {a} cook, and for whom?": "a",
      "What was wrong with the dish that {a} cooked?": "b"
    }
  ),
  thread(
    `A My {sibling} is moving in with us for a while. #a
     B Is everything alright, {a}?
     A There was a flood in the flat, the whole floor has to come out. #b
     --
     B Still a full house at your place?
     A No, moved out on Friday, and left me a plant as thanks. #c`,
    {
      "Who moved in with {a}?": "a",
      "Why did a relative live with {a} for a while?": "b",
      "What did {a} get as thanks?": "c"
    }
  ),
  thread(
    `A Just back from {place}! #a
     B I am so jealous, {a}! How did you get there?
     A With {transport}, it took forever and I would do it again. #b
     B Any disasters?
     A Of course, somebody lost {lost} on the second day. #c`,
    {
      "Where did {a} travel, and how did they get there?": "a b",
      "How did {a} get to the place of the vacation?": "b",
      "What did they lose on the trip?": "c"
    }
  ),
  thread(
    `A The allotment is finally ours, {b}! #a
     B After two years on the list! What will you grow?
     A I start with {crop}, they forgive beginners. #b
     --
     A You will laugh, {b}: {pest} got everything. #c
     B Oh no, {a}.`,
    {
      "What did {a} finally get after two years on the list?": "a",
      "What did {a} grow on the allotment at the start?": "b",
      "What ate the harvest of {a}?": "c"
    }
  ),
  thread(
    `A Typing with one hand, bear with me. I broke {bone}. #a
     B What?! How?
     A Fell off a ladder while cleaning the gutters. #b
     B How long until it heals?
     A The doctor says {weeks}. #c`,
    {
      "What did {a} break, and how long did it take to heal?": "a c",
      "How did {a} fall?": "b",
      "How long did the doctor say it would take to heal?": "c"
    }
  ),
  thread(
    `A Have you read anything by {author}? I cannot put it down. #a
     B Not yet. What is yours about?
     A It takes place in {setting} and nobody can be trusted. #b`,
    {
      "Which author does {a} read?": "a",
      "Where does the book take place that {a} was reading?": "b"
    }
  ),
  thread(
    `A They picked my photograph for the exhibition! #a
     B {a}! That is huge! Which one?
     A The one with {motif}, taken at dawn. #b
     --
     B How was the opening night?
     A Wonderful. I even came home with {prize}. #c`,
    {
      "What was picked for the exhibition?": "a",
      "What is on the photograph by {a} that was in the exhibition?": "b",
      "What did {a} win on the opening night?": "c"
    }
  ),
  thread(
    `A I help at {charity} on {day} now. #a
     B That is so like you, {a}. What do you do there?
     A Mostly listen, and carry boxes. #b`,
    {
      "Where does {a} volunteer, and on which day?": "a",
      "What does {a} do when helping out?": "b"
    }
  ),
  thread(
    `A We painted {room} at last, in {color}. #a
     B Brave choice! Does everyone like it?
     A My {sibling} says it looks like a hospital. #b`,
    {
      "Which room did {a} paint?": "a",
      "What did the family of {a} think of the painted room?": "b"
    }
  ),
  thread(
    `A I signed up for {race}, am I crazy? #a
     B A little, {a}. When is it?
     A In {month}, so no more excuses in the mornings. #b
     --
     A I finished! It took me {minutes}. #c
     B Congratulations! You earned a week on the sofa.`,
    {
      "Which race did {a} sign up for, and how long did it take to finish?": "a c",
      "When is the race of {a}?": "b",
      "How long did it take {a} to finish?": "c"
    }
  ),
  thread(
    `A I have been learning {language} with an app, twenty minutes a day. #a
     B Why that one?
     A The family of my {sibling}'s husband speaks nothing else. #b`,
    {
      "What language is {a} learning?": "a",
      "Why does {a} learn with an app every day?": "b"
    }
  ),
  thread(
    `A Sold the car, {b}. I bought {vehicle} instead. #a
     B For how much?
     A {price}, including a lock the size of my head. #b
     --
     B Still happy with the new wheels?
     A It got stolen on Thursday. From the cellar! #c`,
    {
      "What did {a} buy after selling the car?": "a",
      "How much did {a} pay for the new wheels and the lock?": "b",
      "What was stolen from {a}?": "c"
    }
  ),
  thread(
    `A I gave a talk about {subject} at the community center. #a
     B You, in front of people?
     A Forty of them. My knees were shaking, then it was fun. #b`,
    {
      "What was the talk of {a} about?": "a",
      "Was {a} nervous when speaking in front of people?": "b"
    }
  ),
  thread(
    `A We are getting married, {b}! In {month}! #a
     B {a}!!! Tell me everything!
     A Nothing big. {guest} and a barn. #b
     --
     A The dress does not fit any more, I may wear overalls. #c
     B Honestly, {a}, I would pay to see that.`,
    {
      "When is {a} getting married?": "a",
      "Who comes to the wedding of {a}?": "b",
      "What does {a} wear instead of the dress?": "c"
    }
  ),
  thread(
    `A I stopped eating meat after that film about farms. #a
     B Since when, {a}?
     A Since {month}. I miss bacon on Sundays, nothing else. #b`,
    {
      "Why did {a} stop eating meat?": "a",
      "What does {a} miss since giving up meat?": "b"
    }
  ),
  thread(
    `A The twins started school today. I cried, they did not. #a
     B Of course you did, {a}. Do they like the teacher?
     A He plays the ukulele, so they worship him. #b`,
    {
      "What did the twins of {a} start?": "a",
      "What do the twins like about their teacher?": "b"
    }
  ),
  thread(
    `A I painted for the first time since college, {motif} in watercolor. #a
     B Show me! It is lovely, {a}.
     A It calms me down more than any yoga. #b
     --
     A This time I tried oils: {motif} at night, and I hate it. #c`,
    {
      "What has {a} painted in watercolor and in oils?": "a c",
      "How does painting help {a}?": "b"
    }
  )
]

/** Exchanges that say nothing in particular; the first speaker is either of the two. */
export const smallTalk: ReadonlyArray<readonly [string, string]> = [
  ["Hey {you}! Long time no talk. How have you been?", "Hey {me}! Good, thanks. A bit busy. And you?"],
  ["Good morning {you}! Did you see the news about {topic}?", "I did, {me}. I do not know what to think of it."],
  ["What have you been up to, {you}?", "This and that. Work, sleep, {topic}, the usual."],
  ["That sounds great, {you}! I am happy for you.", "Thanks, {me}! That means a lot."],
  ["You always know what to say, {you}.", "You would do the same for me, {me}."],
  ["Do you have plans for the weekend?", "Not really. Maybe I will finally deal with {topic}."],
  ["I really needed this chat, {you}.", "Me too! Let us not wait so long next time."],
  ["Wow, {you}, look at this picture from this morning.", "Beautiful! Where was that, {me}?"],
  ["How is everyone at home?", "All well, {me}. A little loud. You know how it is."],
  ["I was thinking about what you said, {you}.", "About {topic}? I meant it."],
  ["Anyway, I have to run. Take care, {you}!", "Bye {me}! Talk soon!"],
  ["It has been such a week.", "Tell me about it. Even {topic} got to me."],
  ["You are an inspiration, {you}, honestly.", "Stop it, {me}, you make me blush."],
  ["Remember when we used to talk about {topic} all night?", "Ha, yes! We were so serious."]
]

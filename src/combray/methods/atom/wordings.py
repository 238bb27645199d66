"""Words that tell people, nouns and lasting things in a fact; English only."""

from __future__ import annotations

import re


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


SUBJECTS = _words("\x00 i you he she they it we who")
"""Before a verb; the first stands for a person who is named."""

AUXILIARIES = _words(
    "is are was were be been being am has have had do does did will would can could may might must should shall not never"
    " also always often really just recently finally still already usually currently"
)
"""Before a verb or an adjective, unless a determiner comes between."""

NOUN_AFTER_TO = _words(
    "go goes going gone went come comes came back been trip trips travel travels traveled travelled travelling move moved drive"
    " drove listen listens listened listening return returned invited related due similar next thanks lead leads led add added"
    " close access visit visits key belong belongs love dedication commitment approach"
)
"""Before "to" with a noun after it; after any other "to" a verb is expected."""

LY_NOUNS = _words(
    "family assembly butterfly belly jelly lily fly rally reply supply ally bully anomaly monopoly"
)

GENERIC = _words(
    "thing things something anything everything nothing someone anyone everyone lot lots bit way ways kind kinds sort time times"
    " one ones stuff think thinks believe believes feel feels feeling find finds found make makes made get gets got getting take"
    " takes took taking give gives gave giving want wants like likes love loves enjoy enjoys know knows say says said tell tells"
    " told mention mentions ask asks agree agrees plan plans need needs hope hopes try tries keep keeps help helps let lets see"
    " sees saw look looks seem seems appreciate appreciates share shares show shows use uses using doing having being going"
    " good great nice amazing awesome wonderful cool super really new old big small little own many much more most other others"
    " different special important able excited happy glad proud grateful thankful interested sure true best better first last"
    " next part fact people person day days today yesterday tomorrow week weeks month months year years moment moments including"
    " such together recently especially always often never ever still already also even well around since while though although"
    " because however during without within past future current previous recent currently various several high low hard easy"
    " long short full open ready user assistant conversation speaker making trying working looking seeing finding considering staying helping"
    " putting coming bring brings remind reminds forward back positive soon due sometime self tough right come comes two three four"
    " five pass allow allows allowing become becomes accept learn express expressing forever despite following"
)
"""Words that tell two facts apart no more than function words do."""

_UNCHANGED = "series species trans news lens bus gas yes sometimes perhaps besides"
_IN_IE = "movie cookie selfie zombie hoodie smoothie rookie veggie foodie tie pie"
_IRREGULAR = (
    "children child lives life wives wife knives knife leaves leaf wolves wolf shelves shelf women woman men man feet foot"
    " teeth tooth mice mouse"
)

SINGULARS = (
    {word: word for word in _UNCHANGED.split()}
    | {f"{word}s": word for word in _IN_IE.split()}
    | dict(zip(_IRREGULAR.split()[::2], _IRREGULAR.split()[1::2], strict=True))
)
"""What the ending does not tell."""

BEFORE_A_NAME = (
    r"named|called|friend|friends|buddy|pal|brother|sister|son|daughter|mother|mom|father|dad|husband|wife|partner|girlfriend"
    r"|boyfriend|uncle|aunt|cousin|nephew|niece|grandma|grandpa|boss|colleague|co-worker|coworker|teacher|coach|neighbou?r"
    r"|author|writer|singer|artist|musician|actor|actress|player|dog|cat|puppy|kitten|pet|turtle|horse"
)

LASTING = re.compile(
    r"\b(?:lives? (?:in|with|near|on)|is (?:originally )?from|(?:was )?born|grew up|comes from|moved (?:to|from)"
    r"|works? (?:as|at|for|in)|is employed|job (?:as|is|at)|occupation|profession|career|owns?|runs (?:a|an|his|her|their)"
    r"|is (?:a|an|the|his|her|single|married|divorced|engaged|vegan|vegetarian|allergic|afraid|religious|bisexual|gay|lesbian"
    r"|transgender|passionate|interested in|into|fond of|good at|known for)\b"
    r"|has (?:a|an|one|two|three|four|five|six|several|many)? ?(?:\w+ )?(?:sons?|daughters?|kids?|child|children|brothers?"
    r"|sisters?|siblings?|husband|wife|dogs?|cats?|pets?|pupp(?:y|ies)|turtles?|degree|girlfriend|boyfriend|partner|allerg\w+)"
    r"|(?:likes?|loves?|enjoys?|prefers?|hates?|dislikes?|adores?) (?!to hear|that|how|it\b|the way|the idea)"
    r"|favou?rites?|hobb(?:y|ies)|passion|collects|plays (?:the )?\w+|practi[cs]es|speaks|stud(?:ies|ying) \w+|majors? in"
    r"|graduated|degree in|dreams? (?:of|is)|goal is|personality|values|believes in|identifies as|used to)",
    re.IGNORECASE,
)
"""Occupation, origin, home, family, possessions, tastes, skills, traits, relationships."""

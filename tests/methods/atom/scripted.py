"""A model that reads as a child would: what it says of each turn is written down here, the rest follows by simple rules."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from combray.llm import FunctionLLM

FACTS = {
    "I started pottery classes last Tuesday.": [
        {
            "fact": "Melanie started pottery classes on 2 May 2023.",
            "people": ["Melanie"],
            "keywords": ["pottery", "class"],
            "time": "2023-05-02",
        }
    ],
    "The pottery teacher praised my first bowl!": [
        {
            "fact": "The pottery teacher praised the first bowl that Melanie made.",
            "people": ["Melanie"],
            "keywords": ["pottery", "bowl"],
            "time": "",
        }
    ],
    "I broke the bowl from pottery class.": [
        {
            "fact": "Melanie broke the bowl from her pottery class.",
            "people": ["Mel"],
            "keywords": ["pottery", "bowl"],
            "time": "last week",
        }
    ],
    "I live in Lisbon.": [
        {
            "fact": "Caroline lives in Lisbon.",
            "people": ["Caroline"],
            "keywords": ["home"],
            "time": "",
            "lasting": True,
        }
    ],
    "I moved, I live in Porto now.": [
        {
            "fact": "Caroline lives in Porto.",
            "people": ["Caroline"],
            "keywords": ["home"],
            "time": "2023-07",
            "lasting": True,
        }
    ],
    "As I said, I live in Lisbon, and I have a dog called Rex.": [
        {
            "fact": "Caroline lives in Lisbon and has a dog called Rex.",
            "people": ["Caroline"],
            "keywords": ["home", "dog"],
            "time": "",
            "lasting": True,
        }
    ],
    "Caroline lives in Lisbon, you know.": [
        {"fact": "Caroline lives in Lisbon!", "people": [], "keywords": ["home"], "time": "soon"}
    ],
}

_SAID = re.compile(r'said ("(?:[^"\\]|\\.)*")')
_LINE = re.compile(r"^(?:- |(\w+)[.:] )?\((\d{4}-\d\d-\d\d)\) (\"(?:[^\"\\]|\\.)*\")", re.MULTILINE)


def section(text, name):
    return text.split(f"<{name}>", 1)[1].split(f"</{name}>", 1)[0].strip()


def quoted_lines(text):
    """Name and text of each line."""
    return [(found[1], json.loads(found[3])) for found in _LINE.finditer(text)]


def plain(text):
    return re.sub(r"[^\w ]", "", text).lower()


@dataclass
class Scripted:
    """Replies by rule, and keeps what it was asked.

    Attributes:
        asked: name of the place that tells the prompt, in order.
        broken: those of which the reply is garbage.
        echoes: whether it repeats what a profile holds already.
    """

    asked: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    echoes: bool = False

    def llm(self, name="scripted"):
        return FunctionLLM(self.reply, name)

    def reply(self, messages, schema):
        text = messages[1].content
        kind = next(name for name in PROMPTS if f"<{name}>" in text)
        self.asked.append(kind)
        if kind in self.broken:
            return "I would rather talk about the weather."
        reply = PROMPTS[kind](text)
        if self.echoes and "profile" in reply:
            for statement in reply["profile"]:
                statement["keywords"].append(section(text, "profile"))
        return reply


def facts(text):
    said = json.loads(_SAID.findall(section(text, "turn"))[0])
    return {"facts": FACTS.get(said, [])}


def verdict(text):
    ((_, new),) = quoted_lines(section(text, "new"))
    earlier = quoted_lines(section(text, "earlier"))
    city = re.search(r"lives in (\w+)", new)
    same = [int(n) for n, other in earlier if city and f"lives in {city[1]}" in other]
    other = [int(n) for n, o in earlier if city and "lives in" in o and int(n) not in same]
    if same and "dog" in new:
        return {"new": "Caroline has a dog called Rex.", "known_from": same[0], "contradicts": []}
    if same:
        return {"new": "", "known_from": same[0], "contradicts": [99]}
    return {"new": new, "known_from": 0, "contradicts": other}


def attribution(text):
    word = "pottery"
    if word not in section(text, "new"):
        return {"events": [], "statements": ["S99"]}
    named = [
        line.split(":")[0] for line in section(text, "candidates").splitlines() if word in line
    ]
    return {
        "events": [name for name in named if name.startswith("E")],
        "statements": [] if any(n.startswith("E") for n in named) else named[:1],
    }


def summary(text):
    told = [line for _, line in quoted_lines(section(text, "statements"))]
    before = section(text, "earlier_summary")
    return {
        "summary": " ".join([*([json.loads(before)] if before else []), *told]),
        "keywords": ["pottery"],
    }


def profile(text):
    lines = quoted_lines(section(text, "statements"))
    return {
        "profile": [
            {"statement": told, "keywords": ["home"], "facts": [int(n), 77], "since": ""}
            for n, told in lines
        ]
    }


def revision(text):
    known = quoted_lines(section(text, "profile"))
    ((_, new),) = quoted_lines(section(text, "new"))
    homes = [int(n) for n, line in known if "lives in" in line and "lives in" in new]
    return {
        "decisions": [{"id": n, "action": "update", "text": new} for n in homes[:1]],
        "new": not homes,
    }


PROMPTS = {
    "turn": facts,
    "earlier": verdict,
    "candidates": attribution,
    "earlier_summary": summary,
    "profile": lambda text: profile(text) if "<statements>" in text else revision(text),
}

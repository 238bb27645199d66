from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from combray.errors import TimedOut
from combray.eval.qa.tap import Tapped, tapped
from combray.llm.base import Message, Occasion
from combray.llm.doubles import FunctionLLM

HELLO = [Message(role="user", content="hello")]


def test_a_call_is_told_to_its_own_ledger_and_to_the_listener():
    own, heard = [], []
    llm = Tapped(llm=FunctionLLM(lambda messages, schema: "hi"))
    with tapped(heard.append):
        assert llm.complete(HELLO, occasion=Occasion(phase="p", record=own.append)).text == "hi"
    llm.complete(HELLO, occasion=Occasion(record=own.append))
    assert [call.phase for call in own] == ["p", ""]
    assert heard == own[:1]
    assert llm.name == llm.llm.name


def test_a_call_that_fails_is_heard_too():
    def late(messages, schema):
        raise TimedOut("late")

    heard = []
    llm = Tapped(llm=FunctionLLM(late))
    with tapped(heard.append), pytest.raises(TimedOut):
        llm.complete(HELLO)
    assert [call.outcome for call in heard] == ["timed_out"]


def test_threads_hear_their_own_calls_alone():
    both = Barrier(2)
    llm = Tapped(llm=FunctionLLM(lambda messages, schema: "hi"))

    def ask(phase):
        heard = []
        with tapped(heard.append):
            both.wait(timeout=10)
            llm.complete(HELLO, occasion=Occasion(phase=phase))
            both.wait(timeout=10)
        return [call.phase for call in heard]

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, ("a", "b"))) == [["a"], ["b"]]

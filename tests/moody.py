"""A function and a judge that do what they are told; workers import them in no time."""

import os
import resource
import subprocess
import time
from dataclasses import dataclass

import numpy

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict


def moody(item):
    """Does what the item says, or doubles it."""
    if item == "sleep":
        time.sleep(60)
    elif item == "nap":
        time.sleep(0.05)
    elif str(item).startswith("solve "):  # by a program, which tells its number to a file
        subprocess.run(["sh", "-c", 'echo $$ >"$1"; exec sleep 60', "-", item[len("solve ") :]])
    elif item == "crash":
        os._exit(3)
    elif item == "raise":
        raise ValueError("a bug of the function")
    elif item == "allocate":
        numpy.empty(3 * 2**30, "uint8")  # takes nothing until it is written to
    return item * 2


def label(item):
    """Does what the item says, and answers it by itself."""
    moody(item)
    return Label("", item) if item == "no answer" else Label(item)


def limit_of_memory(item):
    """The limit of memory that the process is under, in bytes."""
    return resource.getrlimit(resource.RLIMIT_DATA)[0]


class MoodyJudge(Judge):
    """Does what the problem says, or takes the first word of the answer for the verdict."""

    semantics, name = "prop", "moody"

    def verify(self, problem, answer):
        self.solvable(problem)
        return Verdict(answer.split()[0])

    def solvable(self, source):
        moody(str(source))
        return source != "unsolvable"


@dataclass
class PickyJudge(Judge):
    """Accepts every answer but one."""

    refused: str
    semantics, name = "picky", "picky"

    def verify(self, problem, answer):
        return Verdict.violated if answer == self.refused else Verdict.satisfied


def in_a_lambda(item):
    """Returns a lambda, which cannot be pickled."""
    return lambda: item

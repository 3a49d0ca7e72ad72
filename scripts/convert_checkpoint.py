"""The same as ``sit convert``, whose options it takes."""

import sys

from sit_fairseq.commands import main

main(["convert", *sys.argv[1:]])

"""``python -m sit_fairseq VERB``, the same as ``sit VERB``."""

from sit_fairseq.commands import main

if __name__ == "__main__":
    main()

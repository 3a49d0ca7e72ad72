"""``python -m sit_fairseq VERB``, the same as ``sit VERB``."""

from sit_fairseq.commands import main

# Worker processes import this file, too.
if __name__ == "__main__":
    main()

"""What a generator keeps while it runs, so that an interrupted one can be continued."""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple, TypeVar

from sit_fairseq.storage.journal import Journal

Entry = TypeVar("Entry")


def open_journal(path: str, kind: str, recipe: NamedTuple, resume: bool, where: str) -> Journal:
    """Opens the journal of a generator.

    Args:
        path: the file.
        kind: what the entries are, in the plural.
        recipe: what the data depend on.
        resume: whether to go on with what is there, rather than to discard it.
        where: the argument that names the file, for messages.

    Returns:
        The journal.

    Raises:
        UserError: see :class:`~sit_fairseq.storage.journal.Journal`.
    """
    return Journal(
        path,
        kind,
        recipe._asdict(),
        advice="omit --resume to discard it",
        where=where,
        restart=not resume,
    )


def read_entries(journal: Journal, read: Callable[[Dict[str, Any]], Entry]) -> Iterator[Entry]:
    """Reads what earlier runs have left.

    Args:
        journal: the journal.
        read: makes sense of an entry; whatever it raises means that it cannot.

    Yields:
        What it made of each.

    Raises:
        UserError: an entry is damaged.
    """
    for number, entry in enumerate(journal.entries, start=2):
        try:
            yield read(entry)
        except (AttributeError, LookupError, TypeError, ValueError):
            raise journal.damaged(number)


def read_sides(entry: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    """The ``sources`` and ``targets`` of an entry.

    Raises:
        KeyError: it lacks one.
        TypeError: they are no sentence pairs.
    """
    sources, targets = sides = entry["sources"], entry["targets"]
    if not all(isinstance(side, list) for side in sides) or len(sources) != len(targets):
        raise TypeError("not two lists of the same length")
    if not all(isinstance(line, str) for line in (*sources, *targets)):
        raise TypeError("not text")
    return sources, targets

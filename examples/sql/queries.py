"""Conjunctive queries and their SQL: data at random, and a judge that runs both in SQLite.

    python -m examples.sql.queries outputs/sql/data

writes pairs such as

    find x3 x7 : T4 c2 x3 c9 x7 ; T4 c2 x7 ; x3 < x7
    select x0 . c2 , x0 . c9 from T4 x0 , T4 x1 where x0 . c9 = x1 . c2 and x0 . c2 < x0 . c9

A query has atoms, a table with some columns and the variable that stands for the value of each, and
may compare two variables. In SQL each atom has an alias, a variable that the query lacks; variables
that stand in several places become equations.
"""

import sqlite3
from contextlib import closing
from os import makedirs
from random import Random
from typing import Dict, List, NamedTuple, Optional, Tuple

from examples.script import run
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.pattern import SymbolPattern

PATTERN = SymbolPattern("table=T\\d+\ncolumn=c\\d+\nvariable=x\\d+")
NAMES = 20  # of each sort
# Of the judge: so many rows at random, and those by which a query has so many answers.
DATABASES, ROWS, ANSWERS, VALUES = 6, 2, 2, 4
MOST_STEPS = 100_000  # of SQLite, for one answer

# A split: pairs, and how many atoms, columns of an atom, and different tables and columns they have.
SPLITS = {
    "test": (500, (1, 4), (1, 2), (1, 3), (1, 4)),
    "columns": (500, (3, 4), (1, 2), (1, 3), (5, 6)),
    "tables": (500, (4, 4), (1, 2), (4, 4), (1, 4)),
    "both": (500, (4, 4), (1, 2), (4, 4), (5, 6)),
    "valid": (200, (1, 4), (1, 2), (1, 3), (1, 4)),
    "train": (40000, (1, 4), (1, 2), (1, 3), (1, 4)),
}


class Query(NamedTuple):
    """A conjunctive query."""

    head: List[str]
    atoms: List[Tuple[str, List[Tuple[str, str]]]]  # a table; columns with their variables
    comparison: Optional[Tuple[str, str]]

    def __str__(self) -> str:
        atoms = [" ".join([table, *(" ".join(cell) for cell in row)]) for table, row in self.atoms]
        parts = [*atoms, *([" < ".join(self.comparison)] if self.comparison else [])]
        return f"find {' '.join(self.head)} : {' ; '.join(parts)}"

    def sql(self, aliases: List[str]) -> str:
        """The query in SQL."""
        places: Dict[str, List[str]] = {}
        for (_, row), alias in zip(self.atoms, aliases):
            for column, variable in row:
                places.setdefault(variable, []).append(f"{alias} . {column}")
        wheres = [f"{first} = {place}" for first, *more in places.values() for place in more]
        if self.comparison:
            wheres.append(" < ".join(places[variable][0] for variable in self.comparison))
        tables = " , ".join(f"{table} {alias}" for (table, _), alias in zip(self.atoms, aliases))
        shown = " , ".join(places[variable][0] for variable in self.head)
        return f"select {shown} from {tables}" + (f" where {' and '.join(wheres)}" * bool(wheres))


def read(text: str) -> Query:
    """The query that :meth:`Query.__str__` wrote."""
    head, _, body = text.partition(" : ")
    atoms, comparison = [], None
    for part in body.split(" ; "):
        table, *cells = part.split()
        if cells[0] == "<":
            comparison = table, cells[1]
        else:
            atoms.append((table, list(zip(cells[::2], cells[1::2]))))
    return Query(head.split()[1:], atoms, comparison)


def draw(rng: Random, atoms, width, tables, columns) -> Tuple[Query, List[str]]:
    """A random query, of ranges as in ``SPLITS``, with aliases for it."""
    while True:
        names = [rng.sample([f"{s}{n}" for n in range(NAMES)], NAMES) for s in "Tcx"]
        number = rng.randint(*atoms)
        chosen = rng.choices(names[0][: rng.randint(*tables)], k=number)
        pool, variables = (
            names[1][: rng.randint(*columns)],
            names[2][: rng.randint(number, 2 * number + 1)],
        )
        rows = [rng.sample(pool, min(len(pool), rng.randint(*width))) for _ in chosen]
        found = [(t, [(c, rng.choice(variables)) for c in row]) for t, row in zip(chosen, rows)]
        used = list(dict.fromkeys(variable for _, row in found for _, variable in row))
        counts = len(set(chosen)), len({column for row in rows for column in row})
        if all(low <= count <= high for count, (low, high) in zip(counts, (tables, columns))):
            head = rng.sample(used, min(len(used), rng.randint(1, 2)))
            compares = len(used) > 1 and rng.random() < 0.4
            query = Query(head, found, tuple(rng.sample(used, 2)) if compares else None)
            return query, [name for name in sorted(names[2]) if name not in used][:number]


class SqlJudge(Judge):
    """Satisfied if an answer gives the rows of its query in each of some random databases."""

    quick = True

    def verify(self, problem: str, answer: str) -> Verdict:
        query = read(problem)
        right = query.sql([f"alias{number}" for number in range(len(query.atoms))])
        tables: Dict[str, Dict[str, None]] = {}
        for table, row in query.atoms:
            tables.setdefault(table, {}).update((column, None) for column, _ in row)
        names = dict.fromkeys(variable for _, row in query.atoms for _, variable in row)
        rng = Random(1)  # no name matters: renamed queries are judged alike
        for _ in range(DATABASES):
            values = [{name: rng.randrange(VALUES) for name in names} for _ in range(ANSWERS)]
            with closing(sqlite3.connect(":memory:")) as database:
                for table, columns in tables.items():
                    database.execute(f"create table {table} ({', '.join(columns)})")
                    rows = [[rng.randrange(VALUES) for _ in columns] for _ in range(ROWS)]
                    for value in values:
                        for row in (dict(row) for name, row in query.atoms if name == table):
                            rows.append(
                                [
                                    value[row[c]] if c in row else rng.randrange(VALUES)
                                    for c in columns
                                ]
                            )
                    holes = ", ".join("?" * len(columns))
                    database.executemany(f"insert into {table} values ({holes})", rows)
                expected = sorted(database.execute(right))
                database.execute("pragma query_only = 1")
                steps = iter(range(MOST_STEPS // 1000))
                database.set_progress_handler(lambda: next(steps, None) is None, 1000)
                try:
                    if sorted(database.execute(answer)) != expected:
                        return Verdict.violated
                except (sqlite3.Error, sqlite3.Warning):
                    return Verdict.invalid
        return Verdict.satisfied


def main(folder: str) -> None:
    """Writes the splits; no query is a renaming of another one."""
    rng, known = Random(1), set()
    makedirs(folder, exist_ok=True)
    for split, (size, *ranges) in SPLITS.items():
        pairs = []
        while len(pairs) < size:
            query, aliases = draw(rng, *ranges)
            tokens = str(query).split()
            key = form_key(tokens, PATTERN.symbols(tokens), PATTERN)
            if key not in known:
                known.add(key)
                pairs.append((str(query), query.sql(aliases)))
        write_pairs(f"{folder}/{split}", pairs)


if __name__ == "__main__":
    run(main)

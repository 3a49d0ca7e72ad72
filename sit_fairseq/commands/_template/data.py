"""Makes data of your task: put your own pairs in the place of :func:`pair`.

    python data.py PREFIX PAIRS SEED FEWEST MOST

writes problems to PREFIX.src and answers to PREFIX.tgt, a line each, tokens separated by spaces. As
it stands, problems are facts about people and things, and an answer says whose each thing is:

    P3 has t7 and t2 , P12 lost t1 , P5 gave t4 to P3
    t7 of P3 , t2 of P3 , t4 of P3

People and things are symbols: their names mean nothing. FEWEST and MOST are of the facts.
"""

import sys
from random import Random


def pair(rng, fewest, most):
    """A random problem and its answer."""
    number = rng.randint(fewest, most)
    people = rng.sample([f"P{number}" for number in range(20)], number + 1)
    things = iter(rng.sample([f"t{number}" for number in range(40)], 2 * number))
    facts, owned = [], []
    for _ in range(number):
        person, other = rng.sample(people, 2)
        own = [next(things) for _ in range(rng.randint(1, 2))]
        verb = rng.choice(["has", "lost", "gave"])
        facts.append(f"{person} {verb} {' and '.join(own)}" + f" to {other}" * (verb == "gave"))
        owner = {"has": person, "gave": other}.get(verb)
        owned += [f"{thing} of {owner}" for thing in own if owner]
    return " , ".join(facts), " , ".join(owned) or "nothing"


def main(prefix, pairs, seed, fewest, most):
    rng = Random(int(seed))
    with open(f"{prefix}.src", "w") as sources, open(f"{prefix}.tgt", "w") as targets:
        for _ in range(int(pairs)):
            source, target = pair(rng, int(fewest), int(most))
            print(source, file=sources)
            print(target, file=targets)


if __name__ == "__main__":
    main(*sys.argv[1:])

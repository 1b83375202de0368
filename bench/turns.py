"""The order in which what is compared takes turns."""


def turns(programs, round):
    """That of a round: another begins each time, since who comes behind whom tells on the time."""
    start = round % len(programs)
    return [*programs[start:], *programs[:start]]

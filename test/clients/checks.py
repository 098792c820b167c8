# checks.py: what the programs in Python share: a line for each test, as clients.pl reads them.


def check(name, passed):
    print(("ok" if passed else "not ok") + " - " + name)


# Each is larger than the one before?
def increase(ids):
    return all(a < b for a, b in zip(ids, ids[1:]))

# psycopg.py: psycopg 3 and psycopg2, as docs/clients/psycopg.py has them.
import json

import psycopg
from checks import check, increase

with psycopg.connect(autocommit=True) as setup:
    setup.execute("CREATE TABLE message (id bigint PRIMARY KEY DEFAULT uid_next(), body text)")

#page
first = row[0]
check("executemany() returns an id for each row", len(ids) == 2 and increase([first] + ids))
#page
stored = dict(connection.execute("SELECT body, id FROM message").fetchall())
check("ids that were drawn before are those of the rows", [stored["c"], stored["d"]] == ids)
check("all ids increase in the order of the calls", increase([stored[body] for body in ("hello", "a", "b", "c", "d")]))

#page
stored = dict(connection.execute("SELECT body, id FROM message").fetchall())
check("psycopg2: execute_values() returns the ids of its rows", [(stored["e"],), (stored["f"],)] == ids)
connection.commit()
check("an id is exact in Python, and in JSON that Python writes and reads", json.loads(json.dumps(first)) == first)

try:
    connection.execute("SELECT lastval()")
    check("lastval() fails", False)
except psycopg.errors.ObjectNotInPrerequisiteState:
    check("lastval() fails", True)
connection.rollback()

# Ids of another transaction, that a reader passes, and that none has passed.
reader = psycopg.connect(autocommit=True)
passed = connection.execute("SELECT uid_next()").fetchone()[0]
connection.commit()
for _ in range(10000):
    if (reader.execute("SELECT uid_horizon()").fetchone()[0] or 0) >= passed:
        break
else:
    check("readers get past an id that nobody holds", False)
try:
    connection.execute("INSERT INTO message (id) VALUES (uid_hold(%s))", [passed])
    check("an id that a reader has passed is refused", False)
except psycopg.errors.SerializationFailure:
    check("an id that a reader has passed is refused with 40001", True)
connection.rollback()
held = connection.execute("SELECT uid_hold(uid_next())").fetchone()[0]
horizons = [reader.execute("SELECT uid_horizon()").fetchone()[0] for _ in range(100)]
check("one that is held is passed by nobody", all(horizon is None or horizon < held for horizon in horizons))
connection.rollback()

# Ids of uidgen in psycopg.  docs/applications.md says what to know; `./check clients` runs each part as it is.

# ---- a row, and several
import psycopg

connection = psycopg.connect()
row = connection.execute("INSERT INTO message (body) VALUES (%s) RETURNING id", ["hello"]).fetchone()
print(row[0])

with connection.cursor() as cursor:
    cursor.executemany("INSERT INTO message (body) VALUES (%s) RETURNING id", [["a"], ["b"]], returning=True)
    ids = [cursor.fetchone()[0]]
    while cursor.nextset():
        ids.append(cursor.fetchone()[0])
print(ids)

# ---- many rows by COPY, with ids that are drawn before
ids = [id for (id,) in connection.execute("SELECT uid_next_batch(%s)", [2])]
with connection.cursor() as cursor, cursor.copy("COPY message (id, body) FROM STDIN") as copy:
    for row in zip(ids, ["c", "d"]):
        copy.write_row(row)

# ---- with psycopg2: execute_values() sends one statement and returns an id for each row
import psycopg2
from psycopg2.extras import execute_values

with psycopg2.connect("") as old, old.cursor() as cursor:
    ids = execute_values(cursor, "INSERT INTO message (body) VALUES %s RETURNING id", [["e"], ["f"]], fetch=True)

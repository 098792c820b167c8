# text.py: from the text of an id to its time in Python, as docs/applications.md has it.
import psycopg
from checks import check

#page
with psycopg.connect() as connection:
    rows = connection.execute(
        """SELECT id, uid_to_text(id), uid_timestamp(id)
           FROM (SELECT uid_next() AS id FROM generate_series(1, 1000)
                 UNION ALL SELECT floor(random() * 2::numeric ^ 63)::bigint FROM generate_series(1, 1000)) AS d""").fetchall()
check("so it is for two thousand ids, as the server says",
      all(from_text(text) == id and time_of(id) == time for id, text, time in rows))

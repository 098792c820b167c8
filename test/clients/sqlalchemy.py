# sqlalchemy.py: SQLAlchemy, as docs/clients/sqlalchemy.py has it.
import re
import warnings

import sqlalchemy
from checks import check, increase

warnings.simplefilter("error")

#page
engine = create_engine("postgresql://", future=True)
Base.metadata.create_all(engine)
statements = []


@event.listens_for(engine, "before_cursor_execute")
def note(connection, cursor, statement, *others):
    statements.append(statement)


def sent(prefix):
    found = [statement for statement in statements if statement.startswith(prefix)]
    statements.clear()
    return len(found)


with engine.connect() as connection:
    check("no sequence is made", connection.scalar(text("SELECT count(*) FROM pg_class WHERE relkind = 'S'")) == 0)

session = Session(engine, future=True)
statements.clear()
#page
check("the id of a new row comes with the INSERT", isinstance(message.id, int) and sent("SELECT") == 0)
statements.clear()
rows = [Message(body=str(n)) for n in range(100)]
session.add_all(rows)
session.flush()
check("rows that are added together have ids that increase", increase([row.id for row in rows]))
if sqlalchemy.__version__ >= "2.":
    check("without a remedy there is an INSERT for each row", sent("INSERT") == 100)
#page
statements.clear()
rows = [Message(body=str(n), replies=[Reply(), Reply()]) for n in range(100)]
session.add_all(rows)
session.flush()
batches = [s for s in statements if s.startswith("SELECT uid_next_batch")]
without = [s for s in statements if s.startswith("INSERT") and not re.search(r"\bid\b.*\) VALUES", s)]
inserts = sent("INSERT")
check("with it, one call draws all ids, which the rows get", len(batches) == 1 and not without)
check("... and a statement inserts many rows", inserts < 10)
check("... in the order in which they were added", increase([row.id for row in rows]))
ids = [(row.id, row.body, sorted(reply.id for reply in row.replies)) for row in rows]
session.commit()
session.close()
with Session(engine, future=True) as other:
    found = [(row.id, row.body, sorted(reply.id for reply in row.replies)) for row in
             other.query(Message).filter(Message.id >= ids[0][0]).order_by(Message.id)]
check("... and these are the ids of the rows, and of their children", found == ids)

session = Session(engine, future=True)
statements.clear()
#page
check("RETURNING of a list of rows", len(ids) == 2 and len(set(ids)) == 2)
check("... by one statement", sent("INSERT") == 1 or sqlalchemy.__version__ < "2.")
session.commit()

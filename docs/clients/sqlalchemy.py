# Ids of uidgen in SQLAlchemy.  docs/applications.md says what to know; `./check clients` runs each part as it is.

# ---- a class of your own for the id, from which all models with such an id inherit
from sqlalchemy import BigInteger, Column, ForeignKey, Text, create_engine, event, func, insert, select, text
from sqlalchemy.orm import Session, declarative_base, relationship

Base = declarative_base()


class HasUid:
    id = Column(BigInteger, primary_key=True, server_default=text("uid_next()"))


class Message(HasUid, Base):
    __tablename__ = "message"
    body = Column(Text)
    replies = relationship("Reply", back_populates="message")


class Reply(HasUid, Base):
    __tablename__ = "reply"
    message_id = Column(ForeignKey("message.id"))
    message = relationship(Message, back_populates="replies")

# ---- a row
message = Message(body="hello")
session.add(message)
session.flush()
print(message.id)

# ---- many rows: ids that are drawn before each flush, one call for all rows, let SQLAlchemy send hundreds of rows in a statement
@event.listens_for(Session, "before_flush")
def draw_ids(session, context, instances):
    rows = [row for row in session.new if isinstance(row, HasUid) and row.id is None]
    if rows:
        ids = session.scalars(select(func.uid_next_batch(len(rows))))
        for row, id in zip(rows, ids):
            row.id = id

# ---- without objects: one statement returns the ids, in an order that is not promised
ids = session.scalars(insert(Message).returning(Message.id), [{"body": "a"}, {"body": "b"}]).all()

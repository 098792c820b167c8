# Ids of uidgen in Django.  docs/applications.md says what to know; `./check clients` runs each part as it is.

# ---- shop/fields.py: BigAutoField tells Django that the database makes the number; what is changed is what the column is made of
# shop/fields.py
from django.db import models


class UidField(models.BigAutoField):
    def db_type(self, connection):
        return "bigint"

    def db_type_suffix(self, connection):
        return "DEFAULT uid_next()"

# ---- shop/models.py
# shop/models.py
from django.db import models

from shop.fields import UidField


class Message(models.Model):
    id = UidField(primary_key=True)
    body = models.TextField()


class Reply(models.Model):                      # DEFAULT_AUTO_FIELD = "shop.fields.UidField"
    message = models.ForeignKey(Message, on_delete=models.CASCADE)

# ---- a row, and several
message = Message.objects.create(body="hello")
print(message.id)
messages = Message.objects.bulk_create([Message(body="a"), Message(body="b")])
print([m.id for m in messages])

# ---- ids that are drawn before
with connection.cursor() as cursor:
    cursor.execute("SELECT uid_next_batch(%s)", [2])
    ids = [id for (id,) in cursor]
Message.objects.bulk_create([Message(id=id, body=body) for id, body in zip(ids, ["c", "d"])])

# ---- JSON
from django.http import JsonResponse

response = JsonResponse({"id": str(message.id), "body": message.body})

# ---- a table that exists: the migration, in place of migrations.AlterField(...)
# in place of migrations.AlterField(...), which becomes a state_operation
migrations.RunSQL(
    "ALTER TABLE shop_order ALTER id DROP IDENTITY IF EXISTS, ALTER id SET DEFAULT uid_next()",
    state_operations=[migrations.AlterField("order", "id", UidField(primary_key=True))])

# django.py: Django, as docs/clients/django.py has it: a project with an app "shop".
import json
import os
import sys

from checks import check, increase

sys.path.insert(0, os.getcwd())
open("shop/__init__.py", "w").close()
#page > shop/fields.py
#page > shop/models.py

import django
from django.conf import settings

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}},
    INSTALLED_APPS=["shop"],
    DEFAULT_AUTO_FIELD="shop.fields.UidField",
    USE_TZ=True)
django.setup()

from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from shop.models import Message, Reply


def value(sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


call_command("makemigrations", "shop", verbosity=0)
call_command("migrate", verbosity=0)
check("no sequence is made", value("SELECT count(*) FROM pg_class WHERE relkind = 'S'") == 0)
check("... also where DEFAULT_AUTO_FIELD names the field",
      value("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'shop_reply'::regclass") == "uid_next()")
check("... and nothing is left to migrate", call_command("makemigrations", "shop", "--check", "--dry-run", verbosity=0) is None)

with CaptureQueriesContext(connection) as sent:
    #page
check("an INSERT for one row, and one for many",
      len([query for query in sent.captured_queries if query["sql"].startswith("INSERT")]) == 2)
check("all ids increase", increase([message.id] + [m.id for m in messages]))
reply = Reply.objects.create(message=message)
check("a foreign key refers to the id", Reply.objects.get(message__body="hello").message_id == message.id)
#page
check("ids that were drawn before are those of the rows",
      list(Message.objects.filter(body__in=["c", "d"]).order_by("id").values_list("id", "body")) == list(zip(ids, ["c", "d"])))
#page
check("JSON has all digits as text", json.loads(response.content) == {"id": str(message.id), "body": "hello"})

# loaddata sends statements that set sequences.
call_command("dumpdata", "shop", output="dump.json", verbosity=0)
before = list(Message.objects.order_by("id").values_list("id", "body"))
call_command("flush", "--no-input", verbosity=0)
call_command("loaddata", "dump.json", verbosity=0)
check("dumpdata and loaddata keep the ids", list(Message.objects.order_by("id").values_list("id", "body")) == before)
check("... and new ones are larger", Message.objects.create(body="new").id > before[-1][0])

# A table that exists: AlterField alone, and the page's migration.
from django.db import migrations, models
from django.db.migrations.state import ProjectState
from shop.fields import UidField

default_of_order = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'shop_order'::regclass UNION ALL SELECT 'none' LIMIT 1"


def migrate(state, *operations):
    migration = migrations.Migration("test", "shop")
    migration.operations = list(operations)
    with connection.schema_editor() as editor:
        return migration.apply(state, editor)


create = migrations.CreateModel("order", [("id", models.BigAutoField(primary_key=True)), ("item", models.TextField())])
state = migrate(ProjectState(), create)
migrate(state.clone(), migrations.AlterField("order", "id", UidField(primary_key=True)))
check("AlterField alone does not set the default", value(default_of_order) != "uid_next()")
connection.cursor().execute("DROP TABLE shop_order")
state = migrate(ProjectState(), create)
first = state.apps.get_model("shop", "order").objects.create(item="lamp").id
state = migrate(
    state,
    #page
)
Order = state.apps.get_model("shop", "order")
check("the page's migration sets the default", value(default_of_order) == "uid_next()")
check("... and old rows stay, with smaller ids", Order.objects.create(item="chair").id > 2**50 and Order.objects.filter(id=first).exists())

# What the page warns of.
if django.VERSION >= (5,):
    from django.db.models import Func

    class Other(models.Model):
        id = models.BigIntegerField(primary_key=True, db_default=Func(function="uid_next"))
        body = models.TextField()

        class Meta:
            app_label = "shop"
            db_table = "shop_message"

    check("with db_default, create() returns the id", isinstance(Other.objects.create(body="x").id, int))
    check("... and bulk_create() no id", not any(isinstance(o.id, int) for o in Other.objects.bulk_create([Other(body="y"), Other(body="z")])))

# uidgen: build, install and test.  ./try and ./check need no make to start with.
MODULE_big = uidgen
OBJS = \
	src/core/attempt.o \
	src/core/fleetclock.o \
	src/core/layout.o \
	src/core/lease.o \
	src/core/node.o \
	src/core/publish.o \
	src/core/reading.o \
	src/core/segment.o \
	src/core/segment_supply.o \
	src/core/textform.o \
	src/core/ticket.o \
	src/core/uuidform.o \
	src/functions/backfill.o \
	src/functions/confined.o \
	src/functions/copy.o \
	src/functions/decode.o \
	src/functions/deleted.o \
	src/functions/drop.o \
	src/functions/explain.o \
	src/functions/forms.o \
	src/functions/hold.o \
	src/functions/horizon.o \
	src/functions/horizon_support.o \
	src/functions/layouts.o \
	src/functions/next.o \
	src/functions/ranges.o \
	src/functions/row_trigger.o \
	src/functions/segments.o \
	src/functions/stamp.o \
	src/functions/statistics.o \
	src/functions/status.o \
	src/functions/values.o \
	src/ids/after.o \
	src/ids/attach.o \
	src/ids/backfill.o \
	src/ids/generator.o \
	src/ids/horizon_hold.o \
	src/ids/horizon.o \
	src/ids/layout_used.o \
	src/ids/segment_numbers.o \
	src/ids/waiting.o \
	src/keeper/answer.o \
	src/keeper/fleet_registry.o \
	src/keeper/grants.o \
	src/keeper/keeper.o \
	src/keeper/keeping.o \
	src/keeper/local_registry.o \
	src/keeper/segment_fetch.o \
	src/keeper/pinning.o \
	src/keeper/succession.o \
	src/link/link.o \
	src/link/link_local.o \
	src/link/link_remote.o \
	src/link/making.o \
	src/link/strangers.o \
	src/memory/attachment.o \
	src/memory/catalog.o \
	src/memory/counts.o \
	src/memory/demand.o \
	src/memory/guc.o \
	src/memory/horizon_holders.o \
	src/memory/identity.o \
	src/memory/secrets.o \
	src/memory/segment_slots.o \
	src/memory/server.o \
	src/memory/memory.o \
	src/memory/version.o \
	src/memory/worker.o \
	src/uidgen.o
# A library file of its own, which alone is linked with libpq; uidgen loads it when it
# needs it.
LIBPQ_MODULE = uidgen_libpq
LIBPQ_OBJS = \
	src/remote/candidates.o \
	src/remote/client.o \
	src/remote/hosts.o \
	src/remote/lookup.o \
	src/remote/plaintext.o
PGFILEDESC = "uidgen - unique, time-ordered 64-bit ids"

EXTENSION = uidgen uidgen_registry uidgen_tools
# Not VERSION, which is PostgreSQL's in PGXS.
EXTVERSION := $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(dir $(firstword $(MAKEFILE_LIST)))uidgen.control)
# The scripts are made of the parts in script/, in this order.  Those that update begin like the others,
# change what their version needs, and then replace what the other parts have.
UIDGEN_HEAD = 00_psql 02_schema 04_library
UIDGEN_PARTS = 50_ids 52_decode 54_forms 56_numbers 58_horizon 60_layouts 62_ranges 63_for_tools \
	80_status 82_layout_used 86_backfill 90_privileges 95_end
REGISTRY_HEAD = 00_psql 02_schema
REGISTRY_PARTS = 10_registry $(LOCAL_PART) 30_fleet 32_fleet_calls 33_layouts 34_fleet_owner 36_node_role 40_segments 42_segment_calls 44_backfill_registry 46_guests 48_registry_status \
	90_privileges
# The same without the extension, for a server on which none can be installed, has no local registry.
LOCAL_PART = 20_local
PLAIN_HEAD = 02_schema
PLAIN_PARTS = $(filter-out $(LOCAL_PART),$(REGISTRY_PARTS))
TOOLS_HEAD = 00_psql 02_schema
TOOLS_PARTS = 10_statements 20_partitions 30_adopt 40_changes 50_numbers 60_time 70_scramble 80_check 90_end
# The edition in SQL has the layouts' grammar from the registry, in a schema of its own.
SQL_HEAD = 00_begin
SQL_PARTS = 20_layouts 22_presets 30_own 40_decode 42_ranges 44_forms 50_ids 52_horizon 54_stamp 60_set_up 90_end
SQL_TOOLS = tools_begin tools_end
UPDATES_FROM =
script = script/$(1)--$(2)$(EXTVERSION).sql
DATA_built = $(foreach kind,uidgen uidgen_registry uidgen_tools uidgen-registry,$(call script,$(kind)) $(foreach old,$(UPDATES_FROM),$(call script,$(kind),$(old)--))) \
	$(call script,uidgen-sql) $(call script,uidgen-sql-tools)
PG_CPPFLAGS = -I$(srcdir)/src -DUIDGEN_VERSION='"$(EXTVERSION)"'
# Only what the server looks up is seen from outside, so that calls inside are
# direct.  PostgreSQL 16 and later do that by themselves.
PG_CPPFLAGS += -DPGDLLEXPORT='__attribute__((visibility("default")))'
override PG_CFLAGS += -fvisibility=hidden

# As in PostgreSQL's own extensions, sql/ and expected/ are the tests of pg_regress; the other suites are in test/.
# Those of installcheck change nothing of a server that its users have.  numbers, which makes segments in the registry, is
# for private servers; and before PostgreSQL 17, without preload, some can run that need no keeper.
REGRESS = install catalog layout decode explain ranges vectors drop_partitions adopt stamp forms scramble errors generate copy hold foreign registry fleet guests segments writes leave
UNLOADED_REGRESS = unloaded layout decode forms vectors fleet segments
PRIVATE_REGRESS = $(patsubst leave,numbers leave,$(REGRESS))
REGRESS_OPTS = --inputdir=$(srcdir)
ISOLATION = acquire fleet locks partitions renew segments
ISOLATION_OPTS = --inputdir=$(srcdir)/test/isolation
# Test programs in Perl, with servers of their own; not TAP_TESTS, because these are
# no part of installcheck.  Named relative to the source tree.
# The gate has a program or two for each promise and part, the ring glue, beside what it runs of the other folders of test/; all
# others are the ring world.  What takes long comes first: at the end all would wait for it alone.
GLUE_LONG = sql_answers guests_python keeper_faulty_link clock_recovery attach_late
GLUE = operator_strange_names ids_waits fleet_failover segments_failover cost_instructions horizon_readers ids_unique ids_order changes_track copies_promotion \
	keeper_wake_up backfill_kills copies_registry fleet_script horizon_rules life_disk_full life_restart frozen operator_bad_settings \
	operator_layout_change operator_statistics operator_status registry_guards registry_layouts \
	registry_worker_ids remote_answers segments_used_up sql_edition
GLUE_FIRST = $(GLUE_LONG:%=test/t/%.pl)
GLUE_TESTS = $(GLUE:%=test/t/%.pl)
PROGRAMS = $(patsubst $(srcdir)/%,%,$(sort $(wildcard $(srcdir)/test/t/*.pl)))
WORLD_LONG = test/sessions/run.pl test/t/random_fleets.pl test/model/check.sh test/fuzz/run.sh test/fleet/patroni.pl tools/load/load.pl \
	test/guests/guests.pl test/clients/clients.pl test/clients/edition.pl
WORLD_TESTS = $(WORLD_LONG) $(filter-out $(GLUE_FIRST) $(GLUE_TESTS) $(WORLD_LONG),$(PROGRAMS)) test/javascript/javascript.pl test/decoder/decoder.pl test/selftest.pl
# Where servers do not preload uidgen, by ./check --late.  Others begin servers as the page and ./try do, which preload uidgen.
LATE_TESTS = $(filter-out %/fleet_demo.pl %/fleet_page.pl,$(foreach family,life clock copies ids fleet segments horizon random attach,$(filter test/t/$(family)_%,$(PROGRAMS)))) test/t/operator_pages.pl
UNIT_TESTS = test/unit/test_attempt test/unit/test_fleetclock test/unit/test_forms test/unit/test_horizon test/unit/test_horizon_threads test/unit/test_layout test/unit/test_lease test/unit/test_node test/unit/test_reading test/unit/test_segment test/unit/test_segment_threads test/unit/test_segment_supply test/unit/test_ticket test/unit/test_ticket_threads
FUZZ_TARGETS = test/fuzz/fuzz_forms test/fuzz/fuzz_ids test/fuzz/fuzz_layout test/fuzz/fuzz_lease
# It has libFuzzer, which gcc has not.
FUZZ_CC ?= clang
EXTRA_CLEAN = $(UNIT_TESTS) test/unit/core.o $(FUZZ_TARGETS) $(LIBPQ_MODULE)$(DLSUFFIX) $(LIBPQ_OBJS)

# make scripts: those for servers on which no library can be installed, to be made where there is no PostgreSQL; make made: what else is made
# of the presets in src/core/layout.c and of test/vectors.tsv, and is committed.
ifneq ($(filter scripts made dist,$(MAKECMDGOALS)),)
srcdir = $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))
else
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
# What is missing, by the names that systems have for its package.
needs = $(1): install $(2) (Debian, Ubuntu), $(3) (PGDG's rpm) or $(4) (Fedora), or set PG_CONFIG to the server's
SERVER_MISSING = $(call needs,no $(1) of a PostgreSQL server,postgresql-server-dev-$(or $(MAJORVERSION),NN),postgresql$(or $(MAJORVERSION),NN)-devel,postgresql-server-devel)
$(if $(wildcard $(PGXS)),,$(error $(call SERVER_MISSING,PGXS)))
include $(PGXS)
$(OBJS) $(OBJS:.o=.bc) $(LIBPQ_OBJS): | headers
.PHONY: headers
headers:
	@[ -e '$(includedir_server)/postgres.h' ] || { echo "$(call SERVER_MISSING,headers)" >&2; exit 1; }
	@[ -e '$(includedir)/libpq-fe.h' ] || { echo "$(call needs,no headers of libpq,libpq-dev,postgresql$(MAJORVERSION)-devel,libpq-devel)" >&2; exit 1; }
endif
.PHONY: scripts made
made: scripts
	perl '$(srcdir)/docs/build/decoder.pl'
	cd '$(srcdir)' && awk -f test/vectors.awk test/vectors.tsv sql/vectors.sql >test/vectors.sql && mv test/vectors.sql sql/
scripts: $(foreach kind,uidgen-sql uidgen-sql-tools uidgen-registry,$(call script,$(kind)))
	$(if $(filter scripts,$(MAKECMDGOALS)),@echo "The scripts are there: $^.  docs/sql-edition.md and docs/registry-server.md say who runs which")

# PGXS tracks no headers, and makes no folders in a build outside the source.
$(OBJS) $(OBJS:.o=.bc) $(LIBPQ_OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h) $(srcdir)/uidgen.control
$(shell mkdir -p $(sort $(dir $(OBJS) $(LIBPQ_OBJS))) script test/unit test/fuzz)

# $(call parts,FOLDER,NAMES): their files.  $(call changes,FOLDER,OLD,NAMES): those of that version's changes which there are.
parts = $(2:%=$(srcdir)/script/$(1)/%.sql)
changes = $(wildcard $(3:%=$(srcdir)/script/$(1)/update/$(2)/%.sql))
# $(call creating,FOLDER,HEAD,PARTS) and $(call updating,FOLDER,HEAD,PARTS,OLD): commands that write a script.
# $(call extension,FOLDER): whose parts are there.
extension = $(patsubst uidgen_uidgen,uidgen,uidgen_$(1))
replacing = $(AWK) -v old=$(3) -f '$(srcdir)/script/update.awk' $(call parts,$(1),$(2))
creating = cat $(call parts,$(1),$(2) $(3))
updating = $(call replacing,$(1),$(2),$(4)); cat '$(srcdir)/script/updating/begins.sql' $(call changes,$(1),$(4),before); $(call replacing,$(1),$(3),$(4)); \
	cat /dev/null $(call changes,$(1),$(4),after); sed -e 's/EXTENSION_NAME/$(call extension,$(1))/g' '$(srcdir)/script/updating/ends.sql'
# The presets are the library's.
IN_VERSION = awk -f '$(srcdir)/script/presets.awk' '$(srcdir)/src/core/layout.h' '$(srcdir)/src/core/layout.c' - | sed -e '/^[[:blank:]]*-- \[\(since .*\|always\|stands for .*\)\]$$/d' -e 's/UIDGEN_VERSION/$(EXTVERSION)/'
IN_EDITION = sed -e 's/uidgen_registry\./uidgen./g' -e 's/SELECT name FROM uidgen\.layout_presets() lists/The view uidgen.presets lists/'
TOOLS_IN_EDITION = sed -e 's/@extschema@/uidgen_tools/g' -e 's/uidgen\.\(layout_numbers\|run_confined\|write_deleted\)/uidgen_tools.\1/g' -e 's/uidgen\.layout_used/uidgen_history.layout_used/g' -e 's/ AND r\.rolsuper)$$/)/' \
	-e 's/, or as a member of it who is no superuser and runs SET ROLE, and call it again/, and call it again, or let it make a function with SECURITY DEFINER that does/'
AS_ONE_BLOCK = awk -f '$(srcdir)/script/edition.awk'
PLAIN_BEGINS = echo '-- uidgen $(EXTVERSION): a shared registry of worker ids, without the extension'; echo 'BEGIN;'
$(DATA_built): $(wildcard $(srcdir)/script/*/*.sql $(srcdir)/script/*/update/*/*.sql) $(srcdir)/script/update.awk $(srcdir)/script/presets.awk $(srcdir)/script/edition.awk $(srcdir)/src/core/layout.h $(srcdir)/src/core/layout.c $(srcdir)/uidgen.control

$(call script,uidgen):
	$(call creating,uidgen,$(UIDGEN_HEAD),$(UIDGEN_PARTS)) | $(IN_VERSION) >$@
$(call script,uidgen_registry):
	$(call creating,registry,$(REGISTRY_HEAD),$(REGISTRY_PARTS)) | $(IN_VERSION) >$@
$(call script,uidgen_tools):
	$(call creating,tools,$(TOOLS_HEAD),$(TOOLS_PARTS)) | $(IN_VERSION) >$@
$(call script,uidgen-registry):
	{ $(PLAIN_BEGINS); $(call creating,registry,$(PLAIN_HEAD),$(PLAIN_PARTS)); echo 'COMMIT;'; } | $(IN_VERSION) >$@
$(call script,uidgen-sql):
	{ cat $(call parts,sql,$(SQL_HEAD)); $(IN_EDITION) $(call parts,registry,33_layouts); cat $(call parts,sql,$(SQL_PARTS)); } | $(AS_ONE_BLOCK) | $(IN_VERSION) >$@
$(call script,uidgen-sql-tools):
	{ cat $(call parts,sql,tools_begin); $(TOOLS_IN_EDITION) $(call parts,tools,10_statements 20_partitions 30_adopt 40_changes 50_numbers 60_time 70_scramble 80_check); cat $(call parts,sql,tools_end); } | $(AS_ONE_BLOCK) | $(IN_VERSION) >$@
$(UPDATES_FROM:%=$(call script,uidgen,%--)): $(call script,uidgen,%--):
	{ $(call updating,uidgen,$(UIDGEN_HEAD),$(UIDGEN_PARTS),$*); } | $(IN_VERSION) >$@
$(UPDATES_FROM:%=$(call script,uidgen_registry,%--)): $(call script,uidgen_registry,%--):
	{ $(call updating,registry,$(REGISTRY_HEAD),$(REGISTRY_PARTS),$*); } | $(IN_VERSION) >$@
$(UPDATES_FROM:%=$(call script,uidgen_tools,%--)): $(call script,uidgen_tools,%--):
	{ $(call updating,tools,$(TOOLS_HEAD),$(TOOLS_PARTS),$*); } | $(IN_VERSION) >$@
$(UPDATES_FROM:%=$(call script,uidgen-registry,%--)): $(call script,uidgen-registry,%--):
	{ $(PLAIN_BEGINS); $(call updating,registry,$(PLAIN_HEAD),$(PLAIN_PARTS),$*); echo 'COMMIT;'; } | $(IN_VERSION) >$@

# Not one of PGXS's MODULES, which are made of one file each.
all: $(LIBPQ_MODULE)$(DLSUFFIX)
	$(if $(MAKECMDGOALS),,@echo "uidgen is built.  Next: sudo make install, and in psql CREATE EXTENSION uidgen")
$(LIBPQ_OBJS): override CPPFLAGS += -I$(libpq_srcdir)
$(LIBPQ_MODULE)$(DLSUFFIX): $(LIBPQ_OBJS)
	$(LINK.shared) $(LIBPQ_OBJS) $(LDFLAGS) $(LDFLAGS_SL) $(BE_DLLLIBS) $(libpq) -lpthread -o $@
install: install-libpq
install-libpq: $(LIBPQ_MODULE)$(DLSUFFIX)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/'
uninstall: uninstall-libpq
uninstall-libpq:
	rm -f '$(DESTDIR)$(pkglibdir)/$(LIBPQ_MODULE)$(DLSUFFIX)'

.PHONY: install-libpq uninstall-libpq installcheck-needs tempcheck unitcheck bench dist
# pg_regress's tests and the isolation tests, on a running server.
installcheck: installcheck-needs
ifneq ($(filter installcheck,$(MAKECMDGOALS)),)
ifeq ($(origin REGRESS),file)
works := $(shell '$(bindir)/psql' -X -A -t -d postgres -c "SELECT count(*) FROM pg_settings WHERE name = 'uidgen.database' OR current_setting('server_version_num')::integer >= 170000" 2>/dev/null)
ifeq ($(works),0)
REGRESS = $(UNLOADED_REGRESS)
endif
endif
endif
installcheck-needs:
	@[ -w . ] || { echo 'installcheck: the results go to this folder, which must be writable' >&2; exit 1; }
	@'$(bindir)/psql' -X -q -v ON_ERROR_STOP=1 -d postgres -f '$(srcdir)/test/installcheck.sql' || \
	  { echo 'installcheck: needs a running server, and a superuser; see docs/installing.md' >&2; exit 1; }

# The suites, as ./check runs them, against a private copy of the server: nothing is installed.
# SUITES='regress test/t/life_restart.pl' runs some.
tempcheck: all
	@MAKE='$(MAKE) -f $(firstword $(MAKEFILE_LIST))' PG_CONFIG='$(PG_CONFIG)' \
	  PGXS_DIR='$(top_builddir)' GLUE_FIRST='$(GLUE_FIRST)' GLUE_TESTS='$(GLUE_TESTS)' WORLD_TESTS='$(WORLD_TESTS)' LATE_TESTS='$(LATE_TESTS)' \
	  REGRESS='$(PRIVATE_REGRESS)' ISOLATION='$(ISOLATION)' UNIT_TESTS='$(UNIT_TESTS)' FUZZ_TARGETS='$(FUZZ_TARGETS)' \
	  '$(srcdir)/test/tempcheck.sh'

# The code that knows no server, under sanitizers.  The tests look for their data
# from the source tree on.
unitcheck: $(UNIT_TESTS)
	cd '$(srcdir)' && $(PROVE) -e '$(EMULATOR)' $(abspath $(UNIT_TESTS))
UNIT_FLAGS = -std=c99 -Wall -Wextra -Werror -g -I$(srcdir)/src -DUIDGEN_STANDALONE
# $(call sanitized,FLAGS): these, or nothing where a program with them does not start,
# as under an emulator, or hangs.  It is started three times, since ThreadSanitizer
# cannot cope with all addresses, which the kernel chooses anew for each start.
sanitized = $(shell (echo 'int main(void) { return 0; }' | $(CC) $(1) -x c -o $@.probe - && \
	for start in 1 2 3; do timeout 30 ./$@.probe || exit 1; done && \
	echo $(1) -fno-sanitize-recover=all) 2>/dev/null || \
	echo '$@: built without $(1), with which no program starts here' >&2; rm -f $@.probe)
ADDRESS = $(call sanitized,-fsanitize=address -fsanitize=undefined)
THREAD = $(call sanitized,-fsanitize=thread)
# Every program of these has all of the core, except those that include a file of it, to reach inside.
CORE = $(wildcard $(srcdir)/src/core/*.c)
CORE_HEADERS = $(wildcard $(srcdir)/src/core/*.h)
test/unit/core.o: $(CORE) $(CORE_HEADERS)
	$(CC) $(UNIT_FLAGS) $(ADDRESS) -r -o $@ $(CORE)
STRESS_TESTS = $(foreach kind,horizon segment ticket,test/unit/test_$(kind) test/unit/test_$(kind)_threads)
UNIT_WITH_CORE = $(filter-out $(STRESS_TESTS),$(UNIT_TESTS))
$(UNIT_WITH_CORE): test/unit/%: test/unit/%.c test/unit/tap.h test/unit/core.o
	$(CC) $(UNIT_FLAGS) $(ADDRESS) -o $@ $< test/unit/core.o
INCLUDED = $(wildcard $(srcdir)/test/unit/*.h) $(CORE) $(CORE_HEADERS)
test/unit/test_horizon test/unit/test_segment test/unit/test_ticket: test/unit/%: test/unit/%.c $(INCLUDED)
	$(CC) $(UNIT_FLAGS) -O1 -pthread $(ADDRESS) -o $@ $<
test/unit/test_horizon_threads test/unit/test_segment_threads test/unit/test_ticket_threads: test/unit/%_threads: test/unit/%.c $(INCLUDED)
	$(CC) $(UNIT_FLAGS) -O1 -pthread $(THREAD) -o $@ $<

FUZZED = -std=c99 -Wall -Wextra -Werror -g -O2 -I$(srcdir)/src -DUIDGEN_STANDALONE \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
# The linker lets it judge an era before it is opened.  Its inputs hold no numbers to be guessed; to trace
# comparisons would take most of the time.
test/fuzz/fuzz_lease: FUZZED += -Wl,--wrap=uidgen_lease_era -fno-sanitize-coverage=trace-cmp
$(FUZZ_TARGETS): test/fuzz/%: test/fuzz/%.c $(wildcard $(srcdir)/test/fuzz/*.h) $(CORE) $(CORE_HEADERS)
	$(FUZZ_CC) $(FUZZED) -o $@ $< $(CORE)

# Figures, on throw-away servers.  BENCH='--quick' for a first impression;
# tools/bench/run --help says what else.
bench:
	@PG_CONFIG='$(PG_CONFIG)' '$(srcdir)/tools/bench/run' $(BENCH)

dist:
	@'$(srcdir)/tools/dist.sh'

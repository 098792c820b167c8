# test/fleet/demo.sh
#	  What ./try fleet shows: three servers on one registry, one of them copied, and
#	  the registry failed over to a standby that lacks the last commits.  Tells the
#	  story as it happens, and at the end whether an id came twice.
#
# Sourced by ./try, which has built uidgen: the server's programs are in $bin, all
# is written below $work, and ./try ends whatever runs there.  A step that fails ends
# the story, with exit status 1; so does an id that came twice.
#
# The windows are short (a grant lasts two seconds, and none reaches further than ten
# seconds ahead), so that half a minute is enough to see what else takes minutes.

window=2s
# Each step is given that many seconds, however busy the machine is.
patience=120

# All of them talk by sockets in one folder, so these are free.
port_of()
{
	case $1 in
	registry) echo 7001 ;;
	standby) echo 7002 ;;
	a) echo 7003 ;;
	b) echo 7004 ;;
	c) echo 7005 ;;
	copy) echo 7006 ;;
	esac
}

# ---- The story ----

tell()
{
	printf '\n'
	printf -- '-- %s\n' "$@"
}

# show SERVER SQL: as one sees it in psql.
show()
{
	printf '\n%s=# %s;\n' "$1" "$2"
	sql "$1" "$2" -P pager=off 2>&1
}

# sql SERVER SQL [PSQL-OPTION]...
sql()
(
	server=$1 sql=$2
	shift 2
	"$bin/psql" -X -q -v ON_ERROR_STOP=1 -h "$work/socket" -p "$(port_of "$server")" "$@" -c "$sql"
)

value()
{
	sql "$1" "$2" -At
}

# await WHAT COMMAND...: until the command succeeds.
await()
{
	what=$1
	shift
	tries=0
	until "$@" >"$work/log" 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt $((patience * 10)) ] || { cat "$work/log" >&2; die "not within $patience s: $what"; }
		sleep 0.1
	done
}

is_true()
{
	[ "$(value "$1" "$2")" = t ]
}

# ---- Servers ----

new_folder()
{
	mkdir -m 700 "$work/$1"
	[ "$(id -u)" -ne 0 ] || chown "$(server_user)" "$work/$1"
}

# set_up SERVER SETTING...: a server that has nothing yet, its data in $work/SERVER.
set_up()
{
	new_folder "$1"
	as_server "$bin/initdb" -D "$work/$1" -U postgres -A trust -E UTF8 --no-locale --no-sync || return 1
	configure "$@"
}

configure()
(
	server=$1
	shift
	{
		printf '%s\n' "port = $(port_of "$server")" "listen_addresses = ''" "unix_socket_directories = '$work/socket'" \
			'fsync = off' 'dynamic_shared_memory_type = mmap' 'shared_buffers = 16MB' 'max_connections = 30' "$@"
	} >>"$work/$server/postgresql.conf"
)

# A server whose grants come from the registry, wherever that is by now.
set_up_node()
{
	set_up "$1" "shared_preload_libraries = 'uidgen'" "uidgen.registry = '$registry'" "uidgen.window = '$window'" \
		"uidgen.registry_timeout = '1s'" "uidgen.wait_timeout = '${patience}s'"
}

# copy_of FROM TO [OPTION]...: a copy of the data directory of a server that runs.
copy_of()
(
	from=$1 to=$2
	shift 2
	new_folder "$to"
	as_server "$bin/pg_basebackup" -D "$work/$to" -h "$work/socket" -p "$(port_of "$from")" -U postgres \
		--checkpoint=fast --no-sync "$@" || return 1
	configure "$to"
)

start()
{
	as_server "$bin/pg_ctl" -D "$work/$1" -l "$work/$1/log" -w -s start || { tail -n 5 "$work/$1/log"; return 1; }
}

# Ends as at a power failure, as far as the server can tell.  Its lock files name a process that
# still counts as running until its parent has waited for it, which in a container perhaps nobody does.
kill_server()
{
	kill -9 "$(sed 1q "$work/$1/postmaster.pid")"
	# What else would be left until the machine is started anew: a segment of shared memory.
	as_server ipcrm -m "$(awk 'NR == 7 { print $2 }' "$work/$1/postmaster.pid")"
	rm "$work/$1/postmaster.pid" "$work/socket/.s.PGSQL.$(port_of "$1").lock"
}

# ---- Ids ----

# draws SERVER...: from now on, some fifty a millisecond, into a file: so these are ids that a client has seen.
draws()
{
	for server; do
		drawings=$((drawings + 1))
		port=$(port_of "$server") ids=$work/ids/$server.$drawings
		: >"$ids"
		"$bin/psql" -X -q -h "$work/socket" -p "$port" -c 'COPY (SELECT uid_next() FROM (SELECT generate_series(1, 50)
			FROM (SELECT pg_sleep(0.001) FROM generate_series(1, 1000000)) AS pace) AS many) TO STDOUT' \
			>"$ids" 2>>"$work/drawing" &
		sessions="$sessions $!"
	done
}

ids_of()
{
	cat "$work/ids/$1".* | wc -l
}

has_drawn()
{
	[ "$(ids_of "$1")" -gt "$2" ]
}

# Do these servers draw on?
go_on()
{
	for server; do
		await "server $server draws ids" has_drawn "$server" "$(($(ids_of "$server") + 5000))"
	done
}

worker_of()
{
	value "$1" 'SELECT worker_id FROM uidgen.status'
}

# ---- The demonstration ----

drawings=0
# As it stands within the quotes of postgresql.conf.
registry="host=''$work/socket,$work/socket'' port=$(port_of registry),$(port_of standby) dbname=postgres user=postgres"
fleet='SELECT worker_id, port, state, last_call::time(3), until::time(3) FROM uidgen_registry.fleet ORDER BY port'

tell 'What you will see, in half a minute: three servers that take their ids from one registry.  One of them is cloned while' \
	'it runs.  The registry fails, and fails over to a standby that lacks its last commits.  A server is killed.  Meanwhile' \
	'a client draws ids on each; at the end all of them are compared, and none may be there twice.'
say "starting five private servers in $work"
mkdir "$work/ids"
new_folder socket
quietly set_up registry
for server in a b c; do
	quietly set_up_node $server
done
quietly start registry
quietly copy_of registry standby -R
quietly start standby

tell 'A registry: any PostgreSQL, which issues no ids itself and need not preload uidgen.  Here it has an asynchronous' \
	'standby.  No grant reaches further than 10 s ahead, so that this takes half a minute; mostly that is 2 minutes.'
show registry 'CREATE EXTENSION uidgen_registry'
show registry "SELECT uidgen_registry.share_registry('default', max_lead => '10 s', clock_slack => '1 s', new_fleet => true)"

tell 'Three servers, each with these lines in its postgresql.conf:' \
	"	shared_preload_libraries = 'uidgen'" \
	"	uidgen.registry = 'host=... port=$(port_of registry),$(port_of standby) dbname=postgres'" \
	'A client draws ids on each of them, from here on to the end.'
for server in a b c; do
	quietly start $server
	quietly sql $server 'CREATE EXTENSION uidgen'
done
draws a b c
go_on a b c
show registry "$fleet"

tell 'The registry fails, but not at once: first its standby is cut off, so all that is committed from here on' \
	'will be lost.'
quietly sql standby "ALTER SYSTEM SET primary_conninfo = ''"
quietly sql standby 'SELECT pg_reload_conf()'
await 'the standby is cut off' is_true standby 'SELECT count(*) = 0 FROM pg_stat_wal_receiver'
await 'the standby has read all that it got' is_true standby 'SELECT pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn()'
cut_at=$(value standby 'SELECT pg_last_wal_replay_lsn()')
cut_time=$(value registry 'SELECT clock_timestamp()')

tell "Meanwhile server b is cloned: its data directory is copied while it runs, and the copy started beside it." \
	'The copy takes a worker id of its own.'
quietly copy_of b copy
quietly start copy
draws copy
go_on copy
await 'every server has been granted more' is_true registry \
	"SELECT bool_and(last > '$cut_time') FROM (SELECT max(last_call) AS last FROM uidgen_registry.fleet GROUP BY port) AS servers"
show registry "$fleet"
tell 'The standby knows nothing of that:'
show standby "$fleet"

kept=$(for server in a b c copy; do worker_of $server; done | tr '\n' ' ')
kill_server registry
lost=$(as_server "$bin/pg_waldump" -p "$work/registry/pg_wal" -s "$cut_at" -r Transaction 2>"$work/log" | grep -c 'desc: COMMIT') ||
	die 'the failover would lose no commit'
quietly as_server "$bin/pg_ctl" -D "$work/standby" -w -s promote
tell "kill -9 of the registry; the standby takes over.  $lost commits are lost, the whole grant of the copy among them." \
	'The new primary knows by its timeline that it took over, and begins a quarantine: who has a grant goes on.'
go_on a b c copy
for server in a b c copy; do
	await "server $server has a grant of the new primary" is_true $server 'SELECT timeline = 2 FROM uidgen.status'
done
show standby "$fleet"
now=$(for server in a b c copy; do worker_of $server; done | tr '\n' ' ')
if [ "$kept" = "$now" ]; then
	tell 'Each of the four has the worker id that it had.'
else
	tell "The worker ids of a, b, c and the copy were $kept- and are $now- since this took longer than a grant may last."
fi

tell 'A server that begins now may not get what was granted and lost.  Server c is killed and started again: its first' \
	'id waits until there is room beyond all that can have been granted before, and is ahead of the clock.'
kill_server c
await 'server c starts' start c
draws c
go_on c
show c 'SELECT worker_id, ahead, ahead_cause, quarantine_until::time(3) FROM uidgen.status'
go_on a b c copy

# Cancelled, they tell all that they were given.
for pid in $sessions; do
	kill -INT "$pid" 2>/dev/null || :
done
for pid in $sessions; do
	wait "$pid" || :
done
sessions=

tell 'All ids that the clients were given:'
printf '\n'
for server in a b c copy; do
	printf '%10d  by %s\n' "$(ids_of $server)" "$server"
done
cat "$work"/ids/* >"$work/all"
count=$(wc -l <"$work/all")
LC_ALL=C sort -T "$work" "$work/all" | uniq -d >"$work/twice"
twice=$(wc -l <"$work/twice")
printf '%10d  together, %d of them more than once\n' "$count" "$twice"
[ "$twice" -eq 0 ] || die "the same id came twice, such as $(sed 1q "$work/twice")"

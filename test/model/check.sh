#!/bin/sh
# test/model/check.sh
#	  Searches the models of generator and keeper: generator.pml, and barriers.pml for
#	  a machine that reorders; switch.pml for the buffers of numbers of a segment; horizon.pml for readers that go on by
#	  id; eras.pml for callers that are stopped while eras go by; and edition.pml for the lock
#	  of sequences of the edition in SQL, edition_horizon.pml for its readers.
#	  Each as it is, to the end and without an error.  Prints TAP.
#
#	test/model/check.sh			small bounds: half a minute
#	MODEL=rules test/model/check.sh		besides with one rule broken at a time, where the error must be
#										found: this tests the models, so run it when one of them changes
#	MODEL=large test/model/check.sh		this and larger bounds: twenty minutes, four gigabytes of memory
#
# Needs the Debian packages spin and gcc.  Writes to a temporary folder only.
set -u

models=$(cd "$(dirname "$0")" && pwd)
for tool in spin gcc; do
	command -v $tool >/dev/null || { echo "Bail out! $tool is missing"; exit 1; }
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1

# What must hold: bounds, by what they leave room for.  The rest is as in the
# models: 2 callers, 2 tickets, 3 attempts or steps of the keeper, 2 worker ids, and
# none of what can happen.  A line that has no bounds names the model of those below.
right_small='
generator
release, crash, acquisition	-DRELEASES=1 -DCRASHES=1
three tickets	-DTICKETS=3 -DATTEMPTS=2 -DRELEASES=1
the clock moves	-DCLOCKS=1 -DATTEMPTS=2
large steps of the clock	-DCLOCKS=2 -DCALLERS=1 -DSTEADY
a clock that no id has followed	-DSTART=2 -DTHERE_AND_BACK -DCLOCKS=2 -DATTEMPTS=2
calls that keep the clock they have seen	-DKEPT_CLOCK -DCLOCKS=1 -DATTEMPTS=2 -DTICKETS=3 -DCALLERS=1
leaps to another worker id	-DLEAPS=1 -DCLOCKS=1 -DCALLERS=1
other bounds	-DRELOADS=1 -DATTEMPTS=2
another instance takes a row	-DOTHERS=1 -DATTEMPTS=2
an operator frees a row	-DFORGETS=1 -DATTEMPTS=2
the registry falls back	-DBACKS=1 -DATTEMPTS=2
a copy of the registry	-DCOPIES=1 -DRELEASES=1 -DTICKETS=3 -DCALLERS=1
barriers
barriers	-DCALLERS=1 -DTICKETS=3
barriers, between callers	-DSTEPS=2
barriers, and the bounds are lowered	-DLOWERED=1 -DCALLERS=1
barriers, and the clock is set back	-DSET_BACK=1 -DCALLERS=1 -DTICKETS=1
switch
two buffers	-DTICKETS=3
two buffers, short ranges	-DTICKETS=3 -DFILLS=4 -DSIZE=1
blocks	-DTICKETS=3 -DFILLS=2 -DBLOCKS=1
numbers are taken back	-DTICKETS=3 -DFILLS=2 -DCLOSES=1
another segment	-DTICKETS=2 -DASSIGNS=1
horizon
who reads on, an id each	-DTRANSACTIONS=1 -DPOLLS=1 -DTIME=1
who reads on, ids of a cache	-DWRITERS=1 -DCACHE -DTIME=1
who reads on, prepared transactions	-DWRITERS=1 -DPREPARES -DTIME=1
who reads on, another era	-DWRITERS=1 -DERAS=1 -DTIME=1
who reads on, ids are drawn and held	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
who reads on, ids ahead of the clock	-DWRITERS=1 -DTIME=0 -DTRANSACTIONS=3
who reads on, after a start	-DWRITERS=1 -DSTARTED -DTRANSACTIONS=1 -DTIME=1 -DPOLLS=1
who reads on, ids of before a start	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=1
eras
late notes of the clock	-DCALLERS=1 -DLOOKS=3
late notes of the clock, more eras	-DCALLERS=1 -DLOOKS=1 -DMARKS=8
edition
draws beside jumps	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
draws beside jumps that are ended	-DDRAWERS=2 -DDRAWS=2
draws beside jumps that are ended, and a crash	-DCRASHES=1 -DDRAWERS=1 -DDRAWS=4 -DJUMPERS=1 -DJUMPS=3 -DCLOCKS=0
draws beside jumps, and set_up()	-DSETS=1 -DDRAWERS=2 -DDRAWS=3 -DJUMPERS=1 -DENDS=0 -DCLOCKS=0
edition_horizon
who reads on, and savepoints	-DWRITERS=1 -DJUMPS=0 -DSAVEPOINTS=1 -DPOLLS=3
who reads on, savepoints, and keys of others	-DWRITERS=1 -DJUMPS=0 -DSAVEPOINTS=1 -DOF_OTHERS=99
who reads on beside a jump	-DWRITERS=1 -DSTART=1 -DCLOCKS=1 -DCANCELS=1
who reads on after a crash	-DWRITERS=1 -DJUMPS=0 -DSTART=1 -DCLOCKS=1 -DCRASHES=1 -DTRANSACTIONS=3'

right_large='
generator
release, crash, acquisition	-DRELEASES=1 -DCRASHES=2 -DTICKETS=3
crash and moves of the clock	-DCRASHES=1 -DCLOCKS=1
three callers	-DCALLERS=3 -DTICKETS=3 -DATTEMPTS=2 -DRELEASES=1
four attempts	-DATTEMPTS=4 -DRELEASES=2
large steps of the clock	-DCLOCKS=2 -DSTEADY
three moves of the clock	-DCLOCKS=3 -DCALLERS=1
a clock that no id has followed	-DSTART=2 -DTHERE_AND_BACK -DCLOCKS=2
a large step back to where an era began	-DSTART=2 -DFAR=5 -DWINDOW=3 -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
calls that keep the clock they have seen	-DKEPT_CLOCK -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
leaps to another worker id	-DLEAPS=1 -DCLOCKS=1
leaps and large steps	-DLEAPS=1 -DCLOCKS=2 -DCALLERS=1
three worker ids	-DWORKERS=3 -DLEAPS=2 -DRELEASES=1
three worker ids, and a large step	-DWORKERS=3 -DCLOCKS=2 -DTHERE_AND_BACK -DSTEADY
disposable worker ids	-DDISPOSABLE -DWORKERS=3 -DCRASHES=1 -DRELEASES=1
nothing may run ahead	-DAHEAD=0 -DBURST=0 -DCLOCKS=2 -DTHERE_AND_BACK
a wider window	-DWINDOW=2 -DCLOCKS=1
other bounds, and the clock moves	-DRELOADS=1 -DCLOCKS=1 -DATTEMPTS=2
other bounds, and back	-DRELOADS=2 -DCLOCKS=1 -DCALLERS=1
other bounds, and a crash	-DRELOADS=1 -DCRASHES=1 -DATTEMPTS=2
other bounds, and calls that keep the clock	-DKEPT_CLOCK -DRELOADS=1 -DATTEMPTS=2
another instance takes a row	-DOTHERS=1 -DRELEASES=1
another instance, and a crash	-DOTHERS=1 -DCRASHES=1
an operator frees a row	-DFORGETS=1 -DRELEASES=1
an operator frees a row, and large steps	-DFORGETS=1 -DCLOCKS=2 -DCALLERS=1
the registry falls back	-DBACKS=1
the registry falls back, with steps of the clock	-DBACKS=1 -DCLOCKS=2 -DCALLERS=1
a copy of the registry	-DCOPIES=1 -DRELEASES=1
a copy of the registry, and the clock moves	-DCOPIES=1 -DCLOCKS=1 -DATTEMPTS=2
not needed: the gate	-DBUG_NO_GATE -DTICKETS=3
not needed: that a large step shuts it	-DBUG_NOT_SHUT -DCLOCKS=2 -DSTEADY
not needed: the limit of 0	-DBUG_LIMIT_KEPT -DRELEASES=1 -DCLOCKS=1
not needed: opened before the even era	-DBUG_OPENED_AFTER_EVEN -DLEAPS=1 -DCLOCKS=1 -DATTEMPTS=2
barriers
barriers, between callers	-DCALLERS=2
barriers, and the bounds are lowered	-DLOWERED=1 -DSTEPS=2
barriers, and the clock is set back	-DSET_BACK=1 -DCALLERS=1 -DSTEPS=4
barriers, and all of it	-DSET_BACK=1 -DLOWERED=1 -DCALLERS=1
switch
two buffers	-DTICKETS=5
two buffers, short ranges	-DFILLS=5 -DSIZE=1
three callers	-DCALLERS=3 -DTICKETS=4
blocks	-DFILLS=4 -DBLOCKS=1
numbers are taken back	-DCLOSES=1
numbers are taken back twice	-DTICKETS=3 -DCLOSES=2
another segment	-DTICKETS=3 -DASSIGNS=1
numbers are taken back, and another segment	-DTICKETS=2 -DASSIGNS=1 -DCLOSES=1
horizon
who reads on, an id each	-DTRANSACTIONS=1 -DTIME=1
who reads on, ids of a cache	-DWRITERS=1 -DCACHE -DTRANSACTIONS=3
who reads on, prepared transactions	-DPREPARES -DTRANSACTIONS=1 -DPOLLS=1 -DTIME=1
who reads on, another era	-DWRITERS=1 -DERAS=2
who reads on, the clock is set back	-DWRITERS=1 -DSTEPS=1 -DTIME=1
who reads on, ids are drawn and held	-DWRITERS=1 -DHOLDS -DTIME=1
who reads on, ids are drawn and held by two	-DHOLDS -DTRANSACTIONS=1 -DTIME=1 -DPOLLS=1
who reads on, ids are drawn and held, the clock is set back	-DWRITERS=1 -DHOLDS -DSTEPS=1 -DTIME=0 -DPOLLS=1
who reads on, ids are drawn and held by a parallel worker, too	-DWRITERS=1 -DHOLDS -DWORKER -DTIME=1 -DPOLLS=1
who reads on, after a start	-DWRITERS=1 -DSTARTED -DTRANSACTIONS=1 -DTIME=1 -DPOLLS=1
who reads on, ids of before a start	-DWRITERS=1 -DSTARTED -DHOLDS -DTIME=1 -DPOLLS=0
who reads on, ids of before a start and a step	-DWRITERS=1 -DSTARTED -DHOLDS -DSTEPS=1 -DTIME=1 -DPOLLS=0
eras
late notes of the clock, two callers	-DLOOKS=1
late notes of the clock, many eras	-DCALLERS=1 -DMARKS=16
edition
draws beside jumps that are ended	-DDRAWS=3 -DCLOCKS=0
draws beside jumps, and the clock moves	-DDRAWS=3 -DENDS=0
draws beside jumps and batches	-DDRAWS=3 -DBATCHES=1 -DENDS=0 -DCLOCKS=0
draws beside jumps and batches that are ended, and the clock moves	-DDRAWERS=2 -DDRAWS=3 -DBATCHES=1
draws beside jumps that are ended, and two crashes	-DCRASHES=2 -DDRAWERS=2 -DDRAWS=3 -DJUMPERS=1 -DJUMPS=3 -DCLOCKS=0
batches that are ended, two crashes, and the clock moves	-DCRASHES=2 -DDRAWERS=1 -DDRAWS=3 -DJUMPERS=1 -DJUMPS=3 -DBATCHES=1
set_up(), and a crash	-DSETS=1 -DCRASHES=1 -DDRAWERS=2 -DDRAWS=3 -DJUMPERS=1 -DCLOCKS=0
edition_horizon
who reads on beside two writers, and savepoints	-DJUMPS=0 -DSAVEPOINTS=1
who reads on beside two writers and a jump	-DPOLLS=1 -DSTART=1 -DCLOCKS=1 -DCANCELS=1
who reads on by notes, beside two writers and a jump	-DPOLLS=2
who reads on beside a jump, and savepoints	-DWRITERS=1 -DSTART=1 -DCLOCKS=1 -DCANCELS=1 -DSAVEPOINTS=1 -DTRANSACTIONS=3'

# What must be found, and the bounds that suffice for it.  LIMIT_...: with no rule broken, what is not promised.
wrong='
generator
TWO_KEEPERS	-DLEAPS=1 -DTICKETS=3 -DCALLERS=1
TICKET_NOT_ATOMIC	-DTICKETS=2
NO_LIMIT_CHECK	-DTICKETS=3
NOT_EARLY	-DBURST=0 -DATTEMPTS=1 -DTICKETS=3
NO_ERA_RECHECK	-DRELEASES=1 -DCALLERS=1
ERA_NOT_ODD	-DLEAPS=1 -DCALLERS=1
CONSTANT_AFTER_EVEN	-DLEAPS=1 -DCLOCKS=1 -DCALLERS=1
POSITION_READ_BEFORE_ERA_ODD	-DRELEASES=1 -DCALLERS=1
RELEASE_BEFORE_ERA_ODD	-DRELEASES=1 -DCALLERS=1
RELEASE_WITHOUT_TOKEN	-DOTHERS=1 -DRELEASES=1 -DCALLERS=1
NO_TOKEN	-DOTHERS=1 -DTICKETS=3 -DCALLERS=1
PUBLISH_BEFORE_COMMIT	-DTICKETS=3 -DCALLERS=1
NO_FLOOR	-DLEAPS=1 -DCALLERS=1
NO_KNOWN	-DBACKS=1 -DSTART=9 -DCLOCKS=2 -DCALLERS=1
NOT_ABOVE_OLD_GRANT	-DCRASHES=1 -DCALLERS=1
NOTED_WITHOUT_MARK	-DSTART=2 -DFAR=5 -DWINDOW=3 -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
REOPENED_WITHOUT_CLOSE	-DRELOADS=1 -DATTEMPTS=2 -DCALLERS=1
RENEWED_IN_COPY	-DCOPIES=1 -DTICKETS=3 -DCALLERS=1
COPY_IS_OURS	-DCOPIES=1 -DCALLERS=1
barriers
NO_BARRIER_AFTER_ERA	-DSET_BACK=1 -DCALLERS=1 -DTICKETS=1
NO_BARRIER_AFTER_ERA	-DLOWERED=1 -DCALLERS=1
NO_BARRIER_BEFORE_ERA	-DCALLERS=1
NO_BARRIER_BEFORE_EVEN	-DCALLERS=1
POSITION_ONLY_READ	-DCALLERS=1
switch
NO_SEGMENT	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
SEGMENT_BEFORE_POSITION	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
SETTLE_WITHOUT_SEGMENT	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
ASSIGN_WITHOUT_CLOSE	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
ASSIGN_BEFORE_CLOSE	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
NO_ERA	-DTICKETS=3 -DFILLS=2 -DCLOSES=1
CLOSE_BY_READ	-DTICKETS=2 -DFILLS=2 -DCLOSES=1
CLOSE_BY_ONE	-DTICKETS=3 -DFILLS=2 -DCLOSES=1
NO_GATE	-DTICKETS=3
TICKET_NOT_ATOMIC	-DTICKETS=3
SEAM_BY_WRITE	-DTICKETS=3
NO_GENERATION	-DTICKETS=3 -DSIZE=1
FIRST_AFTER_TICKET	-DTICKETS=3 -DFILLS=4 -DSIZE=1
SETTLE_WITHOUT_ERA	-DFILLS=4 -DBLOCKS=1
FILL_NOT_ODD	-DFILLS=4 -DBLOCKS=1
EVEN_FIRST	-DTICKETS=3
horizon
NO_BOUND	-DWRITERS=1 -DTIME=1
BOUND_GOES_FIRST	-DTRANSACTIONS=1 -DTIME=1
ANY_SNAPSHOT	-DTRANSACTIONS=1 -DTIME=1
CACHE_UNCHECKED	-DWRITERS=1 -DCACHE -DTIME=1
PREPARE_FORGETS	-DWRITERS=1 -DPREPARES -DTRANSACTIONS=1 -DTIME=1
TABLE_FIRST	-DWRITERS=1 -DPREPARES -DTRANSACTIONS=1 -DTIME=1
BOUND_STAYS	-DWRITERS=1 -DSTEPS=1 -DTIME=1
STEP_UNNOTICED	-DWRITERS=1 -DSTEPS=1 -DTIME=1
ERA_UNCHECKED	-DWRITERS=1 -DSTEPS=1 -DTIME=1
AHEAD_OF_CLOCK	-DWRITERS=1 -DTIME=0 -DTRANSACTIONS=3
KNOWN_IN_RECOVERY	-DWRITERS=1 -DSTARTED -DTRANSACTIONS=1 -DTIME=1
HELD_BEFORE_GRANT	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=0
START_FORGETS	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=0
HOLDS_BEFORE_GRANT	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=1
HELD_UNCONFIRMED	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
HELD_UNCHECKED	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
CONFIRMED_BY_POSITION	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
CONFIRMED_FOR_GOOD	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
BOUND_RAISED	-DWRITERS=1 -DHOLDS -DWORKER -DTIME=1 -DPOLLS=1
ACCEPTED_FROM_NOTHING	-DWRITERS=1 -DSTARTED -DHOLDS -DSTEPS=1 -DTIME=1 -DPOLLS=0
eras
NO_MARK	-DCALLERS=1 -DLOOKS=1
NOTED_BY_WRITE	-DCALLERS=1 -DLOOKS=1
CLOCK_BEFORE_ERA	-DCALLERS=1 -DLOOKS=1
BASE_BEFORE_ERA	-DCALLERS=1 -DLOOKS=1
LIMIT_ALL_MARKS_PASS	-DCALLERS=1 -DLOOKS=1 -DERAS=4
edition
NO_LOOK_BEFORE	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
NO_LOOK_AFTER	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
NO_CLOSING	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
LOOK_BEFORE_CLOSING	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
BACK	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
NO_LOCK	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
NO_LOG	-DCRASHES=1 -DDRAWERS=1 -DDRAWS=4 -DJUMPERS=1 -DJUMPS=3 -DCLOCKS=0
LOGGED	-DCRASHES=1 -DDRAWERS=1 -DDRAWS=4 -DJUMPERS=1 -DJUMPS=3 -DCLOCKS=0
NO_MARGIN	-DCRASHES=1 -DDRAWERS=1 -DDRAWS=4 -DJUMPERS=1 -DJUMPS=3 -DCLOCKS=0
MARGIN_ONCE	-DCRASHES=1 -DDRAWERS=1 -DDRAWS=4 -DJUMPERS=1 -DJUMPS=3 -DCLOCKS=0
DRAWN_BEFORE_COMMIT	-DSETS=1 -DDRAWERS=1 -DDRAWS=3 -DJUMPERS=1 -DENDS=0 -DCLOCKS=0
SET_BESIDE_DRAWS	-DSETS=1 -DDRAWERS=1 -DDRAWS=3 -DJUMPERS=1 -DENDS=0 -DCLOCKS=0
edition_horizon
HOLD_AFTER_DRAW	-DWRITERS=1 -DJUMPS=0 -DPOLLS=1
HOLD_WITHOUT_LOOK	-DPOLLS=1 -DSTART=1 -DCLOCKS=1
REMEMBERED_TOO_LONG	-DWRITERS=1 -DJUMPS=0 -DPOLLS=1
HOLD_ANEW	-DWRITERS=1 -DJUMPS=0 -DSAVEPOINTS=1
NO_TURN	-DWRITERS=1 -DJUMPS=0 -DSAVEPOINTS=1
TURN_IN_USE	-DWRITERS=1 -DJUMPS=0 -DSAVEPOINTS=1 -DPOLLS=3
TURN_BEGINS_AFTER_LOOK	-DWRITERS=1 -DJUMPS=0 -DSAVEPOINTS=1 -DPOLLS=3
KEY_ABOVE_POSITION	-DWRITERS=1 -DJUMPS=0 -DSAVEPOINTS=1 -DOF_OTHERS=99
LOCK_OF_SESSION	-DWRITERS=1 -DJUMPS=0 -DPOLLS=1
READ_WITHOUT_LOOK	-DWRITERS=1 -DPOLLS=1 -DSTART=1 -DCLOCKS=1 -DCANCELS=1
LOCKS_BEFORE_POSITION	-DWRITERS=1 -DJUMPS=0 -DPOLLS=1
SNAPSHOT_BEFORE_LOCKS	-DWRITERS=1 -DJUMPS=0 -DPOLLS=1
FOR_OLDER_SNAPSHOT	-DWRITERS=1 -DJUMPS=0 -DPOLLS=1
AHEAD_OF_CLOCK	-DWRITERS=1 -DJUMPS=0 -DSTART=1 -DCRASHES=1 -DTRANSACTIONS=3'

wrong_large='
generator
POSITION_READ_BEFORE_ERA_ODD	-DLEAPS=1 -DCALLERS=1
NOTED_BY_WRITE	-DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
CLOCK_BEFORE_ERA	-DSTART=2 -DFAR=5 -DWINDOW=3 -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY'

# Small searches are over before an optimizer would be.
optimize=-O0 megabytes=1000
case ${MODEL-small} in
small) right=$right_small wrong= ;;
rules) right=$right_small ;;
large) right=$right_large wrong=$wrong$wrong_large optimize=-O2 megabytes=4000 ;;
*) echo "Bail out! MODEL is small, rules or large"; exit 1 ;;
esac

# search BOUNDS...: in the file $model; what the checker says is in the file log.
search()
{
	rm -f *.trail
	{
		spin -a "$@" "$models/$model" &&
			gcc -w $optimize -DSAFETY -DNOFAIR -DCOLLAPSE -DMEMLIM=$megabytes -o pan pan.c &&
			./pan -w20 -m100000
	} >log 2>&1
}

searched_to_the_end()
{
	grep -q 'errors: 0$' log &&
		! grep -Eq 'Search not completed|max search depth too small|out of memory' log
}

# verdict WORD NAME: a line of TAP; after a failure the log and the trail.
verdict()
{
	number=$((number + 1))
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log)
	echo "$1 $number - $2, ${states:-no} states"
	[ "$1" != ok ] || return 0
	failed=yes
	shift 2
	sed -e '/^unreached/,$d' -e 's/^/# /' log | head -n 40
	if [ -f "$model.trail" ]; then
		spin -p -k "$model.trail" "$@" "$models/$model" | sed 's/^/# /' | tail -n 500
	fi
}

try_right()
{
	while IFS=$tab read -r model name bounds; do
		search $bounds
		if searched_to_the_end; then
			verdict ok "$name ($bounds)" $bounds
		else
			verdict 'not ok' "$name ($bounds)" $bounds
		fi
	done
	[ -z "$failed" ]
}

try_wrong()
{
	while IFS=$tab read -r model rule bounds; do
		search "-DBUG_$rule" $bounds
		found=$(sed -n 's/^pan.*assertion violated \([PR][0-9]_[a-z]*\).*/\1/p' log)
		if [ -n "$found" ]; then
			verdict ok "$rule breaks $found"
		else
			verdict 'not ok' "$rule is not found ($bounds)"
		fi
	done
	[ -z "$failed" ]
}

failed=
tab=$(printf '\t')
# A line each: the model's file, and what is to be searched.
list()
{
	printf '%s\n' "$1" | awk -F '\t' 'NF == 1 { model = $1 ".pml" } NF > 1 { print model "\t" $0 }'
}
list "$right" >right.list
list "$wrong" >wrong.list
count=$(grep -c . right.list)
echo "1..$((count + $(grep -c . wrong.list)))"

# Both at a time, each in a folder of its own.
mkdir right wrong
(number=$count; cd wrong && try_wrong <../wrong.list) >wrong.tap &
trap 'kill $! 2>/dev/null; rm -rf "$dir"' EXIT
(number=0; cd right && try_right <../right.list)
status=$?
wait $! || status=1
cat wrong.tap
exit $status
